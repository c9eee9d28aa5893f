package metadata

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// ClientsTableDefault is the capacity of the client table until an initial record says otherwise.
const ClientsTableDefault = 8192

// State is the owner's side of the metadata group. It implements vsr.StateMachine and vsr.Sessions.
type State struct {
	view      View   // what the next picture shows
	timestamp uint64 // of the newest applied operation
	published *View  // nil when view has moved on
	clients   clientTable
	changes   Changes
}

var (
	_ vsr.StateMachine = (*State)(nil)
	_ vsr.Sessions     = (*State)(nil)
)

// New returns the state before the first operation: nothing exists, and the client table has its default
// capacity.
func New() *State {
	return &State{clients: newClientTable(ClientsTableDefault)}
}

// View returns the picture after the newest applied operation. It is made at the first call after an
// operation and costs one small allocation; a host publishes it once a pass.
func (s *State) View() *View {
	if s.published == nil {
		v := s.view
		s.published = &v
	}
	return s.published
}

// ClientsTableMax returns the capacity of the client table that the cluster was created with. A node whose
// configuration differs must refuse to start.
func (s *State) ClientsTableMax() int { return s.clients.capacity }

// Timestamp returns that of the newest applied operation, microseconds; 0 before the first.
func (s *State) Timestamp() uint64 { return s.timestamp }

// SessionsCount returns the number of entries in the client table.
func (s *State) SessionsCount() int { return s.clients.count }

// operation is one committed operation while it is applied.
type operation struct {
	header *protocol.PrepareHeader
	number uint64
	now    uint64 // microseconds since the Unix epoch
	client protocol.Uint128
	user   uint32
	server bool // proposed by the server itself: no permission is asked for
}

// Mint implements vsr.StateMachine. It refuses, with 3, operations that are not of this group.
func (s *State) Mint(h *protocol.PrepareHeader, body vsr.Body) (protocol.Uint128, protocol.Code) {
	switch op := h.Operation(); {
	case op == protocol.OpRegister, op == protocol.OpLogout, op.IsMetadata() && s.handler(op) != nil:
		return protocol.Uint128From64(protocol.Hash64(body.Bytes)), protocol.Success
	}
	return protocol.Uint128{}, protocol.CodeInvalidCommand
}

// Unmint implements vsr.StateMachine. Minting changes nothing here.
func (s *State) Unmint(uint64) {}

// Apply implements vsr.StateMachine. It never holds. The reply body is a result section with the payload
// behind it; for Logout it is empty.
func (s *State) Apply(h *protocol.PrepareHeader, body vsr.Body, reply []byte) ([]byte, vsr.ApplyStatus) {
	o := operation{header: h, number: h.Op(), now: h.Timestamp(), client: h.Client(), user: h.UserID()}
	o.server = o.client.IsZero() || o.client == protocol.MaxUint128
	s.view.Revision, s.timestamp, s.published = o.number, o.now, nil
	if h.Operation() == protocol.OpLogout {
		s.logout(&o, body.Bytes)
		return reply, vsr.ApplyDone
	}
	start, code := len(reply), protocol.CodeInvalidCommand
	if apply := s.handler(h.Operation()); apply != nil {
		reply, code = apply(&o, body.Bytes, append(reply, 0, 0, 0, 0))
	}
	if code != protocol.Success {
		reply = protocol.AppendResult(reply[:start], code)
	}
	return reply, vsr.ApplyDone
}

// handler is a method that applies one kind of operation: it either changes the state and appends the
// payload of the reply, or changes nothing and returns a code.
type handler func(o *operation, body, reply []byte) ([]byte, protocol.Code)

func (s *State) handler(op protocol.Operation) handler {
	switch op {
	case protocol.OpRegister:
		return s.register
	case protocol.OpBootstrap:
		return s.bootstrap
	case protocol.OpCreateStream:
		return s.createStream
	case protocol.OpUpdateStream:
		return s.updateStream
	case protocol.OpDeleteStream:
		return s.deleteStream
	case protocol.OpPurgeStream:
		return s.purgeStream
	case protocol.OpCreateTopicWithAssignments:
		return s.createTopic
	case protocol.OpUpdateTopic:
		return s.updateTopic
	case protocol.OpDeleteTopic:
		return s.deleteTopic
	case protocol.OpPurgeTopic:
		return s.purgeTopic
	case protocol.OpCreatePartitionsWithAssignments:
		return s.createPartitions
	case protocol.OpDeletePartitions:
		return s.deletePartitions
	case protocol.OpTruncatePartition:
		return s.truncatePartition
	}
	return s.personalHandler(op)
}

// personalHandler is handler for users, tokens and consumer groups.
func (s *State) personalHandler(op protocol.Operation) handler {
	switch op {
	case protocol.OpCreateUser:
		return s.createUser
	case protocol.OpUpdateUser:
		return s.updateUser
	case protocol.OpDeleteUser:
		return s.deleteUser
	case protocol.OpChangePassword:
		return s.changePassword
	case protocol.OpUpdatePermissions:
		return s.updatePermissions
	case protocol.OpCreatePersonalAccessToken:
		return s.createToken
	case protocol.OpDeletePersonalAccessToken:
		return s.deleteToken
	case protocol.OpCreateConsumerGroup:
		return s.createGroup
	case protocol.OpDeleteConsumerGroup:
		return s.deleteGroup
	case protocol.OpJoinConsumerGroup:
		return s.joinGroup
	case protocol.OpLeaveConsumerGroup:
		return s.leaveGroup
	case protocol.OpRemoveConsumerGroupMember:
		return s.removeMember
	case protocol.OpCompleteConsumerGroupRevocation:
		return s.completeRevocation
	}
	return nil
}

// may reports whether the operation passes the gate of its command. What the server proposes passes. An
// operation that was proposed before its user id last became void for earlier sessions (deleted and given
// away again, deactivated, password changed by somebody else) does not: its session is gone.
func (s *State) may(o *operation, target Target) bool {
	if o.server {
		return true
	}
	u := s.view.UserByID(o.user)
	if u == nil || u.SessionsRevision > o.header.Commit() {
		return false
	}
	return s.view.Allowed(o.user, commandOf(o.header.Operation()), target)
}

// setStream stores a changed stream.
func (s *State) setStream(st *Stream) { s.view.streams = s.view.streams.Set(st.ID, st) }

// setTopic stores a changed topic of st, which it copies.
func (s *State) setTopic(st *Stream, t *Topic) *Stream {
	next := *st
	next.topics = st.topics.Set(t.ID, t)
	s.setStream(&next)
	return &next
}
