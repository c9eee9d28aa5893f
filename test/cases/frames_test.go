package cases

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

// sample is a valid request whose body the sweep spoils.
type sample struct {
	name string
	op   protocol.Operation
	code protocol.CommandCode
	body []byte
}

// samples has a request with a body of every command that has one. None of them, nor any spoiled form, names
// something that the sweep needs.
func samples() []sample {
	topic := command.TopicRef{Stream: named("stream"), Topic: numbered(0)}
	group := command.GroupRef{TopicRef: topic, Group: named("group")}
	offset := drive.OffsetOf(drive.Consumer(1), topic, 0)
	permissions := &command.Permissions{Global: command.GlobalPermissions{ReadStreams: true}, Streams: []command.StreamPermissions{
		{Stream: 1, ReadStream: true, Topics: []command.TopicPermissions{{Topic: 1, PollMessages: true}, {Topic: 2}}}, {Stream: 2},
	}}
	user := named("missing user")
	option := command.AppendOptions(nil, command.U64Option("segment_size", mib), command.StringOption("message_expiry", "1 day"))
	record := drive.Record("first", "second")
	send := append(command.SendMessages{TopicRef: topic, Partitioning: protocol.Partitioning{Kind: protocol.PartitionByKey, Key: []byte("key")}, MessagesCount: 2}.Append(nil), record...)
	write := func(op protocol.Operation, body []byte) sample { return sample{op.String(), op, 0, body} }
	read := func(code protocol.CommandCode, body []byte) sample {
		return sample{code.String(), protocol.OpNonReplicated, code, body}
	}
	return []sample{
		write(protocol.OpCreateStream, command.CreateStream{Name: []byte("stream")}.Append(nil)),
		write(protocol.OpUpdateStream, command.UpdateStream{Stream: named("none"), Name: []byte("other")}.Append(nil)),
		write(protocol.OpDeleteStream, named("none").Append(nil)),
		write(protocol.OpPurgeStream, named("none").Append(nil)),
		write(protocol.OpCreateTopic, command.CreateTopic{Stream: named("none"), PartitionsCount: 3, Name: []byte("topic"), Options: option}.Append(nil)),
		write(protocol.OpUpdateTopic, command.UpdateTopic{TopicRef: command.TopicRef{Stream: named("none")}, Name: []byte("topic"), Options: option}.Append(nil)),
		write(protocol.OpDeleteTopic, command.TopicRef{Stream: named("none"), Topic: numbered(9)}.Append(nil)),
		write(protocol.OpPurgeTopic, command.TopicRef{Stream: named("none"), Topic: numbered(9)}.Append(nil)),
		write(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: topic, Count: 1}.Append(nil)),
		write(protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: topic, Count: 1}.Append(nil)),
		write(protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: topic, Count: 1}.Append(nil)),
		write(protocol.OpCreateConsumerGroup, command.CreateGroup{TopicRef: topic, Name: []byte("group")}.Append(nil)),
		write(protocol.OpDeleteConsumerGroup, group.Append(nil)),
		write(protocol.OpJoinConsumerGroup, group.Append(nil)),
		write(protocol.OpLeaveConsumerGroup, group.Append(nil)),
		write(protocol.OpCreateUser, command.CreateUser{Username: []byte("ab"), Password: []byte("pw"), Status: command.UserActive, Permissions: permissions}.Append(nil)),
		write(protocol.OpUpdateUser, command.UpdateUser{User: user, Username: []byte("other"), Status: command.UserInactive}.Append(nil)),
		write(protocol.OpDeleteUser, user.Append(nil)),
		write(protocol.OpChangePassword, command.ChangePassword{User: user, Current: []byte("a"), New: []byte("b")}.Append(nil)),
		write(protocol.OpUpdatePermissions, command.UpdatePermissions{User: user, Permissions: permissions}.Append(nil)),
		write(protocol.OpCreatePersonalAccessToken, command.CreateToken{Name: []byte("token"), ExpiryMicros: 1}.Append(nil)),
		write(protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "token")),
		write(protocol.OpSendMessages, send),
		write(protocol.OpStoreConsumerOffset, command.StoreOffset{OffsetRef: offset, Ack: protocol.AckQuorum}.Append(nil)),
		write(protocol.OpDeleteConsumerOffset, command.DeleteOffset{OffsetRef: offset, Ack: protocol.AckQuorum}.Append(nil)),
		read(protocol.CmdMessagePoll, drive.Poll(topic, 0, command.FromFirst, 0, 10).Append(nil)),
		read(protocol.CmdMessageFlushUnsavedBuffer, command.Flush{TopicRef: topic, Fsync: false}.Append(nil)),
		read(protocol.CmdConsumerOffsetGet, offset.Append(nil)),
		read(protocol.CmdStreamGet, named("stream").Append(nil)),
		read(protocol.CmdTopicGet, topic.Append(nil)),
		read(protocol.CmdTopicList, named("stream").Append(nil)),
		read(protocol.CmdConsumerGroupGet, group.Append(nil)),
		read(protocol.CmdConsumerGroupList, topic.Append(nil)),
		read(protocol.CmdConsumerGroupSync, group.Append(nil)),
		read(protocol.CmdUserGet, user.Append(nil)),
		read(protocol.CmdClientGet, []byte{1, 0, 0, 0}),
		read(protocol.CmdOptionsDescribe, []byte{1}),
		read(protocol.CmdSnapshot, []byte{1, 1, 4}),
	}
}

