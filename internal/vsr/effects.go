package vsr

import "github.com/galgolog/galgo/internal/protocol"

// scratchKeepBytes is how much reply memory a Replica keeps between passes.
const scratchKeepBytes = 64 << 10

// outbox collects effects until they are drained, with the memory that they point into. Slices that grow
// leave the older array to those who point into it.
type outbox struct {
	effects  Effects
	drained  bool
	pass     uint64
	appends  uint64 // number of the newest append
	headers  []protocol.PrepareHeader
	requests []Request
	scratch  []byte
	// dead are bodies of operations that ended while an undrained effect still referred to them.
	dead       []Body
	superblock SuperblockWrite
}

// open makes the outbox ready to collect. Every input begins with it: effects that were drained before
// have run out.
func (o *outbox) open() {
	if !o.drained {
		return
	}
	o.drained = false
	o.pass++
	e := &o.effects
	e.Superblock = nil
	clear(e.Appends)
	clear(e.Sends)
	clear(e.Replies)
	e.Appends, e.Sends, e.Replies = e.Appends[:0], e.Sends[:0], e.Replies[:0]
	e.Truncates, e.Loads = e.Truncates[:0], e.Loads[:0]
	clear(o.requests)
	o.headers, o.requests = o.headers[:0], o.requests[:0]
	if o.scratch = o.scratch[:0]; cap(o.scratch) > scratchKeepBytes {
		o.scratch = nil
	}
	o.releaseDead()
}

// Effects hands over what the inputs since the last call have brought about. The result and everything it
// points to holds until the next method call of the Replica that takes an input.
func (r *Replica) Effects() *Effects {
	r.out.open()
	r.announceCommit()
	r.out.drained = true
	return &r.out.effects
}

func (o *outbox) append(s *slot) {
	s.pass = o.pass
	o.appends++
	s.Seq = o.appends
	o.effects.Appends = append(o.effects.Appends, &s.Entry)
}

// send appends a frame to h's bytes for one peer and returns its header, to be changed in place.
func (o *outbox) send(to uint8, h *protocol.Header, body Body) *protocol.Header {
	o.effects.Sends = append(o.effects.Sends, Send{To: to, Header: *h, Body: body})
	return &o.effects.Sends[len(o.effects.Sends)-1].Header
}

func (o *outbox) sendEntry(to uint8, s *slot) *protocol.Header {
	s.pass = o.pass
	if s.sentPass == 0 {
		s.sentPass = o.pass
	}
	return o.send(to, s.Header.Common(), s.Body)
}

// withdraw takes back the undrained append of an operation.
func (o *outbox) withdraw(s *slot) {
	e := &o.effects
	for i, entry := range e.Appends {
		if entry == &s.Entry {
			e.Appends = append(e.Appends[:i], e.Appends[i+1:]...)
			return
		}
	}
}

// truncate asks the host to drop operations from its log, after what was asked for before.
func (o *outbox) truncate(t Truncate) {
	o.effects.Truncates = append(o.effects.Truncates, t)
}

// left reports whether a frame with the operation may have reached a peer.
func (o *outbox) left(s *slot) bool { return s.sentPass != 0 && s.sentPass < o.pass }

// retract takes back undrained appends and sends of prepares from op on.
func (o *outbox) retract(op uint64) {
	e := &o.effects
	for n := len(e.Appends); n > 0 && e.Appends[n-1].Header.Op() >= op; n-- {
		e.Appends[n-1] = nil
		e.Appends = e.Appends[:n-1]
	}
	kept := e.Sends[:0]
	for i := range e.Sends {
		h := &e.Sends[i].Header
		if h.Command() != protocol.CommandPrepare || (*protocol.PrepareHeader)(h).Op() < op {
			kept = append(kept, e.Sends[i])
		}
	}
	clear(e.Sends[len(kept):])
	e.Sends = kept
}

// discard takes back everything undrained but the replies.
func (o *outbox) discard() {
	e := &o.effects
	clear(e.Appends)
	clear(e.Sends)
	e.Superblock, e.Appends, e.Sends = nil, e.Appends[:0], e.Sends[:0]
	e.Truncates, e.Loads = e.Truncates[:0], e.Loads[:0]
	o.releaseDead()
	o.pass++
}

// releaseDead releases the bodies that undrained effects kept from being released.
func (o *outbox) releaseDead() {
	for i, b := range o.dead {
		b.Release()
		o.dead[i] = Body{}
	}
	o.dead = o.dead[:0]
}

// committed appends the reply to an applied operation; body lies in scratch.
func (o *outbox) committed(waiter any, h *protocol.PrepareHeader, body []byte) {
	o.headers = append(o.headers, *h)
	o.effects.Replies = append(o.effects.Replies, Reply{Waiter: waiter, Prepare: &o.headers[len(o.headers)-1], Body: body})
}

// refused appends the answer to a request that was accepted and then not committed.
func (o *outbox) refused(req Request, outcome Outcome) {
	if req.Waiter == nil {
		return
	}
	req.Body = Body{}
	o.requests = append(o.requests, req)
	o.effects.Replies = append(o.effects.Replies, Reply{
		Waiter: req.Waiter, Request: &o.requests[len(o.requests)-1], Outcome: outcome,
	})
}

// retire empties a slot and releases its body, after the drain if an effect still refers to it.
func (o *outbox) retire(s *slot) {
	if s.Body.Lease != nil {
		if s.pass == o.pass {
			o.dead = append(o.dead, s.Body)
		} else {
			s.Body.Release()
		}
	}
	s.Body = Body{}
	s.waiter = nil
	s.state, s.durable, s.vouched, s.minted, s.parked = slotEmpty, false, false, false, false
}
