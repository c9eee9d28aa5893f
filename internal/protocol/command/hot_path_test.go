package command_test

import (
	"bytes"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

var (
	anyTopic   = command.TopicRef{Stream: protocol.NumericID(3), Topic: protocol.NumericID(7)}
	namedTopic = command.TopicRef{Stream: protocol.NamedID("orders"), Topic: protocol.NamedID("created")}
)

// wantNoAllocs fails when one run of what allocates.
func wantNoAllocs(t *testing.T, name string, what func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, what); n != 0 {
		t.Errorf("%s: %v allocations", name, n)
	}
}

func TestSendMessages_DecodesWithoutAllocating(t *testing.T) {
	for name, p := range map[string]protocol.Partitioning{
		"balanced":  {Kind: protocol.PartitionBalanced},
		"partition": {Kind: protocol.PartitionByID, ID: 5},
		"key":       {Kind: protocol.PartitionByKey, Key: []byte("user-123")},
	} {
		for _, topic := range []command.TopicRef{anyTopic, namedTopic} {
			body := append(command.SendMessages{TopicRef: topic, Partitioning: p, MessagesCount: 1}.Append(nil), make([]byte, 300)...)
			var got command.SendMessages
			wantNoAllocs(t, name, func() {
				var err error
				if got, err = command.DecodeSendMessages(body); err != nil {
					t.Fatal(err)
				}
			})
			if got.BatchAt != len(body)-300 || got.MessagesCount != 1 || got.Partitioning.Kind != p.Kind {
				t.Errorf("%s: decoded %+v", name, got)
			}
		}
	}
}

func TestCutSendSection_AgreesWithTheDecoder(t *testing.T) {
	for _, p := range []protocol.Partitioning{
		{Kind: protocol.PartitionBalanced}, {Kind: protocol.PartitionByID, ID: 5}, {Kind: protocol.PartitionByKey, Key: []byte("user-123")},
	} {
		body := append(command.SendMessages{TopicRef: namedTopic, Partitioning: p, MessagesCount: 77}.Append(nil), make([]byte, 300)...)
		other := append(command.SendMessages{TopicRef: namedTopic, Partitioning: p, MessagesCount: 78}.Append(nil), make([]byte, 9)...)
		got, ok := command.CutSendSection(body)
		want, err := command.DecodeSendMessages(body)
		if !ok || err != nil || got.MessagesCount != 77 || got.BatchAt != want.BatchAt {
			t.Fatalf("%+v: cut into %+v, %v; decoded %+v, %v", p, got, ok, want, err)
		}
		if same, _ := command.CutSendSection(other); !bytes.Equal(same.Target, got.Target) {
			t.Fatalf("%+v: targets %x and %x", p, same.Target, got.Target)
		}
		// Whatever the decoder takes, the cut takes; what it refuses of a whole body, the decoder refuses.
		for n := range len(body) {
			_, cut := command.CutSendSection(body[:n])
			if _, err := command.DecodeSendMessages(body[:n]); cut != (err == nil) {
				t.Fatalf("%+v: %d bytes: cut %v, decoded %v", p, n, cut, err)
			}
		}
	}
	for _, bad := range [][]byte{nil, {3, 0, 0, 0, 1, 2, 3}, {0, 0, 0, 0}, {255, 255, 255, 255, 0, 0, 0, 0}} {
		if _, ok := command.CutSendSection(bad); ok {
			t.Errorf("%x was cut", bad)
		}
	}
}

func TestPollMessages_DecodesAndAnswersWithoutAllocating(t *testing.T) {
	for _, consumer := range []protocol.Consumer{
		{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(9)},
		{Kind: protocol.ConsumerGroup, ID: protocol.NamedID("workers")},
	} {
		body := command.PollMessages{
			Consumer: consumer, TopicRef: namedTopic, Partition: 3, HasPartition: true,
			Strategy: command.FromOffset, Value: 101, Count: 10, AutoCommit: true,
		}.Append(nil)
		var got command.PollMessages
		wantNoAllocs(t, "request", func() {
			var err error
			if got, err = command.DecodePollMessages(body); err != nil {
				t.Fatal(err)
			}
		})
		if got.Value != 101 || got.Count != 10 || !got.AutoCommit || got.Consumer.Key() != consumer.Key() {
			t.Errorf("decoded %+v", got)
		}
	}
	dst := make([]byte, command.PollReplySize)
	wantNoAllocs(t, "reply", func() { command.PollReply{Partition: 3, CurrentOffset: 101, Count: 1}.Put(dst) })
}

func TestOffsetsAndConfirmations_AllocateNothing(t *testing.T) {
	body := command.StoreOffset{
		OffsetRef: command.OffsetRef{
			Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NamedID("reader-1")}, TopicRef: anyTopic,
			Partition: 1, HasPartition: true,
		},
		Offset: 42, Ack: protocol.AckQuorum,
	}.Append(nil)
	wantNoAllocs(t, "store offset", func() {
		s, err := command.DecodeStoreOffset(body)
		if err != nil || s.Offset != 42 {
			t.Fatal(s.Offset, err)
		}
	})
	dst := make([]byte, 0, 64)
	wantNoAllocs(t, "confirmation", func() {
		dst = command.AppendConfirmations(dst[:0], command.Confirmation{Stream: 1, Topic: 2, Partition: 3, BaseOffset: 100})
	})
}

func BenchmarkDecodeSendMessages(b *testing.B) {
	body := append(command.SendMessages{
		TopicRef: anyTopic, Partitioning: protocol.Partitioning{Kind: protocol.PartitionByID, ID: 5}, MessagesCount: 1,
	}.Append(nil), make([]byte, 300)...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := command.DecodeSendMessages(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePollMessages(b *testing.B) {
	body := command.PollMessages{
		Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(9)}, TopicRef: anyTopic,
		Partition: 3, HasPartition: true, Strategy: command.FromNext, Count: 10,
	}.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := command.DecodePollMessages(body); err != nil {
			b.Fatal(err)
		}
	}
}
