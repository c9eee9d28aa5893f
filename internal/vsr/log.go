package vsr

import "github.com/galgolog/galgo/internal/protocol"

// hold makes a slot whose header and body are set part of the log, as nobody has vouched for yet.
func (r *Replica) hold(s *slot) {
	s.acks, s.pass, s.sentPass = 0, 0, 0
	s.state, s.durable, s.vouched, s.minted, s.parked = slotHeld, false, false, false, false
}

// append asks the host to put an operation into the log, once the log view is durable: an operation of a newer
// view in a log that says it is of an older one would contradict those who have that one.
func (r *Replica) append(s *slot) {
	if r.logViewDurable() {
		r.out.append(s)
		return
	}
	s.parked = true
	r.passGate()
}

// appendParked goes on with what waited for the log view.
func (r *Replica) appendParked() {
	for op := r.commitMin + 1; op <= r.op; op++ {
		if s := r.ring.held(op); s != nil && s.parked {
			s.parked = false
			r.out.append(s)
		}
	}
}

// fill puts an operation into an empty place of the log at or below the head, or below the head of the log
// that a view is to start with. It returns nil when the place is further from what is applied than memory
// reaches.
func (r *Replica) fill(h *protocol.PrepareHeader, body Body) *slot {
	s := r.ring.claim(r.commitMin+1, h.Op())
	if s == nil {
		return nil
	}
	vouched := s.state == slotNamed && s.vouched
	s.Header, s.Body, s.waiter = *h, body, nil
	body.Retain()
	r.hold(s)
	s.vouched = vouched
	r.lastTimestamp = max(r.lastTimestamp, h.Timestamp())
	r.append(s)
	return s
}

// name puts the header of an operation into the log that the current view is known to have.
func (r *Replica) name(h *protocol.PrepareHeader) {
	if h.Op() <= r.commitMin {
		return
	}
	if s := r.ring.get(h.Op()); s != nil {
		if s.is(h) {
			s.vouched = true
			return
		}
		r.forget(s)
	}
	s := r.ring.claim(r.commitMin+1, h.Op())
	if s == nil {
		return
	}
	s.Header, s.Body, s.waiter = *h, Body{}, nil
	r.hold(s)
	s.state, s.vouched = slotNamed, true
	r.lastTimestamp = max(r.lastTimestamp, h.Timestamp())
}

// forget takes an operation out of memory: the view has another one at its place, or none.
func (r *Replica) forget(s *slot) {
	op := s.Header.Op()
	r.out.withdraw(s)
	r.out.refused(s.request(), r.refusal(protocol.CodeTransientNotCommitted))
	r.out.retire(s)
	r.retreat(op)
}

// unhold takes the body of an operation out of memory that could not be appended. Its header stays when the
// view is known to have it.
func (r *Replica) unhold(s *slot) {
	vouched := s.vouched
	r.forget(s)
	if vouched {
		s.state, s.vouched = slotNamed, true
	}
}

// retreat takes the frontiers of the log back below op.
func (r *Replica) retreat(op uint64) {
	below := max(op-1, r.commitMin)
	r.opDurable, r.acked, r.anchor = min(r.opDurable, below), min(r.acked, below), min(r.anchor, below)
}

// cutLog has the host drop its log from op on. What memory still holds there is appended again behind it.
func (r *Replica) cutLog(op uint64) {
	r.machine.Unmint(op)
	r.out.truncate(Truncate{From: op, AckedHead: r.ackedHead, View: r.view})
	r.truncating++
	r.retreat(op)
	for ; op <= r.op; op++ {
		if s := r.ring.held(op); s != nil {
			r.out.withdraw(s)
			s.durable = false
			r.append(s)
		}
	}
}

// onTruncated takes the end of a Truncate. Until then no superblock is written: a durable log view never
// stands above an older suffix.
func (r *Replica) onTruncated(c Truncated) {
	if r.truncating == 0 {
		r.drop(DropCompletion)
		return
	}
	if c.Err != nil {
		r.fail(c.Err)
		return
	}
	if r.truncating--; r.truncating == 0 && r.durable.wanted && !r.gateOpen() {
		r.persist()
	}
}

// vouchFor takes an operation for part of the log of this view, and with it what it names below itself: an
// entry that is held there and was not vouched for, but has another identity, is of an older view and goes.
func (r *Replica) vouchFor(s *slot) {
	for !s.vouched {
		s.vouched = true
		below := s.Header.Op() - 1
		if below <= r.commitMin {
			if below > 0 && below == r.commitMin && !r.commitChecksum.IsZero() && s.Header.Parent() != r.commitChecksum {
				r.fail(&DivergedError{Op: below})
			}
			break
		}
		b := r.ring.get(below)
		if b == nil {
			break
		}
		if b.Header.Common().Checksum() != s.Header.Parent() {
			if b.vouched {
				r.drop(DropDivergent)
			} else {
				r.forget(b)
			}
			break
		}
		s = b
	}
	r.advanceFrontiers()
}

// advanceFrontiers moves up to where everything below is in the log, and is known to be of this view.
func (r *Replica) advanceFrontiers() {
	for r.opDurable < r.op {
		s := r.ring.held(r.opDurable + 1)
		if s == nil || !s.durable {
			break
		}
		r.opDurable++
	}
	for r.anchor < r.op {
		s := r.ring.get(r.anchor + 1)
		if s == nil || !s.vouched {
			break
		}
		r.anchor++
	}
}

// top is the highest op that may be in memory: the head, or beyond it that of the log to start a view with.
func (r *Replica) top() uint64 { return max(r.op, r.vc.merged.op) }
