package inspect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"unicode"
	"unicode/utf8"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// SegmentQuery says what of a segment to show.
type SegmentQuery struct {
	From     uint64 // batches that end at or above this offset
	Limit    int    // at most so many batches; 0 is all
	Messages bool   // the messages of each batch, which Payload asks for, too
	Payload  int    // with so many bytes of each payload
}

// BatchRow is one batch of a log.
type BatchRow struct {
	Row             string `json:"row"` // "batch"
	Position        int64  `json:"position"`
	Bytes           uint64 `json:"bytes"`
	Partition       uint64 `json:"partition"`
	BaseOffset      uint64 `json:"base_offset"`
	EndOffset       uint64 `json:"end_offset"`
	Messages        uint32 `json:"messages"`
	Time            string `json:"time"`
	Timestamp       uint64 `json:"timestamp"` // of the append, microseconds
	OriginTimestamp uint64 `json:"origin_timestamp"`
	Checksum        string `json:"checksum"`
}

// Text implements Row.
func (r *BatchRow) Text() string {
	return fmt.Sprintf("byte %-11d offsets %d..%d  %s  %s  %s  checksum %s", r.Position, r.BaseOffset, r.EndOffset,
		many(r.Messages, "message"), size(int64(r.Bytes)), r.Time, r.Checksum)
}

// MessageRow is one message.
type MessageRow struct {
	Row          string `json:"row"` // "message"
	Offset       uint64 `json:"offset"`
	Position     int64  `json:"position"`
	ID           string `json:"id"`
	Origin       uint64 `json:"origin_timestamp"` // microseconds
	PayloadBytes uint32 `json:"payload_bytes"`
	HeaderBytes  uint32 `json:"header_bytes"`
	Checksum     string `json:"checksum"`
	Intact       bool   `json:"intact"`
	Payload      string `json:"payload,omitempty"` // hexadecimal
	raw          []byte
}

// Text implements Row.
func (r *MessageRow) Text() string {
	text := fmt.Sprintf("    %-12d byte %-11d id %s  payload %d  headers %d  checksum %s", r.Offset, r.Position, shortClient(r.ID),
		r.PayloadBytes, r.HeaderBytes, r.Checksum)
	if !r.Intact {
		text += "  DAMAGED"
	}
	if r.Payload != "" {
		text += "  " + readable(r.raw)
	}
	return text
}

// readable is text as it is, anything else in hexadecimal.
func readable(b []byte) string {
	for len(b) > 0 && !utf8.Valid(b) && utf8.RuneStart(b[len(b)-1]) {
		b = b[:len(b)-1] // a character that the limit cut
	}
	for _, r := range string(b) {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return hex.EncodeToString(b)
		}
	}
	return fmt.Sprintf("%q", b)
}

