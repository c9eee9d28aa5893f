package node

import (
	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
)

// PollRequest asks for messages of one partition, resolved to an incarnation.
type PollRequest struct {
	Group    protocol.GroupID
	Revision uint64
	// PurgeGeneration is what the metadata view of the caller says: the poll waits until the partition has
	// followed it.
	PurgeGeneration uint64
	Query           partition.Query
	// MaxBytes bounds the records of the reply together; at least one message is served if there is one.
	MaxBytes int
	// AutoCommit stores the offset of the last message served for Query.Key.
	AutoCommit bool
	UserID     uint32
	// ForGroup remembers what was served, for the hand-over of partitions between members.
	ForGroup bool
}

// PollResult is the answer to a poll: records back to back in Chunks, whose leases belong to the receiver.
// It is reused between polls.
type PollResult struct {
	Current uint64 // highest visible offset, 0 when there is none
	segment.Result
}

// pollAttempts bounds how often a poll starts again because files changed under it.
const pollAttempts = 64

// tailAttempts bounds how often a poll tries to catch batches in memory that go as fast as it comes; the
// files hold them too.
const tailAttempts = 3

// Poll serves messages from the view of the partition, without entering its shard. It may wait for the
// device, and for a purge that the caller knows of. The code is Success, or what the protocol answers.
func (n *Node) Poll(q *PollRequest, out *PollResult) protocol.Code {
	out.Reset()
	r := n.readers.get(q.Group)
	if r == nil || r.revision != q.Revision {
		return protocol.Success // not used yet: empty
	}
	if f := r.fence.Load(); f != nil {
		return protocol.CodeCannotReadPartitions
	}
	if r.stalled.Load() {
		return protocol.CodeTransientNotAccepted
	}
	v, ok := r.await(q.PurgeGeneration)
	if !ok {
		return protocol.CodeTransientNotAccepted
	}
	epoch := r.part.Cursors().Epoch(q.Query.Key)
	next, hasNext := r.part.Cursors().Get(q.Query.Key)
	for attempt := range pollAttempts {
		code, stable := r.pollView(v, q, next, hasNext, attempt < tailAttempts, out)
		if now := r.part.View(); !stable || now.Chain != v.Chain {
			out.Release()
			v = now
			continue
		}
		out.Current = v.Current()
		if code == protocol.Success && out.Count > 0 {
			r.served(q, epoch, out.Last)
		}
		return code
	}
	return protocol.CodeTransientNotAccepted
}

// pollView serves one attempt. It is not stable when memory that v promised was gone.
func (r *Reader) pollView(v *partition.View, q *PollRequest, next uint64, hasNext, useTail bool, out *PollResult) (protocol.Code, bool) {
	sel := v.Resolve(q.Query, next, hasNext)
	if sel.Empty {
		return protocol.Success, true
	}
	want := batch.Selection{From: sel.Offset, Ceiling: sel.Ceiling, MaxCount: sel.Count, MaxBytes: q.MaxBytes}
	if i, ok := tailIndex(v, sel); ok && useTail {
		return protocol.Success, r.fromTail(v, i, want, out)
	}
	return r.fromFiles(v, sel, q.MaxBytes, out)
}

// tailIndex returns where in the tail the selection begins, if the tail reaches back that far.
func tailIndex(v *partition.View, sel partition.Selection) (int, bool) {
	start, ok := v.TailStart()
	if !ok {
		return 0, false
	}
	if !sel.ByTime {
		i, _ := v.TailFrom(sel.Offset)
		return i, sel.Offset >= start
	}
	// A batch in front of the tail may be as young as its first one only if it is in the tail too.
	i := v.TailFromTime(sel.Micros)
	return i, i > 0 || start == v.FirstOffset()
}

// fromTail serves batches in memory from index i on. It reports false when one was released meanwhile.
func (r *Reader) fromTail(v *partition.View, i int, want batch.Selection, out *PollResult) bool {
	_, count := v.TailFrom(0)
	for ; i < count && want.MaxCount > 0; i++ {
		base, _, body := v.TailBatch(i)
		if base > want.Ceiling {
			break
		}
		if !body.Lease.TryRetain() {
			return false
		}
		more := r.take(body.Bytes, body.Lease, &want, out)
		if !more {
			break
		}
	}
	return true
}

// take adds what want selects of one record and consumes one reference of lease. It reports whether the next
// record may be looked at.
func (r *Reader) take(record []byte, lease *buffer.Lease, want *batch.Selection, out *PollResult) bool {
	var head *buffer.Lease
	var header *batch.Header
	if !wholeFits(record, want) {
		head = r.node.pool.Get(batch.HeaderSize)
		header = batch.HeaderOf(head.Bytes)
	}
	want.AtLeastOne = out.Count == 0
	cut := batch.Slice(record, *want, header)
	if cut.Count == 0 {
		lease.Release()
		releaseHead(head)
		return !cut.Full && batch.EndOffset(record) < want.Ceiling
	}
	if out.Count == 0 {
		out.First = cut.First
	}
	out.Count += cut.Count
	out.Last = cut.Last
	if cut.Whole {
		releaseHead(head)
		out.Chunks = append(out.Chunks, segment.Chunk{Bytes: record, Lease: lease})
	} else {
		out.Chunks = append(out.Chunks, segment.Chunk{Bytes: head.Bytes, Lease: head}, segment.Chunk{Bytes: cut.Frames, Lease: lease})
	}
	size := batch.HeaderSize + len(cut.Frames)
	out.Bytes += size
	want.MaxCount -= cut.Count
	want.MaxBytes -= size
	want.From = cut.Last + 1
	return !cut.Full && want.MaxCount > 0 && cut.Last < want.Ceiling
}

func releaseHead(head *buffer.Lease) {
	if head != nil {
		head.Release()
	}
}

func wholeFits(record []byte, want *batch.Selection) bool {
	h := batch.HeaderOf(record)
	return want.From <= h.BaseOffset() && h.EndOffset() <= want.Ceiling && h.MessageCount() <= want.MaxCount &&
		len(record) <= want.MaxBytes
}

// served remembers what a poll gave out.
func (r *Reader) served(q *PollRequest, epoch, last uint64) {
	if q.ForGroup {
		r.part.Cursors().MarkPolled(q.Query.Key, last)
	}
	if !q.AutoCommit {
		return
	}
	r.part.Cursors().RaiseIn(q.Query.Key, epoch, last)
	r.autoCommit(q.Query.Key, q.UserID)
}
