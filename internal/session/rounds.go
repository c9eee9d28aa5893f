package session

import (
	"sync"
	"sync/atomic"
)

// roundRobin holds where the next balanced send of each topic goes. A topic that is created anew under the ids
// of a deleted one goes on where that one was: ids are dense, so the memory is bounded by the topics that ever
// existed at once.
type roundRobin struct {
	mu   sync.RWMutex
	next map[uint64]*atomic.Uint32
}

// take returns the index for one batch among count partitions, which is above zero.
func (r *roundRobin) take(stream, topic, count uint32) uint32 {
	key := uint64(stream)<<32 | uint64(topic)
	r.mu.RLock()
	n := r.next[key]
	r.mu.RUnlock()
	if n == nil {
		n = r.add(key)
	}
	return (n.Add(1) - 1) % count
}

func (r *roundRobin) add(key uint64) *atomic.Uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = make(map[uint64]*atomic.Uint32)
	}
	if r.next[key] == nil {
		r.next[key] = new(atomic.Uint32)
	}
	return r.next[key]
}
