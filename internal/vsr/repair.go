package vsr

import (
	"github.com/galgolog/galgo/internal/protocol"
)

// repairChunk is the largest number of operations that one request is answered with.
const repairChunk = 128

// repairSession is a request for missing operations that is under way. It ends with the view.
type repairSession struct {
	armed    bool
	nonce    protocol.Uint128
	peer     uint8
	from, to uint64
	progress bool // something came since the last look
	silences uint8
}

// repairMissing asks for the operations that are committed and not here. A backup asks the primary, whose log
// is that of the view; a primary asks the others in turn.
func (r *Replica) repairMissing() {
	if r.status != statusNormal || r.repair.armed || r.dead() || r.solo() {
		return
	}
	from := r.firstMissing(r.commitMax)
	if from == 0 {
		return
	}
	peer := r.Primary()
	if peer == r.self {
		peer = (r.self + 1) % r.replicas
	}
	r.request(peer, from, r.commitMax)
}

// firstMissing is the lowest op up to the given one that is not in the log, or 0.
func (r *Replica) firstMissing(upTo uint64) uint64 {
	upTo = min(upTo, r.commitMin+uint64(r.ring.limit)) // memory reaches no further
	for op := r.commitMin + 1; op <= upTo; op++ {
		if r.ring.held(op) == nil {
			return op
		}
	}
	return 0
}

// fetch asks for an operation of a decided log: a replica that said it has it, of the newest log view.
func (r *Replica) fetch(op uint64) {
	if r.repair.armed {
		return
	}
	best, found := uint8(0), false
	for i := range r.replicas {
		from := (r.self + 1 + i) % r.replicas
		v := r.vc.votes[from]
		if from == r.self || v == nil || !v.has(op) || from == r.repair.peer && r.repair.silences > 0 {
			continue
		}
		if !found || v.logView > r.vc.votes[best].logView {
			best, found = from, true
		}
	}
	if r.repair.silences = 0; found {
		r.request(best, op, r.vc.merged.op)
	}
}

func (r *Replica) request(peer uint8, from, to uint64) {
	r.repair = repairSession{
		armed: true, peer: peer, from: from, to: to, nonce: protocol.Uint128{Lo: r.timers.rng.next() | 1, Hi: r.incarnation.Lo},
	}
	r.timers.repair.start(r.now.Ticks, r.timers.base.Repair)
	var h RequestPreparesHeader
	r.stamp(h.Common(), protocol.CommandRequestPrepares)
	h.SetNonce(r.repair.nonce)
	h.SetFromOp(from)
	h.SetToOp(to)
	h.SetGroup(r.group)
	SealFrame(h.Common(), nil)
	r.out.send(peer, h.Common(), Body{})
}

// onRequestPrepares serves operations to a peer: applied ones from the log, the others from memory.
func (r *Replica) onRequestPrepares(m *Message) {
	q := (*RequestPreparesHeader)(m.Header)
	if r.status != statusNormal && r.status != statusViewChange || r.loading() {
		r.drop(DropStatus)
		return
	}
	from, to := q.FromOp(), min(q.ToOp(), r.op, q.FromOp()+repairChunk-1)
	if from > to {
		r.repairDone(m.From, q.Nonce(), from-1)
		return
	}
	if from <= r.commitMin {
		r.out.effects.Loads = append(r.out.effects.Loads, Load{To: m.From, Nonce: q.Nonce(), From: from, Up: min(to, r.commitMin)})
		return
	}
	op := from
	for ; op <= to; op++ {
		s := r.ring.held(op)
		if s == nil || !s.durable {
			break
		}
		r.out.sendEntry(m.From, s).SetCommand(protocol.CommandRepairPrepare)
	}
	r.repairDone(m.From, q.Nonce(), op-1)
}

// onLoaded sends what the host has read from the log.
func (r *Replica) onLoaded(c *Loaded) {
	if c.Oldest > c.Load.From {
		r.repairEnd(c.Load.To, protocol.CommandRangeEvicted, c.Load.Nonce, c.Oldest)
	}
	last := c.Load.From - 1
	for i := range c.Entries {
		e := &c.Entries[i]
		h := r.out.send(c.Load.To, e.Header.Common(), e.Body)
		h.SetCommand(protocol.CommandRepairPrepare)
		last = e.Header.Op()
	}
	r.repairDone(c.Load.To, c.Load.Nonce, last)
}

func (r *Replica) repairDone(to uint8, nonce protocol.Uint128, last uint64) {
	r.repairEnd(to, protocol.CommandRepairDone, nonce, last)
}

