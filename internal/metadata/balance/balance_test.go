package balance

import (
	"reflect"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"pgregory.net/rapid"
)

func client(n uint64) protocol.Uint128 { return protocol.Uint128From64(n + 1) }

func joined(g Group, partitions uint32, clients ...uint64) Group {
	for _, c := range clients {
		g = g.Join(client(c), 1, partitions, nil, 0)
	}
	return g
}

func owned(g Group) [][]uint32 {
	out := [][]uint32{}
	for _, m := range g.Members {
		out = append(out, m.Owned)
	}
	return out
}

func counts(g Group) []int {
	out := []int{}
	for _, m := range g.Members {
		out = append(out, len(m.Owned))
	}
	return out
}

func all(partitions uint32) []uint32 {
	out := []uint32{}
	for p := range partitions {
		out = append(out, p)
	}
	return out
}

// settle completes every hand-over.
func settle(t testing.TB, g Group, partitions uint32) Group {
	for g.HasPending() {
		for _, m := range g.Members {
			for _, r := range m.Pending {
				var ok bool
				if g, ok = g.Complete(m.ID, r.Partition, r.Since, partitions); !ok {
					t.Fatalf("completion of %+v refused", r)
				}
			}
		}
	}
	return g
}

func TestJoin_OneTwoThreeMembersShareFairly(t *testing.T) {
	for _, c := range []struct {
		partitions uint32
		members    uint64
		want       []int
	}{
		{3, 1, []int{3}}, {3, 2, []int{2, 1}}, {3, 3, []int{1, 1, 1}}, {3, 4, []int{1, 1, 1, 0}},
		{10, 3, []int{4, 3, 3}}, {16, 3, []int{6, 5, 5}}, {0, 2, []int{0, 0}}, {1, 2, []int{1, 0}},
	} {
		var g Group
		for i := range c.members {
			g = joined(g, c.partitions, i)
		}
		if got := counts(g); !slices.Equal(got, c.want) {
			t.Errorf("%d partitions, %d members: %v, want %v", c.partitions, c.members, got, c.want)
		}
		if g.Generation != c.members {
			t.Errorf("generation %d after %d joins", g.Generation, c.members)
		}
	}
}

func TestJoin_MovesTheNewestExcessOnlyToTheNewcomer(t *testing.T) {
	g := joined(Group{}, 6, 0, 1)
	if want := [][]uint32{{0, 1, 2}, {5, 4, 3}}; !reflect.DeepEqual(owned(g), want) {
		t.Fatalf("two members: %v, want %v", owned(g), want)
	}
	g = joined(g, 6, 2)
	if want := [][]uint32{{0, 1}, {5, 4}, {2, 3}}; !reflect.DeepEqual(owned(g), want) {
		t.Fatalf("three members: %v, want %v", owned(g), want)
	}
}

func TestJoin_AgainChangesNothingButTheSession(t *testing.T) {
	g := joined(Group{}, 4, 0, 1)
	again := g.Join(client(0), 9, 4, all(4), 5)
	if again.Members[0].Session != 9 || g.Members[0].Session != 1 {
		t.Fatalf("sessions: %d, before %d", again.Members[0].Session, g.Members[0].Session)
	}
	again.Members[0].Session = 1
	if !reflect.DeepEqual(g, again) {
		t.Fatalf("joined again: %+v, want %+v", again, g)
	}
}

func TestJoin_SixteenMembersOnSixteenPartitions(t *testing.T) {
	var g Group
	for i := range uint64(16) {
		g = joined(g, 16, i)
	}
	for i, n := range counts(g) {
		if n != 1 {
			t.Fatalf("member %d owns %d", i, n)
		}
	}
}

func TestJoin_InFlightPartitionsStayUntilCompleted(t *testing.T) {
	g := joined(Group{}, 4, 0).Join(client(1), 1, 4, []uint32{3}, 77)
	if want := [][]uint32{{0, 1, 3}, {2}}; !reflect.DeepEqual(owned(g), want) {
		t.Fatalf("owned %v, want %v", owned(g), want)
	}
	if want := []Revocation{{3, 1, 77}}; !reflect.DeepEqual(g.Members[0].Pending, want) {
		t.Fatalf("pending %v, want %v", g.Members[0].Pending, want)
	}
	if !g.Members[0].IsPending(3) || g.Members[0].IsPending(0) {
		t.Fatal("partition 3 and only it is being handed over")
	}
	for _, late := range []struct {
		source, partition uint32
		since             uint64
	}{{0, 3, 76}, {0, 1, 77}, {5, 3, 77}} {
		if _, ok := g.Complete(late.source, late.partition, late.since, 4); ok {
			t.Errorf("completed %v, which is not pending", late)
		}
	}
	done, ok := g.Complete(0, 3, 77, 4)
	if want := [][]uint32{{0, 1}, {2, 3}}; !ok || !reflect.DeepEqual(owned(done), want) || done.Generation != g.Generation+1 {
		t.Fatalf("after completion: %+v", done)
	}
	if _, ok := done.Complete(0, 3, 77, 4); ok {
		t.Fatal("completed twice")
	}
}

func TestJoin_ATargetOfARevocationIsNotIdle(t *testing.T) {
	g := joined(Group{}, 4, 0).Join(client(1), 1, 4, all(4), 1)
	g = g.Join(client(2), 1, 4, all(4), 2)
	for _, r := range g.Members[0].Pending {
		if r.Since == 2 && r.Target != 2 {
			t.Fatalf("member 1 was promised more: %+v", g.Members[0].Pending)
		}
	}
}

