package node

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
)

// reconcile tells the shards which partitions the metadata changed. Partitions that were never used need
// nothing: they meet the view when their first request opens them.
func (n *Node) reconcile(c metadata.Changes) {
	if c.Everything {
		for _, s := range n.shards {
			s.postControl(func(s *shard) {
				for _, g := range s.groupList() {
					s.reconcile(g.id)
				}
			})
		}
		return
	}
	for _, p := range c.Partitions {
		if p.Kind == metadata.PartitionsCreated && p.First == 0 || p.Kind == metadata.PartitionsReconfigured {
			n.tellPromise(&p)
		}
		if p.Kind == metadata.PartitionsCreated {
			continue
		}
		for i := range p.Count {
			id, err := protocol.PartitionGroup(p.Stream, p.Topic, p.First+i)
			if err == nil && n.readers.get(id) != nil {
				n.shards[n.shardIndex(id)].postControl(func(s *shard) { s.reconcile(id) })
			}
		}
	}
}

// tellPromise logs what an acknowledgement of a topic means that was created or changed.
func (n *Node) tellPromise(p *metadata.PartitionChange) {
	s := n.View().StreamByID(p.Stream)
	if s == nil {
		return
	}
	if t := s.TopicByID(p.Topic); t != nil {
		n.log.Info("topic durability", "topic", s.Name+"/"+t.Name, "id", fmt.Sprintf("%d/%d", p.Stream, p.Topic),
			"promise", t.Options.Promise().Words())
	}
}

// groupList returns the groups of the shard in ascending order of their ids.
func (s *shard) groupList() []*group {
	list := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
	return list
}

// reconcile brings one partition to what the metadata says now, whatever happened in between.
func (s *shard) reconcile(id protocol.GroupID) {
	g := s.groups[id]
	if g == nil {
		return
	}
	p, topic, ok := s.node.View().PartitionByID(id.Partition())
	if !ok || p.CreatedRevision != g.revision {
		g.retire()
		return
	}
	if p.PurgeGeneration > g.purge.generation {
		g.purge.generation, g.purge.op = p.PurgeGeneration, p.PurgedAt
	}
	g.setTruncate(p.TruncateUpTo)
	if g.state == serving {
		g.part.SetOptions(s.node.partitionOptions(topic))
		g.clean()
		g.dropGroupOffsets(topic)
	}
	s.touch(g)
}

// dropGroupOffsets forgets the stored offsets of consumer groups that no longer exist. Group ids are not used
// again, so a stored offset of an unknown group is of a deleted one.
func (g *group) dropGroupOffsets(t *metadata.Topic) {
	for _, key := range g.part.OffsetKeys() {
		if key.Kind != partition.KindGroup || t.GroupByID(key.ID) != nil {
			continue
		}
		op := partition.OffsetOp{Key: key}
		if err := g.storeLocal(protocol.OpDeleteConsumerOffset, op); err != nil {
			g.shard.node.log.Warn("remove offset of a deleted group", "partition", g.id.String(), "error", err)
		}
	}
}

// retire ends a partition that was deleted. Its directory moves aside under its incarnation before a
// successor can open, and is removed in the background.
func (g *group) retire() {
	if g.state == retired {
		return
	}
	s, n := g.shard, g.shard.node
	g.state = retired
	g.drop(protocol.CodeTransientNotAccepted)
	g.part.TrimTail(0)
	g.noteTail()
	delete(s.groups, g.id)
	s.clock.forget(g)
	delete(s.truncating, g.id)
	n.readers.remove(g.id, g.reader)
	g.reader.closeFiles()
	g.endRecovering()
	if g.logged != nil && (s.wal.log != nil || s.wal.opening) {
		s.wal.dropGroup(g.id, g.revision)
	}
	dir, revision := g.dir, g.revision
	// A successor with the same ids goes on on this lane: its files come after everything of this one.
	lane := g.lane
	s.lanes[g.id] = lane
	n.exec.Submit(lane, func() {
		_ = g.files.close() // what they hold is removed next
		if err := n.removePartition(dir, revision); err != nil {
			n.log.Error("remove deleted partition", "dir", dir, "error", err)
		}
		s.postControl(func(s *shard) {
			if s.lanes[g.id] == lane && s.groups[g.id] == nil {
				delete(s.lanes, g.id)
			}
		})
	})
}

// partitionOptions are the options of a topic as its partitions obey them.
func (n *Node) partitionOptions(t *metadata.Topic) partition.Options {
	o := partition.Options{
		SegmentBytes: int64(t.Options.SegmentSize()), Preallocate: t.Options.PreallocateSegments(),
	}
	if expiry := t.Options.MessageExpiry(); expiry != metadata.Unlimited {
		o.ExpiryMicros = expiry
	}
	if size := t.Options.MaxTopicSize(); size != metadata.Unlimited && size != 0 && t.PartitionsCount() > 0 {
		share := min(size/uint64(t.PartitionsCount()), math.MaxInt64/2)
		o.BudgetBytes = max(int64(share), o.SegmentBytes+int64(n.limits.MaxFrameBytes))
	}
	return o
}
