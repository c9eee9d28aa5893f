package segment

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

const (
	// indexFlushStep bounds how much log the index file may lack, and with it what a restart walks.
	indexFlushStep = 8 << 20
)

// Writer appends to one segment. Append and Close belong to one caller at a time; Datasync, Sync, Index and
// Size may be called by others meanwhile.
//
// Index entries are kept in memory when their batches are written and go to the file in one small write per
// 8 MiB of log, at every sync and at Close: they are derived data, which recovery completes from the log.
// Their file therefore never holds an entry for bytes that were not written before it.
type Writer struct {
	fs    vfs.FS
	dir   string
	start uint64
	log   vfs.File
	idx   vfs.File
	index *Index

	scratch []byte

	mu      sync.Mutex // guards what follows; held for a small write of the index file, never for a sync
	size    int64      // bytes of log that count
	ragged  bool       // the file may be longer than size, with bytes of a failed append
	synced  int64      // bytes covered by the last good sync
	broken  bool       // a sync failed: nothing behind synced may be called durable until it is written again
	epoch   uint64     // moves when bytes are taken back, so that a sync under way claims nothing of them
	flushed int        // index entries in the file
	behind  int64      // log position up to which the index file is complete
}

// CreateOptions are the choices for a new segment. The zero value makes the files and nothing else.
type CreateOptions struct {
	// PreallocateBytes reserves disk blocks without changing the length of the log. What the file system
	// cannot reserve is not an error.
	PreallocateBytes int64
	// SyncDir makes the names durable before Create returns.
	SyncDir bool
}

// Create makes an empty segment that begins at offset start, replacing files of that name, and opens it.
// The directory must exist.
func Create(fs vfs.FS, dir string, start uint64, opts CreateOptions) (*Writer, error) {
	w := &Writer{fs: fs, dir: dir, start: start, index: &Index{}}
	err := w.create(opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create segment %d: %w", start, err), w.closeFiles())
	}
	return w, nil
}

func (w *Writer) create(opts CreateOptions) (err error) {
	if w.log, err = w.fs.Create(logPath(w.dir, w.start)); err != nil {
		return err
	}
	if w.idx, err = w.fs.Create(indexPath(w.dir, w.start)); err != nil {
		return err
	}
	if opts.PreallocateBytes > 0 {
		// A hint for the layout on disk: a segment that could not be reserved works like any other.
		_ = w.log.Preallocate(0, opts.PreallocateBytes)
	}
	if opts.SyncDir {
		return w.fs.SyncDir(path.Clean(w.dir))
	}
	return nil
}

// OpenWriter opens an existing segment whose log holds size bytes, as recovery or an earlier writer left
// it. A log of another length is ErrLength. Where the index file misses entries, because an earlier writer
// could not flush them, readers walk further; nothing else depends on it.
func OpenWriter(fs vfs.FS, dir string, start uint64, size int64) (*Writer, error) {
	w := &Writer{fs: fs, dir: dir, start: start, index: &Index{}, size: size, synced: size}
	if err := w.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open segment %d: %w", start, err), w.closeFiles())
	}
	return w, nil
}

func (w *Writer) open() (err error) {
	if w.log, err = w.fs.OpenFile(logPath(w.dir, w.start), vfs.ReadWrite); err != nil {
		return err
	}
	length, err := w.log.Size()
	if err != nil {
		return err
	}
	if length != w.size {
		return fmt.Errorf("%w: %d bytes on disk, %d expected", ErrLength, length, w.size)
	}
	if w.idx, err = w.fs.OpenFile(indexPath(w.dir, w.start), vfs.ReadWrite|vfs.Create); err != nil {
		return err
	}
	entries, _, err := loadIndex(w.fs, w.dir, w.start, indexLimit(w.size))
	if err != nil {
		return err
	}
	w.index.append(entries)
	w.flushed = w.index.truncate(w.size)
	w.behind = w.size
	return w.idx.Truncate(int64(w.flushed) * IndexEntrySize)
}

// Append writes records back to back at position with one vectored write and adds the index entries of
// these records. position is the size of the log, or less to write anew what an earlier append left there:
// everything behind it is dropped first. After an error the log ends at position and the same or other
// records may be appended again. The records are not kept.
func (w *Writer) Append(records [][]byte, position int64, entries []IndexEntry) error {
	if err := w.rewind(position); err != nil {
		return fmt.Errorf("append to segment %d: %w", w.start, err)
	}
	n, err := w.log.WritevAt(records, position)
	if err != nil {
		w.mu.Lock()
		w.ragged = true
		w.mu.Unlock()
		return fmt.Errorf("append to segment %d: %w", w.start, err)
	}
	w.index.append(entries)
	w.mu.Lock()
	w.size = position + int64(n)
	if w.size-w.behind >= indexFlushStep {
		// A failure costs a longer walk after a crash; the entries stay and the next flush writes them.
		_ = w.flushIndexLocked()
	}
	w.mu.Unlock()
	return nil
}

// rewind makes the file end at position.
func (w *Writer) rewind(position int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if position > w.size || position < 0 {
		return fmt.Errorf("%w: position %d, size %d", ErrPosition, position, w.size)
	}
	if position == w.size && !w.ragged {
		return nil
	}
	// Bytes of an earlier append behind the new end could come back as records after a crash.
	w.ragged = true
	if err := w.log.Truncate(position); err != nil {
		return err
	}
	w.ragged = false
	w.size = position
	w.flushed = min(w.flushed, w.index.truncate(position))
	w.behind = min(w.behind, position)
	w.epoch++
	if position <= w.synced {
		w.broken, w.synced = false, position
	}
	return nil
}