func TestLeave_DealsEverythingAgain(t *testing.T) {
	g := joined(Group{}, 5, 0, 1).Join(client(2), 1, 5, all(5), 9)
	if !g.HasPending() {
		t.Fatal("no hand-over to clear")
	}
	g, ok := g.Leave(client(1), 5)
	if want := [][]uint32{{0, 2, 4}, {1, 3}}; !ok || !reflect.DeepEqual(owned(g), want) || g.HasPending() {
		t.Fatalf("after leave: %+v", g)
	}
	if _, ok := g.Leave(client(1), 5); ok {
		t.Fatal("left twice")
	}
	if g = joined(g, 5, 7); g.Members[1].ID != 1 || g.Members[1].Client != client(7) {
		t.Fatalf("the lowest free member id is not reused: %+v", g.Members)
	}
	for _, c := range []uint64{0, 2, 7} {
		g, _ = g.Leave(client(c), 5)
	}
	if len(g.Members) != 0 {
		t.Fatalf("members left: %+v", g.Members)
	}
}

// TestGroup_EveryPartitionHasOneOwner runs random histories against a model that knows only who is a
// member and how many partitions there are.
func TestGroup_EveryPartitionHasOneOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.Uint32Range(0, 24).Draw(t, "partitions")
		var g Group
		members := map[uint64]bool{}
		anyInFlight := false
		for now := range uint64(rapid.IntRange(1, 60).Draw(t, "steps")) {
			before, old := g, g.clone()
			c := rapid.Uint64Range(0, 9).Draw(t, "client")
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0, 1:
				inFlight := rapid.SliceOfN(rapid.Uint32Range(0, 30), 0, 12).Draw(t, "in flight")
				anyInFlight = anyInFlight || len(inFlight) > 0
				g = g.Join(client(c), 1, partitions, inFlight, now)
				if members[c] && g.Generation != before.Generation {
					t.Fatal("joining again changed the generation")
				}
				if !members[c] {
					checkOnlyExcessMoved(t, before, g)
				}
				members[c] = true
			case 2:
				var ok bool
				if g, ok = g.Leave(client(c), partitions); ok != members[c] {
					t.Fatalf("leave of %d: %v", c, ok)
				}
				if ok {
					anyInFlight = false
				}
				delete(members, c)
			case 3:
				partitions = rapid.Uint32Range(0, 24).Draw(t, "partitions")
				g, anyInFlight = g.Repartition(partitions), false
			default:
				source, r := somePending(g)
				g, _ = g.Complete(source, r.Partition, r.Since, partitions)
			}
			if !reflect.DeepEqual(before.clone(), old) {
				t.Fatal("the old group was changed")
			}
			checkGroup(t, g, partitions, len(members))
			if !anyInFlight && partitions >= uint32(len(members)) {
				checkEven(t, g)
			}
		}
	})
}

func somePending(g Group) (uint32, Revocation) {
	for _, m := range g.Members {
		if len(m.Pending) > 0 {
			return m.ID, m.Pending[0]
		}
	}
	return 0, Revocation{}
}

func checkGroup(t *rapid.T, g Group, partitions uint32, members int) {
	if len(g.Members) != members {
		t.Fatalf("%d members, want %d", len(g.Members), members)
	}
	owners := make([]int, partitions)
	for i, m := range g.Members {
		if i > 0 && g.Members[i-1].ID >= m.ID {
			t.Fatalf("member ids out of order: %+v", g.Members)
		}
		for _, p := range m.Owned {
			owners[p]++
		}
		for _, r := range m.Pending {
			if !slices.Contains(m.Owned, r.Partition) {
				t.Fatalf("member %d hands over %d and does not own it", m.ID, r.Partition)
			}
		}
	}
	for p, n := range owners {
		if members > 0 && n != 1 {
			t.Fatalf("partition %d has %d owners", p, n)
		}
	}
}

// checkEven: without hand-overs the shares differ by at most one, so nobody starves. With them a newcomer
// may have to wait: what is promised to an earlier newcomer counts for neither side.
func checkEven(t *rapid.T, g Group) {
	if n := counts(g); len(n) > 0 && slices.Max(n)-slices.Min(n) > 1 {
		t.Fatalf("uneven: %v", n)
	}
}

// checkOnlyExcessMoved: on a join no member gains anything from another but the newcomers.
func checkOnlyExcessMoved(t *rapid.T, before, after Group) {
	for _, was := range before.Members {
		is := after.Members[after.Find(was.Client)]
		if len(was.Owned) > 0 && len(is.Owned) > len(was.Owned) {
			t.Fatalf("member %d gained on a join: %v to %v", was.ID, was.Owned, is.Owned)
		}
	}
}

func TestGroup_NobodyStarvesAtScale(t *testing.T) {
	const partitions, members = 1000, 150
	var g Group
	for i := range uint64(members) {
		g = g.Join(client(i), 1, partitions, all(partitions)[:partitions/2], i)
		if i%7 == 0 {
			g = settle(t, g, partitions)
		}
	}
	g = settle(t, g, partitions)
	for i, n := range counts(g) {
		if n == 0 {
			t.Fatalf("member %d owns nothing", i)
		}
	}
}

func TestComplete_TargetGoneDealsEverythingAgain(t *testing.T) {
	g := joined(Group{}, 4, 0).Join(client(1), 1, 4, all(4), 3)
	g.Members = g.Members[:1]
	r := g.Members[0].Pending[0]
	next, ok := g.Complete(0, r.Partition, r.Since, 4)
	if want := [][]uint32{{0, 1, 2, 3}}; !ok || !reflect.DeepEqual(owned(next), want) || next.HasPending() {
		t.Fatalf("got %+v", next)
	}
}
