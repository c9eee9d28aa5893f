package shardlog

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// Scan reads every log below dir (<data>/wal, one directory shard-<n> each), decides the verdict and collects
// what must be replayed. It writes nothing, but syncs what it reads; a missing dir is a node without logs. Damage
// is not an error. Refusals: *VersionError, *KindError; anything else is an error of the file system.
func Scan(fsys vfs.FS, dir string, o Options) (*Logs, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	ls := &Logs{fs: fsys, dir: dir, opts: o, registry: newRegistry(), logs: map[int]*Log{}}
	if err := ls.scan(); err != nil {
		return nil, errors.Join(err, ls.closeOld())
	}
	return ls, nil
}

func (ls *Logs) scan() error {
	names, err := list(ls.fs, ls.dir)
	if err != nil {
		return fmt.Errorf("shard logs: %w", err)
	}
	for _, name := range names {
		shard, ok := parseShard(name)
		if !ok {
			continue
		}
		fl, err := ls.findLog(shard, path.Join(ls.dir, name))
		if err != nil {
			return fmt.Errorf("shard logs: %w", err)
		}
		ls.found = append(ls.found, fl)
	}
	slices.SortFunc(ls.found, func(a, b *foundLog) int { return cmp.Compare(a.log.shard, b.log.shard) })
	if err := ls.scanFiles(); err != nil {
		return err
	}
	ls.finishGroups()
	ls.decide()
	return nil
}

// fileScan is one file in its place among those of its log.
type fileScan struct {
	found *foundLog
	file  *logFile
	next  *logFile // its successor, nil for the newest
}

// scanFiles scans all files in the order of their lives, in which the records of each group are in order.
func (ls *Logs) scanFiles() error {
	var all []fileScan
	for _, fl := range ls.found {
		for i, f := range fl.files {
			s := fileScan{found: fl, file: f}
			if i+1 < len(fl.files) && fl.files[i+1].header.prevNumber == f.header.number {
				s.next = fl.files[i+1]
			}
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b fileScan) int { // a chain is in order already
		return cmp.Compare(a.file.header.life, b.file.header.life)
	})
	for _, s := range all {
		err := s.run()
		var kind *KindError
		if err != nil && (errors.As(err, &kind) || errors.Is(err, vfs.ErrCrashed)) {
			return fmt.Errorf("shard logs: %w", err)
		}
		if err != nil { // a medium that does not read must not keep the node down
			s.found.breaks(path.Base(s.file.path), "cannot be read: %v", err)
		}
	}
	for _, fl := range ls.found {
		if !fl.hasHead && slices.ContainsFunc(fl.files, func(f *logFile) bool { return f.end > fileHeaderBytes }) {
			fl.breaks(headName, "is missing, but there are records") // none is written before the head is
		}
		if fl.broken != nil {
			ls.damage = append(ls.damage, fl.broken)
		}
	}
	return nil
}

// position is where the chain of records in a file stands.
type position struct {
	pos     int64
	batch   uint64
	isOpen  bool // the last record was not the last of its batch
	isClean bool // the last record is Clean
}

// due is the batch of the record that must come next, and whether it opens it.
func (p *position) due() (batch uint64, first bool) {
	if p.isOpen {
		return p.batch, false
	}
	return p.batch + 1, true
}

// run scans one file: rules of doc.go.
func (s *fileScan) run() error {
	ls, f := s.found.log.logs, s.file
	r := &recordReader{Window: wal.Window{File: f.f, Name: f.path, Size: f.filled}, epoch: f.header.epoch}
	end := int64(-1) // where its successor says that it ends
	if s.next != nil {
		end = int64(s.next.header.prevEnd)
		r.Size = min(r.Size, end)
	}
	at := position{pos: fileHeaderBytes, batch: f.header.prevBatch}
	resumed := false
	for end < 0 || at.pos < end {
		h, payload, reason, err := r.record(at.pos)
		if err != nil {
			return err
		}
		if reason == nil && !resumed {
			if batch, first := at.due(); h.Batch != batch || h.First != first {
				reason = fmt.Errorf("record of batch %d, due was %d", h.Batch, batch)
			}
		}
		if reason != nil {
			next, err := s.fails(r, &at, reason)
			if err != nil || next < 0 {
				return s.finish(at, err)
			}
			at.pos, resumed = next, true
			continue
		}
		resumed = false
		ls.collect(s.found, f, at.pos, &h, payload)
		at = position{pos: at.pos + h.Span(), batch: h.Batch, isOpen: !h.Last, isClean: h.Kind == wal.KindClean}
	}
	return s.finish(at, nil)
}

// fails decides what a record that does not read means. It returns where to go on, -1 for nowhere.
func (s *fileScan) fails(r *recordReader, at *position, reason error) (int64, error) {
	ls := s.found.log.logs
	batch, _ := at.due()
	isDamage := s.next != nil
	if !isDamage {
		var err error
		if isDamage, err = r.provenSynced(at.pos+wal.RecordAlign, batch); err != nil {
			return -1, err
		}
	}
	if !isDamage {
		begun, err := r.mayBegin(at.pos)
		if begun {
			tail := &TornTail{File: s.file.path, Position: at.pos, Batch: batch, Reason: reason.Error()}
			ls.damage = append(ls.damage, tail)
		}
		return -1, err
	}
	at.isClean = false
	e := &InteriorError{File: s.file.path, Position: at.pos, Batch: batch, Reason: reason.Error()}
	ls.damage = append(ls.damage, e)
	ls.suspect(s.found, e)
	next, err := r.resume(at.pos+wal.RecordAlign, batch)
	if next < 0 {
		at.pos += wal.RecordAlign // the next file must say that this one went on
	}
	return next, err
}

// finish notes where the file ended.
func (s *fileScan) finish(at position, err error) error {
	s.file.end, s.file.syncedEnd = at.pos, at.pos
	s.found.batch = max(s.found.batch, at.batch)
	s.found.isClean = s.next == nil && at.isClean && err == nil
	return err
}

// key of the group of a record.
func keyOf(h *wal.RecordHead) incarnationKey {
	return incarnationKey{group: protocol.GroupID(h.Group), revision: h.Revision}
}
