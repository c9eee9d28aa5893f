package vsr

import "math"

// NoDeadline is the Deadline of a replica whose clock need not be looked at.
const NoDeadline = math.MaxUint64

// Ticks by default, 10 ms each.
const (
	prepareTicks   = 25
	commitTicks    = 50
	heartbeatTicks = 500
)

// accuseTicksMax is how far a timer that accuses somebody else advances in one pass: after a stall of
// this process the silence may be ours.
const accuseTicksMax = 2

// timer fires at a tick. It stays fired until it is started again or stopped.
type timer struct {
	armed    bool
	attempts uint8
	due      uint64
}

func (t *timer) start(now uint64, base uint32) {
	*t = timer{armed: true, due: now + uint64(base)}
}

// ensure starts the timer unless it runs.
func (t *timer) ensure(now uint64, base uint32) {
	if !t.armed {
		t.start(now, base)
	}
}

func (t *timer) stop() { *t = timer{} }

func (t *timer) fired(now uint64) bool { return t.armed && now >= t.due }

// backoff counts an attempt and starts the timer with twice the pause, at most sixteen times the base,
// and up to as much again at random.
func (t *timer) backoff(now uint64, base uint32, rng *rng) {
	t.attempts = min(t.attempts+1, 4)
	pause := uint64(base) << t.attempts
	t.armed, t.due = true, now+pause+rng.upTo(pause)
}

// countdown is a timer that accuses others: it counts passes, not time.
type countdown struct {
	armed bool
	left  uint32
}

func (c *countdown) startCounting(ticks uint32) { c.armed, c.left = true, ticks }

// advance counts ticks off and reports whether none are left.
func (c *countdown) advance(ticks uint64) bool {
	if !c.armed {
		return false
	}
	c.left -= min(c.left, uint32(min(ticks, accuseTicksMax)))
	return c.left == 0
}

type timers struct {
	base      Timeouts
	prepare   timer
	commit    timer
	heartbeat countdown
	lastTick  uint64
	started   bool
	rng       rng
}

func newTimers(base Timeouts, seed uint64) timers {
	if base.Prepare == 0 {
		base.Prepare = prepareTicks
	}
	if base.Commit == 0 {
		base.Commit = commitTicks
	}
	if base.Heartbeat == 0 {
		base.Heartbeat = heartbeatTicks
	}
	return timers{base: base, rng: rng(seed)}
}

// Tick runs the timers that are due. Calling it before Deadline does nothing.
func (r *Replica) Tick(now Time) {
	r.input(now)
	if r.dead() {
		return
	}
	t := &r.timers
	if !t.started {
		t.started = true
		t.lastTick = now.Ticks
		r.startTimers()
	}
	elapsed := now.Ticks - min(t.lastTick, now.Ticks)
	t.lastTick = now.Ticks
	if d := &r.durable; d.wanted && !d.writing && !r.gateOpen() {
		r.persist()
	}
	if t.heartbeat.advance(elapsed) {
		r.heartbeatExpired()
	}
	if t.prepare.fired(now.Ticks) {
		r.retransmit()
	}
	if t.commit.fired(now.Ticks) {
		r.broadcastCommit()
	}
}

// startTimers arms what the role keeps running.
func (r *Replica) startTimers() {
	switch {
	case r.solo():
	case r.IsPrimary():
		r.timers.commit.ensure(r.now.Ticks, r.timers.base.Commit)
		if r.commitMax < r.op {
			r.timers.prepare.ensure(r.now.Ticks, r.timers.base.Prepare)
		}
	case !r.timers.heartbeat.armed:
		r.timers.heartbeat.startCounting(r.timers.base.Heartbeat)
	}
}

// heartbeatExpired counts a silence of the primary and waits for the next one, with jitter, so that the
// backups of a group do not lose patience together.
func (r *Replica) heartbeatExpired() {
	r.silences++
	base := r.timers.base.Heartbeat
	r.timers.heartbeat.startCounting(base + uint32(r.timers.rng.upTo(uint64(base))))
}

// PrimarySilences is how often the primary was not heard of for a heartbeat timeout.
func (r *Replica) PrimarySilences() uint64 { return r.silences }

// Deadline is the tick from which on Tick has something to do, or NoDeadline. It can only change in a
// method call.
func (r *Replica) Deadline() uint64 {
	t := &r.timers
	if r.dead() {
		return NoDeadline
	}
	deadline := uint64(NoDeadline)
	if !t.started && !r.solo() {
		return 0
	}
	if t.prepare.armed {
		deadline = min(deadline, t.prepare.due)
	}
	if t.commit.armed {
		deadline = min(deadline, t.commit.due)
	}
	if t.heartbeat.armed {
		deadline = min(deadline, t.lastTick+1)
	}
	if d := &r.durable; d.wanted && !d.writing && !r.gateOpen() {
		deadline = min(deadline, d.notBefore)
	}
	return deadline
}

// rng is a splitmix64 generator: jitter that a seed repeats.
type rng uint64

func (g *rng) next() uint64 {
	*g += 0x9E3779B97F4A7C15
	z := uint64(*g)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// upTo returns a number from 0 to n.
func (g *rng) upTo(n uint64) uint64 {
	if n == math.MaxUint64 {
		return g.next()
	}
	return g.next() % (n + 1)
}
