package vsr

import "math"

// NoDeadline is the Deadline of a replica whose clock need not be looked at.
const NoDeadline = math.MaxUint64

// Ticks by default, 10 ms each.
const (
	prepareTicks    = 25
	commitTicks     = 50
	heartbeatTicks  = 500
	viewChangeTicks = 50
	viewStatusTicks = 500
	probeTicks      = 100
	probeAttempts   = 5
	repairTicks     = 100
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
	base            Timeouts
	prepare         timer
	commit          timer
	startViewChange timer
	doViewChange    timer
	viewStatus      timer
	probe           timer
	repair          timer
	heartbeat       countdown
	lastTick        uint64
	started         bool
	rng             rng
}

func newTimers(base Timeouts, seed uint64) timers {
	for _, d := range []struct {
		field     *uint32
		otherwise uint32
	}{
		{&base.Prepare, prepareTicks}, {&base.Commit, commitTicks}, {&base.Heartbeat, heartbeatTicks},
		{&base.ViewChange, viewChangeTicks}, {&base.ViewChangeStatus, viewStatusTicks},
		{&base.Probe, probeTicks}, {&base.ProbeAttempts, probeAttempts}, {&base.Repair, repairTicks},
	} {
		if *d.field == 0 {
			*d.field = d.otherwise
		}
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
	if t.startViewChange.fired(now.Ticks) {
		t.startViewChange.start(now.Ticks, t.base.ViewChange)
		r.unsaid.startViewChange = true
	}
	if t.doViewChange.fired(now.Ticks) {
		t.doViewChange.start(now.Ticks, t.base.ViewChange)
		r.unsaid.doViewChange = true
	}
	r.flushView()
	if t.prepare.fired(now.Ticks) {
		r.retransmit()
	}
	if t.commit.fired(now.Ticks) {
		r.commitTimer()
	}
	if t.probe.fired(now.Ticks) {
		r.probeTimer()
	}
	if t.viewStatus.fired(now.Ticks) {
		r.elect()
	}
	if t.repair.fired(now.Ticks) {
		r.repairTimer()
	}
	r.tryStart()
}

// commitTimer announces the commit point, unless the group has gone on to a newer view without this primary.
func (r *Replica) commitTimer() {
	if r.observedNewerView > r.view {
		r.startProbing()
		return
	}
	r.broadcastCommit()
}

// startTimers arms what the role keeps running.
func (r *Replica) startTimers() {
	switch {
	case r.solo():
	case r.status == statusRecovering:
		r.timers.probe.ensure(r.now.Ticks, r.timers.base.Probe)
	case r.status != statusNormal:
	case r.IsPrimary():
		r.timers.commit.ensure(r.now.Ticks, r.timers.base.Commit)
		if r.commitMax < r.op {
			r.timers.prepare.ensure(r.now.Ticks, r.timers.base.Prepare)
		}
	case !r.timers.heartbeat.armed:
		r.timers.heartbeat.startCounting(r.timers.base.Heartbeat)
	}
}

// heartbeatExpired takes the primary for dead after its silence. When the group has gone on to a newer view,
// the silence is meant for this replica alone, and it asks.
func (r *Replica) heartbeatExpired() {
	r.silences++
	if r.observedNewerView > r.view {
		r.startProbing()
		return
	}
	r.elect()
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
	for _, timer := range [...]*timer{
		&t.prepare, &t.commit, &t.startViewChange, &t.doViewChange, &t.viewStatus, &t.probe, &t.repair,
	} {
		if timer.armed {
			deadline = min(deadline, timer.due)
		}
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
