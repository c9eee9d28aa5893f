package segment

import (
	"errors"
	"fmt"
	"path"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/vfs"
)

// Owner tells whose a partition directory is and what was taken out of it on purpose. Purge and removal of
// segments change it, so that a start can tell data that was deleted from data that is missing.
type Owner struct {
	// Revision is the metadata operation that created the incarnation of the partition.
	Revision uint64
	// Generation is the newest purge that the directory has followed.
	Generation uint64
	// First is the lowest offset that no removal has reached: the chain of segments begins at or below it, as
	// long as there is one.
	First uint64
}

// OwnerSize is the length of an encoded Owner.
const OwnerSize = 40

const (
	// OwnerName is the name of the owner record in a partition directory.
	OwnerName    = "owner"
	ownerMagic   = "GOWN"
	ownerVersion = 1
)

// Encode returns the bytes of the file.
//
//	off size field
//	  0    4 magic "GOWN"
//	  4    2 version     1
//	  6    2 zero
//	  8    8 revision
//	 16    8 generation
//	 24    8 first
//	 32    8 XXH3-64 of [0, 32)
func (o Owner) Encode() [OwnerSize]byte {
	var b [OwnerSize]byte
	copy(b[:], ownerMagic)
	le.PutUint16(b[4:], ownerVersion)
	le.PutUint64(b[8:], o.Revision)
	le.PutUint64(b[16:], o.Generation)
	le.PutUint64(b[24:], o.First)
	le.PutUint64(b[32:], xxh3.Hash(b[:32]))
	return b
}

// DecodeOwner reads the bytes of a file; false when they are not an owner record of this format.
func DecodeOwner(b []byte) (Owner, bool) {
	if len(b) != OwnerSize || string(b[:4]) != ownerMagic || le.Uint16(b[4:]) != ownerVersion || le.Uint16(b[6:]) != 0 ||
		le.Uint64(b[32:]) != xxh3.Hash(b[:32]) {
		return Owner{}, false
	}
	return Owner{Revision: le.Uint64(b[8:]), Generation: le.Uint64(b[16:]), First: le.Uint64(b[24:])}, true
}

// OwnerEvidence tells how much is known of the owner of a directory.
type OwnerEvidence uint8

// Kinds of evidence.
const (
	// OwnerUnknown: neither the owner record nor purge.gen can be read.
	OwnerUnknown OwnerEvidence = iota
	// OwnerUnsealed: only purge.gen is there, which has no checksum: First is not known, and nothing may be
	// removed on its word.
	OwnerUnsealed
	// OwnerSealed: the owner record is intact.
	OwnerSealed
)

// OwnerFound is the outcome of ReadOwner.
type OwnerFound struct {
	Owner
	Evidence OwnerEvidence
	// Stale: one of the two files is missing, damaged or behind the other, and is to be written again.
	Stale bool
}

// ReadOwner reads whose a directory is. Where the owner record is intact it counts, whatever purge.gen says:
// it is written first. A missing directory is OwnerUnknown; failing to find out is an error.
func ReadOwner(fs vfs.FS, dir string) (OwnerFound, error) {
	r, known, err := readPurgeRecord(fs, dir)
	if err != nil {
		return OwnerFound{}, err
	}
	b, err := vfs.ReadFile(fs, path.Join(dir, OwnerName), OwnerSize)
	if err != nil && !notExist(err) && !tooLarge(err) {
		return OwnerFound{}, fmt.Errorf("owner of %s: %w", dir, err)
	}
	if o, ok := DecodeOwner(b); ok {
		return OwnerFound{o, OwnerSealed, !known || r != purgeRecord{o.Generation, o.Revision}}, nil
	}
	if known {
		return OwnerFound{Owner{Revision: r.revision, Generation: r.generation}, OwnerUnsealed, true}, nil
	}
	return OwnerFound{}, nil
}

// WriteOwner records, atomically and durably, whose a directory is. After a crash the record is the one before
// or the new one.
func WriteOwner(fs vfs.FS, dir string, o Owner) error {
	b := o.Encode()
	err := vfs.WriteFile(fs, path.Join(dir, OwnerName), b[:])
	if err == nil {
		var was purgeRecord
		var known bool
		now := purgeRecord{o.Generation, o.Revision}
		if was, known, err = readPurgeRecord(fs, dir); err == nil && (!known || was != now) {
			err = vfs.WriteFile(fs, path.Join(dir, PurgeName), now.encode())
		}
	}
	if err != nil {
		return fmt.Errorf("owner of %s: %w", dir, err)
	}
	return nil
}

// ClaimDirectory records, in a directory that holds nothing yet, whose it is. The owner record and its name are
// durable when it returns: a superblock that a loss of power left beside a torn purge.gen alone would be data of
// nobody. purge.gen is written again by the next start if a crash takes it.
func ClaimDirectory(fs vfs.FS, dir string, o Owner) error {
	b := o.Encode()
	err := errors.Join(
		writeWhole(fs, path.Join(dir, PurgeName), purgeRecord{o.Generation, o.Revision}.encode(), false),
		writeSynced(fs, path.Join(dir, OwnerName), b[:]))
	if err == nil {
		err = fs.SyncDir(path.Clean(dir))
	}
	if err != nil {
		return fmt.Errorf("claim %s: %w", dir, err)
	}
	return nil
}
