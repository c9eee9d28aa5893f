package rawclient

import (
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
)

func TestDo_NumbersEachOperationClass(t *testing.T) {
	fs := startFake(t, func(_ int, r seen) []byte {
		op := r.header.Operation()
		if op.IsResultFramed() {
			return replyTo(r, 0, u32(0))
		}
		return replyTo(r, 0, nil)
	})
	c := dialFake(t, fs, Options{Client: protocol.Uint128{Lo: 9, Hi: 8}})
	c.session = 44
	steps := []struct {
		op      protocol.Operation
		code    protocol.CommandCode
		request uint64
		session uint64
	}{
		{protocol.OpRegister, 0, 0, 0},
		{protocol.OpNonReplicated, 1, 1, 44},
		{protocol.OpCreateStream, 202, 1, 44},
		{protocol.OpSendMessages, 101, 2, 44},
		{protocol.OpSendMessages, 101, 2, 44},
		{protocol.OpDeleteSegments, 503, 2, 44},
		{protocol.OpStoreConsumerOffset, 121, 3, 44},
		{protocol.OpJoinConsumerGroup, 604, 3, 44},
		{protocol.OpNonReplicated, 100, 4, 44},
		{protocol.OpLogout, 39, 4, 44},
		{protocol.OpDeleteStream, 203, 5, 44},
	}
	for _, s := range steps {
		if _, err := c.Do(s.op, s.code, []byte{1, 2}); err != nil {
			t.Fatalf("%s: %v", s.op, err)
		}
	}
	for i, r := range fs.requests() {
		s, h := steps[i], &r.header
		if h.Operation() != s.op || h.Request() != s.request || h.Session() != s.session {
			t.Errorf("step %d: sent %s request %d session %d, want %s %d %d",
				i, h.Operation(), h.Request(), h.Session(), s.op, s.request, s.session)
		}
		wantCode := uint32(0)
		if s.op == protocol.OpNonReplicated {
			wantCode = uint32(s.code)
		}
		if h.CommandCode() != wantCode || h.Common().Command() != protocol.CommandRequest ||
			h.Client() != (protocol.Uint128{Lo: 9, Hi: 8}) || len(r.body) != 2 {
			t.Errorf("step %d: code %d command %d client %s body %d",
				i, h.CommandCode(), h.Common().Command(), h.Client(), len(r.body))
		}
	}
}

