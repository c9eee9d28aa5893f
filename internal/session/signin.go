package session

import (
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// register signs a client in: version gate, credentials against the applied state, then a committed Register
// that mints the fence.
func (s *session) register(x *transport.Exchange, bound *binding) {
	body := x.Body.Bytes
	prefix, err := command.DecodeLoginPrefix(body)
	if err != nil {
		s.sendEviction(x, protocol.EvictMalformedLogin)
		return
	}
	if !protocol.AcceptsVersion(prefix.Version) {
		s.sendEviction(x, protocol.EvictIncompatibleProtocol)
		return
	}
	view := s.server.o.Node.View()
	user, reason := s.server.credentials(view, body)
	if reason != 0 {
		s.sendEviction(x, reason)
		return
	}
	if bound != nil && bound.user == user {
		s.registered(x, bound)
		return
	}
	if bound != nil {
		s.endOwn(x, bound)
	}
	s.commitRegister(x, user, view.Revision)
}

// credentials resolves a sign-in body to a user, or to the reason of an eviction. Unknown users cost the same
// as known ones.
func (s *Server) credentials(view *metadata.View, body []byte) (user uint32, reason protocol.EvictionReason) {
	login, err := command.DecodeLogin(body)
	refused := false
	if err == nil {
		if u := s.checkPassword(view, login); u != nil {
			return u.ID, 0
		}
		refused = true
	}
	if token, err := command.DecodeLoginToken(body); err == nil {
		return checkToken(view, token.Token)
	}
	if refused {
		return 0, protocol.EvictInvalidCredentials
	}
	return 0, protocol.EvictMalformedLogin
}

func (s *Server) checkPassword(view *metadata.View, l command.Login) *metadata.User {
	u := view.UserByName(string(l.Username))
	hash := s.secrets.dummy()
	if u != nil {
		hash = u.PasswordHash
	}
	fits := len(l.Password) >= metadata.PasswordMin && len(l.Password) <= metadata.PasswordMax
	ok := s.secrets.VerifyPassword(hash, l.Password)
	if !ok || !fits || u == nil || u.Status != metadata.UserActive {
		return nil
	}
	return u
}

func checkToken(view *metadata.View, text []byte) (uint32, protocol.EvictionReason) {
	t, u := view.TokenByHash(hashToken(text))
	switch {
	case t == nil, t.IsExpired(uint64(time.Now().UnixMicro())):
		return 0, protocol.EvictInvalidToken
	case u.Status != metadata.UserActive:
		return 0, protocol.EvictUserInactive
	}
	return u.ID, 0
}

// commitRegister has the metadata group bind the client id of the header to the user.
func (s *session) commitRegister(x *transport.Exchange, user uint32, verifiedAt uint64) {
	client := x.Header.Client()
	p := s.pendingOf(x)
	p.work.Group = protocol.MetadataGroup
	p.work.Request = vsr.Request{
		Client: client, Operation: protocol.OpRegister, UserID: user, RequestChecksum: x.Header.RequestChecksum(),
		Body: vsr.Body{Bytes: metadata.AppendRegister(nil, verifiedAt)}, Waiter: p,
	}
	s.call(p)
	switch {
	case p.outcome.Verdict == vsr.Evicted:
		s.sendEviction(x, p.outcome.Evict)
	case p.outcome.Verdict != vsr.Accepted:
		s.frame(x, p.outcome.Code)
	case p.code == protocol.CodeUnauthenticated:
		s.sendEviction(x, protocol.EvictSessionError)
	case p.code != protocol.Success:
		s.frame(x, p.code)
	default:
		b := &binding{client: client, session: p.op, user: user}
		s.server.bind(client, s, b)
		s.registered(x, b)
	}
}

// registered answers a sign-in.
func (s *session) registered(x *transport.Exchange, b *binding) {
	commit := max(s.server.o.Node.MetadataCommit(), b.session)
	x.Reply.SetEcho(&x.Header, b.client, b.session, commit, protocol.Success)
	s.out = protocol.AppendResult(s.out[:0], protocol.Success)
	s.out = command.LoginReply{
		UserID: b.user, Session: b.session, Version: protocol.Version, ServerVersion: []byte(protocol.ServerVersion),
	}.Append(s.out)
	x.SetBody(s.out)
	x.Done()
}

// call hands a metadata operation over and waits for its answer.
func (s *session) call(p *pending) {
	s.open.Add(1)
	s.batch.Add(s.server.o.Node, &p.work)
	s.settle()
}

// endOwn logs the session of this connection out before another user signs in on it.
func (s *session) endOwn(x *transport.Exchange, b *binding) {
	s.server.unbind(b.client, s)
	s.binding.Store(nil)
	p := s.pendingOf(x)
	p.work = logoutWork(b.client, b.session, ^uint64(0))
	p.work.Request.Waiter = p
	s.call(p)
}

// logout ends the session; the connection stays.
func (s *session) logout(x *transport.Exchange, b *binding) {
	p := s.pendingOf(x)
	p.work = logoutWork(b.client, b.session, x.Header.Request())
	p.work.Request.RequestChecksum = x.Header.RequestChecksum()
	p.work.Request.Waiter = p
	s.call(p)
	switch {
	case p.outcome.Verdict == vsr.Evicted, p.outcome.Verdict == vsr.Accepted, p.outcome.Verdict == vsr.Replayed:
		s.server.unbind(b.client, s)
		s.binding.Store(nil)
		s.evict.Store(0)
		x.Reply.SetEcho(&x.Header, b.client, b.session, max(p.op, s.server.o.Node.MetadataCommit()), protocol.Success)
		x.SetBody(nil)
		x.Done()
	default:
		s.deny(x, p.outcome.Code)
	}
}
