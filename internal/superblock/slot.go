package superblock

import (
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// Slot is the record of one slot, for tools that look at files one by one.
type Slot struct {
	Sequence uint64
	Parent   uint64 // trailer of the record before, 0 for the first
	Trailer  uint64 // XXH3-64 of the record in front of it
	State    State
}

// Names are the file names of the two slots.
func Names() [2]string { return slotNames }

// ReadSlot reads one slot by its path, without regard to its sibling. written is false when nothing was ever
// written to it. Errors are those of Open.
func ReadSlot(fsys vfs.FS, name string) (slot Slot, written bool, err error) {
	r, err := readSlotFile(fsys, path.Dir(name), name)
	if err != nil || r == nil {
		return Slot{}, false, err
	}
	return Slot{r.sequence, r.parent, r.trailer, r.state}, true, nil
}
