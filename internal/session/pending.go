package session

import (
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// pending is a request that a shard answers. It lives with the memory of its exchange and is used again with
// it, so a send allocates nothing.
type pending struct {
	session *session
	conn    *transport.Conn
	x       *transport.Exchange
	work    node.Work
	offset  [16]byte // body of an offset operation
	token   string   // text of a token that is being created

	// What the caller of a metadata operation looks at after it was answered.
	outcome vsr.Outcome
	op      uint64
	code    protocol.Code
	result  []byte
}

// pendingOf returns the scratch of an exchange, emptied.
func (s *session) pendingOf(x *transport.Exchange) *pending {
	p, ok := x.Attached().(*pending)
	if !ok {
		p = &pending{}
		x.Attach(p)
	}
	result := p.result[:0]
	*p = pending{session: s, conn: s.conn, x: x, result: result}
	p.work.Request.Waiter = p
	return p
}

// Flush implements node.Waiter.
func (p *pending) Flush() { p.conn.Flush() }

// Complete implements node.Waiter: it encodes the answer into the exchange.
func (p *pending) Complete(r *vsr.Reply) {
	s := p.session
	if p.work.Group == protocol.MetadataGroup {
		p.keep(r)
		s.open.Done()
		return
	}
	x := p.x
	h := &x.Header
	switch {
	case r.Prepare != nil:
		x.Reply.SetCommitted(r.Prepare, len(r.Body))
		x.Reply.SetClient(s.conn.ID())
		x.Reply.SetRequest(h.Request())
		copy(x.Reply[128:144], h[144:160])
		x.SetBody(r.Body)
	case r.Outcome.Verdict == vsr.Framed:
		x.Reply.SetEcho(h, s.conn.ID(), 0, 0, protocol.Success)
		var body [12]byte
		x.SetBody(protocol.AppendResult(body[:0], r.Outcome.Code))
	default:
		x.Reply.SetEcho(h, s.conn.ID(), 0, 0, r.Outcome.Code)
	}
	x.Done()
	s.open.Done()
}

// keep copies the answer of the metadata group for the goroutine that waits for it.
func (p *pending) keep(r *vsr.Reply) {
	p.outcome = r.Outcome
	if r.Outcome.Verdict == vsr.Replayed {
		p.outcome.Frame = append([]byte(nil), r.Outcome.Frame...)
	}
	if r.Prepare == nil {
		return
	}
	p.op = r.Prepare.Op()
	p.x.Reply.SetCommitted(r.Prepare, len(r.Body))
	p.result = append(p.result[:0], r.Body...)
	p.code, _, _ = protocol.CutResult(r.Body)
}
