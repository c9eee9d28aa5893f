package buffer

import "sync/atomic"

// Lease is one block under reference count. Bytes aliases pooled memory: it is valid while the holder
// owns a reference and not one instruction longer.
type Lease struct {
	Bytes []byte
	block []byte
	pool  *Pool
	refs  atomic.Int32
}

// Retain adds a reference. The caller must already hold one.
func (l *Lease) Retain() {
	if l.refs.Add(1) <= 1 {
		panic("buffer: retain of a released lease")
	}
}

// TryRetain adds a reference unless the last one is gone. A false answer means that the block may serve
// somebody else by now; the caller must look its data up again.
func (l *Lease) TryRetain() bool {
	for {
		n := l.refs.Load()
		if n <= 0 {
			return false
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives one reference back. With the last one the block returns to its pool.
func (l *Lease) Release() {
	switch n := l.refs.Add(-1); {
	case n == 0:
		if poison {
			poisonBlock(l.block)
		}
		if l.pool != nil {
			l.pool.put(l.block)
		}
	case n < 0:
		panic("buffer: release of a released lease")
	}
}

// Wrap returns a lease on memory that belongs to the collector, with one reference. Its release is
// counted but returns nothing anywhere.
func Wrap(b []byte) *Lease {
	l := &Lease{Bytes: b}
	l.refs.Store(1)
	return l
}
