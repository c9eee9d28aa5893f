package config

import "strings"

// parseDotEnv reads NAME=value lines for the variables of the server. It knows comments, a leading "export",
// and values in single or double quotes; anything else is skipped.
func parseDotEnv(text string) []string {
	var environ []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !found || !ownVariable(name) {
			continue
		}
		environ = append(environ, name+"="+dotEnvValue(strings.TrimSpace(value)))
	}
	return environ
}

func ownVariable(name string) bool {
	return strings.HasPrefix(name, foreignPrefix) || strings.HasPrefix(name, nativePrefix) || name == logFilterName
}

// dotEnvValue takes quotes off, or cuts the comment behind a plain value.
func dotEnvValue(value string) string {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : 1+end]
		}
	}
	if cut := strings.Index(value, " #"); cut >= 0 {
		value = strings.TrimSpace(value[:cut])
	}
	return value
}
