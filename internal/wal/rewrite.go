package wal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// TruncateFrom removes every entry of op or above, durably. Where they are the tail of the file it is cut
// in place, otherwise the rest is rewritten. op is at least 1. If acknowledged entries go, SetAckedHead comes
// first. ErrBusy while Drain runs; any other error poisons the journal, because the mirror was already told.
func (j *Journal) TruncateFrom(op uint64) error {
	j.write.Lock()
	defer j.write.Unlock()
	if err := j.exclusive(); err != nil {
		return err
	}
	gone := j.ops(func(have uint64) bool { return have >= op })
	if len(gone) == 0 {
		return nil
	}
	if err := j.mirror.clear(gone); err != nil {
		return j.poison(fmt.Errorf("truncate from op %d: %w", op, err))
	}
	end, err := j.cutPoint(op)
	if err == nil && end == nil {
		keep := j.live(j.ops(func(have uint64) bool { return have < op }))
		err = j.rewriteNow(keep)
	} else if err == nil {
		err = j.cut(*end, gone)
	}
	if err != nil {
		return j.poison(fmt.Errorf("truncate from op %d: %w", op, err))
	}
	return nil
}

// exclusive is usable for callers that must not meet a rewrite.
func (j *Journal) exclusive() error {
	if err := j.usable(); err != nil {
		return err
	}
	if j.rewriting {
		return fmt.Errorf("journal %s: %w", j.path, ErrBusy)
	}
	return nil
}

// cut ends the file at end and forgets the ops that lay behind.
func (j *Journal) cut(end cursor, gone []uint64) error {
	j.reserved = 0
	if err := j.file.Truncate(end.pos); err != nil {
		return err
	}
	if err := j.file.Datasync(); err != nil {
		return err
	}
	j.state.Lock()
	defer j.state.Unlock()
	for _, op := range gone {
		delete(j.index, op)
	}
	j.cursor = end
	return nil
}

// cutPoint returns the state of the record chain before the first entry of op or above, or nil when a
// lower live entry lies behind that place.
func (j *Journal) cutPoint(op uint64) (*cursor, error) {
	first, last := j.cursor.pos, int64(0)
	for have, at := range j.index {
		if have >= op {
			first = min(first, at.pos)
		} else {
			last = max(last, at.pos)
		}
	}
	if last > first {
		return nil, nil
	}
	c := &cursor{pos: fileHeaderBytes, batch: j.header.counter}
	s := &scanner{Window: Window{File: j.file, Name: j.path, Size: first}, epoch: j.header.epoch}
	damaged, err := s.run(c, func(int64, *protocol.PrepareHeader) {})
	if err == nil && damaged != nil {
		err = &EntryError{File: j.path, Position: c.pos, Op: damaged.op, Reason: damaged.reason.Error()}
	}
	if err == nil && c.op >= op { // a superseded record that the index no longer knows
		return nil, nil
	}
	return c, err
}

// ops returns the live ops that match, ascending.
func (j *Journal) ops(match func(op uint64) bool) []uint64 {
	j.state.RLock()
	defer j.state.RUnlock()
	var ops []uint64
	for op := range maps.Keys(j.index) {
		if match(op) {
			ops = append(ops, op)
		}
	}
	slices.Sort(ops)
	return ops
}

type liveEntry struct {
	op uint64
	at location
}

func (j *Journal) live(ops []uint64) []liveEntry {
	j.state.RLock()
	defer j.state.RUnlock()
	entries := make([]liveEntry, 0, len(ops))
	for _, op := range ops {
		entries = append(entries, liveEntry{op, j.index[op]})
	}
	return entries
}

// Drain removes every entry up to and including op, which a durable snapshot must cover, by rewriting
// the others into a new file. Then their slots are free for others. Appends go on meanwhile; the last step, which copies what they added and
// switches the files, holds them up. ErrBusy while another Drain runs. An error before the switch leaves
// the journal as it was; after it the journal is poisoned.
func (j *Journal) Drain(op uint64) error {
	j.write.Lock()
	if err := j.exclusive(); err != nil {
		j.write.Unlock()
		return err
	}
	if len(j.ops(func(have uint64) bool { return have <= op })) == 0 {
		j.cover(op)
		j.write.Unlock()
		return nil
	}
	j.rewriting = true
	w, err := j.newRewrite()
	before := j.live(j.ops(func(have uint64) bool { return have > op }))
	j.write.Unlock()
	if err == nil {
		err = w.copy(before)
	}
	j.write.Lock()
	defer j.write.Unlock()
	defer func() { j.rewriting = false }()
	if err == nil {
		err = j.usable()
	}
	if err == nil {
		err = w.copy(j.live(j.ops(func(have uint64) bool { return have > op && w.index[have].checksum != j.index[have].checksum })))
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("journal drain to op %d: %w", op, errors.Join(err, w.discard()))
	}
	err = j.switchTo(w, j.ops(func(have uint64) bool { return have <= op }))
	if !errors.Is(err, ErrPoisoned) {
		j.cover(op)
	}
	return err
}

