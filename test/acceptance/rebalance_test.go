package acceptance

import (
	"slices"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// busy is a group whose one member has polled every partition and committed nothing.
func busy(t *testing.T, partitions uint32, env ...string) (*process.Server, *drive.Client, drive.Topic, *member) {
	t.Helper()
	s, c := drive.Fresh(t, env...)
	topic := c.NewTopic("orders", "events", partitions)
	group := newGroup(c, topic, "workers")
	m := join(t, s, group)
	for p := range partitions {
		c.Send(topic.TopicRef, p, "x", "y")
		if got, owned := m.take(p, 2); !owned || len(got) != 2 {
			t.Fatalf("partition %d: owned %v, %d messages", p, owned, len(got))
		}
	}
	return s, c, topic, m
}

const longTimeout, shortTimeout = "IGGY_CONSUMER_GROUP_REBALANCING_TIMEOUT=60s", "IGGY_CONSUMER_GROUP_REBALANCING_TIMEOUT=1s"

func TestRebalance_PartitionsThatWereNeverPolledMoveAtOnce(t *testing.T) {
	s, c := drive.Fresh(t, longTimeout)
	topic := c.NewTopic("orders", "events", 4)
	group := newGroup(c, topic, "workers")
	a := join(t, s, group)
	drive.Check(t, "partitions of the first", len(a.owns()), 4)
	b := join(t, s, group)
	drive.Check(t, "partitions of the second", len(b.owns()), 2)
	cover(t, "both", 4, a, b)
}

func TestRebalance_AHandOverWaitsForTheCommitOfItsSource(t *testing.T) {
	s, c, topic, a := busy(t, 4, longTimeout)
	b := join(t, s, a.group)
	kept := a.owns()
	drive.Check(t, "partitions of the source", len(kept), 2)
	drive.Check(t, "partitions of the target before the commit", len(b.owns()), 0)
	var moving []uint32
	for _, p := range numbers(0, 4) {
		if !slices.Contains(kept, p) {
			moving = append(moving, p)
		}
	}
	for i, p := range moving {
		if _, owned := a.take(p, 1); owned {
			t.Errorf("partition %d is polled while it is handed over", p)
		}
		time.Sleep(50 * time.Millisecond)
		drive.Check(t, "partitions of the target while it waits", len(b.owns()), i)
		drive.Want(t, "commit to a partition that is handed over", a.commit(p, 1), drive.OK)
		s.Eventually(10*time.Second, "the committed partition moves", func() bool { return slices.Contains(b.owns(), p) })
	}
	if d := details(c, a.group); len(d.Members) != 2 || len(d.Members[0].Partitions) != 2 || len(d.Members[1].Partitions) != 2 {
		t.Errorf("group %+v", d)
	}
	c.Send(topic.TopicRef, moving[0], "z")
	if got, owned := b.take(moving[0], 10); !owned || !slices.Equal(drive.Bodies(got), []string{"z"}) {
		t.Errorf("the new owner gets %v, owned %v; want what follows the commit", drive.Bodies(got), owned)
	}
}

func TestRebalance_AHandOverEndsAfterItsTimeout(t *testing.T) {
	s, _, _, a := busy(t, 2, shortTimeout)
	began := time.Now()
	b := join(t, s, a.group)
	drive.Check(t, "partitions of the target at first", len(b.owns()), 0)
	s.Eventually(15*time.Second, "the partition moves", func() bool { return len(b.owns()) == 1 })
	if waited := time.Since(began); waited < 900*time.Millisecond {
		t.Errorf("the partition moved after %v, before the timeout of a second", waited)
	}
	cover(t, "both", 2, a, b)
}

func TestRebalance_PeopleLeaveWhilePartitionsAreHandedOver(t *testing.T) {
	for name, leave := range map[string]func(a, b, other *member) []*member{
		"the source leaves": func(a, b, other *member) []*member {
			a.Must(a.LeaveGroup(a.group))
			return []*member{b, other}
		},
		"the target leaves": func(a, b, other *member) []*member {
			b.Must(b.LeaveGroup(b.group))
			return []*member{a, other}
		},
		"another member leaves": func(a, b, other *member) []*member {
			other.Must(other.LeaveGroup(other.group))
			return []*member{a, b}
		},
		"the target disconnects": func(a, b, other *member) []*member {
			b.Must(b.Close())
			return []*member{a, other}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, _, a := busy(t, 4, longTimeout)
			b := join(t, s, a.group)
			drive.Check(t, "partitions of the target", len(b.owns()), 0)
			left := leave(a, b, join(t, s, a.group))
			s.Eventually(10*time.Second, "the group has two members", func() bool { return details(c, a.group).MembersCount == 2 })
			cover(t, name, 4, left...)
		})
	}
}

