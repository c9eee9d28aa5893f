package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/vsr"
)

// appendState is how far the log of a group whose segments are its log has come.
type appendState struct {
	// takingBack: what a failed append left in the files is being removed; nothing is proposed meanwhile.
	takingBack bool
}

// appendEntries takes prepares to the log of the group: the shared log of the shard, or the segments.
func (g *group) appendEntries(entries []*vsr.Entry) {
	if g.logged != nil {
		g.shard.wal.gather(g, entries)
		return
	}
	g.part.Stage(entries, &g.plan)
	if err := g.writePlan(); err != nil {
		first := entries[0].Header.Op()
		g.shard.node.log.Error("append", "partition", g.id.String(), "op", first, "error", err)
		g.shard.node.metrics.appendFailures.Inc()
		g.takeBack(first, err)
		return
	}
	g.part.AppendDone(g.plan.LastOp)
	g.replica.Done(g.shard.now, vsr.Appended{Op: g.plan.LastOp})
	g.syncFull()
}

// appendCommitted writes what is committed and not applied to the segments. The log of the shard has it: nothing
// is unwound when that fails.
func (g *group) appendCommitted(replica *vsr.Replica) error {
	l := g.logged
	l.committed = replica.Committed(l.committed[:0])
	g.part.Stage(l.committed, &g.plan)
	clear(l.committed)
	err := g.writePlan()
	if err != nil {
		g.part.Unstage()
	}
	return err
}

// writePlan carries out what Stage has laid out.
func (g *group) writePlan() error {
	if g.plan.Batches == 0 {
		return nil
	}
	start := time.Now()
	err := g.files.write(&g.plan, g.preallocate())
	g.reader.live.Store(g.files.active)
	g.shard.node.metrics.observeAppend(time.Since(start))
	return err
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
