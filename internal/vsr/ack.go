package vsr

import (
	"fmt"
	"math/bits"

	"github.com/galgolog/galgo/internal/protocol"
)

// onAppended takes the end of an append.
func (r *Replica) onAppended(c Appended) {
	seq := c.Seq
	if seq == 0 {
		s := r.ring.held(c.Op)
		if s == nil || c.Op <= r.opDurable {
			r.drop(DropCompletion)
			return
		}
		seq = s.Seq
	}
	if c.Err != nil {
		r.appendFailed(c.Err, seq)
		return
	}
	for op := r.opDurable + 1; op <= r.top(); op++ {
		s := r.ring.held(op)
		if s != nil && !s.parked && s.Seq <= seq {
			s.durable = true
		} else if r.solo() {
			break
		}
	}
	r.advanceFrontiers()
	r.acknowledge()
	r.advance()
	r.tryStart()
}

// acknowledge tells the primary of everything that the log holds and that was not acknowledged yet, once
// the view is durable. The primary's own acknowledgement is the same step without a frame.
func (r *Replica) acknowledge() {
	if r.status != statusNormal {
		return
	}
	own := uint32(1) << r.self
	primary, open := r.IsPrimary(), false
	r.acked = max(r.acked, r.commitMin)
	for op := r.acked + 1; op <= r.op; op++ {
		s := r.ring.held(op)
		if s == nil || !s.durable || !s.vouched || s.acks&own != 0 {
			continue
		}
		if !open && !r.passGate() {
			return
		}
		open = true
		r.ackedHead = max(r.ackedHead, op)
		if s.acks |= own; !primary {
			r.sendPrepareOk(s)
		}
		if op == r.acked+1 {
			r.acked = op
		}
	}
}

func (r *Replica) sendPrepareOk(s *slot) {
	var ok PrepareOkHeader
	r.stamp(ok.Common(), protocol.CommandPrepareOk)
	ok.SetParent(s.Header.Parent())
	ok.SetPrepareChecksum(s.Header.Common().Checksum())
	ok.SetOp(s.Header.Op())
	ok.SetCommit(r.commitMax)
	ok.SetTimestamp(s.Header.Timestamp())
	ok.SetRequest(s.Header.Request())
	ok.SetOperation(s.Header.Operation())
	ok.SetGroup(r.group)
	SealFrame(ok.Common(), nil)
	r.out.send(r.Primary(), ok.Common(), Body{})
}

// stamp fills what every frame of ours has in common.
func (r *Replica) stamp(h *protocol.Header, command protocol.Command) {
	h.SetCluster(r.cluster)
	h.SetSize(protocol.HeaderSize)
	h.SetView(r.view)
	h.SetCommand(command)
	h.SetReplica(r.self)
	h.SetRevision(r.revision)
}

// onPrepareOk counts an acknowledgement.
func (r *Replica) onPrepareOk(m *Message) {
	ok := (*PrepareOkHeader)(m.Header)
	if !r.inView(m) {
		return
	}
	switch {
	case !r.IsPrimary():
		r.drop(DropRole)
		return
	case ok.Op() <= r.commitMin:
		r.drop(DropApplied)
		return
	case ok.Op() > r.op:
		r.drop(DropUnknownOp)
		return
	}
	s := r.ring.held(ok.Op())
	switch {
	case s == nil:
		r.drop(DropUnknownOp)
	case s.Header.Common().Checksum() != ok.PrepareChecksum():
		r.drop(DropDivergent)
	case s.acks&(1<<m.From) != 0:
		r.drop(DropDuplicate)
	default:
		s.acks |= 1 << m.From
		r.advance()
	}
}

// advanceCommitMax moves the commit point of the primary over the operations that a quorum holds. The
// primary itself must be among the holders: what is committed is then always in its own log. It never
// passes a gap.
func (r *Replica) advanceCommitMax() {
	before := r.commitMax
	for r.commitMax < r.op {
		s := r.ring.held(r.commitMax + 1)
		if s == nil || s.acks&(1<<r.self) == 0 || !r.hasQuorum(s) {
			break
		}
		r.commitMax++
	}
	if r.commitMax == before || r.solo() {
		return
	}
	// What is pending now is timed from here, not with a backoff that its predecessors have earned.
	if r.commitMax < r.op {
		r.timers.prepare.start(r.now.Ticks, r.timers.base.Prepare)
	} else {
		r.timers.prepare.stop()
	}
}

func (r *Replica) hasQuorum(s *slot) bool { return bits.OnesCount32(s.acks) >= int(r.quorum) }

// appendFailed undoes the appends from number seq on. Of what came from peers nothing was claimed: its place
// is empty until it comes again. A primary may only forget of its own what no peer can have seen; otherwise
// another operation could take the same position in the same view.
func (r *Replica) appendFailed(cause error, seq uint64) {
	first := uint64(0)
	for op := r.opDurable + 1; op <= r.top() && first == 0; op++ {
		s := r.ring.held(op)
		switch {
		case s == nil || s.durable || s.parked || s.Seq < seq:
		case s.minted && r.IsPrimary():
			first = op
		default:
			r.unhold(s)
		}
	}
	if first == 0 {
		return
	}
	reach := first <= r.commitMax
	for op := first; op <= r.op && !reach; op++ {
		reach = r.out.left(r.ring.at(op))
	}
	if reach {
		r.fail(fmt.Errorf("%w: append of op %d: %w", ErrUnreconcilable, first, cause))
		return
	}
	r.machine.Unmint(first)
	r.unwind(first)
	r.promote()
}

// unwind takes the operations from op on off the head of the log. The timestamp floor stays.
func (r *Replica) unwind(op uint64) {
	r.out.retract(op)
	r.lastChecksum = r.ring.at(op).Header.Parent()
	for o := op; o <= r.op; o++ {
		s := r.ring.at(o)
		r.out.refused(s.request(), r.refusal(protocol.CodeTransientNotAccepted))
		r.out.retire(s)
	}
	r.op = op - 1
	r.retreat(op)
	if r.op == r.commitMax {
		r.timers.prepare.stop()
	}
}
