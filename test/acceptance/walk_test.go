package acceptance

import (
	"fmt"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

// counters is what a client can count at every level.
type counters struct{ streams, topics, partitions, groups, messages, bytes uint64 }

// count reads the counters of the server and holds them against those of every stream, topic and partition.
func count(t *testing.T, c *drive.Client) counters {
	t.Helper()
	st := c.Stats()
	server := counters{
		uint64(st.Streams), uint64(st.Topics), uint64(st.Partitions), uint64(st.Groups), st.Messages, st.MessagesBytes,
	}
	sum := counters{groups: server.groups}
	for _, s := range streams(c) {
		sum.streams++
		var inStream counters
		for _, header := range topics(c, numbered(s.ID)) {
			d := c.Details(ref(numbered(s.ID), numbered(header.ID)))
			var inTopic counters
			for _, p := range d.Partitions {
				inTopic.partitions++
				inTopic.messages += p.MessagesCount
				inTopic.bytes += p.SizeBytes
				if p.SegmentsCount < 1 {
					t.Errorf("partition %d of topic %s has no segment", p.ID, d.Name)
				}
			}
			if inTopic.messages != header.MessagesCount || inTopic.bytes != header.SizeBytes || uint32(inTopic.partitions) != header.PartitionsCount {
				t.Errorf("topic %s says %d messages, %d bytes, %d partitions; its partitions sum up to %+v",
					d.Name, header.MessagesCount, header.SizeBytes, header.PartitionsCount, inTopic)
			}
			inStream.topics++
			inStream.partitions += inTopic.partitions
			inStream.messages += inTopic.messages
			inStream.bytes += inTopic.bytes
		}
		if inStream.messages != s.MessagesCount || inStream.bytes != s.SizeBytes || uint32(inStream.topics) != s.TopicsCount {
			t.Errorf("stream %s says %d messages, %d bytes, %d topics; its topics sum up to %+v",
				s.Name, s.MessagesCount, s.SizeBytes, s.TopicsCount, inStream)
		}
		sum.topics += inStream.topics
		sum.partitions += inStream.partitions
		sum.messages += inStream.messages
		sum.bytes += inStream.bytes
	}
	if sum != server {
		t.Errorf("statistics say %+v; the streams sum up to %+v", server, sum)
	}
	return server
}

// A walk through everything that a server keeps, with all counters at each step.
func TestWalk_CountersAtEachStep(t *testing.T) {
	s, c := drive.Fresh(t)
	step := func(what string, want counters) {
		t.Helper()
		var got counters
		for range 50 {
			if got = count(t, c); got == want {
				return
			}
		}
		t.Errorf("%s: %+v; want %+v", what, got, want)
	}
	step("nothing", counters{})
	a := c.NewTopic("orders", "events", 3)
	b := c.NewTopic("orders", "audit", 1)
	step("two topics", counters{1, 2, 4, 0, 0, 0})
	_, err := c.CreateGroup(a.TopicRef, "workers")
	c.Must(err)
	size := func(payloads ...string) uint64 { return uint64(len(drive.Record(payloads...))) }
	for p := range uint32(3) {
		drive.Check(t, "base offset", c.Send(a.TopicRef, p, "one", "two"), 0)
	}
	drive.Check(t, "base offset", c.Send(a.TopicRef, 1, "three"), 2)
	drive.Check(t, "base offset", c.Send(b.TopicRef, 0, "four"), 0)
	full := 3*size("one", "two") + size("three") + size("four")
	step("eight messages", counters{1, 2, 4, 1, 8, full})
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), a.TopicRef, 1), 2, protocol.AckQuorum))
	s.Restart()
	c = drive.Root(t, s)
	step("after a restart", counters{1, 2, 4, 1, 8, full})
	c.Apply(protocol.OpPurgeTopic, a.TopicRef.Append(nil))
	step("one topic purged", counters{1, 2, 4, 1, 1, size("four")})
	if stored, found := c.Stored(drive.Consumer(1), a.TopicRef, 1); found {
		t.Errorf("offset %d outlived the purge", stored)
	}
	drive.Check(t, "base offset after the purge", c.Send(a.TopicRef, 1, "five"), 0)
	step("sent again", counters{1, 2, 4, 1, 2, size("four") + size("five")})
	c.Apply(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: a.TopicRef, Count: 2}.Append(nil))
	step("partitions added", counters{1, 2, 6, 1, 2, size("four") + size("five")})
	c.Apply(protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: a.TopicRef, Count: 4}.Append(nil))
	step("partitions removed", counters{1, 2, 2, 1, 1, size("four")})
	c.Must(c.Try(protocol.OpDeleteConsumerGroup, command.GroupRef{TopicRef: a.TopicRef, Group: named("workers")}.Append(nil)))
	c.Must(c.DeleteTopic(a.TopicRef))
	step("a topic deleted", counters{1, 1, 1, 0, 1, size("four")})
	c.Apply(protocol.OpPurgeStream, named("orders").Append(nil))
	step("the stream purged", counters{1, 1, 1, 0, 0, 0})
	c.Must(c.DeleteStream(named("orders")))
	step("all gone", counters{})
}

