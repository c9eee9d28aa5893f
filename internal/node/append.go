package node

import (
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/vsr"
)

// appendState is how far the log of a group is on its way to the device.
type appendState struct {
	written uint64 // op: everything up to here is in the page cache
	synced  uint64 // op: everything up to here counts as durable
	syncing bool
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
		g.shard.node.noteDiskError(err)
		g.replica.Done(g.shard.now, vsr.Appended{Op: first, Err: err})
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
		}
	})
}

func (g *group) preallocate() int64 {
	if o := g.part.Config().Options; o.Preallocate {
		return o.SegmentBytes
	}
	return 0
}

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
		g.appends.written = g.appends.synced
		g.replica.Done(g.shard.now, vsr.Appended{Op: first, Err: fmt.Errorf("sync: %w", err)})
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
