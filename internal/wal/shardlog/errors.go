package shardlog

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/wal"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotReady: the log cannot take the batch before PrepareFile has run. Nothing was written.
	ErrNotReady = errors.New("next file of the shard log is not ready")
	// ErrUnsynced: too much waits for a sync. Nothing was written; Sync, then append again.
	ErrUnsynced = errors.New("too much of the shard log waits for a sync")
	// ErrTooLarge: the batch does not fit into one file; append it in parts. Nothing was written.
	ErrTooLarge = errors.New("batch does not fit into a file of the shard log")
	// ErrRefused: a record does not qualify; nothing was written.
	ErrRefused = errors.New("record refused by the shard log")
	// ErrClosed: the log was closed, or what only the start needed was given back.
	ErrClosed = errors.New("shard log is closed")
	// ErrOutOfService: what is durable can only be found out by a restart. Wrapped around the cause.
	ErrOutOfService = errors.New("shard log is out of service until restart")
)

// VersionError refuses a file of another format version.
type VersionError struct {
	File             string
	Found, Supported uint16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("shard log file %s has format version %d, this build reads version %d: start the build that "+
		"wrote it", e.File, e.Found, e.Supported)
}

// KindError refuses an intact record of a kind that this build does not know.
type KindError struct {
	File     string
	Position int64
	Found    wal.Kind
}

func (e *KindError) Error() string {
	return fmt.Sprintf("shard log file %s holds a record of kind %d at byte %d, this build knows kinds up to %d: start the "+
		"build that wrote it", e.File, e.Found, e.Position, wal.KindAccepted)
}

// BrokenError says why the files of a log do not form a chain. Its groups cannot prove what they hold.
type BrokenError struct {
	Dir, File string // File is empty when the directory as a whole is meant
	Reason    string
}

func (e *BrokenError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("shard log %s is broken: %s", e.Dir, e.Reason)
	}
	return fmt.Sprintf("shard log %s is broken: file %s %s", e.Dir, e.File, e.Reason)
}

// InteriorError says that a record which had been synced does not read any more.
type InteriorError struct {
	File     string
	Position int64
	Batch    uint64 // that the record belonged to
	Reason   string
}

func (e *InteriorError) Error() string {
	return fmt.Sprintf("shard log file %s is damaged at byte %d: a record of batch %d that had been synced does not read: "+
		"%s", e.File, e.Position, e.Batch, e.Reason)
}

// TornTail is where a log ends because the batch that follows was never synced whole. It is no damage.
type TornTail struct {
	File     string
	Position int64
	Batch    uint64
	Reason   string
}

func (e *TornTail) Error() string {
	return fmt.Sprintf("shard log file %s ends at byte %d: batch %d was interrupted before it was synced (%s)",
		e.File, e.Position, e.Batch, e.Reason)
}

// RecordError says that a record no longer reads as it was written.
type RecordError struct {
	File     string
	Position int64
	Reason   string
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("record at byte %d of shard log file %s is damaged: %s", e.Position, e.File, e.Reason)
}

// RescueError says that after a failed sync a record could not be carried over to the next file.
type RescueError struct {
	File     string
	Position int64
	Batch    uint64
	Err      error
}

func (e *RescueError) Error() string {
	return fmt.Sprintf("shard log file %s: after a failed sync the record at byte %d (batch %d) could not be written again: %v",
		e.File, e.Position, e.Batch, e.Err)
}

func (e *RescueError) Unwrap() error { return e.Err }

// SyncError says that a sync failed. Nothing behind the last good one may be released.
type SyncError struct {
	File     string
	Failures int // in a row; from the second on the groups of the shard should refuse writes
	Err      error
}

func (e *SyncError) Error() string {
	return fmt.Sprintf("sync of shard log file %s failed (%d in a row): %v", e.File, e.Failures, e.Err)
}

func (e *SyncError) Unwrap() error { return e.Err }
