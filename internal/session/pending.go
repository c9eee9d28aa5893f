package session

import (
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// pending is a request that a shard answers. It lives with the memory of its exchange, which belongs to one
// connection, and is used again with it, so that a send allocates nothing.
type pending struct {
	session *session
	request
}

// request is the part of a pending that belongs to one request.
type request struct {
	x     *transport.Exchange
	work  node.Work
	token string // text of a token that is being created

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
		p = &pending{session: s}
		x.Attach(p)
	}
	p.request = request{x: x, result: p.result[:0]}
	return p
}

// Flusher implements node.Waiter.
func (p *pending) Flusher() node.Flusher { return p.session.conn }

// Complete implements node.Waiter: it encodes the answer into the exchange, or keeps it for the goroutine that
// waits for it.
func (p *pending) Complete(r *vsr.Reply) {
	s := p.session
	if p.work.Group == protocol.MetadataGroup {
		p.keep(r)
	} else {
		p.answerPartition(r)
	}
	s.open.Done()
}

// answerPartition answers a send or an offset write. Refusals are denials: the answer to a send has no result
// section. The number in the answer is the client's own, whatever the log holds.
func (p *pending) answerPartition(r *vsr.Reply) {
	x, h := p.x, &p.x.Header
	switch {
	case r.Prepare != nil:
		x.Reply().SetCommitted(r.Prepare, len(r.Body))
		x.Reply().SetClient(p.session.conn.ID())
		x.Reply().SetRequest(h.Request())
		x.Reply().SetRequestChecksum(h.RequestChecksum())
		x.SetBody(r.Body)
	case r.Outcome.Code == protocol.Success:
		// Applied here only, or known from before: nothing to report. It reads as an empty result section and
		// as an empty list of confirmations.
		x.Reply().SetEcho(h, p.session.conn.ID(), 0, 0, protocol.Success)
		x.SetBody([]byte{0, 0, 0, 0})
	default:
		x.Reply().SetEcho(h, p.session.conn.ID(), 0, 0, r.Outcome.Code)
	}
	x.Done()
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
	p.x.Reply().SetCommitted(r.Prepare, len(r.Body))
	p.result = append(p.result[:0], r.Body...)
	p.code, _, _ = protocol.CutResult(r.Body)
}
