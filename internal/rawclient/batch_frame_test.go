package rawclient

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func makeRecord(t interface{ Fatal(...any) }, messages, size int) []byte {
	b := batch.NewBuilder()
	for i := range messages {
		payload := []byte(strings.Repeat(string(rune('a'+i%26)), size))
		if err := b.Add(payload, nil, protocol.Uint128{Lo: uint64(i + 1)}, 1_000_000+uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	record, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), record...)
}

var (
	orders = command.TopicRef{Stream: protocol.NamedID("orders"), Topic: protocol.NumericID(1)}
	third  = protocol.Partitioning{Kind: protocol.PartitionByID, ID: 3}
)

func TestBatchFrame_RefreshSealsLikeThePackageBatch(t *testing.T) {
	c := NewConn(nil, Options{})
	rapid.Check(t, func(t *rapid.T) {
		record := makeRecord(t, rapid.IntRange(1, 300).Draw(t, "messages"), rapid.IntRange(1, 40).Draw(t, "size"))
		b, err := c.NewBatchFrame(orders, third, record)
		if err != nil {
			t.Fatal(err)
		}
		origin := rapid.Uint64().Draw(t, "origin")
		b.Refresh(origin)
		sent := b.Bytes()[len(b.Bytes())-len(record):]
		if code := batch.Verify(sent, uint32(b.Messages())); code != protocol.Success {
			t.Fatalf("refused with code %d", code)
		}
		if got := batch.OriginTimestamp(sent); got != origin {
			t.Fatalf("origin %d, want %d", got, origin)
		}
	})
}

func TestBatchFrame_SealedPartCoversEveryChange(t *testing.T) {
	c := NewConn(nil, Options{})
	b, err := c.NewBatchFrame(orders, third, makeRecord(t, 5, 10))
	if err != nil {
		t.Fatal(err)
	}
	before := append([]byte(nil), b.Bytes()...)
	b.Refresh(77)
	at, part := b.SealedPart()
	copy(before[at:], part)
	if string(before) != string(b.Bytes()) {
		t.Error("a copy that follows the sealed part differs from the frame")
	}
}

func TestNewBatchFrame_RefusesDamage(t *testing.T) {
	c := NewConn(nil, Options{})
	record := makeRecord(t, 2, 10)
	record[len(record)-1]++
	if _, err := c.NewBatchFrame(orders, third, record); err == nil {
		t.Error("a damaged record was framed")
	}
	if _, err := c.NewBatchFrame(orders, third, record[:100]); err == nil {
		t.Error("half a header was framed")
	}
}

func TestSendBatch_ConfirmationAndNumbers(t *testing.T) {
	fs := startFake(t, func(i int, r seen) []byte {
		switch i {
		case 1:
			return replyTo(r, 0, u32(0)) // committed, offsets unknown
		case 2:
			return replyTo(r, 58, nil)
		case 3:
			return replyTo(r, 0, u32(2, 1, 1, 3))
		}
		return replyTo(r, 0, append(u32(1, 1, 2, 3), binary.LittleEndian.AppendUint64(nil, 100)...))
	})
	c := dialFake(t, fs, Options{})
	b, err := c.NewBatchFrame(orders, third, makeRecord(t, 3, 10))
	if err != nil {
		t.Fatal(err)
	}
	c.session, c.number = 44, 9
	if got, err := c.SendBatch(b); err != nil || got != (Confirmation{command.Confirmation{Stream: 1, Topic: 2, Partition: 3, BaseOffset: 100}, true}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := c.SendBatch(b); err != nil || got.Known {
		t.Errorf("got %+v, %v; want a confirmation without offset", got, err)
	}
	if _, err := c.SendBatch(b); !isTransient(err) {
		t.Errorf("got %v, want 58", err)
	}
	if _, err := c.SendBatch(b); err == nil {
		t.Error("a confirmation of the wrong length was taken")
	}
	for i, r := range fs.requests() {
		if r.header.Session() != 44 || r.header.Request() != 9 || r.header.Operation() != protocol.OpSendMessages {
			t.Errorf("send %d: session %d request %d", i, r.header.Session(), r.header.Request())
		}
	}
}

func TestHotPaths_AllocateNothing(t *testing.T) {
	confirmed := append(u32(1, 1, 2, 3), make([]byte, 8)...)
	polled := append(u32(3, 9, 0, 2), makeRecord(t, 2, 100)...)
	near, far := newPipe(t)
	go answerFixed(far, map[protocol.Operation][]byte{
		protocol.OpSendMessages: confirmed, protocol.OpNonReplicated: polled,
	})
	c := NewConn(near, Options{Timeout: -1})
	b, err := c.NewBatchFrame(orders, third, makeRecord(t, 200, 100))
	if err != nil {
		t.Fatal(err)
	}
	p := c.NewPollFrame(command.PollMessages{
		Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle}, TopicRef: orders, Partition: 3, HasPartition: true,
		Strategy: command.FromOffset, Count: 10,
	})
	if got := testing.AllocsPerRun(50, func() {
		b.Refresh(5)
		if _, err := c.SendBatch(b); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("a send allocates %v times", got)
	}
	if got := testing.AllocsPerRun(50, func() {
		p.SetOffset(7)
		if reply, err := c.PollFrame(p); err != nil || reply.Count != 2 {
			t.Fatal(reply.Count, err)
		}
	}); got != 0 {
		t.Errorf("a poll allocates %v times", got)
	}
}

// answerFixed answers every request with the same frame for its operation, without allocating.
func answerFixed(nc net.Conn, bodies map[protocol.Operation][]byte) {
	var r seen
	body := make([]byte, 1<<20)
	frames := map[protocol.Operation][]byte{}
	for {
		if _, err := io.ReadFull(nc, r.header[:]); err != nil {
			return
		}
		if _, err := io.ReadFull(nc, body[:r.header.Common().Size()-protocol.HeaderSize]); err != nil {
			return
		}
		op := r.header.Operation()
		if frames[op] == nil {
			frames[op] = replyTo(r, 0, bodies[op])
		}
		if _, err := nc.Write(frames[op]); err != nil {
			return
		}
	}
}
