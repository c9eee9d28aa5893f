package transport

import (
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
)

// States of the flush token. Its holder is the only one that writes to the socket.
const (
	tokenFree  uint32 = iota
	tokenHeld         //
	tokenAgain        // held, and there is news for the holder
)

// Flush writes the answers that are complete and have no unanswered request before them. It never blocks:
// what the socket does not take at once is left to a goroutine. Calls coalesce. Call it after ownership of
// a shard was released, once for many exchanges.
func (c *Conn) Flush() {
	if c.takeToken() {
		if c.pump() {
			c.startBacklog()
			return
		}
		c.finishFlush()
	}
}

func (c *Conn) takeToken() bool {
	for {
		switch c.token.Load() {
		case tokenFree:
			if c.token.CompareAndSwap(tokenFree, tokenHeld) {
				return true
			}
		case tokenHeld:
			if c.token.CompareAndSwap(tokenHeld, tokenAgain) {
				return false
			}
		default:
			return false
		}
	}
}

// returnToken gives the token back, unless somebody left a note: then the caller keeps it and looks again.
func (c *Conn) returnToken() bool {
	if c.token.CompareAndSwap(tokenHeld, tokenFree) {
		c.poke()
		return true
	}
	c.token.Store(tokenHeld)
	return false
}

// finishFlush returns the token after pump found nothing more, and pumps again for as long as there are
// notes.
func (c *Conn) finishFlush() {
	for !c.returnToken() {
		if c.pump() {
			c.startBacklog()
			return
		}
	}
}

func (c *Conn) startBacklog() {
	c.hub.opts.Metrics.BlockedWrite.Add(1)
	c.hub.running.Add(1)
	go c.drainBacklog()
}

// pump writes until nothing is due, and reports true when the socket is full and a batch waits. Token
// holder only.
func (c *Conn) pump() (full bool) {
	for c.batch != nil || c.collect() {
		if !c.closed.Load() {
			full, err := c.sink.tryWrite(c.batch)
			if err != nil {
				c.abort(err)
			} else if full {
				return true
			}
		}
		c.settleBatch()
	}
	return false
}

// drainBacklog is the goroutine that takes over the token from a flush that met a full socket.
func (c *Conn) drainBacklog() {
	defer c.hub.running.Done()
	for {
		for c.batch != nil || c.collect() {
			if !c.closed.Load() {
				if err := c.sink.writeAll(c.batch); err != nil {
					c.abort(err)
				}
			}
			c.settleBatch()
		}
		if c.returnToken() {
			return
		}
	}
}

// collect makes the next batch of answers that are due. Token holder only.
func (c *Conn) collect() bool {
	q := &c.answers
	head, tail := q.head.Load(), q.tail.Load()
	ring := q.ring.Load()
	var b *writeBatch
	for i := head; i != tail; i++ {
		x := ring.slots[i&ring.mask]
		if !x.done.Load() {
			break
		}
		if b == nil {
			b = batches.Get().(*writeBatch)
		} else if b.frames == batchFramesMax || b.bytes >= batchBytesMax {
			break
		}
		b.add(x)
	}
	if q.pushed.Load() > 0 {
		if b == nil {
			b = batches.Get().(*writeBatch)
		}
		q.mu.Lock()
		for _, h := range q.push {
			b.bufs = append(b.bufs, h[:])
		}
		q.push = nil
		q.pushed.Store(0)
		q.mu.Unlock()
	}
	c.batch = b
	return b != nil
}

// settleBatch recycles the exchanges of the current batch, which was written or has nowhere to go.
func (c *Conn) settleBatch() {
	b, q := c.batch, &c.answers
	c.batch = nil
	if b.frames > 0 {
		head := q.head.Load()
		ring := q.ring.Load()
		var returned, pieces int64
		for i := head; i != head+uint64(b.frames); i++ {
			x := ring.slots[i&ring.mask]
			returned += int64(x.bodyLen)
			pieces += x.pieceBytes()
			x.recycle()
		}
		c.returned.Add(returned)
		if pieces > 0 {
			c.unwritten.Add(-pieces)
		}
		q.head.Add(uint64(b.frames))
		if !c.closed.Load() {
			c.hub.opts.Metrics.FramesOut.Add(int64(b.frames))
			c.hub.opts.Metrics.BytesOut.Add(int64(b.bytes))
		}
	}
	b.recycle()
	c.poke()
}

// writeBatch is what one vectored write sends. Batches are shared by all connections and held only while
// there is something to write.
type writeBatch struct {
	bufs   [][]byte
	next   int // first buffer that is not completely written
	frames int
	bytes  int
	vector ioVector
}

var batches = sync.Pool{New: func() any {
	return &writeBatch{bufs: make([][]byte, 0, 2*batchFramesMax+pushedFramesMax)}
}}

func (b *writeBatch) add(x *Exchange) {
	b.bufs = append(b.bufs, x.answer[:protocol.HeaderSize+x.inlineLen])
	for i := range x.pieces {
		b.bufs = append(b.bufs, x.pieces[i].bytes)
	}
	b.frames++
	b.bytes += protocol.HeaderSize + x.answerLen
}

// rest is what has not been written yet.
func (b *writeBatch) rest() [][]byte { return b.bufs[b.next:] }

// advance drops n written bytes from rest.
func (b *writeBatch) advance(n int) {
	for b.next < len(b.bufs) && n >= len(b.bufs[b.next]) {
		n -= len(b.bufs[b.next])
		b.next++
	}
	if n > 0 {
		b.bufs[b.next] = b.bufs[b.next][n:]
	}
}

func (b *writeBatch) recycle() {
	clear(b.bufs)
	b.bufs, b.next = b.bufs[:0], 0
	b.frames, b.bytes = 0, 0
	b.vector.reset()
	batches.Put(b)
}