func TestRebalance_PartitionsAddedDuringAHandOver(t *testing.T) {
	s, c, topic, a := busy(t, 2, longTimeout)
	b := join(t, s, a.group)
	c.Apply(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: topic.TopicRef, Count: 3}.Append(nil))
	cover(t, "all five", 5, a, b)
	if got := sizes(a, b); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("members hold %v", got)
	}
	third := join(t, s, a.group)
	b.Must(b.Close())
	s.Eventually(10*time.Second, "the closed connection has left", func() bool { return details(c, a.group).MembersCount == 2 })
	cover(t, "after a disconnect and a join", 5, a, third)
	c.Apply(protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: topic.TopicRef, Count: 4}.Append(nil))
	cover(t, "one partition left", 1, a, third)
	if _, owned := a.take(4, 1); owned {
		t.Error("a poll of a partition that was removed is answered without the marker")
	}
}

// Members come, go and vanish while the topic grows and a producer sends: nothing is lost.
func TestRebalance_ChurnKeepsOneOwnerAndLosesNothing(t *testing.T) {
	s, c := drive.Fresh(t, shortTimeout)
	topic := c.NewTopic("orders", "events", 4)
	group := newGroup(c, topic, "workers")
	seen := map[string]bool{}
	sent := 0
	partitions := uint32(4)
	var members []*member
	read := func() {
		for _, m := range members {
			for _, p := range m.owns() {
				got, owned := m.take(p, 50)
				for _, message := range got {
					seen[message.Payload] = true
				}
				if n := len(got); owned && n > 0 {
					m.Must(m.commit(p, got[n-1].Offset))
				}
			}
		}
	}
	for round := range 24 {
		for p := range partitions {
			c.Send(topic.TopicRef, p, drive.Payloads("round", sent+2)[sent:]...)
			sent += 2
		}
		switch {
		case len(members) < 2 || round%3 == 0:
			members = append(members, join(t, s, group))
		case round%3 == 1:
			members[0].Must(members[0].Close())
			members = members[1:]
			s.Eventually(10*time.Second, "the closed connection has left", func() bool { return int(details(c, group).MembersCount) == len(members) })
		case partitions < 10:
			c.Apply(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: topic.TopicRef, Count: 2}.Append(nil))
			partitions += 2
		}
		read()
	}
	s.Eventually(20*time.Second, "every message was read", func() bool {
		read()
		return len(seen) == sent
	})
	cover(t, "at the end", int(partitions), members...)
}

func TestRebalance_SilentMembersAreRemovedAndOthersIdleForever(t *testing.T) {
	s, c := drive.Fresh(t, "IGGY_HEARTBEAT_INTERVAL=500ms")
	topic := c.NewTopic("orders", "events", 2)
	group := newGroup(c, topic, "workers")
	silent, lively := join(t, s, group), join(t, s, group)
	outsider := drive.Root(t, s)
	s.Eventually(15*time.Second, "the silent member is removed", func() bool {
		lively.Must(lively.Ping())
		return details(c, group).MembersCount == 1
	})
	cover(t, "the lively one", 2, lively)
	var frame protocol.EvictionHeader
	readFull(t, silent.Client, frame[:])
	drive.Check(t, "reason", frame.Reason(), protocol.EvictStaleClient)
	silent.Must(silent.SignIn(process.RootName, process.RootPassword))
	silent.Must(silent.JoinGroup(group))
	cover(t, "both again", 2, silent, lively)
	outsider.Must(outsider.TryRead(protocol.CmdStreamList, nil))
}

func TestRebalance_MembersOfALifeBeforeAreRemovedWhenTheyDoNotReturn(t *testing.T) {
	s, c := drive.Fresh(t, "IGGY_HEARTBEAT_INTERVAL=500ms")
	topic := c.NewTopic("orders", "events", 3)
	group := newGroup(c, topic, "workers")
	join(t, s, group)
	join(t, s, group)
	s.Crash()
	c = drive.Root(t, s)
	m := join(t, s, group)
	s.Eventually(15*time.Second, "the members that are gone are removed", func() bool {
		m.Must(m.Ping())
		return details(c, group).MembersCount == 1
	})
	cover(t, "the one that came", 3, m)
}
