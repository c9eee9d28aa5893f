package node

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vsr"
)

// FenceKind sorts the reasons for which partitions are fenced by what an operator does about them.
type FenceKind uint8

// Fence kinds.
const (
	FenceOther      FenceKind = iota
	FenceSegments             // messages are damaged or missing: restore the backup
	FenceSuperblock           // the superblock is damaged, missing, foreign or cannot be written
	FenceOwner                // the directory does not say whose it is
	FenceDevice               // a file could not be read or written: mend the device and restart
	fenceKinds
)

var fenceNames = [fenceKinds]string{
	FenceOther: "other", FenceSegments: "segments", FenceSuperblock: "superblock", FenceOwner: "owner", FenceDevice: "device",
}

// String names the kind as metrics do.
func (k FenceKind) String() string { return fenceNames[k] }

// Kind tells what kind of reason it is. The error of a device counts before what it kept from being read.
func (e *FenceError) Kind() FenceKind {
	switch {
	case is[*TakeBackError](e), is[*fs.PathError](e), is[syscall.Errno](e):
		return FenceDevice
	case is[*segment.Refusal](e):
		return FenceSegments
	case is[*OwnerError](e):
		return FenceOwner
	case is[*superblock.UnreadableError](e), is[*superblock.IdentityError](e), is[*MissingSuperblockError](e),
		is[*StaleSuperblockError](e), errors.Is(e, vsr.ErrSuperblockWedged):
		return FenceSuperblock
	}
	return FenceOther
}

// is reports whether an error of type E is among the causes of err.
func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
