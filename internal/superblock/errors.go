package superblock

import "fmt"

// UnreadableError says that a slot holds something that cannot be trusted. Cause tells what: a
// *VersionError, *LengthError, *LogViewError, *CorruptError, *ChainError, *LostSlotError, or the error of the file system.
type UnreadableError struct {
	Dir   string
	File  string // the slot, a path
	Cause error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("superblock %s is unreadable: %v", e.File, e.Cause)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// CorruptError says that the bytes of a slot are not a record.
type CorruptError struct {
	Reason  string
	Version uint16 // version field as found; 0 when the slot is too short to have one
}

func (e *CorruptError) Error() string {
	return "damaged: " + e.Reason + "; the record was durable once and may have been the newest, so it is kept: " +
		"recover this replica from its peers, or restore the whole data directory"
}

// VersionError says that a slot was written in another format version.
type VersionError struct{ Found, Supported uint16 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("format version %d, this build reads version %d: start the build that wrote the data, "+
		"or begin with an empty data directory", e.Found, e.Supported)
}

// LengthError says that the payload of a record has a length of another format.
type LengthError struct{ Found, Supported int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("payload of %d bytes, this build (record version %d) reads %d bytes: start the build that wrote "+
		"the data, or begin with an empty data directory", e.Found, recordVersion, e.Supported)
}

// LogViewError says that a state claims a log from a view it never reached.
type LogViewError struct{ View, LogView uint32 }

func (e *LogViewError) Error() string {
	return fmt.Sprintf("log view %d is above view %d", e.LogView, e.View)
}

// ChainError says that both slots are valid records, but of different histories.
type ChainError struct{ SequenceA, SequenceB uint64 }

func (e *ChainError) Error() string {
	return fmt.Sprintf("the slots hold records %d and %d that do not follow each other: one of them was replaced from "+
		"elsewhere, and which one is the newest cannot be told", e.SequenceA, e.SequenceB)
}

// LostSlotError says that a slot is missing or empty although a record stands beside it that was not the first:
// what was in it may have been the newest record.
type LostSlotError struct{ Beside uint64 } // number of the record in the other slot

func (e *LostSlotError) Error() string {
	return fmt.Sprintf("missing or empty beside record %d: it held the record before or after, which may have been the newest; "+
		"recover this replica from its peers, or restore the whole data directory", e.Beside)
}

// RegressionError says that a write would have taken back a durable view or log view.
type RegressionError struct {
	View, LogView               uint32 // asked for
	DurableView, DurableLogView uint32
}

func (e *RegressionError) Error() string {
	return fmt.Sprintf("superblock write: view %d, log view %d are behind the durable %d, %d",
		e.View, e.LogView, e.DurableView, e.DurableLogView)
}

// IdentityError says that a record belongs to another cluster or replica than the node was configured as.
type IdentityError struct{ Field, Expected, Found string }

func (e *IdentityError) Error() string {
	return fmt.Sprintf("superblock %s is %s, configured is %s", e.Field, e.Found, e.Expected)
}
