package node

import (
	"slices"

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
	if class := logClassOf(n.replicas, t.Options.EnforceFsync()); class != segmentIsLog {
		g.logged = &loggedGroup{class: class}
	}
	stream, topic, part := id.Partition()
	g.part = partition.New(partition.Config{
		Stream: stream, Topic: topic, ID: part, Revision: p.CreatedRevision, Replicas: n.replicas,
		Logged: g.logged != nil, Options: n.partitionOptions(t), TailMaxBytes: n.limits.TailPartitionBytes,
		ReservationLease: n.limits.ReservationLease, ReservationLeaseMax: n.limits.ReservationMax,
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
	p, topic, ok := s.node.View().PartitionByID(id.Partition())
	if !ok || p.CreatedRevision != revision {
		return nil, protocol.CodePartitionNotFound
	}
	g := s.newGroup(id, p, topic)
	s.groups[id] = g
	s.node.readers.put(id, g.reader)
	s.load(g, p.PurgeGeneration)
	// A change that was published before the reader could be found was told to nobody.
	if s.reconcile(id); g.state == retired {
		return nil, protocol.CodePartitionNotFound
	}
	return g, protocol.Success
}

// opened is what the directory of a partition held.
type opened struct {
	owner   ownership
	store   *superblock.Store
	present bool // a superblock was there
	state   superblock.State
	data    segment.State
	offsets map[partition.ConsumerKey]uint64
	logged  openedLog
}

// openFiles makes or reads the directory of g. A directory that belonged to an earlier incarnation with the
// same ids is moved out of the way first.
func (n *Node) openFiles(g *group, generation uint64, recovering bool) (*opened, error) {
	o := &opened{logged: openedLog{recovering: recovering}}
	var err error
	if o.owner, err = n.takeDirectory(g.dir, g.revision, generation); err != nil {
		return nil, err
	}
	if err := n.openSuperblock(g, o); err != nil {
		return nil, err
	}
	if g.logged != nil {
		return o, n.openLogged(g, o, generation)
	}
	return o, n.openData(g, o, n.recoverOptions(o))
}

// openData reads segments and stored offsets.
func (n *Node) openData(g *group, o *opened, opts segment.Options) (err error) {
	_, _, id := g.id.Partition()
	if o.data, err = segment.Recover(n.fs, g.dir, uint64(id), opts); err != nil {
		return err
	}
	if end := o.data.End(); n.replicas == 1 && o.state.OffsetReserved > 0 && end > o.state.OffsetReserved {
		return &StaleSuperblockError{Dir: g.dir, Reserved: o.state.OffsetReserved, End: end}
	}
	if o.owner.stale {
		if !o.owner.sealed && len(o.data.Segments) > 0 {
			o.owner.First = o.data.Segments[0].Start
		}
		n.log.Warn("record of the owner of a partition directory is written anew", "dir", g.dir)
		if err := segment.WriteOwner(n.fs, g.dir, o.owner.Owner); err != nil {
			return err
		}
	}
	g.owner = o.owner.Owner
	o.offsets, err = n.readOffsets(g.dir)
	return err
}

// recoverOptions are what is known of the segments from elsewhere. A purge begins with a superblock that reserves
// nothing, and may have removed anything since. A superblock whose whole reservation is data is that of a stop in
// order, which synced all of it first; whatever came later would have raised the reservation before.
func (n *Node) recoverOptions(o *opened) segment.Options {
	opts := segment.Options{Solo: n.replicas == 1}
	if o.state.OffsetReserved > 0 && o.owner.sealed {
		opts.First, opts.FirstKnown = o.owner.First, true
	}
	if opts.Solo && o.state.OffsetReserved == o.state.OffsetFrontier {
		opts.Floor = o.state.OffsetFrontier
	}
	return opts
}

func (n *Node) openSuperblock(g *group, o *opened) error {
	store, outcome, err := superblock.Open(n.fs, g.dir)
	if err != nil {
		return err
	}
	o.store, o.present = store, outcome == superblock.Present
	if !o.present {
		if o.owner.holds && g.logged == nil { // the log of the shard may know enough
			return &MissingSuperblockError{g.dir}
		}
		return nil
	}
	o.state, _ = store.State()
	return o.state.CheckIdentity(n.cluster, n.replicaID, n.replicas)
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
	g.endRecovering()
	if g.state != opening {
		return
	}
	if err != nil {
		g.fence(err)
		return
	}
	g.reader.stalled.Store(false)
	g.block.store = o.store
	if g.logged != nil {
		g.report(o, o.logged.restored)
		if !o.logged.restored.Replant {
			g.enroll(&o.logged)
			return
		}
		g.part.Publish()
		g.replant(infosOf(g.part.Segments()), func() {
			o.logged.markEnd(g)
			g.enroll(&o.logged)
		})
		return
	}
	restored := g.part.Restore(partition.Recovered{
		Segments: segmentsOf(o.data.Segments), Claim: o.claim(), Offsets: o.offsets, PurgeGeneration: o.owner.Generation,
	})
	g.report(o, restored)
	if restored.Replant {
		g.replant(o.data.Segments, g.serve)
		return
	}
	g.serve()
}

// claim is what the superblock says about offsets.
func (o *opened) claim() partition.Claim {
	return partition.Claim{Frontier: o.state.OffsetFrontier, Reserved: o.state.OffsetReserved}
}

// report says what was found that is not as it should be.
func (g *group) report(o *opened, restored partition.Restored) {
	for _, seg := range o.data.Segments {
		if seg.TruncatedBytes > 0 {
			g.shard.node.log.Warn("torn end of a segment was cut off", "dir", g.dir, "segment", segment.LogName(seg.Start),
				"bytes", seg.TruncatedBytes, "left", seg.Size)
		}
	}
	for _, name := range o.data.Foreign {
		g.shard.node.log.Warn("file that is no segment was left alone", "dir", g.dir, "name", name)
	}
	if restored.ClampedOffsets+restored.DroppedOffsets > 0 {
		g.shard.node.log.Warn("stored consumer offsets were above the end of the data",
			"partition", g.id.String(), "clamped", restored.ClampedOffsets, "dropped", restored.DroppedOffsets)
	}
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
// the one before, and goes on with then when that is durable. Before, nothing is minted.
func (g *group) replant(found []segment.Info, then func()) {
	frontier := g.part.MintFrontier()
	var chain []segment.Info
	g.submit(func() (err error) {
		chain, err = g.reanchor(found, frontier)
		return err
	}, func(err error) {
		switch {
		case g.state != opening:
			return
		case isNoSpace(err): // polls are served meanwhile
			g.stall(err, func() { g.replant(found, then) })
			return
		case err != nil:
			g.fence(err)
			return
		}
		g.part.Replanted(segmentsOf(chain))
		then()
	})
}

// reanchor makes the files end at frontier, and returns the segments that result. It runs on the lane.
func (g *group) reanchor(found []segment.Info, frontier uint64) ([]segment.Info, error) {
	fs := g.shard.node.fs
	if !slices.ContainsFunc(found, func(s segment.Info) bool { return s.Size > 0 }) {
		// Nothing is left of what was below: the chain begins at the frontier from now on.
		g.owner.First = frontier
		if err := segment.WriteOwner(fs, g.dir, g.owner); err != nil {
			return nil, err
		}
	}
	return segment.Reanchor(fs, g.dir, found, frontier)
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

// newReplica makes the replica of g. The view comes from the superblock, the rest of start from the caller.
func (g *group) newReplica(store *superblock.Store, start vsr.Start) (*vsr.Replica, error) {
	n := g.shard.node
	state, present := store.State()
	start.View, start.LogView, start.ViewDurable = state.View, state.LogView, present
	return vsr.New(vsr.Config{
		Group: g.id, Cluster: n.cluster, Replica: n.replicaID, Replicas: n.replicas, Revision: g.revision,
		Incarnation: n.incarnation, Machine: g.part, PrepareDepth: n.prepareDepth(), Start: start,
	})
}

// serve lets requests in, to the replica that a replay has made or to a new one.
func (g *group) serve() {
	if g.replica == nil {
		replica, err := g.newReplica(g.block.store, vsr.Start{Timestamp: g.part.NewestMicros()})
		if err != nil {
			g.fence(err)
			return
		}
		g.replica = replica
	}
	g.state = serving
	g.part.Publish()
	g.reader.wakeWaiters()
	g.shard.reconcile(g.id) // with what the metadata said while nobody followed it
}
