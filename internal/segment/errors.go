package segment

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// Errors of a Writer.
var (
	// ErrLength: the log is not as long as its user believes. Recover the partition again.
	ErrLength = errors.New("log length differs from the recovered size")
	// ErrPosition: an append would leave a hole.
	ErrPosition = errors.New("append beyond the end of the log")
	// ErrSyncLost: a sync failed, so bytes may be gone that a later sync would claim to have written. The
	// bytes behind the last good sync must be appended again, or the partition recovered.
	ErrSyncLost = errors.New("bytes of a failed sync have not been written again")
)

// Fault tells why a walk through a segment stopped before its end. Code is what a poll that begins there
// is answered: 4011 unreadable, 4027 or 4039 for a checksum.
type Fault struct {
	Start    uint64 // segment
	Position int64  // in its log
	Code     protocol.Code
	Err      error // cause; nil for a checksum
}

// Error describes the fault.
func (f *Fault) Error() string {
	if f.Err != nil {
		return fmt.Sprintf("segment %d at byte %d: code %d: %v", f.Start, f.Position, f.Code, f.Err)
	}
	return fmt.Sprintf("segment %d at byte %d: code %d", f.Start, f.Position, f.Code)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// RefusalKind tells what recovery found that it must not repair.
type RefusalKind uint8

// Kinds of refusal.
const (
	// InteriorDamage: bytes at Position are not a record, and a whole record of the partition follows at
	// Next. Cutting the log there would discard data that survived.
	InteriorDamage RefusalKind = iota + 1
	// Discontinuity: the intact record at Position begins at offset Found, not at Expected.
	Discontinuity
	// ForeignBatch: the intact record at Position belongs to partition Found, not to Expected.
	ForeignBatch
	// Hole: the segment begins at Found, its predecessor ends before Expected, and no anchor allows it.
	Hole
	// Overlap: the segment begins at Found, but its predecessor goes on up to Expected.
	Overlap
	// EmptyInside: the segment is empty and not the last one.
	EmptyInside
	// HeadMissing: the chain begins at offset Found, and nothing was removed on purpose at or above Expected.
	HeadMissing
	// EndMissing: the chain ends before offset Found, and data up to Expected was on the device.
	EndMissing
)

var refusalNames = [...]string{
	InteriorDamage: "damage inside the log", Discontinuity: "offsets do not continue",
	ForeignBatch: "batch of another partition", Hole: "hole between segments",
	Overlap: "segments overlap", EmptyInside: "empty segment inside the chain",
	HeadMissing: "oldest segments are missing", EndMissing: "data that was on the device is missing at the end",
}

// String names the kind.
func (k RefusalKind) String() string {
	if k > 0 && int(k) < len(refusalNames) {
		return refusalNames[k]
	}
	return fmt.Sprintf("refusal %d", uint8(k))
}

// Refusal says that the segments of a partition are damaged in a way that only a replica or an operator
// can mend. No segment was changed.
type Refusal struct {
	Kind            RefusalKind
	Dir             string
	Start           uint64 // segment
	Position        int64  // in its log
	Next            int64  // InteriorDamage: where data goes on
	Expected, Found uint64
}

// Error describes the refusal for an operator.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("recover %s: %s: segment %s", r.Dir, r.Kind, LogName(r.Start))
	switch r.Kind {
	case InteriorDamage:
		return fmt.Sprintf("%s, byte %d, data goes on at byte %d", s, r.Position, r.Next)
	case EmptyInside:
		return s
	case HeadMissing, EndMissing:
		return fmt.Sprintf("%s, expected %d, found %d", s, r.Expected, r.Found)
	}
	return fmt.Sprintf("%s, byte %d, expected %d, found %d", s, r.Position, r.Expected, r.Found)
}
