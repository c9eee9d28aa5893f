package node

import (
	"path"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vsr"
)

// newGroup makes the frame of a group, without replica or files.
func (s *shard) newGroup(id protocol.GroupID, p metadata.Partition, t *metadata.Topic) *group {
	n := s.node
	g := &group{shard: s, id: id, revision: p.CreatedRevision, dir: n.partitionDir(id), lane: s.lanes[id]}
	if g.lane == nil {
		g.lane = new(Lane)
	}
	stream, topic, part := id.Partition()
	g.part = partition.New(partition.Config{
		Stream: stream, Topic: topic, ID: part, Revision: p.CreatedRevision, Replicas: n.replicas,
		Options: n.partitionOptions(t), TailMaxBytes: n.limits.TailPartitionBytes,
		ReservationLease: n.limits.ReservationLease,
	})
	g.files = segmentFiles{fs: n.fs, dir: g.dir}
	g.reader = &Reader{node: n, id: id, revision: p.CreatedRevision, dir: g.dir, part: g.part, shard: s}
	g.purge.generation, g.purge.op = p.PurgeGeneration, p.PurgedAt
	g.setTruncate(p.TruncateUpTo)
	return g
}

// openGroup begins the life of a partition that is used for the first time: its directory appears now.
// Requests wait until that is done.
func (s *shard) openGroup(id protocol.GroupID, revision uint64) (*group, protocol.Code) {
	p, topic, ok := findPartition(s.node.View(), id)
	if !ok || p.CreatedRevision != revision {
		return nil, protocol.CodePartitionNotFound
	}
	g := s.newGroup(id, p, topic)
	s.groups[id] = g
	s.node.readers.put(id, g.reader)
	var found *opened
	g.submit(func() (err error) {
		found, err = s.node.openFiles(g, p.PurgeGeneration)
		return err
	}, func(err error) { g.opened(found, err) })
	// A change that was published before the reader could be found was told to nobody.
	if s.reconcile(id); g.state == retired {
		return nil, protocol.CodePartitionNotFound
	}
	return g, protocol.Success
}

// opened is what the directory of a partition held.
type opened struct {
	store   *superblock.Store
	present bool // a superblock was there
	state   superblock.State
	data    segment.State
	offsets map[partition.ConsumerKey]uint64
	purge   uint64 // applied generation
}

// openFiles makes or reads the directory of g. A directory that belonged to an earlier incarnation with the
// same ids is moved out of the way first.
func (n *Node) openFiles(g *group, generation uint64) (*opened, error) {
	if err := n.evictPredecessor(g.dir, g.revision); err != nil {
		return nil, err
	}
	if err := n.claimDir(g.dir, g.revision, generation); err != nil {
		return nil, err
	}
	o := &opened{}
	var err error
	if o.purge, err = segment.ReadPurgeGeneration(n.fs, g.dir, g.revision); err != nil {
		return nil, err
	}
	if err := n.openSuperblock(g, o); err != nil {
		return nil, err
	}
	_, _, id := g.id.Partition()
	o.data, err = segment.Recover(n.fs, g.dir, uint64(id), segment.Options{Solo: n.replicas == 1})
	if err != nil {
		return nil, err
	}
	o.offsets, err = n.readOffsets(g.dir)
	return o, err
}

func (n *Node) openSuperblock(g *group, o *opened) error {
	store, outcome, err := superblock.Open(n.fs, g.dir)
	if err != nil {
		return err
	}
	o.store, o.present = store, outcome == superblock.Present
	if !o.present {
		return nil
	}
	o.state, _ = store.State()
	return o.state.CheckIdentity(n.cluster, n.replicaID, n.replicas)
}

// claimDir creates the directory of a partition that is used for the first time and records whose it is.
// Nothing here needs the purges that were committed before. The record is written in place: until the
// superblock exists the partition holds nothing, and a torn record is written again.
func (n *Node) claimDir(dir string, revision, generation uint64) error {
	if _, known, err := segment.ReadIncarnation(n.fs, dir); err != nil || known {
		return err
	}
	if _, err := n.fs.Stat(path.Join(dir, segment.LogName(0))); err == nil {
		return nil // data of before there were records: its generation is 0
	}
	parents, err := missingParents(n.fs, n.layout.Path(), dir)
	if err != nil {
		return err
	}
	if err := n.fs.MkdirAll(dir); err != nil {
		return err
	}
	if err := segment.ClaimDirectory(n.fs, dir, generation, revision); err != nil {
		return err
	}
	for _, p := range parents {
		if err := n.fs.SyncDir(p); err != nil {
			return err
		}
	}
	return nil
}

