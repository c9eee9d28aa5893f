package metadata

import (
	"reflect"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

var workers = cat(num(0), num(0), num(0))

func (g *group) workers() *ConsumerGroup { return g.s.View().GroupByRef(GroupRef{}) }

// join lets a client sign in as root and join the group of populated, with nothing in flight unless said.
func (g *group) join(client uint64, inFlight ...uint32) {
	g.t.Helper()
	if g.s.clients.index[id(client)] == nil {
		g.login(id(client), RootUser)
	}
	e := g.entry(client)
	e.Partitions = &shelf{inFlight: inFlight}
	a, code := e.Admit(protocol.OpJoinConsumerGroup, workers)
	if code == protocol.Success {
		_, code = g.replicated(id(client), a.Operation, a.Body)
	}
	if code != protocol.Success {
		g.t.Fatalf("join of %d: %d", client, code)
	}
	checkState(g.t, g.s)
}

func (g *group) owned() map[uint64][]uint32 {
	out := map[uint64][]uint32{}
	for _, m := range g.workers().Members() {
		out[m.Client.Lo] = m.Owned
	}
	return out
}

func (g *group) wantOwned(want map[uint64][]uint32) {
	g.t.Helper()
	if got := g.owned(); !reflect.DeepEqual(got, want) {
		g.t.Fatalf("owned %v, want %v", got, want)
	}
	checkState(g.t, g.s)
}

func TestGroup_JoinLeaveDisconnectShrink(t *testing.T) {
	g := populated(t)
	g.join(1)
	g.join(2)
	g.join(3)
	g.wantOwned(map[uint64][]uint32{1: {0}, 2: {2}, 3: {1}})
	if refs := g.s.View().Memberships(id(2)); len(refs) != 1 || refs[0] != (GroupRef{}) {
		t.Fatalf("memberships %v", refs)
	}
	g.mustSend(2, protocol.OpLeaveConsumerGroup, workers)
	g.wantOwned(map[uint64][]uint32{1: {0, 2}, 3: {1}})
	if _, code := g.send(2, protocol.OpLeaveConsumerGroup, workers); code != protocol.CodeConsumerGroupMemberNotFound {
		t.Fatalf("left twice: %d", code)
	}
	session := g.s.clients.index[id(3)].epoch
	g.s.Drain()
	g.server(protocol.OpRemoveConsumerGroupMember, RemoveMember{GroupRef{}, id(3), session}.Append(nil), 0)
	g.wantOwned(map[uint64][]uint32{1: {0, 1, 2}})
	if lost := g.s.Drain().Memberships; len(lost) != 1 || lost[0] != (LostMembership{GroupRef{}, id(3)}) {
		t.Fatalf("lost %+v", lost)
	}
	if g.s.clients.index[id(3)] == nil {
		t.Fatal("the session went with the membership")
	}
	g.server(protocol.OpRemoveConsumerGroupMember, RemoveMember{GroupRef{}, id(3), session}.Append(nil), 0)
	g.server(protocol.OpRemoveConsumerGroupMember, RemoveMember{GroupRef{9, 9, 9}, id(3), session}.Append(nil), 0)
	g.commit(id(1), RootUser, 99, protocol.OpLogout, nil)
	g.wantOwned(map[uint64][]uint32{})
}

func TestGroup_ReconnectIsNotUndoneByALateRemoval(t *testing.T) {
	g := populated(t)
	g.join(1)
	old := g.s.clients.index[id(1)].epoch
	generation := g.workers().Generation()
	g.login(id(1), RootUser)
	g.join(1)
	if g.workers().Generation() != generation {
		t.Fatal("joining again changed the generation")
	}
	g.server(protocol.OpRemoveConsumerGroupMember, RemoveMember{GroupRef{}, id(1), old}.Append(nil), 0)
	g.wantOwned(map[uint64][]uint32{1: {0, 1, 2}})
}

func TestGroup_RevocationWaitsAndCompletes(t *testing.T) {
	g := populated(t)
	g.join(1)
	g.join(2, 0, 1, 2)
	g.wantOwned(map[uint64][]uint32{1: {0, 1, 2}, 2: nil})
	handovers := slices.Collect(g.s.View().Handovers())
	want := []Handover{{GroupRef{}, 2, 0, 1, g.now}}
	if !reflect.DeepEqual(handovers, want) {
		t.Fatalf("handovers %+v, want %+v", handovers, want)
	}
	if g.workers().Owns(id(1), 2) != HandingOver || g.workers().Owns(id(2), 2) != NotOwner {
		t.Fatal("the source may commit, not poll; the target neither")
	}
	h := handovers[0]
	complete := func(since uint64) {
		g.server(protocol.OpCompleteConsumerGroupRevocation, CompleteRevocation{h.GroupRef, h.Partition, h.Source, since}.Append(nil), 0)
	}
	complete(h.Since - 1)
	g.wantOwned(map[uint64][]uint32{1: {0, 1, 2}, 2: nil})
	generation := g.workers().Generation()
	complete(h.Since)
	complete(h.Since)
	g.wantOwned(map[uint64][]uint32{1: {0, 1}, 2: {2}})
	if g.workers().Generation() != generation+1 {
		t.Fatalf("generation %d after %d", g.workers().Generation(), generation)
	}
	if len(slices.Collect(g.s.View().Handovers())) != 0 {
		t.Fatal("still handing over")
	}
}

func TestGroup_PendingRevocationMeetsOtherChanges(t *testing.T) {
	start := func(t *testing.T) *group {
		g := populated(t)
		g.join(1)
		g.join(2, 0, 1, 2)
		return g
	}
	for _, c := range []struct {
		name   string
		change func(g *group)
		want   map[uint64][]uint32
	}{
		{"source leaves", func(g *group) { g.mustSend(1, protocol.OpLeaveConsumerGroup, workers) }, map[uint64][]uint32{2: {0, 1, 2}}},
		{"target leaves", func(g *group) { g.mustSend(2, protocol.OpLeaveConsumerGroup, workers) }, map[uint64][]uint32{1: {0, 1, 2}}},
		{"partitions are added", func(g *group) { g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(2))) },
			map[uint64][]uint32{1: {0, 2, 4}, 2: {1, 3}}},
		{"partitions are deleted", func(g *group) { g.mustSend(root, protocol.OpDeletePartitions, cat(num(0), num(0), u32(2))) },
			map[uint64][]uint32{1: {0}, 2: nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := start(t)
			generation := g.workers().Generation()
			c.change(g)
			g.wantOwned(c.want)
			if g.workers().Generation() != generation+1 || len(slices.Collect(g.s.View().Handovers())) != 0 {
				t.Fatalf("generation %d after %d, handovers left", g.workers().Generation(), generation)
			}
		})
	}
}

