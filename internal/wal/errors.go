package wal

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound: the journal holds no entry of that op.
	ErrNotFound = errors.New("no such op in the journal")
	// ErrPoisoned: an earlier failure left it unknown what is durable; only a restart finds out.
	ErrPoisoned = errors.New("journal is out of service until restart")
	// ErrBusy: a rewrite is running; truncation and another rewrite must wait for its end.
	ErrBusy = errors.New("journal is being rewritten")
	// ErrAbsent: there is no journal, and Options.MustExist says that there was one.
	ErrAbsent = errors.New("journal does not exist")
	// ErrRefused: an entry does not qualify; nothing was written.
	ErrRefused = errors.New("entry refused")
)

// FullError refuses an entry for which the journal has no slot: checkpoints have not made room. The entry may
// be offered again after one has.
type FullError struct {
	File       string
	Op         uint64
	SnapshotOp uint64 // the newest op that a durable snapshot covers
	Slots      int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("journal %s is full: op %d is more than %d ops above op %d, the last that a snapshot covers; "+
		"it takes no operation until a checkpoint succeeds", e.File, e.Op, e.Slots, e.SnapshotOp)
}

// InteriorError refuses to open a journal that lost something durable: an entry that had been fsynced, and
// may have been acknowledged, is damaged or gone. Cutting there could delete committed operations.
type InteriorError struct {
	File       string
	Position   int64 // of the first damaged record; the end of the file when only the mirror knows of it
	Batch      uint64
	Op         uint64 // of the damaged entry; when not Identified, the op that was due there
	Operation  protocol.Operation
	Identified bool // Op and Operation are known from the record's own header or from the mirror
	Reason     string
}

func (e *InteriorError) Error() string {
	what := fmt.Sprintf("op %d (%s)", e.Op, e.Operation)
	if !e.Identified {
		what = fmt.Sprintf("an entry, op %d was due", e.Op)
	}
	return fmt.Sprintf("journal %s is damaged at byte %d: %s of batch %d had been durable, now %s; nothing was changed: "+
		"restore the data directory, or let this replica recover from its peers", e.File, e.Position, what, e.Batch, e.Reason)
}

// VersionError refuses a file of another format version.
type VersionError struct {
	File             string
	Found, Supported uint16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("journal file %s has format version %d, this build reads version %d: start the build that wrote it, "+
		"or begin with an empty data directory", e.File, e.Found, e.Supported)
}

// KindError refuses an intact record whose kind this build, or this log, does not know.
type KindError struct {
	File     string
	Position int64
	Found    Kind
}

func (e *KindError) Error() string {
	return fmt.Sprintf("journal %s holds a record of kind %d at byte %d, this build reads kind %d there: start the build "+
		"that wrote it", e.File, e.Found, e.Position, KindPrepare)
}

// HeaderError refuses a file whose own header is damaged.
type HeaderError struct{ File, Reason string }

func (e *HeaderError) Error() string {
	return fmt.Sprintf("header of journal file %s is damaged: %s", e.File, e.Reason)
}

// OwnerError refuses a file of another cluster or replica.
type OwnerError struct {
	File                     string
	Cluster, ExpectedCluster protocol.Uint128
	Replica, ExpectedReplica uint8
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("journal file %s belongs to replica %d of cluster %s, configured is replica %d of cluster %s",
		e.File, e.Replica, e.Cluster, e.ExpectedReplica, e.ExpectedCluster)
}

// MissingError refuses a journal of which one file is gone although the other one shows that it was used.
type MissingError struct {
	File string
	Op   uint64 // an op that the other file knows; 0 when it only has entries that were not looked at
}

func (e *MissingError) Error() string {
	if e.Op == 0 {
		return fmt.Sprintf("journal file %s is missing or empty, but its sibling holds entries%s", e.File, missingRemedy)
	}
	return fmt.Sprintf("journal file %s is missing or empty, but its sibling knows op %d%s", e.File, e.Op, missingRemedy)
}

const missingRemedy = "; nothing was changed: put the file back, or restore the whole data directory from one backup"

// EntryError says that an entry no longer reads as it was written.
type EntryError struct {
	File     string
	Position int64
	Op       uint64
	Reason   string
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("journal %s: op %d at byte %d is damaged: %s", e.File, e.Op, e.Position, e.Reason)
}
