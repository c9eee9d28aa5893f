package session

import (
	"slices"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// members returns who is in a group, and what they own.
func (r *rig) members(g command.GroupRef) []command.GroupMember {
	r.t.Helper()
	return sure(command.DecodeGroupDetails(r.root.ask(protocol.CmdConsumerGroupGet, g.Append(nil)))).Members
}

// owns returns what a member may poll.
func (c *client) owns(g command.GroupRef) []uint32 {
	c.t.Helper()
	s, found, err := c.SyncGroup(g)
	c.must(err)
	if !found {
		return nil
	}
	return s.Partitions
}

// pollNext polls a partition as a member, from where the group is.
func (c *client) pollNext(g command.GroupRef, partition, count uint32, commit bool) ([]string, bool) {
	c.t.Helper()
	got, err := c.Poll(command.PollMessages{
		Consumer: protocol.Consumer{Kind: protocol.ConsumerGroup, ID: g.Group}, TopicRef: g.TopicRef, Partition: partition, HasPartition: true,
		Strategy: command.FromNext, Count: count, AutoCommit: commit,
	})
	c.must(err)
	return payloads(got.Records), got.Resync()
}

func (r *rig) group(ref command.TopicRef, name string) command.GroupRef {
	r.t.Helper()
	sure(r.root.CreateGroup(ref, name))
	return command.GroupRef{TopicRef: ref, Group: protocol.NamedID(name)}
}

// wantCover checks that every partition is polled by exactly one of the members.
func wantCover(t *testing.T, g command.GroupRef, partitions uint32, members ...*client) {
	t.Helper()
	var all []uint32
	for _, m := range members {
		all = append(all, m.owns(g)...)
	}
	slices.Sort(all)
	for i := range partitions {
		if int(i) >= len(all) || all[i] != i || len(all) != int(partitions) {
			t.Fatalf("the members own %v; want 0 to %d once each", all, partitions-1)
		}
	}
}

func TestGroups_MembersComeAndGo(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 3)
	g := r.group(ref, "g")
	clients := []*client{r.as(rootName), r.as(rootName), r.as(rootName)}
	for n, c := range clients {
		c.must(c.JoinGroup(g))
		if got := len(r.members(g)); got != n+1 {
			t.Fatalf("%d members after %d joins", got, n+1)
		}
		wantCover(t, g, 3, clients[:n+1]...)
		me := sure(command.DecodeClient(c.ask(protocol.CmdMe, nil)))
		if me.GroupsCount != 1 || me.Groups[0] != (command.ClientGroup{Stream: 0, Topic: 0, Group: 0}) {
			t.Errorf("me: %+v", me)
		}
	}
	clients[0].must(clients[0].LeaveGroup(g))
	wantCover(t, g, 3, clients[1:]...)
	_ = clients[1].Close()
	eventually(t, "the closed connection leaves", func() bool { return len(r.members(g)) == 1 })
	wantCover(t, g, 3, clients[2])
	clients[2].must(clients[2].SignOut())
	if got := r.members(g); len(got) != 0 {
		t.Errorf("%d members after the last logged out", len(got))
	}
}

func TestGroups_OneMemberReadsEverything(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 3)
	g := r.group(ref, "g")
	for range 9 {
		r.root.send(ref, protocol.Partitioning{Kind: protocol.PartitionBalanced}, "x")
	}
	c := r.as(rootName)
	c.must(c.JoinGroup(g))
	total := 0
	for _, p := range c.owns(g) {
		got, resync := c.pollNext(g, p, 100, true)
		if resync {
			t.Errorf("partition %d: resync", p)
		}
		total += len(got)
	}
	if total != 9 {
		t.Errorf("%d messages", total)
	}
}

func TestGroups_ContinueBehindTheCommit(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	g := r.group(ref, "g")
	r.root.send(ref, to(0), "0", "1", "2", "3", "4")
	first := r.as(rootName)
	first.must(first.JoinGroup(g))
	first.pollNext(g, 0, 2, true)
	_ = first.Close()
	second := r.as(rootName)
	second.must(second.JoinGroup(g))
	eventually(t, "the partition is handed on", func() bool { return len(second.owns(g)) == 1 })
	if got, _ := second.pollNext(g, 0, 2, true); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("polled %v", got)
	}
}

func TestGroups_DeletedGroupLeavesNoOffset(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	g := r.group(ref, "g")
	r.root.send(ref, to(0), "0", "1")
	c := r.as(rootName)
	c.must(c.JoinGroup(g))
	place := command.OffsetRef{Consumer: inGroup("g"), TopicRef: ref, HasPartition: true}
	c.must(c.StoreOffset(place, 1, protocol.AckQuorum))
	c.does("a second group of that name", protocol.OpCreateConsumerGroup, command.CreateGroup{TopicRef: ref, Name: []byte("g")}.Append(nil),
		rejected(protocol.CodeConsumerGroupNameAlreadyExists))
	wantCover(t, g, 1, c) // and the live one goes on
	r.root.apply(protocol.OpDeleteConsumerGroup, g.Append(nil))
	if body := c.ask(protocol.CmdConsumerOffsetGet, place.Append(nil)); len(body) != 0 {
		t.Error("the offset of a deleted group is served")
	}
	if me := sure(command.DecodeClient(c.ask(protocol.CmdMe, nil))); me.GroupsCount != 0 {
		t.Errorf("me: %+v", me)
	}
	r.group(ref, "g")
	c.must(c.JoinGroup(g))
	if got, _ := c.pollNext(g, 0, 9, false); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("the new group begins with %v", got)
	}
}

