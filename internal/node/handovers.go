package node

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vsr"
)

// handoverRetryTicks is how long the end of a hand-over that was proposed may take to be applied.
const handoverRetryTicks = 3 * ticksPerSecond

// completeRevocations ends the hand-overs of partitions between group members whose source has committed
// what it polled, or has had its time. It is gone from the view when that is applied; a proposal that was lost,
// because the journal could not be written, is made again.
func (m *metaGroup) completeRevocations() {
	n := m.shard.node
	view := n.View()
	var current map[metadata.Handover]uint64
	for h := range view.Handovers() {
		if current == nil {
			current = make(map[metadata.Handover]uint64)
		}
		current[h] = m.proposedHandovers[h]
		if m.shard.now.Ticks < current[h] || !m.handoverDue(view, h) {
			continue
		}
		body := metadata.CompleteRevocation{GroupRef: h.GroupRef, Partition: h.Partition, Source: h.Source, Since: h.Since}
		m.proposeInternal(protocol.OpCompleteConsumerGroupRevocation, body.Append(nil))
		current[h] = m.shard.now.Ticks + handoverRetryTicks
	}
	m.proposedHandovers = current
	if len(current) > 0 {
		m.shard.wantTick()
	}
}

func (m *metaGroup) handoverDue(view *metadata.View, h metadata.Handover) bool {
	n := m.shard.node
	waited := m.shard.now.Micros - min(m.shard.now.Micros, h.Since)
	if waited/tickMicros >= n.limits.RebalanceTicks {
		return true
	}
	id, err := protocol.PartitionGroup(h.Stream, h.Topic, h.Partition)
	if err != nil {
		return true
	}
	p, _, ok := view.PartitionByID(id.Partition())
	return !ok || !n.PendingHandOver(id, p.CreatedRevision, h.Group)
}

// proposeInternal puts an operation of the server itself into the metadata log. Nobody waits for it.
func (m *metaGroup) proposeInternal(op protocol.Operation, body []byte) {
	w := &Work{Group: protocol.MetadataGroup, arrived: m.shard.now.Ticks}
	w.Request = vsr.Request{Client: protocol.MaxUint128, Operation: op, Body: vsr.Body{Bytes: body}}
	m.enqueue(w)
}

// RemoveMember has a client that lost its connection taken out of a group, unless it joined again since.
func (n *Node) RemoveMember(r metadata.RemoveMember) {
	n.shards[0].postControl(func(s *shard) {
		s.meta.proposeInternal(protocol.OpRemoveConsumerGroupMember, r.Append(nil))
	})
}

// DeleteExpiredToken has a personal access token removed, if it still is expired when that is applied.
func (n *Node) DeleteExpiredToken(user uint32, name string) {
	body := command.DeleteTokenReplicated{User: user, Name: []byte(name), OnlyIfExpired: true}.Append(nil)
	n.shards[0].postControl(func(s *shard) {
		s.meta.proposeInternal(protocol.OpDeletePersonalAccessToken, body)
	})
}

// SessionObserver is told which sessions the metadata group has ended, in log order. It is called under the
// ownership of shard 0 and must not block.
type SessionObserver interface {
	SessionsEnded(ended []metadata.EndedSession)
}

// Observe sets the observer of ended sessions. It must be called before requests are submitted.
func (n *Node) Observe(o SessionObserver) {
	s := n.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	n.observer = o
}

func (m *metaGroup) noteSessions(c *metadata.Changes) {
	if o := m.shard.node.observer; o != nil && len(c.Ended) > 0 {
		o.SessionsEnded(c.Ended)
	}
}
