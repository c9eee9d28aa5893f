package segment

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/vfs"
)

// plan is what recovery knows about one segment and is going to do to it.
type plan struct {
	info    Info
	entries []IndexEntry // what the index is to hold
	// missing is how many of them the file lacks at its end; with rewrite all are written anew.
	missing int
	rewrite bool
}

// inspector finds the end of the data in one log, without changing anything.
type inspector struct {
	*scanner
	partition uint64
	length    int64
	plan      *plan
}

// inspect reads as much of a segment as is needed to know its end: from the last index entry that the log
// bears out, or from the first byte.
func inspect(fs vfs.FS, dir string, start, partitionID uint64) (*plan, error) {
	f, err := fs.OpenFile(logPath(dir, start), vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	p, err := inspectOpen(fs, dir, f, start, partitionID)
	return p, errors.Join(err, f.Close())
}

func inspectOpen(fs vfs.FS, dir string, f vfs.File, start, partitionID uint64) (*plan, error) {
	length, err := f.Size()
	if err != nil {
		return nil, err
	}
	entries, clean, err := loadIndex(fs, dir, start, indexLimit(length))
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 && (entries[0].Position != 0 || entries[0].Offset != start) {
		entries, clean = nil, false
	}
	in := &inspector{scanner: newScanner(f, start, length), partition: partitionID, length: length}
	return in.run(entries, clean)
}

func (in *inspector) run(entries []IndexEntry, clean bool) (*plan, error) {
	in.plan = &plan{info: Info{Start: in.start}}
	kept, err := in.confirmed(entries)
	if err != nil {
		return nil, err
	}
	in.plan.entries = append([]IndexEntry(nil), entries[:kept]...)
	position, expected := int64(0), in.start
	if kept > 0 {
		position, expected = int64(entries[kept-1].Position), entries[kept-1].Offset
	}
	end, err := in.walk(position, expected)
	if err != nil {
		return nil, err
	}
	for _, e := range entries[kept:] {
		if e.Position < uint64(end) {
			// The log is intact where the index was wrong: nothing in that index can be trusted.
			return in.run(nil, false)
		}
	}
	in.finish(end, clean && kept == len(entries))
	return in.plan, in.firstTimestamp()
}

// confirmed returns how many entries to keep: up to the last one that points at an intact record with its
// offset and timestamp. Those in front of it are hints that readers check for themselves.
func (in *inspector) confirmed(entries []IndexEntry) (int, error) {
	for kept := len(entries); kept > 0; kept-- {
		e := entries[kept-1]
		if e.Position >= uint64(in.length) || e.Offset < in.start {
			continue
		}
		h, ok, err := in.record(int64(e.Position))
		if err != nil {
			return 0, err
		}
		if ok && h.BaseOffset() == e.Offset && h.BaseTimestamp() == e.Timestamp && h.PartitionID() == in.partition {
			return kept, nil
		}
	}
	return 0, nil
}

// walk follows the records from position to the end of the data and returns that end.
func (in *inspector) walk(position int64, expected uint64) (int64, error) {
	info := &in.plan.info
	stride := newStride(in.plan.entries)
	for position < in.length {
		h, ok, err := in.record(position)
		if err != nil {
			return 0, err
		}
		if !ok {
			return position, in.judge(position, &h, expected)
		}
		if h.PartitionID() != in.partition {
			return 0, in.refuse(ForeignBatch, position, in.partition, h.PartitionID())
		}
		if h.BaseOffset() != expected || expected == 0 && position > 0 {
			return 0, in.refuse(Discontinuity, position, expected, h.BaseOffset())
		}
		if stride.take(position) {
			in.plan.entries = append(in.plan.entries,
				IndexEntry{Offset: h.BaseOffset(), Timestamp: h.BaseTimestamp(), Position: uint64(position)})
			in.plan.missing++
		}
		info.End, info.Last = h.EndOffset(), h.BaseTimestamp()
		info.Max = max(info.Max, h.BaseTimestamp())
		position += int64(h.Length())
		expected = h.EndOffset() + 1 // 0 after the highest offset there is: nothing can follow
	}
	return position, nil
}

// judge decides what the bytes at position are, which are no record: a torn tail, which may be cut off, or
// damage in front of data that survived.
func (in *inspector) judge(position int64, h *batch.Header, expected uint64) error {
	short, err := in.cutShort(position, h, expected, in.partition)
	if err != nil || short {
		return err
	}
	next, found, err := in.findRecord(position+1, in.partition, expected)
	if err != nil || !found {
		return err
	}
	return &Refusal{Kind: InteriorDamage, Start: in.start, Position: position, Next: next}
}

func (in *inspector) refuse(kind RefusalKind, position int64, expected, found uint64) error {
	return &Refusal{Kind: kind, Start: in.start, Position: position, Expected: expected, Found: found}
}

// finish notes the end and what has to be written.
func (in *inspector) finish(end int64, indexFits bool) {
	info := &in.plan.info
	info.Size = end
	info.TruncatedBytes = in.length - end
	in.plan.rewrite = !indexFits
	info.Reindexed = !indexFits || in.plan.missing > 0
	if n := len(in.plan.entries); n > 0 {
		info.Indexed, info.LastIndexed = true, int64(in.plan.entries[n-1].Position)
		// Timestamps never fall within a segment.
		info.Max = max(info.Max, in.plan.entries[n-1].Timestamp)
	}
}

func (in *inspector) firstTimestamp() error {
	if in.plan.info.Size == 0 {
		return nil
	}
	var h batch.Header
	if _, err := in.f.ReadAt(h[:], 0); err != nil {
		return fmt.Errorf("first batch: %w", err)
	}
	in.plan.info.First = h.BaseTimestamp()
	return nil
}

// stride decides which records get an index entry.
type stride struct {
	last int64
	any  bool
}

func newStride(entries []IndexEntry) stride {
	if len(entries) == 0 {
		return stride{}
	}
	return stride{last: int64(entries[len(entries)-1].Position), any: true}
}

// take reports whether the record at position gets an entry.
func (s *stride) take(position int64) bool {
	if s.any && position-s.last < IndexStride {
		return false
	}
	s.last, s.any = position, true
	return true
}
