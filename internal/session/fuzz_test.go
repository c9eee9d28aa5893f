package session

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// FuzzFrame sends any operation, command and body on a signed-in connection: each frame that can be delimited is
// answered by exactly one frame that names it, and the connection goes on.
func FuzzFrame(f *testing.F) {
	ref := at("s", "t")
	place := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}
	poll := fromFirst(ref, 0)
	poll.Count = 3
	for _, seed := range []struct {
		op   protocol.Operation
		code protocol.CommandCode
		body []byte
	}{
		{protocol.OpRegister, 0, signInBody(protocol.Version, rootName, rootName)},
		{protocol.OpLogout, 0, nil},
		{protocol.OpSendMessages, 0, sendBody(ref, to(0), 2, record("a", "b"))},
		{protocol.OpStoreConsumerOffset, 0, storeBody(place, 0, protocol.AckQuorum)},
		{protocol.OpDeleteConsumerOffset, 0, deleteBody(place, protocol.AckNone)},
		{protocol.OpNonReplicated, protocol.CmdMessagePoll, poll.Append(nil)},
		{protocol.OpNonReplicated, protocol.CmdConsumerOffsetGet, place.Append(nil)},
		{protocol.OpNonReplicated, protocol.CmdTopicGet, ref.Append(nil)},
		{protocol.OpNonReplicated, protocol.CmdSnapshot, []byte{2, 1, 100}},
		{protocol.OpNonReplicated, protocol.CmdStats, nil},
		{protocol.OpNonReplicated, protocol.CmdConsumerGroupSync, groupBody(ref, "g")},
		{protocol.OpCreateTopic, 0, topicBody("s", "t", 3, command.U64Option("segment_size", 1<<20))},
		{protocol.OpCreateUser, 0, userBody("bob", "secret")},
		{protocol.OpJoinConsumerGroup, 0, groupBody(ref, "g")},
		{protocol.OpDeleteSegments, 0, command.DeleteSegments{TopicRef: ref, Count: 1}.Append(nil)},
		{protocol.OpCreatePersonalAccessToken, 0, tokenBody("t", 0)},
		{70, 0, []byte("anything")},
	} {
		f.Add(uint8(seed.op), uint32(seed.code), false, seed.body)
		f.Add(uint8(seed.op), uint32(seed.code), true, seed.body)
	}
	r := openRig(f, setup{})
	r.group(r.topic("s", "t", 1), "g")
	r.newUser("worker", &command.Permissions{Global: command.GlobalPermissions{
		ManageStreams: true, ManageTopics: true, ReadServers: true, ReadUsers: true, PollMessages: true, SendMessages: true,
	}})
	f.Fuzz(func(t *testing.T, op uint8, code uint32, numbered bool, body []byte) {
		r := r.within(t)
		c := r.as("worker")
		frame := c.AppendFrame(nil, protocol.OpSendMessages, 0, body)
		h := (*protocol.RequestHeader)(frame)
		h.SetOperation(protocol.Operation(op))
		h.SetCommandCode(code)
		h.SetNumbered(numbered)
		if h.Operation() == protocol.OpRegister {
			h.SetSession(0)
			h.SetRequest(0)
		}
		answer := r.raw(c, frame)
		switch reply := (*protocol.ReplyHeader)(answer); reply.Common().Command() {
		case protocol.CommandReply:
			if reply.Request() != h.Request() || reply.Status() != protocol.Success && len(answer) != protocol.HeaderSize {
				t.Errorf("request %d, status %d, %d bytes", reply.Request(), reply.Status(), len(answer))
			}
		case protocol.CommandEviction:
			if !(*protocol.EvictionHeader)(answer).Check() {
				t.Errorf("eviction %x", answer)
			}
		default:
			t.Errorf("answered by command %d", reply.Common().Command())
		}
		c.must(c.Ping())
		_ = c.Close()
	})
}
