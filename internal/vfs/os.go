package vfs

import (
	"io/fs"
	"os"
	"sync"
)

// Permissions of what this process creates: data is the owner's, the group may look.
const (
	filePerm = 0o640
	dirPerm  = 0o750
)

// OS is the file system of the machine.
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flags Flags) (File, error) {
	mode := os.O_RDONLY
	if flags&ReadWrite != 0 {
		mode = os.O_RDWR
	}
	if flags&Create != 0 {
		mode |= os.O_CREATE
	}
	if flags&Exclusive != 0 {
		mode |= os.O_EXCL
	}
	if flags&Truncate != 0 {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, mode, filePerm)
	if err != nil {
		return nil, err
	}
	return &osFile{f: f, fd: int(f.Fd()), name: name}, nil
}

func (o osFS) Create(name string) (File, error) {
	return o.OpenFile(name, ReadWrite|Create|Truncate)
}

func (osFS) Remove(name string) error             { return os.Remove(name) }
func (osFS) RemoveAll(name string) error          { return os.RemoveAll(name) }
func (osFS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }
func (osFS) MkdirAll(name string) error           { return os.MkdirAll(name, dirPerm) }

func (osFS) ReadDir(name string) ([]string, error) {
	entries, err := os.ReadDir(name) // sorted
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (osFS) Stat(name string) (Info, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return Info{SizeBytes: fi.Size(), IsDir: fi.IsDir()}, nil
}

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name + "/.") // fails where name is not a directory
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func (osFS) FreeBytes(name string) (uint64, error) {
	n, err := freeBytes(name)
	return n, pathError("statfs", name, err)
}

// osFile adds the calls that the os package lacks. Those use the raw descriptor under a read lock, so that
// Close waits for them and no call ever reaches a descriptor that already names another file.
type osFile struct {
	f      *os.File
	name   string
	mu     sync.RWMutex
	fd     int
	closed bool
}

func (o *osFile) ReadAt(p []byte, off int64) (int, error)  { return o.f.ReadAt(p, off) }
func (o *osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o *osFile) Sync() error                              { return o.f.Sync() }
func (o *osFile) Truncate(sizeBytes int64) error           { return o.f.Truncate(sizeBytes) }

func (o *osFile) Size() (int64, error) {
	fi, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

func (o *osFile) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.f.Close()
}

// enter takes the read lock for a raw call, or reports that the file is closed.
func (o *osFile) enter(op string) error {
	o.mu.RLock()
	if o.closed {
		o.mu.RUnlock()
		return pathError(op, o.name, fs.ErrClosed)
	}
	return nil
}
