package vfs

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// memFreeBytes is the free space that a Mem without a capacity reports.
const memFreeBytes = 1 << 40

// Mem is a file system in memory that can lose power. Relative names are taken from the root.
type Mem struct {
	mu       sync.Mutex
	rng      *rand.Rand // decides what a failed operation leaves
	root     *memNode
	hook     Hook
	readHook func(path string, off int64, n int) error
	ops      uint64
	crashed  bool
	capacity int64 // 0 = unlimited
}

// memNode is a file or a directory. The live half is what a running process sees; the durable half is
// what every crash leaves; the list between them is what a crash may leave in part.
type memNode struct {
	isDir bool

	live    memContent
	durable memContent
	writes  []memWrite

	entries        map[string]*memNode
	durableEntries map[string]*memNode
	changes        []*memChange
}

// memContent is the content of a file. A shared one has its bytes in common with others and is copied before it
// changes: most files of a clone never do.
type memContent struct {
	bytes  []byte
	shared bool
}

// share returns the same content for another owner.
func (c *memContent) share() memContent {
	c.shared = true
	return *c
}

func (c *memContent) change(w memWrite) {
	if c.shared {
		c.bytes, c.shared = slices.Clone(c.bytes), false
	}
	c.bytes = w.apply(c.bytes)
}

// memWrite is an unsynced write of data at off or, when truncate is set, a change of length to off.
type memWrite struct {
	truncate bool
	off      int64
	data     []byte
}

// memChange is an unsynced change of names that happens whole or not at all.
type memChange struct{ edits []memEdit }

// memEdit sets name in dir to node; nil removes it.
type memEdit struct {
	dir  *memNode
	name string
	node *memNode
}

var _ FS = (*Mem)(nil)

// NewMem returns an empty file system. The seed decides what failed operations leave behind.
func NewMem(seed uint64) *Mem {
	return &Mem{rng: rand.New(rand.NewPCG(seed, 0)), root: newMemDir()}
}

func newMemDir() *memNode {
	return &memNode{isDir: true, entries: map[string]*memNode{}, durableEntries: map[string]*memNode{}}
}

// SetCapacity bounds the sum of file lengths; a write beyond it fails with ENOSPC after the part that
// fits. 0 removes the bound.
func (m *Mem) SetCapacity(capacityBytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = capacityBytes
}

// lookup walks to a node. Errors are the system's: ENOENT, ENOTDIR.
func (m *Mem) lookup(name string) (*memNode, error) {
	if m.crashed {
		return nil, ErrCrashed
	}
	n := m.root
	for _, part := range splitPath(name) {
		if !n.isDir {
			return nil, syscall.ENOTDIR
		}
		next := n.entries[part]
		if next == nil {
			return nil, syscall.ENOENT
		}
		n = next
	}
	return n, nil
}

// parent walks to the directory that holds, or would hold, name.
func (m *Mem) parent(name string) (dir *memNode, base string, err error) {
	parts := splitPath(name)
	if len(parts) == 0 {
		return nil, "", syscall.EINVAL
	}
	dir, err = m.lookup(path.Join(parts[:len(parts)-1]...))
	if err == nil && !dir.isDir {
		err = syscall.ENOTDIR
	}
	return dir, parts[len(parts)-1], err
}

