package segment

import (
	"errors"
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/vfs"
)

// FileKind tells what a file of a partition directory is by its name.
type FileKind uint8

// Kinds of files. A staging file is what an unfinished replacement left.
const (
	OtherFile FileKind = iota
	LogFile
	IndexFile
	AnchorFile
	StagingFile
	OwnerFile // owner, or purge.gen
)

// KindOf reads a name. start is the first offset of the segment that a log, an index or an anchor belongs to.
func KindOf(name string) (kind FileKind, start uint64) {
	ext := path.Ext(name)
	if name == PurgeName || name == OwnerName {
		return OwnerFile, 0
	}
	if ext == stagingSuffix {
		return StagingFile, 0
	}
	start, ok := parseStem(name[:len(name)-len(ext)])
	switch {
	case !ok:
		return OtherFile, 0
	case ext == logSuffix:
		return LogFile, start
	case ext == indexSuffix:
		return IndexFile, start
	case ext == anchorSuffix:
		return AnchorFile, start
	}
	return OtherFile, 0
}

// LogWalk reads a log from its first byte, record by record, layout and checksums verified. It changes nothing
// and holds at most 1 MiB, whatever the size of a record. Not safe for concurrent use.
type LogWalk struct {
	scan *scanner
	at   int64
}

// WalkLog opens a log by its path. The walk covers the length that the file has now.
func WalkLog(fs vfs.FS, name string) (*LogWalk, error) {
	f, err := fs.OpenFile(name, vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("walk %s: %w", name, err), f.Close())
	}
	_, start := KindOf(path.Base(name))
	return &LogWalk{scan: newScanner(f, start, size)}, nil
}

// Size is the length of the log in bytes.
func (w *LogWalk) Size() int64 { return w.scan.size }

// At is the position of the next record.
func (w *LogWalk) At() int64 { return w.at }

// Close gives the file back.
func (w *LogWalk) Close() error { return w.scan.f.Close() }

// Next verifies the record at At and moves behind it. ok is false at the end of the log and where no record is:
// At then stays, and is below Size in the second case; the header is what stands there. Errors are those of
// reading.
func (w *LogWalk) Next() (h batch.Header, position int64, ok bool, err error) {
	position = w.at
	h, ok, err = w.scan.record(position)
	if ok {
		w.at += int64(h.Length())
	}
	return h, position, ok, err
}

// Skip moves to the next whole record of the partition behind At whose offsets lie above floor; false when there
// is none, and the walk is then at its end.
func (w *LogWalk) Skip(partitionID, floor uint64) (bool, error) {
	next, found, err := w.scan.findRecord(w.at+1, partitionID, floor)
	if err != nil {
		return false, err
	}
	if w.at = next; !found {
		w.at = w.scan.size
	}
	return found, nil
}

// Frame is one message as a walk shows it.
type Frame struct {
	Position int64
	Header   [batch.FrameHeaderSize]byte // a batch.Frame without payload and headers
	Length   uint64                      // of the whole frame, in bytes
	Intact   bool                        // its checksum fits
}

// Frames visits the messages of the record at position in order, until visit returns false or the layout is broken.
func (w *LogWalk) Frames(position int64, h *batch.Header, visit func(i uint32, f *Frame) bool) error {
	at, end := position+batch.HeaderSize, position+int64(min(h.Length(), uint64(w.scan.size-position)))
	for i := uint32(0); i < h.MessageCount() && end-at >= batch.FrameHeaderSize; i++ {
		b, err := w.scan.peek(at, batch.FrameHeaderSize)
		if err != nil {
			return err
		}
		f := Frame{Position: at, Header: [batch.FrameHeaderSize]byte(b)}
		length, ok := batch.FrameLength(b)
		if f.Length = length; !ok || length > uint64(end-at) {
			return nil
		}
		if f.Intact, err = w.scan.frame(at, int64(length)); err != nil {
			return err
		}
		if !visit(i, &f) {
			return nil
		}
		at += int64(length)
	}
	return nil
}

// Bytes reads n bytes at position into memory of their own.
func (w *LogWalk) Bytes(position int64, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := w.scan.f.ReadAt(b, position)
	return b, err
}

// ReadIndex reads the entries of an index file by its path, of a log of logBytes. clean is as DecodeIndex has it,
// and false for a file that is longer than the index of such a log.
func ReadIndex(fs vfs.FS, name string, logBytes int64) (entries []IndexEntry, clean bool, err error) {
	b, err := vfs.ReadFile(fs, name, indexLimit(logBytes))
	if tooLarge(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	entries, clean = DecodeIndex(b)
	return entries, clean, nil
}
