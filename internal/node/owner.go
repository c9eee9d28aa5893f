package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/galgolog/galgo/internal/segment"
)

// OwnerError says that a partition directory holds data and its record of whose it is contradicts the metadata
// or is missing: emptying it, or purging it once more, could delete what was acknowledged.
type OwnerError struct {
	Dir    string
	Reason string
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("%s: %s; restore the backup of the whole data directory, or delete the topic to begin empty",
		e.Dir, e.Reason)
}

// MissingSuperblockError says that a partition directory holds data and no superblock: which offsets were given
// out is not known.
type MissingSuperblockError struct{ Dir string }

func (e *MissingSuperblockError) Error() string {
	return fmt.Sprintf("%s holds data but no superblock, which is written before any data: offsets could be given out "+
		"twice; restore the backup of the whole data directory", e.Dir)
}

// StaleSuperblockError says that a partition holds messages at offsets that its superblock never allowed.
type StaleSuperblockError struct {
	Dir           string
	Reserved, End uint64 // end of what was reserved; next offset after the data
}

func (e *StaleSuperblockError) Error() string {
	return fmt.Sprintf("%s: superblock.a and superblock.b reserve offsets below %d, the log goes on up to %d: they are older than "+
		"the log; restore the backup of the whole data directory", e.Dir, e.Reserved, e.End)
}

// ownership is whose a partition directory is, after takeDirectory.
type ownership struct {
	segment.Owner
	holds  bool // there is more in the directory than its owner's name
	sealed bool // the record is intact: First is known
	stale  bool // the record is to be written again
}

// takeDirectory finds out whether a partition may use its directory, makes it when it is not there, and moves
// the one of an earlier incarnation out of the way. Damage of a record never costs data: what an unsealed record
// says must agree with the metadata exactly, and what a sealed one says must not be ahead of it.
func (n *Node) takeDirectory(dir string, revision, generation uint64) (ownership, error) {
	found, err := segment.ReadOwner(n.fs, dir)
	if err != nil {
		return ownership{}, err
	}
	own := ownership{Owner: found.Owner, sealed: found.Evidence == segment.OwnerSealed, stale: found.Stale}
	if own.holds, err = n.holdsData(dir); err != nil {
		return own, err
	}
	fresh := ownership{Owner: segment.Owner{Revision: revision, Generation: generation}, sealed: true}
	refuse := func(format string, args ...any) (ownership, error) {
		return own, &OwnerError{Dir: dir, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case !own.holds:
		return fresh, n.claimDir(dir, fresh.Owner)
	case own.sealed && own.Revision < revision:
		if err := n.setForeignAside(dir, own.Revision, revision); err != nil {
			return own, err
		}
		return fresh, n.claimDir(dir, fresh.Owner)
	case found.Evidence == segment.OwnerUnknown && generation > 0:
		return refuse("%s and purge.gen are missing or damaged beside data, and the partition was purged once", segment.OwnerName)
	case found.Evidence == segment.OwnerUnknown:
		own.Revision, own.stale = revision, true
	case own.Revision != revision:
		return refuse("%s says incarnation %d, the metadata says %d", own.source(), own.Revision, revision)
	case own.Generation > generation, !own.sealed && own.Generation != generation:
		return refuse("%s says purge %d, the metadata says %d", own.source(), own.Generation, generation)
	}
	return own, nil
}

// source names the file that the owner was read from.
func (o *ownership) source() string {
	if o.sealed {
		return segment.OwnerName
	}
	return "purge.gen alone"
}

// holdsData reports whether there is anything in a partition directory besides the record of its owner and
// unfinished replacements.
func (n *Node) holdsData(dir string) (bool, error) {
	names, err := n.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, name := range names {
		if name != segment.OwnerName && name != segment.PurgeName && !strings.HasSuffix(name, ".tmp") {
			return true, nil
		}
	}
	return false, err
}

// claimDir creates the directory of a partition that is used for the first time and records whose it is.
// Nothing here needs the purges that were committed before. The record is written in place: until the
// superblock exists the partition holds nothing, and a torn record is written again.
func (n *Node) claimDir(dir string, own segment.Owner) error {
	if err := n.makePartitionDir(dir); err != nil {
		return err
	}
	// The record comes after the names of the directories: where there is more, they are durable.
	return segment.ClaimDirectory(n.fs, dir, own)
}

// setForeignAside moves a directory aside that belongs to an earlier incarnation of the same ids: its deletion was
// cut short, or the metadata is that of another backup. Nothing removes it, now or at a later boot.
func (n *Node) setForeignAside(dir string, owner, revision uint64) error {
	aside := fmt.Sprintf("%s.foreign.%d", dir, owner)
	n.log.Warn("partition directory of another incarnation is set aside", "dir", dir, "aside", aside, "found", owner, "want", revision)
	if err := n.fs.Rename(dir, aside); err != nil {
		return err
	}
	return n.fs.SyncDir(path.Dir(dir))
}

// removePartition deletes the directory of a deleted partition, if it still is that partition's.
func (n *Node) removePartition(dir string, revision uint64) error {
	owner, err := segment.ReadOwner(n.fs, dir)
	if err != nil || owner.Evidence != segment.OwnerUnknown && owner.Revision != revision {
		return err
	}
	return n.setAside(dir)
}

// deletedMark is in the name of a directory whose partition was deleted.
const deletedMark = ".deleted"

// setAside renames a partition directory so that a successor can have its name, then removes it. A crash in
// between leaves a directory that no boot reads, and that the next one removes.
func (n *Node) setAside(dir string) error {
	aside := dir + deletedMark
	if owner, err := segment.ReadOwner(n.fs, dir); err == nil && owner.Evidence != segment.OwnerUnknown {
		aside = fmt.Sprintf("%s.%d", aside, owner.Revision)
	}
	if err := n.fs.RemoveAll(aside); err != nil {
		return err
	}
	err := n.fs.Rename(dir, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := n.fs.SyncDir(path.Dir(dir)); err != nil {
		return err
	}
	return n.fs.RemoveAll(aside)
}
