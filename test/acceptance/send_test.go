package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

func TestSend_ConfirmationsNameThePlaceAndAdvance(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 3)
	next := uint64(0)
	for n := 1; n <= 5; n++ {
		got, err := c.SendMessages(ref(named("orders"), named("events")), drive.To(2), drive.Record(drive.Payloads("m", n)...))
		c.Must(err)
		want := command.Confirmation{Stream: topic.StreamID, Topic: topic.ID, Partition: 2, BaseOffset: next}
		if !got.Known || got.Confirmation != want {
			t.Errorf("confirmation %+v; want %+v", got, want)
		}
		next += uint64(n)
	}
	drive.Check(t, "messages", len(c.All(topic.TopicRef, 2)), int(next))
	drive.Check(t, "messages beside it", len(c.All(topic.TopicRef, 0)), 0)
	s.Restart()
	drive.Check(t, "base offset after a restart", drive.Root(t, s).Send(topic.TopicRef, 2, "x"), next)
}

func TestSend_BalancedAndKeyedPartitions(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 3)
	var turns []uint32
	for range 6 {
		got, err := c.SendMessages(topic.TopicRef, protocol.Partitioning{Kind: protocol.PartitionBalanced}, drive.Record("x"))
		c.Must(err)
		turns = append(turns, got.Partition)
	}
	if !slices.Equal(turns, []uint32{0, 1, 2, 0, 1, 2}) {
		t.Errorf("balanced sends went to %v", turns)
	}
	for _, key := range []string{"a", "order-17", strings.Repeat("k", 255)} {
		for range 2 {
			got, err := c.SendMessages(topic.TopicRef, protocol.Partitioning{Kind: protocol.PartitionByKey, Key: []byte(key)}, drive.Record("x"))
			c.Must(err)
			drive.Check(t, "partition of key "+key[:1], got.Partition, protocol.Hash32([]byte(key))%3)
		}
	}
}

// userHeaders has one header of every kind, under keys of two kinds.
func userHeaders() []byte {
	var block []byte
	for kind, size := range map[uint8]int{1: 255, 2: 5, 3: 1, 4: 1, 5: 2, 6: 4, 7: 8, 8: 16, 9: 1, 10: 2, 11: 4, 12: 8, 13: 16, 14: 4, 15: 8} {
		value := []byte(strings.Repeat("v", size))
		block = protocol.Pair{KeyKind: protocol.KindString, Key: fmt.Appendf(nil, "key-%d", kind), ValueKind: kind, Value: value}.Append(block)
		block = protocol.Pair{KeyKind: protocol.KindU8, Key: []byte{kind}, ValueKind: kind, Value: value}.Append(block)
	}
	return block
}

func TestSend_MessagesComeBackAsTheyWere(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	b := batch.NewBuilder()
	origin := uint64(time.Now().Add(-time.Hour).UnixMicro())
	headers := userHeaders()
	payloads := []string{"plain", "", "\x00\xff binary", strings.Repeat("large ", 200_000)}
	for i, p := range payloads {
		c.Must(b.Add([]byte(p), headers, protocol.Uint128{Lo: uint64(i), Hi: 7}, origin+uint64(i)*1000))
	}
	record, err := b.Build()
	c.Must(err)
	before := uint64(time.Now().UnixMicro())
	c.SendRecord(topic.TopicRef, 0, record)
	after := uint64(time.Now().UnixMicro())
	look := func(what string) {
		got := c.All(topic.TopicRef, 0)
		drive.Check(t, what+": messages", len(got), len(payloads))
		for i, m := range got {
			if m.Payload != payloads[i] || m.Headers != string(headers) || m.ID != (protocol.Uint128{Lo: uint64(i), Hi: 7}) || m.OriginMicros != origin+uint64(i)*1000 {
				t.Errorf("%s: message %d changed: id %v, origin %d, %d bytes of headers, %d of payload", what, i, m.ID, m.OriginMicros, len(m.Headers), len(m.Payload))
			}
			if m.AppendMicros < before || m.AppendMicros > after {
				t.Errorf("%s: append time %d is not between %d and %d", what, m.AppendMicros, before, after)
			}
		}
	}
	look("at once")
	s.Crash()
	c = drive.Root(t, s)
	look("after a kill")
}

