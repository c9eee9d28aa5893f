package node

import (
	"errors"
	"path"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/wal"
)

// checkpointer makes room in the metadata journal, in three phases of which each begins when the one before
// is durable: a snapshot of what is applied, a superblock that names it, and the drain of the entries that it
// covers. A crash between any two leaves a start that replays from the older or from the newer snapshot. The
// phases are jobs; the owner only takes the capture, which copies nothing that is large.
//
// A checkpoint that fails holds nothing up. What it left is finished by the next one, which comes after a
// pause; until then the journal takes operations while it has slots, and the metadata group refuses them with
// 58 when it has none.
//
// There is none when the node stops: the journal holds at most its slots of operations, whose replay takes
// less time than a snapshot would take to write.
type checkpointer struct {
	slots, margin uint64 // one is due when no more than margin of the slots are free
	lane          Lane   // beside that of the appends

	written   mark // the snapshot in the file
	paired    mark // the snapshot that the superblock names
	undrained bool // the journal may hold what paired covers
	running   bool // a phase is on its way
	began     uint64
	failures  int
	retryAt   uint64 // tick
}

// mark names a snapshot. The zero mark is none.
type mark struct {
	op       uint64
	checksum protocol.Uint128
}

// checkpointMarginMin is the least number of free slots with which a checkpoint begins: a full queue of
// prepares still fits while one runs, or after one failed.
const checkpointMarginMin = 64

// checkpointPauseMaxTicks bounds the pause after checkpoints that failed.
const checkpointPauseMaxTicks = 10 * ticksPerSecond

func (n *Node) snapshotPath() string { return path.Join(n.layout.Metadata(), snapshot.FileName) }

// checkpointIfDue begins the phase that is next, when it is time for one.
func (m *metaGroup) checkpointIfDue() {
	c := &m.checkpoint
	if c.running || m.failed || m.shard.now.Ticks < c.retryAt || m.shard.node.closing.Load() {
		return
	}
	switch {
	case c.written != c.paired:
		m.pairSnapshot()
	case c.undrained:
		m.drainJournal()
	case m.freeSlots() <= c.margin:
		m.writeSnapshot()
	}
}

// freeSlots is the number of operations behind the head of the log for which the journal has room.
func (m *metaGroup) freeSlots() uint64 {
	head := m.replica.Op()
	used := head - min(head, m.journal.SnapshotOp())
	return m.checkpoint.slots - min(used, m.checkpoint.slots)
}

// writeSnapshot is the first phase. The capture is of what is applied, which the journal holds already.
func (m *metaGroup) writeSnapshot() {
	c := &m.checkpoint
	capture := m.state.Capture()
	if capture.Op() <= c.written.op {
		return // everything behind the snapshot is still on its way through the journal
	}
	n := m.shard.node
	c.running, c.began = true, m.shard.now.Micros
	next := mark{op: capture.Op()}
	size := 0
	m.submitTo(&c.lane, func() error {
		b := capture.Encode(nil)
		size, next.checksum = len(b), snapshot.Checksum(b)
		return snapshot.Write(n.fs, n.snapshotPath(), b)
	}, func(err error) {
		c.running = false
		if err != nil {
			m.checkpointFailed("snapshot", err)
			return
		}
		c.written = next
		n.metrics.snapshotBytes.Store(uint64(size))
		m.checkpointIfDue()
	})
}

// pairSnapshot is the second phase: the superblock names the snapshot. It is a write like those that the gate
// asks for, and shares one with them where both are wanted.
func (m *metaGroup) pairSnapshot() {
	m.checkpoint.running, m.block.wantMark = true, true
	m.writeSuperblock()
}

// snapshotPaired takes the end of the second phase.
func (m *metaGroup) snapshotPaired(durable mark, err error) {
	c := &m.checkpoint
	if err == nil && c.paired != durable {
		c.paired, c.undrained = durable, true
	}
	if !c.running || m.block.wantMark {
		return // a write for the gate; the checkpoint is elsewhere
	}
	c.running = false
	if err != nil {
		m.checkpointFailed("superblock", err)
		return
	}
	m.checkpointIfDue()
}

// drainJournal is the third phase. The entry of the operation that the snapshot ends with stays: the next
// entry chains to it, and it stands at the commit point, where a view change must not find a blank.
func (m *metaGroup) drainJournal() {
	c := &m.checkpoint
	c.running = true
	upTo := c.paired.op - 1
	m.submitTo(&c.lane, func() error { return m.journal.Drain(upTo) }, func(err error) {
		c.running = false
		switch {
		case errors.Is(err, wal.ErrPoisoned):
			m.fail(err) // nothing can be written any more; a start recovers what is on the disk
			return
		case err != nil:
			m.checkpointFailed("drain", err)
			return
		}
		c.undrained, c.failures, c.retryAt = false, 0, 0
		n := m.shard.node
		n.metrics.checkpoints.Inc()
		if c.began > 0 {
			n.metrics.checkpointMicros.Add(m.shard.now.Micros - min(m.shard.now.Micros, c.began))
			c.began = 0
		}
		m.checkpointIfDue()
	})
}

// checkpointFailed counts a failure and sets the pause before the next attempt: 100 ms, doubled with every
// failure in a row.
func (m *metaGroup) checkpointFailed(phase string, err error) {
	c, n := &m.checkpoint, m.shard.node
	c.failures++
	c.retryAt = m.shard.now.Ticks + min(uint64(10)<<min(c.failures-1, 10), checkpointPauseMaxTicks)
	n.metrics.checkpointsFailed.Inc()
	n.noteDiskError(err)
	if c.failures&(c.failures-1) == 0 {
		n.log.Error("metadata checkpoint", "phase", phase, "failures", c.failures, "free_slots", m.freeSlots(), "error", err)
	}
}

// hasRoom reports whether the journal will take one more operation when its turn comes. While what may wait
// inside the replica fits as well, nobody counts.
func (m *metaGroup) hasRoom() bool {
	free := m.freeSlots()
	return free > m.checkpoint.margin+2*m.depth || free > 0 && m.replica.HasRoom()
}
