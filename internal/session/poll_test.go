package session

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func TestPoll_Strategies(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	for i := range 4 {
		r.root.send(ref, to(0), fmt.Sprint(3*i), fmt.Sprint(3*i+1), fmt.Sprint(3*i+2))
	}
	r.root.must(r.root.StoreOffset(command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}, 4, protocol.AckQuorum))
	for _, c := range []struct {
		kind  command.StrategyKind
		value uint64
		count uint32
		want  []string
	}{
		{command.FromOffset, 0, 2, []string{"0", "1"}},
		{command.FromOffset, 5, 3, []string{"5", "6", "7"}},
		{command.FromOffset, 11, 9, []string{"11"}},
		{command.FromOffset, 12, 9, nil},
		{command.FromFirst, 99, 1, []string{"0"}},
		{command.FromLast, 0, 2, []string{"10", "11"}},
		{command.FromNext, 0, 3, []string{"5", "6", "7"}},
		{command.FromTimestamp, 0, 1, []string{"0"}},
		{command.FromTimestamp, 1 << 62, 9, nil},
		{command.FromOffset, 0, 0, nil},
	} {
		p := fromFirst(ref, 0)
		p.Strategy, p.Value, p.Count = c.kind, c.value, c.count
		got := sure(r.root.Poll(p))
		if !slices.Equal(payloads(got.Records), c.want) || got.CurrentOffset != 11 || got.Partition != 0 || int(got.Count) != len(c.want) {
			t.Errorf("strategy %d of %d, count %d: %v, head %+v; want %v", c.kind, c.value, c.count, payloads(got.Records), got.PollReply, c.want)
		}
	}
}

func TestPoll_RefusesByCode(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	hollow := r.topic("s", "hollow", 0)
	sure(r.root.CreateGroup(ref, "g"))
	r.newUser("nobody", nil)
	nobody := r.as("nobody")
	poll := func(c protocol.Consumer, ref command.TopicRef, partition uint32, has bool) []byte {
		return command.PollMessages{Consumer: c, TopicRef: ref, Partition: partition, HasPartition: has, Strategy: command.FromFirst, Count: 1}.Append(nil)
	}
	unknownStrategy := poll(consumer(1), ref, 0, true)
	unknownStrategy[len(unknownStrategy)-14] = 6
	for _, c := range []struct {
		name string
		who  *client
		body []byte
		want protocol.Code
	}{
		{"unknown strategy", r.root, unknownStrategy, protocol.CodeInvalidCommand},
		{"unknown stream", r.root, poll(consumer(1), at("none", "t"), 0, true), protocol.CodeStreamIdNotFound},
		{"unknown topic", r.root, poll(consumer(1), at("s", "none"), 0, true), protocol.CodeTopicIdNotFound},
		{"unknown partition", r.root, poll(consumer(1), ref, 2, true), protocol.CodePartitionNotFound},
		{"no partitions", r.root, poll(consumer(1), hollow, 0, false), protocol.CodePartitionNotFound},
		{"group without a partition", r.root, poll(inGroup("g"), ref, 0, false), protocol.CodePartitionNotFound},
		{"no right", nobody, poll(consumer(1), ref, 0, true), protocol.CodeUnauthorized},
		{"no right, group", nobody, poll(inGroup("none"), ref, 0, true), protocol.CodeUnauthorized},
		{"no right, unknown partition", nobody, poll(consumer(1), ref, 2, true), protocol.CodePartitionNotFound},
		{"partition absent is the first", r.root, poll(consumer(1), ref, 9, false), protocol.Success},
	} {
		want := outcome{}
		if c.want != protocol.Success {
			want = denied(c.want)
		}
		c.who.reads(c.name, protocol.CmdMessagePoll, c.body, want)
	}
}