// readOffsets loads the stored offsets. One that cannot be trusted is dropped: its consumer starts over.
func (n *Node) readOffsets(dir string) (map[partition.ConsumerKey]uint64, error) {
	offsets := make(map[partition.ConsumerKey]uint64)
	for _, kind := range []partition.ConsumerKind{partition.KindConsumer, partition.KindGroup} {
		found, err := segment.LoadOffsets(n.fs, dir, segment.OffsetKind(kind))
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			switch {
			case o.Err != nil, o.State == segment.OffsetTorn, o.State == segment.OffsetCorrupt:
				n.log.Warn("stored consumer offset dropped", "dir", dir, "consumer", o.ID, "error", o.Err)
			default:
				offsets[partition.ConsumerKey{Kind: kind, ID: o.ID}] = o.Value
			}
		}
	}
	return offsets, nil
}

// opened takes over what the directory held and lets requests in.
func (g *group) opened(o *opened, err error) {
	if g.state != opening {
		return
	}
	if err != nil {
		g.fence(err)
		return
	}
	restored := g.part.Restore(partition.Recovered{
		Segments: segmentsOf(o.data.Segments),
		Claim:    partition.Claim{Frontier: o.state.OffsetFrontier, Reserved: o.state.OffsetReserved},
		Offsets:  o.offsets, PurgeGeneration: o.purge,
	})
	for _, name := range o.data.Foreign {
		g.shard.node.log.Warn("file that is no segment was left alone", "dir", g.dir, "name", name)
	}
	if restored.ClampedOffsets+restored.DroppedOffsets > 0 {
		g.shard.node.log.Warn("stored consumer offsets were above the end of the data",
			"partition", g.id.String(), "clamped", restored.ClampedOffsets, "dropped", restored.DroppedOffsets)
	}
	g.block.store = o.store
	if restored.Replant {
		g.replant(o.data.Segments)
		return
	}
	g.serve()
}

func segmentsOf(found []segment.Info) []partition.Segment {
	out := make([]partition.Segment, len(found))
	for i, s := range found {
		out[i] = partition.Segment{
			Start: s.Start, End: s.End, Size: s.Size, FirstMicros: s.First, MaxMicros: s.Max,
			LastIndex: s.LastIndexed, Indexed: s.Indexed,
		}
	}
	return out
}

// replant starts a segment at the next offset to mint, behind an anchor that says why it does not continue
// the one before. Nothing is served before that is durable.
func (g *group) replant(found []segment.Info) {
	frontier := g.part.MintFrontier()
	var chain []segment.Info
	g.submit(func() (err error) {
		chain, err = segment.Reanchor(g.shard.node.fs, g.dir, found, frontier)
		return err
	}, func(err error) {
		if g.state != opening {
			return
		}
		if err != nil {
			g.fence(err)
			return
		}
		g.part.Replanted(segmentsOf(chain))
		g.serve()
	})
}

// soloDepth is the prepare depth of a group without peers: no view change has to describe what is in flight,
// and one vectored write takes as much of a pass as it can.
const soloDepth = 127

func (n *Node) prepareDepth() int {
	if n.replicas == 1 {
		return soloDepth
	}
	return n.limits.PrepareDepth
}

// serve makes the replica and lets requests in.
func (g *group) serve() {
	n := g.shard.node
	state, present := g.block.store.State()
	replica, err := vsr.New(vsr.Config{
		Group: g.id, Cluster: n.cluster, Replica: n.replicaID, Replicas: n.replicas, Revision: g.revision,
		Incarnation: n.incarnation, Machine: g.part, PrepareDepth: n.prepareDepth(),
		Start: vsr.Start{
			View: state.View, LogView: state.LogView, ViewDurable: present, Timestamp: g.part.NewestMicros(),
		},
	})
	if err != nil {
		g.fence(err)
		return
	}
	g.replica = replica
	g.state = serving
	g.part.Publish()
	g.reader.wakeWaiters()
	g.shard.reconcile(g.id) // with what the metadata said while nobody followed it
}
