package transport

import (
	"sync"
	"sync/atomic"

	"github.com/galgolog/galgo/internal/protocol"
)

// answerQueue holds the open exchanges of a connection in the order of their requests. The reading
// goroutine appends at tail, the holder of the flush token takes from head; both indexes only grow. The
// slots grow with use and are dropped when the connection is quiet.
type answerQueue struct {
	ring atomic.Pointer[exchangeRing]
	head atomic.Uint64
	tail atomic.Uint64

	pushed atomic.Int32 // frames in push that no write holds yet
	mu     sync.Mutex
	push   []*protocol.Header
}

type exchangeRing struct {
	slots []*Exchange
	mask  uint64
}

// open is the number of exchanges that are unanswered or unwritten.
func (q *answerQueue) open() int { return int(q.tail.Load() - q.head.Load()) }

// next returns the exchange at tail without opening it. Reading goroutine only; the caller has checked
// that fewer than the permitted number are open.
func (q *answerQueue) next(c *Conn) *Exchange {
	tail := q.tail.Load()
	ring := q.ring.Load()
	if ring == nil || tail-q.head.Load() == uint64(len(ring.slots)) {
		ring = q.grow(ring, tail)
	}
	slot := &ring.slots[tail&ring.mask]
	if *slot == nil {
		*slot = &Exchange{conn: c}
	}
	return *slot
}

// grow publishes a ring of twice the size that holds every slot of the old one. The flusher may go on
// with the old ring: whatever it may look at is in both.
func (q *answerQueue) grow(old *exchangeRing, tail uint64) *exchangeRing {
	n := 1
	if old != nil {
		n = 2 * len(old.slots)
	}
	ring := &exchangeRing{slots: make([]*Exchange, n), mask: uint64(n - 1)}
	if old != nil {
		for i := tail - uint64(len(old.slots)); i != tail; i++ {
			ring.slots[i&ring.mask] = old.slots[i&old.mask]
		}
	}
	q.ring.Store(ring)
	return ring
}

// trim drops the memory of a queue without open exchanges. Reading goroutine or under its lock.
func (q *answerQueue) trim() {
	if q.open() == 0 {
		q.ring.Store(nil)
	}
}

// Push queues an unasked header-only frame (an eviction). It leaves after the answers that are complete
// by then, and Flush sends it. It reports false when too many such frames wait already.
func (c *Conn) Push(frame *protocol.Header) bool {
	h := *frame
	h.SetSize(protocol.HeaderSize)
	q := &c.answers
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.push) >= pushedFramesMax {
		return false
	}
	q.push = append(q.push, &h)
	q.pushed.Add(1)
	return true
}

// begin gives the frame reader the exchange for its next frame, or nil when the connection must not take
// one up.
func (c *Conn) begin() *Exchange {
	if !c.hasRoom() {
		return nil
	}
	return c.answers.next(c)
}

func (c *Conn) body(x *Exchange, have int) {
	c.handed = true
	c.handler.Body(x, have)
}

// frame opens the exchange and hands it over.
func (c *Conn) frame(x *Exchange) {
	c.handed = true
	c.framesIn++
	c.taken += int64(x.bodyLen)
	c.answers.tail.Add(1)
	c.handler.Frame(x)
}

// hasRoom tells whether another frame may be taken up.
func (c *Conn) hasRoom() bool {
	o := &c.hub.opts
	return c.answers.open() < o.QueueFrames && !c.paused.Load() && !c.stopped() &&
		c.unwritten.Load() <= o.QueueBytes && c.taken-c.returned.Load() <= o.QueueRequestBytes
}

func (c *Conn) hasRoomOrStopped() bool { return c.hasRoom() || c.stopped() }
