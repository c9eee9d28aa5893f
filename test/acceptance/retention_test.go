package acceptance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

const (
	fastCleaner = "IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL=100ms"
	noCleaner   = "IGGY_DATA_MAINTENANCE_MESSAGES_CLEANER_ENABLED=false"
)

// segmented is a topic of one partition whose segments hold three messages each.
func segmented(c *drive.Client, name string, messages int, more ...protocol.Pair) drive.Topic {
	topic := c.NewTopic("orders", name, 1, append([]protocol.Pair{command.U64Option("segment_size", mib)}, more...)...)
	fill(c, topic, 0, messages)
	return topic
}

// fill sends messages of a bit more than a third of a segment, one a batch, that say their number.
func fill(c *drive.Client, topic drive.Topic, from, count int) {
	for i := from; i < from+count; i++ {
		c.Send(topic.TopicRef, 0, body(i))
	}
}

func body(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("x", 360<<10)) }

// first is the offset of the first message that is left, the end when none is.
func first(c *drive.Client, topic drive.Topic) uint64 {
	head, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 1))
	if len(got) == 0 {
		return head.CurrentOffset + 1
	}
	return got[0].Offset
}

func deleteSegments(c *drive.Client, topic drive.Topic, count uint32) error {
	return c.Try(protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: topic.TopicRef, Count: count}.Append(nil))
}

// intact demands that every message left says the number of its offset, and that they end at last.
func intact(t *testing.T, c *drive.Client, topic drive.Topic, last uint64) {
	t.Helper()
	all := c.All(topic.TopicRef, 0)
	if len(all) == 0 || all[len(all)-1].Offset != last {
		t.Fatalf("offsets %v do not end at %d", drive.Offsets(all), last)
	}
	for i, m := range all {
		if m.Offset != all[0].Offset+uint64(i) || !strings.HasPrefix(m.Payload, fmt.Sprint(m.Offset, " ")) {
			t.Errorf("offset %d holds message %.10q", m.Offset, m.Payload)
		}
	}
}

func TestRetention_ExpiredSealedSegmentsGoAndTheActiveOneStays(t *testing.T) {
	s, c := drive.Fresh(t, fastCleaner)
	topic := segmented(c, "events", 10, command.U64Option("message_expiry", uint64((600*time.Millisecond).Microseconds())))
	s.Eventually(15*time.Second, "only the active segment is left", func() bool { return first(c, topic) == 9 })
	intact(t, c, topic, 9)
	time.Sleep(time.Second)
	drive.Check(t, "first offset of the active segment, long expired", first(c, topic), 9)
	drive.Check(t, "segment files", len(segmentFiles(t, s, topic, ".log")), 1)
	drive.Check(t, "next offset", c.Send(topic.TopicRef, 0, body(10)), 10)
	s.Restart()
	intact(t, drive.Root(t, s), topic, 10)
}

func TestRetention_ASizeCapRemovesTheOldest(t *testing.T) {
	s, c := drive.Fresh(t, fastCleaner)
	// The cap of a partition is raised to a segment and the largest frame, 65 MiB.
	topic := segmented(c, "events", 0, command.U64Option("max_topic_size", 4*mib))
	for i := range 80 {
		c.Send(topic.TopicRef, 0, fmt.Sprintf("%d %s", i, strings.Repeat("x", mib)))
	}
	s.Eventually(15*time.Second, "the oldest segments go", func() bool { return first(c, topic) > 10 })
	if got := first(c, topic); got > 16 {
		t.Errorf("first offset %d: 65 MiB of sealed segments may stay", got)
	}
	intact(t, c, topic, 79)
}

func TestRetention_StoredOffsetsAreABarrier(t *testing.T) {
	s, c := drive.Fresh(t, fastCleaner)
	expiry := command.U64Option("message_expiry", uint64((300 * time.Millisecond).Microseconds()))
	topic := segmented(c, "events", 3, expiry)
	group := newGroup(c, topic, "workers")
	m := join(t, s, group)
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 0, protocol.AckQuorum))
	m.Must(m.commit(0, 0))
	fill(c, topic, 3, 10)
	time.Sleep(time.Second)
	drive.Check(t, "first offset while two consumers stand at 0", first(c, topic), 0)
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 12, protocol.AckQuorum))
	time.Sleep(500 * time.Millisecond)
	drive.Check(t, "first offset while the group stands at 0", first(c, topic), 0)
	m.Must(m.commit(0, 5))
	s.Eventually(10*time.Second, "the segments below 6 go", func() bool { return first(c, topic) == 6 })
	time.Sleep(500 * time.Millisecond)
	drive.Check(t, "first offset while the group stands at 5", first(c, topic), 6)
	intact(t, c, topic, 12)
}