func TestGroups_MemberWithoutPartitionsWaits(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	g := r.group(ref, "g")
	first, second := r.as(rootName), r.as(rootName)
	first.must(first.JoinGroup(g))
	second.must(second.JoinGroup(g))
	s, found, err := second.SyncGroup(g)
	if err != nil || !found || len(s.Partitions) != 0 {
		t.Errorf("synced %+v, %v, %v", s, found, err)
	}
}

func TestGroups_NeverPolledPartitionsMoveAtOnce(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 4)
	g := r.group(ref, "g")
	first, second := r.as(rootName), r.as(rootName)
	first.must(first.JoinGroup(g))
	second.must(second.JoinGroup(g))
	wantCover(t, g, 4, first, second)
	if len(second.owns(g)) != 2 {
		t.Errorf("the newcomer owns %v", second.owns(g))
	}
}

// handingOver makes a group whose only partition was polled and not committed, and a second member that waits
// for it.
func handingOver(t *testing.T, s setup) (r *rig, g command.GroupRef, source, target *client) {
	t.Helper()
	r = openRig(t, s)
	ref := r.topic("s", "t", 2)
	g = r.group(ref, "g")
	r.root.send(ref, to(0), "0", "1")
	r.root.send(ref, to(1), "0", "1")
	source, target = r.as(rootName), r.as(rootName)
	source.must(source.JoinGroup(g))
	source.pollNext(g, 0, 9, false)
	source.pollNext(g, 1, 9, false)
	target.must(target.JoinGroup(g))
	if got := target.owns(g); len(got) != 0 {
		t.Fatalf("the target owns %v before the source has committed", got)
	}
	if got := source.owns(g); len(got) != 1 {
		t.Fatalf("the source may poll %v", got)
	}
	return r, g, source, target
}

func TestGroups_HandOverWaitsForTheCommit(t *testing.T) {
	_, g, source, target := handingOver(t, setup{})
	kept := source.owns(g)[0]
	moving := 1 - kept
	if _, resync := source.pollNext(g, moving, 9, false); !resync {
		t.Error("the source still polls what it hands over")
	}
	place := command.OffsetRef{Consumer: inGroup("g"), TopicRef: g.TopicRef, Partition: moving, HasPartition: true}
	target.does("commit by the target", protocol.OpStoreConsumerOffset, storeBody(place, 0, 1), denied(protocol.CodeConsumerGroupPartitionNotOwned))
	source.must(source.StoreOffset(place, 0, protocol.AckQuorum)) // not yet what it polled
	time.Sleep(50 * time.Millisecond)
	if got := target.owns(g); len(got) != 0 {
		t.Errorf("handed over with half of it committed: %v", got)
	}
	source.must(source.StoreOffset(place, 1, protocol.AckQuorum))
	eventually(t, "the hand-over completes", func() bool { return slices.Equal(target.owns(g), []uint32{moving}) })
	source.does("commit behind the hand-over", protocol.OpStoreConsumerOffset, storeBody(place, 1, 1), denied(protocol.CodeConsumerGroupPartitionNotOwned))
}

func TestGroups_HandOverEndsAfterItsTime(t *testing.T) {
	_, g, _, target := handingOver(t, setup{node: func(o *node.Options) { o.Limits.RebalanceTicks = 20 }})
	eventually(t, "the hand-over times out", func() bool { return len(target.owns(g)) == 1 })
}

func TestGroups_HandOverAndMembersThatGo(t *testing.T) {
	t.Run("source leaves", func(t *testing.T) {
		_, g, source, target := handingOver(t, setup{})
		source.must(source.LeaveGroup(g))
		wantCover(t, g, 2, target)
	})
	t.Run("target leaves", func(t *testing.T) {
		_, g, source, target := handingOver(t, setup{})
		target.must(target.LeaveGroup(g))
		wantCover(t, g, 2, source)
	})
	t.Run("partitions are added", func(t *testing.T) {
		r, g, source, target := handingOver(t, setup{})
		r.root.apply(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: g.TopicRef, Count: 2}.Append(nil))
		wantCover(t, g, 4, source, target)
	})
}

func TestGroups_ChurnKeepsOneOwnerEach(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 4)
	g := r.group(ref, "g")
	var members []*client
	partitions := uint32(4)
	for round := range 12 {
		switch round % 4 {
		case 0, 1:
			c := r.as(rootName)
			c.must(c.JoinGroup(g))
			members = append(members, c)
		case 2:
			r.root.apply(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: ref, Count: 3}.Append(nil))
			partitions += 3
		case 3:
			_ = members[0].Close()
			members = members[1:]
			eventually(t, "a closed connection leaves", func() bool { return len(r.members(g)) == len(members) })
			r.root.apply(protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: ref, Count: 1}.Append(nil))
			partitions--
		}
		wantCover(t, g, partitions, members...)
	}
}

func TestGroups_ConcurrentJoinsShareEvenly(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 16)
	g := r.group(ref, "g")
	members := make([]*client, 8)
	joined := make(chan error, len(members))
	for i := range members {
		members[i] = r.as(rootName)
		go func() { joined <- members[i].JoinGroup(g) }()
	}
	for range members {
		if err := <-joined; err != nil {
			t.Fatal(err)
		}
	}
	wantCover(t, g, 16, members...)
	for i, m := range members {
		if got := len(m.owns(g)); got != 2 {
			t.Errorf("member %d owns %d partitions", i, got)
		}
	}
}