// cover frees the slots up to op. Called with write held.
func (j *Journal) cover(op uint64) {
	j.state.Lock()
	defer j.state.Unlock()
	j.covered = max(j.covered, op)
}

// rewriteNow replaces the file by one that holds the given entries. Called with write held.
func (j *Journal) rewriteNow(keep []liveEntry) error {
	w, err := j.newRewrite()
	if err == nil {
		err = w.copy(keep)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return errors.Join(err, w.discard())
	}
	return j.switchTo(w, nil)
}

// switchTo puts the synced new file in place of the old one. gone are the ops that only the old one has and
// whose slots the mirror still holds.
func (j *Journal) switchTo(w *rewrite, gone []uint64) error {
	if err := j.mirror.clear(j.unshared(gone, w)); err != nil {
		return j.poison(fmt.Errorf("rewrite: %w", errors.Join(err, w.discard())))
	}
	err := j.fs.Rename(w.path, j.path)
	if err == nil {
		err = j.fs.SyncDir(path.Dir(j.path))
	}
	if err == nil {
		head := j.mirror.head
		head.epoch = w.header.epoch
		err = j.mirror.setHead(head)
	}
	if err != nil {
		return j.poison(fmt.Errorf("rewrite: %w", errors.Join(err, w.file.Close())))
	}
	j.state.Lock()
	old := j.file
	j.file, j.index, j.cursor = w.file, w.index, w.cursor
	j.state.Unlock()
	j.header, j.reserved = w.header, 0
	if err := old.Close(); err != nil { // it has no name any more and nothing to lose
		return fmt.Errorf("rewrite: close the old file: %w", err)
	}
	return nil
}

// unshared returns those of the ops whose slots no entry of the new file has taken over.
func (j *Journal) unshared(ops []uint64, w *rewrite) []uint64 {
	taken := make(map[int64]bool, len(w.index))
	for op := range w.index {
		taken[slotOffset(op, j.mirror.head.slots)] = true
	}
	return slices.DeleteFunc(ops, func(op uint64) bool { return taken[slotOffset(op, j.mirror.head.slots)] })
}

// rewrite is a new journal file in the making: its own epoch, going on with the batch ids.
type rewrite struct {
	old     vfs.File
	oldPath string
	path    string
	fs      vfs.FS
	file    vfs.File
	header  fileHeader
	cursor  cursor
	index   map[uint64]location
}

func (j *Journal) newRewrite() (*rewrite, error) {
	j.rewrites++
	w := &rewrite{old: j.file, oldPath: j.path, path: j.path + ".tmp", fs: j.fs, header: j.header, index: map[uint64]location{}}
	w.header.epoch = nextEpoch(j.opts.Epoch, j.header.epoch, j.rewrites)
	w.header.counter = j.cursor.batch
	w.cursor = cursor{pos: fileHeaderBytes, batch: w.header.counter}
	f, err := j.fs.Create(w.path)
	if err != nil {
		return w, err
	}
	w.file = f
	_, err = f.WriteAt(w.header.encode(), 0)
	return w, err
}

// nextEpoch derives an epoch that nobody can guess who does not know the random one of this start.
func nextEpoch(random, current, count uint64) uint64 {
	var b [24]byte
	le.PutUint64(b[0:], random)
	le.PutUint64(b[8:], current)
	le.PutUint64(b[16:], count)
	return cmp.Or(xxh3.Hash(b[:]), 1)
}

// copy appends entries of the old file, ascending by op, as one batch, one entry in memory at a time.
func (w *rewrite) copy(entries []liveEntry) error {
	var records recordBatch
	entries = chainOrder(entries)
	for i, e := range entries {
		h, body, err := readEntry(w.old, w.oldPath, e.op, e.at)
		if err == nil {
			err = w.cursor.follows(&h)
		}
		if err != nil {
			return err
		}
		end := w.cursor
		records.reset(w.header.epoch, 1)
		records.add(Entry{Header: &h, Body: body}, i == len(entries)-1, &end)
		if _, err := w.file.WritevAt(records.vectors, w.cursor.pos); err != nil {
			return err
		}
		w.index[e.op] = locate(w.cursor.pos, &h)
		w.cursor = end
	}
	return nil
}

// chainOrder returns ascending entries so that no entry stands directly before its successor by op unless
// that one names it as parent, which the scan demands: unbroken runs stay, the highest run comes first.
func chainOrder(entries []liveEntry) []liveEntry {
	ordered := make([]liveEntry, 0, len(entries))
	for end := len(entries); end > 0; {
		from := end - 1
		for from > 0 && (entries[from].op != entries[from-1].op+1 || entries[from].at.parent == entries[from-1].at.checksum) {
			from--
		}
		ordered = append(ordered, entries[from:end]...)
		end = from
	}
	return ordered
}

// discard gives up the new file. A leftover that stays is overwritten by the next rewrite.
func (w *rewrite) discard() error {
	if w.file == nil {
		return nil
	}
	return errors.Join(w.file.Close(), w.fs.Remove(w.path))
}