// sweep asks with spoiled bodies over one connection and demands an answer to each.
type sweep struct {
	t *testing.T
	c *drive.Client
	n int
}

// ask makes a request and returns CodeInvalidCommand when it was refused as undecodable, else Success.
func (s *sweep) ask(x sample, body []byte) protocol.Code {
	s.t.Helper()
	s.n++
	_, err := s.c.Exchange(s.c.AppendFrame(nil, x.op, x.code, body))
	var timeout net.Error
	answer, answered := drive.AnswerOf(err)
	if !answered || errors.As(err, &timeout) {
		s.t.Fatalf("%s with the body %x: no answer: %v", x.name, body, err)
	}
	if answer == drive.Denied(protocol.CodeError) || answer == drive.Rejected(protocol.CodeError) {
		s.t.Errorf("%s with the body %x: an error without a meaning", x.name, body)
	}
	if answer == drive.Denied(protocol.CodeInvalidCommand) {
		return protocol.CodeInvalidCommand
	}
	return protocol.Success
}

// IGGY-2741: for every command, a body cut at each byte, every length field set to what it must not be, and
// bytes behind the end: always an answer, never a dead server, and nobody else notices.
func TestFrames_TruncatedOrCorruptBodiesAreAnswered(t *testing.T) {
	s, c := drive.Alone(t)
	c.NewTopic("stream", "topic", 1)
	w := drive.Watch(t, s)
	sw := &sweep{t: t, c: drive.Root(t, s)}
	for _, x := range samples() {
		for cut := range len(x.body) {
			code := sw.ask(x, x.body[:cut])
			if cut < 2 && code != protocol.CodeInvalidCommand {
				t.Errorf("%s with a body of %d bytes is not refused as undecodable", x.name, cut)
			}
		}
		for at := range x.body {
			for _, v := range []byte{0, 1, x.body[at] - 1, x.body[at] + 1, 0x7f, 0x80, 0xff} {
				body := append([]byte(nil), x.body...)
				body[at] = v
				sw.ask(x, body)
			}
		}
		for at := 0; at+4 <= len(x.body); at++ {
			for _, v := range []uint32{0, 1, uint32(len(x.body)), uint32(len(x.body)) + 1, math.MaxInt32, math.MaxUint32} {
				body := append([]byte(nil), x.body...)
				binary.LittleEndian.PutUint32(body[at:], v)
				sw.ask(x, body)
			}
		}
		sw.ask(x, append(append([]byte(nil), x.body...), 0, 1, 2))
		sw.ask(x, make([]byte, 100_000))
	}
	t.Logf("%d requests", sw.n)
	w.End(5 * time.Second)
	c.Must(c.Ping())
	if peak := s.PeakResidentBytes(); peak > 400*mib {
		t.Errorf("the server used %d MiB of memory", peak>>20)
	}
	s.Crash()
	drive.Root(t, s).NewStream("what was committed can be replayed")
}

// IGGY-2741, at the level of frames: the size field and the end of the stream at every byte.
func TestFrames_CutAnywhereCloseOnlyTheirConnection(t *testing.T) {
	s, c := drive.Alone(t)
	w := drive.Watch(t, s)
	frame := c.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdStreamGet, named("stream").Append(nil))
	for cut := 1; cut < len(frame); cut += 3 {
		conn, err := net.Dial("tcp", s.Addr())
		c.Must(err)
		_, err = conn.Write(frame[:cut])
		c.Must(err)
		c.Must(conn.(*net.TCPConn).CloseWrite())
		c.Must(conn.SetReadDeadline(time.Now().Add(5 * time.Second)))
		if got, err := io.ReadAll(conn); len(got) > 0 || err != nil {
			t.Errorf("cut at %d: %d bytes, %v; want a closed connection", cut, len(got), err)
		}
		c.Must(conn.Close())
	}
	w.End(5 * time.Second)
	drive.Want(t, fmt.Sprint("the whole frame, ", len(frame)), func() error { _, err := c.Exchange(frame); return err }(), drive.OK)
}
