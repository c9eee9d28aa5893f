package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Modes of what is created. Messages and tokens are nobody else's business.
const (
	dirMode  = 0o750
	fileMode = 0o640
)

// LockedError says that another process uses the directory.
type LockedError struct {
	Path string // the data directory
	PID  int    // the other process, 0 if it is not known
}

// Error names the directory, the process and the way out.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s; stop it, or give this server a directory of its own (system.path)",
		e.Path, holder)
}

// UnsafeWipeError says that a directory will not be wiped because it cannot be a data directory.
type UnsafeWipeError struct {
	Path   string
	Reason string
}

// Error names the directory and the reason.
func (e *UnsafeWipeError) Error() string {
	return fmt.Sprintf("data directory %s will not be deleted: %s", e.Path, e.Reason)
}

// Options say how to open the directory.
type Options struct {
	Path    string // relative to the working directory, or absolute
	Folders Folders
	Fresh   bool // delete what is in it first
}

// Dir is a data directory that belongs to this process until Close. Its methods may be called from any
// goroutine.
type Dir struct {
	Layout
	logs  string
	lock  *flock.Flock
	first bool
}

// Open creates the directory where it is missing, locks it, wipes it if asked to, and makes the folders that
// every start needs; the runtime folder is emptied. A directory in use gives *LockedError, and nothing in it
// was touched.
func Open(o Options) (*Dir, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", o.Path, err)
	}
	if o.Fresh {
		if err := wipeable(path); err != nil {
			return nil, err
		}
	}
	d := &Dir{Layout: NewLayout(path, o.Folders)}
	if err := makeDir(path, syncDir); err != nil {
		return nil, fmt.Errorf("data directory create: %w", err)
	}
	if err := d.take(); err != nil {
		return nil, err
	}
	if err := d.prepare(o.Fresh); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// take locks the directory and leaves our process id in the lock file for whoever meets the lock.
func (d *Dir) take() error {
	d.lock = flock.New(filepath.Join(d.path, LockName), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(fileMode))
	locked, err := d.lock.TryLock()
	if err != nil {
		return fmt.Errorf("data directory lock: %w", err)
	}
	if !locked {
		return &LockedError{Path: d.path, PID: holder(d.lock.Path())}
	}
	if err := os.WriteFile(d.lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), fileMode); err != nil {
		return errors.Join(fmt.Errorf("data directory lock: %w", err), d.lock.Unlock())
	}
	return nil
}

// holder reads the process id in a lock file; 0 if there is none.
func holder(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, 16)
	n, _ := f.Read(text)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

func (d *Dir) prepare(fresh bool) error {
	if fresh {
		if err := d.wipe(); err != nil {
			return fmt.Errorf("data directory wipe: %w", err)
		}
	}
	_, err := os.Stat(d.Metadata())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("data directory inspect: %w", err)
	}
	d.first = err != nil
	if err := d.emptyRuntime(); err != nil {
		return fmt.Errorf("data directory runtime folder: %w", err)
	}
	d.logs = logFolder(d.path, d.folders.Logs)
	err = makeDir(d.Streams(), syncDir)
	for _, folder := range []string{d.Runtime(), d.logs} { // of this run: nothing is lost with them
		if err == nil {
			err = os.MkdirAll(folder, dirMode)
		}
	}
	if err != nil {
		return fmt.Errorf("data directory create: %w", err)
	}
	d.reserveRuntime()
	return nil
}

// makeDir creates a directory and its missing parents durably: each is on the disk under its name when it returns,
// the outermost first.
func makeDir(path string, sync func(dir string) error) error {
	var parents []string
	for at := path; ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if err == nil || at == filepath.Dir(at) {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		parents = append(parents, filepath.Dir(at))
	}
	if err := os.MkdirAll(path, dirMode); err != nil {
		return err
	}
	for _, parent := range slices.Backward(parents) {
		if err := sync(parent); err != nil {
			return err
		}
	}
	return nil
}

// logFolder prefers a folder of that name in the working directory.
func logFolder(base, name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		if absolute, err := filepath.Abs(name); err == nil {
			return absolute
		}
	}
	return filepath.Join(base, name)
}

// wipe deletes everything but the lock.
func (d *Dir) wipe() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == LockName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.path, entry.Name())); err != nil {
			return err
		}
	}
	return syncDir(d.path)
}

// wipeable refuses directories that hold more than data: the root, the home directory, and whatever the
// server itself was started in or below.
func wipeable(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if filepath.Dir(real) == real {
		return &UnsafeWipeError{Path: path, Reason: "it is the root of the file system"}
	}
	if home, err := os.UserHomeDir(); err == nil && inside(real, home) {
		return &UnsafeWipeError{Path: path, Reason: "the home directory is in it"}
	}
	if working, err := os.Getwd(); err == nil && inside(real, working) {
		return &UnsafeWipeError{Path: path, Reason: "the working directory is in it"}
	}
	return nil
}

// inside says that path is base or lies below it.
func inside(base, path string) bool {
	relative, err := filepath.Rel(base, path)
	return err == nil && filepath.IsLocal(relative)
}

// FirstStart says that no metadata was there when the directory was opened.
func (d *Dir) FirstStart() bool { return d.first }

// Close gives the directory back. The lock file stays: removing it would let two processes hold two locks.
func (d *Dir) Close() error {
	if err := d.lock.Unlock(); err != nil {
		return fmt.Errorf("data directory unlock: %w", err)
	}
	return nil
}

// Holder tells whether a process uses the data directory path, and which one, 0 if it is not known. Nothing is
// created; the lock is tried for a moment, shared, where its file exists.
func Holder(path string) (pid int, inUse bool, err error) {
	name := filepath.Join(path, LockName)
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err != nil {
		return 0, false, fmt.Errorf("data directory lock: %w", err)
	}
	if !free {
		return holder(name), true, lock.Close()
	}
	return 0, false, lock.Unlock()
}
