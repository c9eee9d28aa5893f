package segment

import (
	"errors"
	"io"
	"math"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
)

const (
	// readStep is how much is read at a time where nothing is known about record borders.
	readStep = 1 << 20
	// readStepMax is how much is read at once when it is known to end at a record border.
	readStepMax = 2 << 20
	// minRecordSize is the length of the shortest record: a header and one empty frame.
	minRecordSize = batch.HeaderSize + batch.FrameHeaderSize
)

// Query says what a poll wants of one segment. Limits are totals of the Result that the query adds to, so
// that one query can be put to segment after segment.
type Query struct {
	Size        int64 // bytes of log that count
	PartitionID uint64
	// From is the first offset wanted. With ByTime it is the first batch appended at or after Micros
	// instead, whole, as far as the limits go.
	From   uint64
	ByTime bool
	Micros uint64
	// Ceiling is the highest offset that may be seen.
	Ceiling  uint64
	MaxCount uint32
	// MaxBytes bounds the bytes of records in the Result. One message is served however small it is.
	MaxBytes int
	// Validate verifies the checksums of every record that is served, whole or in part. Without it the
	// layout is checked.
	Validate bool
}

// Chunk is a run of records back to back. The receiver owns one reference of Lease.
type Chunk struct {
	Bytes []byte
	Lease *buffer.Lease
}

// Result is what polls have gathered: whole records as stored, at its ends possibly parts of records with
// a header of their own. It is reused between polls; Release or hand over the chunks first.
type Result struct {
	Chunks      []Chunk
	Count       uint32
	Bytes       int
	First, Last uint64 // offsets of the outer messages; meaningless while Count is 0
	// Full is set when a limit or the ceiling ended the walk: there is nothing more to look for.
	Full bool
}

// Reset forgets the chunks without releasing them.
func (r *Result) Reset() {
	clear(r.Chunks)
	*r = Result{Chunks: r.Chunks[:0]}
}

// Release gives the memory back and empties r.
func (r *Result) Release() {
	for _, c := range r.Chunks {
		c.Lease.Release()
	}
	r.Reset()
}

// Read adds what q selects of the segment to out, in one read of exactly the bytes needed where the index
// tells them. A nil error means that the segment was walked to its end or that out is full. A *Fault means
// that the walk met bytes that cannot be served; what lay in front of them is in out.
func (r *Reader) Read(pool *buffer.Pool, q *Query, out *Result) error {
	if q.Size <= 0 {
		return nil
	}
	if out.Count >= q.MaxCount || !q.ByTime && q.From > q.Ceiling {
		out.Full = true
		return nil
	}
	w := walk{r: r, q: q, out: out, pool: pool, index: r.view()}
	w.locate()
	err := w.run()
	if w.misled && out.Count == w.countBefore {
		// The index pointed at something that is no record border: it is derived data, do without it.
		w.index, w.hinted = &Index{}, false
		w.pos, w.expected = 0, r.start
		err = w.run()
	}
	return err
}

// walk is one Read.
type walk struct {
	r           *Reader
	q           *Query
	out         *Result
	pool        *buffer.Pool
	index       indexView
	countBefore uint32

	pos      int64  // of the next record
	expected uint64 // its base offset
	hint     IndexEntry
	hinted   bool // pos was taken from hint, which is not confirmed yet
	misled   bool // the index was wrong

	lease *buffer.Lease // bytes of the log from base on
	base  int64
	from  int // begin of the run of bytes in lease that is to be served; from == to: none
	to    int
}

// locate finds where the walk begins.
func (w *walk) locate() {
	w.countBefore = w.out.Count
	w.pos, w.expected = 0, w.r.start
	var err error
	if w.q.ByTime {
		w.hint, w.hinted, err = w.index.entryEarlier(w.q.Micros)
	} else {
		w.hint, w.hinted, err = w.index.entryBefore(w.q.From)
	}
	if err == nil && w.hinted && w.hint.Position >= uint64(w.q.Size) {
		// The index of a live segment may be ahead of what counts.
		w.hint, w.hinted, err = w.index.entryWithin(w.q.Size - 1)
	}
	if err != nil || w.hinted && (w.hint.Position >= uint64(w.q.Size) || w.hint.Offset < w.r.start) {
		w.hinted = false
	}
	if w.hinted {
		w.pos, w.expected = int64(w.hint.Position), w.hint.Offset
	}
}