func TestGroup_PartitionsAddedThenDisconnectThenJoin(t *testing.T) {
	g := populated(t)
	g.join(1)
	g.join(2)
	g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(5)))
	g.wantOwned(map[uint64][]uint32{1: {0, 2, 4, 6}, 2: {1, 3, 5, 7}})
	g.server(protocol.OpRemoveConsumerGroupMember, RemoveMember{GroupRef{}, id(1), ^uint64(0)}.Append(nil), 0)
	g.join(3)
	g.wantOwned(map[uint64][]uint32{2: {0, 1, 2, 3}, 3: {7, 6, 5, 4}})
}

func TestGroup_DeletedAndMadeAgainStartsClean(t *testing.T) {
	g := populated(t)
	g.join(1)
	if _, code := g.send(root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("workers"))); code != protocol.CodeConsumerGroupNameAlreadyExists {
		t.Fatalf("duplicate: %d", code)
	}
	g.wantOwned(map[uint64][]uint32{1: {0, 1, 2}})
	g.s.Drain()
	g.mustSend(root, protocol.OpDeleteConsumerGroup, workers)
	checkState(t, g.s)
	if lost := g.s.Drain().Memberships; len(lost) != 1 || len(g.s.View().Memberships(id(1))) != 0 {
		t.Fatalf("lost %+v", lost)
	}
	g.mustSend(root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("workers")))
	if again := g.s.View().StreamByID(0).TopicByID(0).GroupByName("workers"); again.ID != 1 || again.Generation() != 0 || len(again.Members()) != 0 {
		t.Fatalf("made again: %+v", again)
	}
}

