package metadata

import (
	"bytes"
	"errors"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/vsr"
	"pgregory.net/rapid"
)

// history drives one State through random operations, among names and ids that are few enough to meet.
type history struct {
	t *rapid.T
	g *group
}

func (h *history) number(what string, limit uint32) uint32 {
	return rapid.Uint32Range(0, limit).Draw(h.t, what)
}

func (h *history) ref(what string) protocol.Identifier {
	if rapid.Bool().Draw(h.t, what+" by name") {
		return protocol.NamedID(h.text(what))
	}
	return protocol.NumericID(h.number(what, 3))
}

func (h *history) text(what string) string {
	return rapid.SampledFrom([]string{"one", "two", "three", "four"}).Draw(h.t, what)
}

func (h *history) topic() command.TopicRef {
	return command.TopicRef{Stream: h.ref("stream"), Topic: h.ref("topic")}
}

func (h *history) groupRef() command.GroupRef {
	return command.GroupRef{TopicRef: h.topic(), Group: h.ref("group")}
}

func (h *history) permissions() *command.Permissions {
	if !rapid.Bool().Draw(h.t, "permissions") {
		return nil
	}
	p := &command.Permissions{Global: command.GlobalPermissions{ReadTopics: true, ManageUsers: rapid.Bool().Draw(h.t, "manage users")}}
	for range h.number("streams", 3) {
		s := command.StreamPermissions{Stream: h.number("stream", 3), ManageStream: true}
		for range h.number("topics", 2) {
			s.Topics = append(s.Topics, command.TopicPermissions{Topic: h.number("topic", 3), ReadTopic: true})
		}
		p.Streams = append(p.Streams, s)
	}
	return p
}

// request draws a client operation with a body that decodes.
func (h *history) request() (protocol.Operation, []byte) {
	name := []byte(h.text("name"))
	op := protocol.OpCreateStream + protocol.Operation(h.number("operation", 21))
	var b interface{ Append([]byte) []byte }
	switch op {
	case protocol.OpCreateStream:
		b = command.CreateStream{Name: name}
	case protocol.OpUpdateStream:
		b = command.UpdateStream{Stream: h.ref("stream"), Name: name}
	case protocol.OpDeleteStream, protocol.OpPurgeStream, protocol.OpDeleteUser:
		b = h.ref("target")
	case protocol.OpCreateTopic:
		b = command.CreateTopic{Stream: h.ref("stream"), PartitionsCount: h.number("count", 9), Name: name}
	case protocol.OpUpdateTopic:
		expiry := command.AppendOptions(nil, command.U64Option("message_expiry", uint64(h.number("expiry", 2))))
		b = command.UpdateTopic{TopicRef: h.topic(), Name: name, Options: expiry}
	case protocol.OpDeleteTopic, protocol.OpPurgeTopic:
		b = h.topic()
	case protocol.OpCreatePartitions, protocol.OpDeletePartitions:
		b = command.PartitionsChange{TopicRef: h.topic(), Count: 1 + h.number("count", 5)}
	case protocol.OpDeleteSegments:
		b = command.DeleteSegments{TopicRef: h.topic(), Partition: h.number("partition", 9), Count: h.number("count", 3)}
	case protocol.OpCreateConsumerGroup:
		b = command.CreateGroup{TopicRef: h.topic(), Name: name}
	case protocol.OpDeleteConsumerGroup, protocol.OpJoinConsumerGroup, protocol.OpLeaveConsumerGroup:
		b = h.groupRef()
	case protocol.OpCreateUser:
		b = command.CreateUser{Username: name, Password: []byte("secret"), Status: command.UserActive, Permissions: h.permissions()}
	case protocol.OpUpdateUser:
		b = command.UpdateUser{User: h.ref("user"), Username: name, Status: command.UserStatus(h.number("status", 2))}
	case protocol.OpChangePassword:
		b = command.ChangePassword{User: h.ref("user"), Current: []byte("secret"), New: []byte("another")}
	case protocol.OpUpdatePermissions:
		b = command.UpdatePermissions{User: h.ref("user"), Permissions: h.permissions()}
	case protocol.OpCreatePersonalAccessToken:
		b = command.CreateToken{Name: name, ExpiryMicros: uint64(h.number("expiry", 9))}
	case protocol.OpDeletePersonalAccessToken:
		return op, protocol.AppendName(nil, name)
	}
	return op, b.Append(nil)
}

