package node

import (
	"sync/atomic"
	"time"
)

// clockHand is what a shard remembers about time between passes.
type clockHand struct {
	lastTick   uint64
	lastSecond uint64
	lastRetain uint64
	timed      []*group    // groups that wait for time to pass
	busy       atomic.Bool // something waits for the next tick
	hand       int         // next group whose tail may be trimmed
	order      []*group    // groups with a tail, in the order they came
}

const (
	busyPause = 10 * time.Millisecond
	idlePause = 250 * time.Millisecond
)

// runTimer wakes the shard every tick while something waits for one, and four times a second otherwise.
func (s *shard) runTimer(stop <-chan struct{}, timer chan<- struct{}) {
	t := time.NewTimer(idlePause)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		select {
		case timer <- struct{}{}:
		default:
		}
		if s.clock.busy.Load() {
			t.Reset(busyPause)
		} else {
			t.Reset(idlePause)
		}
	}
}

// wantTick asks for passes at tick pace.
func (s *shard) wantTick() { s.clock.busy.Store(true) }

// waitForTick has g touched at the next tick.
func (s *shard) waitForTick(g *group) {
	if !g.isTimed {
		g.isTimed = true
		s.clock.timed = append(s.clock.timed, g)
	}
	s.wantTick()
}

// tick does what depends on time alone, at most once a tick.
func (s *shard) tick() {
	now := s.now.Ticks
	if now == s.clock.lastTick {
		return
	}
	s.clock.lastTick = now
	s.clock.busy.Store(false)
	timed := s.clock.timed
	s.clock.timed = nil
	for _, g := range timed {
		g.isTimed = false
		g.retrying = g.retrying && now < g.retryAt
		g.expire(now)
		if g.state == serving && now >= g.replica.Deadline() {
			g.replica.Tick(s.now)
		}
		s.touch(g)
	}
	if s.meta != nil {
		s.meta.tick()
	}
	s.wal.tick()
	if now-s.clock.lastSecond >= ticksPerSecond {
		s.clock.lastSecond = now
		s.everySecond()
	}
	if !s.node.limits.NoRetention && now-s.clock.lastRetain >= s.node.limits.RetentionTicks {
		s.clock.lastRetain = now
		for _, g := range s.groupList() {
			g.expiring = true
			g.clean()
		}
	}
}

// everySecond looks at disk space and at what consumers have passed meanwhile.
func (s *shard) everySecond() {
	if s.index == 0 {
		s.node.checkFreeSpace()
	}
	s.retryStalled()
	for _, g := range s.truncating {
		g.clean()
	}
	s.wal.everySecond()
}

// clean removes what DeleteSegments has allowed and, when the cleaner is due, what expiry and size ask for: one
// budget of segments at a time, the next one when the files of this one are gone. In between the shard serves
// whatever else there is.
func (g *group) clean() {
	if g.state != serving || g.removing > 0 {
		return
	}
	if g.truncate > 0 && g.part.TruncatesNow(g.truncate) {
		g.part.Truncate(g.truncate)
		g.shard.touch(g)
	}
	if g.expiring {
		g.expiring = g.part.Retain(g.shard.now.Micros)
		g.shard.touch(g)
	}
}

// setTruncate takes over the watermark of DeleteSegments; 0 is none.
func (g *group) setTruncate(upTo uint64) {
	if g.truncate == 0 && upTo > 0 {
		g.shard.truncating[g.id] = g
	} else if upTo == 0 {
		delete(g.shard.truncating, g.id)
	}
	g.truncate = upTo
}

// trimTails keeps the recent batches of the node within their bound: the groups of this shard give theirs
// up in turn while the node is over it.
func (s *shard) trimTails() {
	n := s.node
	for tries := len(s.clock.order); tries > 0 && n.tailBytes.Load() > n.limits.TailBytes; tries-- {
		s.clock.hand = (s.clock.hand + 1) % len(s.clock.order)
		g := s.clock.order[s.clock.hand]
		before := g.part.TailBytes()
		if g.part.TrimTail(before / 2); g.part.TailBytes() == before {
			g.part.TrimTail(0) // one batch, larger than half
		}
		g.noteTail()
		if len(s.clock.order) == 0 {
			return
		}
	}
}

// noteTail accounts for the change of the group's tail since the last call.
func (g *group) noteTail() {
	now := g.part.TailBytes()
	if now == g.tailNoted {
		return
	}
	if g.tailNoted == 0 {
		g.shard.clock.order = append(g.shard.clock.order, g)
	} else if now == 0 {
		g.shard.clock.forget(g)
	}
	g.shard.node.tailBytes.Add(now - g.tailNoted)
	g.tailNoted = now
}

// forget takes g out of the groups that have a tail.
func (c *clockHand) forget(g *group) {
	for i, other := range c.order {
		if other == g {
			c.order = append(c.order[:i], c.order[i+1:]...)
			return
		}
	}
}
