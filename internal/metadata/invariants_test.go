package metadata

import (
	"bytes"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"pgregory.net/rapid"
)

// checkState recomputes from the entities everything that the state keeps in other forms.
func checkState(t rapid.TB, s *State) {
	t.Helper()
	v := s.View()
	streams, topics, partitions, groups := 0, 0, 0, 0
	members := map[protocol.Uint128][]GroupRef{}
	handovers := map[GroupRef]bool{}
	for st := range v.Streams() {
		streams++
		if v.StreamByName(st.Name) != st {
			t.Fatalf("stream %d is not found by its name", st.ID)
		}
		for tp := range st.Topics() {
			topics++
			partitions += int(tp.PartitionsCount())
			if st.TopicByName(tp.Name) != tp {
				t.Fatalf("topic %d is not found by its name", tp.ID)
			}
			for g := range tp.Groups() {
				groups++
				checkGroup(t, tp, g)
				for _, m := range g.Members() {
					ref := GroupRef{st.ID, tp.ID, g.ID}
					members[m.Client] = append(members[m.Client], ref)
					handovers[ref] = handovers[ref] || len(m.Pending) > 0
					if s.clients.index[m.Client] == nil {
						t.Fatalf("member %v of %v has no session", m.Client, ref)
					}
				}
			}
		}
	}
	if v.StreamsCount() != streams || v.streamNames.Len() != streams || v.TopicsCount() != topics ||
		v.PartitionsCount() != partitions || v.GroupsCount() != groups {
		t.Fatalf("counts: %d %d %d %d, recounted %d %d %d %d", v.StreamsCount(), v.TopicsCount(), v.PartitionsCount(), v.GroupsCount(),
			streams, topics, partitions, groups)
	}
	if v.memberships.Len() != len(members) {
		t.Fatalf("%d clients have memberships, recounted %d", v.memberships.Len(), len(members))
	}
	for client, refs := range members {
		if !slices.Equal(v.Memberships(client), refs) {
			t.Fatalf("memberships of %v: %v, recounted %v", client, v.Memberships(client), refs)
		}
	}
	for ref := range v.handovers.All() {
		if !handovers[ref] {
			t.Fatalf("group %v hands nothing over", ref)
		}
		delete(handovers, ref)
	}
	for ref, pending := range handovers {
		if pending {
			t.Fatalf("group %v hands over and is not listed", ref)
		}
	}
	checkUsers(t, v)
	checkClients(t, &s.clients)
}

func checkGroup(t rapid.TB, tp *Topic, g *ConsumerGroup) {
	if tp.GroupByName(g.Name) != g || g.ID >= tp.nextGroup {
		t.Fatalf("group %d of %q", g.ID, tp.Name)
	}
	if v := g.Members(); len(v) > 0 && len(g.owners) != int(tp.PartitionsCount()) {
		t.Fatalf("%d owners of %d partitions", len(g.owners), tp.PartitionsCount())
	}
	for _, m := range g.Members() {
		for _, p := range m.Owned {
			want := Owner
			if m.IsPending(p) {
				want = HandingOver
			}
			if got := g.Owns(m.Client, p); got != want {
				t.Fatalf("partition %d of member %d: %d, want %d", p, m.ID, got, want)
			}
		}
	}
}

func checkUsers(t rapid.TB, v *View) {
	tokens := 0
	for u := range v.Users() {
		if v.UserByName(u.Name) != u {
			t.Fatalf("user %d is not found by its name", u.ID)
		}
		for token := range u.Tokens() {
			tokens++
			if found, owner := v.TokenByHash(token.Hash); found != token || owner != u {
				t.Fatalf("token %q is not found by its hash", token.Name)
			}
		}
	}
	if v.userNames.Len() != v.UsersCount() || v.tokens.Len() != tokens {
		t.Fatalf("%d names of %d users, %d hashes of %d tokens", v.userNames.Len(), v.UsersCount(), v.tokens.Len(), tokens)
	}
}

func checkClients(t rapid.TB, table *clientTable) {
	count, latest := 0, uint64(0)
	for c := table.oldest; c != nil; c = c.newer {
		count++
		if table.slots[c.slot] != c || table.index[c.id] != c || c.latest < latest || len(c.ring) == 0 || len(c.ring) > ringSize {
			t.Fatalf("entry %+v", c)
		}
		latest = c.latest
		seen := map[uint64]bool{}
		for _, frame := range c.ring {
			n := replyHeader(frame).Request()
			if replyHeader(frame).Operation() == protocol.OpRegister {
				n = 0 // its number means nothing
			}
			if seen[n] {
				t.Fatalf("two replies to request %d", n)
			}
			seen[n] = true
		}
	}
	if count != table.count || count != len(table.index) || count > table.capacity {
		t.Fatalf("%d linked, %d counted, %d indexed of %d", count, table.count, len(table.index), table.capacity)
	}
}

// checkRestores wants a snapshot to come back as the same state, whose snapshot is the same bytes.
func checkRestores(t rapid.TB, s *State) *State {
	t.Helper()
	snapshot := s.Snapshot(nil)
	back, err := Restore(snapshot)
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if !bytes.Equal(back.Snapshot(nil), snapshot) {
		t.Fatal("another snapshot after a restore")
	}
	checkState(t, back)
	return back
}
