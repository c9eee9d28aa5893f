package node

import (
	"errors"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// shardWAL is the write-ahead log of a shard as its groups use it: what they append in a pass is gathered into
// one batch, one sync covers all batches before it, and its end acknowledges every group. Only the owner of the
// shard touches it; syncs and the care of the files are tasks.
type shardWAL struct {
	shard   *shard
	log     *shardlog.Log // nil until the first group needs it
	opening bool
	openers []func() // wait for log

	records []shardlog.Record // gathered, not appended
	owners  []walOwner        // of records
	inSync  ring[walOwner]    // appended, not known to be durable
	ready   []*group          // to be acknowledged after the sync that was just looked at

	syncs, upkeep Lane
	syncing       bool
	preparing     bool
	reclaiming    bool
	torn          bool   // the file may hold a part of what is gathered
	stuck         bool   // the log takes nothing before PrepareFile or Sync was run
	spoiled       bool   // a sync failed: PrepareFile comes before the next
	failures      int    // tasks in a row that failed
	failedSince   uint64 // tick
	retryAt       uint64 // tick
	waitingBytes  int64  // gathered and not known to be durable

	pinning    map[protocol.GroupID]struct{} // hold the oldest file while the log is over twice its limit
	sinceCheck int64                         // bytes appended since the limits were looked at

	behind []*group // whose files are behind the log
	wanted []*group // of those, the ones that are to be checkpointed
}

// walOwner tells what follows a record.
type walOwner struct {
	g     *group
	op    uint64 // of a prepare; 0 for another record
	bytes int64  // of its body
	batch uint64
	// then runs when another record is durable, or cannot be; with early set as soon as it is appended.
	then  func(error)
	early bool
}

// copyBelow is the size up to which the log keeps a copy of a record until it is durable. Larger ones are read
// back from the file, should a sync fail.
const copyBelow = 64 << 10

// limitsEvery is the number of appended bytes after which the limits of the log are looked at.
const limitsEvery = 4 << 20

// gather takes the prepares of a group into the batch of this pass.
func (w *shardWAL) gather(g *group, entries []*vsr.Entry) {
	for _, e := range entries {
		w.records = append(w.records, shardlog.Record{
			Kind: wal.KindPrepare, Group: g.id, Revision: g.revision,
			Sync:   g.logged.class == logSynced && len(e.Body.Bytes) <= copyBelow,
			Header: &e.Header, Body: e.Body.Bytes,
		})
		w.owners = append(w.owners, walOwner{g: g, op: e.Header.Op()})
		w.waitingBytes += int64(len(e.Body.Bytes))
	}
}

// add takes another record of a group into the batch of this pass.
func (w *shardWAL) add(g *group, kind wal.Kind, payload []byte, early bool, then func(error)) {
	w.records = append(w.records, shardlog.Record{
		Kind: kind, Group: g.id, Revision: g.revision, Sync: !early, Body: payload,
	})
	w.owners = append(w.owners, walOwner{g: g, then: then, early: early})
}

// forget drops what a group has gathered: it stops, and its memory may be used anew.
func (w *shardWAL) forget(g *group) {
	kept := 0
	for i := range w.records {
		if w.owners[i].g == g && w.owners[i].op > 0 {
			w.waitingBytes -= int64(len(w.records[i].Body))
			continue
		}
		w.records[kept], w.owners[kept] = w.records[i], w.owners[i]
		kept++
	}
	w.shrink(kept)
}

func (w *shardWAL) shrink(kept int) {
	clear(w.records[kept:])
	clear(w.owners[kept:])
	w.records, w.owners = w.records[:kept], w.owners[:kept]
}

// flush appends what was gathered and sees to it that a sync comes. It reports whether groups have to run again
// because of that.
func (w *shardWAL) flush() (more bool) {
	if w.log == nil {
		return false
	}
	if len(w.wanted) > 0 {
		w.startCheckpoints()
	}
	for len(w.records) > 0 && !w.stuck {
		n := w.fit()
		batch, err := w.log.Append(w.records[:n])
		switch {
		case err == nil:
			more = w.appended(n, batch) || more
		case errors.Is(err, shardlog.ErrNotReady), errors.Is(err, shardlog.ErrUnsynced):
			w.stuck = true
		case errors.Is(err, shardlog.ErrTooLarge), errors.Is(err, shardlog.ErrRefused):
			w.refuse(n, err)
			more = true
		default:
			// What a part of the batch left in the file is void once the next write covers it. Until then a
			// restart could find it, so nobody is told that it was refused.
			w.stuck, w.torn = true, true
			w.failed("append", err)
		}
	}
	if w.stuck || w.spoiled || w.log.WantsFile() && w.hasRoomForFile() {
		w.prepare()
	}
	w.startSync()
	if w.sinceCheck >= limitsEvery {
		w.checkLimits()
	}
	return more
}

// fit is the number of gathered records that go into one batch.
func (w *shardWAL) fit() int {
	left := w.log.BatchBytesMax()
	for i := range w.records {
		if left -= w.records[i].Bytes(); left < 0 {
			return max(i, 1)
		}
	}
	return len(w.records)
}

// appended goes on with the first n records, which the log has taken as one batch.
func (w *shardWAL) appended(n int, batch uint64) (more bool) {
	w.torn = false
	for i := range n {
		o := w.owners[i]
		o.batch = batch
		w.sinceCheck += w.records[i].Bytes()
		if o.op > 0 {
			o.bytes = int64(len(w.records[i].Body))
		}
		switch {
		case o.early:
			o.then(nil)
			more = more || o.g != nil
		case o.op > 0 && o.g.logged.class == logWritten:
			w.waitingBytes -= o.bytes
			o.g.logged.ackable = o.op
			o.g.acknowledge()
			more = true
		default:
			w.inSync.push(o)
		}
	}
	w.drop(n)
	return more
}

// drop removes the first n gathered records.
func (w *shardWAL) drop(n int) {
	copy(w.records, w.records[n:])
	copy(w.owners, w.owners[n:])
	w.shrink(len(w.records) - n)
}

// refuse ends the first n gathered records, which the log did not take. Whatever their groups have gathered
// behind them is void with them.
func (w *shardWAL) refuse(n int, err error) {
	w.shard.node.noteDiskError(err)
	failed := make([]walOwner, n)
	copy(failed, w.owners[:n])
	for i := range n {
		if failed[i].op > 0 {
			w.waitingBytes -= int64(len(w.records[i].Body))
		}
	}
	w.drop(n)
	for _, o := range failed {
		if o.op == 0 {
			o.then(err)
			continue
		}
		if o.g.replica.Op() >= o.op { // not void yet through an earlier one
			w.forget(o.g)
			o.g.notLogged(o.op, err)
		}
	}
}

// startSync starts a sync when something waits for one and none runs. What is appended meanwhile is covered by
// the next.
func (w *shardWAL) startSync() {
	if w.syncing || w.spoiled || w.inSync.len() == 0 || w.shard.now.Ticks < w.retryAt {
		return
	}
	w.syncing = true
	log := w.log
	w.submit(&w.syncs, func() (uint64, error) { return log.Sync() }, w.syncDone)
}

func (w *shardWAL) syncDone(covered uint64, err error) {
	w.syncing = false
	if err != nil {
		w.spoiled = true
		if !errors.Is(err, shardlog.ErrNotReady) {
			w.failed("sync", err)
		}
		return
	}
	w.mended()
	w.stuck = false
	w.release(covered)
}

// release goes on with everything up to batch covered.
func (w *shardWAL) release(covered uint64) {
	for w.inSync.len() > 0 && w.inSync.first().batch <= covered {
		o := w.inSync.popFirst()
		w.waitingBytes -= o.bytes
		switch {
		case o.op == 0:
			o.then(nil)
		case o.g.state == serving:
			if l := o.g.logged; l.ackable == l.acked {
				w.ready = append(w.ready, o.g)
			}
			o.g.logged.ackable = o.op
		}
	}
	for _, g := range w.ready {
		g.acknowledge()
	}
	clear(w.ready)
	w.ready = w.ready[:0]
}

// prepare has the log make room, or carry over what a failed sync left behind.
func (w *shardWAL) prepare() {
	if w.preparing || w.shard.now.Ticks < w.retryAt {
		return
	}
	w.preparing = true
	log := w.log
	w.submit(&w.upkeep, func() (uint64, error) {
		err := log.PrepareFile()
		return log.Synced(), err
	}, w.prepared)
}

func (w *shardWAL) prepared(covered uint64, err error) {
	w.preparing = false
	w.shard.node.checkFreeSpace() // a step of a file is more than a send
	w.release(covered)
	if err != nil {
		w.failed("next file", err)
		w.refuseAll(err)
		return
	}
	w.stuck, w.spoiled = false, false
	if !w.syncing && !w.torn && w.inSync.len() == 0 {
		w.mended()
	}
}

// refuseAll answers what waits for a log that cannot take it: nothing of it was written. Births and checkpoints
// stay until it can.
func (w *shardWAL) refuseAll(err error) {
	if w.torn {
		return
	}
	first := 0
	for i := range w.owners {
		if o := w.owners[i]; o.op == 0 && !o.early {
			w.records[first], w.records[i] = w.records[i], w.records[first]
			w.owners[first], w.owners[i] = w.owners[i], w.owners[first]
			first++
		}
	}
	kept, keptOwners := slices.Clone(w.records[:first]), slices.Clone(w.owners[:first])
	w.drop(first)
	if len(w.records) > 0 {
		w.refuse(len(w.records), err)
	}
	w.records, w.owners = append(w.records, kept...), append(w.owners, keptOwners...)
}

// submit runs task on a lane and done under ownership.
func (w *shardWAL) submit(lane *Lane, task func() (uint64, error), done func(uint64, error)) {
	w.shard.node.exec.Submit(lane, func() {
		n, err := task()
		w.shard.postCompletion(completion{done: func() { done(n, err) }})
	})
}
