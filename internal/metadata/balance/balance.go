// Package balance decides which member of a consumer group owns which partition of the topic. It is pure:
// every function takes a group and returns the next one, sharing nothing that either could change.
//
// There are two ways to deal partitions. The cooperative one (Join) moves only what a newcomer is due and
// leaves a partition with its owner while that owner has polled messages it has not committed: such a
// partition is pending, which means owned for commits and no longer for polls. The eager one (Leave,
// Repartition) takes everything back and deals it out again in order. Both bump the generation, by which
// clients notice.
//
// Partition ids of a topic are dense, so a count stands for the whole set. In a group with members every
// partition has exactly one owner.
package balance

import (
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
)

// Revocation is a partition on its way to another member.
type Revocation struct {
	Partition uint32
	Target    uint32 // member id
	Since     uint64 // microseconds since the Unix epoch: timestamp of the join that caused it
}

// Member is one client in a group.
type Member struct {
	ID      uint32
	Client  protocol.Uint128
	Session uint64   // epoch of the session that joined, or joined again, last
	Owned   []uint32 // in the order of assignment, pending ones included
	Pending []Revocation
}

// IsPending reports whether the member is handing over partition.
func (m *Member) IsPending(partition uint32) bool {
	return slices.ContainsFunc(m.Pending, func(r Revocation) bool { return r.Partition == partition })
}

// Group is the assignment of one consumer group. Members are ascending by id. The zero value is a new
// group without members.
type Group struct {
	Generation uint64
	Members    []Member
}

// Find returns the index of the member with that client id, or -1.
func (g Group) Find(client protocol.Uint128) int {
	return slices.IndexFunc(g.Members, func(m Member) bool { return m.Client == client })
}

// HasPending reports whether any partition is being handed over.
func (g Group) HasPending() bool {
	return slices.ContainsFunc(g.Members, func(m Member) bool { return len(m.Pending) > 0 })
}

func (g Group) clone() Group {
	members := make([]Member, len(g.Members))
	for i, m := range g.Members {
		m.Owned, m.Pending = slices.Clone(m.Owned), slices.Clone(m.Pending)
		members[i] = m
	}
	return Group{g.Generation, members}
}

// Join adds client, cooperatively. partitions is their number in the topic, inFlight those with messages
// polled and not committed, now the timestamp for new revocations. A client that is a member already only
// gets its session refreshed: the generation stays.
func (g Group) Join(client protocol.Uint128, session uint64, partitions uint32, inFlight []uint32, now uint64) Group {
	next := g.clone()
	if i := next.Find(client); i >= 0 {
		next.Members[i].Session = session
		return next
	}
	id := uint32(0)
	for int(id) < len(next.Members) && next.Members[id].ID == id {
		id++
	}
	next.Members = slices.Insert(next.Members, int(id), Member{ID: id, Client: client, Session: session})
	next.Generation++
	if partitions > 0 {
		next.dealUnowned(partitions)
		next.giveUpExcess(partitions, inFlight, now)
	}
	return next
}

// dealUnowned gives partitions that nobody owns to the members that own nothing, in turn.
func (g *Group) dealUnowned(partitions uint32) {
	owned := make([]bool, partitions)
	var idle []int
	for i, m := range g.Members {
		if len(m.Owned) == 0 {
			idle = append(idle, i)
		}
		for _, p := range m.Owned {
			if p < partitions {
				owned[p] = true
			}
		}
	}
	turn := 0
	for p := range partitions {
		if !owned[p] && len(idle) > 0 {
			m := &g.Members[idle[turn%len(idle)]]
			m.Owned = append(m.Owned, p)
			turn++
		}
	}
}

type excess struct {
	source    int
	partition uint32
}

// giveUpExcess moves what members own above their fair share to the members that have nothing and are
// promised nothing.
func (g *Group) giveUpExcess(partitions uint32, inFlight []uint32, now uint64) {
	idle := g.idle()
	if len(idle) == 0 {
		return
	}
	busy, moved := marks(inFlight, partitions), make([]bool, partitions)
	for turn, x := range g.excess(partitions) {
		target := &g.Members[idle[turn%len(idle)]]
		source := &g.Members[x.source]
		if busy[x.partition] {
			source.Pending = append(source.Pending, Revocation{x.partition, target.ID, now})
			continue
		}
		moved[x.partition] = true
		target.Owned = append(target.Owned, x.partition)
	}
	receives := marks(nil, uint32(len(g.Members)))
	for _, i := range idle {
		receives[i] = true
	}
	for i := range g.Members {
		if !receives[i] {
			m := &g.Members[i]
			m.Owned = slices.DeleteFunc(m.Owned, func(p uint32) bool { return moved[p] })
		}
	}
}

