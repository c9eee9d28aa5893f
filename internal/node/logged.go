package node

import (
	"maps"
	"slices"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// logClass says what counts before a prepare is acknowledged.
type logClass uint8

const (
	// segmentIsLog: the append to the segment, in the pass. Solo groups of default topics.
	segmentIsLog logClass = iota
	// logWritten: the append to the log of the shard. Groups with peers.
	logWritten
	// logSynced: that append and its sync. Topics with enforce_fsync.
	logSynced
)

// logClassOf is fixed for the life of an incarnation: it depends on nothing that can change.
func logClassOf(replicas uint8, enforceFsync bool) logClass {
	switch {
	case enforceFsync:
		return logSynced
	case replicas > 1:
		return logWritten
	}
	return segmentIsLog
}

// loggedGroup is what a group keeps whose prepares go through the log of its shard.
type loggedGroup struct {
	class logClass
	// recovering tells that the partition was found at the start, and what the logs hold of it is still to be read.
	recovering bool
	enrolling  bool         // recovered, and the log is to be told before anything is served
	trustLife  uint64       // life since which its records are known to be whole
	committed  []*vsr.Entry // scratch

	// acked is the newest op that counts; ackable the newest that a sync has covered and that is acknowledged
	// when all of that sync was looked at.
	acked, ackable uint64
	offsetOp       uint64 // newest offset operation that was proposed

	checkpoint checkpointState
}

// checkpointState is how far the files of a logged group are durable, and what is under way.
type checkpointState struct {
	op      uint64 // everything up to here may be forgotten by the log
	running bool
	wanted  bool
	listed  bool                               // among the groups of the shard whose files are behind their log
	retryAt uint64                             // tick
	offsets map[partition.ConsumerKey]struct{} // files renamed or removed since they were synced
}

// noteOffset remembers that the file of an offset is to be synced.
func (l *loggedGroup) noteOffset(key partition.ConsumerKey) {
	if l.checkpoint.offsets == nil {
		l.checkpoint.offsets = make(map[partition.ConsumerKey]struct{})
	}
	l.checkpoint.offsets[key] = struct{}{}
}

// waitsForLog reports that the group is recovered and the log of its shard cannot be told: that is tried again while
// the node serves everything else.
func (g *group) waitsForLog() bool {
	return g.logged != nil && g.logged.enrolling && g.shard.wal.failures > 0
}

// localWaits reports whether a local offset operation has to wait: for the offset operations before it, so that a
// replay meets them in the order in which they took effect, and for a checkpoint under way, which would cover its
// record and not its file.
func (g *group) localWaits() bool {
	return g.logged.offsetOp > g.replica.CommitMin() || g.logged.checkpoint.running
}

// takeOffsets returns the offsets whose files are to be synced, ascending, and forgets them.
func (l *loggedGroup) takeOffsets() []partition.ConsumerKey {
	keys := slices.SortedFunc(maps.Keys(l.checkpoint.offsets), partition.ConsumerKey.Compare)
	clear(l.checkpoint.offsets)
	return keys
}

// endRecovering notes that the group does not need to read the logs any more.
func (g *group) endRecovering() {
	if g.logged != nil && g.logged.recovering {
		g.logged.recovering = false
		g.shard.node.recoveredFromLog()
	}
}

// acknowledge tells the replica what the log has made count.
func (g *group) acknowledge() {
	l := g.logged
	if g.state != serving || l.ackable <= l.acked {
		return
	}
	l.acked = l.ackable
	g.part.AppendDone(l.acked)
	g.replica.Done(g.shard.now, vsr.Appended{Op: l.acked})
	g.shard.wal.noteBehind(g)
	g.shard.touch(g)
}

// notLogged takes back everything from op on: the log of the shard refused it.
func (g *group) notLogged(op uint64, err error) {
	if g.state != serving {
		return
	}
	g.shard.node.log.Error("append to the shard log", "partition", g.id.String(), "op", op, "error", err)
	g.replica.Done(g.shard.now, vsr.Appended{Op: op, Err: err})
	g.shard.touch(g)
}

// logAdmits says whether w may be given a log position now, as far as the log of the shard is concerned: not
// while too much waits for a sync, and not at all while it cannot take more. refused says that w was answered.
func (g *group) logAdmits(w *Work) (admits, refused bool) {
	if g.logged == nil {
		return true, false
	}
	switch g.shard.wal.admission(g) {
	case walWaits:
		return false, false
	case walRefuses:
		if !isSend(w) {
			return true, false
		}
		g.shard.node.metrics.refusedLog.Inc()
		g.shard.refuse(g.waiting.pop(), protocol.CodeTransientNotAccepted)
		return false, true
	}
	return true, false
}
