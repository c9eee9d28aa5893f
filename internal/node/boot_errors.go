package node

import (
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
)

// The refusals of a start that concern the metadata group. What is refused is left as it is: a start with the
// missing or the right file in place succeeds. Refusals of single files are types of the packages that read
// them: snapshot, superblock, wal.

// restoreRemedy is what helps when files of the metadata group do not belong together. They only do when they are
// of the same moment, and the partitions know their topics by the operations in them.
const restoreRemedy = "; nothing was changed: restore the whole data directory from one backup"

// ClientsTableError says that the data was written with another capacity of the client table.
type ClientsTableError struct{ Stored, Configured int }

func (e *ClientsTableError) Error() string {
	return fmt.Sprintf("metadata.clients_table_max is %d, but this data was created with %d; "+
		"set it back to %d, the value is fixed when a cluster is created", e.Configured, e.Stored, e.Stored)
}

// SnapshotMissingError says that the superblock names a snapshot that is not there.
type SnapshotMissingError struct {
	Dir          string
	CheckpointOp uint64
}

func (e *SnapshotMissingError) Error() string {
	return fmt.Sprintf("%s has no %s, and its superblock names one of op %d: the metadata up to there is missing%s",
		e.Dir, snapshot.FileName, e.CheckpointOp, restoreRemedy)
}

// CheckpointAheadOfSnapshotError says that the snapshot is older than the one that the superblock names.
type CheckpointAheadOfSnapshotError struct {
	Dir                      string
	CheckpointOp, SnapshotOp uint64
}

func (e *CheckpointAheadOfSnapshotError) Error() string {
	return fmt.Sprintf("%s holds a snapshot of op %d, and its superblock names one of op %d: an older snapshot was put in "+
		"its place, or the disk lost a write that it had confirmed%s", e.Dir, e.SnapshotOp, e.CheckpointOp, restoreRemedy)
}

// CheckpointChecksumError says that the snapshot is of the right op and has another content.
type CheckpointChecksumError struct {
	Dir              string
	Op               uint64
	Expected, Actual protocol.Uint128
}

func (e *CheckpointChecksumError) Error() string {
	return fmt.Sprintf("%s holds a snapshot of op %d with checksum %s, and its superblock names one with %s: the two are of "+
		"different histories%s", e.Dir, e.Op, e.Actual, e.Expected, restoreRemedy)
}

// JournalMissingError says that the metadata group has been written to and has no journal: what it had
// acknowledged since its last checkpoint is gone.
type JournalMissingError struct{ Dir string }

func (e *JournalMissingError) Error() string {
	return fmt.Sprintf("%s holds a superblock or a snapshot but no journal: acknowledged metadata is missing; nothing was "+
		"changed: put journal.wal and journal.mirror back, or restore the whole data directory from one backup", e.Dir)
}

// JournalBehindSnapshotError says that the journal ends before the operation that the snapshot ends with.
type JournalBehindSnapshotError struct {
	Dir                   string
	JournalOp, SnapshotOp uint64 // JournalOp 0: the journal is empty
}

func (e *JournalBehindSnapshotError) Error() string {
	return fmt.Sprintf("%s holds a journal that ends at op %d and a snapshot of op %d: an older journal was put in its place, "+
		"and what was acknowledged behind the snapshot is missing%s", e.Dir, e.JournalOp, e.SnapshotOp, restoreRemedy)
}

// JournalGapError says that the journal does not continue the snapshot, or itself.
type JournalGapError struct {
	Dir        string
	Op         uint64 // of the entry that does not continue
	Want       uint64 // op that was due; equal to Op when the parent is another
	SnapshotOp uint64 // 0 without a snapshot
}

func (e *JournalGapError) Error() string {
	what := fmt.Sprintf("op %d where op %d is due", e.Op, e.Want)
	if e.Op == e.Want {
		what = fmt.Sprintf("an op %d that does not follow the op before it", e.Op)
	}
	before := "no snapshot"
	if e.SnapshotOp > 0 {
		before = fmt.Sprintf("a snapshot of op %d", e.SnapshotOp)
	}
	return fmt.Sprintf("%s holds %s and a journal with %s: operations between are missing, or the two are of "+
		"different histories%s", e.Dir, before, what, restoreRemedy)
}

// ReplayReadError says that an entry that had been verified could not be read again.
type ReplayReadError struct {
	Op    uint64
	Cause error
}

func (e *ReplayReadError) Error() string {
	return fmt.Sprintf("replay op %d: %v; start again, and look after the disk if that does not help", e.Op, e.Cause)
}

// Unwrap returns the cause.
func (e *ReplayReadError) Unwrap() error { return e.Cause }
