package vsr

import (
	"math"

	"github.com/galgolog/galgo/internal/protocol"
)

// prepare gives a request the next log position: minted, stamped, sealed and on its way. Anything but
// Accepted leaves no trace, and the body with the caller.
func (r *Replica) prepare(req *Request) Outcome {
	if len(req.Body.Bytes) > math.MaxInt32-protocol.HeaderSize {
		return Outcome{Verdict: Denied, Code: protocol.CodeInvalidCommand}
	}
	s := r.ring.claim(r.commitMin+1, r.op+1)
	if s == nil {
		return r.refusal(protocol.CodeTransientNotAccepted)
	}
	h := &s.Header
	r.build(h, req)
	checksum, code := r.machine.Mint(h, req.Body)
	if code != protocol.Success {
		return Outcome{Verdict: Denied, Code: code}
	}
	h.Common().SetChecksumBody(checksum)
	h.Seal()
	s.Body, s.waiter = req.Body, req.Waiter
	r.push(s)
	s.minted = true
	r.append(s)
	open := r.passGate()
	if r.solo() {
		return Outcome{}
	}
	if open {
		r.replicate(s)
	}
	r.timers.prepare.ensure(r.now.Ticks, r.timers.base.Prepare)
	return Outcome{}
}

// build fills a header up to what only the state machine knows.
func (r *Replica) build(h *protocol.PrepareHeader, req *Request) {
	*h = protocol.PrepareHeader{}
	c := h.Common()
	c.SetCluster(r.cluster)
	c.SetSize(uint32(protocol.HeaderSize + len(req.Body.Bytes)))
	c.SetView(r.view)
	c.SetCommand(protocol.CommandPrepare)
	c.SetReplica(r.self)
	c.SetRevision(r.revision)
	h.SetClient(req.Client)
	h.SetParent(r.lastChecksum)
	h.SetRequestChecksum(req.RequestChecksum)
	h.SetOp(r.op + 1)
	h.SetCommit(r.commitMax)
	h.SetTimestamp(max(r.now.Micros, r.lastTimestamp+1))
	h.SetRequest(req.Request)
	h.SetOperation(req.Operation)
	h.SetGroup(uint64(r.group))
	h.SetUserID(req.UserID)
}

// push makes a sealed entry the head of the log, in one step: whoever comes next chains to it.
func (r *Replica) push(s *slot) {
	r.op = s.Header.Op()
	r.lastChecksum = s.Header.Common().Checksum()
	r.lastTimestamp = max(r.lastTimestamp, s.Header.Timestamp())
	r.hold(s)
	r.vouchFor(s)
}

// replicate sends an operation on its first way: from the primary to every backup of a small group, or
// into the chain of a larger one.
func (r *Replica) replicate(s *slot) {
	r.announced = max(r.announced, s.Header.Commit())
	if r.replicas <= fanOutMax {
		for to := range r.replicas {
			if to != r.self {
				r.sendPrepare(to, s)
			}
		}
		return
	}
	r.forward(s)
}

// fanOutMax is the largest group whose primary sends to all backups itself.
const fanOutMax = 3

// forward hands an operation to the next replica of the chain, which ends before the primary.
func (r *Replica) forward(s *slot) {
	if r.replicas <= fanOutMax {
		return
	}
	if next := (r.self + 1) % r.replicas; next != r.Primary() && r.passGate() {
		r.sendPrepare(next, s)
	}
}

// sendPrepare sends an operation stamped with the current view, which its identity leaves out.
func (r *Replica) sendPrepare(to uint8, s *slot) {
	h := r.out.sendEntry(to, s)
	h.SetView(r.view)
	h.SetCommand(protocol.CommandPrepare)
}

// onPrepare takes an operation from the primary or from the chain.
func (r *Replica) onPrepare(m *Message) {
	h := (*protocol.PrepareHeader)(m.Header)
	if !r.inView(m) {
		return
	}
	switch {
	case r.status != statusNormal || r.loading():
		r.drop(DropStatus)
		return
	case r.IsPrimary():
		r.drop(DropRole)
		return
	case h.Op() == 0 || h.Commit() >= h.Op():
		r.drop(DropInvalid)
		return
	}
	r.heartbeatSeen()
	r.commitMax = max(r.commitMax, h.Commit())
	if reason := r.take(h, m.Body); reason != DropNone {
		r.drop(reason)
	}
	r.advance()
}

// take makes an operation of the current view the head, or repeats what was said about one that is held.
func (r *Replica) take(h *protocol.PrepareHeader, body Body) DropReason {
	op := h.Op()
	switch {
	case op <= r.commitMin:
		return DropApplied
	case op <= r.op:
		return r.takeAgain(h, body)
	case op != r.op+1:
		return DropGap
	case h.Parent() != r.lastChecksum && !r.lastChecksum.IsZero():
		return DropParent
	case r.op == 0 && !h.Parent().IsZero():
		return DropParent
	}
	s := r.ring.claim(r.commitMin+1, op)
	if s == nil {
		return DropWindow
	}
	s.Header, s.Body, s.waiter = *h, body, nil
	body.Retain()
	r.push(s)
	r.append(s)
	r.passGate() // the superblock is written while the append runs
	r.forward(s)
	return DropNone
}

// takeAgain fills a place that was empty. Of an operation that is held it repeats the forward and the
// acknowledgement: one of the two may have been lost.
func (r *Replica) takeAgain(h *protocol.PrepareHeader, body Body) DropReason {
	s := r.ring.get(h.Op())
	switch {
	case s != nil && !s.is(h):
		if s.vouched {
			return DropDivergent
		}
		r.forget(s) // of an older view; the primary of this one names another
		s = nil
	case s != nil && s.state == slotHeld:
		r.vouchFor(s)
		r.forward(s)
		if s.acks&(1<<r.self) != 0 && r.passGate() {
			r.sendPrepareOk(s)
		}
		return DropNone
	}
	if s = r.fill(h, body); s == nil {
		return DropWindow
	}
	r.vouchFor(s)
	r.forward(s)
	return DropNone
}