func TestDeleteSegments_RemovesExactlyTheOldestSealed(t *testing.T) {
	s, c := drive.Fresh(t, noCleaner)
	topic := segmented(c, "events", 14)
	expect := func(what string, want uint64) {
		t.Helper()
		s.Eventually(10*time.Second, fmt.Sprintf("%s: first offset %d", what, want), func() bool { return first(c, topic) == want })
		intact(t, c, topic, 13)
	}
	c.Must(deleteSegments(c, topic, 0))
	expect("none", 0)
	c.Must(deleteSegments(c, topic, 1))
	expect("one", 3)
	c.Must(deleteSegments(c, topic, 2))
	expect("two", 9)
	s.Restart()
	c = drive.Root(t, s)
	expect("restart", 9)
	s.Crash()
	c = drive.Root(t, s)
	expect("kill", 9)
	c.Must(deleteSegments(c, topic, 100))
	expect("all that are sealed", 12)
	c.Must(deleteSegments(c, topic, 1))
	expect("only the active one is left", 12)
	// The files go after the segments have gone from what is read.
	s.Eventually(10*time.Second, "one file of segments", func() bool { return len(segmentFiles(t, s, topic, ".log")) == 1 })
	for _, x := range []struct {
		name string
		body []byte
		want drive.Answer
	}{
		{"missing stream", command.DeleteSegments{TopicRef: ref(named("none"), named("x")), Count: 1}.Append(nil), drive.Rejected(protocol.CodeStreamIdNotFound)},
		{"missing topic", command.DeleteSegments{TopicRef: ref(named("orders"), named("x")), Count: 1}.Append(nil), drive.Rejected(protocol.CodeTopicIdNotFound)},
		{"missing partition", command.DeleteSegments{TopicRef: topic.TopicRef, Partition: 5, Count: 1}.Append(nil), drive.Rejected(protocol.CodePartitionNotFound)},
		{"cut body", topic.TopicRef.Append(nil), drive.Denied(protocol.CodeInvalidCommand)},
	} {
		drive.Want(t, x.name, c.Try(protocol.OpDeleteSegments, x.body), x.want)
	}
}

func TestDeleteSegments_WaitsForTheSlowestConsumer(t *testing.T) {
	s, c := drive.Fresh(t, fastCleaner)
	topic := segmented(c, "events", 10)
	for id, offset := range []uint64{9, 4} {
		c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(uint32(id)), topic.TopicRef, 0), offset, protocol.AckQuorum))
	}
	c.Must(deleteSegments(c, topic, 3))
	s.Eventually(10*time.Second, "what everybody has read goes", func() bool { return first(c, topic) == 3 })
	time.Sleep(500 * time.Millisecond)
	drive.Check(t, "first offset while a consumer stands at 4", first(c, topic), 3)
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 8, protocol.AckQuorum))
	s.Eventually(10*time.Second, "the rest follows", func() bool { return first(c, topic) == 9 })
}

func TestPurge_LeavesAnEmptySegmentAtZeroAndNoOffsets(t *testing.T) {
	for name, purge := range map[string]func(c *drive.Client, topic drive.Topic){
		"topic":  func(c *drive.Client, topic drive.Topic) { c.Apply(protocol.OpPurgeTopic, topic.TopicRef.Append(nil)) },
		"stream": func(c *drive.Client, topic drive.Topic) { c.Apply(protocol.OpPurgeStream, topic.Stream.Append(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := drive.Fresh(t, noCleaner)
			topic := segmented(c, "events", 7)
			group := newGroup(c, topic, "workers")
			m := join(t, s, group)
			m.Must(m.commit(0, 6))
			c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 6, protocol.AckQuorum))
			purge(c, topic)
			d := c.Details(topic.TopicRef)
			if d.MessagesCount != 0 || d.SizeBytes != 0 || d.Partitions[0].CurrentOffset != 0 || d.Partitions[0].SegmentsCount != 1 {
				t.Errorf("right after the purge: %d messages, %d bytes, partition %+v", d.MessagesCount, d.SizeBytes, d.Partitions[0])
			}
			empty := func(what string) {
				if left := c.All(topic.TopicRef, 0); len(left) > 0 {
					t.Errorf("%s: offsets %v are left", what, drive.Offsets(left))
				}
				for _, who := range []protocol.Consumer{drive.Consumer(1), drive.Group(group.Group)} {
					if stored, found := c.Stored(who, topic.TopicRef, 0); found {
						t.Errorf("%s: offset %d of %v is left", what, stored, who.ID)
					}
				}
			}
			empty("at once")
			drive.Check(t, "members", details(c, group).MembersCount, 1)
			s.Crash()
			c = drive.Root(t, s)
			empty("after a kill")
			drive.Check(t, "offset after the purge", c.Send(topic.TopicRef, 0, body(0)), 0)
			s.Restart()
			c = drive.Root(t, s)
			intact(t, c, topic, 0)
			drive.Check(t, "segment files", len(segmentFiles(t, s, topic, ".log")), 1)
		})
	}
}

func TestPurge_OrderAgainstSendsOfTheSameClient(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	for round := range 30 {
		c.Send(topic.TopicRef, 0, "before")
		c.Apply(protocol.OpPurgeTopic, topic.TopicRef.Append(nil))
		drive.Check(t, "offset right after the purge", c.Send(topic.TopicRef, 0, fmt.Sprint("after ", round)), 0)
		if got := drive.Bodies(c.All(topic.TopicRef, 0)); !slices.Equal(got, []string{fmt.Sprint("after ", round)}) {
			t.Fatalf("round %d: %v", round, got)
		}
	}
}

func TestSegments_AreSealedByTheirSizeAndNeverSplitABatch(t *testing.T) {
	s, c := drive.Fresh(t, noCleaner)
	topic := segmented(c, "events", 12)
	large := strings.Repeat("y", 5*mib)
	c.Send(topic.TopicRef, 0, large)
	c.Send(topic.TopicRef, 0, "next")
	logs := segmentFiles(t, s, topic, ".log")
	for i, path := range logs[:len(logs)-1] {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < mib {
			t.Errorf("sealed segment %d has %d bytes", i, info.Size())
		}
	}
	drive.Check(t, "segments", len(logs), 6)
	drive.Check(t, "segments in the details", c.Details(topic.TopicRef).Partitions[0].SegmentsCount, 6)
	s.Crash()
	got := drive.Root(t, s).All(topic.TopicRef, 0)
	if len(got) != 14 || got[12].Payload != large || got[13].Payload != "next" {
		t.Errorf("%d messages after a kill", len(got))
	}
}
