package wal

import (
	"errors"
	"fmt"
	"io"

	"github.com/galgolog/galgo/internal/vfs"
)

// windowBytes is how much of a file a window holds, unless more is asked for at once.
const windowBytes = 256 << 10

// Window reads a file in large steps for a scan that mostly moves forward. Not for concurrent use.
type Window struct {
	File vfs.File
	Name string // for errors
	Size int64  // nothing at or behind it is read

	held []byte
	from int64 // position of held
}

// Bytes returns n bytes at pos, valid until the next call. Beyond Size it is io.EOF.
func (w *Window) Bytes(pos int64, n int) ([]byte, error) {
	if pos+int64(n) > w.Size {
		return nil, io.EOF
	}
	if pos < w.from || pos+int64(n) > w.from+int64(len(w.held)) {
		want := min(max(int64(n), windowBytes), w.Size-pos)
		if int64(cap(w.held)) < want {
			w.held = make([]byte, want)
		}
		w.held, w.from = w.held[:want], pos
		if got, err := w.File.ReadAt(w.held, pos); int64(got) != want {
			w.held = w.held[:0]
			return nil, fmt.Errorf("scan %s at byte %d: %w", w.Name, pos, errors.Join(err, io.ErrUnexpectedEOF))
		}
	}
	return w.held[pos-w.from:][:n], nil
}