func TestWalk_DeletedAndRecreatedTopicsNeverShowOldData(t *testing.T) {
	_, c := drive.Fresh(t)
	for round := range 20 {
		topic := c.NewTopic("orders", "events", 2)
		drive.Check(t, "topic id", topic.ID, 0)
		for p := range uint32(2) {
			if old := c.All(topic.TopicRef, p); len(old) > 0 {
				t.Fatalf("round %d: partition %d has %v", round, p, drive.Bodies(old))
			}
			drive.Check(t, "base offset", c.Send(topic.TopicRef, p, fmt.Sprint("round ", round)), 0)
			c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, p), 0, protocol.AckQuorum))
		}
		if round%2 == 0 {
			c.Must(c.DeleteTopic(topic.TopicRef))
		} else {
			c.Must(c.DeleteStream(topic.Stream))
		}
	}
}

func TestRaw_PingStatsAndCodesThatAreNoReads(t *testing.T) {
	_, c := drive.Fresh(t)
	drive.Check(t, "bytes in answer to ping", len(c.Ask(protocol.CmdPing, nil)), 0)
	if len(c.Ask(protocol.CmdStats, nil)) < 108 {
		t.Error("statistics are too short")
	}
	before := c.NextRequest()
	for _, code := range []protocol.CommandCode{0, 2, 9, 99, 103, 700, 1 << 31} {
		drive.Want(t, fmt.Sprint("code ", code), c.TryRead(code, nil), drive.Denied(protocol.CodeInvalidCommand))
	}
	for _, code := range []protocol.CommandCode{protocol.CmdStreamCreate, protocol.CmdMessageSend, protocol.CmdConsumerOffsetStore, protocol.CmdSegmentDelete} {
		drive.Want(t, code.String()+" as a read", c.TryRead(code, nil), drive.Denied(protocol.CodeFeatureUnavailable))
	}
	drive.Check(t, "next request number", c.NextRequest(), before)
	c.NewStream("the number fits")
}

func TestMe_ShowsTheConnection(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	_, err := c.CreateGroup(topic.TopicRef, "workers")
	c.Must(err)
	c.Must(c.JoinGroup(command.GroupRef{TopicRef: topic.TopicRef, Group: named("workers")}))
	me, err := command.DecodeClient(c.Ask(protocol.CmdMe, nil))
	c.Must(err)
	if me.User != 0 || me.Transport != command.TransportTCP || me.Address != c.NetConn().LocalAddr().String() || len(me.Groups) != 1 {
		t.Errorf("the connection is shown as %+v; its address is %s", me, c.NetConn().LocalAddr())
	}
	stranger := drive.Dial(t, s)
	stranger.Must(stranger.Ping())
	all, err := command.DecodeClients(c.Ask(protocol.CmdClientList, nil))
	c.Must(err)
	if len(all) != 2 || all[1].User != command.NoUser {
		t.Errorf("clients %+v; want this one and a stranger", all)
	}
	id := []byte{byte(me.ID), byte(me.ID >> 8), byte(me.ID >> 16), byte(me.ID >> 24)}
	other, err := command.DecodeClient(c.Ask(protocol.CmdClientGet, id))
	if err != nil || other.ID != me.ID || other.GroupsCount != 1 {
		t.Errorf("client %d: %v, %+v", me.ID, err, other)
	}
	drive.Check(t, "bytes about an unknown client", len(c.Ask(protocol.CmdClientGet, []byte{255, 255, 255, 255})), 0)
	drive.Want(t, "client id of three bytes", c.TryRead(protocol.CmdClientGet, []byte{1, 2, 3}), drive.Denied(protocol.CodeInvalidCommand))
}
