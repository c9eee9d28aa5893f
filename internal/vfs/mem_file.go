package vfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

type memFile struct {
	fs       *Mem
	node     *memNode
	name     string
	writable bool
	closed   bool // under fs.mu
}

// usable reports why the handle cannot serve. Called with fs.mu held.
func (f *memFile) usable() error {
	switch {
	case f.fs.crashed:
		return ErrCrashed
	case f.closed:
		return fs.ErrClosed
	}
	return nil
}

// mutate runs act between the hook and the end of a mutating operation. act gets the hook's error, is not
// called when the file system has crashed before, and decides what the operation leaves.
func (f *memFile) mutate(op Op, act func(hookErr error) error) error {
	op.Path = f.name
	f.fs.mu.Lock()
	err := f.usable()
	f.fs.mu.Unlock()
	if err == nil && !f.writable && op.Kind != OpSync && op.Kind != OpDatasync {
		err = syscall.EBADF
	}
	if err != nil {
		return pathError(op.Kind.String(), f.name, err)
	}
	hookErr := f.fs.before(op)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return pathError(op.Kind.String(), f.name, fs.ErrClosed)
	}
	return act(hookErr)
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	hook := f.fs.readHook
	f.fs.mu.Unlock()
	if hook != nil {
		if err := hook(f.name, off, len(p)); err != nil {
			return 0, pathError("read", f.name, err)
		}
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, pathError("read", f.name, err)
	}
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= int64(len(f.node.live.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.live.bytes[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(slices.Clone(p), off)
}

func (f *memFile) WritevAt(bufs [][]byte, off int64) (int, error) {
	return f.write(slices.Concat(bufs...), off)
}

// write takes over data.
func (f *memFile) write(data []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("write", f.name, fs.ErrInvalid)
	}
	if len(data) == 0 {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		return 0, pathError("write", f.name, f.usable())
	}
	n := 0
	err := f.mutate(Op{Kind: OpWrite, Off: off, SizeBytes: int64(len(data))}, func(err error) error {
		n = len(data)
		if err != nil {
			n = f.fs.rng.IntN(len(data) + 1)
		} else if free := f.fs.free(); off+int64(n) > int64(len(f.node.live.bytes))+free {
			n = int(max(int64(len(f.node.live.bytes))+free-off, 0))
			err = pathError("write", f.name, syscall.ENOSPC)
		}
		if n > 0 {
			f.node.add(memWrite{off: off, data: data[:n]})
		}
		return err
	})
	return n, err
}

// add applies a write to what the process sees and queues it for the medium.
func (n *memNode) add(w memWrite) {
	n.live.change(w)
	n.writes = append(n.writes, w)
}

func (w memWrite) apply(image []byte) []byte {
	if w.truncate {
		return resize(image, w.off)
	}
	if end := w.off + int64(len(w.data)); end > int64(len(image)) {
		image = resize(image, end)
	}
	copy(image[w.off:], w.data)
	return image
}

// resize cuts image or extends it with zeros.
func resize(image []byte, size int64) []byte {
	old := int64(len(image))
	if size <= old {
		return image[:size]
	}
	image = slices.Grow(image, int(size-old))[:size]
	clear(image[old:])
	return image
}

func (f *memFile) Sync() error     { return f.sync(OpSync) }
func (f *memFile) Datasync() error { return f.sync(OpDatasync) }

func (f *memFile) sync(kind OpKind) error {
	return f.mutate(Op{Kind: kind}, func(err error) error {
		if errors.Is(err, ErrCrashed) {
			return err // CrashClone decides what had reached the medium
		}
		for _, w := range f.node.writes {
			// After a failed sync the kernel counts the pages as clean, written or not.
			if err == nil || f.fs.rng.IntN(2) == 0 {
				f.node.durable.change(w)
			}
		}
		f.node.writes = nil
		return err
	})
}

func (f *memFile) Truncate(sizeBytes int64) error {
	if sizeBytes < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	return f.mutate(Op{Kind: OpTruncate, SizeBytes: sizeBytes}, func(err error) error {
		if err == nil && sizeBytes-int64(len(f.node.live.bytes)) > f.fs.free() {
			err = pathError("truncate", f.name, syscall.ENOSPC)
		}
		if err == nil {
			f.node.add(memWrite{truncate: true, off: sizeBytes})
		}
		return err
	})
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.node.live.bytes)), pathError("stat", f.name, f.usable())
}

func (f *memFile) Preallocate(off, length int64) error {
	return f.mutate(Op{Kind: OpPreallocate, Off: off, SizeBytes: length}, func(err error) error { return err })
}

func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := f.usable()
	f.closed = true
	return pathError("close", f.name, err)
}
