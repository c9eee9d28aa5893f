package vsr

import "github.com/galgolog/galgo/internal/protocol"

// refusal is an Outcome with code in the form that clients of this group expect: a result section where
// there is a client table, the status field elsewhere.
func (r *Replica) refusal(code protocol.Code) Outcome {
	if r.sessions != nil {
		return Outcome{Verdict: Framed, Code: code}
	}
	return Outcome{Verdict: Denied, Code: code}
}

// Propose takes a request at the primary. Accepted requests with a Waiter are answered by exactly one
// Reply. Except with Full, the Replica owns one reference of req.Body from here on; req itself is not kept.
func (r *Replica) Propose(now Time, req *Request) Outcome {
	r.input(now)
	outcome := r.admission(req)
	if outcome.Verdict == Accepted {
		outcome = r.enqueue(req)
	}
	if outcome.Verdict != Accepted && outcome.Verdict != Full {
		req.Body.Release()
	}
	return outcome
}

// admission decides whether a request may have a log position, room aside.
func (r *Replica) admission(req *Request) Outcome {
	if r.dead() || !r.IsPrimary() || r.loading() {
		return r.refusal(protocol.CodeTransientNotAccepted)
	}
	if r.sessions == nil {
		return Outcome{}
	}
	if isClient(req.Client) {
		if r.inFlight(req.Client) {
			return r.refusal(protocol.CodeTransientNotCommitted)
		}
		// A Register waits in the request queue for the table to be caught up.
		if !r.caughtUp() && req.Operation != protocol.OpRegister {
			return r.refusal(protocol.CodeTransientNotCommitted)
		}
	}
	return r.check(req)
}

// check asks the client table, once it reflects every operation known to be committed.
func (r *Replica) check(req *Request) Outcome {
	if r.sessions == nil || !isClient(req.Client) || !r.caughtUp() {
		return Outcome{}
	}
	return r.sessions.Check(req)
}

// enqueue gives an admitted request a log position, or a place in the request queue. Nobody overtakes
// the requests that wait already.
func (r *Replica) enqueue(req *Request) Outcome {
	if r.queue.count == 0 && r.hasRoom() && r.caughtUpFor(req) {
		return r.prepare(req)
	}
	if r.queue.full() {
		return Outcome{Verdict: Full}
	}
	r.queue.push(req)
	return Outcome{}
}

// HasRoom reports whether a request would be given a log position at once. A host that must not let requests
// wait inside, because what they need is checked when they are proposed, asks first.
func (r *Replica) HasRoom() bool { return r.queue.count == 0 && r.hasRoom() }

// hasRoom reports whether one more prepare may be in flight.
func (r *Replica) hasRoom() bool { return r.op-r.commitMin < r.depth }

// caughtUp reports whether the state machine reflects every operation known to be committed.
func (r *Replica) caughtUp() bool {
	return r.commitMin == r.commitMax && r.commitMax >= r.recoveryBarrier
}

// caughtUpFor reports whether the state that admission looks at is current enough for the request.
func (r *Replica) caughtUpFor(req *Request) bool {
	return r.sessions == nil || !isClient(req.Client) || r.caughtUp()
}

// isClient tells the ids that clients choose from those of the server's own operations.
func isClient(id protocol.Uint128) bool { return !id.IsZero() && id != protocol.MaxUint128 }

// inFlight reports whether a request of the client has a log position or waits for one.
func (r *Replica) inFlight(client protocol.Uint128) bool {
	for op := r.commitMin + 1; op <= r.op; op++ {
		if s := r.ring.held(op); s != nil && s.Header.Client() == client {
			return true
		}
	}
	for i := range r.queue.count {
		if r.queue.at(i).Client == client {
			return true
		}
	}
	return false
}

// promote gives log positions to waiting requests while there is room. What admission decided when they
// came is decided again: the table may have moved.
func (r *Replica) promote() {
	for r.queue.count > 0 && r.IsPrimary() && r.hasRoom() && r.caughtUpFor(r.queue.at(0)) {
		req := r.queue.pop()
		outcome := r.check(&req)
		if outcome.Verdict == Accepted {
			outcome = r.prepare(&req)
		}
		if outcome.Verdict != Accepted {
			req.Body.Release()
			r.out.refused(req, outcome)
		}
	}
}

// cancelQueue answers the requests that never had a log position.
func (r *Replica) cancelQueue() {
	for r.queue.count > 0 {
		req := r.queue.pop()
		req.Body.Release()
		r.out.refused(req, r.refusal(protocol.CodeTransientNotAccepted))
	}
}

// cancelPrepares lets go of the operations from op on without an outcome.
func (r *Replica) cancelPrepares(op uint64) {
	for ; op <= r.op; op++ {
		if s := r.ring.get(op); s != nil {
			r.out.refused(s.request(), r.refusal(protocol.CodeTransientNotCommitted))
			r.out.retire(s)
		}
	}
}

// cancelWaiters answers the requests behind prepares whose fate another view decides. The operations stay.
func (r *Replica) cancelWaiters() {
	for op := r.commitMin + 1; op <= r.op; op++ {
		if s := r.ring.held(op); s != nil && s.waiter != nil {
			r.out.refused(s.request(), r.refusal(protocol.CodeTransientNotCommitted))
			s.waiter = nil
		}
	}
}

// request is what remains of the request behind a prepare.
func (s *slot) request() Request {
	h := &s.Header
	return Request{
		Client: h.Client(), Request: h.Request(), RequestChecksum: h.RequestChecksum(),
		Operation: h.Operation(), UserID: h.UserID(), Waiter: s.waiter,
	}
}
