package transport

import (
	"sync/atomic"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// Handler is the session of one connection. Its methods are called by the goroutine of that connection
// only, never two at a time.
type Handler interface {
	// Body tells that bytes [0,have) of a body above 16 KiB are in x.Body.Bytes; have grows by about
	// 256 KiB from call to call and the last call has have == x.BodyLen(). x.Body may move between two
	// calls: neither it nor its bytes may be kept. The frame may never become complete; then there is no
	// Frame for x.
	Body(x *Exchange, have int)
	// Frame hands over a complete frame with any command byte. It must lead to x.Done() exactly once, now
	// or later, from any goroutine.
	Frame(x *Exchange)
	// ReadEnd tells that all frames of one socket read were handed over, or that no further one can be
	// before some are answered. Completed answers are flushed after it returns.
	ReadEnd()
	// Closed is the last call. Exchanges that are not done yet may still be completed; nothing is sent.
	Closed()
}

const inlineBodyBytes = 128

// Exchange is one request and its answer. It belongs to the session from Handler.Frame to Done; after Done
// not even a field may be read, because the transport recycles it.
type Exchange struct {
	// Header is a copy of the request header; nothing but its size has been checked.
	Header protocol.RequestHeader
	// Body is the request body. The exchange holds one reference until the answer is written; TakeBody
	// moves it to the caller. Empty bodies have no lease.
	Body vsr.Body

	answer    [protocol.HeaderSize + inlineBodyBytes]byte // header and a small body, written as one
	inlineLen int
	answerLen int
	bodyLen   int
	conn      *Conn
	pieces    []piece
	attached  any
	done      atomic.Bool
}

// piece is a part of an answer's body in somebody else's memory.
type piece struct {
	bytes []byte
	lease *buffer.Lease
}

// Reply heads the answer; an eviction frame uses the same 256 bytes. It holds what an earlier answer left
// there: whoever answers writes all of it, but for the size field, which Done sets.
func (x *Exchange) Reply() *protocol.ReplyHeader { return (*protocol.ReplyHeader)(x.answer[:]) }

// Conn is the connection the request came from.
func (x *Exchange) Conn() *Conn { return x.conn }

// BodyLen is the length of the whole request body in bytes, also while it is still arriving.
func (x *Exchange) BodyLen() int { return x.bodyLen }

// TakeBody moves the request body and its reference to the caller and leaves an empty one.
func (x *Exchange) TakeBody() vsr.Body {
	b := x.Body
	x.Body = vsr.Body{}
	return b
}

// SetBody makes a copy of b the body of the answer, in place of what was set or appended before.
func (x *Exchange) SetBody(b []byte) {
	x.dropAnswer()
	if len(b) <= inlineBodyBytes {
		x.inlineLen = copy(x.answer[protocol.HeaderSize:], b)
		x.answerLen = x.inlineLen
		return
	}
	lease := x.conn.hub.opts.Pool.Get(len(b))
	copy(lease.Bytes, b)
	x.AppendPiece(lease.Bytes, lease)
}

// AppendPiece appends b to the body of the answer without a copy and takes over one reference of lease.
// With a nil lease b belongs to the collector and must not change any more.
func (x *Exchange) AppendPiece(b []byte, lease *buffer.Lease) {
	if len(b) == 0 {
		if lease != nil {
			lease.Release()
		}
		return
	}
	x.pieces = append(x.pieces, piece{b, lease})
	x.answerLen += len(b)
}

// SetFrame makes a copy of a complete frame the answer. A frame shorter than a header is ignored.
func (x *Exchange) SetFrame(frame []byte) {
	if len(frame) < protocol.HeaderSize {
		return
	}
	copy(x.Reply()[:], frame)
	x.SetBody(frame[protocol.HeaderSize:])
}

// AnswerLen is the length of the answer's body so far, in bytes.
func (x *Exchange) AnswerLen() int { return x.answerLen }

// Attach keeps v with the memory of this exchange. It survives the exchange: a later request that gets the
// same memory finds v in Attached, so that scratch objects are reused. A quiet connection drops it.
func (x *Exchange) Attach(v any) { x.attached = v }

// Attached is what was last given to Attach for this memory, or nil.
func (x *Exchange) Attached() any { return x.attached }

// Done marks the answer complete. It is cheap, takes no lock and never writes to the socket; Conn.Flush
// does that. A second call for the same exchange is a broken invariant.
func (x *Exchange) Done() {
	c := x.conn
	x.Reply().Common().SetSize(uint32(protocol.HeaderSize + x.answerLen))
	if n := x.pieceBytes(); n > 0 {
		c.unwritten.Add(n)
	}
	if x.done.Swap(true) {
		panic("transport: exchange answered twice")
	}
	if c.closed.Load() {
		c.Flush()
	}
}

// pieceBytes is the part of the answer that does not lie in the exchange itself.
func (x *Exchange) pieceBytes() int64 { return int64(x.answerLen - x.inlineLen) }

func (x *Exchange) dropAnswer() {
	x.inlineLen, x.answerLen = 0, 0
	if len(x.pieces) == 0 {
		return
	}
	for i := range x.pieces {
		if l := x.pieces[i].lease; l != nil {
			l.Release()
		}
	}
	clear(x.pieces)
	x.pieces = x.pieces[:0]
}

// recycle gives back what the exchange holds and makes it ready for the next request.
func (x *Exchange) recycle() {
	x.Body.Release()
	x.Body = vsr.Body{}
	x.dropAnswer()
	if cap(x.pieces) > 256 {
		x.pieces = nil
	}
	x.bodyLen = 0
	x.done.Store(false)
}
