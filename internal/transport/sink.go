package transport

import (
	"net"
	"sync"

	"github.com/galgolog/galgo/internal/buffer"
)

// sink is the socket side of a connection.
type sink interface {
	// readLoop reads until the stream ends or the connection stops, and returns why.
	readLoop(c *Conn) error
	// tryWrite sends what the socket takes without blocking and reports full when something is left.
	tryWrite(b *writeBatch) (full bool, err error)
	// writeAll sends the whole batch and may block.
	writeAll(b *writeBatch) error
}

// streamSink works for every net.Conn. It cannot know whether a write would block, so that all writes are
// left to the backlog goroutine.
type streamSink struct {
	nc      net.Conn
	metrics *Metrics
}

func (s *streamSink) tryWrite(*writeBatch) (bool, error) { return true, nil }

// writeAll joins small buffers, because a stream that is not a plain socket (TLS) turns every write into a
// record of its own.
func (s *streamSink) writeAll(b *writeBatch) error {
	scratch := scratches.Get().(*[scratchBytes]byte)
	defer scratches.Put(scratch)
	joined := scratch[:0]
	flush := func() error {
		if len(joined) == 0 {
			return nil
		}
		s.metrics.Writes.Add(1)
		_, err := s.nc.Write(joined)
		joined = scratch[:0]
		return err
	}
	for _, p := range b.rest() {
		if len(joined)+len(p) > scratchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if len(p) > scratchBytes/2 {
			if err := flush(); err != nil {
				return err
			}
			s.metrics.Writes.Add(1)
			if _, err := s.nc.Write(p); err != nil {
				return err
			}
			continue
		}
		joined = append(joined, p...)
	}
	return flush()
}

const scratchBytes = 32 << 10

var scratches = sync.Pool{New: func() any { return new([scratchBytes]byte) }}

// readLoop reads with blocking calls into 4 KiB while the connection is quiet, into a borrowed chunk while
// reads fill it, and straight into a large body.
func (s *streamSink) readLoop(c *Conn) error {
	small := make([]byte, readBytesMin)
	for {
		c.reading.Lock()
		p, direct := c.in.target(), true
		if p == nil {
			p, direct = small, false
			if c.chunk != nil {
				p = c.chunk[:]
			}
		}
		c.reading.Unlock()
		n, err := s.nc.Read(p)
		c.reading.Lock()
		s.metrics.Reads.Add(1)
		if n > 0 {
			if readErr := c.arrived(p[:n], direct); readErr != nil {
				c.reading.Unlock()
				return readErr
			}
		}
		if n < len(p) {
			c.releaseChunk()
		} else if !direct && c.chunk == nil {
			c.borrowChunk()
		}
		c.reading.Unlock()
		switch {
		case c.stopped():
			return errStopped
		case err != nil:
			return err
		}
	}
}

// readChunk is a large read buffer, shared by all connections.
type readChunk [readBytesMax]byte

var chunks = sync.Pool{New: func() any { return new(readChunk) }}

func (c *Conn) borrowChunk() {
	if c.chunk == nil {
		c.chunk = chunks.Get().(*readChunk)
	}
}

func (c *Conn) releaseChunk() {
	if c.chunk != nil {
		chunks.Put(c.chunk)
		c.chunk = nil
	}
}

// readRoom is the memory for the next read: a block of its own for a connection that fills the largest reads,
// the shared chunk for any other.
func (c *Conn) readRoom() []byte {
	n := c.size.next()
	if n == readBytesMax {
		return c.block.room(c.in.pool)
	}
	c.block.drop()
	c.borrowChunk()
	return c.chunk[:n]
}

// arrived takes up bytes that were read: into the target of the frame reader if direct, else anywhere.
// When the connection may not take up all frames in p, it waits here. The caller holds reading.
func (c *Conn) arrived(p []byte, direct bool) error {
	now := c.hub.clock.Load()
	c.lastRead.Store(now)
	c.hub.opts.Metrics.BytesIn.Add(int64(len(p)))
	if direct {
		c.in.landed(len(p))
		c.endRead()
		return nil
	}
	lease := c.block.landed(p)
	rest, err := c.in.feed(p, lease, now)
	c.endRead()
	if err != nil || len(rest) == 0 {
		return err
	}
	return c.arrivedLate(rest, lease)
}

// arrivedLate takes up the frames of a read that went beyond the limits of the connection.
func (c *Conn) arrivedLate(p []byte, lease *buffer.Lease) error {
	var spill *buffer.Lease
	for {
		if !c.hasRoom() {
			c.hub.opts.Metrics.Starved.Add(1)
			if spill == nil && lease == nil { // a wait may be long: keep memory of the size of p, not a whole chunk
				spill = c.hub.opts.Pool.Get(len(p))
				defer spill.Release()
				copy(spill.Bytes, p)
				p = spill.Bytes
				c.releaseChunk()
			}
			c.await(c.hasRoomOrStopped, 0)
		}
		if c.stopped() {
			return errStopped
		}
		now := c.hub.clock.Load()
		c.lastRead.Store(now)
		rest, err := c.in.feed(p, lease, now)
		c.endRead()
		if err != nil || len(rest) == 0 {
			return err
		}
		p = rest
	}
}

// endRead lets the session submit what it was handed, and sends what is complete.
func (c *Conn) endRead() {
	if !c.handed {
		return
	}
	c.handed = false
	c.hub.opts.Metrics.FramesIn.Add(c.framesIn)
	c.framesIn = 0
	c.handler.ReadEnd()
	c.Flush()
}

// readSize is the length of the next read: four times as much after one that filled its memory, less after many
// that stayed far below.
type readSize struct {
	bytes int
	low   int
}

func (s *readSize) next() int { return max(s.bytes, readBytesMin) }

// observe learns from a read of n bytes into memory of asked.
func (s *readSize) observe(n, asked int) {
	size := s.next()
	switch {
	case n == asked:
		s.bytes, s.low = min(size*4, readBytesMax), 0
	case n > size/8:
		s.low = 0
	default:
		if s.low++; s.low == 32 {
			s.bytes, s.low = max(size/4, readBytesMin), 0
		}
	}
}
