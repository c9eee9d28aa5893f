package acceptance

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// member is a connection that is in a group.
type member struct {
	*drive.Client
	t     *testing.T
	group command.GroupRef
}

// newGroup creates a group and returns its reference.
func newGroup(c *drive.Client, topic drive.Topic, name string) command.GroupRef {
	d, err := c.CreateGroup(topic.TopicRef, name)
	c.Must(err)
	return command.GroupRef{TopicRef: topic.TopicRef, Group: numbered(d.ID)}
}

// join makes a new connection a member.
func join(t *testing.T, s *process.Server, group command.GroupRef) *member {
	t.Helper()
	m := &member{drive.Root(t, s), t, group}
	m.Must(m.JoinGroup(group))
	return m
}

// owns reads the partitions that the member may poll, in the order it was given.
func (m *member) owns() []uint32 {
	m.t.Helper()
	got, found, err := m.SyncGroup(m.group)
	m.Must(err)
	if !found {
		m.t.Fatal("the member is no member")
	}
	return got.Partitions
}

// take polls a partition for the group without committing.
func (m *member) take(partition, count uint32) ([]drive.Message, bool) {
	m.t.Helper()
	p := drive.Poll(m.group.TopicRef, partition, command.FromNext, 0, count)
	p.Consumer = drive.Group(m.group.Group)
	reply, messages := m.Fetch(p)
	return messages, reply.Partition != command.ResyncPartition
}

// commit stores an offset of the group.
func (m *member) commit(partition uint32, offset uint64) error {
	return m.StoreOffset(drive.OffsetOf(drive.Group(m.group.Group), m.group.TopicRef, partition), offset, protocol.AckQuorum)
}

// details reads the group.
func details(c *drive.Client, group command.GroupRef) command.GroupDetails {
	d, err := command.DecodeGroupDetails(c.Ask(protocol.CmdConsumerGroupGet, group.Append(nil)))
	c.Must(err)
	return d
}

// cover demands that members hold every partition exactly once.
func cover(t *testing.T, what string, partitions int, members ...*member) {
	t.Helper()
	var all []uint32
	for _, m := range members {
		all = append(all, m.owns()...)
	}
	slices.Sort(all)
	if want := numbers(0, partitions); !slices.Equal(all, want) {
		t.Errorf("%s: the members hold %v; want each of %d partitions once", what, all, partitions)
	}
}

// sizes lists how many partitions each member holds, sorted.
func sizes(members ...*member) []int {
	var all []int
	for _, m := range members {
		all = append(all, len(m.owns()))
	}
	slices.Sort(all)
	return all
}

func numbers(from, to int) []uint32 {
	all := []uint32{}
	for n := from; n < to; n++ {
		all = append(all, uint32(n))
	}
	return all
}

func TestGroups_LifeCycleAndRefusals(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 3)
	group := newGroup(c, topic, "workers")
	m := join(t, s, group)
	one := func(op protocol.Operation, g command.GroupRef) error { return c.Try(op, g.Append(nil)) }
	at := func(stream, topic, group string) command.GroupRef {
		return command.GroupRef{TopicRef: ref(named(stream), named(topic)), Group: named(group)}
	}
	create := func(r command.TopicRef, name string) error {
		_, err := c.CreateGroup(r, name)
		return err
	}
	for _, x := range []struct {
		name string
		err  error
		want drive.Answer
	}{
		{"create twice", create(topic.TopicRef, "workers"), drive.Rejected(protocol.CodeConsumerGroupNameAlreadyExists)},
		{"create in a missing topic", create(ref(named("orders"), named("none")), "x"), drive.Rejected(protocol.CodeTopicIdNotFound)},
		{"create in a missing stream", create(ref(named("none"), named("none")), "x"), drive.Rejected(protocol.CodeStreamIdNotFound)},
		{"join a missing stream", one(protocol.OpJoinConsumerGroup, at("none", "events", "workers")), drive.Rejected(protocol.CodeStreamIdNotFound)},
		{"join a missing topic", one(protocol.OpJoinConsumerGroup, at("orders", "none", "workers")), drive.Rejected(protocol.CodeTopicIdNotFound)},
		{"join a missing group", one(protocol.OpJoinConsumerGroup, at("orders", "events", "none")), drive.Rejected(protocol.CodeConsumerGroupIdNotFound)},
		{"leave a missing group", one(protocol.OpLeaveConsumerGroup, at("orders", "events", "none")), drive.Rejected(protocol.CodeConsumerGroupIdNotFound)},
		{"leave as a stranger", one(protocol.OpLeaveConsumerGroup, group), drive.Rejected(protocol.CodeConsumerGroupMemberNotFound)},
		{"delete a missing group", one(protocol.OpDeleteConsumerGroup, at("orders", "events", "none")), drive.Rejected(protocol.CodeConsumerGroupIdNotFound)},
		{"get in a missing stream", c.TryRead(protocol.CmdConsumerGroupGet, at("none", "events", "x").Append(nil)), drive.Denied(protocol.CodeStreamIdNotFound)},
		{"get in a missing topic", c.TryRead(protocol.CmdConsumerGroupGet, at("orders", "none", "x").Append(nil)), drive.Denied(protocol.CodeTopicIdNotFound)},
		{"list in a missing topic", c.TryRead(protocol.CmdConsumerGroupList, ref(named("orders"), named("none")).Append(nil)), drive.Denied(protocol.CodeTopicIdNotFound)},
		{"get a missing group", c.TryRead(protocol.CmdConsumerGroupGet, at("orders", "events", "none").Append(nil)), drive.OK},
	} {
		drive.Want(t, x.name, x.err, x.want)
	}
	if d := details(c, group); d.MembersCount != 1 || string(d.Name) != "workers" || d.PartitionsCount != 3 {
		t.Errorf("the live group was touched: %+v", d)
	}
	before, _, err := m.SyncGroup(group)
	m.Must(err)
	m.Must(m.JoinGroup(group))
	again, _, err := m.SyncGroup(group)
	m.Must(err)
	drive.Check(t, "generation after joining again", again.Generation, before.Generation)
	_, found, err := c.SyncGroup(group)
	c.Must(err)
	drive.Check(t, "a stranger is a member", found, false)
	c.Must(one(protocol.OpDeleteConsumerGroup, group))
	drive.Check(t, "id of the recreated group", newGroup(c, topic, "workers").Group.ID(), 1)
}

