package vfs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Overlay is a file system whose changes stay in memory: it shows what lies below as it is, takes every write,
// and passes none of them on. So a recovery can be rehearsed on files that must not be touched, and Diff tells
// what it would have done. Files below are opened for reading only and must not change meanwhile.
//
// It holds what is written to it, in pages of 4 KiB. Safe for concurrent use.
type Overlay struct {
	base FS

	mu    sync.Mutex
	files map[string]*overlayNode // files that were opened for writing, or made
	dirs  map[string]bool         // directories that were made
	gone  map[string]bool         // what lies below under these names, with everything in it, is hidden
}

var _ FS = (*Overlay)(nil)

// NewOverlay returns an overlay over base without changes.
func NewOverlay(base FS) *Overlay {
	return &Overlay{base: base, files: map[string]*overlayNode{}, dirs: map[string]bool{}, gone: map[string]bool{}}
}

// hidden reports that name, or a directory above it, was removed from what lies below.
func (o *Overlay) hidden(name string) bool {
	for at := name; ; at = path.Dir(at) {
		if o.gone[at] {
			return true
		}
		if at == path.Dir(at) {
			return false
		}
	}
}

// stat describes name. Called with mu held.
func (o *Overlay) stat(name string) (Info, error) {
	if n := o.files[name]; n != nil {
		return Info{SizeBytes: n.length()}, nil
	}
	if o.dirs[name] {
		return Info{IsDir: true}, nil
	}
	if o.hidden(name) {
		return Info{}, pathError("stat", name, fs.ErrNotExist)
	}
	return o.base.Stat(name)
}

// Stat implements FS.
func (o *Overlay) Stat(name string) (Info, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stat(path.Clean(name))
}

// OpenFile implements FS.
func (o *Overlay) OpenFile(name string, flags Flags) (File, error) {
	name = path.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.files[name]
	if n == nil {
		info, err := o.stat(name)
		switch {
		case err == nil && info.IsDir:
			return nil, pathError("open", name, syscall.EISDIR)
		case err == nil && flags&ReadWrite == 0:
			return o.base.OpenFile(name, ReadOnly)
		case err == nil:
			n = &overlayNode{origin: name, kept: info.SizeBytes, size: info.SizeBytes}
		case !isNotExist(err) || flags&Create == 0:
			return nil, err
		default:
			if err := o.needDir(path.Dir(name)); err != nil {
				return nil, err
			}
			n = &overlayNode{}
		}
		if err == nil && flags&Exclusive != 0 {
			return nil, pathError("open", name, fs.ErrExist)
		}
	} else if flags&Exclusive != 0 {
		return nil, pathError("open", name, fs.ErrExist)
	}
	if flags&Truncate != 0 {
		n.truncate(0)
	}
	f := &overlayFile{node: n, writable: flags&ReadWrite != 0}
	if n.origin != "" {
		base, err := o.base.OpenFile(n.origin, ReadOnly)
		if err != nil {
			return nil, err
		}
		f.base = base
	}
	o.files[name] = n
	return f, nil
}

// needDir reports the error of a file in a directory that is not there.
func (o *Overlay) needDir(dir string) error {
	info, err := o.stat(dir)
	if err == nil && !info.IsDir {
		return pathError("open", dir, syscall.ENOTDIR)
	}
	return err
}

// Create implements FS.
func (o *Overlay) Create(name string) (File, error) {
	return o.OpenFile(name, ReadWrite|Create|Truncate)
}

// Remove implements FS.
func (o *Overlay) Remove(name string) error {
	name = path.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := o.stat(name)
	if err != nil {
		return err
	}
	if info.IsDir {
		names, err := o.list(name)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return pathError("remove", name, syscall.ENOTEMPTY)
		}
	}
	o.forget(name)
	return nil
}

// forget takes name away. Called with mu held.
func (o *Overlay) forget(name string) {
	delete(o.files, name)
	delete(o.dirs, name)
	if _, err := o.base.Stat(name); err == nil && !o.hidden(name) {
		o.gone[name] = true
	}
}

// RemoveAll implements FS.
func (o *Overlay) RemoveAll(name string) error {
	name = path.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	for file := range o.files {
		if strings.HasPrefix(file, name+"/") {
			delete(o.files, file)
		}
	}
	for dir := range o.dirs {
		if strings.HasPrefix(dir, name+"/") {
			delete(o.dirs, dir)
		}
	}
	o.forget(name)
	return nil
}

// Rename implements FS.
func (o *Overlay) Rename(oldName, newName string) error {
	oldName, newName = path.Clean(oldName), path.Clean(newName)
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := o.stat(oldName)
	if err == nil {
		err = o.needDir(path.Dir(newName))
	}
	if err != nil || oldName == newName {
		return err
	}
	if !info.IsDir {
		o.moveFile(oldName, newName, info.SizeBytes)
		return nil
	}
	if _, err := o.stat(newName); err == nil {
		return pathError("rename", newName, syscall.ENOTEMPTY)
	}
	return o.moveDir(oldName, newName)
}

func (o *Overlay) moveFile(oldName, newName string, sizeBytes int64) {
	n := o.files[oldName]
	if n == nil {
		n = &overlayNode{origin: oldName, kept: sizeBytes, size: sizeBytes}
	}
	o.forget(oldName)
	o.files[newName] = n
}

func (o *Overlay) moveDir(oldName, newName string) error {
	names, err := o.list(oldName)
	if err != nil {
		return err
	}
	o.dirs[newName] = true
	for _, name := range names {
		from, to := path.Join(oldName, name), path.Join(newName, name)
		info, err := o.stat(from)
		if err == nil && info.IsDir {
			err = o.moveDir(from, to)
		} else if err == nil {
			o.moveFile(from, to, info.SizeBytes)
		}
		if err != nil {
			return err
		}
	}
	o.forget(oldName)
	return nil
}

// MkdirAll implements FS.
func (o *Overlay) MkdirAll(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at := path.Clean(name); ; at = path.Dir(at) {
		info, err := o.stat(at)
		if err == nil && info.IsDir {
			return nil
		}
		if err == nil {
			return pathError("mkdir", at, syscall.ENOTDIR)
		}
		if !isNotExist(err) {
			return err
		}
		o.dirs[at] = true
		if at == path.Dir(at) {
			return nil
		}
	}
}

// ReadDir implements FS.
func (o *Overlay) ReadDir(name string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.list(path.Clean(name))
}

func (o *Overlay) list(dir string) ([]string, error) {
	var names []string
	if !o.hidden(dir) {
		below, err := o.base.ReadDir(dir)
		if err != nil && !(isNotExist(err) && o.dirs[dir]) {
			return nil, err
		}
		for _, name := range below {
			if !o.gone[path.Join(dir, name)] {
				names = append(names, name)
			}
		}
	} else if !o.dirs[dir] {
		return nil, pathError("readdir", dir, fs.ErrNotExist)
	}
	for file := range o.files {
		if path.Dir(file) == dir && file != dir {
			names = append(names, path.Base(file))
		}
	}
	for d := range o.dirs {
		if path.Dir(d) == dir && d != dir {
			names = append(names, path.Base(d))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// SyncDir implements FS. There is nothing to make durable.
func (o *Overlay) SyncDir(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.needDir(path.Clean(name))
}

// FreeBytes implements FS.
func (o *Overlay) FreeBytes(name string) (uint64, error) { return o.base.FreeBytes(name) }
