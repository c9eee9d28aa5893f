package acceptance

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

var flips = flag.Int("flips", 1200, "number of frames with random bits changed")

// patience bounds how long any single answer may take, on a machine that is busy with other things.
const patience = 5 * time.Second

// raw opens a connection without a protocol.
func raw(t *testing.T, s *process.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// closed demands that the server closes the connection without another byte.
func closed(t *testing.T, what string, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	got, err := io.ReadAll(conn)
	var timeout net.Error
	if len(got) > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("%s: %d bytes, %v; want a closed connection", what, len(got), err)
	}
}

func header(size uint32) []byte {
	var h protocol.RequestHeader
	h.Common().SetSize(size)
	h.Common().SetCommand(protocol.CommandRequest)
	h.SetClient(protocol.Uint128From64(7))
	h.SetOperation(protocol.OpNonReplicated)
	h.SetCommandCode(uint32(protocol.CmdPing))
	return h[:]
}

func TestFrames_ThatCannotBeDelimitedCloseTheConnection(t *testing.T) {
	s, _ := drive.Fresh(t)
	w := drive.Watch(t, s)
	for _, size := range []uint32{0, 1, 48, 255, protocol.MaxFrameSizeDefault + 1, math.MaxInt32, math.MaxUint32} {
		conn := raw(t, s)
		if _, err := conn.Write(header(size)); err != nil {
			t.Fatal(err)
		}
		closed(t, fmt.Sprint("size ", size), conn)
	}
	for _, cut := range []int{0, 1, 52, 255} {
		conn := raw(t, s)
		if _, err := conn.Write(header(256)[:cut]); err != nil {
			t.Fatal(err)
		}
		_ = conn.CloseWrite()
		closed(t, fmt.Sprint("cut at ", cut), conn)
	}
	conn := raw(t, s)
	if _, err := conn.Write(header(1000)); err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseWrite()
	closed(t, "a body that never comes", conn)
	w.End(patience)
}

func TestFrames_LargestAndOneMore(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	send := func(payload int) error {
		_, err := c.SendMessages(topic.TopicRef, drive.To(0), drive.Record(string(make([]byte, payload))))
		return err
	}
	envelope := protocol.HeaderSize + len(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0)}.Append(nil)) + len(drive.Record(""))
	c.Must(send(protocol.MaxFrameSizeDefault - envelope))
	if got := c.All(topic.TopicRef, 0); len(got) != 1 || len(got[0].Payload) != protocol.MaxFrameSizeDefault-envelope {
		t.Errorf("%d messages come back", len(got))
	}
	if err := send(protocol.MaxFrameSizeDefault - envelope + 1); err == nil {
		t.Error("a frame of 64 MiB and one byte is accepted")
	}
}

func TestFrames_WrongHeadersAreDeniedAndTheConnectionGoesOn(t *testing.T) {
	s, c := drive.Fresh(t)
	w := drive.Watch(t, s)
	invalid := drive.Denied(protocol.CodeInvalidCommand)
	valid := func() *protocol.RequestHeader {
		h := protocol.RequestHeader(header(protocol.HeaderSize))
		h.SetClient(c.Client())
		h.SetSession(c.Session())
		h.SetRequest(c.NextRequest())
		return &h
	}
	ask := func(what string, want drive.Answer, change func(h *protocol.RequestHeader), body ...byte) {
		t.Helper()
		h := valid()
		change(h)
		h.Common().SetSize(uint32(protocol.HeaderSize + len(body)))
		_, err := c.Exchange(append(h[:], body...))
		drive.Want(t, what, err, want)
	}
	for command := range 256 {
		if protocol.Command(command) != protocol.CommandRequest {
			ask(fmt.Sprint("command ", command), invalid, func(h *protocol.RequestHeader) { h.Common().SetCommand(protocol.Command(command)) }, 1, 2, 3)
		}
	}
	for op := range 256 {
		if o := protocol.Operation(op); !o.IsKnown() || o.IsInternal() {
			ask(fmt.Sprint("operation ", op), invalid, func(h *protocol.RequestHeader) { h.SetOperation(o) }, 9)
		}
	}
	create := func(h *protocol.RequestHeader) { h.SetOperation(protocol.OpCreateStream) }
	register := func(h *protocol.RequestHeader) { h.SetOperation(protocol.OpRegister); h.SetSession(0); h.SetRequest(0) }
	with := func(base, more func(h *protocol.RequestHeader)) func(h *protocol.RequestHeader) {
		return func(h *protocol.RequestHeader) { base(h); more(h) }
	}
	for _, x := range []struct {
		name   string
		change func(h *protocol.RequestHeader)
	}{
		{"client 0", func(h *protocol.RequestHeader) { h.SetClient(protocol.Uint128{}) }},
		{"sign-in with a session", with(register, func(h *protocol.RequestHeader) { h.SetSession(1) })},
		{"sign-in with a request number", with(register, func(h *protocol.RequestHeader) { h.SetRequest(1) })},
		{"write without a session", with(create, func(h *protocol.RequestHeader) { h.SetSession(0) })},
		{"write with request 0", with(create, func(h *protocol.RequestHeader) { h.SetRequest(0) })},
		{"logout with request 0", func(h *protocol.RequestHeader) { h.SetOperation(protocol.OpLogout); h.SetRequest(0) }},
		{"segment deletion with request 0", func(h *protocol.RequestHeader) { h.SetOperation(protocol.OpDeleteSegments); h.SetRequest(0) }},
	} {
		ask(x.name, invalid, x.change)
	}
	ask("request checksum of another body", drive.Denied(protocol.CodeInvalidFormat),
		func(h *protocol.RequestHeader) { h.SetRequestChecksum(protocol.Uint128From64(99)) }, 1)
	ask("high half of the request checksum", drive.Denied(protocol.CodeInvalidFormat), func(h *protocol.RequestHeader) {
		h.SetRequestChecksum(protocol.Uint128{Lo: protocol.Hash64([]byte{1}), Hi: 1})
	}, 1)
	ask("right request checksum", drive.OK, func(h *protocol.RequestHeader) {
		h.SetRequestChecksum(protocol.Uint128From64(protocol.Hash64([]byte{1})))
	}, 1)
	ask("a foreign client, session and user in a read", drive.OK, func(h *protocol.RequestHeader) {
		h.SetClient(protocol.Uint128From64(5))
		h.SetSession(math.MaxUint64)
		h.SetUserID(77)
	})
	c.NewStream("the session survived")
	w.End(patience)
}

