package segment

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/vfs"
)

// OffsetKind tells the stored offsets of single consumers from those of groups. The values are those of
// the protocol.
type OffsetKind uint8

// Kinds of stored offsets.
const (
	ConsumerOffset OffsetKind = 1
	GroupOffset    OffsetKind = 2
)

// OffsetDir is the directory, below that of the partition, that holds the offsets of a kind.
func OffsetDir(dir string, kind OffsetKind) string {
	if kind == GroupOffset {
		return path.Join(dir, "offsets", "groups")
	}
	return path.Join(dir, "offsets", "consumers")
}

// OffsetState is the outcome of reading an offset file.
type OffsetState uint8

// Outcomes. A torn file held no value yet or lost it; a corrupt one held a value that changed.
const (
	OffsetTorn OffsetState = iota
	OffsetChecked
	OffsetUnchecked // the bare 8-byte form, or a file cut inside its checksum
	OffsetCorrupt
)

// OffsetSize is the length of an offset file: the offset, then the XXH3-64 of those 8 bytes.
const OffsetSize = 16

const offsetTmpSuffix = ".tmp"

// EncodeOffset returns the bytes of an offset file.
func EncodeOffset(offset uint64) [OffsetSize]byte {
	var b [OffsetSize]byte
	le.PutUint64(b[:], offset)
	le.PutUint64(b[8:], xxh3.Hash(b[:8]))
	return b
}

// DecodeOffset reads the bytes of an offset file; what follows the first 16 is ignored. The value counts
// in the states checked and unchecked.
func DecodeOffset(b []byte) (uint64, OffsetState) {
	switch {
	case len(b) < 8:
		return 0, OffsetTorn
	case len(b) < OffsetSize:
		return le.Uint64(b), OffsetUnchecked
	case le.Uint64(b[8:]) != xxh3.Hash(b[:8]):
		return 0, OffsetCorrupt
	}
	return le.Uint64(b), OffsetChecked
}

// WriteOffset replaces the stored offset of a consumer by way of a sibling and a rename, making the
// directory when it is missing. Nothing is synced: a loss of power leaves the old value, the new one, or a
// file that LoadOffsets tells as torn. SyncOffsets makes what was written durable.
func WriteOffset(fs vfs.FS, dir string, kind OffsetKind, id uint32, offset uint64) error {
	name := offsetPath(dir, kind, id)
	b := EncodeOffset(offset)
	err := writeWhole(fs, name+offsetTmpSuffix, b[:], false)
	if notExist(err) {
		if err = fs.MkdirAll(OffsetDir(dir, kind)); err == nil {
			err = writeWhole(fs, name+offsetTmpSuffix, b[:], false)
		}
	}
	if err == nil {
		err = fs.Rename(name+offsetTmpSuffix, name)
	}
	if err != nil {
		return fmt.Errorf("store offset of %d: %w", id, err)
	}
	return nil
}

// RemoveOffset deletes the stored offset of a consumer; a missing one is no error. Nothing is synced.
func RemoveOffset(fs vfs.FS, dir string, kind OffsetKind, id uint32) error {
	if err := removeIfThere(fs, offsetPath(dir, kind, id)); err != nil {
		return fmt.Errorf("delete offset of %d: %w", id, err)
	}
	return nil
}

// SyncOffsets makes the stored offsets of the named consumers of a kind durable, their names included.
// Consumers without a file are skipped.
func SyncOffsets(fs vfs.FS, dir string, kind OffsetKind, ids []uint32) error {
	for _, id := range ids {
		if err := syncFile(fs, offsetPath(dir, kind, id)); err != nil && !notExist(err) {
			return fmt.Errorf("sync offset of %d: %w", id, err)
		}
	}
	for _, d := range []string{OffsetDir(dir, kind), path.Join(dir, "offsets"), dir} {
		if err := fs.SyncDir(d); err != nil && !notExist(err) {
			return fmt.Errorf("sync offsets of %s: %w", dir, err)
		}
	}
	return nil
}

func syncFile(fs vfs.FS, name string) error {
	f, err := fs.OpenFile(name, vfs.ReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// StoredOffset is one loaded offset file. Value counts when State is checked or unchecked. Err is set when
// the file could not be read; State then means nothing.
type StoredOffset struct {
	ID    uint32
	Value uint64
	State OffsetState
	Err   error
}

// LoadOffsets reads all stored offsets of a kind in ascending order of names. Files of other names are left
// alone, leftover siblings among them. A missing directory holds none; failing to list it is an error.
func LoadOffsets(fs vfs.FS, dir string, kind OffsetKind) ([]StoredOffset, error) {
	names, err := fs.ReadDir(OffsetDir(dir, kind))
	if notExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("stored offsets of %s: %w", dir, err)
	}
	var out []StoredOffset
	for _, name := range names {
		id, ok := parseOffsetName(name)
		if !ok {
			continue
		}
		o := StoredOffset{ID: id}
		b, err := readUpTo(fs, offsetPath(dir, kind, id), OffsetSize)
		if o.Err = err; err == nil {
			o.Value, o.State = DecodeOffset(b)
		}
		out = append(out, o)
	}
	return out, nil
}

// RemoveOffsets deletes every stored offset and leftover sibling of a kind and syncs the directory. Files
// of other names are left alone.
func RemoveOffsets(fs vfs.FS, dir string, kind OffsetKind) error {
	d := OffsetDir(dir, kind)
	names, err := fs.ReadDir(d)
	if notExist(err) {
		return nil
	}
	for _, name := range names {
		if _, ok := parseOffsetName(strings.TrimSuffix(name, offsetTmpSuffix)); ok {
			err = errors.Join(err, removeIfThere(fs, path.Join(d, name)))
		}
	}
	if err == nil {
		err = fs.SyncDir(d)
	}
	if err != nil {
		return fmt.Errorf("delete stored offsets of %s: %w", dir, err)
	}
	return nil
}

func offsetPath(dir string, kind OffsetKind, id uint32) string {
	return path.Join(OffsetDir(dir, kind), strconv.FormatUint(uint64(id), 10))
}

func parseOffsetName(name string) (uint32, bool) {
	id, err := strconv.ParseUint(name, 10, 32)
	if err != nil || strconv.FormatUint(id, 10) != name {
		return 0, false
	}
	return uint32(id), true
}

// readUpTo returns the first limit bytes of a file, fewer when it is shorter.
func readUpTo(fs vfs.FS, name string, limit int) ([]byte, error) {
	f, err := fs.OpenFile(name, vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	b := make([]byte, limit)
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], errors.Join(err, f.Close())
}