// step runs one operation: mostly a request through admission, else something that only servers propose.
func (h *history) step() {
	g := h.g
	client := uint64(1 + h.number("client", 7))
	switch h.number("kind", 11) {
	case 0:
		g.users[id(client)] = h.number("user", 3)
		if g.s.Check(&vsr.Request{Client: id(client), Operation: protocol.OpRegister, UserID: g.users[id(client)]}).Verdict == vsr.Accepted {
			g.commit(id(client), g.users[id(client)], 0, protocol.OpRegister, nil)
		}
	case 1:
		g.commit(id(client), 0, ^uint64(0), protocol.OpLogout, AppendLogout(nil, uint64(h.number("session", uint32(g.op)))))
	case 2:
		m := RemoveMember{GroupRef{h.number("s", 3), h.number("t", 3), h.number("g", 3)}, id(client), ^uint64(0)}
		g.commit(protocol.MaxUint128, 0, 0, protocol.OpRemoveConsumerGroupMember, m.Append(nil))
	case 3, 4:
		for x := range g.s.View().Handovers() {
			c := CompleteRevocation{x.GroupRef, x.Partition, x.Source, x.Since}
			g.commit(protocol.MaxUint128, 0, 0, protocol.OpCompleteConsumerGroupRevocation, c.Append(nil))
			break
		}
	default:
		op, body := h.request()
		e := g.entry(client)
		e.Partitions = &shelf{sealed: 5, inFlight: []uint32{h.number("in flight", 9), 0, 1}}
		a, code := e.Admit(op, body)
		if code != protocol.Success {
			return
		}
		requested := &vsr.Request{Client: id(client), Session: g.session(client), Request: g.requests[id(client)] + 1, Operation: a.Operation}
		if g.s.Check(requested).Verdict == vsr.Accepted {
			g.users[id(client)] = requested.UserID
			g.replicated(id(client), a.Operation, a.Body)
		}
	}
}

func (g *group) session(client uint64) uint64 {
	if c := g.s.clients.index[id(client)]; c != nil {
		return c.epoch
	}
	return 0
}

// TestState_RandomHistories checks after every operation that what the state keeps in several forms agrees,
// and at the end that a replay of the log and a restart from a snapshot in its middle come to the same state.
func TestState_RandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := &recorder{}
		h := &history{rt, newRecordedGroup(rt, 5, log)}
		h.g.login(id(1), RootUser)
		steps := rapid.IntRange(1, 80).Draw(rt, "steps")
		var middle []byte
		var at int
		for i := range steps {
			h.step()
			checkState(rt, h.g.s)
			if i == steps/2 {
				middle, at = h.g.s.Snapshot(nil), len(log.headers)
			}
		}
		want := h.g.s.Snapshot(nil)
		again := New()
		for i := range log.headers {
			apply(again, &log.headers[i], log.bodies[i])
		}
		if again.Digest() != h.g.s.Digest() || !bytes.Equal(again.Snapshot(nil), want) {
			rt.Fatal("the same log came to another state")
		}
		restored, err := Restore(middle)
		if err != nil {
			rt.Fatal(err)
		}
		for i := at; i < len(log.headers); i++ {
			apply(restored, &log.headers[i], log.bodies[i])
		}
		if !bytes.Equal(restored.Snapshot(nil), want) {
			rt.Fatal("snapshot and the rest of the log came to another state")
		}
		checkRestores(rt, h.g.s)
	})
}

// TestApply_IsTotal applies random operations with random or damaged bodies, from clients and from servers.
func TestApply_IsTotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{rt, populated(rt)}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			op := protocol.Operation(rapid.Byte().Draw(rt, "operation"))
			body := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "body")
			if rapid.Bool().Draw(rt, "damaged") {
				var sound []byte
				op, sound = h.request()
				if a, code := h.g.entry(root).Admit(op, sound); code == protocol.Success {
					op, sound = a.Operation, bytes.Clone(a.Body)
				}
				if len(sound) > 0 {
					sound[rapid.IntRange(0, len(sound)-1).Draw(rt, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
				}
				body = sound
			}
			client := rapid.SampledFrom([]protocol.Uint128{id(root), id(plain), id(5), {}, protocol.MaxUint128}).Draw(rt, "client")
			reply := h.g.commit(client, h.g.users[client], uint64(h.number("request", 50))+1, op, body)
			if op != protocol.OpLogout && result(reply) == ^protocol.Code(0) {
				rt.Fatalf("%v: reply % x", op, reply)
			}
			checkState(rt, h.g.s)
		}
		checkRestores(rt, h.g.s)
	})
}

