package metadata

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func ids[T any](seq func(func(T) bool), of func(T) uint32) []uint32 {
	out := []uint32{}
	for x := range seq {
		out = append(out, of(x))
	}
	return out
}

func (g *group) wantIDs(what string, got []uint32, want ...uint32) {
	g.t.Helper()
	if !reflect.DeepEqual(got, append([]uint32{}, want...)) {
		g.t.Fatalf("%s: ids %v, want %v", what, got, want)
	}
}

// TestIDs_StayOverARestartAndAreGivenByTheRule deletes in the middle, restarts and creates again: streams,
// topics and users take the lowest free id, partitions go on after the last, groups count up.
func TestIDs_StayOverARestartAndAreGivenByTheRule(t *testing.T) {
	g := newGroupOfOne(t, 8)
	g.login(id(root), RootUser)
	for _, s := range []string{"a", "b", "c"} {
		g.mustSend(root, protocol.OpCreateStream, name(s))
		g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(3), name(s)))
		g.mustSend(root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name(s)))
		g.mustSend(root, protocol.OpCreateUser, userBody("user-"+s, "secret", 1, nil))
	}
	g.mustSend(root, protocol.OpDeleteStream, str("b"))
	g.mustSend(root, protocol.OpDeleteTopic, cat(num(0), str("b")))
	g.mustSend(root, protocol.OpDeleteConsumerGroup, cat(num(0), num(0), str("c")))
	g.mustSend(root, protocol.OpDeleteUser, str("user-b"))
	g.mustSend(root, protocol.OpDeletePartitions, cat(num(0), num(0), u32(2)))
	check := func(streams, topics, groups, users []uint32, partitions uint32) {
		t.Helper()
		v := g.s.View()
		first := v.StreamByID(0)
		g.wantIDs("streams", ids(v.Streams(), func(s *Stream) uint32 { return s.ID }), streams...)
		g.wantIDs("topics", ids(first.Topics(), func(t *Topic) uint32 { return t.ID }), topics...)
		g.wantIDs("groups", ids(first.TopicByID(0).Groups(), func(g *ConsumerGroup) uint32 { return g.ID }), groups...)
		g.wantIDs("users", ids(v.Users(), func(u *User) uint32 { return u.ID }), users...)
		if n := first.TopicByID(0).PartitionsCount(); n != partitions {
			t.Fatalf("%d partitions, want %d", n, partitions)
		}
	}
	check([]uint32{0, 2}, []uint32{0, 2}, []uint32{0, 1}, []uint32{0, 1, 3}, 1)
	g.s = checkRestores(t, g.s)
	check([]uint32{0, 2}, []uint32{0, 2}, []uint32{0, 1}, []uint32{0, 1, 3}, 1)
	g.mustSend(root, protocol.OpCreateStream, name("d"))
	g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(1), name("d")))
	g.mustSend(root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("d")))
	g.mustSend(root, protocol.OpCreateUser, userBody("user-d", "secret", 1, nil))
	g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(1)))
	check([]uint32{0, 1, 2}, []uint32{0, 1, 2}, []uint32{0, 1, 3}, []uint32{0, 1, 2, 3}, 2)
	g.s = checkRestores(t, g.s)
	check([]uint32{0, 1, 2}, []uint32{0, 1, 2}, []uint32{0, 1, 3}, []uint32{0, 1, 2, 3}, 2)
}

