package wal

import (
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// Names of the two files of a journal.
const (
	JournalName = journalName
	MirrorName  = mirrorName
)

// FileHead is the header of a journal file, for tools.
type FileHead struct {
	Cluster   protocol.Uint128
	Replica   uint8
	Slots     uint32 // mirror
	Epoch     uint64
	Counter   uint64 // journal: batch before the first record; mirror: number of this header
	AckedHead uint64 // mirror
}

func (h *fileHeader) public() FileHead {
	return FileHead{h.cluster, h.replica, h.slots, h.epoch, h.counter, h.ackedHead}
}

// ReadJournalHead reads the header of a journal file by its path. Errors are those of Open, and of reading.
func ReadJournalHead(fsys vfs.FS, name string) (FileHead, error) {
	f, err := fsys.OpenFile(name, vfs.ReadOnly)
	if err != nil {
		return FileHead{}, err
	}
	h, err := readFileHeader(f, name)
	return h.public(), errors.Join(err, f.Close())
}

func readFileHeader(f vfs.File, name string) (fileHeader, error) {
	b := make([]byte, fileHeaderBytes)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fileHeader{}, fmt.Errorf("header of %s: %w", name, err)
	}
	return decodeFileHeader(name, b[:n])
}

// ReadMirror reads a mirror by its path: the header that counts, and the prepare headers of its valid slots by
// op. A missing or empty file has neither. Errors are those of Open.
func ReadMirror(fsys vfs.FS, name string) (FileHead, map[uint64]protocol.PrepareHeader, error) {
	m, headers, err := openMirror(readOnly{fsys}, name)
	if err != nil || m == nil {
		return FileHead{}, nil, err
	}
	return m.head.public(), headers, m.file.Close()
}

// readOnly opens for reading whatever is asked for.
type readOnly struct{ vfs.FS }

func (r readOnly) OpenFile(name string, _ vfs.Flags) (vfs.File, error) {
	return r.FS.OpenFile(name, vfs.ReadOnly)
}

// Record is one record of a journal as a walk shows it.
type Record struct {
	Position int64
	Head     RecordHead
	Prepare  protocol.PrepareHeader
}

// Stop is where a walk ended before the end of the file.
type Stop struct {
	Position int64
	Batch    uint64 // that the next record had to belong to
	Op       uint64 // that was due
	Reason   string
	// Durable: a later record proves that what stood there had been synced. Without that, the bytes may be the
	// torn end of an append that was never answered.
	Durable bool
}

// Walk reads the records of a journal file in order, checksums and chain verified, and hands each to visit until
// that returns false. It changes nothing. stop is nil when every byte of the file belongs to a record.
func Walk(fsys vfs.FS, name string, visit func(*Record) bool) (head FileHead, stop *Stop, err error) {
	f, err := fsys.OpenFile(name, vfs.ReadOnly)
	if err != nil {
		return FileHead{}, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return FileHead{}, nil, err
	}
	h, err := readFileHeader(f, name)
	if err != nil {
		return FileHead{}, nil, err
	}
	c := &cursor{pos: fileHeaderBytes, batch: h.counter}
	s := &scanner{Window: Window{File: f, Name: path.Clean(name), Size: size}, epoch: h.epoch}
	for c.pos < size {
		head, prepare, reason, err := s.record(c)
		if err != nil {
			return h.public(), nil, err
		}
		if reason != nil {
			batch, _ := c.nextBatch()
			stop = &Stop{Position: c.pos, Batch: batch, Op: c.op + 1, Reason: reason.Error()}
			stop.Durable, err = s.provenDurable(c.pos, batch)
			return h.public(), stop, err
		}
		r := Record{Position: c.pos, Head: head, Prepare: *prepare}
		c.advance(&head, prepare)
		if !visit(&r) {
			break
		}
	}
	return h.public(), nil, nil
}

// ReadBody reads the body of a record that a walk has shown.
func ReadBody(fsys vfs.FS, name string, r *Record) ([]byte, error) {
	f, err := fsys.OpenFile(name, vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	_, body, err := readEntry(f, name, r.Prepare.Op(), locate(r.Position, &r.Prepare))
	return body, errors.Join(err, f.Close())
}