func TestGroup_WithoutASessionNobodyJoins(t *testing.T) {
	g := populated(t)
	g.users[id(55)] = RootUser
	if _, code := g.send(55, protocol.OpJoinConsumerGroup, workers); code != protocol.CodeUnauthorized {
		t.Fatalf("code %d", code)
	}
	checkState(t, g.s)
}

func TestSessions_EndedByAdministrators(t *testing.T) {
	for _, c := range []struct {
		name   string
		op     protocol.Operation
		body   []byte
		reason protocol.EvictionReason
	}{
		{"deleted", protocol.OpDeleteUser, str("plain"), protocol.EvictNoSession},
		{"deactivated", protocol.OpUpdateUser, cat(num(1), []byte{0, 1, 2}), protocol.EvictUserInactive},
		{"password", protocol.OpChangePassword, cat(num(1), name("nialp"), name("new-one")), protocol.EvictNoSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := populated(t)
			g.mustSend(root, protocol.OpUpdatePermissions, cat(num(1), []byte{1}, sized(grantsBody(globalReadTopics, -1, 0, 0, 0))))
			g.mustSend(plain, protocol.OpJoinConsumerGroup, workers)
			session := g.s.clients.index[id(plain)].epoch
			g.s.Drain()
			g.mustSend(root, c.op, c.body)
			got := g.s.Drain()
			if want := []EndedSession{{id(plain), session, 1, c.reason, false}}; !reflect.DeepEqual(got.Ended, want) {
				t.Fatalf("ended %+v, want %+v", got.Ended, want)
			}
			if len(got.Memberships) != 1 || len(g.workers().Members()) != 0 {
				t.Fatalf("memberships %+v, members %+v", got.Memberships, g.workers().Members())
			}
			g.wantOutcome(g.request(id(plain), session, 50, 0), noSession)
			if g.s.clients.index[id(root)] == nil {
				t.Fatal("the administrator's own session ended")
			}
			checkState(t, g.s)
		})
	}
}

// TestSessions_WhatWasProposedBeforeIsRefused: an operation that was in the pipeline when its user was
// deleted does not act for the next user with that id, whatever that one may do.
func TestSessions_WhatWasProposedBeforeIsRefused(t *testing.T) {
	g := populated(t)
	g.mustSend(root, protocol.OpDeleteUser, str("plain"))
	g.mustSend(root, protocol.OpCreateUser, userBody("other", "secret", 1, grantsBody(globalAll, -1, 0, 0, 0)))
	if u := g.s.View().UserByName("other"); u.ID != 1 {
		t.Fatalf("user %d", u.ID)
	}
	stale := func(commit uint64) protocol.Code {
		g.op++
		g.now++
		var h protocol.PrepareHeader
		h.SetClient(id(plain))
		h.SetUserID(1)
		h.SetRequest(9)
		h.SetOperation(protocol.OpCreateStream)
		h.SetOp(g.op)
		h.SetCommit(commit)
		h.SetTimestamp(g.now)
		return result(apply(g.s, &h, name("mine")))
	}
	if code := stale(g.op - 1); code != protocol.CodeUnauthorized {
		t.Fatalf("proposed before the new user existed: %d", code)
	}
	if code := stale(g.op); code != 0 {
		t.Fatalf("proposed by the new user: %d", code)
	}
	// a sign-in that was verified before the deletion is turned away as well
	before := g.s.View().UserByID(1).CredentialsRevision - 1
	if code := result(g.commit(id(77), 1, 0, protocol.OpRegister, AppendRegister(nil, before))); code != protocol.CodeTransientNotAccepted {
		t.Fatalf("sign-in with the credentials of the old user: %d", code)
	}
}

func TestSessions_EvictedByATableThatIsFull(t *testing.T) {
	g := newGroupOfOne(t, 2)
	g.login(id(root), RootUser)
	g.mustSend(root, protocol.OpCreateStream, name("s"))
	g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(2), name("t")))
	g.mustSend(root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("w")))
	g.join(1)
	g.join(2) // evicts root, who is no member
	g.join(3) // evicts client 1, who is
	g.wantOwned(map[uint64][]uint32{2: {0}, 3: {1}})
}
