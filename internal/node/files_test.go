package node

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// A sync that failed behind the end of a segment is unwound to the middle of an older one: that is written again,
// and nothing is left of what followed.
func TestFiles_AFailedSyncIsWrittenAnewAcrossSegments(t *testing.T) {
	mem := vfs.NewMem(1)
	if err := mem.MkdirAll("/p"); err != nil {
		t.Fatal(err)
	}
	f := segmentFiles{fs: mem, dir: "/p"}
	run := func(start uint64, create bool) partition.Run {
		return partition.Run{Create: create, Start: start, Records: [][]byte{make([]byte, 1000)}}
	}
	write := func(runs ...partition.Run) {
		t.Helper()
		if err := f.write(&partition.AppendPlan{Runs: runs}, 0); err != nil {
			t.Fatal(err)
		}
	}
	write(run(0, true), run(10, true))
	set := f.toSync()
	write(run(20, true)) // while the sync runs
	broken := errors.New("device")
	mem.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync && strings.HasSuffix(op.Path, segment.LogName(10)) {
			return broken
		}
		return nil
	})
	if err := set.run(); !errors.Is(err, broken) {
		t.Fatalf("sync: %v", err)
	}
	mem.SetHook(nil)
	f.restore(&set)
	write(run(0, false))
	again := f.toSync()
	if err := again.run(); err != nil {
		t.Fatalf("sync of what was written anew: %v", err)
	}
	for _, start := range []uint64{10, 20} {
		if _, err := mem.Stat(path.Join("/p", segment.LogName(start))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("segment %d is still there: %v", start, err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
}

// What could not be removed behind the end of the log is removed before the log grows.
func TestFiles_SegmentsBehindTheEndAreRemovedBeforeTheNextWrite(t *testing.T) {
	mem := vfs.NewMem(1)
	if err := mem.MkdirAll("/p"); err != nil {
		t.Fatal(err)
	}
	f := segmentFiles{fs: mem, dir: "/p"}
	plan := &partition.AppendPlan{Runs: []partition.Run{
		{Create: true, Records: [][]byte{make([]byte, 100)}}, {Create: true, Start: 10},
	}}
	if err := f.write(plan, 0); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("device")
	mem.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove {
			return broken
		}
		return nil
	})
	back := &partition.AppendPlan{Runs: []partition.Run{{Records: [][]byte{make([]byte, 50)}}}}
	for range 2 {
		if err := f.write(back, 0); !errors.Is(err, broken) {
			t.Fatalf("write while the removal fails: %v", err)
		}
	}
	mem.SetHook(nil)
	if err := f.write(back, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.Stat(path.Join("/p", segment.LogName(10))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("segment 10 is still there: %v", err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
}
