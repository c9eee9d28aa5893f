package vsr

// InFlight reports whether a request of the same client and user with the same number has a log position or
// waits for one, and is not applied. It answers for groups without a client table, whose clients may have
// many requests in flight, and looks through all of them: its cost is that of the prepare depth.
func (r *Replica) InFlight(req *Request) bool {
	for op := r.commitMin + 1; op <= r.op; op++ {
		s := r.ring.held(op)
		if s == nil {
			continue
		}
		h := &s.Header
		if h.Request() == req.Request && h.UserID() == req.UserID && h.Client() == req.Client {
			return true
		}
	}
	for i := range r.queue.count {
		q := r.queue.at(i)
		if q.Request == req.Request && q.UserID == req.UserID && q.Client == req.Client {
			return true
		}
	}
	return false
}