func marks(partitions []uint32, count uint32) []bool {
	set := make([]bool, count)
	for _, p := range partitions {
		if p < count {
			set[p] = true
		}
	}
	return set
}

// idle lists, by index, the members that own nothing and are not the target of a revocation.
func (g *Group) idle() []int {
	promised := map[uint32]bool{}
	for _, m := range g.Members {
		for _, r := range m.Pending {
			promised[r.Target] = true
		}
	}
	var idle []int
	for i, m := range g.Members {
		if len(m.Owned) == 0 && !promised[m.ID] {
			idle = append(idle, i)
		}
	}
	return idle
}

// excess lists what is owned above the fair share, member by member, newest assignment first. Of the n
// partitions of m members everybody may keep n/m, and the first n mod m members that have more keep one
// more. Partitions that are pending already do not count as owned here.
func (g *Group) excess(partitions uint32) []excess {
	fair, extra := int(partitions)/len(g.Members), int(partitions)%len(g.Members)
	pending := make([]bool, partitions)
	for _, m := range g.Members {
		for _, r := range m.Pending {
			pending[r.Partition] = true
		}
	}
	var out []excess
	for i := range g.Members {
		m := &g.Members[i]
		effective := len(m.Owned) - len(m.Pending)
		if effective <= fair {
			continue
		}
		allowed := fair
		if extra > 0 {
			allowed++
			extra--
		}
		for j := len(m.Owned) - 1; j >= 0 && effective > allowed; j-- {
			if !pending[m.Owned[j]] {
				out = append(out, excess{i, m.Owned[j]})
				effective--
			}
		}
	}
	return out
}

// Leave removes the member with that client id and deals eagerly. ok is false when there is none.
func (g Group) Leave(client protocol.Uint128, partitions uint32) (next Group, ok bool) {
	i := g.Find(client)
	if i < 0 {
		return g, false
	}
	members := slices.Delete(slices.Clone(g.Members), i, i+1)
	return Group{g.Generation, members}.Repartition(partitions), true
}

// Repartition deals all partitions again: everything owned or pending is taken back, then partition i goes
// to member i mod m.
func (g Group) Repartition(partitions uint32) Group {
	next := Group{g.Generation + 1, make([]Member, len(g.Members))}
	for i, m := range g.Members {
		next.Members[i] = Member{ID: m.ID, Client: m.Client, Session: m.Session}
		if share := share(i, len(g.Members), partitions); share > 0 {
			next.Members[i].Owned = make([]uint32, 0, share)
		}
	}
	for p := range partitions {
		if len(next.Members) == 0 {
			break
		}
		m := &next.Members[int(p)%len(next.Members)]
		m.Owned = append(m.Owned, p)
	}
	return next
}

func share(i, members int, partitions uint32) int {
	n := int(partitions) / members
	if i < int(partitions)%members {
		n++
	}
	return n
}

// Complete ends the hand-over of partition by the member source. since names the hand-over, so that a late
// completion cannot end a newer one. A target that is gone makes it an eager deal. ok is false, and nothing
// changes, when there is no such hand-over.
func (g Group) Complete(source, partition uint32, since uint64, partitions uint32) (next Group, ok bool) {
	next = g.clone()
	from := slices.IndexFunc(next.Members, func(m Member) bool { return m.ID == source })
	if from < 0 {
		return g, false
	}
	s := &next.Members[from]
	at := slices.IndexFunc(s.Pending, func(r Revocation) bool { return r.Partition == partition && r.Since == since })
	if at < 0 {
		return g, false
	}
	to := slices.IndexFunc(next.Members, func(m Member) bool { return m.ID == s.Pending[at].Target })
	if to < 0 {
		return next.Repartition(partitions), true
	}
	s.Pending = slices.Delete(s.Pending, at, at+1)
	s.Owned = slices.DeleteFunc(s.Owned, func(p uint32) bool { return p == partition })
	next.Members[to].Owned = append(next.Members[to].Owned, partition)
	next.Generation++
	return next, true
}