func TestPoll_GroupsResyncInsteadOfFailing(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	sure(r.root.CreateGroup(ref, "g"))
	r.root.send(ref, to(0), "a")
	r.root.send(ref, to(1), "b")
	group := command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")}
	member, second, stranger := r.as(rootName), r.as(rootName), r.as(rootName)
	member.must(member.JoinGroup(group))
	second.must(second.JoinGroup(group))
	mine, theirs := sure2(member.SyncGroup(group)).Partitions[0], sure2(second.SyncGroup(group)).Partitions[0]
	poll := func(c *client, name string, partition uint32) (bool, uint32) {
		p := fromFirst(ref, partition)
		p.Consumer = inGroup(name)
		got := sure(c.Poll(p))
		if got.Resync() && got.CurrentOffset != 0 {
			t.Errorf("the marker comes with offset %d", got.CurrentOffset)
		}
		return got.Resync(), got.Count
	}
	if resync, count := poll(member, "g", mine); resync || count != 1 {
		t.Errorf("own partition: resync %v, %d messages", resync, count)
	}
	for _, c := range []struct {
		name, group string
		who         *client
		partition   uint32
	}{
		{"of another member", "g", member, theirs}, {"by a stranger", "g", stranger, mine}, {"unknown group", "none", member, mine},
		{"missing partition", "g", member, 7},
	} {
		if resync, _ := poll(c.who, c.group, c.partition); !resync {
			t.Errorf("%s: no marker", c.name)
		}
	}
	r.root.apply(protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: ref, Count: 2}.Append(nil))
	if resync, _ := poll(member, "g", mine); !resync {
		t.Error("deleted partition: no marker")
	}
	r.root.apply(protocol.OpDeleteConsumerGroup, group.Append(nil))
	if resync, _ := poll(member, "g", mine); !resync {
		t.Error("deleted group: no marker")
	}
	if _, found, err := member.SyncGroup(group); found || err != nil {
		t.Errorf("sync of a deleted group: %v, %v", found, err)
	}
}

// A header can name any client; who polls is who signed in.
func TestPoll_TheMemberIsTheConnection(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	sure(r.root.CreateGroup(ref, "g"))
	group := command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")}
	member, stranger := r.as(rootName), r.as(rootName)
	member.must(member.JoinGroup(group))
	stranger.SetClient(member.Client())
	p := fromFirst(ref, 0)
	p.Consumer = inGroup("g")
	if !sure(stranger.Poll(p)).Resync() {
		t.Error("a stranger polls under the id of a member")
	}
	if _, found, _ := stranger.SyncGroup(group); found {
		t.Error("a stranger syncs under the id of a member")
	}
}

func TestPoll_ReplyStaysBelowTheFrameLimit(t *testing.T) {
	const limit = 64 << 10
	r := openRig(t, setup{session: func(o *Options) { o.MaxFrameBytes = limit }})
	ref := r.topic("s", "t", 1)
	payload := string(bytes.Repeat([]byte("x"), 5000))
	for range 20 {
		r.root.send(ref, to(0), payload, payload)
	}
	p, seen := fromFirst(ref, 0), uint64(0)
	p.Strategy = command.FromOffset
	for seen < 40 {
		p.Value = seen
		got := sure(r.root.Poll(p))
		if size := protocol.HeaderSize + command.PollReplySize + len(got.Records); size > limit {
			t.Fatalf("a reply of %d bytes", size)
		}
		if got.Count == 0 {
			t.Fatalf("nothing at offset %d", seen)
		}
		seen += uint64(got.Count)
	}
}

func TestPoll_AutoCommitMovesNextAndNeverBack(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	r.root.send(ref, to(0), "0", "1", "2", "3")
	p := fromFirst(ref, 0)
	p.Strategy, p.Count, p.AutoCommit = command.FromNext, 2, true
	offset := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}
	for _, want := range [][]string{{"0", "1"}, {"2", "3"}, nil} {
		if got := payloads(sure(r.root.Poll(p)).Records); !slices.Equal(got, want) {
			t.Errorf("polled %v; want %v", got, want)
		}
	}
	p.Strategy = command.FromFirst
	sure(r.root.Poll(p))
	if got := sure2(r.root.GetOffset(offset)); got.Stored != 3 {
		t.Errorf("stored %d; want 3", got.Stored)
	}
}

func TestFlush_Outcomes(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	r.root.send(ref, to(0), "x")
	r.newUser("nobody", nil)
	nobody := r.as("nobody")
	for _, fsync := range []bool{false, true} {
		r.root.must(r.root.Flush(ref, 0, fsync))
		r.root.must(r.root.Flush(ref, 1, fsync)) // never used
	}
	r.root.wants("unknown stream", r.root.Flush(at("none", "t"), 0, true), denied(protocol.CodeStreamIdNotFound))
	r.root.wants("unknown topic", r.root.Flush(at("s", "none"), 0, true), denied(protocol.CodeTopicIdNotFound))
	r.root.wants("unknown partition", r.root.Flush(ref, 2, true), denied(protocol.CodePartitionNotFound))
	nobody.wants("no right", nobody.Flush(ref, 0, true), denied(protocol.CodeUnauthorized))
}
