package session

import (
	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
)

// arriving is the large body that is being received: a batch is verified while it arrives.
type arriving struct {
	x        *transport.Exchange // nil when none is
	verifier batch.Verifier
	fed      int // bytes of the body that the verifier has seen or that are not for it
	state    arrival
}

type arrival uint8

const (
	headMissing arrival = iota // what stands in front of the batch is not complete
	verifying                  // the verifier is fed
	unverified                 // nothing to verify, or not before the whole body is there
)

// Body implements transport.Handler.
func (s *session) Body(x *transport.Exchange, have int) {
	a := &s.arriving
	if a.x != x {
		a.x, a.fed, a.state = x, 0, headMissing
		if x.Header.Operation() != protocol.OpSendMessages || s.binding.Load() == nil {
			a.state = unverified
		}
	}
	if a.state == headMissing {
		head, err := command.DecodeSendMessages(x.Body.Bytes[:have])
		switch {
		case err == nil:
			a.state, a.fed = verifying, head.BatchAt
			a.verifier.Reset(x.BodyLen()-head.BatchAt, head.MessagesCount)
		case have >= 4+command.SendMetadataMax:
			a.state = unverified
		}
	}
	if a.state == verifying && have > a.fed {
		a.verifier.Write(x.Body.Bytes[a.fed:have])
		a.fed = have
	}
}

// verifySend checks layout and checksums of a batch: what ran while it arrived is finished, anything else is
// done now.
func (s *session) verifySend(x *transport.Exchange, section *command.SendSection) protocol.Code {
	if a := &s.arriving; a.x == x && a.state == verifying && a.fed == len(x.Body.Bytes) {
		return a.verifier.Close()
	}
	record := x.Body.Bytes[section.BatchAt:]
	if len(record) < batch.HeaderSize {
		return protocol.CodeInvalidCommand
	}
	return batch.Verify(record, section.MessagesCount)
}

// partition gathers a send or an offset write for the shard of its partition.
func (s *session) partition(x *transport.Exchange, b *binding) {
	view, current := s.view()
	code := protocol.CodeTransientNotAccepted
	p := s.pendingOf(x)
	switch {
	case !current:
	case x.Header.Operation() == protocol.OpSendMessages:
		code = s.prepareSend(p, b, view)
	default:
		code = s.prepareOffset(p, b, view)
	}
	if code != protocol.Success {
		s.deny(x, code)
		return
	}
	s.gather(p)
}

// prepareSend finds the partition of a batch, asks for permission and verifies it: nobody makes the server hash
// what it would not store. The turn of a balanced batch is taken last, so that a refused one does not move the
// round.
func (s *session) prepareSend(p *pending, b *binding, view *metadata.View) protocol.Code {
	x := p.x
	section, ok := command.CutSendSection(x.Body.Bytes)
	if !ok {
		return protocol.CodeInvalidCommand
	}
	if !s.route.leads(section.Target, b, view) {
		if code := s.route.find(x.Body.Bytes, b, view); code != protocol.Success {
			return code
		}
	}
	if code := s.verifySend(x, &section); code != protocol.Success {
		return code
	}
	at, code := s.route.next(&s.server.rounds)
	if code != protocol.Success {
		return code
	}
	body := x.TakeBody()
	body.Bytes = body.Bytes[section.BatchAt:]
	p.work.Group, p.work.Revision, p.work.Messages = at.group, at.revision, section.MessagesCount
	req := &p.work.Request
	req.Client, req.Session, req.UserID = b.client, b.session, b.user
	req.Request, req.RequestChecksum = numbered(&x.Header), x.Header.RequestChecksum()
	req.Operation, req.Body, req.Waiter = protocol.OpSendMessages, body, p
	return protocol.Success
}

// numbered is the request number that the log may look at: only clients that say so number their requests.
func numbered(h *protocol.RequestHeader) uint64 {
	if h.Numbered() {
		return h.Request()
	}
	return 0
}
