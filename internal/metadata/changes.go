package metadata

import "github.com/galgolog/galgo/internal/protocol"

// ChangeKind tells what happened to partitions.
type ChangeKind uint8

// Kinds of change.
const (
	PartitionsCreated ChangeKind = iota + 1
	PartitionsDeleted
	PartitionsPurged
	PartitionsTruncated
	PartitionsReconfigured // the options of the topic changed
)

// PartitionChange is one change to the partitions First to First+Count-1 of a topic.
type PartitionChange struct {
	Kind          ChangeKind
	Stream, Topic uint32
	First, Count  uint32
	Op            uint64
}

// EndedSession is a session that is no longer in the client table.
type EndedSession struct {
	Client  protocol.Uint128
	Session uint64 // its epoch
	User    uint32
	// Reason is what the connection's next request is answered with; 0 after a Logout, which owes nothing.
	Reason protocol.EvictionReason
	// Rebound tells that the client signed in again: the older connection falls back to not signed in and
	// owes its next request nothing but that.
	Rebound bool
}

// LostMembership is a client that is no longer a member of a group.
type LostMembership struct {
	GroupRef
	Client protocol.Uint128
}

// Changes is what happened since the last Drain, in log order.
type Changes struct {
	// Everything is set when not everything is listed: after a restore, or when a host let too much pile
	// up. The host then compares all it has with the View.
	Everything  bool
	Partitions  []PartitionChange
	Ended       []EndedSession
	Memberships []LostMembership
}

// changesMax bounds each list between two drains.
const changesMax = 1 << 16

func (c *Changes) partitions(p PartitionChange) {
	if p.Count == 0 {
		return
	}
	if len(c.Partitions) >= changesMax {
		c.Everything = true
		return
	}
	c.Partitions = append(c.Partitions, p)
}

func (c *Changes) ended(e EndedSession) {
	if len(c.Ended) >= changesMax {
		c.Everything = true
		return
	}
	c.Ended = append(c.Ended, e)
}

func (c *Changes) lost(m LostMembership) {
	if len(c.Memberships) >= changesMax {
		c.Everything = true
		return
	}
	c.Memberships = append(c.Memberships, m)
}

// Drain returns what happened since the last call.
func (s *State) Drain() Changes {
	c := s.changes
	s.changes = Changes{}
	return c
}
