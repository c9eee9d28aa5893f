package vsr

import "github.com/galgolog/galgo/internal/protocol"

// slotState is how much of an operation is here.
type slotState uint8

const (
	slotEmpty slotState = iota
	slotNamed           // the header: the view has it, its body has to come yet
	slotHeld            // header and body
)

// slot is one position of the log that this replica holds in memory.
type slot struct {
	Entry
	waiter   any
	acks     uint32 // replicas that acknowledged the operation in this view, one bit each
	state    slotState
	durable  bool   // the log holds it
	vouched  bool   // it is part of the log of the current view: a primary of it named the identity
	parked   bool   // its append waits for the log view to be durable
	minted   bool   // prepared by this replica in this life
	pass     uint64 // pass in which an effect last referred to it
	sentPass uint64 // pass in which it was first sent; 0 never
}

// is reports whether the slot has the identity of h.
func (s *slot) is(h *protocol.PrepareHeader) bool { return sameOp(&s.Header, h) }

// ring holds the slots of the operations above what is applied, addressed by op. On a replica of a larger
// group places may be empty. Slots are allocated on first use and kept, so that a pointer to one stays good
// while its operation is held; the ring of pointers grows by doubling up to its limit. A group that never has
// two operations in flight pays for two slots.
type ring struct {
	slots []*slot
	limit int
}

const ringStart = 2

func newRing(limit int) ring {
	size := ringStart
	for size < limit {
		size *= 2
	}
	return ring{limit: size}
}

// at returns the slot of an operation that is known to be held.
func (g *ring) at(op uint64) *slot { return g.slots[op&uint64(len(g.slots)-1)] }

// get returns the slot of an operation of which at least the header is here, or nil.
func (g *ring) get(op uint64) *slot {
	if len(g.slots) == 0 {
		return nil
	}
	if s := g.at(op); s != nil && s.state != slotEmpty && s.Header.Op() == op {
		return s
	}
	return nil
}

// held returns the slot of an operation that is here, or nil.
func (g *ring) held(op uint64) *slot {
	if s := g.get(op); s != nil && s.state == slotHeld {
		return s
	}
	return nil
}

// claim returns the slot for operation op when nothing below first is needed any more, or nil when the ring
// does not reach that far.
func (g *ring) claim(first, op uint64) *slot {
	for op-first >= uint64(len(g.slots)) {
		if !g.grow() {
			return nil
		}
	}
	i := op & uint64(len(g.slots)-1)
	if g.slots[i] == nil {
		g.slots[i] = new(slot)
	}
	return g.slots[i]
}

// grow doubles the ring. Slots that are in use find their places; the others fill up where there is room.
func (g *ring) grow() bool {
	size := max(2*len(g.slots), ringStart)
	if size > g.limit {
		return false
	}
	slots := make([]*slot, size)
	for _, used := range []bool{true, false} {
		for _, s := range g.slots {
			if s == nil || (s.state != slotEmpty) != used {
				continue
			}
			if i := s.Header.Op() & uint64(size-1); slots[i] == nil {
				slots[i] = s
			}
		}
	}
	g.slots = slots
	return true
}

// requestQueue holds the requests that wait for a place among the prepares, oldest first. Its memory is
// allocated with the first one.
type requestQueue struct {
	items []Request
	limit int
	first int
	count int
}

func (q *requestQueue) full() bool { return q.count == q.limit }

func (q *requestQueue) push(req *Request) {
	if q.items == nil {
		q.items = make([]Request, q.limit)
	}
	q.items[(q.first+q.count)%q.limit] = *req
	q.count++
}

// at returns the i-th oldest request.
func (q *requestQueue) at(i int) *Request { return &q.items[(q.first+i)%q.limit] }

func (q *requestQueue) pop() Request {
	head := q.at(0)
	req := *head
	*head = Request{}
	q.first = (q.first + 1) % q.limit
	q.count--
	return req
}
