package acceptance

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

func TestPoll_ByOffsetForSegmentSizesAndThresholds(t *testing.T) {
	s, c := drive.Fresh(t)
	for _, segment := range []uint64{mib, 8 * mib, 1 << 30} {
		for _, threshold := range []uint32{1, 24, 1000, 10_000} {
			t.Run(fmt.Sprintf("segment %d threshold %d", segment, threshold), func(t *testing.T) {
				topic := c.NewTopic("orders", fmt.Sprint(segment, " ", threshold), 1,
					command.U64Option("segment_size", segment), command.U32Option("messages_required_to_save", threshold))
				n := 0
				for size := 1; n < 300; size = size%40 + 7 {
					payloads := drive.Payloads(fmt.Sprintf("%01000d", n), size)
					drive.Check(t, "base offset", c.Send(topic.TopicRef, 0, payloads...), uint64(n))
					n += size
				}
				checkOffsets(t, c, topic.TopicRef, n)
			})
		}
	}
	s.Crash()
	checkOffsets(t, drive.Root(t, s), ref(named("orders"), named(fmt.Sprint(mib, " ", 24))), 310)
}

// checkOffsets polls a partition that has the offsets 0 to at least n-1 in every way that offsets allow.
func checkOffsets(t *testing.T, c *drive.Client, r command.TopicRef, atLeast int) {
	t.Helper()
	end := uint64(len(c.All(r, 0)))
	if end < uint64(atLeast) && end < 300 {
		t.Fatalf("%d messages; want %d", end, atLeast)
	}
	for _, x := range []struct {
		from  uint64
		count uint32
	}{
		{0, 1}, {0, 3}, {0, math.MaxUint32}, {1, 1}, {end / 2, 10}, {end / 2, math.MaxUint32}, {end - 1, 1}, {end - 1, 100}, {end, 1},
		{end + 1, 1}, {math.MaxUint64, 1}, {math.MaxUint64, math.MaxUint32}, {7, 0},
	} {
		head, got := c.Fetch(drive.Poll(r, 0, command.FromOffset, x.from, x.count))
		want := []uint64{}
		if x.from < end && x.count > 0 {
			want = drive.Span(x.from, min(x.from+uint64(x.count), end)-1)
		}
		if !slices.Equal(drive.Offsets(got), want) {
			t.Errorf("from %d, %d messages: offsets %v; want %v", x.from, x.count, drive.Offsets(got), want)
		}
		drive.Check(t, "current offset", head.CurrentOffset, end-1)
	}
	for chunk := uint32(1); chunk < 90; chunk += 29 {
		var all []uint64
		for {
			_, got := c.Fetch(drive.Poll(r, 0, command.FromOffset, uint64(len(all)), chunk))
			if len(got) == 0 {
				break
			}
			all = append(all, drive.Offsets(got)...)
		}
		if !slices.Equal(all, drive.Span(0, end-1)) {
			t.Errorf("chunks of %d give %d messages; want the offsets 0 to %d", chunk, len(all), end-1)
		}
	}
}

func TestPoll_FirstLastNext(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	for range 10 {
		c.Send(topic.TopicRef, 0, "a", "b", "c")
	}
	for _, x := range []struct {
		name        string
		from        command.StrategyKind
		count       uint32
		first, last uint64
	}{
		{"first", command.FromFirst, 4, 0, 3},
		{"last", command.FromLast, 4, 26, 29},
		{"last of one", command.FromLast, 1, 29, 29},
		{"last of more than there are", command.FromLast, 100, 0, 29},
		{"next without a stored offset", command.FromNext, 5, 0, 4},
	} {
		_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, x.from, 0, x.count))
		if !slices.Equal(drive.Offsets(got), drive.Span(x.first, x.last)) {
			t.Errorf("%s: %v; want %d to %d", x.name, drive.Offsets(got), x.first, x.last)
		}
	}
	next := drive.Poll(topic.TopicRef, 0, command.FromNext, 0, 7)
	next.AutoCommit = true
	for start := uint64(0); start < 30; start += 7 {
		_, got := c.Fetch(next)
		if !slices.Equal(drive.Offsets(got), drive.Span(start, min(start+6, 29))) {
			t.Errorf("next: %v; want from %d", drive.Offsets(got), start)
		}
	}
	if _, got := c.Fetch(next); len(got) > 0 {
		t.Errorf("next at the end: %v", drive.Offsets(got))
	}
	c.Send(topic.TopicRef, 0, "new")
	if _, got := c.Fetch(next); !slices.Equal(drive.Offsets(got), []uint64{30}) {
		t.Errorf("next after a send: %v; want 30", drive.Offsets(got))
	}
}

