package vsr

import (
	"math"
	"math/bits"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
)

// viewChange is what a replica knows about the view that it wants to reach. It begins anew with every view.
type viewChange struct {
	joined  uint32 // replicas that asked for the view, one bit each, this one included
	votes   *votes // nil outside a view change
	own     *castVote
	decided bool // the votes have told the log of the view: merged
	merged  mergedLog
}

// castVote is the DoViewChange of this replica for the view. It is made once: whoever hears it twice hears the
// same.
type castVote struct {
	header DoViewChangeHeader
	body   []byte
}

// unsaid are messages that wait for the gate. They are made when it opens.
type unsaid struct{ startViewChange, doViewChange, startView bool }

// enterViewChange leaves everything of the old view behind but the log, and asks for the new one.
func (r *Replica) enterViewChange(view uint32) {
	r.leaveView(statusViewChange)
	r.view = view
	r.vc.joined, r.vc.votes = 1<<r.self, new(votes)
	t := &r.timers
	t.startViewChange.start(r.now.Ticks, t.base.ViewChange)
	t.viewStatus.start(r.now.Ticks, t.base.ViewChangeStatus)
	t.probe.start(r.now.Ticks, t.base.Probe)
	r.unsaid.startViewChange = true
	r.flushView()
}

// leaveView ends what belongs to the view so far. What a client waits for is answered: another view decides
// what becomes of it.
func (r *Replica) leaveView(next status) {
	r.status = next
	r.dropBeyondHead()
	r.vc, r.repair, r.unsaid = viewChange{}, repairSession{}, unsaid{}
	r.heartbeatTS = 0
	r.cancelWaiters()
	r.cancelQueue()
	t := &r.timers
	t.prepare.stop()
	t.commit.stop()
	t.heartbeat = countdown{}
	t.startViewChange.stop()
	t.doViewChange.stop()
	t.viewStatus.stop()
	t.probe.stop()
	t.repair.stop()
}

// dropBeyondHead forgets operations above the head, which a candidate fetched for a view that did not start.
func (r *Replica) dropBeyondHead() {
	for op := r.op + 1; op <= r.vc.merged.op; op++ {
		if s := r.ring.get(op); s != nil {
			r.forget(s)
		}
	}
}

// elect tries the view after the current one.
func (r *Replica) elect() {
	if r.view == math.MaxUint32 {
		r.fail(ErrViewsExhausted)
		return
	}
	r.enterViewChange(r.view + 1)
}

// flushView sends what waits for the view to be durable.
func (r *Replica) flushView() {
	if r.unsaid == (unsaid{}) || !r.passGate() {
		return
	}
	say := r.unsaid
	r.unsaid = unsaid{}
	if say.startViewChange && r.status == statusViewChange {
		var h StartViewChangeHeader
		r.stamp(h.Common(), protocol.CommandStartViewChange)
		h.SetGroup(r.group)
		SealFrame(h.Common(), nil)
		r.broadcast(h.Common(), nil)
	}
	if say.doViewChange && r.vc.own != nil {
		r.broadcast(r.vc.own.header.Common(), r.vc.own.body)
	}
	if say.startView && r.IsPrimary() {
		h, body := r.buildStartView(protocol.Uint128{})
		r.broadcast(h.Common(), body)
	}
}

// broadcast sends a frame to every other replica. The body belongs to the collector.
func (r *Replica) broadcast(h *protocol.Header, body []byte) {
	for to := range r.replicas {
		if to != r.self {
			r.out.send(to, h, Body{Bytes: body})
		}
	}
}

// onStartViewChange joins a newer view, and votes for it once enough others have.
func (r *Replica) onStartViewChange(m *Message) {
	if !r.joins(m) {
		return
	}
	r.vc.joined |= 1 << m.From
	others := bits.OnesCount32(r.vc.joined &^ (1 << r.self))
	if others >= int(r.replicas-1)/2 {
		r.vote()
	}
}

// joins reports whether a message of a view change is for the view that this replica changes to. A newer view
// is entered; a recovering replica takes no part.
func (r *Replica) joins(m *Message) bool {
	view := m.Header.View()
	switch {
	case r.status == statusRecovering || r.loading():
		r.observeView(m.Header)
		r.drop(DropStatus)
		return false
	case view < r.view:
		r.drop(DropOldView)
		return false
	case view > r.view:
		r.enterViewChange(view)
	case r.status != statusViewChange:
		r.drop(DropStatus)
		return false
	}
	return true
}