// DescribeSegment shows a log, batch by batch, each verified.
func DescribeSegment(fsys vfs.FS, name string, q SegmentQuery, emit Emit) (err error) {
	partition, err := partitionOf(fsys, name)
	if err != nil {
		return err
	}
	w, err := segment.WalkLog(fsys, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	_, expected := segment.KindOf(path.Base(name))
	for shown := 0; w.At() < w.Size() && (q.Limit == 0 || shown < q.Limit); {
		h, position, ok, err := w.Next()
		if err != nil {
			return err
		}
		if !ok {
			if err := describeGap(w, name, position, &h, partition, expected, q, emit); err != nil {
				return err
			}
			continue
		}
		expected = h.EndOffset() + 1
		if h.EndOffset() < q.From {
			continue
		}
		shown++
		if err := emit(batchRow(&h, position)); err != nil {
			return err
		}
		if err := describeMessages(w, position, &h, q, emit); err != nil {
			return err
		}
	}
	return nil
}

// describeGap tells what is wrong at position, and moves on to the next whole batch.
func describeGap(w *segment.LogWalk, name string, position int64, h *batch.Header, partition, expected uint64, q SegmentQuery, emit Emit) error {
	var damaged []*MessageRow
	if h.MessageCount() > 0 && h.BaseOffset() == expected {
		err := w.Frames(position, h, func(i uint32, f *segment.Frame) bool {
			if !f.Intact {
				damaged = append(damaged, messageRow(h, i, f))
			}
			return len(damaged) < damagesMax
		})
		if err != nil {
			return err
		}
	}
	found, err := w.Skip(partition, expected)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d bytes are no batch, data goes on at byte %d", w.At()-position, w.At())
	if !found {
		what = fmt.Sprintf("the %d bytes at the end are no batch: a torn append, or damage", w.At()-position)
	}
	if err := emit(&TroubleRow{Row: "trouble", File: name, Position: &position, Problem: what}); err != nil {
		return err
	}
	for _, m := range damaged {
		if err := emit(m); err != nil {
			return err
		}
	}
	return nil
}

func batchRow(h *batch.Header, position int64) *BatchRow {
	return &BatchRow{
		Row: "batch", Position: position, Bytes: h.Length(), Partition: h.PartitionID(), BaseOffset: h.BaseOffset(), EndOffset: h.EndOffset(),
		Messages: h.MessageCount(), Time: moment(h.BaseTimestamp()), Timestamp: h.BaseTimestamp(), OriginTimestamp: h.OriginTimestamp(),
		Checksum: hex64(h.Checksum()),
	}
}

func describeMessages(w *segment.LogWalk, position int64, h *batch.Header, q SegmentQuery, emit Emit) error {
	if !q.Messages && q.Payload == 0 {
		return nil
	}
	var failed error
	err := w.Frames(position, h, func(i uint32, f *segment.Frame) bool {
		row := messageRow(h, i, f)
		if row.Offset < q.From {
			return true
		}
		if n := min(q.Payload, int(row.PayloadBytes)); n > 0 {
			if row.raw, failed = w.Bytes(f.Position+batch.FrameHeaderSize, n); failed != nil {
				return false
			}
			row.Payload = hex.EncodeToString(row.raw)
		}
		failed = emit(row)
		return failed == nil
	})
	return errors.Join(err, failed)
}

func messageRow(h *batch.Header, i uint32, f *segment.Frame) *MessageRow {
	head := batch.Frame(f.Header[:])
	return &MessageRow{
		Row: "message", Offset: h.BaseOffset() + uint64(i), Position: f.Position, ID: head.ID().String(),
		Origin:       h.OriginTimestamp() + uint64(head.TimestampDelta()),
		PayloadBytes: head.PayloadBytes(), HeaderBytes: head.HeaderBytes(), Checksum: hex64(head.Checksum()), Intact: f.Intact,
	}
}

// IndexRow is one entry of an index.
type IndexRow struct {
	Row       string `json:"row"` // "index_entry"
	Number    int    `json:"number"`
	Offset    uint64 `json:"offset"`
	Time      string `json:"time"`
	Timestamp uint64 `json:"timestamp"`
	Position  uint64 `json:"position"`
}

// Text implements Row.
func (r *IndexRow) Text() string {
	return fmt.Sprintf("%-8d offset %-20d %s  byte %d", r.Number, r.Offset, r.Time, r.Position)
}

// indexBytesMax bounds the index of a log that is not there: that of the longest segment.
const indexBytesMax = 2 << 30

// DescribeIndex shows the entries of an index, and how they fit the log beside it.
func DescribeIndex(fsys vfs.FS, name string, limit int, emit Emit) error {
	entries, clean, err := segment.ReadIndex(fsys, name, indexBytesMax)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if limit > 0 && i == limit {
			break
		}
		if err := emit(&IndexRow{"index_entry", i, e.Offset, moment(e.Timestamp), e.Timestamp, e.Position}); err != nil {
			return err
		}
	}
	if !clean {
		what := "the end of the file is no whole entry"
		if len(entries) == 0 {
			what = "the entries are not in order, or the file is too long: the index is worth nothing and a start writes it anew"
		}
		if err := emit(&TroubleRow{Row: "trouble", File: name, Problem: what}); err != nil {
			return err
		}
	}
	return compareIndex(fsys, name, entries, emit)
}

// compareIndex reads the log beside an index.
func compareIndex(fsys vfs.FS, name string, entries []segment.IndexEntry, emit Emit) error {
	_, start := segment.KindOf(path.Base(name))
	log := path.Join(path.Dir(name), segment.LogName(start))
	partition, err := partitionOf(fsys, log)
	if isMissing(err) {
		return emit(&TroubleRow{Row: "trouble", File: name, Problem: "there is no log beside it"})
	}
	if err != nil {
		return err
	}
	s, err := scrub(fsys, path.Dir(name), start, partition, func(int64) {})
	if err == nil && s.indexBad > 0 {
		err = emit(&TroubleRow{Row: "trouble", File: name, Problem: fmt.Sprintf("%d of %d entries point at no batch, the first is number %d", s.indexBad, len(entries), s.indexFirst)})
	}
	return err
}

// partitionOf is the partition that a log belongs to: the number of its directory, or what its first batch says where
// the log was copied elsewhere.
func partitionOf(fsys vfs.FS, log string) (id uint64, err error) {
	w, err := segment.WalkLog(fsys, log)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if n, ok := datadir.ParseNumber(path.Base(path.Dir(log))); ok {
		return uint64(n), nil
	}
	h, _, _, err := w.Next()
	return h.PartitionID(), err
}
