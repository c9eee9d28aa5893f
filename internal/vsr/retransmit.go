package vsr

// retransmit repeats every operation without a quorum to the replicas whose acknowledgement is missing.
// An operation with a quorum is not repeated: who missed it repairs.
func (r *Replica) retransmit() {
	if r.commitMax == r.op {
		r.timers.prepare.stop()
		return
	}
	r.timers.prepare.backoff(r.now.Ticks, r.timers.base.Prepare, &r.timers.rng)
	if !r.passGate() {
		return
	}
	for op := r.commitMax + 1; op <= r.op; op++ {
		s := r.ring.held(op)
		if s == nil || r.hasQuorum(s) {
			continue
		}
		for to := range r.replicas {
			if to != r.self && s.acks&(1<<to) == 0 {
				r.sendPrepare(to, s)
			}
		}
	}
}
