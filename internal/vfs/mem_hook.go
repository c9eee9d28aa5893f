package vfs

import (
	"errors"
	"fmt"
)

// ErrCrashed is what every operation returns after the file system lost power. A hook returns it to end
// the life of the file system at that operation.
var ErrCrashed = errors.New("file system has crashed")

// OpKind names a mutating operation of Mem.
type OpKind uint8

// Mutating operations. Opening a missing file with Create is OpCreate, opening with Truncate one that is
// not empty is OpTruncate; RemoveAll is one OpRemove for every name it removes, deepest first.
const (
	OpCreate OpKind = iota + 1
	OpWrite
	OpSync
	OpDatasync
	OpTruncate
	OpPreallocate
	OpRemove
	OpRename
	OpMkdir
	OpSyncDir
)

var opKindNames = [...]string{
	OpCreate: "create", OpWrite: "write", OpSync: "fsync", OpDatasync: "fdatasync", OpTruncate: "truncate",
	OpPreallocate: "fallocate", OpRemove: "remove", OpRename: "rename", OpMkdir: "mkdir", OpSyncDir: "fsync directory",
}

// String returns the name of the operation as it stands in errors.
func (k OpKind) String() string {
	if k > 0 && int(k) < len(opKindNames) {
		return opKindNames[k]
	}
	return fmt.Sprintf("operation %d", uint8(k))
}

// Op is a mutating operation that is about to happen.
type Op struct {
	Number    uint64 // 1, 2, 3, ... in the life of the file system
	Kind      OpKind
	Path      string // of a rename, the old name
	NewPath   string // of a rename, the new name
	Off       int64  // of a write or preallocation
	SizeBytes int64  // of a write or preallocation; of a truncation the new length
}

// String describes the operation for test failures.
func (o Op) String() string {
	return fmt.Sprintf("%d: %s %s %s off %d size %d", o.Number, o.Kind, o.Path, o.NewPath, o.Off, o.SizeBytes)
}

// Hook is called before a mutating operation, without a lock held: it may call methods of the file
// system that change nothing, CrashClone included. nil lets the operation happen. ErrCrashed, wrapped or
// not, ends the life of the file system; a write may have happened in part. Any other error is what the
// caller gets: a write may have happened in part (and says how much), a failed sync leaves unsynced data
// readable but drops a seeded part of it from what a crash can find, whatever later syncs say.
type Hook func(op Op) error

// CrashAt returns a hook that crashes at operation n.
func CrashAt(n uint64) Hook { return FailAt(n, ErrCrashed) }

// FailAt returns a hook that fails operation n with err.
func FailAt(n uint64, err error) Hook {
	return func(op Op) error {
		if op.Number == n {
			return err
		}
		return nil
	}
}

// SetHook installs h; nil removes it. It does not reset the counter.
func (m *Mem) SetHook(h Hook) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = h
}

// SetReadHook installs a function that may fail a read of n bytes at off; nil removes it.
func (m *Mem) SetReadHook(h func(path string, off int64, n int) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readHook = h
}

// Ops is the number of mutating operations begun so far.
func (m *Mem) Ops() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

// Crash ends the life of the file system between two operations.
func (m *Mem) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashed = true
}

// Restart lets a next process go on after the one that Crash or a hook has ended, without a loss of power: it
// finds everything that was done, and what was not synced still is not. The hook is gone. Nothing of the
// process before may touch its files any more.
func (m *Mem) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashed, m.hook = false, nil
}

// before numbers the operation and asks the hook.
func (m *Mem) before(op Op) error {
	m.mu.Lock()
	if m.crashed {
		m.mu.Unlock()
		return pathError(op.Kind.String(), op.Path, ErrCrashed)
	}
	m.ops++
	op.Number = m.ops
	hook := m.hook
	m.mu.Unlock()
	if hook == nil {
		return nil
	}
	err := hook(op)
	if errors.Is(err, ErrCrashed) {
		m.Crash()
	}
	return pathError(op.Kind.String(), op.Path, err)
}
