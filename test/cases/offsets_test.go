package cases

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// IGGY-2794: a consumer offset beyond the end of the log is refused and leaves the old value.
func TestStoredOffsets_BeyondTheEndAreRefused(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 2)
	c.Send(topic.TopicRef, 0, "0", "1", "2", "3", "4")
	member, g := join(t, s, topic, "workers")
	invalid := drive.Denied(protocol.CodeInvalidOffset)
	for _, who := range []protocol.Consumer{drive.Consumer(1), drive.Group(g.Group)} {
		at := drive.OffsetOf(who, topic.TopicRef, 0)
		member.Must(member.StoreOffset(at, 4, protocol.AckQuorum))
		drive.Want(t, "5", member.StoreOffset(at, 5, protocol.AckQuorum), invalid)
		drive.Want(t, "largest", member.StoreOffset(at, math.MaxUint64, protocol.AckQuorum), invalid)
		if stored, found := c.Stored(who, topic.TopicRef, 0); !found || stored != 4 {
			t.Errorf("stored %d, %v; want 4", stored, found)
		}
		empty := drive.OffsetOf(who, topic.TopicRef, 1)
		drive.Want(t, "empty partition", member.StoreOffset(empty, 0, protocol.AckQuorum), invalid)
	}
}

// IGGY-2798: the current offset does not shrink when old segments go away.
func TestCurrentOffset_SurvivesTheDeletionOfSegments(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := smallSegments(c)
	for i := range 25 {
		c.Send(topic.TopicRef, 0, third(i))
	}
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 9, protocol.AckQuorum))
	deleteSegments(c, topic, 2)
	s.Eventually(10*time.Second, "two segments are gone", func() bool { return first(c, topic) == 6 })
	got, found, err := c.GetOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0))
	c.Must(err)
	if !found || got.CurrentOffset != 24 || got.Stored != 9 {
		t.Errorf("offset reply %+v, %v; want current 24 and stored 9", got, found)
	}
	drive.Check(t, "next offset", c.Send(topic.TopicRef, 0, third(25)), 25)
}

// RP-2326: the end of the log does not move when retention removes a prefix, and an offset keeps its message.
func TestEndOffset_SurvivesRetention(t *testing.T) {
	s, c := drive.Fresh(t, "IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL=100ms")
	topic := smallSegments(c, command.U64Option("message_expiry", uint64((500*time.Millisecond).Microseconds())))
	const total, batch = 50_000, 500
	for n := 0; n < total; n += batch {
		payloads := make([]string, batch)
		for i := range payloads {
			payloads[i] = fmt.Sprintf("%d%s", n+i, strings.Repeat(".", 80))
		}
		drive.Check(t, "base offset", c.Send(topic.TopicRef, 0, payloads...), uint64(n))
	}
	s.Eventually(20*time.Second, "retention removed the first segments", func() bool { return first(c, topic) > total/2 })
	end := func(c *drive.Client) uint64 {
		head, _ := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromLast, 0, 1))
		return head.CurrentOffset
	}
	drive.Check(t, "end", end(c), total-1)
	s.Restart()
	c = drive.Root(t, s)
	drive.Check(t, "end after a restart", end(c), total-1)
	drive.Check(t, "next offset", c.Send(topic.TopicRef, 0, "more"), total)
	for _, offset := range []uint64{first(c, topic), total - 1, total} {
		_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromOffset, offset, 1))
		want := fmt.Sprint(offset, ".")
		if offset == total {
			want = "more"
		}
		if len(got) != 1 || got[0].Offset != offset || !strings.HasPrefix(got[0].Payload, want) {
			t.Errorf("offset %d: %v", offset, drive.Bodies(got))
		}
	}
	_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromOffset, 3, 1))
	if len(got) != 1 || got[0].Offset != first(c, topic) {
		t.Errorf("an offset below retention gives %v; want the oldest retained", drive.Offsets(got))
	}
}

// IGGY-3975: an acknowledged offset is never issued twice, whatever kills the server.
func TestConfirmedOffsets_AreNeverIssuedAgainAfterAKill(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1, command.U32Option("messages_required_to_save", 4))
	sent := map[uint64]string{}
	send := func(text string) uint64 {
		offset := c.Send(topic.TopicRef, 0, text)
		if was, taken := sent[offset]; taken {
			t.Fatalf("offset %d was confirmed for %q and now for %q", offset, was, text)
		}
		sent[offset] = text
		return offset
	}
	for i := range 10 {
		drive.Check(t, "offset", send(fmt.Sprint("m", i)), uint64(i))
	}
	last := uint64(9)
	for life, again := range []func(){s.Crash, s.Crash, s.Restart, s.Crash, s.Restart} {
		again()
		c = drive.Root(t, s)
		offset := send(fmt.Sprint("life ", life))
		if offset <= last {
			t.Errorf("life %d: offset %d is not above %d", life, offset, last)
		}
		last = offset
	}
	all := c.All(topic.TopicRef, 0)
	if len(all) != len(sent) {
		t.Errorf("%d messages; want the %d that were confirmed", len(all), len(sent))
	}
	for _, m := range all {
		drive.Check(t, fmt.Sprint("offset ", m.Offset), m.Payload, sent[m.Offset])
	}
}

