package shardlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// crashLife runs a first life of a seed that is only killed, and a second one that begins on its files, works,
// reclaims and stops in order, until operation n. It reports whether that operation was reached.
func crashLife(t *testing.T, seed, n uint64, mode vfs.CrashMode) bool {
	w := newWorld(t, seed)
	w.note = fmt.Sprintf("seed %d, operation %d, %s", seed, n, mode)
	if err := w.boot(); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if err := w.act(); err != nil {
			t.Fatal(err)
		}
	}
	w.fs = w.fs.CrashClone(w.rng, vfs.KillOnly)
	var last vfs.Op
	w.fs.SetHook(func(op vfs.Op) error {
		if last = op; op.Number == n {
			return vfs.ErrCrashed
		}
		return nil
	})
	w.logs = [modelShards]*Log{}
	err := w.boot()
	for i := 0; err == nil && i < 50; i++ {
		err = w.act()
	}
	if err == nil {
		err = w.ls.Close(true)
	}
	if err != nil && !errors.Is(err, vfs.ErrCrashed) {
		t.Fatalf("%s: %s: %v", w.note, last, err)
	}
	w.noteSynced()
	w.note = fmt.Sprintf("%s: %s", w.note, last)
	for range 2 { // the second boot must find the same
		w.fs = w.fs.CrashClone(w.rng, mode)
		w.logs = [modelShards]*Log{}
		if err := w.boot(); err != nil {
			t.Fatalf("%s: %v", w.note, err)
		}
	}
	return err != nil
}

func TestCrash_AtEveryOperation(t *testing.T) {
	for seed := range uint64(3) {
		for n := uint64(1); ; n++ {
			reached := false
			for _, mode := range vfs.CrashModes {
				reached = crashLife(t, seed, n, mode)
			}
			if !reached {
				if n < 60 {
					t.Fatalf("seed %d: only %d operations", seed, n)
				}
				break
			}
		}
	}
}

// A life that begins on logs of an earlier one and crashes at any operation of Begin leaves the verdict as it was,
// or unproven.
func TestCrash_WithinBeginKeepsTheVerdict(t *testing.T) {
	for _, cleanly := range []bool{true, false} {
		m := newFS(t)
		ls := boot(t, m, testOptions(1))
		c := newChain(3)
		mustAppend(t, shard(t, ls, 0), c.birth(), c.prepare(10))
		mustAppend(t, shard(t, ls, 1), newChain(5).birth())
		if err := ls.Close(cleanly); err != nil {
			t.Fatal(err)
		}
		m = crash(m, 1, vfs.KillOnly)
		for n := uint64(1); ; n++ {
			o := testOptions(2)
			o.BootID[0] = 2
			during := crash(m, 2, vfs.KillOnly)
			during.SetHook(vfs.CrashAt(n))
			ls, err := Scan(during, walDir, o)
			if err == nil && ls.Verdict().Proven != cleanly {
				t.Fatalf("verdict %+v", ls.Verdict())
			}
			if err == nil {
				err = ls.Begin()
			}
			if err == nil {
				break
			}
			for _, mode := range vfs.CrashModes {
				after, err := Scan(crash(during, n, mode), walDir, o)
				if err != nil {
					t.Fatal(err)
				}
				v := after.Verdict()
				if !cleanly && v.UnprovenLife == 0 {
					t.Fatalf("operation %d, %s: %+v", n, mode, v)
				}
				if g := find(t, after, c); g.State != Intact || !slices.Equal(ops(g), []uint64{1}) {
					t.Fatalf("operation %d, %s: %+v", n, mode, g)
				}
			}
		}
	}
}