// run serves records until the segment or the query ends.
func (w *walk) run() error {
	w.misled = false
	for w.pos < w.q.Size && !w.out.Full {
		record, err := w.record()
		if err == nil {
			err = w.serve(record)
		}
		if err != nil {
			w.finish()
			return err
		}
	}
	w.finish()
	return nil
}

// record returns the record at pos, whole, its header checked against what must stand there.
func (w *walk) record() ([]byte, error) {
	if !w.has(batch.HeaderSize) {
		if err := w.fill(batch.HeaderSize, w.plan()); err != nil {
			return nil, err
		}
	}
	h := batch.HeaderOf(w.lease.Bytes[w.pos-w.base:])
	if w.hinted {
		w.hinted = false
		if h.BaseOffset() != w.hint.Offset || h.BaseTimestamp() != w.hint.Timestamp {
			w.misled = true
			return nil, w.fault(protocol.CodeCannotReadMessage, errors.New("index does not match"))
		}
	}
	length := h.Length()
	switch {
	case h.Check() != protocol.Success, length > uint64(w.q.Size-w.pos), !h.Spans():
		return nil, w.fault(protocol.CodeCannotReadMessage, errors.New("no record"))
	case h.BaseOffset() != w.expected, h.PartitionID() != w.q.PartitionID:
		return nil, w.fault(protocol.CodeCannotReadMessage, errors.New("record of another place"))
	}
	if w.skips(h) {
		// Only its header is needed to get past it.
		return w.lease.Bytes[w.pos-w.base:][:batch.HeaderSize], nil
	}
	if !w.has(int64(length)) {
		if err := w.fill(int64(length), int64(length)); err != nil {
			return nil, err
		}
	}
	at := w.pos - w.base
	return w.lease.Bytes[at : at+int64(length)], nil
}

// skips reports whether nothing of the record with header h is wanted, but maybe of a later one.
func (w *walk) skips(h *batch.Header) bool {
	if w.q.ByTime {
		return w.out.Count == w.countBefore && h.BaseTimestamp() < w.q.Micros
	}
	return h.EndOffset() < w.q.From
}

// serve takes what is wanted of a record and moves on.
func (w *walk) serve(record []byte) error {
	h := batch.HeaderOf(record)
	length, next := int64(h.Length()), h.EndOffset()+1
	if w.skips(h) {
		w.advance(length, next)
		return nil
	}
	if h.BaseOffset() > w.q.Ceiling {
		w.out.Full = true
		return nil
	}
	if code := w.check(record); code != protocol.Success {
		return w.fault(code, nil)
	}
	want := batch.Selection{
		From: w.q.From, Ceiling: w.q.Ceiling, MaxCount: w.q.MaxCount - w.out.Count,
		MaxBytes: w.q.MaxBytes - w.out.Bytes, AtLeastOne: w.out.Count == 0,
	}
	if w.q.ByTime {
		want.From = h.BaseOffset()
	}
	end := h.EndOffset()
	var head batch.Header
	cut := batch.Slice(record, want, &head)
	w.take(record, &cut, &head)
	w.out.Full = cut.Full || w.out.Count >= w.q.MaxCount || cut.Count > 0 && cut.Last < end || w.out.Bytes >= w.q.MaxBytes
	w.advance(length, next)
	return nil
}

// advance moves to the next record. The offset after the highest one is none: the walk ends there.
func (w *walk) advance(length int64, next uint64) {
	w.pos += length
	w.expected = next
	if next == 0 {
		w.out.Full = true
	}
}

// check tests a record before it is served. Damage of the layout makes it unreadable.
func (w *walk) check(record []byte) protocol.Code {
	code := protocol.Success
	if w.q.Validate {
		code = batch.VerifyStored(record)
	} else {
		code = batch.CheckLayout(record)
	}
	switch code {
	case protocol.Success, protocol.CodeInvalidMessageChecksum, protocol.CodeInvalidBatchChecksum:
		return code
	}
	return protocol.CodeCannotReadMessage
}

