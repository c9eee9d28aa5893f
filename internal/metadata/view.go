package metadata

import (
	"cmp"
	"iter"

	"github.com/galgolog/galgo/internal/metadata/tree"
	"github.com/galgolog/galgo/internal/protocol"
)

// View is an immutable picture of the metadata after the operation Revision. The zero View is a group that
// has applied nothing. Safe for any number of readers.
type View struct {
	// Revision is the newest applied op. It never falls.
	Revision uint64

	streams     tree.Numbers[*Stream]
	streamNames tree.Names[uint32]
	users       tree.Numbers[*User]
	userNames   tree.Names[uint32]
	tokens      tree.Names[tokenOwner] // by hash
	memberships tree.Clients[[]GroupRef]
	handovers   tree.Map[GroupRef, *ConsumerGroup, groupOrder]

	topicsCount, groupsCount uint32
	partitionsCount          uint32
}

type tokenOwner struct {
	user uint32
	name string
}

// GroupRef names a consumer group.
type GroupRef struct{ Stream, Topic, Group uint32 }

type groupOrder struct{}

// Compare implements tree.Order.
func (groupOrder) Compare(a, b GroupRef) int {
	return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Group, b.Group))
}

// StreamsCount returns the number of streams.
func (v *View) StreamsCount() int { return v.streams.Len() }

// TopicsCount returns the number of topics in all streams.
func (v *View) TopicsCount() int { return int(v.topicsCount) }

// PartitionsCount returns the number of partitions in all topics.
func (v *View) PartitionsCount() int { return int(v.partitionsCount) }

// GroupsCount returns the number of consumer groups in all topics.
func (v *View) GroupsCount() int { return int(v.groupsCount) }

// UsersCount returns the number of users.
func (v *View) UsersCount() int { return v.users.Len() }

// StreamByID returns the stream with that id, or nil.
func (v *View) StreamByID(id uint32) *Stream {
	s, _ := v.streams.Get(id)
	return s
}

// StreamByName returns the stream with exactly that name, or nil.
func (v *View) StreamByName(name string) *Stream {
	if id, ok := v.streamNames.Get(name); ok {
		return v.StreamByID(id)
	}
	return nil
}

// Streams iterates over the streams, ascending by id.
func (v *View) Streams() iter.Seq[*Stream] { return v.streams.Values() }

// PartitionByID returns the partition of those ids with its topic; false when one of the three is not there.
func (v *View) PartitionByID(stream, topic, partition uint32) (Partition, *Topic, bool) {
	s := v.StreamByID(stream)
	if s == nil {
		return Partition{}, nil, false
	}
	t := s.TopicByID(topic)
	if t == nil {
		return Partition{}, nil, false
	}
	p, ok := t.Partition(partition)
	return p, t, ok
}

// TopicByID returns the topic with that id, or nil.
func (s *Stream) TopicByID(id uint32) *Topic {
	t, _ := s.topics.Get(id)
	return t
}

// TopicByName returns the topic with exactly that name, or nil.
func (s *Stream) TopicByName(name string) *Topic {
	if id, ok := s.topicNames.Get(name); ok {
		return s.TopicByID(id)
	}
	return nil
}

// Topics iterates over the topics, ascending by id.
func (s *Stream) Topics() iter.Seq[*Topic] { return s.topics.Values() }

// GroupByID returns the consumer group with that id, or nil.
func (t *Topic) GroupByID(id uint32) *ConsumerGroup {
	g, _ := t.groups.Get(id)
	return g
}

// GroupByName returns the consumer group with exactly that name, or nil.
func (t *Topic) GroupByName(name string) *ConsumerGroup {
	if id, ok := t.groupNames.Get(name); ok {
		return t.GroupByID(id)
	}
	return nil
}

// Groups iterates over the consumer groups, ascending by id.
func (t *Topic) Groups() iter.Seq[*ConsumerGroup] { return t.groups.Values() }

// UserByID returns the user with that id, or nil.
func (v *View) UserByID(id uint32) *User {
	u, _ := v.users.Get(id)
	return u
}

// UserByName returns the user with exactly that name, or nil.
func (v *View) UserByName(name string) *User {
	if id, ok := v.userNames.Get(name); ok {
		return v.UserByID(id)
	}
	return nil
}

// Users iterates over the users, ascending by id.
func (v *View) Users() iter.Seq[*User] { return v.users.Values() }

// TokenByName returns the user's token with exactly that name, or nil.
func (u *User) TokenByName(name string) *Token {
	t, _ := u.tokens.Get(name)
	return t
}

// Tokens iterates over the user's tokens, ascending by name.
func (u *User) Tokens() iter.Seq[*Token] { return u.tokens.Values() }

// TokenByHash returns the token with that hash and its owner, or nil twice. Whether it is expired and the
// owner active is for the caller to check.
func (v *View) TokenByHash(hash string) (*Token, *User) {
	o, ok := v.tokens.Get(hash)
	if !ok {
		return nil, nil
	}
	u := v.UserByID(o.user)
	return u.TokenByName(o.name), u
}

// Memberships returns the groups that client is a member of, in order. They must not be changed.
func (v *View) Memberships(client protocol.Uint128) []GroupRef {
	refs, _ := v.memberships.Get(client)
	return refs
}

// GroupByRef returns the consumer group that ref names, or nil.
func (v *View) GroupByRef(ref GroupRef) *ConsumerGroup {
	if s := v.StreamByID(ref.Stream); s != nil {
		if t := s.TopicByID(ref.Topic); t != nil {
			return t.GroupByID(ref.Group)
		}
	}
	return nil
}

// Handover is a partition on its way from one member of a group to another. It is completed by operation
// 67 once the source has committed what it polled, or after the rebalancing timeout.
type Handover struct {
	GroupRef
	Partition uint32
	Source    uint32 // member id
	Target    uint32 // member id
	Since     uint64 // microseconds since the Unix epoch
}

// Handovers iterates over everything that is being handed over, in the order of groups. It costs nothing
// when nothing is.
func (v *View) Handovers() iter.Seq[Handover] {
	return func(yield func(Handover) bool) {
		for ref, g := range v.handovers.All() {
			for _, m := range g.deal.Members {
				for _, r := range m.Pending {
					if !yield(Handover{ref, r.Partition, m.ID, r.Target, r.Since}) {
						return
					}
				}
			}
		}
	}
}
