package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

const (
	mirrorHeads    = 2
	mirrorSlotsOff = mirrorHeads * fileHeaderBytes
	// SlotsMax bounds Options.Slots: a mirror of 256 MiB.
	SlotsMax = 1 << 20
)

// mirror is journal.mirror: two heads, then one slot of 256 bytes for each of so many ops. A slot is
// written only after the journal's fsync of the entry and cleared before the entry is dropped. So a valid slot
// is proof: its entry was durable in journal.wal and must still be there. A slot that is not valid says
// nothing. Both heads are written, one after the other, so that each survives damage to the other.
type mirror struct {
	path    string
	file    vfs.File
	head    fileHeader
	vectors [][]byte
}

func mirrorBytes(slots uint32) int64 {
	return mirrorSlotsOff + int64(slots)*protocol.HeaderSize
}

// createMirror replaces the file by one whose slots hold the given headers, by op, and opens it.
func createMirror(fsys vfs.FS, name string, head fileHeader, headers map[uint64]protocol.PrepareHeader) (*mirror, error) {
	b := make([]byte, mirrorBytes(head.slots))
	for i := range mirrorHeads { // head number n lies at place n mod 2
		head.counter = uint64(i)
		copy(b[i*fileHeaderBytes:], head.encode())
	}
	for _, op := range slices.Sorted(maps.Keys(headers)) { // of two ops in one slot the higher stays
		h := headers[op]
		copy(b[slotOffset(op, head.slots):], h[:])
	}
	if err := vfs.WriteFile(fsys, name, b); err != nil {
		return nil, err
	}
	f, err := fsys.OpenFile(name, vfs.ReadWrite)
	if err != nil {
		return nil, err
	}
	return &mirror{path: name, file: f, head: head}, nil
}

// openMirror reads the file. A missing or empty one is nil without an error. It returns the valid slots.
func openMirror(fsys vfs.FS, name string) (*mirror, map[uint64]protocol.PrepareHeader, error) {
	b, err := vfs.ReadFile(fsys, name, mirrorBytes(SlotsMax))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return nil, nil, nil
	}
	if errors.Is(err, vfs.ErrTooLarge) {
		return nil, nil, &HeaderError{File: name, Reason: "file is longer than any mirror"}
	}
	if err != nil {
		return nil, nil, err
	}
	head, err := newerHead(name, b)
	if err != nil {
		return nil, nil, err
	}
	if head.slots == 0 || int64(len(b)) != mirrorBytes(head.slots) {
		return nil, nil, &HeaderError{File: name, Reason: fmt.Sprintf("%d slots in a file of %d bytes", head.slots, len(b))}
	}
	f, err := fsys.OpenFile(name, vfs.ReadWrite)
	if err != nil {
		return nil, nil, err
	}
	headers := map[uint64]protocol.PrepareHeader{}
	for off := int64(mirrorSlotsOff); off < int64(len(b)); off += protocol.HeaderSize {
		h := protocol.PrepareHeader(b[off : off+protocol.HeaderSize])
		if checkHeader(&h) == nil && slotOffset(h.Op(), head.slots) == off {
			headers[h.Op()] = h
		}
	}
	return &mirror{path: name, file: f, head: head}, headers, nil
}

// newerHead returns the valid head with the higher number. A head of another version counts before damage.
func newerHead(name string, b []byte) (fileHeader, error) {
	var best fileHeader
	var failure error
	found := false
	for i := range mirrorHeads {
		from := min(i*fileHeaderBytes, len(b))
		h, err := decodeFileHeader(name, b[from:min(from+fileHeaderBytes, len(b))])
		var version *VersionError
		switch {
		case errors.As(err, &version):
			return fileHeader{}, err
		case err != nil:
			failure = err
		case !found || h.counter > best.counter:
			best, found = h, true
		}
	}
	if !found {
		return fileHeader{}, failure
	}
	return best, nil
}

func slotOffset(op uint64, slots uint32) int64 {
	return mirrorSlotsOff + int64(op%uint64(slots))*protocol.HeaderSize
}

// put writes the headers of entries whose batch is durable, neighbours in one call.
func (m *mirror) put(entries []Entry) error {
	for i := 0; i < len(entries); {
		at := slotOffset(entries[i].Header.Op(), m.head.slots)
		m.vectors = m.vectors[:0]
		for next := at; i < len(entries) && slotOffset(entries[i].Header.Op(), m.head.slots) == next; i++ {
			m.vectors = append(m.vectors, entries[i].Header[:])
			next += protocol.HeaderSize
		}
		_, err := m.file.WritevAt(m.vectors, at)
		clear(m.vectors)
		if err != nil {
			return err
		}
	}
	return nil
}

// clear empties the slots of the given ops, neighbours in one call, and syncs.
func (m *mirror) clear(ops []uint64) error {
	for i := 0; i < len(ops); {
		at := slotOffset(ops[i], m.head.slots)
		count := int64(0)
		for ; i < len(ops) && slotOffset(ops[i], m.head.slots) == at+count*protocol.HeaderSize; i++ {
			count++
		}
		if _, err := m.file.WriteAt(make([]byte, count*protocol.HeaderSize), at); err != nil {
			return err
		}
	}
	return m.file.Datasync()
}

// setHead makes head durable in both places. After an error the head before, or this one, counts.
func (m *mirror) setHead(head fileHeader) error {
	for range mirrorHeads {
		head.counter = m.head.counter + 1
		if _, err := m.file.WriteAt(head.encode(), int64(head.counter%mirrorHeads)*fileHeaderBytes); err != nil {
			return err
		}
		if err := m.file.Datasync(); err != nil {
			return err
		}
		m.head = head
	}
	return nil
}