// take adds a cut to the run of bytes to be served. A part gets its header written over bytes of its own
// record in front of its frames, which nobody reads any more, so that a run stays in one piece.
func (w *walk) take(record []byte, cut *batch.Cut, head *batch.Header) {
	if cut.Count == 0 {
		return
	}
	at := int(w.pos - w.base)
	begin, end := at, at+len(record)
	if !cut.Whole {
		begin = at + cut.At - batch.HeaderSize
		end = begin + batch.HeaderSize + len(cut.Frames)
		copy(w.lease.Bytes[begin:], head[:])
	}
	if w.to != begin || w.from == w.to {
		w.emit()
		w.from = begin
	}
	w.to = end
	if w.out.Count == 0 {
		w.out.First = cut.First
	}
	w.out.Count += cut.Count
	w.out.Last = cut.Last
	w.out.Bytes += end - begin
}

// emit hands the run gathered so far to the result.
func (w *walk) emit() {
	if w.from == w.to {
		return
	}
	w.lease.Retain()
	w.out.Chunks = append(w.out.Chunks, Chunk{Bytes: w.lease.Bytes[w.from:w.to:w.to], Lease: w.lease})
	w.from = w.to
}

// finish ends the use of the buffer.
func (w *walk) finish() {
	if w.lease == nil {
		return
	}
	w.emit()
	w.lease.Release()
	w.lease = nil
	w.from, w.to = 0, 0
}

// has reports whether n bytes from pos on are in the buffer.
func (w *walk) has(n int64) bool {
	return w.lease != nil && w.pos+n <= w.base+int64(len(w.lease.Bytes))
}

// fill takes a new buffer that begins at pos and holds want bytes, at least n, at most what the segment
// has. What the old buffer holds of them is copied, the rest is one read.
func (w *walk) fill(n, want int64) error {
	if n > w.q.Size-w.pos {
		return w.fault(protocol.CodeCannotReadMessage, io.ErrUnexpectedEOF)
	}
	want = min(max(n, want), w.q.Size-w.pos)
	lease := w.pool.Get(int(want))
	have := 0
	if w.lease != nil && w.pos < w.base+int64(len(w.lease.Bytes)) {
		have = copy(lease.Bytes, w.lease.Bytes[w.pos-w.base:])
	}
	w.finish()
	if got, err := w.r.log.ReadAt(lease.Bytes[have:], w.pos+int64(have)); got < len(lease.Bytes)-have {
		lease.Release()
		return w.fault(protocol.CodeCannotReadMessage, err)
	}
	w.lease, w.base = lease, w.pos
	return nil
}

// plan says how many bytes to read at pos, so that a read ends at a record border where the index knows
// one: behind the last message wanted, or as far as a step goes.
func (w *walk) plan() int64 {
	rest := w.q.Size - w.pos
	if w.q.ByTime && w.out.Count == w.countBefore {
		// The batch looked for begins within a stride of the entry in front of it.
		return min(rest, 2*IndexStride)
	}
	if rest > IndexStride {
		if at, ok, err := w.index.positionAfter(w.lastWanted()); err == nil && ok && at > w.pos {
			rest = min(rest, at-w.pos)
		}
	}
	if rest <= readStepMax {
		return rest
	}
	if e, ok, err := w.index.entryWithin(w.pos + readStepMax); err == nil && ok && int64(e.Position) > w.pos {
		return int64(e.Position) - w.pos
	}
	return readStep
}

// lastWanted is the highest offset that the query can still reach.
func (w *walk) lastWanted() uint64 {
	first := w.expected
	if !w.q.ByTime {
		first = max(first, w.q.From)
	}
	left := uint64(w.q.MaxCount-w.out.Count) - 1
	if first > math.MaxUint64-left {
		return w.q.Ceiling
	}
	return min(first+left, w.q.Ceiling)
}

func (w *walk) fault(code protocol.Code, err error) error {
	return &Fault{Start: w.r.start, Position: w.pos, Code: code, Err: err}
}
