package shardlog

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/galgolog/galgo/internal/vfs"
)

// Everything runs beside the appends of the owner; the race detector judges, and what was synced is there.
func TestLog_JobsRunBesideAppends(t *testing.T) {
	m := newFS(t)
	o := testOptions(1)
	o.FileBytes, o.RetainedBytes = 64<<10, 128<<10
	ls := boot(t, m, o)
	ls.Replayed()
	l := shard(t, ls, 0)
	var stop atomic.Bool
	var jobs sync.WaitGroup
	for _, job := range []func() error{
		func() error { _, err := l.Sync(); return err },
		l.PrepareFile,
		l.Reclaim,
		func() error { l.Metrics(); l.Pinning(); l.Full(); l.WantsFile(); return nil },
	} {
		jobs.Go(func() {
			for !stop.Load() {
				if err := job(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	idle, busy := newChain(2), newChain(4)
	append1 := func(records ...Record) {
		for {
			_, err := l.Append(records)
			if err == nil {
				return
			}
			if !errors.Is(err, ErrNotReady) {
				t.Fatal(err)
			}
		}
	}
	append1(idle.birth(), busy.birth(), idle.checkpoint(0, 1))
	for i := range 2000 {
		append1(busy.prepares(100, 500)...)
		if i%50 == 0 {
			append1(busy.checkpoint(busy.op-1, 1))
		}
	}
	stop.Store(true)
	jobs.Wait()
	mustSync(t, l)
	if l.Metrics().RecycledFiles == 0 {
		t.Error("no file was recycled")
	}
	ls = boot(t, crash(m, 1, vfs.LoseUnsynced), testOptions(2))
	if g := find(t, ls, busy); !slices.Equal(ops(g), upTo(g.Checkpoint.Op+1, 4000)) {
		t.Fatalf("busy group: checkpoint %d, %d entries", g.Checkpoint.Op, len(g.Entries))
	}
	find(t, ls, idle)
}
