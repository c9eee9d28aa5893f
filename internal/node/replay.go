package node

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// ReplayError says that what the log of a shard holds for a partition does not continue: ops or offsets are missing
// that had been acknowledged.
type ReplayError struct {
	Op     uint64
	Reason string
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("the shard log does not continue at op %d: %s; restore the data directory from a backup", e.Op, e.Reason)
}

// MissingLogError says that a partition whose topic promises synced messages has a superblock and nothing in the
// log that carried the promise.
type MissingLogError struct{ Dir string }

func (e *MissingLogError) Error() string {
	return fmt.Sprintf("%s was in use, and no shard log below wal/ knows the partition: acknowledged messages may be "+
		"missing. Put wal/ back, or restore the backup of the whole data directory", e.Dir)
}

// errMarkedLost is the reason of a partition whose records read, but whose log says that some are missing.
var errMarkedLost = errors.New("it says that records of the partition were lost, and nothing has replaced them since")

// DamagedLogError says that the log of a shard cannot prove what a partition had acknowledged.
type DamagedLogError struct {
	Dir    string
	Reason error
}

func (e *DamagedLogError) Error() string {
	return fmt.Sprintf("%s: the shard log cannot prove what was acknowledged: %v; restore the data directory from a backup",
		e.Dir, e.Reason)
}

// Unwrap returns what is wrong with the log.
func (e *DamagedLogError) Unwrap() error { return e.Reason }

// BehindLogError says that the segments of a partition end before the point up to which its log says they are
// durable.
type BehindLogError struct {
	Dir         string
	Next, Wants uint64 // offset after the data, and after the checkpoint
}

func (e *BehindLogError) Error() string {
	return fmt.Sprintf("%s: the segments end at offset %d, the shard log says that they were durable up to %d; restore the "+
		"data directory from a backup", e.Dir, e.Next, e.Wants)
}

const (
	replayEntries = 64
	replayBytes   = 4 << 20
)

// replayer brings a partition to where its log ends, through the same path as live operations. It runs on the lane
// of the group, before anything is served.
type replayer struct {
	g       *group
	o       *opened
	replica *vsr.Replica
	start   partition.Checkpoint // what is known to be in the files
	next    []shardlog.EntryRef
	parent  protocol.Uint128 // identity of the op before the next one, zero when not known
	op      uint64
	want    uint64 // offset of the next batch, while it is known
	knows   bool
	dead    bool // a purge is the first thing to be replayed: what the directory holds is void
	// wantView tells that the replica has asked for a superblock.
	wantView bool

	chunk []vsr.Entry
	bytes int
	arena []byte
}

// plan decides where the replay begins: behind the checkpoint or, when a purge came after it, at the newest one.
// What a purge follows is dead.
func (r *replayer) plan(found *shardlog.GroupLog, generation uint64) error {
	if c := found.Checkpoint; c != nil {
		r.start = partition.Checkpoint{
			Header: c.Header, Op: c.Op, Frontier: c.Frontier, SegmentStart: c.SegmentStart, SegmentSize: int64(c.SegmentBytes),
			Micros: c.Timestamp, PurgeGeneration: c.PurgeGeneration, BarrierOp: c.BarrierOp,
		}
		for _, d := range c.Dedup {
			r.o.logged.dedup = append(r.o.logged.dedup, partition.DedupEntry(d))
		}
		if c.HasHeader() {
			r.parent = c.Header.Common().Checksum()
		}
	}
	r.next, r.op = found.Entries, r.start.Op
	if generation > r.start.PurgeGeneration {
		return r.skipToPurge()
	}
	return nil
}

// skipToPurge looks for the newest purge among the entries.
func (r *replayer) skipToPurge() error {
	logs := r.g.shard.node.logs
	for i := len(r.next) - 1; i >= 0; i-- {
		if r.next[i].IsLocal() {
			continue
		}
		h, body, err := logs.Read(r.next[i], r.arena)
		if err != nil {
			return err
		}
		r.arena = body[:cap(body)]
		if h.Operation() != protocol.OpPurgeBarrier {
			continue
		}
		b, ok := partition.DecodePurge(body)
		if !ok {
			return &ReplayError{h.Op(), "the body of a purge does not decode"}
		}
		r.o.logged.dedup, r.parent, r.dead = nil, protocol.Uint128{}, b.Generation > r.o.owner.Generation
		r.start = partition.Checkpoint{Op: h.Op() - 1}
		r.next = r.next[i:]
		if b.Generation <= r.o.owner.Generation { // it was carried out
			r.start = partition.Checkpoint{Header: h, Op: h.Op(), Micros: h.Timestamp(), PurgeGeneration: b.Generation, BarrierOp: h.Op()}
			r.next, r.parent = r.next[1:], h.Common().Checksum()
		}
		r.op = r.start.Op
		return nil
	}
	return nil
}

