package inspect

import (
	"errors"
	"path"

	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// damagesMax bounds how many damaged places of one file are told one by one.
const damagesMax = 32

// damage is a place in a log where no batch is, or one that does not belong there.
type damage struct {
	position int64
	next     int64  // where batches go on; the end of the log when they do not
	tail     bool   // nothing follows
	expected uint64 // offset that was due
	resumes  uint64 // offset that follows; meaningless with tail
	what     string // empty: the bytes are no batch
}

// scrubbed is what reading a log from its first to its last byte gave.
type scrubbed struct {
	start      uint64
	size       int64
	batches    int64
	messages   uint64
	end        uint64 // last offset, counts with messages
	first      uint64 // append times in microseconds
	last       uint64
	damages    []damage
	more       int // damages beyond the bound
	indexed    int // entries of the index
	indexBad   int // entries of the index that point at no batch
	indexFirst int64
}

func (s *scrubbed) damaged(d damage) {
	if len(s.damages) == damagesMax {
		s.more++
		return
	}
	s.damages = append(s.damages, d)
}

// scrub verifies every batch of a segment, and its index against them. advance is told how many bytes were read.
func scrub(fsys vfs.FS, dir string, start, partition uint64, advance func(bytes int64)) (s scrubbed, err error) {
	w, err := segment.WalkLog(fsys, path.Join(dir, segment.LogName(start)))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	entries, _, err := segment.ReadIndex(fsys, path.Join(dir, segment.IndexName(start)), w.Size())
	if err != nil && !isMissing(err) {
		return s, err
	}
	s.start, s.size, s.indexed = start, w.Size(), len(entries)
	ix := indexCheck{entries: entries}
	told, expected := int64(0), start
	for w.At() < w.Size() {
		h, position, ok, err := w.Next()
		if err != nil {
			return s, err
		}
		if w.At()-told >= 1<<20 {
			advance(w.At() - told)
			told = w.At()
		}
		if !ok {
			d := damage{position: position, expected: expected}
			found, err := w.Skip(partition, expected)
			if err != nil {
				return s, err
			}
			if d.next, d.tail = w.At(), !found; found {
				// The next turn reads it again: what it begins with is known then.
				expected = 0
			}
			ix.pass(d.position, d.next)
			s.damaged(d)
			continue
		}
		if n := len(s.damages); n > 0 && s.more == 0 && s.damages[n-1].next == position && !s.damages[n-1].tail {
			s.damages[n-1].resumes, expected = h.BaseOffset(), h.BaseOffset()
		}
		switch {
		case h.PartitionID() != partition:
			s.damaged(damage{position: position, next: w.At(), expected: expected, what: "a batch of partition " + itoa(h.PartitionID())})
			continue
		case h.BaseOffset() != expected && s.more == 0:
			s.damaged(damage{position: position, next: w.At(), expected: expected, resumes: h.BaseOffset(),
				what: "offsets do not continue: " + itoa(h.BaseOffset()) + " follows where " + itoa(expected) + " was due"})
		}
		ix.meet(position, h.BaseOffset(), h.BaseTimestamp())
		if s.batches == 0 {
			s.first = h.BaseTimestamp()
		}
		s.batches++
		s.messages += uint64(h.MessageCount())
		s.end, s.last = h.EndOffset(), h.BaseTimestamp()
		expected = h.EndOffset() + 1
	}
	advance(w.Size() - told)
	s.indexBad, s.indexFirst = ix.finish()
	return s, nil
}

// indexCheck compares the entries of an index with the batches of its log, which come in order.
type indexCheck struct {
	entries []segment.IndexEntry
	next    int
	bad     int
	first   int64 // number of the first bad entry
}

func (x *indexCheck) wrong() {
	if x.bad == 0 {
		x.first = int64(x.next)
	}
	x.bad++
	x.next++
}

// meet is told of every batch.
func (x *indexCheck) meet(position int64, offset, timestamp uint64) {
	for x.next < len(x.entries) && x.entries[x.next].Position < uint64(position) {
		x.wrong() // it points between two batches
	}
	if x.next == len(x.entries) || x.entries[x.next].Position != uint64(position) {
		return
	}
	if e := x.entries[x.next]; e.Offset != offset || e.Timestamp != timestamp {
		x.wrong()
		return
	}
	x.next++
}

// pass leaves out what points into damaged bytes: the index is not to blame.
func (x *indexCheck) pass(from, to int64) {
	for x.next < len(x.entries) && x.entries[x.next].Position < uint64(to) {
		if x.entries[x.next].Position < uint64(from) {
			x.wrong()
			continue
		}
		x.next++
	}
}

func (x *indexCheck) finish() (bad int, first int64) {
	for x.next < len(x.entries) {
		x.wrong()
	}
	return x.bad, x.first
}
