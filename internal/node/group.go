package node

import (
	"sync/atomic"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// groupState is the life of a partition group on this node.
type groupState uint8

const (
	opening groupState = iota // its directory is being made or read
	serving
	fenced  // stopped with a typed reason; files stay for an operator
	retired // deleted, or replaced by a later incarnation
)

// group is one partition on this node: its replica, its state machine and its files. Only the owner of the
// shard touches it, except for reader, which polls use.
type group struct {
	shard    *shard
	id       protocol.GroupID
	revision uint64
	dir      string
	state    groupState

	replica *vsr.Replica
	part    *partition.Partition
	files   segmentFiles
	block   superblockWriter
	owner   segment.Owner // of the directory, as last written; tasks of the lane only
	toGo    []uint64      // segments that removals have not unlinked yet, oldest first; tasks of the lane only
	lane    *Lane
	reader  *Reader

	waiting     workQueue // requests without a log position
	plan        partition.AppendPlan
	appends     appendState
	logged      *loggedGroup // nil when the segments are the log
	purge       purgeRequest
	truncate    uint64 // metadata watermark, exclusive end
	retrying    bool   // a failed job waits for retryAt
	retryAt     uint64 // tick
	jobFailures int    // in a row
	stalled     func() // goes on once a second, after the disk was full
	// failingSince is the tick since which the jobs of the partition fail, 0 when they do not.
	failingSince uint64
	expiring     bool // the cleaner has not looked, or not removed all it found
	removing     int  // removals of segments under way
	jobs         int  // jobs handed to the executor
	isTouched    bool
	isTimed      bool
	tailNoted    int64
	rate         mintRate
	lastUsed     uint64 // tick
	scratch      vsr.Reply
}

// purgeRequest is the newest purge that the metadata group committed for this partition.
type purgeRequest struct {
	generation, op uint64
	barrier        uint64 // op of the newest barrier put into the log, 0 for none
}

// mintRate is where minting was at the last tick that looked.
type mintRate struct{ tick, frontier uint64 }

// workQueue is a list of requests in arrival order.
type workQueue struct {
	head, tail *Work
	len        int
}

func (q *workQueue) push(w *Work) {
	w.next = nil
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.len++
}

func (q *workQueue) pop() *Work {
	w := q.head
	if w == nil {
		return nil
	}
	q.head = w.next
	if q.head == nil {
		q.tail = nil
	}
	w.next = nil
	q.len--
	return w
}

// Reader is what a poll needs of a partition: safe for any goroutine.
type Reader struct {
	node     *Node
	id       protocol.GroupID
	revision uint64
	dir      string
	part     *partition.Partition
	shard    *shard
	fence    atomic.Pointer[FenceError]
	files    handleCache
	live     atomic.Pointer[segment.Writer] // of the active segment, for its index

	waiters viewWaiters
	faults  faultLog
	// stalled tells that the files could not be read yet for want of space: what the partition holds is not known.
	stalled atomic.Bool
}

// FenceError says why a partition was stopped.
type FenceError struct {
	Group  protocol.GroupID
	Reason error
}

func (e *FenceError) Error() string {
	return "partition " + e.Group.String() + " is fenced: " + e.Reason.Error()
}

// Unwrap returns the reason.
func (e *FenceError) Unwrap() error { return e.Reason }

func (n *Node) partitionDir(id protocol.GroupID) string {
	stream, topic, part := id.Partition()
	return n.layout.Partition(stream, topic, part)
}

func (g *group) enqueue(w *Work) { g.waiting.push(w) }

// fence stops the group. Requests that wait are answered, those in flight stay unanswered by the log and get
// the same code.
func (g *group) fence(reason error) {
	if g.state == fenced || g.state == retired {
		return
	}
	g.state = fenced
	err := &FenceError{Group: g.id, Reason: reason}
	g.reader.fence.Store(err)
	g.shard.node.log.Error("partition fenced", "partition", g.id.String(), "kind", err.Kind().String(), "reason", reason)
	g.shard.node.metrics.fenced.Inc()
	g.shard.node.metrics.fencedBy[err.Kind()].Inc()
	g.drop(protocol.CodeCannotReadPartitions)
}

// drop answers everything that waits with code.
func (g *group) drop(code protocol.Code) {
	for w := g.waiting.pop(); w != nil; w = g.waiting.pop() {
		g.shard.refuse(w, code)
	}
	if g.replica == nil {
		return
	}
	if g.logged != nil {
		g.shard.wal.forget(g)
	}
	g.replica.Stop(g.shard.now)
	eff := g.replica.Effects()
	for i := range eff.Replies {
		r := &eff.Replies[i]
		r.Outcome = vsr.Outcome{Verdict: vsr.Denied, Code: code}
		g.shard.answered(r.Waiter, r)
	}
}

// run carries the group as far as it can go in this pass.
func (g *group) run() {
	if g.state == fenced {
		g.drop(protocol.CodeCannotReadPartitions)
		return
	}
	if g.state == opening && g.stalled != nil {
		g.drop(protocol.CodeTransientNotAccepted)
	}
	if g.state == opening && g.waiting.head != nil {
		g.shard.waitForTick(g)
	}
	if g.state != serving {
		return
	}
	g.lastUsed = g.shard.now.Ticks
	for g.step() {
	}
	if g.state != serving {
		return
	}
	g.publish()
	if g.waiting.head != nil || g.retrying || g.block.failures > 0 || g.replica.Deadline() != vsr.NoDeadline {
		g.shard.waitForTick(g)
	}
}

// publish makes what the group has applied visible, before any reply that depends on it leaves.
func (g *group) publish() {
	if !g.part.Publish() {
		return
	}
	if v, w := g.part.View(), g.shard.node.witness; w != nil && v.Seeded {
		w.Visible(g.dir, v.Committed)
	}
	g.noteTail()
	g.reader.wakeWaiters()
}

// step proposes what waits, executes the effects and reports whether there may be more to do.
func (g *group) step() bool {
	proposed := g.propose()
	eff := g.replica.Effects()
	if len(eff.Replies) > 0 {
		g.publish()
	}
	for i := range eff.Replies {
		g.shard.answered(eff.Replies[i].Waiter, &eff.Replies[i])
	}
	if eff.Broken != nil {
		g.fence(eff.Broken)
		return false
	}
	viewWritten := false
	if eff.Superblock != nil {
		viewWritten = g.viewDurable()
		g.block.wantView = !viewWritten
	}
	replied := len(eff.Replies) > 0
	appended := len(eff.Appends) > 0
	if appended {
		g.appendEntries(eff.Appends)
	}
	jobs := g.runJobs()
	if viewWritten {
		g.replica.Done(g.shard.now, vsr.SuperblockDone{View: g.replica.View(), LogView: g.replica.LogView()})
	}
	g.writeSuperblock()
	return g.state == serving && (proposed || appended || jobs || replied || viewWritten)
}

// propose gives waiting requests a log position, in order, until something has to happen first.
func (g *group) propose() bool {
	if g.proposePurge() {
		return true
	}
	progress := false
	for g.waiting.head != nil && !g.purgeInTheWay() && !g.appends.takingBack {
		w := g.waiting.head
		if !w.Local && !g.replica.HasRoom() {
			return progress
		}
		if w.Request.Request > 0 && g.absorb(w) {
			progress = true
			continue
		}
		if admits, refused := g.logAdmits(w); refused {
			progress = true
			continue
		} else if !admits {
			return progress
		}
		if isSend(w) {
			covered := g.part.Covers(uint64(w.Messages))
			if g.shard.node.space.low.Load() || covered && !g.shard.node.takesSend(len(w.Request.Body.Bytes)) {
				g.shard.node.metrics.refusedDisk.Inc()
				g.shard.refuse(g.waiting.pop(), protocol.CodeTransientNotAccepted)
				continue
			}
			if !covered {
				g.block.wantClaim(g.part.ClaimFor(uint64(w.Messages)))
				return progress
			}
		}
		if w.Local {
			if g.logged != nil && g.localWaits() {
				return progress
			}
			g.waiting.pop()
			g.applyLocal(w)
			progress = true
			continue
		}
		outcome := g.replica.Propose(g.shard.now, &w.Request)
		if outcome.Verdict == vsr.Full {
			return progress
		}
		g.waiting.pop()
		progress = true
		if g.logged != nil && outcome.Verdict == vsr.Accepted && !isSend(w) {
			g.logged.offsetOp = g.replica.Op()
		}
		if outcome.Verdict != vsr.Accepted {
			g.scratch = vsr.Reply{Waiter: w.Request.Waiter, Request: &w.Request, Outcome: outcome}
			g.shard.answered(w.Request.Waiter, &g.scratch)
		}
	}
	g.noteRate()
	// What a write under way claims is enough, until it is done and says otherwise.
	if !g.block.writing && g.part.WantsExtension() {
		g.block.wantClaim(g.part.ExtensionClaim())
	}
	return progress
}

// claimAheadTicks is how long what is left of a reservation should last when its extension begins.
const claimAheadTicks = 50

// noteRate looks, once a tick, how fast the partition mints, and has the lease follow: otherwise the reservation
// would be used up before an extension that begins at the usual point is on the disk.
func (g *group) noteRate() {
	ticks := g.shard.now.Ticks - g.rate.tick
	if ticks == 0 {
		return
	}
	frontier := g.part.MintFrontier()
	minted := frontier - min(frontier, g.rate.frontier)
	g.rate = mintRate{g.shard.now.Ticks, frontier}
	g.part.MintsAhead(minted / ticks * claimAheadTicks)
}

func isSend(w *Work) bool { return w.Request.Operation == protocol.OpSendMessages }

// expire answers 58 to requests that waited for more than a second.
func (g *group) expire(now uint64) {
	limit := uint64(ticksPerSecond)
	if g.state == opening || g.state == serving && g.purgeInTheWay() {
		limit = 3 * ticksPerSecond
	}
	for g.waiting.head != nil && now-g.waiting.head.arrived > limit {
		g.shard.node.metrics.refusedFull.Inc()
		g.shard.refuse(g.waiting.pop(), protocol.CodeTransientNotAccepted)
	}
}

// applyLocal executes an offset operation that is not replicated. In a logged group the log comes first: a replay
// meets the operation in its place among the others.
func (g *group) applyLocal(w *Work) {
	op, ok := partition.DecodeOffsetOp(w.Request.Body.Bytes)
	code := protocol.CodeInvalidCommand
	if ok {
		code = g.part.CheckOffset(w.Request.Operation, op)
	}
	if code != protocol.Success || g.logged == nil {
		g.finishLocal(w, op, code)
		return
	}
	record := shardlog.Local{
		ConsumerKind: uint8(op.Key.Kind), Delete: w.Request.Operation == protocol.OpDeleteConsumerOffset,
		ID: op.Key.ID, Offset: op.Offset,
	}
	g.shard.wal.add(g, wal.KindLocal, record.AppendTo(nil), true, func(err error) {
		if err != nil || g.state != serving {
			code = protocol.CodeTransientNotAccepted
		}
		g.finishLocal(w, op, code)
		g.shard.touch(g)
	})
}

// finishLocal carries a local offset operation out, unless code says why not, and answers it.
func (g *group) finishLocal(w *Work, op partition.OffsetOp, code protocol.Code) {
	if code == protocol.Success {
		if err := g.storeLocal(w.Request.Operation, op); err != nil {
			g.shard.node.log.Error("store consumer offset", "partition", g.id.String(), "error", err)
			g.shard.node.noteDiskError(err)
			code = protocol.CodeTransientNotAccepted
		}
	}
	w.Request.Body.Release()
	out := vsr.Outcome{Verdict: vsr.Denied, Code: code}
	if code == protocol.Success {
		out = vsr.Outcome{Verdict: vsr.Framed}
	}
	g.scratch = vsr.Reply{Waiter: w.Request.Waiter, Request: &w.Request, Outcome: out}
	g.shard.answered(w.Request.Waiter, &g.scratch)
}

// storeLocal changes a stored offset on this replica alone: the file, then what polls see.
func (g *group) storeLocal(code protocol.Operation, op partition.OffsetOp) error {
	job := g.part.StoreLocal(code, op)
	if err := g.execute(&job); err != nil {
		return err
	}
	if g.logged != nil {
		g.logged.noteOffset(op.Key)
	}
	g.part.JobDone(&job, nil)
	g.part.ShowLocal(code, op)
	return nil
}