func TestGroups_MembersComeAndGo(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 3)
	group := newGroup(c, topic, "workers")
	a := join(t, s, group)
	cover(t, "one member", 3, a)
	b := join(t, s, group)
	cover(t, "two members", 3, a, b)
	third := join(t, s, group)
	cover(t, "three members", 3, a, b, third)
	if got := sizes(a, b, third); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("three members hold %v", got)
	}
	idle := join(t, s, group)
	drive.Check(t, "partitions of a fourth member", len(idle.owns()), 0)
	me, err := command.DecodeClient(idle.Ask(protocol.CmdMe, nil))
	idle.Must(err)
	if len(me.Groups) != 1 || me.Groups[0] != (command.ClientGroup{Stream: topic.StreamID, Topic: topic.ID, Group: group.Group.ID()}) {
		t.Errorf("memberships shown: %+v", me.Groups)
	}
	a.Must(a.LeaveGroup(group))
	cover(t, "after a leave", 3, b, third, idle)
	b.Must(b.Close())
	s.Eventually(10*time.Second, "a closed connection has left", func() bool { return details(c, group).MembersCount == 2 })
	cover(t, "after a disconnect", 3, third, idle)
	third.Must(third.SignOut())
	cover(t, "after a logout", 3, idle)
	if d := details(c, group); len(d.Members) != 1 || len(d.Members[0].Partitions) != 3 {
		t.Errorf("group %+v; want one member with all partitions", d)
	}
}

func TestGroups_OneMemberReadsEverything(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 4)
	group := newGroup(c, topic, "workers")
	for i := range 100 {
		to := protocol.Partitioning{Kind: protocol.PartitionByKey, Key: fmt.Appendf(nil, "key-%d", i%7)}
		if i%2 == 0 {
			to = protocol.Partitioning{Kind: protocol.PartitionBalanced}
		}
		_, err := c.SendMessages(topic.TopicRef, to, drive.Record(fmt.Sprint(i)))
		c.Must(err)
	}
	m := join(t, s, group)
	seen := map[string]int{}
	for range 30 {
		for _, p := range m.owns() {
			got, owned := m.take(p, 10)
			if !owned {
				t.Fatalf("partition %d is not owned", p)
			}
			for _, message := range got {
				seen[message.Payload]++
			}
			if n := len(got); n > 0 {
				m.Must(m.commit(p, got[n-1].Offset))
			}
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d messages; want 100", len(seen))
	}
	for payload, n := range seen {
		if n != 1 {
			t.Errorf("message %s came %d times", payload, n)
		}
	}
}

