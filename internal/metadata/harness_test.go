package metadata

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
	"pgregory.net/rapid"
)

// group drives a State as a primary of a group of one does: one operation at a time, each with its reply
// recorded.
type group struct {
	t        rapid.TB
	s        *State
	op       uint64
	now      uint64
	requests map[protocol.Uint128]uint64
	users    map[protocol.Uint128]uint32
	record   *recorder // nil: nobody wants the log
}

// recorder keeps the log.
type recorder struct {
	headers []protocol.PrepareHeader
	bodies  [][]byte
}

const startOfTime = 1_767_225_600_000_000

func newGroupOfOne(t rapid.TB, capacity uint32) *group {
	return newRecordedGroup(t, capacity, nil)
}

func newRecordedGroup(t rapid.TB, capacity uint32, record *recorder) *group {
	g := &group{t: t, s: New(), now: startOfTime, record: record,
		requests: map[protocol.Uint128]uint64{}, users: map[protocol.Uint128]uint32{}}
	g.server(protocol.OpBootstrap, Bootstrap{ClientsTableMax: capacity, RootName: "iggy", RootHash: "$root"}.Append(nil), 0)
	return g
}

func id(n uint64) protocol.Uint128 { return protocol.Uint128From64(n) }

// commit applies one operation and records its reply. It returns the reply body.
func (g *group) commit(client protocol.Uint128, user uint32, request uint64, op protocol.Operation, body []byte) []byte {
	g.op++
	g.now++
	var h protocol.PrepareHeader
	h.Common().SetCommand(protocol.CommandPrepare)
	h.Common().SetSize(uint32(protocol.HeaderSize + len(body)))
	h.SetClient(client)
	h.SetUserID(user)
	h.SetRequest(request)
	h.SetOperation(op)
	h.SetOp(g.op)
	h.SetCommit(g.op - 1)
	h.SetTimestamp(g.now)
	h.SetRequestChecksum(g.checksum(body))
	if g.record != nil {
		g.record.headers = append(g.record.headers, h)
		g.record.bodies = append(g.record.bodies, body)
	}
	return apply(g.s, &h, body)
}

// apply does what a replica does with a committed operation.
func apply(s *State, h *protocol.PrepareHeader, body []byte) []byte {
	frame, _ := s.Apply(h, vsr.Body{Bytes: body}, make([]byte, protocol.HeaderSize))
	replyHeader(frame).SetCommitted(h, len(frame)-protocol.HeaderSize)
	s.Committed(h, frame)
	return frame[protocol.HeaderSize:]
}

func (g *group) checksum(body []byte) protocol.Uint128 {
	return protocol.Uint128From64(uint64(len(body)) + 1)
}

// login registers a client and returns its epoch.
func (g *group) login(client protocol.Uint128, user uint32) uint64 {
	g.t.Helper()
	reply := g.commit(client, user, 0, protocol.OpRegister, nil)
	if code := result(reply); code != protocol.Success {
		g.t.Fatalf("login of client %v as user %d: %d", client, user, code)
	}
	g.users[client] = user
	return binary.LittleEndian.Uint64(reply[8:])
}

// replicated runs an operation, in the form in which it is replicated, for a client that is signed in.
func (g *group) replicated(client protocol.Uint128, op protocol.Operation, body []byte) ([]byte, protocol.Code) {
	g.requests[client]++
	reply := g.commit(client, g.users[client], g.requests[client], op, body)
	return payload(reply), result(reply)
}

// server runs an operation that the server proposes and wants that code.
func (g *group) server(op protocol.Operation, body []byte, want protocol.Code) []byte {
	g.t.Helper()
	reply := g.commit(protocol.MaxUint128, 0, 0, op, body)
	if code := result(reply); code != want {
		g.t.Fatalf("%v: code %d, want %d", op, code, want)
	}
	return payload(reply)
}

// request builds what a client sends, for Check.
func (g *group) request(client protocol.Uint128, session, number uint64, checksum uint64) *vsr.Request {
	return &vsr.Request{Client: client, Session: session, Request: number, Operation: protocol.OpCreateStream,
		RequestChecksum: protocol.Uint128From64(checksum), UserID: 99}
}

// result reads the result section of a reply.
func result(reply []byte) protocol.Code {
	if len(reply) == 12 && binary.LittleEndian.Uint32(reply) == 1 && binary.LittleEndian.Uint32(reply[4:]) == 0 {
		return protocol.Code(binary.LittleEndian.Uint32(reply[8:]))
	}
	if len(reply) >= 4 && binary.LittleEndian.Uint32(reply) == 0 {
		return protocol.Success
	}
	return ^protocol.Code(0)
}

func payload(reply []byte) []byte {
	if result(reply) != protocol.Success {
		return nil
	}
	return reply[4:]
}
