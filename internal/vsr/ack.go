package vsr

import (
	"fmt"
	"math/bits"

	"github.com/galgolog/galgo/internal/protocol"
)

// onAppended takes the end of an append.
func (r *Replica) onAppended(c Appended) {
	switch {
	case c.Op <= r.opDurable || c.Op > r.op:
		r.drop(DropCompletion)
	case c.Err != nil:
		r.appendFailed(c)
	default:
		r.opDurable = c.Op
		r.acknowledge()
		r.advance()
	}
}

// acknowledge tells the primary of everything that the log holds and that was not acknowledged yet, once
// the view is durable. The primary's own acknowledgement is the same step without a frame.
func (r *Replica) acknowledge() {
	if r.acked >= r.opDurable || !r.passGate() {
		return
	}
	primary := r.IsPrimary()
	for r.acked < r.opDurable {
		r.acked++
		if r.acked <= r.commitMin {
			continue
		}
		s := r.ring.at(r.acked)
		if s.acks |= 1 << r.self; !primary {
			r.sendPrepareOk(s)
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
	s := r.ring.at(ok.Op())
	switch {
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
	for r.commitMax < r.acked && r.hasQuorum(r.ring.at(r.commitMax+1)) {
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

// appendFailed undoes the operations from the failed one on. A backup has claimed nothing about them. A
// primary may only forget what no peer can have seen; otherwise another operation could take the same
// position in the same view.
func (r *Replica) appendFailed(c Appended) {
	if !r.IsPrimary() {
		r.unwind(c.Op)
		return
	}
	reach := c.Op <= r.commitMax
	for op := c.Op; op <= r.op && !reach; op++ {
		reach = r.out.left(r.ring.at(op))
	}
	if reach {
		r.fail(fmt.Errorf("%w: append of op %d: %w", ErrUnreconcilable, c.Op, c.Err))
		return
	}
	r.machine.Unmint(c.Op)
	r.unwind(c.Op)
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
	r.anchor = min(r.anchor, r.op)
	if r.op == r.commitMax {
		r.timers.prepare.stop()
	}
}