var answerTests = []struct {
	name    string
	op      protocol.Operation
	answer  func(r seen) []byte
	channel Channel
	code    protocol.Code
	reason  protocol.EvictionReason
	breach  bool
	body    string
}{
	{name: "plain success", op: protocol.OpNonReplicated,
		answer: func(r seen) []byte { return replyTo(r, 0, []byte("pong")) }, body: "pong"},
	{name: "framed success loses its section", op: protocol.OpCreateStream,
		answer: func(r seen) []byte { return replyTo(r, 0, append(u32(0), "made"...)) }, body: "made"},
	{name: "section with code 0 is success", op: protocol.OpCreateStream,
		answer: func(r seen) []byte { return replyTo(r, 0, append(u32(1, 0, 0), "made"...)) }, body: "made"},
	{name: "send is not framed", op: protocol.OpSendMessages,
		answer: func(r seen) []byte { return replyTo(r, 0, u32(1, 5)) }, body: string(u32(1, 5))},
	{name: "denial", op: protocol.OpSendMessages,
		answer: func(r seen) []byte { return replyTo(r, 41, nil) }, channel: ChannelDenial, code: 41},
	{name: "committed rejection", op: protocol.OpCreateStream,
		answer: func(r seen) []byte { return replyTo(r, 0, u32(1, 0, 1012)) }, channel: ChannelResult, code: 1012},
	{name: "rejection under the rewritten operation", op: protocol.OpDeleteSegments,
		answer: func(r seen) []byte {
			r.header.SetOperation(protocol.OpTruncatePartition)
			return replyTo(r, 0, u32(1, 0, 58))
		}, channel: ChannelResult, code: 58},
	{name: "eviction", op: protocol.OpSendMessages,
		answer: func(seen) []byte { return evictionFrame(13) }, channel: ChannelEviction, reason: 13},
	{name: "eviction without reason", op: protocol.OpSendMessages,
		answer: func(seen) []byte { return evictionFrame(0) }, breach: true},
	{name: "denial with a body", op: protocol.OpSendMessages,
		answer: func(r seen) []byte { return replyTo(r, 41, []byte{1}) }, breach: true},
	{name: "framed reply without section", op: protocol.OpCreateStream,
		answer: func(r seen) []byte { return replyTo(r, 0, nil) }, breach: true},
	{name: "section shorter than its count", op: protocol.OpCreateStream,
		answer: func(r seen) []byte { return replyTo(r, 0, u32(2, 0, 58)) }, breach: true},
	{name: "section count that overflows", op: protocol.OpCreateStream,
		answer: func(r seen) []byte { return replyTo(r, 0, u32(0x20000000)) }, breach: true},
	{name: "reply of another operation", op: protocol.OpSendMessages,
		answer: func(r seen) []byte {
			r.header.SetOperation(protocol.OpStoreConsumerOffset)
			return replyTo(r, 0, u32(0))
		}, breach: true},
	{name: "reply of another number", op: protocol.OpSendMessages,
		answer: func(r seen) []byte {
			r.header.SetRequest(r.header.Request() + 1)
			return replyTo(r, 0, nil)
		}, breach: true},
	{name: "frame of another command", op: protocol.OpSendMessages,
		answer: func(r seen) []byte {
			f := replyTo(r, 0, nil)
			(*protocol.Header)(f).SetCommand(protocol.CommandPong)
			return f
		}, breach: true},
	{name: "size below a header", op: protocol.OpSendMessages,
		answer: func(r seen) []byte {
			f := replyTo(r, 0, nil)
			(*protocol.Header)(f).SetSize(255)
			return f
		}, breach: true},
	{name: "size beyond the limit", op: protocol.OpSendMessages,
		answer: func(r seen) []byte {
			f := replyTo(r, 0, nil)
			(*protocol.Header)(f).SetSize(protocol.MaxFrameSizeDefault + 1)
			return f
		}, breach: true},
}

func TestReceive_TellsErrorChannelsApart(t *testing.T) {
	for _, tt := range answerTests {
		t.Run(tt.name, func(t *testing.T) {
			fs := startFake(t, func(_ int, r seen) []byte { return tt.answer(r) })
			c := dialFake(t, fs, Options{})
			reply, err := c.Do(tt.op, 1, nil)
			var stated *Error
			var broken *ProtocolError
			switch {
			case tt.breach:
				if !errors.As(err, &broken) {
					t.Fatalf("got %v, want a protocol breach", err)
				}
			case tt.channel != 0:
				if !errors.As(err, &stated) || stated.Channel != tt.channel || stated.Code != tt.code ||
					stated.Reason != tt.reason || stated.Operation != tt.op {
					t.Fatalf("got %v, want %s %d reason %d", err, tt.channel, tt.code, tt.reason)
				}
			case err != nil || string(reply.Body) != tt.body:
				t.Fatalf("got %q, %v; want %q", reply.Body, err, tt.body)
			}
		})
	}
}

