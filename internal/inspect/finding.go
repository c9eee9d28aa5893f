package inspect

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says how much a finding matters.
type Severity uint8

// Severities. An error is a loss, or a refusal of the node or of a partition. A warning is what the next start
// repairs, discards or works around. A note is part of an ordinary life.
const (
	Note Severity = iota + 1
	Warning
	Error
)

var severityNames = [...]string{Note: "note", Warning: "warning", Error: "error"}

// String names the severity.
func (s Severity) String() string { return nameOf(severityNames[:], s) }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprint(uint8(v))
}

// Consequence is what the server makes of a finding. It decides the severity.
type Consequence uint8

// Consequences.
const (
	Ignored    Consequence = iota + 1 // the server leaves it alone
	Continues                         // ordinary work of a start
	Repaired                          // the next start mends it and loses nothing that was promised
	Discarded                         // the next start drops it
	Deletes                           // the next start deletes what is there
	SetAside                          // the next start moves it out of the way
	Tolerated                         // the server works around it
	Unreadable                        // messages are lost: polls of them fail, or they are gone
	Fences                            // the partition refuses to work
	Refuses                           // the node refuses to start
)

var consequences = [...]struct {
	name     string
	severity Severity
	effect   string
}{
	Ignored:    {"ignored", Note, "left alone"},
	Continues:  {"continues", Note, "the next start sees to it"},
	Repaired:   {"repaired", Warning, "the next start repairs it"},
	Discarded:  {"discarded", Warning, "the next start discards it"},
	Deletes:    {"deletes", Warning, "the next start deletes it"},
	SetAside:   {"set_aside", Warning, "the next start sets it aside"},
	Tolerated:  {"tolerated", Warning, "the server works around it"},
	Unreadable: {"unreadable", Error, "messages are lost"},
	Fences:     {"fences", Error, "the partition will be fenced"},
	Refuses:    {"refuses", Error, "the server will refuse to start"},
}

// String names the consequence.
func (c Consequence) String() string {
	if int(c) < len(consequences) {
		return consequences[c].name
	}
	return fmt.Sprint(uint8(c))
}

// MarshalText implements encoding.TextMarshaler.
func (c Consequence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Severity is that of a finding with this consequence.
func (c Consequence) Severity() Severity { return consequences[c].severity }

// Finding is one problem, or one remark.
type Finding struct {
	Severity    Severity    `json:"severity"`
	Consequence Consequence `json:"consequence"`
	// Path is that of a file or directory, relative to the data directory; empty for the directory itself.
	Path string `json:"path"`
	// Position is the byte in the file; nil when the finding concerns all of it.
	Position *int64 `json:"position,omitempty"`
	Problem  string `json:"problem"`
	Remedy   string `json:"remedy,omitempty"` // what to do, one sentence; empty when there is nothing to do
}

// findings gathers.
type findings []Finding

// add appends a finding and returns it for its position and remedy.
func (f *findings) add(c Consequence, path, format string, args ...any) *Finding {
	*f = append(*f, Finding{Severity: c.Severity(), Consequence: c, Path: path, Problem: fmt.Sprintf(format, args...)})
	return &(*f)[len(*f)-1]
}

func (f *Finding) at(position int64) *Finding {
	f.Position = &position
	return f
}

func (f *Finding) remedy(format string, args ...any) *Finding {
	f.Remedy = fmt.Sprintf(format, args...)
	return f
}

// sorted puts errors first, then warnings, then notes; within them the order of paths and positions.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), comparePaths(a.Path, b.Path), cmp.Compare(deref(a.Position), deref(b.Position)))
	})
	return f
}

func deref(p *int64) int64 {
	if p == nil {
		return -1
	}
	return *p
}