func (r *Replica) repairEnd(to uint8, command protocol.Command, nonce protocol.Uint128, op uint64) {
	var h RepairDoneHeader
	r.stamp(h.Common(), command)
	h.SetNonce(nonce)
	h.SetOp(op)
	h.SetGroup(r.group)
	SealFrame(h.Common(), nil)
	r.out.send(to, h.Common(), Body{})
}

// onRepairPrepare puts an operation into its empty place when it is the one that belongs there.
func (r *Replica) onRepairPrepare(m *Message) {
	h := *(*protocol.PrepareHeader)(m.Header)
	h.Common().SetCommand(protocol.CommandPrepare)
	op := h.Op()
	if !r.repair.armed || m.From != r.repair.peer || op > r.repair.to || op <= r.commitMin {
		r.drop(DropUnasked)
		return
	}
	r.repair.progress, r.repair.silences = true, 0
	if r.status == statusViewChange {
		r.takeForStart(&h, m.Body)
		return
	}
	s := r.ring.get(op)
	switch {
	case s != nil && s.state == slotHeld:
		r.drop(DropDuplicate)
		return
	case op > r.op+1:
		r.drop(DropGap)
		return
	case !r.belongs(&h, s):
		r.drop(DropDivergent)
		return
	}
	// What the primary of this view gives out at or below the commit point is what was committed. What another
	// replica gives out counts once something above it names it.
	vouched := m.From == r.Primary() && op <= r.commitMax
	if above := r.ring.get(op + 1); above != nil && above.vouched {
		vouched = true
	}
	if s = r.fill(&h, m.Body); s == nil {
		r.drop(DropWindow)
		return
	}
	if op > r.op {
		r.op, r.lastChecksum = op, h.Common().Checksum()
	}
	if vouched || s.vouched {
		s.vouched = false
		r.vouchFor(s)
	}
}

// belongs reports whether an operation fits between its neighbours, and is the one that its place names.
func (r *Replica) belongs(h *protocol.PrepareHeader, named *slot) bool {
	if named != nil && !named.is(h) {
		return false
	}
	if above := r.ring.get(h.Op() + 1); above != nil && above.vouched && above.Header.Parent() != h.Common().Checksum() {
		return false
	}
	if h.Op() == r.commitMin+1 {
		return r.commitChecksum.IsZero() || h.Parent() == r.commitChecksum
	}
	below := r.ring.get(h.Op() - 1)
	return below == nil || !below.vouched || below.Header.Common().Checksum() == h.Parent()
}

// takeForStart takes an operation of the decided log.
func (r *Replica) takeForStart(h *protocol.PrepareHeader, body Body) {
	if decided := r.vc.merged.of(h.Op()); !r.vc.decided || decided == nil || !sameOp(decided, h) {
		r.drop(DropDivergent)
		return
	}
	if s := r.ring.get(h.Op()); s != nil && s.state == slotHeld {
		r.drop(DropDuplicate)
		return
	}
	if r.fill(h, body) == nil {
		r.drop(DropWindow)
	}
}

// onRepairDone goes on with what is missing still.
func (r *Replica) onRepairDone(m *Message) {
	if !r.repair.armed || m.From != r.repair.peer || (*RepairDoneHeader)(m.Header).Nonce() != r.repair.nonce {
		r.drop(DropUnasked)
		return
	}
	progress := r.repair.progress
	r.advance()
	if !progress {
		return // the timer asks again, or somebody else
	}
	r.repair.armed = false
	r.timers.repair.stop()
	r.repairMissing()
	r.tryStart()
}

// onRangeEvicted notes that a peer does not have the operations any more: only the state of the group helps.
func (r *Replica) onRangeEvicted(m *Message) {
	if !r.repair.armed || m.From != r.repair.peer || (*RepairDoneHeader)(m.Header).Nonce() != r.repair.nonce {
		r.drop(DropUnasked)
		return
	}
	r.needsTransfer = true
}

// NeedsTransfer reports that operations which this replica lacks are in no log of a peer any more.
func (r *Replica) NeedsTransfer() bool { return r.needsTransfer }

// repairTimer asks again after a silence; a primary and a candidate ask another replica.
func (r *Replica) repairTimer() {
	r.timers.repair.stop()
	s := &r.repair
	if !s.armed {
		return
	}
	s.armed = false
	s.silences++
	if r.status == statusViewChange {
		r.tryStart()
		return
	}
	from := r.firstMissing(r.commitMax)
	if from == 0 || r.status != statusNormal {
		return
	}
	peer := s.peer
	if r.IsPrimary() {
		if peer = (peer + 1) % r.replicas; peer == r.self {
			peer = (peer + 1) % r.replicas
		}
	}
	r.request(peer, from, r.commitMax)
}
