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
// that mints the fence. Whatever fails before the commit leaves the session that is bound already as it was.
func (s *session) register(x *transport.Exchange, bound *binding) {
	body := x.Body.Bytes
	prefix, err := command.DecodeLoginPrefix(body)
	if err != nil {
		s.refuseSignIn(x, protocol.EvictMalformedLogin)
		return
	}
	if !protocol.AcceptsVersion(prefix.Version) {
		s.refuseSignIn(x, protocol.EvictIncompatibleProtocol)
		return
	}
	view := s.server.o.Node.View()
	user, reason, err := s.server.credentials(view, body)
	switch {
	case err != nil:
		s.server.metrics.signInsCrowded.Inc()
		s.frame(x, protocol.CodeTransientNotAccepted)
	case reason != 0:
		s.refuseSignIn(x, reason)
	case bound != nil && bound.user == user:
		s.registered(x, bound)
	default:
		if bound != nil {
			s.endOwn(x, bound)
		}
		s.commitRegister(x, user, view.Revision)
	}
}

func (s *session) refuseSignIn(x *transport.Exchange, reason protocol.EvictionReason) {
	s.server.metrics.signInsRefused.Inc()
	s.sendEviction(x, reason)
}

// credentials resolves a sign-in body to a user, or to the reason of an eviction. The form with a password is
// tried first. The error says that too many sign-ins wait.
func (s *Server) credentials(view *metadata.View, body []byte) (user uint32, reason protocol.EvictionReason, err error) {
	login, loginErr := command.DecodeLogin(body)
	if loginErr == nil {
		u, err := s.checkPassword(view, login)
		if u != nil || err != nil {
			return idOf(u), 0, err
		}
	}
	token, tokenErr := command.DecodeLoginToken(body)
	switch {
	case tokenErr == nil:
		user, reason = checkToken(view, token.Token)
		return user, reason, nil
	case loginErr == nil:
		return 0, protocol.EvictInvalidCredentials, nil
	}
	return 0, protocol.EvictMalformedLogin, nil
}

func idOf(u *metadata.User) uint32 {
	if u == nil {
		return 0
	}
	return u.ID
}

// checkPassword returns the user, or nil for wrong credentials. What could be right costs one hash whoever is
// named, so that the time does not tell whether a user exists or is active. Lengths that cannot be right cost
// nothing: their sender knows them.
func (s *Server) checkPassword(view *metadata.View, l command.Login) (*metadata.User, error) {
	if len(l.Username) < metadata.UsernameMin || len(l.Username) > metadata.UsernameMax ||
		len(l.Password) < metadata.PasswordMin || len(l.Password) > metadata.PasswordMax {
		return nil, nil
	}
	u := view.UserByName(string(l.Username))
	hash := s.secrets.dummy()
	if u != nil {
		hash = u.PasswordHash
	}
	ok, err := s.secrets.verifySignIn(hash, l.Password)
	if err != nil || !ok || u == nil || u.Status != metadata.UserActive {
		return nil, err
	}
	return u, nil
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
		s.refuseSignIn(x, p.outcome.Evict)
	case p.outcome.Verdict != vsr.Accepted:
		s.frame(x, p.outcome.Code)
	case p.code == protocol.CodeUnauthenticated: // another user took the id meanwhile
		s.refuseSignIn(x, protocol.EvictSessionError)
	case p.code != protocol.Success:
		s.frame(x, p.code)
	default:
		b := &binding{client: client, session: p.op, user: user}
		s.server.metrics.signIns.Inc()
		s.answered = p.op
		s.server.bind(s, b)
		s.registered(x, b)
	}
}

// registered answers a sign-in.
func (s *session) registered(x *transport.Exchange, b *binding) {
	commit := max(s.server.o.Node.MetadataCommit(), b.session)
	x.Reply().SetEcho(&x.Header, b.client, b.session, commit, protocol.Success)
	s.out = protocol.AppendResult(s.out[:0], protocol.Success)
	s.out = command.LoginReply{
		UserID: b.user, Session: b.session, Version: protocol.Version, ServerVersion: []byte(protocol.ServerVersion),
	}.Append(s.out)
	x.SetBody(s.out)
	x.Done()
}

// endOwn logs the session of this connection out before another user signs in on it.
func (s *session) endOwn(x *transport.Exchange, b *binding) {
	if !s.server.unbind(b.client, s) {
		return // ended by somebody else meanwhile
	}
	p := s.pendingOf(x)
	p.work = logoutWork(b.client, b.session, requestNumberMax)
	p.work.Request.Waiter = p
	s.call(p)
	if isTransient(p.outcome) {
		s.server.leave(b, time.Now())
	}
}

// requestNumberMax is the request number of a Logout that the server makes: above every one of the client.
const requestNumberMax = ^uint64(0)

// isTransient tells that an operation was not committed and may be tried again.
func isTransient(o vsr.Outcome) bool {
	return o.Verdict == vsr.Framed || o.Verdict == vsr.Denied || o.Verdict == vsr.Full
}

// logout ends the session; the connection stays.
func (s *session) logout(x *transport.Exchange, b *binding) {
	p := s.pendingOf(x)
	p.work = logoutWork(b.client, b.session, x.Header.Request())
	p.work.Request.RequestChecksum = x.Header.RequestChecksum()
	p.work.Request.Waiter = p
	s.call(p)
	switch p.outcome.Verdict {
	case vsr.Accepted, vsr.Evicted:
		s.lose()
		commit := p.op
		if commit == 0 { // gone before
			commit = s.server.o.Node.MetadataCommit()
		}
		x.Reply().SetEcho(&x.Header, b.client, b.session, commit, protocol.Success)
		x.SetBody(nil)
		x.Done()
	case vsr.Replayed: // a number that another operation has used
		s.deny(x, protocol.CodeInvalidCommand)
	default:
		s.deny(x, p.outcome.Code)
	}
}