func splitPath(name string) []string {
	clean := strings.Trim(path.Clean("/"+name), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

// change applies edits to the live names and queues them for the durable ones.
func change(edits ...memEdit) {
	c := &memChange{edits: edits}
	for i, e := range edits {
		setEntry(e.dir.entries, e.name, e.node)
		if i == 0 || e.dir != edits[0].dir {
			e.dir.changes = append(e.dir.changes, c)
		}
	}
}

func setEntry(entries map[string]*memNode, name string, node *memNode) {
	if node == nil {
		delete(entries, name)
		return
	}
	entries[name] = node
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	return m.OpenFile(name, ReadWrite|Create|Truncate)
}

// OpenFile implements FS.
func (m *Mem) OpenFile(name string, flags Flags) (File, error) {
	m.mu.Lock()
	node, err := m.lookup(name)
	m.mu.Unlock()
	switch {
	case err == syscall.ENOENT && flags&Create != 0:
		node, err = m.create(name)
	case err != nil:
	case flags&(Create|Exclusive) == Create|Exclusive:
		err = syscall.EEXIST
	case node.isDir:
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	f := &memFile{fs: m, node: node, name: name, writable: flags&ReadWrite != 0}
	if flags&Truncate != 0 {
		if size, err := f.Size(); err != nil || size == 0 {
			return f, err
		}
		if err := f.Truncate(0); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (m *Mem) create(name string) (*memNode, error) {
	m.mu.Lock()
	_, _, err := m.parent(name)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := m.before(Op{Kind: OpCreate, Path: name}); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	if node := dir.entries[base]; node != nil { // another goroutine was faster
		return node, nil
	}
	node := &memNode{}
	change(memEdit{dir, base, node})
	return node, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	if err := m.removable(name); err != nil {
		return pathError("remove", name, err)
	}
	if err := m.before(Op{Kind: OpRemove, Path: name}); err != nil {
		return err
	}
	if err := m.removable(name); err != nil {
		return pathError("remove", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	change(memEdit{dir, base, nil})
	return nil
}

func (m *Mem) removable(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.lookup(name)
	switch {
	case err != nil:
		return err
	case node == m.root:
		return syscall.EBUSY
	case node.isDir && len(node.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	info, err := m.Stat(name)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir {
		names, err := m.ReadDir(name)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := m.RemoveAll(path.Join(name, n)); err != nil {
				return err
			}
		}
	}
	return m.Remove(name)
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	if err := m.renamable(oldName, newName); err != nil {
		return pathError("rename", oldName, err)
	}
	if err := m.before(Op{Kind: OpRename, Path: oldName, NewPath: newName}); err != nil {
		return err
	}
	if err := m.renamable(oldName, newName); err != nil {
		return pathError("rename", oldName, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	oldDir, oldBase, err := m.parent(oldName)
	if err != nil {
		return pathError("rename", oldName, err)
	}
	newDir, newBase, err := m.parent(newName)
	if err != nil {
		return pathError("rename", newName, err)
	}
	node := oldDir.entries[oldBase]
	if node == nil {
		return pathError("rename", oldName, syscall.ENOENT)
	}
	if newDir.entries[newBase] == node {
		return nil
	}
	change(memEdit{oldDir, oldBase, nil}, memEdit{newDir, newBase, node})
	return nil
}

func (m *Mem) renamable(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range []string{oldName, newName} { // both directories are looked at before any name in them
		if _, _, err := m.parent(name); err != nil {
			return err
		}
	}
	node, err := m.lookup(oldName)
	if err != nil {
		return err
	}
	target, err := m.lookup(newName)
	switch {
	case err == nil && target.isDir:
		return syscall.EEXIST
	case node.isDir && strings.HasPrefix(path.Clean("/"+newName)+"/", path.Clean("/"+oldName)+"/"):
		return syscall.EINVAL
	case err == nil && node.isDir:
		return syscall.ENOTDIR
	}
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string) error {
	at := "/"
	for _, part := range splitPath(name) {
		at = path.Join(at, part)
		info, err := m.Stat(at)
		if err == nil && !info.IsDir {
			return pathError("mkdir", at, syscall.ENOTDIR)
		}
		if err == nil {
			continue
		}
		if !isNotExist(err) {
			return err
		}
		if err := m.before(Op{Kind: OpMkdir, Path: at}); err != nil {
			return err
		}
		if err := m.mkdir(at); err != nil {
			return pathError("mkdir", at, err)
		}
	}
	return nil
}

func (m *Mem) mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent(name)
	if err == nil && dir.entries[base] == nil {
		change(memEdit{dir, base, newMemDir()})
	}
	return err
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.lookup(name)
	if err == nil && !dir.isDir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	return slices.Sorted(maps.Keys(dir.entries)), nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.lookup(name)
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return Info{SizeBytes: int64(len(node.live.bytes)), IsDir: node.isDir}, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	if err := m.before(Op{Kind: OpSyncDir, Path: name}); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.lookup(name)
	if err == nil && !dir.isDir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return pathError("fsync directory", name, err)
	}
	dir.syncEntries()
	return nil
}

// syncEntries makes the names of d durable and, because a rename between two directories is one
// transaction, those of every directory that shares a change with it.
func (d *memNode) syncEntries() {
	changes := d.changes
	d.changes = nil
	for _, c := range changes {
		for _, e := range c.edits {
			if e.dir == d {
				setEntry(d.durableEntries, e.name, e.node)
			}
		}
	}
	for _, c := range changes {
		for _, e := range c.edits {
			if e.dir != d && len(e.dir.changes) > 0 {
				e.dir.syncEntries()
			}
		}
	}
}

// FreeBytes implements FS.
func (m *Mem) FreeBytes(name string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return 0, pathError("statfs", name, ErrCrashed)
	}
	return uint64(max(m.free(), 0)), nil
}

func (m *Mem) free() int64 {
	if m.capacity == 0 {
		return memFreeBytes
	}
	return m.capacity - m.root.sizeBytes()
}

func (n *memNode) sizeBytes() int64 {
	total := int64(len(n.live.bytes))
	for _, e := range n.entries {
		total += e.sizeBytes()
	}
	return total
}

// FlipBit inverts one bit (0 to 7) of the byte at off, in memory and on the medium: rot.
func (m *Mem) FlipBit(name string, off int64, bit uint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.lookup(name)
	if err != nil {
		return pathError("flip bit", name, err)
	}
	if node.isDir || off < 0 || off >= int64(len(node.live.bytes)) {
		return pathError("flip bit", name, fs.ErrInvalid)
	}
	for _, c := range []*memContent{&node.live, &node.durable} {
		if off < int64(len(c.bytes)) {
			c.change(memWrite{off: off, data: []byte{c.bytes[off] ^ 1<<(bit&7)}})
		}
	}
	return nil
}
