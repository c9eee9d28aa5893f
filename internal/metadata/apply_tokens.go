package metadata

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func (s *State) createToken(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeCreateTokenReplicated(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	if !s.may(o, Target{}) {
		return reply, protocol.CodeUnauthorized
	}
	u := s.view.UserByID(o.user)
	if o.server {
		u = s.view.UserByID(req.User)
	}
	name, hash := string(req.Name), string(req.Hash)
	expiresAt, expires := uint64(0), req.ExpiryMicros != 0 && req.ExpiryMicros != Unlimited
	if expires {
		expiresAt = o.now + req.ExpiryMicros
	}
	taken, _ := s.view.TokenByHash(hash)
	switch {
	case u == nil:
		return reply, protocol.CodeUnauthorized
	case u.TokenByName(name) != nil || taken != nil:
		return reply, protocol.CodePersonalAccessTokenAlreadyExists
	case expires && expiresAt <= o.now:
		return reply, protocol.CodeInvalidPersonalAccessTokenExpiry
	}
	next := *u
	next.tokens = u.tokens.Set(name, &Token{name, hash, expiresAt})
	s.setUser(&next)
	s.view.tokens = s.view.tokens.Set(hash, tokenOwner{u.ID, name})
	return reply, protocol.Success
}

// deleteToken removes a token of the acting user, or for the cleaner one of any user that is still expired:
// the cleaner succeeds whatever it finds.
func (s *State) deleteToken(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeDeleteTokenReplicated(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	if !s.may(o, Target{}) {
		return reply, protocol.CodeUnauthorized
	}
	user := o.user
	if o.server {
		user = req.User
	}
	var t *Token
	u := s.view.UserByID(user)
	if u != nil {
		t = u.TokenByName(string(req.Name))
	}
	switch {
	case req.OnlyIfExpired && (t == nil || !t.IsExpired(o.now)):
		return reply, protocol.Success
	case t == nil:
		return reply, protocol.CodeResourceNotFound
	}
	next := *u
	next.tokens = u.tokens.Delete(t.Name)
	s.setUser(&next)
	s.view.tokens = s.view.tokens.Delete(t.Hash)
	return reply, protocol.Success
}
