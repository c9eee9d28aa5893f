package partition

import (
	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vsr"
)

// AppendPlan is what one pass adds to the segments of a partition, to be carried out in order: each run is
// one vectored write. The plan and its runs alias memory of the partition and hold until the next Stage.
type AppendPlan struct {
	Runs []Run
	// LastOp is the newest op that the log holds once the plan is carried out.
	LastOp uint64
	// Batches is the number of records in all runs; 0 when the plan has nothing to write.
	Batches int
}

// Run is a write to one segment. With Create the segment is made first, empty, and becomes the one that is
// written; the one before is complete.
type Run struct {
	Create   bool
	Start    uint64 // name of the segment
	Position int64
	Records  [][]byte
	Index    []segment.IndexEntry
	Bytes    int64
}

// Stage lays the batches among entries out behind what was staged before and returns the plan. Where the
// segment is the log the entries are new prepares, and the append is what makes them count; in a logged
// partition they are committed, and those that JobAppend waits for. Entries ascend by op. Operations other
// than batches need no bytes; they are durable when applied. What a purge follows is left out: its batches
// begin in files that the purge makes.
func (p *Partition) Stage(entries []*vsr.Entry, plan *AppendPlan) {
	plan.reset()
	for _, e := range entries {
		if p.cfg.Logged && e.Header.Operation() == protocol.OpPurgeBarrier {
			return
		}
		plan.LastOp = e.Header.Op()
		if !isSend(e.Header.Operation()) || p.cfg.Logged && p.holds(e.Body.Bytes) {
			continue
		}
		p.stageBatch(e, plan)
	}
}

// Unstage takes back what Stage laid out and no Apply has met, after the write of its plan failed.
func (p *Partition) Unstage() {
	for p.staged.len() > 0 {
		p.write = p.staged.popLast().before
	}
}

// holds reports whether a committed batch is in the segments already: recovery found it there before the log
// was replayed.
func (p *Partition) holds(record []byte) bool {
	last := batch.BaseOffset(record) + uint64(batch.MessageCount(record)) - 1
	return p.seeded && last <= p.committed
}

func (p *Partition) stageBatch(e *vsr.Entry, plan *AppendPlan) {
	record := e.Body.Bytes
	base := batch.BaseOffset(record)
	s := stagedBatch{
		op: e.Header.Op(), base: base, end: base + uint64(batch.MessageCount(record)) - 1,
		micros: e.Header.Timestamp(), size: int64(len(record)), before: p.write,
	}
	if !p.write.exists {
		p.openSegment(base, plan)
	}
	run := plan.runFor(p.write.start, p.write.pos)
	if !p.write.indexed || p.write.pos-p.write.lastIdx >= segment.IndexStride {
		run.Index = append(run.Index, segment.IndexEntry{Offset: base, Timestamp: s.micros, Position: uint64(p.write.pos)})
		p.write.lastIdx, p.write.indexed = p.write.pos, true
	}
	run.Records = append(run.Records, record)
	run.Bytes += s.size
	plan.Batches++
	s.start, s.pos = p.write.start, p.write.pos
	p.write.pos += s.size
	if p.write.pos >= p.cfg.Options.SegmentBytes {
		s.seals = true
		p.openSegment(s.end+1, plan)
	}
	s.after = p.write
	p.staged.push(s)
}

// openSegment plans a new segment that begins at start.
func (p *Partition) openSegment(start uint64, plan *AppendPlan) {
	p.write = writeCursor{exists: true, start: start}
	run := plan.next()
	run.Create, run.Start, run.Position = true, start, 0
}

// StagedAt tells where the first batch from op on was laid out: the segment and the position in it. It is false when
// nothing from op on has bytes.
func (p *Partition) StagedAt(op uint64) (start uint64, position int64, ok bool) {
	for i := range p.staged.len() {
		if s := p.staged.at(i); s.op >= op {
			return s.start, s.pos, true
		}
	}
	return 0, 0, false
}

func (a *AppendPlan) reset() {
	a.Runs = a.Runs[:0]
	a.LastOp, a.Batches = 0, 0
}

// next appends a run, reusing the slices of an earlier plan.
func (a *AppendPlan) next() *Run {
	if len(a.Runs) < cap(a.Runs) {
		a.Runs = a.Runs[:len(a.Runs)+1]
	} else {
		a.Runs = append(a.Runs, Run{})
	}
	r := &a.Runs[len(a.Runs)-1]
	clear(r.Records)
	*r = Run{Records: r.Records[:0], Index: r.Index[:0]}
	return r
}

func (a *AppendPlan) runFor(start uint64, pos int64) *Run {
	if n := len(a.Runs); n > 0 && a.Runs[n-1].Start == start {
		return &a.Runs[n-1]
	}
	r := a.next()
	r.Start, r.Position = start, pos
	return r
}

// AppendDone tells that the log holds everything up to and including op: the segment or, in a logged
// partition, the write-ahead log. The mints can no longer be taken back.
func (p *Partition) AppendDone(op uint64) {
	for p.minted.len() > 0 && p.minted.first().op <= op {
		p.minted.popFirst()
	}
}
