package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

const mib = 1 << 20

func named(name string) protocol.Identifier  { return protocol.NamedID(name) }
func numbered(id uint32) protocol.Identifier { return protocol.NumericID(id) }

// smallSegments is a topic of one partition whose segments hold three messages of third.
func smallSegments(c *drive.Client, more ...protocol.Pair) drive.Topic {
	return c.NewTopic("orders", "events", 1, append([]protocol.Pair{command.U64Option("segment_size", mib)}, more...)...)
}

// third is a message of a bit more than a third of the smallest segment that says its number.
func third(n int) string { return fmt.Sprintf("%d %s", n, strings.Repeat("x", 360<<10)) }

// first is the offset of the first message left.
func first(c *drive.Client, topic drive.Topic) uint64 {
	head, got := c.Fetch(drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 1))
	if len(got) == 0 {
		return head.CurrentOffset + 1
	}
	return got[0].Offset
}

func deleteSegments(c *drive.Client, topic drive.Topic, count uint32) {
	c.Apply(protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: topic.TopicRef, Count: count}.Append(nil))
}

// join makes a connection a member of a group of the topic, which is created when it is missing.
func join(t *testing.T, s *process.Server, topic drive.Topic, name string) (*drive.Client, command.GroupRef) {
	t.Helper()
	c := drive.Root(t, s)
	if _, err := c.CreateGroup(topic.TopicRef, name); err != nil {
		drive.Want(t, "create group", err, drive.Rejected(protocol.CodeConsumerGroupNameAlreadyExists))
	}
	g := command.GroupRef{TopicRef: topic.TopicRef, Group: named(name)}
	c.Must(c.JoinGroup(g))
	return c, g
}

// nextFor polls for a group, with or without committing.
func nextFor(c *drive.Client, g command.GroupRef, count uint32, commit bool) []drive.Message {
	p := drive.Poll(g.TopicRef, 0, command.FromNext, 0, count)
	p.Consumer, p.AutoCommit = drive.Group(g.Group), commit
	_, got := c.Fetch(p)
	return got
}
