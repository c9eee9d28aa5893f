package vsr

// slot is one position of the log that this replica holds in memory.
type slot struct {
	Entry
	waiter   any
	acks     uint32 // replicas that acknowledged the operation in this view, one bit each
	pass     uint64 // pass in which an effect last referred to it
	sentPass uint64 // pass in which it was first sent; 0 never
}

// ring holds the slots of consecutive operations, addressed by op. Slots are allocated on first use and
// kept, so that a pointer to one stays good while its operation is held; the ring of pointers grows by
// doubling up to its limit. A group that never has two operations in flight pays for two slots.
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

// at returns the slot of an operation that is held.
func (g *ring) at(op uint64) *slot { return g.slots[op&uint64(len(g.slots)-1)] }

// claim returns the slot for the next operation op when those from first to op-1 are held, or nil when
// the ring is full.
func (g *ring) claim(first, op uint64) *slot {
	if op-first >= uint64(len(g.slots)) && !g.grow(first, op) {
		return nil
	}
	i := op & uint64(len(g.slots)-1)
	if g.slots[i] == nil {
		g.slots[i] = new(slot)
	}
	return g.slots[i]
}

func (g *ring) grow(first, end uint64) bool {
	size := max(2*len(g.slots), ringStart)
	if size > g.limit {
		return false
	}
	old := g.slots
	slots := make([]*slot, size)
	for op := first; op < end; op++ {
		slots[op&uint64(size-1)] = old[op&uint64(len(old)-1)]
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
