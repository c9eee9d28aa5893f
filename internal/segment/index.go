package segment

import (
	"encoding/binary"
	"fmt"
	"path"
	"sort"
	"sync"

	"github.com/galgolog/galgo/internal/vfs"
)

// IndexStride is the distance in bytes of log that index entries keep: the first batch of a segment gets
// one, then every batch that begins at least this far behind the last indexed one. The rule is counted
// from the start of the segment, so that the index of a segment is the same on every replica and after
// every rebuild.
const IndexStride = 64 << 10

// IndexEntrySize is the length of an encoded entry.
const IndexEntrySize = 24

// indexResidentMax is the longest index file that is held in memory as a whole.
const indexResidentMax = 512 << 10

var le = binary.LittleEndian

// IndexEntry locates one batch. Offsets and positions ascend in an index, timestamps never fall.
//
//	off size field
//	  0    8 offset     base offset of the batch
//	  8    8 timestamp  its append time in microseconds
//	 16    8 position   its first byte in the log
type IndexEntry struct {
	Offset    uint64
	Timestamp uint64
	Position  uint64
}

// Put encodes e into dst, which has IndexEntrySize bytes.
func (e IndexEntry) Put(dst []byte) {
	le.PutUint64(dst[0:], e.Offset)
	le.PutUint64(dst[8:], e.Timestamp)
	le.PutUint64(dst[16:], e.Position)
}

func readIndexEntry(b []byte) IndexEntry {
	return IndexEntry{Offset: le.Uint64(b), Timestamp: le.Uint64(b[8:]), Position: le.Uint64(b[16:])}
}

// EncodeIndex appends the encoding of entries to dst.
func EncodeIndex(dst []byte, entries []IndexEntry) []byte {
	for _, e := range entries {
		dst = le.AppendUint64(dst, e.Offset)
		dst = le.AppendUint64(dst, e.Timestamp)
		dst = le.AppendUint64(dst, e.Position)
	}
	return dst
}

// DecodeIndex reads the whole entries of an index file and reports whether they are in order and the file
// ended with a whole one. A tail of zero entries, which a file has grown by before its bytes arrived, is
// left out. Entries out of order mean that the index is worth nothing: none are returned.
func DecodeIndex(b []byte) (entries []IndexEntry, clean bool) {
	whole := len(b) / IndexEntrySize
	clean = whole*IndexEntrySize == len(b)
	for whole > 1 && readIndexEntry(b[(whole-1)*IndexEntrySize:]) == (IndexEntry{}) {
		whole--
		clean = false
	}
	entries = make([]IndexEntry, whole)
	for i := range entries {
		entries[i] = readIndexEntry(b[i*IndexEntrySize:])
		if i > 0 && !follows(entries[i-1], entries[i]) {
			return nil, false
		}
	}
	return entries, clean
}

func follows(a, b IndexEntry) bool {
	return a.Offset < b.Offset && a.Position < b.Position && a.Timestamp <= b.Timestamp && b.Position <= 1<<62
}

// Index is the resident index of one segment: appended to by its Writer, searched by readers. Safe for
// concurrent use.
type Index struct {
	mu      sync.RWMutex
	entries []IndexEntry
}

// Len is the number of entries.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.entries)
}

// Last returns the newest entry; false when there is none.
func (x *Index) Last() (IndexEntry, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.entries) == 0 {
		return IndexEntry{}, false
	}
	return x.entries[len(x.entries)-1], true
}

func (x *Index) append(entries []IndexEntry) {
	x.mu.Lock()
	x.entries = append(x.entries, entries...)
	x.mu.Unlock()
}

// truncate drops the entries at or behind position and returns how many are left.
func (x *Index) truncate(position int64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].Position >= uint64(position) })
	x.entries = x.entries[:n]
	return n
}

// encodeBetween appends the encoding of the entries from number i on, up to the last one that is not behind position,
// to dst.
func (x *Index) encodeBetween(dst []byte, i int, position int64) []byte {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].Position > uint64(position) })
	return EncodeIndex(dst, x.entries[min(i, n):n])
}

// indexView is what a reader needs of an index, resident or not. Entries are hints: the caller checks them
// against the log.
type indexView interface {
	// entryBefore returns the last entry with an offset at most the given one.
	entryBefore(offset uint64) (IndexEntry, bool, error)
	// entryEarlier returns the last entry with a timestamp below the given one.
	entryEarlier(micros uint64) (IndexEntry, bool, error)
	// positionAfter returns the position of the first entry with an offset above the given one.
	positionAfter(offset uint64) (int64, bool, error)
	// entryWithin returns the last entry at or in front of the given position.
	entryWithin(position int64) (IndexEntry, bool, error)
}

func (x *Index) search(after func(IndexEntry) bool) (before, at IndexEntry, hasBefore, hasAt bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := sort.Search(len(x.entries), func(i int) bool { return after(x.entries[i]) })
	if hasBefore = n > 0; hasBefore {
		before = x.entries[n-1]
	}
	if hasAt = n < len(x.entries); hasAt {
		at = x.entries[n]
	}
	return before, at, hasBefore, hasAt
}

func (x *Index) entryBefore(offset uint64) (IndexEntry, bool, error) {
	e, _, ok, _ := x.search(func(e IndexEntry) bool { return e.Offset > offset })
	return e, ok, nil
}

func (x *Index) entryEarlier(micros uint64) (IndexEntry, bool, error) {
	e, _, ok, _ := x.search(func(e IndexEntry) bool { return e.Timestamp >= micros })
	return e, ok, nil
}

func (x *Index) positionAfter(offset uint64) (int64, bool, error) {
	_, e, _, ok := x.search(func(e IndexEntry) bool { return e.Offset > offset })
	return int64(e.Position), ok, nil
}

func (x *Index) entryWithin(position int64) (IndexEntry, bool, error) {
	e, _, ok, _ := x.search(func(e IndexEntry) bool { return e.Position > uint64(position) })
	return e, ok, nil
}

// loadIndex reads the index file of a segment. A missing file, one too long for a segment or one out of
// order gives no entries and clean false; other failures are errors.
func loadIndex(fs vfs.FS, dir string, start uint64, limitBytes int64) (entries []IndexEntry, clean bool, err error) {
	b, err := vfs.ReadFile(fs, indexPath(dir, start), limitBytes)
	if notExist(err) || tooLarge(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("index of segment %d: %w", start, err)
	}
	entries, clean = DecodeIndex(b)
	return entries, clean, nil
}

// replaceIndex writes entries as the index of a segment: a staging file is written, synced and renamed.
// The caller syncs the directory.
func replaceIndex(fs vfs.FS, dir string, start uint64, entries []IndexEntry) error {
	staging := path.Join(dir, IndexStagingName(start))
	if err := writeSynced(fs, staging, EncodeIndex(nil, entries)); err != nil {
		return fmt.Errorf("index of segment %d: %w", start, err)
	}
	if err := fs.Rename(staging, indexPath(dir, start)); err != nil {
		return fmt.Errorf("index of segment %d: %w", start, err)
	}
	return nil
}
