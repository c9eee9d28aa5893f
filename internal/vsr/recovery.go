package vsr

// Recovered brings operations from the log, ascending from Start.CommitMin+1, with verified identities and
// bodies. Those that the log proves to be committed are applied through the same path as live ones: on a
// solo replica all of them, elsewhere those that a later entry names as committed; the rest waits for the
// quorum of its view. In a group of several, operations may be missing between them, and some may be of a view
// that was overtaken: what stays above a gap or a break was perhaps acknowledged. It may be called with any number of entries at a time and takes over one reference of
// each body it takes.
//
// It returns how many entries it took. Fewer than given, without an error, means that the state machine
// holds an operation and memory is full: the host offers the rest again after Resume. A *ChainError says
// that the entry after those taken does not continue the log.
func (r *Replica) Recovered(now Time, entries []Entry) (int, error) {
	r.input(now)
	if r.dead() {
		return 0, nil
	}
	for i := range entries {
		taken, err := r.recover(&entries[i])
		if !taken || err != nil {
			return i, err
		}
	}
	if !r.loading() {
		r.recoveryHead = 0 // the head may be cut back from now on
		r.recoveryBarrier = r.op
		if r.solo() {
			r.recoveryBarrier = 0
		}
		r.acknowledgeRecovered()
	}
	return len(entries), nil
}

// recover puts one entry of the log behind the head.
func (r *Replica) recover(e *Entry) (bool, error) {
	h := &e.Header
	op := h.Op()
	if op != r.op+1 && (r.solo() || op <= r.op) || op > r.recoveryHead {
		return false, &ChainError{Op: op, Want: r.op + 1}
	}
	chains := op == r.op+1 && (r.lastChecksum.IsZero() || h.Parent() == r.lastChecksum)
	if !chains && r.solo() || h.Commit() >= op {
		return false, &ChainError{Op: op, Want: op}
	}
	if !chains {
		r.recoveryChain = op
	}
	s := r.ring.claim(r.commitMin+1, h.Op())
	if s == nil {
		return false, nil
	}
	if h.Op() == r.commitMin+1 && r.commitChecksum.IsZero() {
		r.commitChecksum = h.Parent()
	}
	s.Entry, s.waiter = *e, nil
	r.op, r.lastChecksum = op, h.Common().Checksum()
	r.lastTimestamp = max(r.lastTimestamp, h.Timestamp())
	r.hold(s)
	s.durable = true
	r.advanceFrontiers()
	committed := h.Commit()
	if r.solo() {
		committed = r.op
	}
	// An entry vouches for what its primary had committed below it, not for itself.
	if c := r.ring.held(committed); c != nil && committed >= r.recoveryChain {
		r.vouchFor(c)
	}
	r.commitMax = max(r.commitMax, committed)
	r.walk()
	return true, nil
}

// acknowledgeRecovered puts what recovery could not prove to be committed back into the pipeline.
func (r *Replica) acknowledgeRecovered() {
	if r.IsPrimary() {
		if s := r.ring.held(r.op); s != nil {
			r.vouchFor(s)
		}
		r.startTimers()
	}
	r.acknowledge()
	r.advance()
}
