package node

import (
	"errors"
	"io/fs"
	"sync"

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

// faultLog keeps a consumer that polls the same damage again and again from filling the log.
type faultLog struct {
	mu     sync.Mutex
	what   string
	at     uint64 // tick of the line
	untold uint64 // polls since then that met the same
}

// faultPause is the time in ticks after which the same fault is told again.
const faultPause = 60 * ticksPerSecond

// tells reports whether a fault is to be logged, and how many like it were not since the last line.
func (f *faultLog) tells(what string, now uint64) (yes bool, untold uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if what == f.what && now-f.at < faultPause {
		f.untold++
		return false, 0
	}
	untold = f.untold
	f.what, f.at, f.untold = what, now, 0
	return true, untold
}

// faulted decides what a poll answers that met bytes it cannot serve: what lay in front of them, or the
// code of the fault when nothing did.
func (r *Reader) faulted(err error, out *PollResult) protocol.Code {
	r.node.metrics.pollFaults.Inc()
	if again, since := r.faults.tells(err.Error(), r.node.clock.Now().Ticks); again {
		r.node.log.Error("poll", "partition", r.id.String(), "error", err, "untold", since)
	}
	if out.Count > 0 {
		return protocol.Success
	}
	if fault := new(segment.Fault); errors.As(err, &fault) {
		return fault.Code
	}
	return protocol.CodeCannotReadMessage
}
