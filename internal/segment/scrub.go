package segment

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/vfs"
)

// Damage is a range of a log that holds no intact records although it should.
type Damage struct {
	Start    uint64 // segment
	Position int64  // first damaged byte
	Next     int64  // where intact records go on; the end of the log when they do not
	// First and Last are the offsets of the messages that cannot be read.
	First, Last uint64
	// Err is the error of reading that ended the walk; nil for bytes that were read and are wrong.
	Err error
}

// Error describes the damage for an operator.
func (d *Damage) Error() string {
	s := fmt.Sprintf("segment %s is damaged from byte %d to %d: messages %d to %d cannot be read",
		LogName(d.Start), d.Position, d.Next, d.First, d.Last)
	if d.Err != nil {
		s += ": " + d.Err.Error()
	}
	return s
}

// Unwrap returns the error of reading.
func (d *Damage) Unwrap() error { return d.Err }

// Scrub reads a segment that is not written any more, whose log holds size bytes of messages up to offset end,
// and verifies every record: layout, checksums, place. pace is called before every so many bytes are read, about
// a MiB at a time; its error ends the walk and is returned. report is called for every damage, in order. A failing
// read counts as damage up to the end of the log. A log that is gone is fs.ErrNotExist, one that is shorter is damage.
func Scrub(fsys vfs.FS, dir string, seg Info, partitionID uint64, pace func(bytes int64) error, report func(*Damage)) error {
	f, err := fsys.OpenFile(logPath(dir, seg.Start), vfs.ReadOnly)
	if err != nil {
		return fmt.Errorf("scrub segment %d: %w", seg.Start, err)
	}
	w := scrubWalk{scanner: newScanner(f, seg.Start, seg.Size), seg: seg, partition: partitionID, report: report}
	w.buf = make([]byte, min(seg.Size, scanBuffer))
	return errors.Join(w.run(pace), f.Close())
}

type scrubWalk struct {
	*scanner
	seg       Info
	partition uint64
	report    func(*Damage)
}

func (w *scrubWalk) run(pace func(int64) error) error {
	expected, paced := w.seg.Start, int64(0)
	for position := int64(0); position < w.size; {
		for ; paced < min(position+scanBuffer, w.size); paced += scanBuffer {
			if err := pace(min(scanBuffer, w.size-paced)); err != nil {
				return err
			}
		}
		h, ok, err := w.record(position)
		if ok && h.BaseOffset() == expected && h.PartitionID() == w.partition {
			position += int64(h.Length())
			expected = h.EndOffset() + 1
			continue
		}
		d := &Damage{Start: w.start, Position: position, Next: w.size, First: expected, Last: w.seg.End, Err: err}
		if err == nil {
			position = w.resume(d, expected)
			expected = d.Last + 1
		}
		w.report(d)
		if d.Next == w.size {
			return nil
		}
	}
	return nil
}

// resume finds where records go on behind the damage and completes d.
func (w *scrubWalk) resume(d *Damage, expected uint64) int64 {
	next, found, err := w.findRecord(d.Position+1, w.partition, expected)
	if err != nil {
		d.Err = err
	}
	if err != nil || !found {
		return w.size
	}
	h, _, err := w.record(next)
	if err != nil {
		d.Err = err
		return w.size
	}
	d.Next, d.Last = next, h.BaseOffset()-1
	return next
}
