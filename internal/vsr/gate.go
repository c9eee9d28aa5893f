package vsr

import "fmt"

// durableView is what the superblock is known to hold, and the state of the write that is to change it.
type durableView struct {
	written       bool // a record exists
	view, logView uint32
	wanted        bool // a message waits behind the gate
	writing       bool
	failures      int
	failuresMax   int
	notBefore     uint64 // tick before which a failed write is not repeated
}

// superblockBackoffTicks is the pause after a number of consecutive failures, in ticks of 10 ms.
func superblockBackoffTicks(failures int) uint64 {
	return min(uint64(1)<<min(failures, 8), superblockBackoffMax)
}

const superblockBackoffMax = 100

// gateOpen reports whether messages that speak for the current view may leave: only when a restart could
// not forget that view. View 0 counts like any other.
func (r *Replica) gateOpen() bool {
	d := &r.durable
	return d.written && d.view == r.view && d.logView == r.logView
}

// logViewDurable reports whether a restart would know that the log is that of the current log view. A group of
// one has nobody whose log could say otherwise.
func (r *Replica) logViewDurable() bool {
	d := &r.durable
	return r.solo() || d.logView == r.logView && (d.written || r.logView == 0)
}

// passGate is gateOpen for somebody who has a message to send: when the gate is closed it asks for the
// superblock write that opens it.
func (r *Replica) passGate() bool {
	if r.gateOpen() {
		return true
	}
	r.durable.wanted = true
	r.persist()
	return false
}

// persist asks for a superblock write unless one runs or a failed one is backed off.
func (r *Replica) persist() {
	d := &r.durable
	if d.writing || r.truncating > 0 || r.now.Ticks < d.notBefore {
		return
	}
	d.writing = true
	r.out.superblock = SuperblockWrite{View: r.view, LogView: r.logView, CommitMax: r.commitMax}
	r.out.effects.Superblock = &r.out.superblock
}

// onSuperblockDone takes the values that were written, which may be older than those in memory by now.
func (r *Replica) onSuperblockDone(c SuperblockDone) {
	d := &r.durable
	if !d.writing {
		r.drop(DropCompletion)
		return
	}
	d.writing = false
	if c.Err != nil {
		if c.NoSpace {
			d.notBefore = r.now.Ticks + superblockBackoffMax
			return
		}
		d.failures++
		d.notBefore = r.now.Ticks + superblockBackoffTicks(d.failures)
		if d.failuresMax > 0 && d.failures >= d.failuresMax {
			r.fail(fmt.Errorf("%w after %d writes: %w", ErrSuperblockWedged, d.failures, c.Err))
		}
		return
	}
	d.failures, d.notBefore = 0, 0
	d.written, d.view, d.logView = true, c.View, c.LogView
	if r.logViewDurable() {
		r.appendParked()
	}
	if !r.gateOpen() {
		if d.wanted {
			r.persist()
		}
		return
	}
	d.wanted = false
	r.gateOpened()
}

// gateOpened releases what waited: prepares, acknowledgements and with them the commit point.
func (r *Replica) gateOpened() {
	r.flushView()
	for op := r.commitMin + 1; op <= r.op && !r.solo(); op++ {
		switch s := r.ring.held(op); {
		case s == nil || s.sentPass != 0:
		case r.IsPrimary():
			r.replicate(s)
		default:
			r.forward(s)
		}
	}
	r.acknowledge()
	r.advance()
}

// SuperblockFailures is the number of superblock writes in a row that have failed.
func (r *Replica) SuperblockFailures() int { return r.durable.failures }
