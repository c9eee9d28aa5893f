package segment

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/galgolog/galgo/internal/vfs"
)

// Reader reads one segment. It is safe for concurrent use and independent of the Writer: how much of the
// log counts is said by every Query. It keeps one descriptor, and the index once it was needed and as long
// as its file is at most 512 KiB; larger ones are searched in place. A reader whose files are unlinked
// goes on reading what they held.
type Reader struct {
	fs    vfs.FS
	dir   string
	start uint64
	log   vfs.File

	mu    sync.Mutex
	index indexView
	idx   vfs.File // the open file behind a large index
}

// OpenReader opens the segment that begins at start. live is the index of its Writer, or nil for a segment
// that is not written any more.
func OpenReader(fs vfs.FS, dir string, start uint64, live *Index) (*Reader, error) {
	log, err := fs.OpenFile(logPath(dir, start), vfs.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("open segment %d: %w", start, err)
	}
	r := &Reader{fs: fs, dir: dir, start: start, log: log}
	if live != nil {
		r.index = live
	}
	return r, nil
}

// Start is the offset that the segment is named after.
func (r *Reader) Start() uint64 { return r.start }

// ReadAt reads log bytes as they are.
func (r *Reader) ReadAt(p []byte, position int64) (int, error) { return r.log.ReadAt(p, position) }

// Close gives the descriptors back. Reads under way fail.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.log.Close()
	if r.idx != nil {
		err = errors.Join(err, r.idx.Close())
	}
	return err
}

// view returns the index, loading it at first use. An index that cannot be read is empty: the walk then
// begins at the start of the log.
func (r *Reader) view() indexView {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		r.index = r.loadView()
	}
	return r.index
}

func (r *Reader) loadView() indexView {
	f, err := r.fs.OpenFile(indexPath(r.dir, r.start), vfs.ReadOnly)
	if err != nil {
		return &Index{}
	}
	size, err := f.Size()
	if err == nil && size > indexResidentMax {
		r.idx = f
		return &fileIndex{f: f, count: int(min(size/IndexEntrySize, 1<<40))}
	}
	x := &Index{}
	if err == nil && size > 0 {
		b := make([]byte, size)
		if n, rerr := f.ReadAt(b, 0); rerr == nil || errors.Is(rerr, io.EOF) {
			x.entries, _ = DecodeIndex(b[:n])
		}
	}
	_ = f.Close() // read only: nothing to lose
	return x
}

// fileIndex searches an index in its file, one entry at a time.
type fileIndex struct {
	f     vfs.File
	count int
}

func (x *fileIndex) entry(i int) (IndexEntry, error) {
	var b [IndexEntrySize]byte
	if n, err := x.f.ReadAt(b[:], int64(i)*IndexEntrySize); n < IndexEntrySize {
		return IndexEntry{}, err
	}
	return readIndexEntry(b[:]), nil
}

// search returns the number of the first entry that is after the place wanted.
func (x *fileIndex) search(after func(IndexEntry) bool) (int, error) {
	var err error
	n := sort.Search(x.count, func(i int) bool {
		if err != nil {
			return true
		}
		e, rerr := x.entry(i)
		if rerr != nil {
			err = rerr
			return true
		}
		return after(e)
	})
	return n, err
}

func (x *fileIndex) before(after func(IndexEntry) bool) (IndexEntry, bool, error) {
	n, err := x.search(after)
	if err != nil || n == 0 {
		return IndexEntry{}, false, err
	}
	e, err := x.entry(n - 1)
	return e, err == nil, err
}

func (x *fileIndex) entryBefore(offset uint64) (IndexEntry, bool, error) {
	return x.before(func(e IndexEntry) bool { return e.Offset > offset })
}

func (x *fileIndex) entryEarlier(micros uint64) (IndexEntry, bool, error) {
	return x.before(func(e IndexEntry) bool { return e.Timestamp >= micros })
}

func (x *fileIndex) positionAfter(offset uint64) (int64, bool, error) {
	n, err := x.search(func(e IndexEntry) bool { return e.Offset > offset })
	if err != nil || n == x.count {
		return 0, false, err
	}
	e, err := x.entry(n)
	return int64(e.Position), err == nil, err
}

func (x *fileIndex) entryWithin(position int64) (IndexEntry, bool, error) {
	return x.before(func(e IndexEntry) bool { return e.Position > uint64(position) })
}