// Frames of every kind with random bits changed: each is answered or closes its connection, and nobody else
// notices.
func TestFrames_BitFlips(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	s, root := drive.Fresh(t)
	topic := root.NewTopic("orders", "events", 1)
	newGroup(root, topic, "workers")
	w := drive.Watch(t, s)
	c := drive.Root(t, s)
	send := append(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: 3}.Append(nil), drive.Record("a", "b", "c")...)
	frames := func() [][]byte {
		return [][]byte{
			c.AppendFrame(nil, protocol.OpSendMessages, 0, send),
			c.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdMessagePoll, drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 10).Append(nil)),
			c.AppendFrame(nil, protocol.OpStoreConsumerOffset, 0, command.StoreOffset{OffsetRef: drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0)}.Append(nil)),
			c.AppendFrame(nil, protocol.OpCreateTopic, 0, topicBody(topic.Stream, "t", 1, command.U64Option("segment_size", mib))),
			c.AppendFrame(nil, protocol.OpJoinConsumerGroup, 0, command.GroupRef{TopicRef: topic.TopicRef, Group: named("workers")}.Append(nil)),
			c.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdTopicGet, topic.TopicRef.Append(nil)),
		}
	}
	for n := range *flips {
		kinds := frames()
		frame := kinds[n%len(kinds)]
		for range 1 + rng.IntN(4) {
			frame[rng.IntN(len(frame))] ^= 1 << rng.IntN(8)
		}
		if !answered(t, c, frame, uint32(len(frame))) {
			c = drive.Root(t, s)
		}
	}
	w.End(patience)
	root.Must(root.Ping())
}

// answered writes a frame that may be wrong anywhere and demands an answer or, where the frame cannot be
// delimited or the session ended, a closed connection. False means that the client has to begin anew.
func answered(t *testing.T, c *drive.Client, frame []byte, sent uint32) bool {
	t.Helper()
	conn := c.NetConn().(*net.TCPConn)
	if _, err := conn.Write(frame); err != nil {
		return false
	}
	size := (*protocol.RequestHeader)(frame).Common().Size()
	if size != sent {
		_ = conn.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	var h protocol.ReplyHeader
	_, err := io.ReadFull(conn, h[:])
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatalf("no answer to a frame of %d bytes that says %d: %x", sent, size, frame[:protocol.HeaderSize])
	}
	if err != nil {
		if size == sent {
			t.Fatalf("the connection is closed (%v) over a frame that can be delimited: %x", err, frame[:protocol.HeaderSize])
		}
		return false
	}
	if h.Common().Command() == protocol.CommandEviction {
		return false
	}
	if _, err := io.CopyN(io.Discard, conn, int64(h.Common().Size())-protocol.HeaderSize); err != nil {
		t.Fatalf("the body of an answer: %v", err)
	}
	return size == sent
}
