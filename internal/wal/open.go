package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// Recovered is what Open found.
type Recovered struct {
	// Fresh: the journal did not exist, or a crash had interrupted its creation.
	Fresh bool
	// Headers of all entries, ascending by op, gaps included. Bodies are read with Journal.Read.
	Headers []protocol.PrepareHeader
	// AckedHead as Journal.AckedHead.
	AckedHead uint64
	// Cut describes the incomplete last batch that was cut off; nil when there was none.
	Cut *Cut
}

// Cut is a torn tail: bytes of a batch that was never acknowledged.
type Cut struct {
	Position int64  // where the file ends now
	Bytes    int64  // removed
	Batch    uint64 // that was incomplete
	Reason   string
}

// Open opens the journal in dir, which must exist, and creates what a fresh start lacks. It reads and
// verifies every record. What it returns is durable, and a second Open returns the same.
//
// An incomplete last batch is cut off. Refusals, nothing changed: *InteriorError (durable entries damaged
// or gone), *MissingError (one of the two files gone), ErrAbsent (both are), *VersionError, *KindError,
// *HeaderError, *OwnerError.
func Open(fsys vfs.FS, dir string, opts Options) (*Journal, Recovered, error) {
	if err := opts.validate(); err != nil {
		return nil, Recovered{}, err
	}
	j := &Journal{fs: fsys, path: path.Join(dir, journalName), opts: opts, index: map[uint64]location{}, covered: opts.SnapshotOp}
	rec, err := j.open()
	if err != nil {
		if j.file != nil {
			err = errors.Join(err, j.file.Close())
		}
		if j.mirror != nil {
			err = errors.Join(err, j.mirror.file.Close())
		}
		return nil, Recovered{}, err
	}
	return j, rec, nil
}

func (j *Journal) open() (Recovered, error) {
	for _, name := range []string{j.path, j.mirrorPath()} { // what an interrupted replacement left
		if err := j.fs.Remove(name + ".tmp"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Recovered{}, err
		}
	}
	mirrored, err := j.openMirror()
	if err != nil {
		return Recovered{}, err
	}
	size, err := j.openFile()
	if err != nil {
		return Recovered{}, err
	}
	if j.file == nil {
		return j.create(mirrored)
	}
	if j.mirror == nil && size > fileHeaderBytes {
		return Recovered{}, &MissingError{File: j.mirrorPath()}
	}
	return j.recover(size, mirrored)
}

func (j *Journal) openMirror() (map[uint64]protocol.PrepareHeader, error) {
	m, mirrored, err := openMirror(j.fs, j.mirrorPath())
	if err != nil || m == nil {
		return nil, err
	}
	j.mirror = m
	return mirrored, m.head.checkOwner(m.path, &j.opts)
}

// openFile opens the journal and reads its header. A missing file and one too short to have a header, which
// only a file system that lost it can leave, keep j.file nil.
func (j *Journal) openFile() (size int64, err error) {
	f, err := j.fs.OpenFile(j.path, vfs.ReadWrite)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if size, err = f.Size(); err != nil || size < fileHeaderBytes {
		return 0, errors.Join(err, f.Close())
	}
	j.file = f
	b := make([]byte, fileHeaderBytes)
	if _, err := f.ReadAt(b, 0); err != nil {
		return 0, err
	}
	if j.header, err = decodeFileHeader(j.path, b); err != nil {
		return 0, err
	}
	return size, j.header.checkOwner(j.path, &j.opts)
}

// create makes the files of a journal without entries: the mirror first, so that a journal is never alone.
func (j *Journal) create(mirrored map[uint64]protocol.PrepareHeader) (Recovered, error) {
	if len(mirrored) > 0 {
		return Recovered{}, &MissingError{File: j.path, Op: slices.Max(slices.Collect(maps.Keys(mirrored)))}
	}
	if j.mirror != nil && j.mirror.head.ackedHead > 0 {
		return Recovered{}, &MissingError{File: j.path, Op: j.mirror.head.ackedHead}
	}
	if j.opts.MustExist {
		return Recovered{}, fmt.Errorf("%s: %w", j.path, ErrAbsent)
	}
	j.header = fileHeader{cluster: j.opts.Cluster, replica: j.opts.Replica, epoch: j.opts.Epoch}
	if err := j.replaceMirror(nil); err != nil {
		return Recovered{}, err
	}
	if err := vfs.WriteFile(j.fs, j.path, j.header.encode()); err != nil {
		return Recovered{}, err
	}
	f, err := j.fs.OpenFile(j.path, vfs.ReadWrite)
	if err != nil {
		return Recovered{}, err
	}
	j.file, j.cursor = f, cursor{pos: fileHeaderBytes}
	j.reserve(j.cursor.pos)
	return Recovered{Fresh: true}, nil
}

