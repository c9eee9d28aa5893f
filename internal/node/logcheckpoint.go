package node

import (
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// checkpointsMax is how many groups of a node sync their files for a checkpoint at once.
const checkpointsMax = 16

// noteBehind remembers that the files of g are behind the log.
func (w *shardWAL) noteBehind(g *group) {
	if c := &g.logged.checkpoint; !c.listed {
		c.listed = true
		w.behind = append(w.behind, g)
	}
}

// want asks for a checkpoint of g, as soon as there is room for one.
func (w *shardWAL) want(g *group) {
	c := &g.logged.checkpoint
	if c.wanted {
		return
	}
	c.wanted = true
	w.wanted = append(w.wanted, g)
	w.shard.wantTick()
}

// startCheckpoints starts those that were asked for.
func (w *shardWAL) startCheckpoints() {
	kept := w.wanted[:0]
	for _, g := range w.wanted {
		if g.state != serving {
			g.logged.checkpoint.wanted = false
		} else if !g.startCheckpoint() {
			kept = append(kept, g)
		}
	}
	clear(w.wanted[len(kept):])
	w.wanted = kept
}

// startCheckpoint makes the files of g durable up to where they are and then tells the log, which may forget what
// led there. It reports false when that has to wait.
func (g *group) startCheckpoint() bool {
	c, n := &g.logged.checkpoint, g.shard.node
	if c.running || g.block.purging || g.shard.now.Ticks < c.retryAt {
		return false
	}
	mark := g.part.Checkpoint()
	if mark.Op == c.op && len(c.offsets) == 0 {
		c.wanted = false
		return true
	}
	if n.logCheckpoints.Add(1) > checkpointsMax {
		n.logCheckpoints.Add(-1)
		return false
	}
	c.wanted, c.running = false, true
	dedup := g.part.Dedup(nil)
	set, keys := g.files.toSync(), g.logged.takeOffsets()
	g.submit(func() error {
		err := set.rewrite()
		if err == nil {
			err = set.run()
		}
		if err == nil {
			err = g.syncOffsets(keys)
		}
		return err
	}, func(err error) { g.filesSynced(mark, dedup, &set, keys, err) })
	return true
}

// filesSynced follows the sync of what a checkpoint speaks of.
func (g *group) filesSynced(mark partition.Checkpoint, dedup []partition.DedupEntry, set *syncSet,
	keys []partition.ConsumerKey, err error) {
	if err == nil && g.state == serving {
		payload := shardlog.EncodeCheckpoint(nil, g.checkpointRecord(mark, dedup))
		g.shard.wal.add(g, wal.KindCheckpoint, payload, false, func(err error) { g.checkpointLogged(&mark, err) })
		return
	}
	if g.state != serving {
		if err != nil {
			set.close() // the files of the group are given back by whoever stopped it
		}
		g.endCheckpoint()
		return
	}
	g.files.restore(set)
	for _, key := range keys {
		g.logged.noteOffset(key)
	}
	g.checkpointFailed(err)
}

func (g *group) checkpointFailed(err error) {
	g.shard.node.log.Error("checkpoint", "partition", g.id.String(), "error", err)
	g.shard.node.noteDiskError(err)
	g.endCheckpoint()
	g.logged.checkpoint.retryAt = g.shard.now.Ticks + ticksPerSecond
	g.shard.wal.want(g)
}

// checkpointLogged follows the sync of the record.
func (g *group) checkpointLogged(mark *partition.Checkpoint, err error) {
	if err != nil {
		if g.state == serving {
			g.checkpointFailed(err)
		} else {
			g.endCheckpoint()
		}
		return
	}
	g.endCheckpoint()
	if g.state != serving || !g.part.Checkpointed(mark) {
		return
	}
	g.logged.checkpoint.op = mark.Op
	g.clean() // retention may have waited for it
	g.shard.node.metrics.logCheckpoints.Inc()
	g.shard.wal.reclaim()
}

func (g *group) endCheckpoint() {
	g.logged.checkpoint.running = false
	g.shard.node.logCheckpoints.Add(-1)
	g.shard.touch(g) // local operations may wait for it
}

// checkpointRecord is what the log is told.
func (g *group) checkpointRecord(mark partition.Checkpoint, dedup []partition.DedupEntry) *shardlog.Checkpoint {
	c := &shardlog.Checkpoint{
		Header: mark.Header, Op: mark.Op, Frontier: mark.Frontier, SegmentStart: mark.SegmentStart,
		SegmentBytes: uint64(mark.SegmentSize), Timestamp: mark.Micros, PurgeGeneration: mark.PurgeGeneration,
		BarrierOp: mark.BarrierOp, AckedHead: mark.Op, TrustLife: g.logged.trustLife,
		Dedup: make([]shardlog.DedupEntry, len(dedup)),
	}
	for i, d := range dedup {
		c.Dedup[i] = shardlog.DedupEntry(d)
	}
	return c
}
