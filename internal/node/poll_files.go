package node

import (
	"errors"
	"io/fs"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
)

// fromFiles serves a selection from segments, oldest first, until it is satisfied. It is not stable when a
// file that v names is gone.
func (r *Reader) fromFiles(v *partition.View, sel partition.Selection, maxBytes int, out *PollResult) (protocol.Code, bool) {
	r.node.coldReads <- struct{}{}
	defer func() { <-r.node.coldReads }()
	_, _, part := r.id.Partition()
	q := segment.Query{
		PartitionID: uint64(part), From: sel.Offset, ByTime: sel.ByTime, Micros: sel.Micros,
		Ceiling: sel.Ceiling, MaxCount: sel.Count, MaxBytes: maxBytes, Validate: r.node.limits.Validate,
	}
	i := v.SegmentFor(sel.Offset)
	if sel.ByTime {
		i = v.SegmentForTime(sel.Micros)
	}
	for ; i < v.SegmentCount(); i++ {
		s := v.Segment(i)
		if s.Size == 0 {
			continue
		}
		q.Size = s.Size
		err := r.readSegment(v.Chain, s.Start, &q, out)
		if errors.Is(err, fs.ErrNotExist) {
			return protocol.Success, false
		}
		if err != nil {
			return r.faulted(err, out), true
		}
		if out.Full {
			break
		}
		if out.Count > 0 {
			q.ByTime, q.From = false, out.Last+1
		}
	}
	return protocol.Success, true
}

func (r *Reader) readSegment(chain, start uint64, q *segment.Query, out *PollResult) error {
	h, err := r.acquire(chain, start)
	if err != nil {
		return err
	}
	defer r.letGo(h)
	return h.reader.Read(r.node.pool, q, &out.Result)
}

// faulted decides what a poll answers that met bytes it cannot serve: what lay in front of them, or the
// code of the fault when nothing did.
func (r *Reader) faulted(err error, out *PollResult) protocol.Code {
	r.node.log.Error("poll", "partition", r.id.String(), "error", err)
	r.node.metrics.pollFaults.Inc()
	if out.Count > 0 {
		return protocol.Success
	}
	if fault := new(segment.Fault); errors.As(err, &fault) {
		return fault.Code
	}
	return protocol.CodeCannotReadMessage
}
