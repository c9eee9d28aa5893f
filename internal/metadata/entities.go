package metadata

import (
	"github.com/galgolog/galgo/internal/metadata/balance"
	"github.com/galgolog/galgo/internal/metadata/tree"
	"github.com/galgolog/galgo/internal/protocol"
)

// Stream is an immutable picture of one stream.
type Stream struct {
	ID         uint32
	CreatedAt  uint64 // microseconds since the Unix epoch
	Name       string
	topics     tree.Numbers[*Topic]
	topicNames tree.Names[uint32]
}

// TopicsCount returns the number of topics.
func (s *Stream) TopicsCount() int { return s.topics.Len() }

// Topic is an immutable picture of one topic.
type Topic struct {
	ID         uint32
	CreatedAt  uint64 // microseconds since the Unix epoch
	Name       string
	Options    TopicOptions
	partitions partitionList
	groups     tree.Numbers[*ConsumerGroup]
	groupNames tree.Names[uint32]
	nextGroup  uint32
}

// PartitionsCount returns the number of partitions; their ids are 0 to PartitionsCount-1.
func (t *Topic) PartitionsCount() uint32 { return t.partitions.count }

// Partition returns the partition with that id.
func (t *Topic) Partition(id uint32) (Partition, bool) { return t.partitions.at(id) }

// GroupsCount returns the number of consumer groups.
func (t *Topic) GroupsCount() int { return t.groups.Len() }

// ConsumerGroup is an immutable picture of one consumer group.
type ConsumerGroup struct {
	ID     uint32
	Name   string
	deal   balance.Group
	owners []owner // by partition id
}

// owner is the index of the member that owns a partition; vacant without one.
type owner struct {
	member  uint32
	pending bool
}

const vacant = ^uint32(0)

// Generation counts the changes of the assignment.
func (g *ConsumerGroup) Generation() uint64 { return g.deal.Generation }

// Members returns the members, ascending by id. They must not be changed.
func (g *ConsumerGroup) Members() []balance.Member { return g.deal.Members }

// Member returns the member that client is, or nil.
func (g *ConsumerGroup) Member(client protocol.Uint128) *balance.Member {
	if i := g.deal.Find(client); i >= 0 {
		return &g.deal.Members[i]
	}
	return nil
}

// Ownership is what a client may do with a partition of its group.
type Ownership uint8

// Ownerships. A partition that is being handed over may still be committed by its owner, not polled.
const (
	NotMember Ownership = iota
	NotOwner
	HandingOver
	Owner
)

// Owns tells what client may do with partition. It does not allocate, and takes constant time for owners.
func (g *ConsumerGroup) Owns(client protocol.Uint128, partition uint32) Ownership {
	if partition < uint32(len(g.owners)) {
		o := g.owners[partition]
		if o.member != vacant && g.deal.Members[o.member].Client == client {
			if o.pending {
				return HandingOver
			}
			return Owner
		}
	}
	if g.deal.Find(client) < 0 {
		return NotMember
	}
	return NotOwner
}

// newGroup makes the picture of a group with that assignment.
func newGroup(id uint32, name string, deal balance.Group, partitions uint32) *ConsumerGroup {
	g := &ConsumerGroup{ID: id, Name: name, deal: deal}
	if len(deal.Members) == 0 {
		return g
	}
	g.owners = make([]owner, partitions)
	for i := range g.owners {
		g.owners[i].member = vacant
	}
	for i, m := range deal.Members {
		for _, p := range m.Owned {
			g.owners[p] = owner{member: uint32(i)}
		}
		for _, r := range m.Pending {
			g.owners[r.Partition].pending = true
		}
	}
	return g
}

// UserStatus is the status byte of a user.
type UserStatus uint8

// User statuses.
const (
	UserActive   UserStatus = 1
	UserInactive UserStatus = 2
)

// RootUser is the id of the user that always exists and may do everything.
const RootUser uint32 = 0

// User is an immutable picture of one user.
type User struct {
	ID           uint32
	CreatedAt    uint64 // microseconds since the Unix epoch
	Status       UserStatus
	Name         string
	PasswordHash string // Argon2id, PHC form
	// SessionsRevision is the op that made earlier sessions of this id void: creation, deactivation, or a
	// change of the password by somebody else.
	SessionsRevision uint64
	// CredentialsRevision is the op that last changed what a sign-in is verified against.
	CredentialsRevision uint64
	grants              *Grants // nil: no permission record
	tokens              tree.Names[*Token]
}

// Grants returns the permission record, or nil when the user has none.
func (u *User) Grants() *Grants { return u.grants }

// TokensCount returns the number of personal access tokens, expired ones included.
func (u *User) TokensCount() int { return u.tokens.Len() }

// Token is a personal access token. The secret itself is known only to its owner.
type Token struct {
	Name      string
	Hash      string // BLAKE3 of the token text, 64 lower-case hexadecimal digits
	ExpiresAt uint64 // microseconds since the Unix epoch; 0 = never
}

// IsExpired reports whether the token is no longer good at now (microseconds).
func (t *Token) IsExpired(now uint64) bool { return t.ExpiresAt != 0 && t.ExpiresAt <= now }