// vote casts the vote of this replica for the view.
func (r *Replica) vote() {
	if r.vc.own != nil {
		return
	}
	r.vc.own = r.buildVote()
	r.timers.doViewChange.start(r.now.Ticks, r.timers.base.ViewChange)
	r.unsaid.doViewChange = true
	r.flushView()
	if r.isCandidate() {
		r.takeVote(r.self, &r.vc.own.header, r.vc.own.body)
	}
}

// onDoViewChange collects the votes for the candidate; others take it as a call to the view.
func (r *Replica) onDoViewChange(m *Message) {
	if !r.joins(m) {
		return
	}
	if !r.isCandidate() {
		r.drop(DropRole)
		return
	}
	r.takeVote(m.From, (*DoViewChangeHeader)(m.Header), m.Body.Bytes)
}

// takeVote counts the first vote of a replica. The candidate votes itself before it decides.
func (r *Replica) takeVote(from uint8, h *DoViewChangeHeader, body []byte) {
	if r.vc.votes[from] != nil {
		r.drop(DropDuplicate)
		return
	}
	suffix, ok := DecodeDoViewChangeSuffix(h, append([]byte(nil), body...))
	if !ok {
		r.drop(DropInvalid)
		return
	}
	r.vc.votes[from] = &vote{
		op: h.Op(), commit: h.Commit(), logView: h.LogView(), nack: h.NackBitset(), present: h.PresentBitset(), suffix: suffix,
	}
	r.decide()
}

// decide merges the votes into the log of the view when they allow it.
func (r *Replica) decide() {
	if r.vc.decided || r.vc.own == nil {
		return
	}
	merged, verdict := merge(r.vc.votes, r.replicas)
	if verdict != mergeReady {
		return
	}
	r.vc.decided, r.vc.merged = true, merged
	r.timers.doViewChange.stop()
	if merged.op < r.commitMin {
		r.fail(&DivergedError{Op: r.commitMin})
		return
	}
	r.reconcile(append(slices.Clone(merged.headers), merged.elsewhere...), merged.op)
	r.tryStart()
}

// buildVote describes the log of this replica.
func (r *Replica) buildVote() *castVote {
	v := &castVote{}
	head := max(r.op, r.ackedHead)
	commit := min(r.commitMax, head)
	end := r.chainEnd(max(commit, 1), head)
	var nack, present protocol.Uint128
	for i, op := 0, head; op >= max(commit, 1) && i < SuffixMax; i, op = i+1, op-1 {
		h, here := r.describe(op)
		switch {
		case op > end:
			h, here = Blank(op), false
		case op > commit && op > r.ackedHead && r.ring.held(op) == nil:
			// Never prepared here. That a view names it is no reason to hold the next one up: where nobody has
			// the body, nobody has acknowledged it.
			h = Blank(op)
			nack = withBit(nack, i)
		}
		if here {
			present = withBit(present, i)
		}
		v.body = append(v.body, h[:]...)
	}
	h := &v.header
	r.stamp(h.Common(), protocol.CommandDoViewChange)
	h.Common().SetSize(uint32(protocol.HeaderSize + len(v.body)))
	h.SetOp(head)
	h.SetCommit(commit)
	h.SetGroup(r.group)
	h.SetLogView(r.logView)
	h.SetNackBitset(nack)
	h.SetPresentBitset(present)
	SealFrame(h.Common(), v.body)
	return v
}

// chainEnd is the op up to which what this replica holds from first on is one log. Behind a break lie operations
// that it fetched for a view that did not start. They are neither of its log view nor denied.
func (r *Replica) chainEnd(first, head uint64) uint64 {
	last := Blank(0)
	for op := first; op <= head; op++ {
		h, _ := r.describe(op)
		if IsBlank(&h) {
			continue
		}
		breaks := last.Op() == op-1 && h.Parent() != last.Common().Checksum() || h.Timestamp() <= last.Timestamp()
		if !IsBlank(&last) && breaks {
			return op - 1
		}
		last = h
	}
	return head
}

// describe returns the header of an op, blank when it is unknown, and whether the operation can be served.
func (r *Replica) describe(op uint64) (h protocol.PrepareHeader, here bool) {
	if op == r.commitMin && op > 0 {
		return *r.commitHeader, !IsBlank(r.commitHeader)
	}
	s := r.ring.get(op)
	if s == nil || op > r.op {
		return Blank(op), false
	}
	return s.Header, s.state == slotHeld && s.durable
}
