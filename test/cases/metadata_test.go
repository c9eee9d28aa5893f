package cases

import (
	"fmt"
	"math/rand/v2"
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

// names lists streams, topics of stream 0, groups of topic 0, users and tokens with their ids.
func names(c *drive.Client) string {
	var b strings.Builder
	streams, err := command.DecodeStreams(c.Ask(protocol.CmdStreamList, nil))
	c.Must(err)
	for _, s := range streams {
		fmt.Fprintf(&b, "stream %d %s\n", s.ID, s.Name)
		topics, err := command.DecodeTopics(c.Ask(protocol.CmdTopicList, numbered(s.ID).Append(nil)))
		c.Must(err)
		for _, topic := range topics {
			fmt.Fprintf(&b, "topic %d %s with %d partitions\n", topic.ID, topic.Name, topic.PartitionsCount)
			ref := command.TopicRef{Stream: numbered(s.ID), Topic: numbered(topic.ID)}
			groups, err := command.DecodeGroups(c.Ask(protocol.CmdConsumerGroupList, ref.Append(nil)))
			c.Must(err)
			for _, g := range groups {
				fmt.Fprintf(&b, "group %d %s\n", g.ID, g.Name)
			}
		}
	}
	users, err := command.DecodeUsers(c.Ask(protocol.CmdUserList, nil))
	c.Must(err)
	for _, u := range users {
		fmt.Fprintf(&b, "user %d %s\n", u.ID, u.Username)
	}
	tokens, err := command.DecodeTokens(c.Ask(protocol.CmdPersonalAccessTokenList, nil))
	c.Must(err)
	for _, token := range tokens {
		fmt.Fprintf(&b, "token %s\n", token.Name)
	}
	return b.String()
}

// IGGY-2548: ids with holes survive restarts, and new ids follow the rule of their kind.
func TestRestart_WithDeletedEntitiesKeepsIDs(t *testing.T) {
	s, c := drive.Fresh(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	c.NewTopic("0", "0", 2)
	topic := command.TopicRef{Stream: named("0"), Topic: named("0")}
	partitions := command.PartitionsChange{TopicRef: topic, Count: 1}.Append(nil)
	// Each either succeeds or is refused; what counts is that a restart changes nothing.
	for round := range 6 {
		for range 25 {
			name := fmt.Sprint(1 + rng.IntN(6))
			for _, try := range []func() error{
				func() error {
					return c.Try(protocol.OpCreateStream, command.CreateStream{Name: []byte(name)}.Append(nil))
				},
				func() error { return c.DeleteStream(named(name)) },
				func() error { _, err := c.CreateTopic(named("0"), name, 1); return err },
				func() error { return c.DeleteTopic(command.TopicRef{Stream: named("0"), Topic: named(name)}) },
				func() error { _, err := c.CreateGroup(topic, name); return err },
				func() error {
					return c.Try(protocol.OpDeleteConsumerGroup, command.GroupRef{TopicRef: topic, Group: named(name)}.Append(nil))
				},
				func() error {
					return c.Try(protocol.OpCreatePersonalAccessToken, command.CreateToken{Name: []byte(name)}.Append(nil))
				},
				func() error { return c.Try(protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, name)) },
				func() error { return c.Try(protocol.OpDeleteUser, named("user "+name).Append(nil)) },
				func() error { return c.Try(protocol.OpCreatePartitions, partitions) },
				func() error { return c.Try(protocol.OpDeletePartitions, partitions) },
			} {
				if rng.IntN(2) == 0 {
					if _, answered := drive.AnswerOf(try()); !answered {
						t.Fatal("no answer")
					}
				}
			}
		}
		user := command.CreateUser{Username: fmt.Appendf(nil, "user %d", 1+rng.IntN(6)), Password: []byte("password"), Status: command.UserActive}
		_ = c.Try(protocol.OpCreateUser, user.Append(nil)) // may exist
		want := names(c)
		if round%2 == 0 {
			s.Restart()
		} else {
			s.Crash()
		}
		c = drive.Root(t, s)
		if got := names(c); got != want {
			t.Fatalf("round %d: before\n%s\nafter\n%s", round, want, got)
		}
	}
	used := map[uint32]bool{}
	all, err := command.DecodeStreams(c.Ask(protocol.CmdStreamList, nil))
	c.Must(err)
	for _, s := range all {
		used[s.ID] = true
	}
	free := uint32(0)
	for used[free] {
		free++
	}
	drive.Check(t, "id of the next stream", c.NewStream("next").ID(), free)
}

// IGGY-2736: purging one topic leaves the counters of its siblings alone.
func TestPurge_OfOneTopicLeavesItsSiblingsInTheStatistics(t *testing.T) {
	_, c := drive.Fresh(t)
	a, b := c.NewTopic("orders", "a", 2), c.NewTopic("orders", "b", 1)
	for i := range 10 {
		c.Send(a.TopicRef, uint32(i%2), "x")
		c.Send(b.TopicRef, 0, "x")
	}
	size := uint64(len(drive.Record("x")))
	counts := func(what string, inA, inB uint64) {
		t.Helper()
		stats := c.Stats()
		d, _, err := c.GetStream(a.Stream)
		c.Must(err)
		da, db := c.Details(a.TopicRef), c.Details(b.TopicRef)
		got := [...]uint64{stats.Messages, stats.MessagesBytes, d.MessagesCount, d.SizeBytes, da.MessagesCount, da.SizeBytes, db.MessagesCount, db.SizeBytes, uint64(stats.Segments)}
		want := [...]uint64{inA + inB, (inA + inB) * size, inA + inB, (inA + inB) * size, inA, inA * size, inB, inB * size, 3}
		if got != want {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	counts("sent", 10, 10)
	c.Apply(protocol.OpPurgeTopic, a.TopicRef.Append(nil))
	counts("a purged", 0, 10)
	c.Apply(protocol.OpPurgeTopic, a.TopicRef.Append(nil))
	counts("a purged twice", 0, 10)
	c.Apply(protocol.OpPurgeTopic, b.TopicRef.Append(nil))
	counts("b purged", 0, 0)
	c.Send(a.TopicRef, 1, "x")
	counts("sent again", 1, 0)
}

// IGGY-3768: a node with limits of its own that has served a client boots again.
func TestRestart_WithOtherLimitsAfterServingAClient(t *testing.T) {
	s, c := drive.Fresh(t, "IGGY_METADATA_CLIENTS_TABLE_MAX=3", "IGGY_METADATA_PREPARE_QUEUE_DEPTH=2", "IGGY_PARTITION_PREPARE_QUEUE_DEPTH=2",
		"IGGY_METADATA_JOURNAL_SLOTS=256", "IGGY_PARTITION_OFFSET_RESERVATION_LEASE=5", "IGGY_SYSTEM_SHARDING_INBOX_CAPACITY=1",
		"IGGY_SYSTEM_SHARDING_CPU_ALLOCATION=1", "IGGY_MESSAGE_BUS_MAX_BATCH=1", "IGGY_MESSAGE_BUS_PEER_QUEUE_CAPACITY=129")
	topic := c.NewTopic("orders", "events", 4)
	frame := c.AppendFrame(nil, protocol.OpCreateStream, 0, command.CreateStream{Name: []byte("retried")}.Append(nil))
	first, err := c.Exchange(frame)
	c.Must(err)
	want := append(first.Header[:], first.Body...)
	last := map[uint32]uint64{}
	for life, again := range []func(){s.Restart, s.Crash, s.Crash} {
		for i := range 40 {
			p := uint32(i % 4)
			offset := c.Send(topic.TopicRef, p, fmt.Sprint(life, " ", i))
			if before, any := last[p]; any && offset <= before {
				t.Errorf("offset %d after %d", offset, before)
			}
			last[p] = offset
		}
		again()
		next := drive.DialOptions(t, s, rawclient.Options{Client: c.Client()})
		next.Must(next.SignIn(process.RootName, process.RootPassword))
		reply, err := next.Exchange(frame)
		next.Must(err)
		if got := append(reply.Header[:], reply.Body...); !slices.Equal(got, want) {
			t.Errorf("life %d: a retried request is answered anew", life)
		}
		c = next
	}
	for p := range uint32(4) {
		drive.Check(t, "messages", len(c.All(topic.TopicRef, p)), 30)
	}
}

// IGGY-3907: ids at the packing limit are refused, never masked into another partition.
func TestIDs_BeyondThePackingLimitAreRefused(t *testing.T) {
	_, c := drive.Fresh(t)
	stream := c.NewStream("orders")
	body := func(i int) []byte {
		return command.CreateTopic{Stream: stream, Name: fmt.Append(nil, i), PartitionsCount: 1}.Append(nil)
	}
	for i := range protocol.MaxTopics {
		c.Must(c.Try(protocol.OpCreateTopic, body(i)))
	}
	drive.Want(t, "one more topic", c.Try(protocol.OpCreateTopic, body(protocol.MaxTopics)), drive.Rejected(protocol.CodeTooManyTopics))
	at := func(topic uint32) command.TopicRef {
		return command.TopicRef{Stream: stream, Topic: numbered(topic)}
	}
	for round := range 3 {
		c.Must(c.DeleteTopic(at(7)))
		c.Must(c.Try(protocol.OpCreateTopic, body(10_000+round)))
		drive.Want(t, "one more topic", c.Try(protocol.OpCreateTopic, body(protocol.MaxTopics)), drive.Rejected(protocol.CodeTooManyTopics))
	}
	for _, topic := range []uint32{0, 7, protocol.MaxTopics - 1} {
		c.Send(at(topic), 0, fmt.Sprint("to ", topic))
	}
	for _, topic := range []uint32{0, 7, protocol.MaxTopics - 1} {
		if got := drive.Bodies(c.All(at(topic), 0)); !slices.Equal(got, []string{fmt.Sprint("to ", topic)}) {
			t.Errorf("topic %d has %v", topic, got)
		}
	}
	_, err := c.SendMessages(at(protocol.MaxTopics), drive.To(0), drive.Record("beyond"))
	drive.Want(t, "send beyond", err, drive.Denied(protocol.CodeTopicIdNotFound))
}
