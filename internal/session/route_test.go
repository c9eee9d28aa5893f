package session

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// A connection that repeats one target must notice everything that changes where the target leads.
func TestRoute_FollowsWhatItDependsOn(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	r.newUser("bob", &command.Permissions{Global: command.GlobalPermissions{SendMessages: true}})
	r.newUser("eve", nil)
	bob := r.as("bob")
	key := protocol.Partitioning{Kind: protocol.PartitionByKey, Key: []byte("user-123")}
	targets := map[string]protocol.Partitioning{"by id": to(0), "by key": key, "balanced": {Kind: protocol.PartitionBalanced}}
	for name, where := range targets {
		send := sendBody(ref, where, 1, record("x"))
		all := func(c *client, step string, want outcome) {
			t.Helper()
			for range 3 {
				c.does(name+", "+step, protocol.OpSendMessages, send, want)
			}
		}
		bob.must(bob.SignIn("bob", "bob"))
		all(bob, "at first", outcome{})

		r.root.must(r.root.DeleteTopic(ref))
		all(bob, "topic deleted", denied(protocol.CodeTopicIdNotFound))
		r.topic("s", "t", 2)
		all(bob, "topic made anew", outcome{})
		if got := bob.send(ref, where, "x"); where.Kind != protocol.PartitionBalanced && got.BaseOffset != 3 {
			t.Errorf("%s: the new topic holds %d messages of this connection; want 3", name, got.BaseOffset)
		}

		permit := func(p *command.Permissions) {
			r.root.apply(protocol.OpUpdatePermissions, command.UpdatePermissions{User: protocol.NamedID("bob"), Permissions: p}.Append(nil))
		}
		permit(nil)
		all(bob, "right taken", denied(protocol.CodeUnauthorized))
		permit(&command.Permissions{Global: command.GlobalPermissions{SendMessages: true}})
		all(bob, "right given", outcome{})

		bob.must(bob.SignIn("eve", "eve"))
		all(bob, "another user of the same connection", denied(protocol.CodeUnauthorized))
	}
}

func TestRoute_TargetsTakeTurns(t *testing.T) {
	r := openRig(t, setup{})
	ref, other := r.topic("s", "t", 3), r.topic("s", "u", 3)
	for i := range uint64(9) {
		for p := range uint32(3) {
			if got := r.root.send(ref, to(p), "x"); got.Partition != p || got.BaseOffset != i {
				t.Fatalf("round %d, partition %d: stored in %+v", i, p, got)
			}
		}
		if got := r.root.send(other, protocol.Partitioning{Kind: protocol.PartitionBalanced}, "x"); got.Partition != uint32(i%3) || got.Topic == 0 {
			t.Fatalf("round %d, balanced: stored in %+v", i, got)
		}
	}
}
