package metadata

import (
	"encoding/binary"
	"iter"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// Check implements vsr.Sessions. An accepted request gets the acting user of its session, whatever it
// carried. A client id that belongs to another user is refused with eviction 12.
func (s *State) Check(req *vsr.Request) vsr.Outcome {
	if req.Operation != protocol.OpRegister {
		return s.clients.check(req)
	}
	if c := s.clients.index[req.Client]; c != nil && c.user != req.UserID {
		return vsr.Outcome{Verdict: vsr.Evicted, Evict: protocol.EvictSessionError}
	}
	return vsr.Outcome{}
}

// Committed implements vsr.Sessions: it keeps the reply for a retry. The effects of Register and Logout on
// the table are part of Apply. A client that is no longer in the table gets its reply all the same; one
// that is still there after a Logout has a newer session, whose numbers a stale Logout must not touch.
func (s *State) Committed(h *protocol.PrepareHeader, frame []byte) {
	c := s.clients.index[h.Client()]
	if c == nil || len(frame) < protocol.HeaderSize || h.Operation() == protocol.OpLogout {
		return
	}
	if h.Operation() == protocol.OpRegister && (h.Op() != c.epoch || !succeeded(frame)) {
		return
	}
	s.clients.record(c, h, frame)
}

// Session is what the client table knows about one client.
type Session struct {
	Client    protocol.Uint128
	Epoch     uint64 // the fence: op of the latest Register
	User      uint32
	Watermark uint64 // highest committed request number
}

// Session returns the entry of a client; false without one.
func (s *State) Session(client protocol.Uint128) (Session, bool) {
	c := s.clients.index[client]
	if c == nil {
		return Session{}, false
	}
	return Session{c.id, c.epoch, c.user, c.watermark}, true
}

// AllSessions iterates over the client table in the order of slots. A host that becomes primary starts a
// clock for those that have memberships and does not hold their connections.
func (s *State) AllSessions() iter.Seq[Session] {
	return func(yield func(Session) bool) {
		for _, c := range s.clients.slots {
			if c != nil && !yield(Session{c.id, c.epoch, c.user, c.watermark}) {
				return
			}
		}
	}
}

// register opens a session, or a new epoch of one. The acting user is that of the header. The body holds
// the op at which the credentials were verified; when they have changed since, or the user is gone or
// inactive, the answer is 58, with which a client signs in again. An empty body means that they were
// verified at the commit point of the header.
func (s *State) register(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	verifiedAt := o.header.Commit()
	switch len(body) {
	case 0:
	case 8:
		verifiedAt = binary.LittleEndian.Uint64(body)
	default:
		return reply, protocol.CodeInvalidCommand
	}
	u := s.view.UserByID(o.user)
	c := s.clients.index[o.client]
	switch {
	case o.server:
		return reply, protocol.CodeInvalidCommand
	case u == nil, u.Status != UserActive, u.CredentialsRevision > verifiedAt:
		return reply, protocol.CodeTransientNotAccepted
	case c != nil && c.user != o.user:
		return reply, protocol.CodeUnauthenticated
	}
	if c != nil {
		s.changes.ended(EndedSession{c.id, c.epoch, c.user, protocol.EvictNoSession, true})
		c = s.clients.own(c)
	} else {
		if s.clients.full() {
			s.endSession(s.clients.oldest, protocol.EvictNoSession)
		}
		c = s.clients.add(o.client)
	}
	c.epoch, c.user = o.number, o.user
	s.clients.touch(c, o.number)
	return s.appendRegistered(reply, c), protocol.Success
}

func (s *State) appendRegistered(reply []byte, c *client) []byte {
	reply = binary.LittleEndian.AppendUint32(reply, c.user)
	reply = binary.LittleEndian.AppendUint64(reply, c.epoch)
	reply = binary.LittleEndian.AppendUint32(reply, protocol.Version)
	return protocol.AppendName(reply, protocol.ServerVersion)
}

// logout ends the session that the body names by its epoch; without a body whatever session the client
// has. One that is gone, or was opened again since, is left alone.
func (s *State) logout(o *operation, body []byte) {
	c := s.clients.index[o.client]
	if c == nil || len(body) != 0 && (len(body) != 8 || binary.LittleEndian.Uint64(body) != c.epoch) {
		return
	}
	s.endSession(c, 0)
}

// endSession takes a client out of the table and out of its groups.
func (s *State) endSession(c *client, reason protocol.EvictionReason) {
	s.clients.remove(c)
	s.leaveAll(c.id)
	s.changes.ended(EndedSession{c.id, c.epoch, c.user, reason, false})
}

// endSessionsOf ends all sessions of a user, in the order of slots.
func (s *State) endSessionsOf(user uint32, reason protocol.EvictionReason) {
	for _, c := range s.clients.slots {
		if c != nil && c.user == user {
			s.endSession(c, reason)
		}
	}
}

// bootstrap makes the first user and fixes the capacity of the client table. It is the first operation of
// a cluster; on a state that has users it changes nothing.
func (s *State) bootstrap(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	b, ok := DecodeBootstrap(body)
	if !ok || !o.server {
		return reply, protocol.CodeInvalidCommand
	}
	if s.view.UsersCount() > 0 {
		return reply, protocol.Success
	}
	s.clients.capacity = int(b.ClientsTableMax)
	s.setUser(&User{
		ID: RootUser, CreatedAt: rootCreatedAt, Status: UserActive, Name: b.RootName, PasswordHash: b.RootHash,
		SessionsRevision: o.number, CredentialsRevision: o.number, grants: &Grants{global: globalAll},
	})
	s.view.userNames = s.view.userNames.Set(b.RootName, RootUser)
	return reply, protocol.Success
}

// rootCreatedAt is when root was created, on every cluster.
const rootCreatedAt = 1
