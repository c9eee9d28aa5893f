package session

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// metadata prepares an operation of the metadata group, has it committed and answers.
func (s *session) metadata(x *transport.Exchange, b *binding) {
	n := s.server.o.Node
	entry := metadata.Entry{
		View: n.View(), Client: b.client, Session: b.session, User: b.user, TokensMax: s.server.o.TokensMax,
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
		Operation: admitted.Operation, UserID: b.user, Body: vsr.Body{Bytes: admitted.Body}, Waiter: p,
	}
	s.call(p)
	s.answerMetadata(x, p)
}

// answerMetadata sends what became of a metadata operation.
func (s *session) answerMetadata(x *transport.Exchange, p *pending) {
	switch p.outcome.Verdict {
	case vsr.Accepted:
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
		if b := s.binding.Load(); b != nil && p.outcome.Evict == protocol.EvictNoSession {
			s.server.unbind(b.client, s)
			s.binding.Store(nil)
		}
		s.evict.Store(0)
		s.sendEviction(x, p.outcome.Evict)
	default:
		s.deny(x, p.outcome.Code)
	}
}
