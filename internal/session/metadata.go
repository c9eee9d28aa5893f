package session

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// metadata prepares an operation of the metadata group, has it committed and answers.
func (s *session) metadata(x *transport.Exchange, b *binding) {
	view, current := s.view()
	if !current {
		s.frame(x, protocol.CodeTransientNotAccepted)
		return
	}
	entry := metadata.Entry{
		View: view, Client: b.client, Session: b.session, User: b.user, TokensMax: s.server.o.TokensMax,
		Secrets: s.server.secrets, Partitions: s.server,
	}
	admitted, code := entry.Admit(x.Header.Operation(), x.Body.Bytes)
	if code == protocol.CodeTransientNotAccepted {
		if admitted.Operation != 0 {
			x.Header.SetOperation(admitted.Operation)
		}
		s.frame(x, code)
		return
	}
	if code != protocol.Success {
		s.deny(x, code)
		return
	}
	p := s.pendingOf(x)
	p.token = admitted.Token
	p.work.Group = protocol.MetadataGroup
	p.work.Request = vsr.Request{
		Client: b.client, Session: b.session, Request: x.Header.Request(), RequestChecksum: x.Header.RequestChecksum(),
		Operation: admitted.Operation, UserID: b.user, Body: ownBody(x, admitted.Body), Waiter: p,
	}
	s.call(p)
	s.answerMetadata(x, p)
}

// ownBody gives the log a body that outlives the request: the memory of the request itself where body is its
// body as it came, else body, which belongs to nobody else.
func ownBody(x *transport.Exchange, body []byte) vsr.Body {
	if len(body) == 0 || len(x.Body.Bytes) == 0 || &body[0] != &x.Body.Bytes[0] {
		return vsr.Body{Bytes: body}
	}
	taken := x.TakeBody()
	taken.Bytes = body
	return taken
}

// answerMetadata sends what became of a metadata operation.
func (s *session) answerMetadata(x *transport.Exchange, p *pending) {
	switch p.outcome.Verdict {
	case vsr.Accepted:
		s.answered = p.op
		body := p.result
		if p.token != "" && p.code == protocol.Success {
			body = metadata.AppendToken(body, p.token)
		}
		x.SetBody(body)
		x.Done()
	case vsr.Replayed:
		x.SetFrame(p.outcome.Frame)
		x.Done()
	case vsr.Framed:
		x.Header.SetOperation(p.work.Request.Operation)
		s.frame(x, p.outcome.Code)
	case vsr.Evicted:
		s.lose()
		s.sendEviction(x, p.outcome.Evict)
	default:
		s.deny(x, p.outcome.Code)
	}
}

// lose is what a connection does that learns from the answer to a request that its session is gone.
func (s *session) lose() {
	if b := s.binding.Load(); b != nil {
		s.server.unbind(b.client, s)
	}
	s.evict.Store(0) // what ended it is said by this answer
}

// call hands a metadata operation over and waits for its answer.
func (s *session) call(p *pending) {
	s.gather(p)
	s.settle()
}