func TestPoll_ByTimestamp(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	var stamps []uint64
	for i := range 5 {
		base := c.Send(topic.TopicRef, 0, "a", "b")
		_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromOffset, base, 1))
		drive.Check(t, "offset", got[0].Offset, uint64(2*i))
		stamps = append(stamps, got[0].AppendMicros)
		time.Sleep(2 * time.Millisecond)
	}
	if !slices.IsSorted(stamps) {
		t.Fatalf("append times %v decrease", stamps)
	}
	type question struct {
		name  string
		value uint64
		first int64 // -1: nothing
	}
	questions := []question{{"before the first", 0, 0}, {"right before the first", stamps[0] - 1, 0}, {"after the last", stamps[4] + 1, -1}, {"end of time", math.MaxUint64, -1}}
	for i, at := range stamps {
		questions = append(questions, question{fmt.Sprint("exactly at batch ", i), at, int64(2 * i)})
		if i > 0 {
			questions = append(questions, question{fmt.Sprint("right before batch ", i), at - 1, int64(2 * i)})
			questions = append(questions, question{fmt.Sprint("right after batch ", i-1), stamps[i-1] + 1, int64(2 * i)})
		}
	}
	ask := func(when string) {
		for _, q := range questions {
			_, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromTimestamp, q.value, 100))
			if q.first < 0 && len(got) > 0 || q.first >= 0 && !slices.Equal(drive.Offsets(got), drive.Span(uint64(q.first), 9)) {
				t.Errorf("%s, %s: offsets %v; want from %d", when, q.name, drive.Offsets(got), q.first)
			}
		}
	}
	ask("hot")
	s.Restart()
	c = drive.Root(t, s)
	ask("after a restart")
}

func TestPoll_EmptyPartitionsAndWrongQuestions(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 2)
	none := c.NewTopic("orders", "no partitions", 0)
	for _, from := range []command.StrategyKind{command.FromOffset, command.FromTimestamp, command.FromFirst, command.FromLast, command.FromNext} {
		p := drive.Poll(topic.TopicRef, 0, from, 0, 10)
		p.AutoCommit = true
		head, got := c.Fetch(p)
		if len(got) > 0 || head != (command.PollReply{}) {
			t.Errorf("poll %d of an empty partition: %+v", from, head)
		}
	}
	if _, found := c.Stored(drive.Consumer(1), topic.TopicRef, 0); found {
		t.Error("a poll of nothing stored an offset")
	}
	ask := func(change func(*command.PollMessages)) error {
		p := drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 1)
		change(&p)
		_, err := c.Conn.Poll(p)
		return err
	}
	for _, x := range []struct {
		name   string
		change func(*command.PollMessages)
		want   drive.Answer
	}{
		{"partition left out", func(p *command.PollMessages) { p.HasPartition = false }, drive.OK},
		{"missing partition", func(p *command.PollMessages) { p.Partition = 2 }, drive.Denied(protocol.CodePartitionNotFound)},
		{"largest partition", func(p *command.PollMessages) { p.Partition = math.MaxUint32 }, drive.Denied(protocol.CodePartitionNotFound)},
		{"topic without partitions", func(p *command.PollMessages) { p.TopicRef = none.TopicRef; p.HasPartition = false }, drive.Denied(protocol.CodePartitionNotFound)},
		{"missing topic", func(p *command.PollMessages) { p.Topic = named("none") }, drive.Denied(protocol.CodeTopicIdNotFound)},
		{"missing stream", func(p *command.PollMessages) { p.Stream = named("none") }, drive.Denied(protocol.CodeStreamIdNotFound)},
		{"strategy 0", func(p *command.PollMessages) { p.Strategy = 0 }, drive.Denied(protocol.CodeInvalidCommand)},
		{"strategy 6", func(p *command.PollMessages) { p.Strategy = 6 }, drive.Denied(protocol.CodeInvalidCommand)},
		{"consumer of kind 3", func(p *command.PollMessages) { p.Consumer.Kind = 3 }, drive.Denied(protocol.CodeInvalidCommand)},
		{"group without partition", func(p *command.PollMessages) { p.Consumer = drive.Group(named("none")); p.HasPartition = false }, drive.Denied(protocol.CodePartitionNotFound)},
	} {
		t.Run(x.name, func(t *testing.T) { drive.Want(t, x.name, ask(x.change), x.want) })
	}
}

func TestPoll_RepliesStayBelowTheFrameLimit(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	large := string(make([]byte, 9<<20))
	const batches = 10
	for range batches {
		c.Send(topic.TopicRef, 0, large)
	}
	var got []uint64
	for polls := 0; len(got) < batches; polls++ {
		if polls > batches {
			t.Fatal("polls do not get on")
		}
		reply, err := c.Conn.Poll(drive.Poll(topic.TopicRef, 0, command.FromOffset, uint64(len(got)), math.MaxUint32))
		c.Must(err)
		if len(reply.Records)+protocol.HeaderSize+command.PollReplySize > protocol.MaxFrameSizeDefault {
			t.Fatalf("%d bytes of records", len(reply.Records))
		}
		messages, err := drive.Decode(reply)
		c.Must(err)
		if len(messages) < 1 {
			t.Fatal("an empty answer although there are messages")
		}
		got = append(got, drive.Offsets(messages)...)
	}
	drive.Check(t, "messages", len(got), batches)
}
