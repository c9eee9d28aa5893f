package config

import (
	"maps"
	"slices"
	"strings"
)

const (
	foreignPrefix = "IGGY_"
	nativePrefix  = "GALGO_"
	logFilterName = "RUST_LOG"
)

// outsideVariables are names without a key in the file, by the rest after the prefix. Those that are not read
// here belong to programs around the server and are silently left alone.
var outsideVariables = []string{
	"CONFIG_PATH", "ENV_PATH", "DISPLAY_CONFIG", "ROOT_USERNAME", "ROOT_PASSWORD",
	"SHARD_RUNTIME_CAPACITY", "SHARD_EVENT_INTERVAL", "CI_BUILD", "TEST_CLUSTER_NODES", "TEST_CLEANUP_DISABLED",
	"TEST_VERBOSE", "CONNECTORS_CONFIG_PATH", "MCP_CONFIG_PATH", "USERNAME", "PASSWORD", "HOME",
}

var outsidePrefixes = []string{"CONNECTORS_SINK_", "CONNECTORS_SOURCE_"}

// variable is a setting of the environment: which of the two spellings won, and its value.
type variable struct {
	name  string
	value string
}

// environment is the part of the environment that belongs to the server. Empty values count as unset.
type environment struct {
	vars      map[string]variable // by the rest of the name after the prefix
	logFilter string
}

// readEnvironment merges the process environment with the .env file; what the process has wins.
func readEnvironment(src Sources, warn func(string, ...any)) *environment {
	env := collect(src.Environ)
	named := env.get("ENV_PATH")
	path := named
	if path == "" {
		path = defaultDotEnv
	}
	text, err := readBounded(src.resolve(path))
	if err != nil {
		if named != "" {
			warn("%s: %v; it is not used", path, err)
		}
		return env
	}
	present := map[string]bool{}
	for _, line := range src.Environ {
		name, _, _ := strings.Cut(line, "=")
		present[name] = true
	}
	merged := slices.Clone(src.Environ)
	for _, line := range parseDotEnv(string(text)) {
		if name, _, _ := strings.Cut(line, "="); !present[name] {
			merged = append(merged, line)
		}
	}
	return collect(merged)
}

// collect picks our variables; the native spelling wins over the foreign one.
func collect(environ []string) *environment {
	env := &environment{vars: map[string]variable{}}
	for _, prefix := range []string{foreignPrefix, nativePrefix} {
		for _, line := range environ {
			name, value, _ := strings.Cut(line, "=")
			if name == logFilterName {
				env.logFilter = value
			}
			if suffix, ours := strings.CutPrefix(name, prefix); ours && value != "" && suffix != "" {
				env.vars[suffix] = variable{name: name, value: value}
			}
		}
	}
	return env
}

// get is the value of a variable by the rest of its name, empty if it is not set.
func (e *environment) get(suffix string) string { return e.vars[suffix].value }

// variableSuffix is the rest of the variable's name of a key: tcp.tls.enabled gives TCP_TLS_ENABLED.
func variableSuffix(path string) string {
	return strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// Variable is the name of the environment variable of a key in its native spelling. The same name with the
// prefix IGGY_ is honoured as well.
func Variable(key string) string { return nativePrefix + variableSuffix(key) }

// applyEnvironment gives keys the values of their variables.
func (l *loader) applyEnvironment() {
	bySuffix := map[string]*key[Config]{}
	for i := range keyTable {
		bySuffix[variableSuffix(keyTable[i].path)] = &keyTable[i]
	}
	lists := newListVariables()
	for _, suffix := range slices.Sorted(maps.Keys(l.env.vars)) {
		v := l.env.vars[suffix]
		if k := bySuffix[suffix]; k != nil {
			l.set(k, v.value, v.name)
			l.override(v, k.path, k.secret)
			continue
		}
		if path, ok := removedVariable(suffix); ok {
			l.refuseRemoved(path, v.name)
			continue
		}
		if path, ok := lists.add(suffix, v); ok {
			l.override(v, path, false)
			continue
		}
		if !isOutside(suffix) {
			l.unknownVariable(suffix, v, bySuffix)
		}
	}
	l.applyListVariables(lists)
}

func (l *loader) override(v variable, path string, secret bool) {
	value := v.value
	if secret {
		value = Masked
	}
	l.out.Overrides = append(l.out.Overrides, Override{Name: v.name, Key: path, Value: value})
}

func isOutside(suffix string) bool {
	for _, prefix := range outsidePrefixes {
		if strings.HasPrefix(suffix, prefix) {
			return true
		}
	}
	return slices.Contains(outsideVariables, suffix)
}

func (l *loader) unknownVariable(suffix string, v variable, bySuffix map[string]*key[Config]) {
	candidates := slices.Concat(slices.Collect(maps.Keys(bySuffix)), outsideVariables, listVariableExamples())
	prefix := strings.TrimSuffix(v.name, suffix)
	near := nearest(suffix, candidates, 3)
	if len(near) == 0 {
		l.warn("%s: no key has this variable, it is ignored", v.name)
		return
	}
	for i := range near {
		near[i] = prefix + near[i]
	}
	l.warn("%s: no key has this variable, it is ignored; similar: %s", v.name, strings.Join(near, ", "))
}
