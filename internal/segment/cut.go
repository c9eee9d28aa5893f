package segment

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/galgolog/galgo/internal/vfs"
)

// ShortError says that a segment holds less than a log says was made durable in it.
type ShortError struct {
	Dir         string
	Start       uint64 // segment
	Size, Found int64  // bytes said and there; Found is -1 for a missing file
}

// Error describes the loss for an operator.
func (e *ShortError) Error() string {
	if e.Found < 0 {
		return fmt.Sprintf("%s: segment %s is missing, the log says that it held %d bytes", e.Dir, LogName(e.Start), e.Size)
	}
	return fmt.Sprintf("%s: segment %s has %d bytes, the log says that it held %d", e.Dir, LogName(e.Start), e.Found, e.Size)
}

// CutTo drops what a partition holds behind byte size of the segment that begins at start: the rest of that
// segment and every later one. It is for bytes that were never synced and that a log brings again: after a
// loss of power they may be there in any part. The later segments go newest first; repeating an interrupted
// cut ends it. It is a *ShortError, and nothing is changed, when the segment does not reach size. What is cut
// is durable when CutTo returns.
func CutTo(fs vfs.FS, dir string, start uint64, size int64) error {
	starts, err := listSegments(fs, dir)
	if err != nil {
		return fmt.Errorf("cut %s: %w", dir, err)
	}
	if err := cutSegment(fs, dir, start, size, slices.Contains(starts, start)); err != nil {
		return err
	}
	for _, s := range slices.Backward(starts) {
		if s <= start {
			break
		}
		if err := removeSegment(fs, dir, s); err != nil {
			return fmt.Errorf("cut %s: segment %d: %w", dir, s, err)
		}
	}
	return nil
}

func cutSegment(fs vfs.FS, dir string, start uint64, size int64, there bool) error {
	if !there {
		if size > 0 {
			return &ShortError{Dir: path.Clean(dir), Start: start, Size: size, Found: -1}
		}
		return nil
	}
	f, err := fs.OpenFile(logPath(dir, start), vfs.ReadWrite)
	if err != nil {
		return fmt.Errorf("cut %s: %w", dir, err)
	}
	found, err := f.Size()
	if err == nil && found > size {
		if err = f.Truncate(size); err == nil {
			err = f.Sync()
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cut %s: segment %d: %w", dir, start, err)
	}
	if found < size {
		return &ShortError{Dir: path.Clean(dir), Start: start, Size: size, Found: found}
	}
	return nil
}