// begin makes the replica that the operations go through.
func (r *replayer) begin() error {
	start := vsr.Start{CommitMin: r.start.Op, Timestamp: max(r.start.Micros, r.g.part.NewestMicros())}
	if r.start.Header.Op() == r.start.Op && r.start.Op > 0 {
		start.Head = &r.start.Header
	}
	for i := len(r.next) - 1; i >= 0; i-- {
		if r.next[i].IsLocal() {
			continue
		}
		h, _, err := r.g.shard.node.logs.Read(r.next[i], nil)
		if err != nil {
			return err
		}
		start.Head = &h
		break
	}
	var err error
	r.replica, err = r.g.newReplica(r.o.store, start)
	return err
}

// run applies everything.
func (r *replayer) run() error {
	r.want, r.knows = r.g.part.NextRecovered()
	for i := range r.next {
		e := &r.next[i]
		if e.IsLocal() {
			if err := r.local(e.Local); err != nil {
				return err
			}
			continue
		}
		if err := r.take(e); err != nil {
			return err
		}
		if len(r.chunk) == replayEntries || r.bytes >= replayBytes {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	return r.flush()
}

// take reads one operation and checks that it continues the log.
func (r *replayer) take(e *shardlog.EntryRef) error {
	switch {
	case e.Op != r.op+1:
		return &ReplayError{r.op + 1, fmt.Sprintf("op %d follows op %d", e.Op, r.op)}
	case !r.parent.IsZero() && e.Parent != r.parent:
		return &ReplayError{e.Op, "its parent is not the operation before it"}
	}
	h, body, err := r.g.shard.node.logs.Read(*e, nil)
	if err != nil {
		return err
	}
	if h.Operation() == protocol.OpSendMessages {
		if err := r.continues(&h, body); err != nil {
			return err
		}
	}
	r.op, r.parent = e.Op, e.Checksum
	r.chunk = append(r.chunk, vsr.Entry{Header: h, Body: vsr.Body{Bytes: body}})
	r.bytes += len(body)
	return nil
}

// continues checks that a batch is in the segments whole, or is the next one to be written.
func (r *replayer) continues(h *protocol.PrepareHeader, body []byte) error {
	base := batch.BaseOffset(body)
	end := base + uint64(batch.MessageCount(body))
	switch {
	case !r.knows, base == r.want:
	case end <= r.want:
		return nil
	default:
		return &ReplayError{h.Op(), fmt.Sprintf("its messages begin at offset %d, the next one is %d", base, r.want)}
	}
	r.want, r.knows = end, true
	return nil
}

// flush gives what was read to the replica.
func (r *replayer) flush() error {
	n := r.g.shard.node
	rest := r.chunk
	for len(rest) > 0 {
		taken, err := r.replica.Recovered(n.clock.Now(), rest)
		if err != nil {
			return err
		}
		rest = rest[taken:]
		if err := r.settle(); err != nil {
			return err
		}
	}
	n.metrics.replayed.Add(uint64(len(r.chunk)))
	clear(r.chunk)
	r.chunk, r.bytes = r.chunk[:0], 0
	return nil
}

// settle does what the partition asks for until the walk is at its end.
func (r *replayer) settle() error {
	for {
		eff := r.replica.Effects()
		if eff.Broken != nil {
			return eff.Broken
		}
		r.wantView = r.wantView || eff.Superblock != nil
		jobs := r.g.part.TakeJobs()
		if len(jobs) == 0 {
			if r.replica.Held() {
				return errors.New("replay is held without a reason")
			}
			return nil
		}
		for i := range jobs {
			if err := r.carryOut(&jobs[i]); err != nil {
				return err
			}
			if r.g.part.JobDone(&jobs[i], nil) {
				r.replica.Resume(r.g.shard.node.clock.Now())
			}
		}
	}
}

func (r *replayer) carryOut(j *partition.Job) error {
	g := r.g
	switch j.Kind {
	case partition.JobAppend:
		return g.appendCommitted(r.replica)
	case partition.JobPurge:
		r.o.state.OffsetFrontier, r.o.state.OffsetReserved = 0, 0
		r.want, r.knows = 0, true
		return g.purgeFiles(j, r.o.store, g.stateOf(r.replica, partition.Claim{}))
	}
	err := g.execute(j)
	if err == nil && isOffsetJob(j) {
		g.logged.noteOffset(j.Key)
	}
	return err
}

// local applies an offset write that was not replicated, in its place among the operations.
func (r *replayer) local(l *shardlog.Local) error {
	if err := r.flush(); err != nil {
		return err
	}
	op := partition.OffsetOp{Key: partition.ConsumerKey{Kind: partition.ConsumerKind(l.ConsumerKind), ID: l.ID}, Offset: l.Offset}
	code := protocol.OpStoreConsumerOffset
	if l.Delete {
		code = protocol.OpDeleteConsumerOffset
	}
	return r.g.storeLocal(code, op)
}
