package vsr

import "github.com/galgolog/galgo/internal/protocol"

// advance moves the commit point, applies what it allows and lets waiting requests take the room.
func (r *Replica) advance() {
	if r.IsPrimary() {
		r.advanceCommitMax()
	}
	r.walk()
	if r.queue.count > 0 {
		r.promote()
	}
}

// Resume goes on with an operation whose Apply returned ApplyHeld: Apply is called for it again.
func (r *Replica) Resume(now Time) {
	r.input(now)
	if r.dead() || !r.held {
		return
	}
	r.held = false
	r.advance()
}

// walk applies operations in order up to the commit point. It applies only what the own log holds and
// what hash-chains to an operation that a primary of this view vouched for: an entry at the right
// position alone proves nothing.
func (r *Replica) walk() {
	for !r.held && r.commitMin < min(r.commitMax, r.opDurable, r.anchor) {
		if !r.apply(r.ring.at(r.commitMin + 1)) {
			r.held = true
		}
	}
}

// Committed appends to dst the operations that the walk may apply and has not applied yet, in order, and
// returns it. It serves a state machine whose host writes them to files, all of them at once, before the walk
// goes on. The entries are borrowed: they hold until the next input.
func (r *Replica) Committed(dst []*Entry) []*Entry {
	for op := r.commitMin + 1; op <= min(r.commitMax, r.opDurable, r.anchor); op++ {
		dst = append(dst, &r.ring.at(op).Entry)
	}
	return dst
}

// apply executes one operation: state machine, client table, commit point, reply. It reports false when
// the state machine holds it; then nothing but its jobs has happened.
func (r *Replica) apply(s *slot) bool {
	h := &s.Header
	start := len(r.out.scratch)
	if r.sessions != nil {
		r.out.scratch = append(r.out.scratch, zeroHeader[:]...)
	}
	bodyStart := len(r.out.scratch)
	scratch, status := r.machine.Apply(h, s.Body, r.out.scratch)
	if status == ApplyHeld {
		r.out.scratch = scratch[:start]
		return false
	}
	r.out.scratch = scratch
	body := scratch[bodyStart:len(scratch):len(scratch)]
	if r.sessions != nil {
		frame := scratch[start:len(scratch):len(scratch)]
		(*protocol.ReplyHeader)(frame).SetCommitted(h, len(body))
		r.sessions.Committed(h, frame)
	}
	r.commitMin = h.Op()
	r.commitChecksum = h.Common().Checksum()
	if r.commitHeader != nil {
		*r.commitHeader = *h
	}
	if s.waiter != nil {
		r.out.committed(s.waiter, h, body)
	} else {
		r.out.scratch = scratch[:start]
	}
	r.out.retire(s)
	return true
}

var zeroHeader [protocol.HeaderSize]byte

// vouch takes the word of the primary of this view for the identity of an operation. An entry of an older
// view with another identity goes, and is fetched again.
func (r *Replica) vouch(op uint64, checksum protocol.Uint128) DropReason {
	switch {
	case op > r.op || op < r.commitMin:
		return DropNone
	case op == r.commitMin:
		if op > 0 && !r.commitChecksum.IsZero() && r.commitChecksum != checksum {
			return DropDivergent
		}
	default:
		s := r.ring.get(op)
		switch {
		case s == nil:
		case s.Header.Common().Checksum() == checksum:
			r.vouchFor(s)
		case !s.vouched:
			r.forget(s)
			return DropDivergent
		default:
			return DropDivergent
		}
	}
	return DropNone
}