func TestReceive_PipelinedRepliesKeepOrder(t *testing.T) {
	const n = 1000
	var held []byte
	fs := startFake(t, func(i int, r seen) []byte {
		body := u32(1, 0, 0, 0, uint32(i), 0)
		held = append(held, replyTo(r, 0, body)...)
		if i%97 != 0 && i != n-1 {
			return nil
		}
		out := held
		held = nil
		return out
	})
	c := dialFake(t, fs, Options{})
	frame := c.AppendFrame(nil, protocol.OpSendMessages, 0, []byte("batch"))
	var block []byte
	for range 10 {
		block = append(block, frame...)
	}
	sent := make(chan error, 1)
	go func() {
		for range n / 10 {
			if err := c.SendFrames(block, 10); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range n {
		reply, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(reply.Body[16:]); got != uint32(i) {
			t.Fatalf("reply %d carries %d", i, got)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if c.InFlight() != 0 {
		t.Errorf("%d requests left in flight", c.InFlight())
	}
}

func TestReceive_SurplusFrameIsABreach(t *testing.T) {
	fs := startFake(t, func(_ int, r seen) []byte {
		f := replyTo(r, 0, nil)
		return append(f, f...)
	})
	c := dialFake(t, fs, Options{})
	if _, err := c.Do(protocol.OpNonReplicated, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(); !errors.As(err, new(*ProtocolError)) {
		t.Fatalf("got %v, want a protocol breach", err)
	}
}

func TestReceive_ClosedConnection(t *testing.T) {
	fs := startFake(t, func(_ int, r seen) []byte { return replyTo(r, 0, nil)[:100] })
	c := dialFake(t, fs, Options{Timeout: 50 * time.Millisecond})
	_, err := c.Do(protocol.OpNonReplicated, 1, nil)
	var ne interface{ Timeout() bool }
	if !errors.As(err, &ne) || !ne.Timeout() {
		t.Fatalf("half a header: got %v, want a timeout", err)
	}
}

func TestDo_CutReplyIsUnexpectedEOF(t *testing.T) {
	first, second := newPipe(t)
	c := NewConn(first, Options{})
	go func() {
		buf := make([]byte, protocol.HeaderSize)
		if _, err := io.ReadFull(second, buf); err == nil {
			second.Write(make([]byte, 10))
		}
		second.Close()
	}()
	if _, err := c.Do(protocol.OpNonReplicated, 1, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v, want unexpected EOF", err)
	}
}

func TestDo_RepeatsTransientAnswersUnchanged(t *testing.T) {
	fs := startFake(t, func(i int, r seen) []byte {
		switch i {
		case 0:
			return replyTo(r, 0, u32(1, 0, 58))
		case 1:
			return replyTo(r, 0, u32(1, 0, 57))
		}
		return replyTo(r, 0, u32(0))
	})
	c := dialFake(t, fs, Options{Retry: 5 * time.Second})
	if _, err := c.Do(protocol.OpCreateStream, 0, []byte("orders")); err != nil {
		t.Fatal(err)
	}
	got := fs.requests()
	if len(got) != 3 || got[0].header != got[1].header || got[1].header != got[2].header {
		t.Fatalf("%d requests, or they differ", len(got))
	}
	if c.NextRequest() != 2 {
		t.Errorf("next request %d, want 2", c.NextRequest())
	}
}

func TestFrameReader_LargeAndSmallFramesInTurn(t *testing.T) {
	sizes := []int{0, 200_000, 3, firstBuffer - protocol.HeaderSize, 1_048_576, 1}
	fs := startFake(t, func(_ int, r seen) []byte {
		var all []byte
		for i, n := range sizes {
			body := make([]byte, n)
			for j := range body {
				body[j] = byte(i + j)
			}
			all = append(all, replyTo(r, 0, body)...)
		}
		return all
	})
	c := dialFake(t, fs, Options{})
	frame := c.AppendFrame(nil, protocol.OpNonReplicated, 100, nil)
	c.waiting.push(protocol.OpNonReplicated, 1, len(sizes)-1)
	if err := c.SendFrame(frame); err != nil {
		t.Fatal(err)
	}
	for i, n := range sizes {
		reply, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Body) != n {
			t.Fatalf("reply %d has %d bytes, want %d", i, len(reply.Body), n)
		}
		for j, b := range reply.Body {
			if b != byte(i+j) {
				t.Fatalf("reply %d differs at %d", i, j)
			}
		}
	}
}
