package batch

import (
	"errors"
	"math"

	"github.com/galgolog/galgo/internal/protocol"
)

// Errors of a Builder.
var (
	// ErrEmpty: a batch needs at least one message.
	ErrEmpty = errors.New("batch build: no messages")
	// ErrOriginSpread: origin times of one batch lie more than 2^32-1 microseconds apart (code 4038).
	ErrOriginSpread = errors.New("batch build: origin times too far apart")
	// ErrTooLarge: a payload, the headers of a message or the number of messages passes 2^32-1.
	ErrTooLarge = errors.New("batch build: message too large")
)

// Builder makes records as a producer sends them. Its memory is reused from batch to batch; the zero value
// is ready. Not safe for concurrent use.
type Builder struct {
	buf     []byte
	origins []uint64
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder { return &Builder{} }

// Add appends a message, copying payload and userHeaders. originMicros is the producer's clock.
func (b *Builder) Add(payload, userHeaders []byte, id protocol.Uint128, originMicros uint64) error {
	if uint64(len(payload)) > math.MaxUint32 || uint64(len(userHeaders)) > math.MaxUint32 ||
		len(b.origins) == math.MaxUint32 {
		return ErrTooLarge
	}
	if len(b.origins) == 0 {
		b.buf = append(b.buf[:0], make([]byte, HeaderSize)...)
	}
	var head [FrameHeaderSize]byte
	id.Put(head[8:])
	le.PutUint32(head[24:], uint32(len(b.origins)))
	le.PutUint32(head[32:], uint32(len(userHeaders)))
	le.PutUint32(head[36:], uint32(len(payload)))
	b.buf = append(b.buf, head[:]...)
	b.buf = append(b.buf, payload...)
	b.buf = append(b.buf, userHeaders...)
	b.origins = append(b.origins, originMicros)
	return nil
}

// Len is the number of messages added since the last Build or Reset.
func (b *Builder) Len() int { return len(b.origins) }

// Size is the length in bytes of the record that Build would return.
func (b *Builder) Size() int {
	if len(b.origins) == 0 {
		return 0
	}
	return len(b.buf)
}

// Build seals the batch and empties the builder. The record aliases the builder: it is valid, and may be
// stamped in place, until the next Add.
func (b *Builder) Build() ([]byte, error) {
	if len(b.origins) == 0 {
		return nil, ErrEmpty
	}
	defer b.Reset()
	origin, latest := b.origins[0], b.origins[0]
	for _, o := range b.origins {
		origin, latest = min(origin, o), max(latest, o)
	}
	if latest-origin > math.MaxUint32 {
		return nil, ErrOriginSpread
	}
	h := (*Header)(b.buf)
	h.setOriginTimestamp(origin)
	h.setLength(uint64(len(b.buf)))
	h.setMessageCount(uint32(len(b.origins)))
	var seal sealer
	seal.begin(h)
	rest := b.buf[HeaderSize:]
	for _, o := range b.origins {
		f := Frame(rest[:Frame(rest).length()])
		le.PutUint32(f[28:], uint32(o-origin))
		sum := f.Sum()
		le.PutUint64(f, sum)
		seal.add(sum)
		rest = rest[len(f):]
	}
	h.setChecksum(seal.sum())
	return b.buf, nil
}

// Reset drops the messages added so far.
func (b *Builder) Reset() { b.origins = b.origins[:0] }
