package node

import (
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// openedLog is what the log of the shard held of a partition, and what became of it.
type openedLog struct {
	replica    *vsr.Replica
	restored   partition.Restored
	dedup      []partition.DedupEntry
	trustLife  uint64
	recovering bool // what the logs held at the start counts
	birth      bool // the log does not know the partition yet
	// mark is what the log is to be told before anything is served, nil when it knows.
	mark       *partition.Checkpoint
	checkpoint uint64 // op of the checkpoint that the log knows
	wantView   bool   // the superblock is to be written
}

// openLogged recovers a partition whose prepares go through the log of its shard: the files as far as the log says
// that they are durable, then everything that the log holds above.
func (n *Node) openLogged(g *group, o *opened, generation uint64) error {
	found, known, err := n.judgeLog(g, o)
	if err != nil {
		return err
	}
	if err := g.files.close(); err != nil { // of an attempt that found the disk full
		return err
	}
	g.files.orphans = nil
	r := &replayer{g: g, o: o}
	if err := r.plan(&found, generation); err != nil {
		return err
	}
	if known && found.Rebooted {
		// What the device got of bytes that were never synced may be any part of them.
		if err := segment.CutTo(n.fs, g.dir, r.start.SegmentStart, r.start.SegmentSize); err != nil {
			return err
		}
	}
	opts := n.recoverOptions(o)
	if known {
		opts.Floor = r.start.Frontier // the log knows what was synced
	}
	opts.FirstKnown = opts.FirstKnown && !r.dead
	if err := n.openData(g, o, opts); err != nil {
		return err
	}
	if r.dead {
		o.offsets = nil
	}
	if !known && o.present {
		return &MissingLogError{Dir: g.dir} // the log knew the partition before the superblock was written
	}
	g.part.Load(partition.Recovered{
		Segments: segmentsOf(o.data.Segments), Offsets: o.offsets, PurgeGeneration: o.owner.Generation,
		Checkpoint: r.start, Dedup: o.logged.dedup,
	})
	if next, _ := g.part.NextRecovered(); next < r.start.Frontier {
		return &BehindLogError{Dir: g.dir, Next: next, Wants: r.start.Frontier}
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.run(); err != nil {
		return err
	}
	return g.settleLogged(r, known)
}

// judgeLog decides whether the log of the shard proves what the partition had acknowledged.
func (n *Node) judgeLog(g *group, o *opened) (found shardlog.GroupLog, known bool, err error) {
	if o.logged.recovering {
		found, known = n.logs.Find(g.id, g.revision)
	}
	known = known && !found.Dropped
	switch {
	case !known && !o.present && o.owner.holds:
		return found, false, &MissingSuperblockError{g.dir}
	case !known:
		o.logged.birth = true
		o.logged.trustLife = n.logs.Verdict().Life
		return shardlog.GroupLog{}, false, nil
	case found.State != shardlog.Intact:
		return found, true, &DamagedLogError{Dir: g.dir, Reason: found.Reason}
	case found.LostMark:
		return found, true, &DamagedLogError{Dir: g.dir, Reason: errMarkedLost}
	}
	if !o.present && (len(found.Entries) > 0 || found.Checkpoint != nil) {
		n.log.Warn("partition without a superblock: recovered from the shard log", "partition", g.id.String(), "ops", len(found.Entries))
	}
	o.logged.trustLife = found.TrustLife
	return found, true, nil
}

// settleLogged ends the recovery after the replay. Before anything is served the files are durable, so that the log
// can be told where they are: offsets that are minted from now on may leave a gap, which the log does not describe.
func (g *group) settleLogged(r *replayer, known bool) error {
	o := &r.o.logged
	o.replica, o.checkpoint = r.replica, r.start.Op
	o.wantView = o.wantView || r.wantView
	o.restored = g.part.Settle(r.o.claim())
	holdsData := len(r.o.data.Segments) > 0
	if len(r.next) == 0 && !o.restored.Replant && (known || !holdsData) {
		return nil
	}
	set := g.files.toSync()
	if err := set.run(); err != nil {
		set.close()
		return err
	}
	// Those that the replay deleted have no key any more, but a file that could come back.
	if err := g.syncOffsets(append(g.part.OffsetKeys(), g.logged.takeOffsets()...)); err != nil {
		return err
	}
	if !o.restored.Replant { // else when that is done
		o.markEnd(g)
	}
	return nil
}

// markEnd has the log told where the files end.
func (o *openedLog) markEnd(g *group) {
	mark := g.part.Checkpoint()
	o.mark = &mark
}

func infosOf(found []partition.Segment) []segment.Info {
	out := make([]segment.Info, len(found))
	for i, s := range found {
		out[i] = segment.Info{
			Start: s.Start, End: s.End, Size: s.Size, First: s.FirstMicros, Max: s.MaxMicros,
			LastIndexed: s.LastIndex, Indexed: s.Indexed,
		}
	}
	return out
}

// enroll tells the log what it does not know yet about the partition, and serves when that is durable: the birth
// comes before the first superblock, the checkpoint before the first offset behind it.
func (g *group) enroll(o *openedLog) {
	g.replica = o.replica
	l, w := g.logged, &g.shard.wal
	l.trustLife = o.trustLife
	l.acked = g.replica.CommitMin()
	l.ackable = l.acked
	l.checkpoint.op = o.checkpoint
	g.block.wantView = o.wantView
	l.enrolling = true
	w.open(func() {
		if g.state != opening {
			return
		}
		enrolled := func(err error) { g.enrolled(o.mark, err) }
		switch {
		case o.mark == nil && !o.birth:
			enrolled(nil)
			return
		case o.mark == nil:
			w.add(g, wal.KindBirth, nil, false, enrolled)
		default:
			if o.birth {
				w.add(g, wal.KindBirth, nil, false, func(error) {})
			}
			record := g.checkpointRecord(*o.mark, g.part.Dedup(nil))
			w.add(g, wal.KindCheckpoint, shardlog.EncodeCheckpoint(nil, record), false, enrolled)
		}
	})
}

func (g *group) enrolled(mark *partition.Checkpoint, err error) {
	g.logged.enrolling = false
	switch {
	case g.state != opening:
		return
	case err != nil:
		g.fence(err)
		return
	case mark != nil:
		g.logged.checkpoint.op = mark.Op
		g.part.Checkpointed(mark)
	}
	g.serve()
	g.shard.touch(g)
}
