package telemetry

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A line is, with single spaces:
//
//	2026-08-01T10:00:00.123456Z  INFO shard-0 galgo::node: message key=value group.key="two words"
//
// Time is UTC with microseconds, the level is right-aligned to five, then thread, target and message. Values
// with spaces, quotes or nothing in them are quoted. Control characters never reach the output raw, so that no
// client can forge a line or drive a terminal.

const timeLayout = "2006-01-02T15:04:05.000000Z"

// Colours of the parts on standard output.
const (
	colorReset = "\x1b[0m"
	colorDim   = "\x1b[2m"
)

func levelColor(level slog.Level) (name, color string) {
	switch {
	case level >= slog.LevelError:
		return "ERROR", "\x1b[31m"
	case level >= slog.LevelWarn:
		return " WARN", "\x1b[33m"
	case level >= slog.LevelInfo:
		return " INFO", "\x1b[32m"
	case level >= slog.LevelDebug:
		return "DEBUG", "\x1b[34m"
	}
	return "TRACE", "\x1b[35m"
}

// record is a log record with its fields already formatted, ready for both destinations.
type record struct {
	at      time.Time
	level   slog.Level
	thread  string
	target  string
	message string
	fields  string // for the file, with a leading space
	console string // for standard output; differs where a value is shown only there
}

func (r *record) appendPlain(out []byte) []byte {
	name, _ := levelColor(r.level)
	out = r.at.UTC().AppendFormat(out, timeLayout)
	out = append(out, ' ')
	out = append(out, name...)
	out = append(out, ' ')
	out = append(out, r.thread...)
	out = append(out, ' ')
	out = append(out, r.target...)
	out = append(out, ": "...)
	out = append(out, r.message...)
	out = append(out, r.fields...)
	return append(out, '\n')
}

func (r *record) appendConsole(out []byte, color bool) []byte {
	if !color {
		plain := *r
		plain.fields = r.console
		return plain.appendPlain(out)
	}
	name, code := levelColor(r.level)
	out = append(out, colorDim...)
	out = r.at.UTC().AppendFormat(out, timeLayout)
	out = append(out, colorReset+" "...)
	out = append(out, code...)
	out = append(out, name...)
	out = append(out, colorReset+" "...)
	out = append(out, r.thread...)
	out = append(out, " "+colorDim...)
	out = append(out, r.target...)
	out = append(out, ":"+colorReset+" "...)
	out = append(out, r.message...)
	out = append(out, r.console...)
	return append(out, '\n')
}

// ConsoleOnly is a value that is shown on standard output and masked in the log file, for a secret that a
// person must see once.
type ConsoleOnly string

const masked = "******"

// appendField writes " prefix.key=value"; groups are flattened.
func appendField(out []byte, prefix string, a slog.Attr, console bool) []byte {
	value := a.Value
	if _, secret := value.Any().(ConsoleOnly); !secret {
		value = value.Resolve()
	}
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range value.Group() {
			out = appendField(out, prefix, member, console)
		}
		return out
	}
	if a.Equal(slog.Attr{}) {
		return out
	}
	out = append(out, ' ')
	if a.Key != "" { // a value without a name stands by itself
		out = append(out, clean(prefix+a.Key)...)
		out = append(out, '=')
	}
	return append(out, valueText(value, console)...)
}

// valueText formats one value. A value whose own method panics costs its text, not the process.
func valueText(value slog.Value, console bool) (text string) {
	defer func() {
		if recover() != nil {
			text = "unprintable"
		}
	}()
	switch v := value.Any().(type) {
	case ConsoleOnly:
		if !console {
			return masked
		}
		return quoted(string(v))
	case error:
		return quoted(v.Error())
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case fmt.Stringer:
		return quoted(v.String())
	case []byte:
		return fmt.Sprintf("%x", v)
	}
	return quoted(value.String())
}

// quoted puts quotes around text that would not read as one word.
func quoted(text string) string {
	if text == "" || strings.ContainsAny(text, " \"=") || needsCleaning(text) {
		return strconv.Quote(text)
	}
	return text
}

// clean makes text safe to stand in a line as it is.
func clean(text string) string {
	if !needsCleaning(text) {
		return text
	}
	escaped := strconv.Quote(text)
	escaped = escaped[1 : len(escaped)-1]
	return strings.ReplaceAll(escaped, `\"`, `"`)
}

func needsCleaning(text string) bool {
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && !strconv.IsPrint(r) {
			return true
		}
	}
	return false
}