func TestGroups_OnlyOwnersPollAndCommit(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 2)
	group := newGroup(c, topic, "workers")
	for p := range uint32(2) {
		c.Send(topic.TopicRef, p, "x")
	}
	a, b := join(t, s, group), join(t, s, group)
	mine, others := a.owns()[0], b.owns()[0]
	if got, owned := a.take(mine, 1); !owned || len(got) != 1 {
		t.Errorf("poll of the own partition: owned %v, %d messages", owned, len(got))
	}
	stranger := &member{drive.Root(t, s), t, group}
	for name, owned := range map[string]bool{
		"a partition of another member": second(a.take(others, 1)),
		"a missing partition":           second(a.take(99, 1)),
		"as a stranger":                 second(stranger.take(mine, 1)),
	} {
		if owned {
			t.Errorf("a poll of %s is answered without the marker to sync", name)
		}
	}
	drive.Want(t, "commit to the own partition", a.commit(mine, 0), drive.OK)
	drive.Want(t, "commit to another member's", a.commit(others, 0), drive.Denied(protocol.CodeConsumerGroupPartitionNotOwned))
	drive.Want(t, "commit of a stranger", stranger.commit(mine, 0), drive.Denied(protocol.CodeConsumerGroupMemberNotFound))
	drive.Want(t, "commit past the end", a.commit(mine, 1), drive.Denied(protocol.CodeInvalidOffset))
	drive.Want(t, "delete by another member", b.DeleteOffset(drive.OffsetOf(drive.Group(group.Group), topic.TopicRef, mine), protocol.AckQuorum),
		drive.Denied(protocol.CodeConsumerGroupPartitionNotOwned))
	if stored, found := stranger.Stored(drive.Group(group.Group), topic.TopicRef, mine); !found || stored != 0 {
		t.Errorf("anybody may read the offset of a group: %d, %v", stored, found)
	}
	// A header that names another member changes nothing: identity is the connection's.
	p := drive.Poll(topic.TopicRef, others, command.FromFirst, 0, 1)
	p.Consumer = drive.Group(group.Group)
	frame := a.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdMessagePoll, p.Append(nil))
	(*protocol.RequestHeader)(frame).SetClient(b.Client.Client())
	reply, err := a.Exchange(frame)
	a.Must(err)
	head, _, err := command.DecodePollReply(reply.Body)
	a.Must(err)
	drive.Check(t, "partition of a poll under a foreign client id", head.Partition, command.ResyncPartition)
}

func second[A, B any](_ A, b B) B { return b }

func TestGroups_DeletionForgetsOffsetsAndTellsMembers(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	c.Send(topic.TopicRef, 0, "a", "b", "c")
	group := newGroup(c, topic, "workers")
	m, idle := join(t, s, group), join(t, s, group)
	if _, owned := m.take(0, 2); !owned {
		t.Fatal("the first member owns nothing")
	}
	m.Must(m.commit(0, 1))
	if _, owned := idle.take(0, 1); owned {
		t.Error("a member without partitions gets messages")
	}
	c.Must(c.Try(protocol.OpDeleteConsumerGroup, group.Append(nil)))
	for _, member := range []*member{m, idle} {
		if _, found, err := member.SyncGroup(group); err != nil || found {
			t.Errorf("sync with a deleted group: %v, %v", found, err)
		}
		if _, owned := member.take(0, 1); owned {
			t.Error("a poll for a deleted group is answered without the marker")
		}
	}
	again := newGroup(c, topic, "workers")
	if stored, found := c.Stored(drive.Group(again.Group), topic.TopicRef, 0); found {
		t.Errorf("the recreated group has the offset %d", stored)
	}
	successor := join(t, s, again)
	if got, _ := successor.take(0, 10); len(got) != 3 {
		t.Errorf("the recreated group gets %v; want all", drive.Bodies(got))
	}
}

func TestGroups_ConcurrentJoinsSpreadEvenly(t *testing.T) {
	for _, c := range []struct {
		partitions, members int
		want                []int
	}{
		{16, 16, slices.Repeat([]int{1}, 16)},
		{16, 5, []int{3, 3, 3, 3, 4}},
		{3, 6, []int{0, 0, 0, 1, 1, 1}},
		{7, 2, []int{3, 4}},
	} {
		t.Run(fmt.Sprintf("%d partitions %d members", c.partitions, c.members), func(t *testing.T) {
			s, root := drive.Fresh(t)
			topic := root.NewTopic("orders", "events", uint32(c.partitions))
			group := newGroup(root, topic, "workers")
			members := make([]*member, c.members)
			for i := range members {
				members[i] = &member{drive.Root(t, s), t, group}
			}
			errs := make(chan error, c.members)
			var joined sync.WaitGroup
			for _, m := range members {
				joined.Go(func() { errs <- m.JoinGroup(group) })
			}
			joined.Wait()
			for range members {
				root.Must(<-errs)
			}
			cover(t, "joined", c.partitions, members...)
			if got := sizes(members...); !slices.Equal(got, c.want) {
				t.Errorf("members hold %v partitions; want %v", got, c.want)
			}
			members[0].Must(members[0].LeaveGroup(group))
			cover(t, "after a leave", c.partitions, members[1:]...)
			if got := sizes(members[1:]...); got[len(got)-1]-got[0] > 1 {
				t.Errorf("after a leave the members hold %v", got)
			}
		})
	}
}