func FuzzApply(f *testing.F) {
	f.Add(byte(protocol.OpCreateStream), name("s"))
	f.Add(byte(protocol.OpCreateTopicWithAssignments), topicBody(num(0), "t", 2, opt("segment_size", 12, u64(1<<20))))
	f.Add(byte(protocol.OpCreateUser), userBody("bob", "$b", 1, grantsVector().append(nil)))
	f.Add(byte(protocol.OpJoinConsumerGroup), joinBody(num(0), num(0), num(0), id(root), 1, 2))
	f.Add(byte(protocol.OpCompleteConsumerGroupRevocation), CompleteRevocation{}.Append(nil))
	f.Add(byte(protocol.OpBootstrap), Bootstrap{8, "iggy", "$x"}.Append(nil))
	f.Fuzz(func(t *testing.T, op byte, body []byte) {
		for _, client := range []protocol.Uint128{id(root), protocol.MaxUint128} {
			g := populated(t)
			reply := g.commit(client, RootUser, 99, protocol.Operation(op), body)
			if protocol.Operation(op) != protocol.OpLogout && result(reply) == ^protocol.Code(0) {
				t.Fatalf("reply % x", reply)
			}
			checkState(t, g.s)
			if len(body) < 1<<16 {
				g.entry(root).Admit(protocol.Operation(op), body)
			}
		}
	})
}

// FuzzRestore hands in damaged snapshots with a valid checksum: they are refused or are canonical.
func FuzzRestore(f *testing.F) {
	g := populated(f)
	g.join(1)
	g.join(2, 0, 1, 2)
	f.Add(g.s.Snapshot(nil))
	f.Add(New().Snapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= snapshot.TrailerBytes {
			b = sealed(b[:len(b)-snapshot.TrailerBytes])
		}
		s, err := Restore(b)
		if err == nil && !bytes.Equal(s.Snapshot(nil), b) {
			t.Fatal("restored from a form that is not canonical")
		}
	})
}

func sealed(content []byte) []byte {
	return snapshot.AppendTrailer(bytes.Clone(content), 0)
}

func TestRestore_Refusals(t *testing.T) {
	g := populated(t)
	g.join(1)
	g.join(2, 0, 1, 2)
	good := g.s.Snapshot(nil)
	content := good[:len(good)-snapshot.TrailerBytes]
	with := func(at int, b ...byte) []byte {
		c := bytes.Clone(content)
		copy(c[at:], b)
		return sealed(c)
	}
	for _, c := range []struct {
		name     string
		snapshot []byte
		want     error
	}{
		{"bytes in the reserve", with(40, 1), ErrSnapshotNotCanonical},
		{"no capacity", with(24, 0, 0, 0, 0), ErrSnapshotContradicts},
		{"bytes behind the end", sealed(cat(content, []byte{0})), ErrSnapshotContradicts},
		{"a section cut", sealed(content[:len(content)-1]), ErrSnapshotTruncated},
		{"more users than there is room for", with(snapshot.HeaderBytes, 0xff, 0xff, 0xff, 0x7f), ErrSnapshotTruncated},
	} {
		var decode *snapshot.DecodeError
		if _, err := Restore(c.snapshot); !errors.Is(err, c.want) || !errors.As(err, &decode) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	var damaged *snapshot.ChecksumError
	if _, err := Restore(append(bytes.Clone(content[:70]), good[69:]...)); !errors.As(err, &damaged) {
		t.Errorf("a byte moved: %v", err)
	}
	for at := snapshot.HeaderBytes; at < len(content); at++ {
		if s, err := Restore(with(at, content[at]^1)); err == nil {
			checkRestores(t, s)
		}
	}
}
