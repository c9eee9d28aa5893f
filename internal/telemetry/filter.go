package telemetry

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Levels beside those of slog.
const (
	LevelTrace = slog.LevelDebug - 4
	levelOff   = slog.Level(1 << 20)
)

var levelNames = map[string]slog.Level{
	"trace": LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError, "off": levelOff, "none": levelOff,
}

// module is the first part of every target of ours. Filters that were written for the reference server name
// its modules, which mean the same here.
const module = "galgo"

var moduleAliases = []string{"server", "iggy"}

// Filter decides which lines are written: a level for everything, and levels for single targets.
type Filter struct {
	base       slog.Level
	directives []directive // longest target first
	lowest     slog.Level
}

type directive struct {
	target string
	level  slog.Level
}

// FilterError says which part of a filter cannot be read.
type FilterError struct{ Text, Part string }

// Error names the part and the accepted form.
func (e *FilterError) Error() string {
	return fmt.Sprintf("log filter %q: %q is not a level (trace, debug, info, warn, error, off) nor target=level", e.Text, e.Part)
}

// ParseFilter reads a level, or directives separated by commas: "warn,galgo::node=debug,iggy=trace". The
// longest target that is a prefix of a line's target decides, then the bare level, which is error if there are
// only directives. Errors are *FilterError.
func ParseFilter(text string) (Filter, error) {
	f := Filter{base: slog.LevelError}
	parts := strings.Split(text, ",")
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if part == "" && len(parts) > 1 {
			continue
		}
		target, name, targeted := strings.Cut(part, "=")
		if !targeted {
			target, name = "", part
		}
		level, ok := levelNames[strings.ToLower(strings.TrimSpace(name))]
		target = strings.TrimSpace(target)
		if !ok || targeted && (target == "" || strings.ContainsAny(target, "[]{}")) {
			return Filter{}, &FilterError{Text: text, Part: part}
		}
		if !targeted {
			f.base = level
			continue
		}
		f.directives = append(f.directives, directive{canonicalTarget(target), level})
	}
	slices.SortStableFunc(f.directives, func(a, b directive) int { return len(b.target) - len(a.target) })
	f.lowest = f.base
	for _, d := range f.directives {
		f.lowest = min(f.lowest, d.level)
	}
	return f, nil
}

func canonicalTarget(target string) string {
	for _, alias := range moduleAliases {
		if rest, ok := strings.CutPrefix(target, alias); ok && (rest == "" || strings.HasPrefix(rest, "::")) {
			return module + rest
		}
	}
	return target
}

// Enabled says whether any target writes lines of the level.
func (f Filter) Enabled(level slog.Level) bool { return level >= f.lowest }

// Allows says whether lines of the target and level are written.
func (f Filter) Allows(target string, level slog.Level) bool {
	for _, d := range f.directives {
		if rest, ok := strings.CutPrefix(target, d.target); ok && (rest == "" || strings.HasPrefix(rest, "::")) {
			return level >= d.level
		}
	}
	return level >= f.base
}