func TestPartitions_CarryTheirCreationAndPurges(t *testing.T) {
	g := populated(t)
	topic := func() *Topic { return g.s.View().StreamByID(0).TopicByID(0) }
	created, _ := topic().Partition(0)
	g.mustSend(root, protocol.OpDeleteSegments, cat(num(0), num(0), u32(1), u32(2)))
	g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(200)))
	added := Partition{CreatedAt: g.now, CreatedRevision: g.op}
	for p, want := range map[uint32]Partition{0: created, 1: {created.CreatedAt, created.CreatedRevision, 0, 0, 20}, 3: added, 202: added} {
		if got, ok := topic().Partition(p); !ok || got != want {
			t.Fatalf("partition %d: %+v, want %+v", p, got, want)
		}
	}
	if created.CreatedRevision == 0 || created.CreatedRevision == added.CreatedRevision {
		t.Fatalf("revisions %d and %d", created.CreatedRevision, added.CreatedRevision)
	}
	before := topic()
	g.mustSend(root, protocol.OpPurgeTopic, cat(num(0), num(0)))
	first := g.op
	g.mustSend(root, protocol.OpPurgeStream, num(0))
	if got, _ := topic().Partition(1); got.PurgeGeneration != 2 || got.PurgedAt != g.op || got.TruncateUpTo != 0 {
		t.Fatalf("purged twice, at %d and %d: %+v", first, g.op, got)
	}
	if got, _ := before.Partition(1); got.PurgeGeneration != 0 || got.TruncateUpTo != 20 {
		t.Fatalf("an old picture changed: %+v", got)
	}
	g.mustSend(root, protocol.OpDeletePartitions, cat(num(0), num(0), u32(202)))
	g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(1)))
	if got, _ := topic().Partition(1); got != (Partition{CreatedAt: g.now, CreatedRevision: g.op}) {
		t.Fatalf("made again: %+v", got)
	}
	checkState(t, g.s)
	checkRestores(t, g.s)
}

func TestDrain_TellsWhatWasTouched(t *testing.T) {
	g := populated(t)
	for _, c := range []struct {
		op   protocol.Operation
		body []byte
		want []PartitionChange
	}{
		{protocol.OpCreateTopic, cat(num(1), u32(2), name("t")), []PartitionChange{{PartitionsCreated, 1, 0, 0, 2, 0}}},
		{protocol.OpCreateTopic, cat(num(1), u32(0), name("empty")), nil},
		{protocol.OpCreatePartitions, cat(num(1), num(0), u32(3)), []PartitionChange{{PartitionsCreated, 1, 0, 2, 3, 0}}},
		{protocol.OpDeletePartitions, cat(num(1), num(0), u32(1)), []PartitionChange{{PartitionsDeleted, 1, 0, 4, 1, 0}}},
		{protocol.OpPurgeStream, num(0), []PartitionChange{{PartitionsPurged, 0, 0, 0, 3, 0}, {PartitionsPurged, 0, 1, 0, 1, 0}}},
		{protocol.OpDeleteSegments, cat(num(0), num(0), u32(2), u32(1)), []PartitionChange{{PartitionsTruncated, 0, 0, 2, 1, 0}}},
		{protocol.OpDeleteSegments, cat(num(0), num(0), u32(2), u32(1)), nil},
		{protocol.OpUpdateTopic, cat(num(0), num(0), name("renamed")), nil},
		{protocol.OpDeleteStream, num(0), []PartitionChange{{PartitionsDeleted, 0, 0, 0, 3, 0}, {PartitionsDeleted, 0, 1, 0, 1, 0}}},
		{protocol.OpDeleteTopic, cat(num(1), num(0)), []PartitionChange{{PartitionsDeleted, 1, 0, 0, 4, 0}}},
	} {
		g.mustSend(root, c.op, c.body)
		for i := range c.want {
			c.want[i].Op = g.op
		}
		if got := g.s.Drain(); !reflect.DeepEqual(got.Partitions, c.want) || got.Everything {
			t.Errorf("%v: %+v, want %+v", c.op, got.Partitions, c.want)
		}
	}
	if back := checkRestores(t, g.s); !back.Drain().Everything || back.Drain().Everything {
		t.Error("a restored state asks for one full comparison")
	}
}

func TestDrain_IsBounded(t *testing.T) {
	var c Changes
	for range changesMax + 5 {
		c.partitions(PartitionChange{Count: 1})
		c.ended(EndedSession{})
		c.lost(LostMembership{})
	}
	if !c.Everything || len(c.Partitions) != changesMax || len(c.Ended) != changesMax || len(c.Memberships) != changesMax {
		t.Fatalf("%d %d %d", len(c.Partitions), len(c.Ended), len(c.Memberships))
	}
}