// replaceMirror writes the mirror anew for the configured number of slots.
func (j *Journal) replaceMirror(headers map[uint64]protocol.PrepareHeader) error {
	head := j.header
	head.slots, head.counter = uint32(j.opts.Slots), 0
	if old := j.mirror; old != nil {
		head.ackedHead = old.head.ackedHead
		j.mirror = nil
		if err := old.file.Close(); err != nil {
			return err
		}
	}
	m, err := createMirror(j.fs, j.mirrorPath(), head, headers)
	j.mirror = m
	return err
}

// recover scans the file, decides between a torn tail and damage, and leaves files that need no recovery.
func (j *Journal) recover(size int64, mirrored map[uint64]protocol.PrepareHeader) (Recovered, error) {
	headers := map[uint64]protocol.PrepareHeader{}
	unproven := maps.Clone(mirrored) // slots whose entry has not been met yet
	j.cursor = cursor{pos: fileHeaderBytes, batch: j.header.counter}
	s := &scanner{Window: Window{File: j.file, Name: j.path, Size: size}, epoch: j.header.epoch}
	torn, err := s.run(&j.cursor, func(pos int64, h *protocol.PrepareHeader) {
		op, sum := h.Op(), h.Common().Checksum()
		headers[op] = *h
		j.index[op] = locate(pos, h)
		if m, ok := unproven[op]; ok && m.Common().Checksum() == sum {
			delete(unproven, op)
		}
	})
	if err != nil {
		return Recovered{}, err
	}
	if err := j.refuseDamage(s, torn, unproven); err != nil {
		return Recovered{}, err
	}
	rec := Recovered{Headers: make([]protocol.PrepareHeader, 0, len(headers))}
	for _, op := range slices.Sorted(maps.Keys(headers)) {
		rec.Headers = append(rec.Headers, headers[op])
	}
	if torn != nil {
		rec.Cut = &Cut{Position: j.cursor.pos, Bytes: size - j.cursor.pos, Batch: torn.batch, Reason: torn.reason.Error()}
		if err := j.file.Truncate(j.cursor.pos); err != nil {
			return Recovered{}, err
		}
	}
	// What was read may be in the page cache only, and the name of the file in that of the directory. It is
	// reported, mirrored and built upon as durable.
	if err := j.file.Datasync(); err != nil {
		return Recovered{}, err
	}
	if err := j.fs.SyncDir(path.Dir(j.path)); err != nil {
		return Recovered{}, err
	}
	if err := j.repairMirror(headers, mirrored); err != nil {
		return Recovered{}, err
	}
	rec.AckedHead = j.mirror.head.ackedHead
	j.reserve(j.cursor.pos)
	return rec, nil
}

// refuseDamage returns an *InteriorError when what does not read, or is not there, had been durable: a
// later record says so, or the mirror has its header.
func (j *Journal) refuseDamage(s *scanner, torn *damage, unproven map[uint64]protocol.PrepareHeader) error {
	e := &InteriorError{File: j.path, Position: j.cursor.pos, Reason: "it is not in the file"}
	e.Batch, _ = j.cursor.nextBatch()
	e.Op = j.cursor.op + 1
	proven := len(unproven) > 0
	if torn != nil {
		e.Batch, e.Op, e.Reason = torn.batch, torn.op, torn.reason.Error()
		if torn.header != nil {
			e.Operation, e.Identified = torn.header.Operation(), true
		}
		if !proven {
			var err error
			if proven, err = s.provenDurable(j.cursor.pos, torn.batch); err != nil {
				return err
			}
		}
	}
	if !proven {
		return nil
	}
	if h, ok := unproven[e.Op]; ok && !e.Identified {
		e.Operation, e.Identified = h.Operation(), true
	} else if !e.Identified && len(unproven) > 0 {
		lowest := slices.Min(slices.Collect(maps.Keys(unproven)))
		h := unproven[lowest]
		e.Op, e.Operation, e.Identified = lowest, h.Operation(), true
	}
	return e
}

// repairMirror brings the mirror up to the journal: a crash can leave entries without their slot.
func (j *Journal) repairMirror(headers, mirrored map[uint64]protocol.PrepareHeader) error {
	if j.mirror == nil || j.mirror.head.slots != uint32(j.opts.Slots) {
		return j.replaceMirror(headers)
	}
	if j.mirror.head.epoch != j.header.epoch { // a crash between the two renewals of a rewrite
		head := j.mirror.head
		head.epoch = j.header.epoch
		if err := j.mirror.setHead(head); err != nil {
			return err
		}
	}
	taken := map[int64]bool{}
	for op := range mirrored { // all of them are in the journal, or Open would have refused
		taken[slotOffset(op, j.mirror.head.slots)] = true
	}
	var missing []Entry
	for _, op := range slices.Backward(slices.Sorted(maps.Keys(headers))) {
		at := slotOffset(op, j.mirror.head.slots)
		if taken[at] {
			continue
		}
		taken[at] = true
		h := headers[op]
		missing = append(missing, Entry{Header: &h})
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Reverse(missing)
	if err := j.mirrorEntries(missing); err != nil {
		return fmt.Errorf("mirror repair: %w", err)
	}
	return nil
}
