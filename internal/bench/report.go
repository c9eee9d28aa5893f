package bench

import (
	"fmt"
	"time"
)

// Report is the outcome of one run of a workload.
type Report struct {
	Kind   string         `json:"kind"`
	Params map[string]any `json:"params"`
	Groups []Group        `json:"groups"`
	// ClientPerGB is the processor time of this process for 10^9 bytes of payload moved, in seconds.
	ClientPerGB float64    `json:"client_cpu_seconds_per_gb"`
	Server      *ServerUse `json:"server,omitempty"`
}

// Group are the actors of one role.
type Group struct {
	Role      string    `json:"role"`
	Actors    int       `json:"actors"`
	Bytes     int64     `json:"payload_bytes"`
	Messages  int64     `json:"messages"`
	Batches   int64     `json:"batches"`
	Repeats   int64     `json:"repeated_batches"` // the server had answered that it could not take them now
	WallClock WallClock `json:"wall_clock"`
	Reference Reference `json:"reference"`
}

// ServerUse is what the server's process used meanwhile.
type ServerUse struct {
	PID          int     `json:"pid"`
	CPUSeconds   float64 `json:"cpu_seconds"`
	PerGB        float64 `json:"cpu_seconds_per_gb"`
	RSSBytes     int64   `json:"rss_bytes"`
	PeakRSSBytes int64   `json:"peak_rss_bytes"`
}

func newGroup(r actorRole, recs []*recorder, smoothing int) Group {
	g := Group{Role: string(r), Actors: len(recs)}
	for _, rec := range recs {
		g.Bytes += rec.bytes
		g.Messages += rec.messages
		g.Batches += rec.batches
		g.Repeats += rec.repeats
	}
	g.WallClock = wallClock(recs)
	g.Reference = reference(recs, smoothing)
	return g
}

// groupsOf gathers recorders by role, in the order in which roles first appear.
func groupsOf(recs []*recorder, smoothing int) []Group {
	var order []actorRole
	byRole := map[actorRole][]*recorder{}
	for _, r := range recs {
		if byRole[r.role] == nil {
			order = append(order, r.role)
		}
		byRole[r.role] = append(byRole[r.role], r)
	}
	out := make([]Group, 0, len(order))
	for _, role := range order {
		out = append(out, newGroup(role, byRole[role], smoothing))
	}
	return out
}

// bytes is the payload that all groups moved.
func (r Report) bytes() int64 {
	var sum int64
	for _, g := range r.Groups {
		sum += g.Bytes
	}
	return sum
}

// meter samples processor time around the measured part of a run.
type meter struct {
	pid    int // of the server; 0: not watched
	client time.Duration
	server usage
	err    error
}

func (m *meter) begin() {
	m.client = processorTime()
	if m.pid > 0 {
		m.server, m.err = processUsage(m.pid)
	}
}

// end completes r with what was used since begin.
func (m *meter) end(r *Report) error {
	r.ClientPerGB = perGB(processorTime()-m.client, r.bytes())
	if m.pid == 0 || m.err != nil {
		return m.err
	}
	now, err := processUsage(m.pid)
	if err != nil {
		return err
	}
	used := now.CPU - m.server.CPU
	r.Server = &ServerUse{PID: m.pid, CPUSeconds: used.Seconds(), PerGB: perGB(used, r.bytes()),
		RSSBytes: now.RSS, PeakRSSBytes: now.PeakRSS}
	return nil
}

func (p *printer) report(r Report) {
	p.linef("%s", r.Kind)
	for _, g := range r.Groups {
		w, f := g.WallClock, g.Reference
		repeats := ""
		if g.Repeats > 0 {
			repeats = fmt.Sprintf(", %d batches sent again", g.Repeats)
		}
		p.linef("  %s: %d actors, %d batches, %d messages, %.3f GB of payload in %.3f s%s",
			g.Role, g.Actors, g.Batches, g.Messages, float64(g.Bytes)/1e9, w.Seconds, repeats)
		p.linef("    %-11s %10s %12s %12s %9s %9s %9s %9s %9s %9s %9s %9s", "", "MB/s", "messages/s",
			"MB/s actor", "p50 ms", "p90", "p95", "p99", "p99.9", "p99.99", "min", "max")
		p.figures("wall clock", w.MBPerSec, w.MessagesPerSec, w.SlowestMBPerSec, w.Latency, w.MinMillis, w.MaxMillis)
		p.figures("reference", f.MBPerSec, f.MessagesPerSec, f.MBPerActor, f.Latency, f.MinMillis, f.MaxMillis)
	}
	line := fmt.Sprintf("  cpu s/GB: client %.3f", r.ClientPerGB)
	if s := r.Server; s != nil {
		line += fmt.Sprintf(", server %.3f (%.2f s); server memory %.1f MiB, peak %.1f MiB",
			s.PerGB, s.CPUSeconds, float64(s.RSSBytes)/(1<<20), float64(s.PeakRSSBytes)/(1<<20))
	}
	p.linef("%s", line)
}

// figures prints one line; the third rate is that of the slowest actor, or the mean of all.
func (p *printer) figures(name string, mb, messages, perActor float64, l Percentiles, low, high float64) {
	p.linef("    %-11s %10.1f %12.0f %12.1f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f",
		name, mb, messages, perActor, l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999, low, high)
}
