package node

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vsr"
)

func TestFence_TheMetricTellsTheKindOfReason(t *testing.T) {
	broken := &fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}
	for _, c := range []struct {
		reason error
		want   FenceKind
	}{
		{&segment.Refusal{Kind: segment.Hole}, FenceSegments},
		{fmt.Errorf("recover: %w", &segment.Refusal{Kind: segment.InteriorDamage}), FenceSegments},
		{&superblock.UnreadableError{Cause: &superblock.CorruptError{}}, FenceSuperblock},
		{&superblock.UnreadableError{Cause: broken}, FenceDevice},
		{&MissingSuperblockError{}, FenceSuperblock},
		{fmt.Errorf("%w after 120 writes", vsr.ErrSuperblockWedged), FenceSuperblock},
		{&OwnerError{}, FenceOwner},
		{&TakeBackError{Append: errors.New("a"), Cut: errors.New("b")}, FenceDevice},
		{errors.New("anything"), FenceOther},
	} {
		if got := (&FenceError{Reason: c.reason}).Kind(); got != c.want {
			t.Errorf("%v: %s, want %s", c.reason, got, c.want)
		}
	}
}
