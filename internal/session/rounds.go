package session

import (
	"sync"
	"sync/atomic"
)

// roundRobin holds where the next balanced send of each topic goes. A topic that is created anew under the ids
// of a deleted one begins its own round in the place of that one: ids are dense, so the memory is bounded by the
// topics that ever existed at once.
type roundRobin struct {
	mu   sync.RWMutex
	next map[uint64]*round
}

// round is the cursor of one incarnation of a topic.
type round struct {
	revision uint64 // of the topic's first partition
	next     atomic.Uint32
}

// take returns the index for one batch among count partitions, which is above zero. revision names the
// incarnation of the topic.
func (r *roundRobin) take(stream, topic uint32, revision uint64, count uint32) uint32 {
	key := uint64(stream)<<32 | uint64(topic)
	r.mu.RLock()
	n := r.next[key]
	r.mu.RUnlock()
	if n == nil || n.revision < revision {
		n = r.begin(key, revision)
	}
	return (n.next.Add(1) - 1) % count
}

// begin starts the round of an incarnation, unless it has begun or is over: a request may have met an older view.
func (r *roundRobin) begin(key, revision uint64) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = make(map[uint64]*round)
	}
	if n := r.next[key]; n == nil || n.revision < revision {
		r.next[key] = &round{revision: revision}
	}
	return r.next[key]
}
