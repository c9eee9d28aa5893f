package telemetry

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
)

// Keys of attributes that do not appear as fields: they say where the line comes from.
const (
	threadKey = "telemetry.thread"
	targetKey = "telemetry.target"
)

// Thread names the thread of the lines of a logger: "main" by default, "shard-<n>" on a shard.
func Thread(log *slog.Logger, name string) *slog.Logger { return log.With(threadKey, name) }

// Target names the module of the lines of a logger, which is otherwise the package that logs.
func Target(log *slog.Logger, name string) *slog.Logger { return log.With(targetKey, name) }

// handler formats records and hands them to the sink.
type handler struct {
	logging *Logging
	thread  string
	target  string
	prefix  string // open groups, with a dot behind each
	fields  []byte
	console []byte
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.logging.filter.Load().Enabled(level)
}

// Handle implements slog.Handler. It never blocks and never fails.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	rec := record{at: r.Time, level: r.Level, thread: h.thread, target: h.target, message: clean(r.Message)}
	if rec.target == "" {
		rec.target = targetOf(r.PC)
	}
	if !h.logging.filter.Load().Allows(rec.target, rec.level) {
		return nil
	}
	fields := append([]byte(nil), h.fields...)
	console := append([]byte(nil), h.console...)
	r.Attrs(func(a slog.Attr) bool {
		fields = appendField(fields, h.prefix, a, false)
		console = appendField(console, h.prefix, a, true)
		return true
	})
	rec.fields, rec.console = string(fields), string(console)
	h.logging.put(rec)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.fields = append([]byte(nil), h.fields...)
	next.console = append([]byte(nil), h.console...)
	for _, a := range attrs {
		switch a.Key {
		case threadKey:
			next.thread = clean(a.Value.String())
		case targetKey:
			next.target = clean(a.Value.String())
		default:
			next.fields = appendField(next.fields, h.prefix, a, false)
			next.console = appendField(next.console, h.prefix, a, true)
		}
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.prefix += name + "."
	return &next
}

// targets remembers the target of every place that logs. There are as many as log calls in the program.
var targets sync.Map // uintptr -> string

// targetOf turns the package of a program counter into a target: galgo::node.
func targetOf(pc uintptr) string {
	if pc == 0 {
		return module
	}
	if known, ok := targets.Load(pc); ok {
		return known.(string)
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	target := targetOfFunction(frame.Function)
	targets.Store(pc, target)
	return target
}

func targetOfFunction(function string) string {
	slash := strings.LastIndexByte(function, '/')
	if dot := strings.IndexByte(function[slash+1:], '.'); dot >= 0 {
		function = function[:slash+1+dot]
	}
	for _, parent := range []string{"/internal/", "/cmd/", "/galgo/"} {
		if _, inner, ok := strings.Cut(function, parent); ok {
			return module + "::" + strings.ReplaceAll(inner, "/", "::")
		}
	}
	if function == "main" {
		return module
	}
	return strings.ReplaceAll(function, "/", "::")
}
