package partition

import (
	"sort"

	"github.com/galgolog/galgo/internal/vsr"
)

// View is an immutable snapshot of a partition for readers. Batches of the tail may be released while a
// reader looks: it retains with TryRetain and takes the newer view when that fails. A reader of files
// compares Chain before and after with the view then current, and starts again when it moved.
type View struct {
	Revision        uint64 // incarnation
	Chain           uint64 // moves whenever files go away or are made anew
	PurgeGeneration uint64
	Committed       uint64 // highest visible offset; meaningless unless Seeded
	Seeded          bool
	Sealed          []Segment
	Active          Segment
	HasActive       bool
	Messages        uint64
	Bytes           int64
	tail            []tailBatch
}

// Current is the offset that replies carry: the highest visible one, 0 when there is none.
func (v *View) Current() uint64 {
	if !v.Seeded {
		return 0
	}
	return v.Committed
}

// FirstOffset is the oldest retained offset; 0 when nothing is retained.
func (v *View) FirstOffset() uint64 {
	if len(v.Sealed) > 0 {
		return v.Sealed[0].Start
	}
	if v.HasActive && v.Active.Size > 0 {
		return v.Active.Start
	}
	return 0
}

// TailStart returns the first offset that the tail holds.
func (v *View) TailStart() (uint64, bool) {
	if len(v.tail) == 0 {
		return 0, false
	}
	return v.tail[0].Base, true
}

// TailFrom returns the index of the tail batch that holds offset or is the first after it, and the number
// of batches in the tail.
func (v *View) TailFrom(offset uint64) (index, count int) {
	return sort.Search(len(v.tail), func(i int) bool { return v.tail[i].End >= offset }), len(v.tail)
}

// TailBatch returns batch i of the tail.
func (v *View) TailBatch(i int) (base, end uint64, body vsr.Body) {
	b := &v.tail[i]
	return b.Base, b.End, b.Body
}

// TailFromTime returns the index of the first tail batch appended at or after micros.
func (v *View) TailFromTime(micros uint64) int {
	return sort.Search(len(v.tail), func(i int) bool { return v.tail[i].Micros >= micros })
}

// View returns the snapshot published last. Safe for any goroutine; never nil.
func (p *Partition) View() *View { return p.view.Load() }

// Publish makes the state of the owner visible to readers and reports whether anything had changed.
func (p *Partition) Publish() bool {
	if !p.dirty {
		return false
	}
	p.dirty = false
	p.view.Store(&View{
		Revision: p.cfg.Revision, Chain: p.generation, PurgeGeneration: p.purge.applied,
		Committed: p.committed, Seeded: p.seeded,
		Sealed: p.sealed[:len(p.sealed):len(p.sealed)], Active: p.active, HasActive: p.hasActive,
		Messages: p.messages, Bytes: p.bytes,
		tail: p.tail.batches[:len(p.tail.batches):len(p.tail.batches)],
	})
	return true
}

// SegmentCount is the number of segments, the active one included.
func (v *View) SegmentCount() int {
	if v.HasActive {
		return len(v.Sealed) + 1
	}
	return len(v.Sealed)
}

// Segment returns segment i of SegmentCount, oldest first.
func (v *View) Segment(i int) *Segment {
	if i < len(v.Sealed) {
		return &v.Sealed[i]
	}
	return &v.Active
}

// SegmentFor returns the index of the segment that holds offset, or of the first one behind it when offset
// lies in a gap; SegmentCount when there is none.
func (v *View) SegmentFor(offset uint64) int {
	i := sort.Search(len(v.Sealed), func(i int) bool { return v.Sealed[i].End >= offset })
	if i == len(v.Sealed) && v.HasActive && (v.Active.Size == 0 || v.Active.End < offset) {
		i++
	}
	return i
}

// SegmentForTime returns the index of the first segment whose newest batch is not older than micros.
func (v *View) SegmentForTime(micros uint64) int {
	i := sort.Search(len(v.Sealed), func(i int) bool { return v.Sealed[i].MaxMicros >= micros })
	if i == len(v.Sealed) && v.HasActive && (v.Active.Size == 0 || v.Active.MaxMicros < micros) {
		i++
	}
	return i
}
