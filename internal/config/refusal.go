package config

import (
	"errors"
	"strings"
)

// The reasons to refuse a boot. Match them with errors.Is on whatever Load returned.
var (
	// ErrFile: the configuration file cannot be read or is not TOML.
	ErrFile = errors.New("configuration file unusable")
	// ErrValue: a value cannot be read as the type of its key.
	ErrValue = errors.New("value unreadable")
	// ErrRange: a value is outside the range of its key, or breaks a rule between keys.
	ErrRange = errors.New("value out of range")
	// ErrUnknownKey: a key that does not exist, in a table where that is not tolerated.
	ErrUnknownKey = errors.New("unknown key")
	// ErrRemovedKey: a key that older servers had and that became a topic option.
	ErrRemovedKey = errors.New("removed key")
	// ErrUnsupported: a feature that this build does not have was switched on.
	ErrUnsupported = errors.New("not supported")
	// ErrEncryption: encryption at rest was switched on.
	ErrEncryption = errors.New("encryption at rest is not offered")
	// ErrTLS: TLS was switched on and this build has none.
	ErrTLS = errors.New("TLS is not available")
	// ErrClusterAuth: replicas would talk over a network without authentication.
	ErrClusterAuth = errors.New("cluster links are not authenticated")
	// ErrRoster: the list of cluster nodes contradicts itself.
	ErrRoster = errors.New("cluster roster invalid")
	// ErrReplicaID: --replica-id does not fit the cluster section.
	ErrReplicaID = errors.New("replica id invalid")
	// ErrRootCredentials: the root credentials are half set, too short, too long or missing.
	ErrRootCredentials = errors.New("root credentials invalid")
)

// Refusal is one reason not to boot.
type Refusal struct {
	Reason  error  // one of the Err values
	Key     string // the key, flag or variable; empty for a whole file
	Source  string // where the value came from: a file, a variable, "command line" or "default"
	Problem string // what is wrong
	Remedy  string // what to do
}

// Error is one line: key, source, problem, remedy.
func (r *Refusal) Error() string {
	var line strings.Builder
	line.WriteString(r.Key)
	if r.Source != "" && r.Source != r.Key {
		if r.Key != "" {
			line.WriteString(" (" + r.Source + ")")
		} else {
			line.WriteString(r.Source)
		}
	}
	line.WriteString(": " + r.Problem)
	if r.Remedy != "" {
		line.WriteString("; " + r.Remedy)
	}
	return oneLine(line.String())
}

// Unwrap gives the reason.
func (r *Refusal) Unwrap() error { return r.Reason }

// Refusals are all reasons that were found, in a stable order. There is at least one.
type Refusals []*Refusal

// Error has one line for each refusal.
func (rs Refusals) Error() string {
	lines := make([]string, len(rs))
	for i, r := range rs {
		lines[i] = r.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single refusals, so that errors.Is and errors.As look at each.
func (rs Refusals) Unwrap() []error {
	all := make([]error, len(rs))
	for i, r := range rs {
		all[i] = r
	}
	return all
}

// oneLine keeps values from files and variables from breaking out of their line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
