package snapshot

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// remedy ends every refusal of damaged content: nothing that this node could do alone brings it back.
const remedy = "; it was durable once and the operations it holds are in no other file, so nothing was changed: " +
	"restore the whole data directory from a backup"

// TruncatedError refuses a file that does not end with a trailer.
type TruncatedError struct {
	File      string
	SizeBytes int64
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("snapshot %s is truncated: %d bytes without a trailer at their end%s", e.File, e.SizeBytes, remedy)
}

// ChecksumError refuses a file whose content is not what its trailer vouches for.
type ChecksumError struct {
	File             string
	Stored, Computed protocol.Uint128
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("snapshot %s is damaged: checksum is %s, its trailer says %s%s", e.File, e.Computed, e.Stored, remedy)
}

// VersionError refuses a file of another format version.
type VersionError struct {
	File             string
	Found, Supported uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("snapshot %s has format version %d, this build reads version %d: start the build that wrote it; "+
		"nothing was changed", e.File, e.Found, e.Supported)
}

// ErrMagic is the cause of a DecodeError: the content is intact and something else than a snapshot.
var ErrMagic = errors.New("not a metadata snapshot")

// DecodeError refuses a file whose content is as it was written and cannot be understood.
type DecodeError struct {
	File  string
	Cause error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("snapshot %s cannot be decoded: %v; its checksum fits, so the build that wrote it put this there: "+
		"start that build, or restore the whole data directory from a backup", e.File, e.Cause)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Cause }

// Stage is a step of Write.
type Stage uint8

// Stages of Write, in their order. Up to StageRename the file before stands, whole. After a failure of
// StageDirSync a crash may find the one before or the new one, whole.
const (
	StageWrite Stage = iota + 1
	StageSync
	StageRename
	StageDirSync
)

// String names the stage.
func (s Stage) String() string {
	names := [...]string{StageWrite: "write", StageSync: "fsync", StageRename: "rename", StageDirSync: "fsync of the directory"}
	if int(s) < len(names) && s > 0 {
		return names[s]
	}
	return fmt.Sprintf("stage %d", uint8(s))
}

// WriteError says at which step a snapshot could not be written.
type WriteError struct {
	File  string
	Stage Stage
	Cause error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("snapshot %s: %s: %v", e.File, e.Stage, e.Cause)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Cause }
