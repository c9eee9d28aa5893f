package metadata

import (
	"github.com/galgolog/galgo/internal/metadata/tree"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Lengths in bytes.
const (
	UsernameMin = 3
	UsernameMax = 50
	PasswordMin = 3
	PasswordMax = 100
)

func usernameFits(name string) bool { return len(name) >= UsernameMin && len(name) <= UsernameMax }

func (s *State) createUser(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeCreateUser(body)
	name := string(req.Username)
	switch {
	case err != nil:
		return reply, protocol.CodeInvalidCommand
	case !s.may(o, Target{}):
		return reply, protocol.CodeUnauthorized
	case len(req.Options) > 0:
		return reply, protocol.CodeInvalidOptionValue
	case !usernameFits(name):
		return reply, protocol.CodeInvalidUsername
	case len(req.Password) == 0:
		return reply, protocol.CodeInvalidPassword
	case s.view.UserByName(name) != nil:
		return reply, protocol.CodeUserAlreadyExists
	}
	u := &User{
		ID: tree.LowestFree(s.view.users), CreatedAt: o.now, Status: UserStatus(req.Status), Name: name,
		PasswordHash: string(req.Password), SessionsRevision: o.number, CredentialsRevision: o.number,
		grants: grantsOf(req.Permissions),
	}
	s.setUser(u)
	s.view.userNames = s.view.userNames.Set(u.Name, u.ID)
	return appendUserDetails(reply, u), protocol.Success
}

func (s *State) updateUser(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeUpdateUser(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	u, code := s.reachUser(o, req.User)
	switch {
	case code != protocol.Success:
		return reply, code
	case len(req.Options) > 0:
		return reply, protocol.CodeInvalidOptionValue
	}
	next := *u
	if req.Username != nil {
		next.Name = string(req.Username)
		other := s.view.UserByName(next.Name)
		switch {
		case !usernameFits(next.Name):
			return reply, protocol.CodeInvalidUsername
		case other != nil && other.ID != u.ID:
			return reply, protocol.CodeUserAlreadyExists
		}
		s.view.userNames = s.view.userNames.Delete(u.Name).Set(next.Name, u.ID)
	}
	if req.Status != 0 {
		next.Status = UserStatus(req.Status)
	}
	if next.Status != u.Status {
		next.CredentialsRevision = o.number
		if next.Status == UserInactive {
			next.SessionsRevision = o.number
			s.endSessionsOf(u.ID, protocol.EvictUserInactive)
		}
	}
	s.setUser(&next)
	return reply, protocol.Success
}

func (s *State) deleteUser(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	id, err := command.DecodeIdentifier(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	u, code := s.reachUser(o, id)
	switch {
	case code != protocol.Success:
		return reply, code
	case u.ID == RootUser:
		return reply, protocol.CodeCannotDeleteUser
	}
	for t := range u.Tokens() {
		s.view.tokens = s.view.tokens.Delete(t.Hash)
	}
	s.view.users = s.view.users.Delete(u.ID)
	s.view.userNames = s.view.userNames.Delete(u.Name)
	s.endSessionsOf(u.ID, protocol.EvictNoSession)
	return reply, protocol.Success
}

// changePassword replaces the hash. What was wrong with the passwords was found out before the operation
// was proposed: then there is no new hash, and the code counts only if the user exists and may be changed.
func (s *State) changePassword(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeChangePassword(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	u := s.view.User(req.User)
	switch {
	case !s.may(o, Target{User: u}):
		return reply, protocol.CodeUnauthorized
	case u == nil:
		return reply, protocol.CodeResourceNotFound
	case len(req.New) == 0:
		return reply, passwordFailure(req.Current)
	}
	next := *u
	next.PasswordHash, next.CredentialsRevision = string(req.New), o.number
	if o.server || o.user != u.ID {
		next.SessionsRevision = o.number
		s.endSessionsOf(u.ID, protocol.EvictNoSession)
	}
	s.setUser(&next)
	return reply, protocol.Success
}

// The replicated form of a change of password that failed has no new hash and one byte in the place of the
// current password: the code, 42 or 44.
func passwordFailure(current []byte) protocol.Code {
	if len(current) == 1 && protocol.Code(current[0]) == protocol.CodeInvalidCredentials {
		return protocol.CodeInvalidCredentials
	}
	return protocol.CodeInvalidPassword
}

func (s *State) updatePermissions(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeUpdatePermissions(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	u, code := s.reachUser(o, req.User)
	switch {
	case code != protocol.Success:
		return reply, code
	case u.ID == RootUser:
		return reply, protocol.CodeCannotChangePermissions
	}
	next := *u
	next.grants = grantsOf(req.Permissions)
	s.setUser(&next)
	return reply, protocol.Success
}

// reachUser asks for permission, then resolves a user that the operation addresses: 41, 20.
func (s *State) reachUser(o *operation, id protocol.Identifier) (*User, protocol.Code) {
	u := s.view.User(id)
	switch {
	case !s.may(o, Target{User: u}):
		return nil, protocol.CodeUnauthorized
	case u == nil:
		return nil, protocol.CodeResourceNotFound
	}
	return u, protocol.Success
}

func (s *State) setUser(u *User) { s.view.users = s.view.users.Set(u.ID, u) }

// dropGrants lets without take what was granted for something that is gone out of every record.
func (s *State) dropGrants(without func(*Grants) *Grants) {
	for u := range s.view.Users() {
		if u.grants == nil {
			continue
		}
		if g := without(u.grants); g != u.grants {
			next := *u
			next.grants = g
			s.setUser(&next)
		}
	}
}