// KOP-334: a time between two batches gives the later one.
func TestTimestampPoll_FindsTheNextNotThePrevious(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := smallSegments(c)
	type stored struct{ offset, at uint64 }
	var all []stored
	for i := range 12 {
		offset := c.Send(topic.TopicRef, 0, third(i))
		_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromOffset, offset, 1))
		all = append(all, stored{offset, got[0].AppendMicros})
	}
	look := func(when string) {
		from := first(c, topic)
		for i, m := range all {
			for _, q := range []uint64{m.at - 1, m.at, m.at + 1} {
				want := int64(-1)
				for _, x := range all {
					if x.at >= q && x.offset >= from {
						want = int64(x.offset)
						break
					}
				}
				_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromTimestamp, q, 1))
				if want < 0 && len(got) > 0 || want >= 0 && (len(got) != 1 || got[0].Offset != uint64(want)) {
					t.Errorf("%s, message %d, time %+d: offsets %v; want %d", when, i, int64(q)-int64(m.at), drive.Offsets(got), want)
				}
			}
		}
	}
	look("across segments")
	deleteSegments(c, topic, 2)
	s.Eventually(10*time.Second, "two segments are gone", func() bool { return first(c, topic) == 6 })
	look("after retention")
	s.Crash()
	c = drive.Root(t, s)
	look("after a kill")
}

// REDIS-7105: a clean restart does not take a group's position back.
func TestGroupPosition_ContinuesAfterACleanRestart(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	c.Send(topic.TopicRef, 0, drive.Payloads("m", 200)...)
	member, g := join(t, s, topic, "workers")
	read := func(from uint64) {
		t.Helper()
		got := nextFor(member, g, 50, true)
		if len(got) != 50 || got[0].Offset != from {
			t.Fatalf("offsets %v; want 50 from %d", drive.Offsets(got), from)
		}
	}
	read(0)
	read(50)
	single := drive.Poll(topic.TopicRef, 0, command.FromNext, 0, 100)
	single.AutoCommit = true
	c.Fetch(single)
	// At once: what a poll committed must be part of a graceful stop.
	s.Restart()
	member, g = join(t, s, topic, "workers")
	s.Eventually(10*time.Second, "the member has the partition", func() bool {
		got, found, err := member.SyncGroup(g)
		return err == nil && found && len(got.Partitions) == 1
	})
	read(100)
	if _, got := drive.Root(t, s).Fetch(single); len(got) != 100 || got[0].Offset != 100 {
		t.Errorf("the single consumer continues with %v; want 100", drive.Offsets(got)[:min(1, len(got))])
	}
}

// REDIS-13957: lag is a difference of positions, so trimming does not change it.
func TestLag_ComesFromPositionsNotFromCounts(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := smallSegments(c)
	for i := range 5 {
		c.Send(topic.TopicRef, 0, third(i)+strings.Repeat("y", mib)) // one message a segment
	}
	member, g := join(t, s, topic, "workers")
	if got := nextFor(member, g, 1, false); len(got) != 1 || got[0].Offset != 0 {
		t.Fatalf("the group reads %v", drive.Offsets(got))
	}
	at := drive.OffsetOf(drive.Group(g.Group), topic.TopicRef, 0)
	member.Must(member.StoreOffset(at, 3, protocol.AckQuorum))
	deleteSegments(c, topic, 10)
	s.Eventually(10*time.Second, "only the last message is left", func() bool { return first(c, topic) == 4 })
	lag := func() uint64 {
		got, found, err := c.GetOffset(at)
		c.Must(err)
		if !found {
			t.Fatal("the offset is gone")
		}
		return got.CurrentOffset + 1 - max(got.Stored+1, first(c, topic))
	}
	drive.Check(t, "lag", lag(), 1)
	if got := nextFor(member, g, 10, false); len(got) != 1 || got[0].Offset != 4 {
		t.Fatalf("the group reads %v", drive.Offsets(got))
	}
	member.Must(member.StoreOffset(at, 4, protocol.AckQuorum))
	drive.Check(t, "lag at the end", lag(), 0)
}

// RP-22670: a producer that was quiet is served, or told that it is stale; never a sequence error.
func TestIdleProducer_IsServedAfterAQuietTime(t *testing.T) {
	s, c := drive.Fresh(t, "IGGY_HEARTBEAT_INTERVAL=200ms")
	topic := c.NewTopic("orders", "events", 1)
	quiet := drive.Root(t, s)
	body := append(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: 1}.Append(nil), drive.Record("m")...)
	send := func(c *drive.Client, number uint64) error {
		c.SetNextRequest(number)
		frame := c.AppendFrame(nil, protocol.OpSendMessages, 0, body)
		(*protocol.RequestHeader)(frame).SetNumbered(true)
		_, err := c.Exchange(frame)
		return err
	}
	quiet.Must(send(quiet, 1))
	quiet.Must(send(quiet, 2))
	time.Sleep(2 * time.Second)
	drive.Want(t, "the third send", send(quiet, 3), drive.OK)
	quiet.Must(quiet.Close())
	time.Sleep(time.Second) // five times what its session is kept for
	back := drive.DialOptions(t, s, rawclient.Options{Client: quiet.Client()})
	back.Must(back.SignIn(process.RootName, process.RootPassword))
	drive.Want(t, "a repeated send of the former session", send(back, 3), drive.OK)
	drive.Want(t, "the fourth send", send(back, 4), drive.OK)
	if got := drive.Offsets(c.All(topic.TopicRef, 0)); !slices.Equal(got, drive.Span(0, 3)) {
		t.Errorf("offsets %v; want four messages without a copy", got)
	}
}
