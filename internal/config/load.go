package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/galgolog/galgo/internal/units"
)

// Sources are everything that Load looks at, besides the files it finds through them.
type Sources struct {
	// File is the configuration file of the command line. It must exist. Empty: the variable CONFIG_PATH
	// (GALGO_ or IGGY_), which may name a missing file, else galgo.toml in Dir if there is one.
	File string
	// Dir is where relative paths start; empty is the working directory.
	Dir string
	// Environ is the environment as os.Environ gives it.
	Environ []string
	// ReplicaID is --replica-id; nil if it was not given.
	ReplicaID *int
	// DefaultRoot fills in the root credentials that the environment leaves open.
	DefaultRoot bool
	// Build says what this binary can do.
	Build Build
}

// Build says which parts of the configuration this binary can honour. Switching on the others refuses the
// boot (TLS) or warns.
type Build struct {
	TLS       bool
	QUIC      bool
	WebSocket bool
	HTTP      bool
	Telemetry bool
}

// Loaded is a configuration together with the story of how it came about.
type Loaded struct {
	*Config
	File      string     // the file that was read; empty: none
	Warnings  []string   // one line each
	Overrides []Override // applied variables, by name
	Display   bool       // the effective configuration shall be logged
	LogFilter string     // RUST_LOG if it is set, else system.logging.level
}

// Override is a variable that was applied. Value is masked for secrets.
type Override struct {
	Name, Key, Value string
}

// loader carries the state of one Load.
type loader struct {
	src     Sources
	env     *environment
	cfg     *Config
	out     *Loaded
	origins map[string]string // key to source
	refused Refusals
}

// Load reads, merges and checks the configuration. The error is of type Refusals and holds every problem
// that could be found, not only the first.
func Load(src Sources) (*Loaded, error) {
	cfg := Default()
	l := &loader{src: src, cfg: cfg, out: &Loaded{Config: cfg}, origins: map[string]string{}}
	l.env = readEnvironment(src, l.warn)
	l.loadFile()
	l.applyEnvironment()
	l.loadOutside()
	l.check()
	if len(l.refused) > 0 {
		return nil, l.refused
	}
	return l.out, nil
}

// Default is the compiled-in configuration, two example nodes included.
func Default() *Config {
	cfg := &Config{}
	for i := range allKeys() {
		k := &allKeys()[i]
		if k.unset || k.def == "" {
			continue
		}
		if err := k.at.set(cfg, k.def); err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", k.path, err))
		}
	}
	cfg.Cluster.Nodes = exampleNodes()
	return cfg
}

var keyTable = slices.Concat(serverKeys, httpKeys, networkKeys, systemKeys, clusterKeys, planeKeys)

// allKeys is the table of keys in the order of the documentation.
func allKeys() []key[Config] { return keyTable }

// keyByPath finds the row of a key, or nil.
func keyByPath(path string) *key[Config] {
	for i := range keyTable {
		if keyTable[i].path == path {
			return &keyTable[i]
		}
	}
	return nil
}

func (l *loader) warn(format string, args ...any) {
	l.out.Warnings = append(l.out.Warnings, oneLine(fmt.Sprintf(format, args...)))
}

func (l *loader) refuse(r Refusal) { l.refused = append(l.refused, &r) }

// origin is the source of a key for messages.
func (l *loader) origin(path string) string {
	if source, ok := l.origins[path]; ok {
		return source
	}
	return "default"
}

// set gives a key its value from text.
func (l *loader) set(k *key[Config], text, source string) {
	if err := k.at.set(l.cfg, text); err != nil {
		l.refuse(Refusal{Reason: ErrValue, Key: k.path, Source: source, Problem: hideSecret(k.secret, err),
			Remedy: "give " + article(k.at.kind) + example(k.def)})
		return
	}
	l.origins[k.path] = source
	if k.at.kind == sizeCodec.kind && units.CountsBits(text) {
		l.warn("%s (%s): %q counts bits, because its b is in lower case; write B for bytes", k.path, source, text)
	}
	if k.ignored != "" && k.at.text(l.cfg) != k.at.text(Default()) {
		l.warn("%s (%s): accepted without effect: %s", k.path, source, k.ignored)
	}
}

// walk applies the tables of a file, in the order of their names.
func (l *loader) walk(prefix string, table map[string]any, source string) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		path, value := prefix+name, table[name]
		if l.refuseRemoved(path, source) {
			continue
		}
		if k := keyByPath(path); k != nil {
			l.setTOML(k, value, source)
			continue
		}
		if l.loadList(path, value, source) {
			continue
		}
		nested, isTable := value.(map[string]any)
		switch {
		case !tableExists(path):
			l.unknown(path, source)
		case !isTable:
			l.refuse(Refusal{Reason: ErrValue, Key: path, Source: source, Problem: "is " + typeName(value),
				Remedy: "it is a table: write [" + path + "] and its keys below"})
		default:
			l.walk(path+".", nested, source)
		}
	}
}

func (l *loader) setTOML(k *key[Config], value any, source string) {
	text, ok := k.at.accept(value)
	if !ok {
		l.refuse(Refusal{Reason: ErrValue, Key: k.path, Source: source, Problem: "is " + typeName(value),
			Remedy: "give " + article(k.at.kind) + example(k.def)})
		return
	}
	l.set(k, text, source)
}

// tableExists says that some key lives below the path.
func tableExists(path string) bool {
	for i := range keyTable {
		if strings.HasPrefix(keyTable[i].path, path+".") {
			return true
		}
	}
	return false
}

// unknown warns about a key that does not exist; inside [cluster] it refuses.
func (l *loader) unknown(path, source string) {
	hint := "remove it"
	if near := nearest(path, keyNames(), 1); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	if strings.HasPrefix(path, "cluster.") {
		l.refuse(Refusal{Reason: ErrUnknownKey, Key: path, Source: source,
			Problem: "there is no such key, and [cluster] tolerates none", Remedy: hint})
		return
	}
	l.warn("%s (%s): there is no such key, it is ignored; %s", path, source, hint)
}

func keyNames() []string {
	names := make([]string, 0, len(keyTable)+2)
	for i := range keyTable {
		names = append(names, keyTable[i].path)
	}
	return append(names, nodesPath, issuersPath)
}

func article(kind string) string {
	if strings.ContainsRune("aeiouI", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

func example(text string) string {
	if text == "" {
		return ""
	}
	return " such as " + text
}

// hideSecret keeps the value of a secret out of the message about it.
func hideSecret(secret bool, err error) string {
	if secret {
		return "its value cannot be read"
	}
	return err.Error()
}
