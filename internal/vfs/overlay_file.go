package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

const overlayPage = 4096

// overlayNode is the content of one file: the first kept bytes of the file origin below, zeros up to size, and
// over both the pages that were written.
type overlayNode struct {
	mu     sync.Mutex
	origin string // empty: nothing lies below
	kept   int64
	size   int64
	pages  map[int64][]byte
}

func (n *overlayNode) length() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.size
}

func (n *overlayNode) truncate(size int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, p := range n.pages {
		switch from := i * overlayPage; {
		case from >= size:
			delete(n.pages, i)
		case from+overlayPage > size:
			clear(p[size-from:])
		}
	}
	n.kept, n.size = min(n.kept, size), size
}

// fill reads what is at off without looking at pages; b lies inside the file or behind it.
func (n *overlayNode) fill(base File, b []byte, off int64) error {
	clear(b)
	below := min(int64(len(b)), n.kept-off)
	if below <= 0 {
		return nil
	}
	got, err := base.ReadAt(b[:below], off)
	if int64(got) == below {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (n *overlayNode) read(base File, b []byte, off int64) error {
	if err := n.fill(base, b, off); err != nil {
		return err
	}
	if len(n.pages) == 0 {
		return nil
	}
	for at := off; at < off+int64(len(b)); {
		i, within := at/overlayPage, at%overlayPage
		take := min(overlayPage-within, off+int64(len(b))-at)
		if p := n.pages[i]; p != nil {
			copy(b[at-off:], p[within:within+take])
		}
		at += take
	}
	return nil
}

func (n *overlayNode) write(base File, b []byte, off int64) error {
	for at := off; at < off+int64(len(b)); {
		i, within := at/overlayPage, at%overlayPage
		take := min(overlayPage-within, off+int64(len(b))-at)
		p := n.pages[i]
		if p == nil {
			p = make([]byte, overlayPage)
			if err := n.fill(base, p, i*overlayPage); err != nil {
				return err
			}
			if n.pages == nil {
				n.pages = map[int64][]byte{}
			}
			n.pages[i] = p
		}
		copy(p[within:], b[at-off:at-off+take])
		at += take
	}
	if len(b) > 0 {
		n.size = max(n.size, off+int64(len(b)))
	}
	return nil
}

// overlayFile is one open file of an Overlay.
type overlayFile struct {
	node     *overlayNode
	base     File // nil: nothing lies below
	writable bool
	closed   bool // under node.mu
}

func (f *overlayFile) use(write bool) error {
	switch {
	case f.closed:
		return fs.ErrClosed
	case write && !f.writable:
		return fs.ErrPermission
	}
	return nil
}

// ReadAt implements File.
func (f *overlayFile) ReadAt(b []byte, off int64) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.use(false); err != nil {
		return 0, err
	}
	n := max(min(int64(len(b)), f.node.size-off), 0)
	if err := f.node.read(f.base, b[:n], off); err != nil {
		return 0, err
	}
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// WriteAt implements File.
func (f *overlayFile) WriteAt(b []byte, off int64) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.use(true); err != nil {
		return 0, err
	}
	if err := f.node.write(f.base, b, off); err != nil {
		return 0, err
	}
	return len(b), nil
}

// WritevAt implements File.
func (f *overlayFile) WritevAt(bufs [][]byte, off int64) (int, error) {
	return f.WriteAt(bytes.Join(bufs, nil), off)
}

// Sync implements File.
func (f *overlayFile) Sync() error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	return f.use(false)
}

// Datasync implements File.
func (f *overlayFile) Datasync() error { return f.Sync() }

// Truncate implements File.
func (f *overlayFile) Truncate(sizeBytes int64) error {
	f.node.mu.Lock()
	err := f.use(true)
	f.node.mu.Unlock()
	if err == nil {
		f.node.truncate(sizeBytes)
	}
	return err
}

// Size implements File.
func (f *overlayFile) Size() (int64, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	return f.node.size, f.use(false)
}

// Preallocate implements File.
func (f *overlayFile) Preallocate(int64, int64) error { return f.Sync() }

// Close implements File.
func (f *overlayFile) Close() error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.use(false); err != nil {
		return err
	}
	f.closed = true
	if f.base == nil {
		return nil
	}
	return f.base.Close()
}

// Difference is what an Overlay made of one name.
type Difference uint8

// Differences. A directory that was removed stands for everything that was in it, even if it was made again.
const (
	Made Difference = iota + 1
	Changed
	Removed
)

// Change is one name that an Overlay shows otherwise than it is below.
type Change struct {
	Name          string
	Kind          Difference
	Before, After int64 // lengths, 0 where there is no file
	// From is the first byte that differs.
	From int64
}

// Diff compares the overlay with what lies below, in the order of names. A file that was replaced by the same
// bytes does not differ.
func (o *Overlay) Diff() ([]Change, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(o.files)) {
		c, differs, err := o.compare(name)
		if err != nil {
			return nil, err
		}
		if differs {
			changes = append(changes, c)
		}
	}
	for name := range o.gone {
		if o.files[name] == nil {
			c := Change{Name: name, Kind: Removed}
			if info, err := o.base.Stat(name); err == nil && !info.IsDir {
				c.Before = info.SizeBytes
			}
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return changes, nil
}

// compare tells how the file name differs from that of the same name below. Called with mu held.
func (o *Overlay) compare(name string) (Change, bool, error) {
	n := o.files[name]
	c := Change{Name: name, Kind: Changed, After: n.length()}
	below, err := o.base.OpenFile(name, ReadOnly)
	if isNotExist(err) {
		c.Kind = Made
		return c, true, nil
	}
	if err != nil {
		return c, false, err
	}
	defer func() { _ = below.Close() }() // read only: nothing to lose
	if c.Before, err = below.Size(); err != nil {
		return c, false, err
	}
	if n.origin == name && n.kept == c.Before && n.size == c.Before && len(n.pages) == 0 {
		return c, false, nil
	}
	var origin File
	if n.origin != "" {
		if origin, err = o.base.OpenFile(n.origin, ReadOnly); err != nil {
			return c, false, err
		}
		defer func() { _ = origin.Close() }()
	}
	same, err := commonPrefix(n, origin, below, min(c.Before, c.After), name)
	c.From = same
	return c, err == nil && (same < c.Before || same < c.After), err
}

// commonPrefix returns how many of the first limit bytes are equal, passing over what was never written.
func commonPrefix(n *overlayNode, origin, below File, limit int64, name string) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var a, b [overlayPage]byte
	for at := int64(0); at < limit; at += overlayPage {
		if n.origin == name && n.pages[at/overlayPage] == nil && at+overlayPage <= n.kept {
			continue
		}
		take := min(overlayPage, limit-at)
		if err := n.read(origin, a[:take], at); err != nil {
			return 0, err
		}
		if got, err := below.ReadAt(b[:take], at); int64(got) != take {
			return 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
		for i := range take {
			if a[i] != b[i] {
				return at + i, nil
			}
		}
	}
	return limit, nil
}
