package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/vsr"
)

// appendState is how far the log of a group is on its way to the device.
type appendState struct {
	written uint64 // op: everything up to here is in the page cache
	synced  uint64 // op: everything up to here counts as durable
	syncing bool
	// takingBack: what a failed append left in the files is being removed; nothing is proposed meanwhile.
	takingBack bool
}

// appendEntries writes prepares to the segments. On a default topic the write is what the topic promises,
// on an enforce_fsync topic a sync follows, one at a time: what is written while it runs is covered by the
// next.
func (g *group) appendEntries(entries []*vsr.Entry) {
	g.part.Stage(entries, &g.plan)
	if g.plan.Batches == 0 {
		g.appended(g.plan.LastOp, g.plan.Sync)
		return
	}
	first := entries[0].Header.Op()
	start := time.Now()
	err := g.files.write(&g.plan, g.preallocate())
	g.reader.live.Store(g.files.active)
	g.shard.node.metrics.observeAppend(time.Since(start))
	if err != nil {
		g.shard.node.log.Error("append", "partition", g.id.String(), "op", first, "error", err)
		g.shard.node.metrics.appendFailures.Inc()
		g.takeBack(first, err)
		return
	}
	g.appended(g.plan.LastOp, g.plan.Sync)
}

// appended goes on after everything up to op was written.
func (g *group) appended(op uint64, sync bool) {
	g.appends.written = op
	if !sync {
		g.part.AppendDone(op)
		g.replica.Done(g.shard.now, vsr.Appended{Op: op})
		g.syncFull()
		return
	}
	g.startSync()
}

// syncFull has segments that are full synced and closed in the background: the topic promises nothing about
// the device, but what is sealed should get there without waiting for the kernel.
func (g *group) syncFull() {
	set, ok := g.files.fullToSync()
	if !ok {
		return
	}
	g.submit(func() error {
		err := set.run()
		if err != nil {
			set.close()
		}
		return err
	}, func(err error) {
		if err != nil {
			g.shard.node.log.Error("sync of a full segment", "partition", g.id.String(), "error", err)
			g.shard.node.metrics.syncFailures.Inc()
			if set.lost {
				g.files.lost = errors.Join(g.files.lost, err)
			}
		}
	})
}

// preallocate is what a new segment reserves: nothing where that would take the reserve below the watermark.
func (g *group) preallocate() int64 {
	if o := g.part.Config().Options; o.Preallocate && g.shard.node.hasRoomFor(o.SegmentBytes) {
		return o.SegmentBytes
	}
	return 0
}

// takeBack removes what the files hold of the operations from first on, whose append failed with cause, before
// anybody is told that they were refused: a restart must not find them. What cannot be removed may be found, so
// that no answer would be true: the partition is fenced.
func (g *group) takeBack(first uint64, cause error) {
	n := g.shard.node
	n.noteDiskError(cause)
	start, position, written := g.part.StagedAt(first)
	if !written {
		g.replica.Done(g.shard.now, vsr.Appended{Op: first, Err: cause})
		return
	}
	g.appends.takingBack = true
	g.submit(func() error { return g.files.cutBack(start, position) }, func(err error) {
		switch {
		case g.state != serving:
			return
		case isNoSpace(err):
			g.stall(err, func() { g.takeBack(first, cause) })
			return
		case err != nil:
			g.fence(&TakeBackError{Append: cause, Cut: err})
			return
		}
		g.appends.takingBack = false
		g.reader.live.Store(g.files.active)
		g.replica.Done(g.shard.now, vsr.Appended{Op: first, Err: cause})
	})
}

// TakeBackError says that an append failed and that what it left could not be removed.
type TakeBackError struct{ Append, Cut error }

func (e *TakeBackError) Error() string {
	return fmt.Sprintf("what a failed append left cannot be removed: %v; the append: %v; mend the device and restart", e.Cut, e.Append)
}

// Unwrap returns both causes.
func (e *TakeBackError) Unwrap() []error { return []error{e.Append, e.Cut} }

func (g *group) startSync() {
	if g.appends.syncing || g.appends.written == g.appends.synced {
		return
	}
	g.appends.syncing = true
	upTo := g.appends.written
	set := g.files.toSync()
	g.submit(set.run, func(err error) {
		switch {
		case err == nil:
		case g.state == serving:
			g.files.restore(&set)
		default:
			set.close() // the files of the group are given back by whoever stopped it
		}
		g.syncDone(upTo, err)
	})
}

// syncDone follows a sync. A failed one is final for what it should have covered: the kernel may have
// dropped the pages, so the operations are unwound and the bytes written anew by whoever tries again.
func (g *group) syncDone(upTo uint64, err error) {
	g.appends.syncing = false
	if g.state != serving {
		return
	}
	if err != nil {
		first := g.appends.synced + 1
		g.shard.node.log.Error("sync", "partition", g.id.String(), "op", first, "error", err)
		g.shard.node.metrics.syncFailures.Inc()
		g.appends.written = g.appends.synced
		g.takeBack(first, fmt.Errorf("sync: %w", err))
		return
	}
	g.appends.synced = upTo
	g.part.AppendDone(upTo)
	g.replica.Done(g.shard.now, vsr.Appended{Op: upTo})
	g.startSync()
}

// submit runs task on the lane of the group and done under ownership, unless the group was retired meanwhile.
func (g *group) submit(task func() error, done func(error)) {
	g.jobs++
	g.shard.node.exec.Submit(g.lane, func() {
		err := task()
		g.shard.postCompletion(completion{g: g, done: func() {
			g.jobs--
			done(err)
		}})
	})
}
