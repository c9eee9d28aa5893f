package inspect

import (
	"fmt"
	"io"
)

// Print writes the report for people: findings, then one line that sums up.
func (r *Report) Print(w io.Writer) error {
	p := &printer{w: w}
	for i := range r.Findings {
		r.Findings[i].print(p)
	}
	if len(r.Findings) > 0 {
		p.line("")
	}
	p.line("verified %s: %s, %s, %s (%d in use), %s, %s, %s in %.1f s (%s/s)", r.Data, many(r.Streams, "stream"), many(r.Topics, "topic"),
		many(r.Partitions, "partition"), r.InUse, many(r.Messages, "message"), many(r.Files, "file"), size(r.Bytes), r.Seconds, size(int64(r.BytesPerSecond)))
	p.line("%s, %s, %s: %s", many(r.Errors, "error"), many(r.Warnings, "warning"), many(r.Notes, "note"), r.verdict())
	return p.err
}

// verdict is the report in a few words.
func (r *Report) verdict() string {
	switch {
	case r.Errors > 0:
		return "damaged, see the errors"
	case r.Warnings > 0:
		return "a start copes with it, see the warnings"
	}
	return "in order"
}

func (f *Finding) print(p *printer) {
	where := f.Path
	if where == "" {
		where = "the data directory"
	}
	if f.Position != nil {
		where = fmt.Sprintf("%s, byte %d", where, *f.Position)
	}
	p.line("%-7s  %s", f.Severity, where)
	p.line("         %s", f.Problem)
	if f.Severity > Note {
		p.line("         %s", consequences[f.Consequence].effect)
	}
	if f.Remedy != "" && f.Remedy != remedyNone {
		p.line("         remedy: %s", f.Remedy)
	}
}

// printer writes lines until the first error, which it keeps.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
