package buffer

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	minClassShift = 8  // 256 B
	maxClassShift = 26 // 64 MiB
	// Every power of two is split into four classes, so that a block wastes at most a quarter.
	classesPerShift = 4
	classCount      = (maxClassShift-minClassShift)*classesPerShift + 1
)

// Pool hands out size-classed blocks. The zero value keeps nothing idle and is usable; New sets the
// number of bytes that may wait for reuse.
type Pool struct {
	idleMaxBytes int64
	idleBytes    atomic.Int64
	liveBytes    atomic.Int64
	classes      [classCount]class
}

type class struct {
	mu   sync.Mutex
	free [][]byte
}

// New returns a pool that keeps at most idleMaxBytes of released blocks for reuse.
func New(idleMaxBytes int64) *Pool {
	return &Pool{idleMaxBytes: idleMaxBytes}
}

// Get returns a lease on a block of exactly size bytes with one reference, held by the caller. The
// content is undefined: blocks are not cleared between uses. Sizes above the largest class (64 MiB) are
// served from the collector and never pooled.
func (p *Pool) Get(size int) *Lease {
	l := &Lease{pool: p}
	l.refs.Store(1)
	idx, classBytes := classOf(size)
	if idx < 0 {
		l.block = make([]byte, size)
		l.Bytes = l.block
		p.liveBytes.Add(int64(size))
		return l
	}
	l.block = p.take(idx, classBytes)
	l.Bytes = l.block[:size]
	p.liveBytes.Add(int64(classBytes))
	return l
}

func (p *Pool) take(idx, classBytes int) []byte {
	c := &p.classes[idx]
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free[n-1] = nil
		c.free = c.free[:n-1]
		c.mu.Unlock()
		p.idleBytes.Add(-int64(len(b)))
		return b
	}
	c.mu.Unlock()
	return make([]byte, classBytes)
}

func (p *Pool) put(block []byte) {
	p.liveBytes.Add(-int64(len(block)))
	idx, classBytes := classOf(len(block))
	if idx < 0 || classBytes != len(block) {
		return
	}
	if p.idleBytes.Add(int64(len(block))) > p.idleMaxBytes {
		p.idleBytes.Add(-int64(len(block)))
		return
	}
	c := &p.classes[idx]
	c.mu.Lock()
	c.free = append(c.free, block)
	c.mu.Unlock()
}

// IdleBytes is the number of bytes waiting for reuse; LiveBytes the number under lease.
func (p *Pool) IdleBytes() int64 { return p.idleBytes.Load() }

// LiveBytes is the number of bytes under lease, whole blocks counted.
func (p *Pool) LiveBytes() int64 { return p.liveBytes.Load() }

// classOf returns the class that serves size and the size of its blocks, or -1 for a size above the
// largest class.
func classOf(size int) (idx, classBytes int) {
	if size <= 1<<minClassShift {
		return 0, 1 << minClassShift
	}
	if size > 1<<maxClassShift {
		return -1, 0
	}
	shift := bits.Len(uint(size-1)) - 1 // 1<<shift < size <= 1<<(shift+1)
	step := 1 << shift / classesPerShift
	quarter := (size - 1<<shift + step - 1) / step // 1..4
	return (shift-minClassShift)*classesPerShift + quarter, 1<<shift + quarter*step
}
