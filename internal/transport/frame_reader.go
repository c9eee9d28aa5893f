package transport

import (
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// sizeFieldEnd is the number of header bytes after which the size of the frame is known.
const sizeFieldEnd = 52

// frameSink is where a frameReader gets exchanges from and delivers them to.
type frameSink interface {
	begin() *Exchange // nil: no room, stop here
	body(x *Exchange, have int)
	frame(x *Exchange)
}

// frameReader cuts a byte stream into frames, whatever the borders of the chunks are. It does no I/O:
// bytes are given to feed, or, while a large body is arriving, read straight into target and reported with
// landed. A partial frame lives where the complete one will: there is no second buffer.
type frameReader struct {
	sink     frameSink
	pool     *buffer.Pool
	limit    int // largest frame
	slab     slab
	x        *Exchange // frame in progress; nil between frames
	headHave int
	bodyHave int
	told     int // body bytes reported to the sink
	large    bool
}

// feed consumes p. It returns what is left of p when the sink has no room for another frame, and
// ErrFrameSize when the stream cannot be delimited; then the reader must not be fed any more. With a lease, p
// lies in its memory, which nobody writes to as long as there are references: bodies may stay there.
func (r *frameReader) feed(p []byte, lease *buffer.Lease, now int64) ([]byte, error) {
	for len(p) > 0 {
		if r.x == nil {
			if r.x = r.sink.begin(); r.x == nil {
				return p, nil
			}
			r.headHave, r.bodyHave, r.told = 0, 0, 0
		}
		if r.headHave < protocol.HeaderSize {
			n := copy(r.x.Header[r.headHave:], p)
			p = p[n:]
			before := r.headHave
			r.headHave += n
			if before < sizeFieldEnd && r.headHave >= sizeFieldEnd && !r.sizeInRange() {
				return nil, ErrFrameSize
			}
			if r.headHave == protocol.HeaderSize {
				p = r.open(p, lease, now)
			}
			continue
		}
		room := r.room()
		n := copy(room, p)
		p = p[n:]
		r.advance(n)
	}
	return nil, nil
}

func (r *frameReader) sizeInRange() bool {
	size := r.x.Header.Common().Size()
	return size >= protocol.HeaderSize && uint64(size) <= uint64(r.limit)
}

// open makes room for the body of a frame whose header is complete, unless the body lies whole at the start of
// p and may stay there. It returns what is left of p.
func (r *frameReader) open(p []byte, lease *buffer.Lease, now int64) []byte {
	n := int(r.x.Header.Common().Size()) - protocol.HeaderSize
	r.x.bodyLen = n
	r.large = n > smallBodyBytesMax
	switch {
	case n == 0:
		r.deliver()
	case r.large:
		own := r.pool.Get(min(n, firstLeaseBytes))
		r.x.Body = vsr.Body{Lease: own, Bytes: own.Bytes}
	case lease != nil && n >= inPlaceBytesMin && n <= len(p):
		lease.Retain()
		r.x.Body = vsr.Body{Lease: lease, Bytes: p[:n:n]}
		r.deliver()
		return p[n:]
	default:
		r.x.Body = r.slab.take(r.pool, n, now)
	}
	return p
}

// room is where the next body bytes go; never empty. A full lease grows to twice its size first.
func (r *frameReader) room() []byte {
	b := r.x.Body.Bytes
	if r.bodyHave == len(b) {
		lease := r.pool.Get(min(r.x.bodyLen, 2*len(b)))
		copy(lease.Bytes, b)
		r.x.Body.Release()
		r.x.Body = vsr.Body{Lease: lease, Bytes: lease.Bytes}
		b = lease.Bytes
	}
	return b[r.bodyHave:]
}

func (r *frameReader) advance(n int) {
	r.bodyHave += n
	complete := r.bodyHave == r.x.bodyLen
	if r.large && (complete || r.bodyHave-r.told >= readBytesMax) {
		r.told = r.bodyHave
		r.sink.body(r.x, r.bodyHave)
	}
	if complete {
		r.deliver()
	}
}

func (r *frameReader) deliver() {
	x := r.x
	r.x = nil
	r.sink.frame(x)
}

// target is the memory to read into directly, at most readBytesMax bytes of the large body that is
// arriving, or nil when bytes belong into feed.
func (r *frameReader) target() []byte {
	if r.x == nil || r.headHave < protocol.HeaderSize || !r.large {
		return nil
	}
	b := r.room()
	return b[:min(len(b), readBytesMax)]
}

// landed reports that n bytes were read into target.
func (r *frameReader) landed(n int) { r.advance(n) }

// midFrame tells whether a frame has begun and is not complete.
func (r *frameReader) midFrame() bool { return r.x != nil && r.headHave > 0 }

// drop gives back a partial frame and the slab.
func (r *frameReader) drop() {
	if r.x != nil {
		r.x.recycle()
		r.x = nil
	}
	r.slab.drop()
}
