package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// Flags select how OpenFile opens. The zero value opens an existing file for reading.
type Flags uint8

// Flags of OpenFile.
const (
	ReadOnly  Flags = 0
	ReadWrite Flags = 1 << 0
	Create    Flags = 1 << 1 // make the file when it is missing; needs ReadWrite
	Exclusive Flags = 1 << 2 // with Create: fail with fs.ErrExist when it is there
	Truncate  Flags = 1 << 3 // cut to zero length; needs ReadWrite
)

// Info is what Stat reports.
type Info struct {
	SizeBytes int64 // length of a file; meaningless for a directory
	IsDir     bool
}

// FS is a file system. Names are slash-separated paths. A missing file is fs.ErrNotExist.
type FS interface {
	// OpenFile opens a regular file. The name of a new file is durable after SyncDir of its directory.
	OpenFile(name string, flags Flags) (File, error)
	// Create opens for reading and writing an empty file, replacing what was there.
	Create(name string) (File, error)
	// Remove unlinks a file or an empty directory.
	Remove(name string) error
	// RemoveAll removes a tree. A missing name is not an error. It is not atomic: a crash leaves a part.
	RemoveAll(name string) error
	// Rename moves a file or directory, replacing a file at newName atomically.
	Rename(oldName, newName string) error
	// MkdirAll makes a directory and its missing parents. Existing ones are no error.
	MkdirAll(name string) error
	// ReadDir returns the names in a directory in ascending order.
	ReadDir(name string) ([]string, error)
	// Stat describes a file or directory.
	Stat(name string) (Info, error)
	// SyncDir makes creations, renames and removals in the directory durable.
	SyncDir(name string) error
	// FreeBytes is the space an unprivileged process may still use on the volume that holds name.
	FreeBytes(name string) (uint64, error)
}

// File is one open regular file. All positions are explicit: there is no cursor. Methods may run
// concurrently; overlapping writes have no defined order. After Close every method fails with fs.ErrClosed.
type File interface {
	// ReadAt fills p or returns the number of bytes read and a non-nil error, io.EOF at the end.
	io.ReaderAt
	// WriteAt writes all of p or returns the number of bytes written and a non-nil error. A hole left
	// before off reads as zeros.
	io.WriterAt
	// WritevAt writes the concatenation of bufs at off, all of it or n bytes and a non-nil error. Empty
	// buffers are allowed and neither bufs nor its elements are changed or kept.
	WritevAt(bufs [][]byte, off int64) (n int, err error)
	// Sync makes content, size and attributes durable. A failure is final for what was unsynced: the
	// data may be gone although a later Sync succeeds.
	Sync() error
	// Datasync makes content and size durable. Failures as for Sync.
	Datasync() error
	// Truncate cuts or extends (with zeros) the file.
	Truncate(sizeBytes int64) error
	// Size is the current length in bytes.
	Size() (int64, error)
	// Preallocate reserves blocks for a range without changing the length. Where the file system cannot,
	// it does nothing and returns nil; a full disk is an error.
	Preallocate(off, length int64) error
	// Close gives the descriptor back. It makes nothing durable.
	Close() error
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