func TestSend_MessagesBelowEveryThresholdAreServedAndSurviveAKill(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1, command.U32Option("messages_required_to_save", 1_000_000),
		command.U64Option("size_of_messages_required_to_save", 1<<30))
	for i := range 10 {
		drive.Check(t, "base offset", c.Send(topic.TopicRef, 0, fmt.Sprint(i)), uint64(i))
	}
	drive.Check(t, "messages", len(c.All(topic.TopicRef, 0)), 10)
	s.Crash()
	drive.Check(t, "messages after a kill", len(drive.Root(t, s).All(topic.TopicRef, 0)), 10)
}

func TestSend_OneMessageABatchAtSpeed(t *testing.T) {
	_, c := drive.Fresh(t)
	const total = 20_000
	topic := c.NewTopic("orders", "events", 1, command.U32Option("messages_required_to_save", 100_000))
	sent := make(chan error, 1)
	go func() {
		var failed error
		for range total {
			if _, err := c.Receive(); err != nil {
				failed = err
				break
			}
		}
		sent <- failed
	}()
	body := append(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: 1}.Append(nil), drive.Record("m")...)
	for range total {
		c.Must(c.Conn.Send(protocol.OpSendMessages, 0, body))
	}
	c.Must(<-sent)
	if got := drive.Offsets(c.All(topic.TopicRef, 0)); !slices.Equal(got, drive.Span(0, total-1)) {
		t.Errorf("%d messages are not the offsets 0 to %d", len(got), total-1)
	}
}

func TestSend_ClientsSeeTheirOwnDataAfterSignOutAndIn(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 2)
	for i := range uint32(2) {
		conn := drive.Root(t, s)
		conn.Send(topic.TopicRef, i, fmt.Sprint("of ", i))
		conn.Must(conn.SignOut())
		conn.Must(conn.SignIn(process.RootName, process.RootPassword))
		if got := drive.Bodies(conn.All(topic.TopicRef, i)); !slices.Equal(got, []string{fmt.Sprint("of ", i)}) {
			t.Errorf("partition %d has %v", i, got)
		}
	}
}

func TestSend_NumberedRequestsAreStoredOnce(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	body := func(text string) []byte {
		return append(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: 1}.Append(nil), drive.Record(text)...)
	}
	send := func(c *drive.Client, number uint64, numbered bool, text string) (rawclient.Confirmation, error) {
		c.SetNextRequest(number)
		frame := c.AppendFrame(nil, protocol.OpSendMessages, 0, body(text))
		(*protocol.RequestHeader)(frame).SetNumbered(numbered)
		reply, err := c.Exchange(frame)
		if err != nil {
			return rawclient.Confirmation{}, err
		}
		return rawclient.ReadConfirmation(reply)
	}
	want := func(what string, known bool) func(rawclient.Confirmation, error) {
		return func(got rawclient.Confirmation, err error) {
			t.Helper()
			if err != nil || got.Known != known {
				t.Errorf("%s: %+v, %v; want an offset: %v", what, got, err, known)
			}
		}
	}
	want("first", true)(send(c, 1, true, "one"))
	want("repeated", false)(send(c, 1, true, "one"))
	want("gap", true)(send(c, 200, true, "two hundred"))
	want("inside the window", true)(send(c, 150, true, "late"))
	want("repeated inside the window", false)(send(c, 150, true, "late"))
	_, err := send(c, 72, true, "below")
	drive.Want(t, "below the window", err, drive.Denied(protocol.CodeRequestAlreadyApplied))
	for range 2 {
		want("not numbered", true)(send(c, 1, false, "free"))
		want("number 0", true)(send(c, 0, true, "zero"))
	}
	got := drive.Bodies(c.All(topic.TopicRef, 0))
	if !slices.Equal(got, []string{"one", "two hundred", "late", "free", "zero", "free", "zero"}) {
		t.Errorf("stored: %v", got)
	}
	// A topic without a write-ahead log forgets the numbers with the process: at least once, never less.
	s.Crash()
	again := drive.DialOptions(t, s, rawclient.Options{Client: c.Client()})
	again.Must(again.SignIn(process.RootName, process.RootPassword))
	_, err = send(again, 201, true, "after a kill")
	again.Must(err)
	want("repeated in the new life", false)(send(again, 201, true, "after a kill"))
	if got = drive.Bodies(again.All(topic.TopicRef, 0)); got[len(got)-1] != "after a kill" || len(got) != 8 {
		t.Errorf("stored after a kill: %v", got)
	}
}
