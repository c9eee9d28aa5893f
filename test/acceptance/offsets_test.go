package acceptance

import (
	"math"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

func TestOffsets_RangeAndAddressing(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 2)
	c.Send(topic.TopicRef, 0, "0", "1", "2", "3", "4")
	who := drive.Consumer(7)
	at := func(change func(*command.OffsetRef)) command.OffsetRef {
		o := drive.OffsetOf(who, topic.TopicRef, 0)
		change(&o)
		return o
	}
	keep := at(func(*command.OffsetRef) {})
	empty := at(func(o *command.OffsetRef) { o.Partition = 1 })
	invalid := protocol.CodeInvalidOffset
	for _, ack := range []protocol.AckLevel{protocol.AckQuorum, protocol.AckNone} {
		for _, x := range []struct {
			name   string
			where  command.OffsetRef
			offset uint64
			code   protocol.Code
			after  uint64 // stored in partition 0 afterwards
		}{
			{"last", keep, 4, 0, 4},
			{"one past the end", keep, 5, invalid, 4},
			{"end of all offsets", keep, math.MaxUint64, invalid, 4},
			{"backwards", keep, 1, 0, 1},
			{"empty partition", empty, 0, invalid, 1},
			{"missing partition", at(func(o *command.OffsetRef) { o.Partition = 2 }), 0, protocol.CodePartitionNotFound, 1},
			{"partition left out", at(func(o *command.OffsetRef) { o.HasPartition = false }), 0, protocol.CodePartitionNotFound, 1},
			{"missing topic", at(func(o *command.OffsetRef) { o.Topic = named("none") }), 0, protocol.CodeTopicIdNotFound, 1},
			{"missing stream", at(func(o *command.OffsetRef) { o.Stream = named("none") }), 0, protocol.CodeStreamIdNotFound, 1},
			{"missing group", at(func(o *command.OffsetRef) { o.Consumer = drive.Group(named("none")) }), 0, protocol.CodeConsumerGroupIdNotFound, 1},
		} {
			want := drive.OK
			if x.code != 0 {
				want = drive.Denied(x.code)
			}
			drive.Want(t, x.name, c.StoreOffset(x.where, x.offset, ack), want)
			if stored, found := c.Stored(who, topic.TopicRef, 0); !found || stored != x.after {
				t.Errorf("%s: %d is stored, %v; want %d", x.name, stored, found, x.after)
			}
		}
		c.Must(c.DeleteOffset(keep, ack))
		drive.Want(t, "delete of what is not stored", c.DeleteOffset(keep, ack), drive.Denied(protocol.CodeConsumerOffsetNotFound))
		if _, found := c.Stored(who, topic.TopicRef, 0); found {
			t.Error("a deleted offset is still stored")
		}
	}
	for _, x := range []struct {
		name  string
		where command.OffsetRef
		want  drive.Answer
	}{
		{"missing partition", at(func(o *command.OffsetRef) { o.Partition = 2 }), drive.Denied(protocol.CodePartitionNotFound)},
		{"missing topic", at(func(o *command.OffsetRef) { o.Topic = named("none") }), drive.OK},
		{"missing stream", at(func(o *command.OffsetRef) { o.Stream = named("none") }), drive.OK},
		{"missing group", at(func(o *command.OffsetRef) { o.Consumer = drive.Group(named("none")) }), drive.OK},
		{"partition left out", at(func(o *command.OffsetRef) { o.HasPartition = false }), drive.OK},
	} {
		_, found, err := c.GetOffset(x.where)
		drive.Want(t, "read, "+x.name, err, x.want)
		if found {
			t.Errorf("read, %s: something is stored", x.name)
		}
	}
}

func TestOffsets_NamedAndNumericConsumersShareTheirKeys(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	c.Send(topic.TopicRef, 0, "0", "1", "2")
	byName := protocol.Consumer{Kind: protocol.ConsumerSingle, ID: named("reader")}
	c.Must(c.StoreOffset(drive.OffsetOf(byName, topic.TopicRef, 0), 2, protocol.AckQuorum))
	stored, found := c.Stored(drive.Consumer(protocol.Hash32([]byte("reader"))), topic.TopicRef, 0)
	if !found || stored != 2 {
		t.Errorf("by the hash of the name: %d, %v; want 2", stored, found)
	}
}

func TestOffsets_AutoCommitContinuesAcrossReconnectRestartAndKill(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	c.Send(topic.TopicRef, 0, drive.Payloads("m", 40)...)
	next := drive.Poll(topic.TopicRef, 0, command.FromNext, 0, 10)
	next.AutoCommit = true
	for round, again := range []func(){func() {}, s.Restart, s.Crash, func() {}} {
		conn := drive.Root(t, s)
		_, got := conn.Fetch(next)
		if len(got) != 10 || got[0].Offset != uint64(10*round) {
			t.Fatalf("round %d: offsets %v; want 10 from %d", round, drive.Offsets(got), 10*round)
		}
		// The write behind a poll follows it; whoever wants it durable waits until it can be read.
		s.Eventually(5*time.Second, "the offset is stored", func() bool {
			stored, found := conn.Stored(drive.Consumer(1), topic.TopicRef, 0)
			return found && stored == uint64(10*round+9)
		})
		time.Sleep(50 * time.Millisecond)
		again()
	}
}

func TestOffsets_StoredAheadOfRecoveredDataDoNotBreakThePartition(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	c.Send(topic.TopicRef, 0, drive.Payloads("kept", 5)...)
	s.Stop()
	size := cutMark(t, s, topic)
	s.Launch()
	c = drive.Root(t, s)
	base := c.Send(topic.TopicRef, 0, drive.Payloads("lost", 5)...)
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), base+4, protocol.AckQuorum))
	s.Kill()
	size.restore(t)
	s.Launch()
	c = drive.Root(t, s)
	drive.Check(t, "messages left", len(c.All(topic.TopicRef, 0)), 5)
	if stored, found := c.Stored(drive.Consumer(1), topic.TopicRef, 0); found && stored > 4 {
		t.Errorf("offset %d is stored above the end", stored)
	}
	next := drive.Poll(topic.TopicRef, 0, command.FromNext, 0, 10)
	if _, got := c.Fetch(next); len(got) > 0 {
		t.Errorf("next after the end: %v", drive.Offsets(got))
	}
	again := c.Send(topic.TopicRef, 0, "new")
	if again <= base+4 {
		t.Errorf("offset %d was confirmed before the kill and is issued again", again)
	}
	if _, got := c.Fetch(next); len(got) != 1 || got[0].Payload != "new" {
		t.Errorf("next after a send: %v", drive.Bodies(got))
	}
}
