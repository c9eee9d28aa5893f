package segment

import (
	"fmt"
	"path"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/vfs"
)

// AnchorSize is the length of an encoded Anchor.
const AnchorSize = 40

const anchorMagic = "IGGYANCH"

// Anchor allows one gap in the offsets of a partition: between the last message of the segment that begins
// at SealedStart and the segment that begins at PlantedStart, beside which it lies.
//
//	off size field
//	  0    8 magic "IGGYANCH"
//	  8    8 planted_start
//	 16    8 sealed_start
//	 24    8 sealed_end
//	 32    8 XXH3-64 of [0, 32)
type Anchor struct {
	PlantedStart uint64
	SealedStart  uint64
	SealedEnd    uint64 // last offset that the predecessor held when it was sealed
}

// Encode returns the bytes of the file.
func (a Anchor) Encode() [AnchorSize]byte {
	var b [AnchorSize]byte
	copy(b[:], anchorMagic)
	le.PutUint64(b[8:], a.PlantedStart)
	le.PutUint64(b[16:], a.SealedStart)
	le.PutUint64(b[24:], a.SealedEnd)
	le.PutUint64(b[32:], xxh3.Hash(b[:32]))
	return b
}

// DecodeAnchor reads the bytes of a file; false when they are not an anchor, which allows no gap.
func DecodeAnchor(b []byte) (Anchor, bool) {
	if len(b) != AnchorSize || string(b[:8]) != anchorMagic || le.Uint64(b[32:]) != xxh3.Hash(b[:32]) {
		return Anchor{}, false
	}
	return Anchor{PlantedStart: le.Uint64(b[8:]), SealedStart: le.Uint64(b[16:]), SealedEnd: le.Uint64(b[24:])}, true
}

// ReadAnchor reads the anchor beside the segment that begins at start; false when there is none or it
// cannot be one. Failing to find out is an error, never an absence.
func ReadAnchor(fs vfs.FS, dir string, start uint64) (Anchor, bool, error) {
	b, err := vfs.ReadFile(fs, anchorPath(dir, start), AnchorSize)
	if notExist(err) || tooLarge(err) {
		return Anchor{}, false, nil
	}
	if err != nil {
		return Anchor{}, false, fmt.Errorf("anchor of segment %d: %w", start, err)
	}
	a, ok := DecodeAnchor(b)
	return a, ok, nil
}

// WriteAnchor puts an anchor beside the segment that it names, durably, before that segment exists.
func WriteAnchor(fs vfs.FS, dir string, a Anchor) error {
	name := anchorPath(dir, a.PlantedStart)
	b := a.Encode()
	err := writeSynced(fs, name+stagingSuffix, b[:])
	if err == nil {
		err = fs.Rename(name+stagingSuffix, name)
	}
	if err == nil {
		err = fs.SyncDir(path.Clean(dir))
	}
	if err != nil {
		return fmt.Errorf("anchor of segment %d: %w", a.PlantedStart, err)
	}
	return nil
}
