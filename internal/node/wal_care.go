package node

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// walAdmission says what the state of the log means for a new prepare.
type walAdmission uint8

const (
	walTakes walAdmission = iota
	walWaits
	walRefuses
)

// hasRoomForFile reports whether the log can take its next step without touching the watermark.
func (w *shardWAL) hasRoomForFile() bool {
	n := w.shard.node
	return n.hasRoomFor(min(shardlog.FillStepBytes, n.limits.WALFileBytes))
}

// unsyncedMax is the number of bytes of prepares that may wait for a sync of one log.
const unsyncedMax = 64 << 20

// walWedgedTicks is how long a log may fail before its groups are stopped.
const walWedgedTicks = 120 * ticksPerSecond

// admission says whether the log takes prepares of g.
func (w *shardWAL) admission(g *group) walAdmission {
	if _, pins := w.pinning[g.id]; pins {
		return walRefuses
	}
	if w.log != nil && !w.hasRoomForFile() && w.log.WantsFile() {
		return walRefuses // before the log has to take its next step out of what the watermark reserves
	}
	if w.waitingBytes >= unsyncedMax || w.failures > 1 || w.failures > 0 && w.stuck {
		return walWaits // for a second at most
	}
	return walTakes
}

// open calls then with the log at hand, which the first group of a shard has made.
func (w *shardWAL) open(then func()) {
	if w.log != nil {
		then()
		return
	}
	w.openers = append(w.openers, then)
	w.makeLog()
}

func (w *shardWAL) makeLog() {
	if w.opening || len(w.openers) == 0 || w.shard.now.Ticks < w.retryAt {
		return
	}
	w.opening = true
	logs, index := w.shard.node.logs, w.shard.index
	var log *shardlog.Log
	w.submit(&w.upkeep, func() (_ uint64, err error) {
		if err = logs.Begin(); err == nil { // of a start that found the disk full
			log, err = logs.Shard(index)
		}
		return 0, err
	}, func(_ uint64, err error) {
		w.opening = false
		if err != nil {
			w.failed("open", err)
			return // tried again at a later tick, while requests wait and are refused
		}
		w.log = log
		w.mended()
		openers := w.openers
		w.openers = nil
		for _, then := range openers {
			then()
		}
	})
}

// failed notes that a task of the log failed. It is tried again after a pause that grows; when it has failed for
// too long, the groups of the shard are stopped. A full disk stops nobody: space comes back.
func (w *shardWAL) failed(what string, err error) {
	n := w.shard.node
	if w.failures == 0 {
		w.failedSince = w.shard.now.Ticks
	}
	w.failures++
	w.retryAt = w.shard.now.Ticks + backoffTicks(w.failures)
	w.shard.wantTick()
	n.metrics.logFailures.Inc()
	n.noteDiskError(err)
	if w.failures&(w.failures-1) == 0 {
		n.log.Error("shard log", "shard", w.shard.index, "task", what, "failures", w.failures, "error", err)
	}
	if isNoSpace(err) || w.shard.now.Ticks-w.failedSince < walWedgedTicks && !errors.Is(err, shardlog.ErrOutOfService) {
		return
	}
	for _, g := range w.shard.groupList() {
		if g.logged != nil && g.state == serving {
			g.fence(fmt.Errorf("the log of shard %d cannot be written: %w", w.shard.index, err))
		}
	}
}

// mended notes that the log works.
func (w *shardWAL) mended() {
	if w.failures > 0 {
		w.shard.node.log.Info("shard log works again", "shard", w.shard.index, "failures", w.failures)
	}
	w.failures, w.retryAt = 0, 0
}

// tick goes on with what failed or had to wait.
func (w *shardWAL) tick() {
	if w.log == nil {
		w.makeLog()
	}
	if w.failures > 0 || len(w.wanted) > 0 {
		w.shard.wantTick()
	}
}

// everySecond looks at the limits and at the groups that have become idle.
func (w *shardWAL) everySecond() {
	if w.log == nil {
		return
	}
	w.checkLimits()
	kept := w.behind[:0]
	for _, g := range w.behind {
		c := &g.logged.checkpoint
		if g.state != serving || g.replica.CommitMin() <= c.op && !c.running {
			c.listed = false
			continue
		}
		kept = append(kept, g)
		if w.shard.now.Ticks-g.lastUsed >= idleTicks {
			w.want(g)
		}
	}
	clear(w.behind[len(kept):])
	w.behind = kept
}

// idleTicks is how long nothing must have happened in a group for its checkpoint to cost nobody anything.
const idleTicks = 5 * ticksPerSecond

// checkLimits has the groups checkpointed that hold the oldest files of a log above its limit, and their sends
// refused when it is far above.
func (w *shardWAL) checkLimits() {
	w.sinceCheck = 0
	pins := w.log.Pinning()
	w.pinning = nil
	if len(pins) > 0 && w.log.Full() {
		w.pinning = make(map[protocol.GroupID]struct{}, len(pins))
	}
	for _, id := range pins {
		if w.pinning != nil {
			w.pinning[id] = struct{}{}
		}
		if g := w.shard.groups[id]; g != nil && g.logged != nil && g.state == serving {
			w.want(g)
		}
	}
}

// reclaim gives files back that nobody needs.
func (w *shardWAL) reclaim() {
	if w.reclaiming || w.log == nil {
		return
	}
	w.reclaiming = true
	log := w.log
	w.submit(&w.upkeep, func() (uint64, error) { return 0, log.Reclaim() }, func(_ uint64, err error) {
		w.reclaiming = false
		if err != nil {
			w.shard.node.log.Error("shard log", "shard", w.shard.index, "task", "reclaim", "error", err)
			w.shard.node.noteDiskError(err)
		}
		w.checkLimits()
	})
}

// dropGroup tells the log that an incarnation has ended and needs nothing of it.
func (w *shardWAL) dropGroup(id protocol.GroupID, revision uint64) {
	w.open(func() {
		w.records = append(w.records, shardlog.Record{Kind: wal.KindDropped, Group: id, Revision: revision})
		w.owners = append(w.owners, walOwner{early: true, then: func(error) {}})
	})
}

// ring is a first-in first-out queue that stops allocating at the largest number of elements ever held.
type ring[T any] struct {
	buf        []T
	head, size int
}

func (q *ring[T]) len() int { return q.size }

func (q *ring[T]) first() *T { return &q.buf[q.head] }

func (q *ring[T]) push(v T) {
	if q.size == len(q.buf) {
		grown := make([]T, max(8, 2*len(q.buf)))
		for i := range q.size {
			grown[i] = q.buf[(q.head+i)%len(q.buf)]
		}
		q.buf, q.head = grown, 0
	}
	q.buf[(q.head+q.size)%len(q.buf)] = v
	q.size++
}

func (q *ring[T]) popFirst() T {
	v := q.buf[q.head]
	var zero T
	q.buf[q.head] = zero
	q.head = (q.head + 1) % len(q.buf)
	q.size--
	return v
}