// Removing the log of a shard that is no more must not be mistaken for damage, wherever it is interrupted.
func TestCrash_WithinTheRemovalOfAClosingLog(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	c := newChain(2)
	mustAppend(t, shard(t, ls, 3), c.birth(), c.prepare(10))
	if err := ls.Close(true); err != nil {
		t.Fatal(err)
	}
	m = crash(m, 1, vfs.KillOnly)
	for n := uint64(1); ; n++ {
		o := testOptions(2)
		o.Shards = 2
		during := crash(m, 2, vfs.KillOnly)
		ls := boot(t, during, o)
		ls.Replayed()
		if got := ls.Orphans(); !slices.Equal(got, []protocol.GroupID{2}) {
			t.Fatalf("orphans %v", got)
		}
		if err := ls.Reclaim(); err != nil {
			t.Fatal(err)
		}
		l := shard(t, ls, 0)
		mustAppend(t, l, c.checkpoint(1, 1))
		mustSync(t, l)
		during.SetHook(vfs.CrashAt(during.Ops() + n))
		err := ls.Reclaim()
		for _, mode := range vfs.CrashModes {
			after := boot(t, crash(during, n, mode), o)
			for _, d := range after.Damage() {
				t.Fatalf("operation %d, %s: %v", n, mode, d)
			}
			if g := find(t, after, c); g.Checkpoint == nil || g.Checkpoint.Op != 1 || len(g.Entries) != 0 {
				t.Fatalf("operation %d, %s: %+v", n, mode, g)
			}
		}
		if err == nil {
			if names, err := during.ReadDir(walDir); err != nil || !slices.Equal(names, []string{"shard-0"}) {
				t.Fatalf("directories %v, %v", names, err)
			}
			return
		}
	}
}

// A Begin that found the disk full at any of its operations, on whatever an interrupted Reclaim and an interrupted
// Begin had left, goes on when it is repeated, and what it makes is a log.
func TestBegin_IsRepeatedAfterAnError(t *testing.T) {
	m := newFS(t)
	c := newChain(3)
	l := twoFiles(t, m, c)
	mustAppend(t, l, c.checkpoint(c.op, 1))
	mustSync(t, l)
	var interrupted *vfs.Mem
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && strings.HasSuffix(op.NewPath, spareSuffix) {
			interrupted = m.CrashClone(rngOf(1), vfs.KillOnly)
		}
		return nil
	})
	if err := l.Reclaim(); err != nil || interrupted == nil {
		t.Fatal("no file to recycle", err)
	}
	for n := uint64(1); ; n++ {
		before := crash(interrupted, n, vfs.KillOnly)
		before.SetHook(vfs.CrashAt(n))
		ls, err := Scan(before, walDir, testOptions(2))
		if err == nil {
			err = ls.Begin()
		}
		for k := uint64(1); repeatBegin(t, before, c, n, k); k++ {
		}
		if err == nil {
			break
		}
	}
}

// repeatBegin fails operation k of a Begin on disk and repeats it. It reports whether there was such an operation.
func repeatBegin(t *testing.T, disk *vfs.Mem, c *chain, n, k uint64) bool {
	t.Helper()
	m := crash(disk, n, vfs.KillOnly)
	ls, err := Scan(m, walDir, testOptions(3))
	if err != nil {
		t.Fatal(err)
	}
	m.SetHook(vfs.FailAt(m.Ops()+k, syscall.ENOSPC))
	failed := ls.Begin()
	if failed != nil && !errors.Is(failed, syscall.ENOSPC) {
		t.Fatalf("operation %d, then %d: %v", n, k, failed)
	}
	m.SetHook(nil)
	if err := ls.Begin(); err != nil {
		t.Fatalf("operation %d, then %d (%v), repeated: %v", n, k, failed, err)
	}
	next := *c
	mustAppend(t, shard(t, ls, 0), next.prepare(20))
	mustSync(t, shard(t, ls, 0))
	after, err := Scan(crash(m, k, vfs.LoseUnsynced), walDir, testOptions(4))
	if err != nil || len(after.Damage()) > 0 {
		t.Fatalf("operation %d, then %d: %v, %v", n, k, after.Damage(), err)
	}
	if g := find(t, after, c); g.State != Intact || !slices.Equal(ops(g), []uint64{next.op}) {
		t.Fatalf("operation %d, then %d: %+v", n, k, g)
	}
	return failed != nil
}