// Cut takes back everything from position on, durably. A full disk does not stand in its way.
func (w *Writer) Cut(position int64) error {
	if err := w.rewind(position); err != nil {
		return fmt.Errorf("cut segment %d at byte %d: %w", w.start, position, err)
	}
	if err := w.log.Datasync(); err != nil {
		return fmt.Errorf("cut segment %d at byte %d: %w", w.start, position, err)
	}
	return nil
}

// flushIndexLocked writes the entries that the file lacks.
func (w *Writer) flushIndexLocked() error { return w.flushIndexTo(w.size) }

// flushIndexTo writes the entries that the file lacks of batches that begin at or in front of position.
func (w *Writer) flushIndexTo(position int64) error {
	w.scratch = w.index.encodeBetween(w.scratch[:0], w.flushed, position)
	if len(w.scratch) > 0 {
		if _, err := w.idx.WriteAt(w.scratch, int64(w.flushed)*IndexEntrySize); err != nil {
			return err
		}
		w.flushed += len(w.scratch) / IndexEntrySize
	}
	w.behind = max(w.behind, position)
	return nil
}

// FlushIndex writes buffered index entries to the file without syncing.
func (w *Writer) FlushIndex() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.flushIndexLocked(); err != nil {
		return fmt.Errorf("index of segment %d: %w", w.start, err)
	}
	return nil
}

// Datasync makes everything appended before the call durable, log first, then index: entries of what was appended
// meanwhile stay in memory, because recovery trusts an entry of the file with all that lies in front of it. After a
// failure the same bytes must be appended again from the last good sync on: until then every sync is ErrSyncLost.
func (w *Writer) Datasync() error { return w.sync(vfs.File.Datasync) }

// Sync is Datasync with all attributes of the files.
func (w *Writer) Sync() error { return w.sync(vfs.File.Sync) }

func (w *Writer) sync(call func(vfs.File) error) error {
	w.mu.Lock()
	if w.broken {
		w.mu.Unlock()
		return fmt.Errorf("sync segment %d: %w", w.start, ErrSyncLost)
	}
	size, epoch := w.size, w.epoch
	w.mu.Unlock()
	err := w.syncLog(call, size, epoch)
	if err == nil {
		err = call(w.idx)
	}
	if err != nil {
		return fmt.Errorf("sync segment %d: %w", w.start, err)
	}
	return nil
}

// syncLog syncs the log and writes the index entries of what that covers.
func (w *Writer) syncLog(call func(vfs.File) error, size int64, epoch uint64) error {
	err := call(w.log)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.broken = true
		return err
	case epoch == w.epoch:
		w.synced = max(w.synced, size)
	}
	return w.flushIndexTo(min(w.synced, w.size))
}

// Lost reports that a sync of the log failed and that its bytes were not written again since: a later sync proves
// nothing. An index that could not be synced loses nothing.
func (w *Writer) Lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Rewrite writes again, in place, what a failed sync may have lost: the bytes that can still be read, once every
// record among them was verified. A sync may be tried again then. It does nothing unless a sync has failed. A
// record that does not verify any more is a *Fault; only another copy can bring it back.
func (w *Writer) Rewrite() error {
	w.mu.Lock()
	broken, from, to, epoch := w.broken, w.synced, w.size, w.epoch
	w.mu.Unlock()
	if !broken {
		return nil
	}
	if err := w.rewrite(from, to); err != nil {
		return fmt.Errorf("rewrite segment %d: %w", w.start, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if epoch == w.epoch {
		w.broken = false
	}
	return nil
}

func (w *Writer) rewrite(from, to int64) error {
	s := newScanner(w.log, w.start, to)
	for at := from; at < to; {
		h, ok, err := s.record(at)
		if err != nil {
			return err
		}
		if !ok {
			return &Fault{Start: w.start, Position: at, Code: protocol.CodeInvalidBatchChecksum}
		}
		at += int64(h.Length())
	}
	buf := make([]byte, min(scanBuffer, to-from))
	for at := from; at < to; at += int64(len(buf)) {
		b := buf[:min(int64(len(buf)), to-at)]
		if _, err := w.log.ReadAt(b, at); err != nil {
			return err
		}
		if _, err := w.log.WriteAt(b, at); err != nil {
			return err
		}
	}
	return nil
}

// Start is the offset that the segment is named after.
func (w *Writer) Start() uint64 { return w.start }

// Size is the number of bytes of log that were appended.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// Index is the live index, for readers of this segment.
func (w *Writer) Index() *Index { return w.index }

// Close flushes the index and gives the descriptors back. It makes nothing durable. Syncs under way fail.
func (w *Writer) Close() error {
	w.mu.Lock()
	err := w.flushIndexLocked()
	w.mu.Unlock()
	if err = errors.Join(err, w.closeFiles()); err != nil {
		return fmt.Errorf("close segment %d: %w", w.start, err)
	}
	return nil
}

func (w *Writer) closeFiles() error {
	var err error
	for _, f := range []vfs.File{w.log, w.idx} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// indexLimit is the longest index file that a log of size bytes can need: one entry per record.
func indexLimit(size int64) int64 {
	return (size/minRecordSize+1)*IndexEntrySize + IndexEntrySize
}