func TestPermissions_GoWithWhatTheyWereFor(t *testing.T) {
	g := populated(t)
	grants := grantsBody(0, 0, 1, 1, 0) // stream 0: read; topic 1 in it: manage
	g.mustSend(root, protocol.OpUpdatePermissions, cat(num(1), []byte{1}, sized(grants)))
	allowed := func(code protocol.CommandCode, target Target) bool { return g.s.View().Allowed(1, code, target) }
	if !allowed(protocol.CmdStreamGet, Target{}) || !allowed(protocol.CmdTopicPurge, Target{Topic: 1}) || allowed(protocol.CmdTopicPurge, Target{}) {
		t.Fatal("the grants do not hold")
	}
	g.mustSend(root, protocol.OpDeleteTopic, cat(num(0), num(1)))
	g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(1), name("audit")))
	if allowed(protocol.CmdTopicPurge, Target{Topic: 1}) || !allowed(protocol.CmdStreamGet, Target{}) {
		t.Fatal("the grant for a topic outlived it, or took others with it")
	}
	g.mustSend(root, protocol.OpDeleteStream, num(0))
	g.mustSend(root, protocol.OpCreateStream, name("orders"))
	if allowed(protocol.CmdStreamGet, Target{}) {
		t.Fatal("the grant for a stream outlived it")
	}
}

func TestTokens_GoWithTheirOwnerAndByTheCleaner(t *testing.T) {
	g := populated(t)
	g.replicated(id(plain), protocol.OpCreatePersonalAccessToken, tokenBody(1, "short", 3))
	clean := func(token string, want protocol.Code) {
		t.Helper()
		g.server(protocol.OpDeletePersonalAccessToken, cat(u32(1), name(token), []byte{1}), want)
	}
	clean("short", 0) // committed before it expired
	if g.s.View().UserByID(1).TokenByName("short") == nil {
		t.Fatal("the cleaner removed a token that was good")
	}
	g.now += 3
	clean("short", 0)
	clean("unknown", 0)
	if g.s.View().UserByID(1).TokensCount() != 0 {
		t.Fatal("the cleaner left an expired token")
	}
	g.replicated(id(plain), protocol.OpCreatePersonalAccessToken, tokenBody(0, "mine", 0)) // says root, is plain's
	if found, owner := g.s.View().TokenByHash(tokenHash(0, "mine")); found == nil || owner.ID != 1 {
		t.Fatal("the owner was taken from the body")
	}
	g.mustSend(root, protocol.OpDeleteUser, num(1))
	if found, _ := g.s.View().TokenByHash(tokenHash(0, "mine")); found != nil {
		t.Fatal("a token outlived its owner")
	}
	checkState(t, g.s)
}

func TestView_OldPicturesStayAndNewOnesAreCheap(t *testing.T) {
	g := populated(t)
	v := g.s.View()
	if g.s.View() != v {
		t.Fatal("two pictures of one state")
	}
	g.mustSend(root, protocol.OpDeleteStream, num(0))
	if v.StreamByName("orders").TopicsCount() != 2 || g.s.View().StreamByName("orders") != nil {
		t.Fatal("the old picture changed, or the new one did not")
	}
	if g.s.View().Revision != g.op || v.Revision >= g.op {
		t.Fatalf("revisions %d, %d", v.Revision, g.s.View().Revision)
	}
	ref := protocol.NamedID("logs")
	if n := testing.AllocsPerRun(100, func() { v.Stream(ref) }); n != 0 {
		t.Fatalf("%v allocations for a look-up by name", n)
	}
}

func TestPartitions_HundredThousandCostLittle(t *testing.T) {
	g := newGroupOfOne(t, 8)
	g.login(id(root), RootUser)
	g.mustSend(root, protocol.OpCreateStream, name("s"))
	g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(0), name("t")))
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 100 {
		g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(1000)))
	}
	g.s.Drain()
	if per := (heap() - before) / 100_000; per > 100 {
		t.Fatalf("%d bytes a partition", per)
	}
	if g.s.View().PartitionsCount() != 100_000 {
		t.Fatal("not all were made")
	}
}
