package shardlog

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

func TestLog_WhatWasAppendedIsReplayed(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	l := shard(t, ls, 0)
	a, b := newChain(2), newChain(3)
	mustAppend(t, l, a.birth(), b.birth())
	var want [][]byte
	for i := range 40 {
		records := append(a.prepares(10*i, 1), b.prepare(i))
		want = append(want, records[0].Body, records[1].Body)
		mustAppend(t, l, records...)
	}
	mustSync(t, l)
	if got := l.Metrics(); got.Files < 2 || got.Records != 122 || got.UnsyncedBytes != 0 {
		t.Fatalf("metrics %+v", got)
	}
	for _, mode := range vfs.CrashModes {
		ls := boot(t, crash(m, 1, mode), testOptions(2))
		if len(ls.Damage()) > 0 {
			t.Fatalf("%s: damage %v", mode, ls.Damage())
		}
		g := find(t, ls, a)
		if g.State != Intact || !g.Born || !slices.Equal(ops(g), upTo(1, 80)) || g.TrustLife != 1 {
			t.Fatalf("%s: %+v", mode, g)
		}
		var buf []byte
		for i, e := range g.Entries {
			h, body, err := ls.Read(e, buf)
			if err != nil || h.Op() != e.Op || !bytes.Equal(body, want[i]) {
				t.Fatalf("%s: read of op %d: %v", mode, e.Op, err)
			}
		}
		if g := find(t, ls, b); !slices.Equal(ops(g), upTo(1, 40)) {
			t.Fatalf("%s: %+v", mode, g)
		}
		ls.Replayed()
		if _, _, err := ls.Read(g.Entries[0], nil); !errors.Is(err, ErrClosed) {
			t.Fatalf("read after the replay: %v", err)
		}
	}
}

func TestLog_BatchIDsGoOnAcrossFilesAndLives(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	c := newChain(2)
	var next uint64
	for life := range 3 {
		l := shard(t, ls, 0)
		for range 30 {
			if next++; mustAppend(t, l, c.prepare(2000)) != next {
				t.Fatalf("life %d: batch is not %d", life, next)
			}
		}
		mustSync(t, l)
		if l.Synced() != next {
			t.Fatalf("synced %d, want %d", l.Synced(), next)
		}
		ls = boot(t, crash(m, 1, vfs.KillOnly), testOptions(uint64(life)+5))
		m = ls.fs.(*vfs.Mem)
		if v := ls.Verdict(); v.Life != uint64(life)+2 || !v.Proven {
			t.Fatalf("verdict %+v", v)
		}
	}
}

func TestLog_ReclaimKeepsARecordOfEveryLivingGroup(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	idle, busy := newChain(2), newChain(4)
	mustAppend(t, l, idle.birth(), busy.birth(), idle.prepare(10))
	mustAppend(t, l, idle.checkpoint(1, 1))
	for i := range 300 {
		mustAppend(t, l, busy.prepare(1000))
		if i%10 == 0 {
			mustAppend(t, l, busy.checkpoint(busy.op, 1))
			mustSync(t, l)
			if err := l.Reclaim(); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := l.Metrics()
	if got.RetainedBytes > 4*l.logs.opts.FileBytes || got.RecycledFiles < 5 || got.CopiedForward < 3 || got.Spares > sparesMax {
		t.Fatalf("metrics %+v", got)
	}
	mustSync(t, l)
	ls = boot(t, crash(m, 3, vfs.LoseUnsynced), testOptions(2))
	if g := find(t, ls, idle); g.Checkpoint == nil || g.Checkpoint.Op != 1 || g.TrustLife != 1 || len(g.Entries) != 0 {
		t.Fatalf("idle group: %+v", g)
	}
	if g := find(t, ls, busy); g.Checkpoint == nil || !slices.Equal(ops(g), upTo(g.Checkpoint.Op+1, 300)) {
		t.Fatalf("busy group: %+v", g)
	}
}

func TestLog_PinningNamesTheGroupsThatHoldTheOldestFile(t *testing.T) {
	ls := boot(t, newFS(t), testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	idle, busy := newChain(2), newChain(4)
	mustAppend(t, l, idle.birth(), idle.prepare(10), busy.birth())
	for !l.Full() {
		mustAppend(t, l, busy.prepare(3000))
		if err := l.Reclaim(); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Pinning(); !slices.Equal(got, []protocol.GroupID{2, 4}) {
		t.Fatalf("pinning %v", got)
	}
	mustAppend(t, l, busy.checkpoint(busy.op, 1))
	mustSync(t, l)
	if got := l.Pinning(); !slices.Equal(got, []protocol.GroupID{2}) {
		t.Fatalf("pinning %v", got)
	}
	mustAppend(t, l, idle.control(wal.KindDropped, nil))
	if err := l.Reclaim(); err != nil {
		t.Fatal(err)
	}
	if got := l.Metrics(); got.Files != 1 || l.Full() || len(l.Pinning()) != 0 {
		t.Fatalf("metrics %+v", got)
	}
}

func TestLog_RefusesWhatAScanWouldTakeForDamage(t *testing.T) {
	ls := boot(t, newFS(t), testOptions(1))
	l := shard(t, ls, 0)
	good := newChain(2).prepare(10)
	for what, spoil := range map[string]func(r *Record){
		"no header":          func(r *Record) { r.Header = nil },
		"wrong group":        func(r *Record) { r.Group = 3 },
		"body of other size": func(r *Record) { r.Body = r.Body[1:] },
		"unsealed":           func(r *Record) { h := *r.Header; h.SetOp(9); r.Header = &h },
		"clean":              func(r *Record) { *r = Record{Kind: wal.KindClean} },
		"unknown kind":       func(r *Record) { *r = Record{Kind: 13} },
		"short checkpoint":   func(r *Record) { *r = Record{Kind: wal.KindCheckpoint, Body: make([]byte, 335)} },
		"birth with payload": func(r *Record) { *r = Record{Kind: wal.KindBirth, Body: []byte{1}} },
	} {
		r := good
		spoil(&r)
		if _, err := l.Append([]Record{good, r}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := l.Append([]Record{newChain(2).prepare(40 << 10)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := l.Append(nil); !errors.Is(err, ErrRefused) {
		t.Errorf("empty: %v", err)
	}
	if mustAppend(t, l, good) != 1 {
		t.Error("refused batches took an id")
	}
}

func TestLog_FailedSyncIsCarriedOver(t *testing.T) {
	for _, failures := range []int{1, 3} {
		m := newFS(t)
		ls := boot(t, m, testOptions(1))
		l := shard(t, ls, 0)
		a, b := newChain(2), newChain(3) // kept copies, and read back
		mustAppend(t, l, a.birth(), b.birth(), a.prepare(100), b.prepare(100))
		mustSync(t, l)
		for range 5 {
			mustAppend(t, l, append(a.prepares(300, 1), b.prepare(200))...)
		}
		last := mustAppend(t, l, b.checkpoint(3, 1))
		left := failures
		m.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpDatasync && left > 0 {
				left--
				return errors.New("medium error")
			}
			return nil
		})
		for i := range failures {
			var failed *SyncError
			if covered, err := l.Sync(); !errors.As(err, &failed) || failed.Failures != i+1 || covered != 1 {
				t.Fatalf("failed sync: %d, %v", covered, err)
			}
			if _, err := l.Append([]Record{a.birth()}); !errors.Is(err, ErrNotReady) || !l.WantsFile() {
				t.Fatalf("append after a failed sync: %v", err)
			}
			if err := l.PrepareFile(); err != nil {
				t.Fatal(err)
			}
		}
		mustAppend(t, l, a.prepare(1))
		if covered, err := l.Sync(); err != nil || covered != last+1 {
			t.Fatalf("sync: %d, %v", covered, err)
		}
		for _, mode := range vfs.CrashModes {
			ls := boot(t, crash(m, 5, mode), testOptions(2))
			if g := find(t, ls, a); g.State != Intact || !slices.Equal(ops(g), upTo(1, 12)) {
				t.Fatalf("%s: %+v, damage %v", mode, g, ls.Damage())
			}
			if g := find(t, ls, b); g.State != Intact || g.Checkpoint.Op != 3 || !slices.Equal(ops(g), upTo(4, 6)) {
				t.Fatalf("%s: %+v", mode, g)
			}
		}
	}
}

func TestLog_SyncsThatKeepFailingEndIt(t *testing.T) {
	m := newFS(t)
	l := shard(t, boot(t, m, testOptions(1)), 0)
	mustAppend(t, l, newChain(2).birth())
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync {
			return errors.New("medium error")
		}
		return nil
	})
	for range 50 {
		_, err := l.Sync()
		if errors.Is(err, ErrOutOfService) {
			if files := l.Metrics().Files; files > failedSyncsMax+2 {
				t.Fatalf("%d files", files)
			}
			if _, err := l.Append([]Record{newChain(2).birth()}); !errors.Is(err, ErrOutOfService) {
				t.Fatal(err)
			}
			return
		}
		_ = l.PrepareFile()
	}
	t.Fatal("the log never gave up")
}

func TestLog_UnsyncedRecordsAreBounded(t *testing.T) {
	o := testOptions(1)
	o.FileBytes, o.RetainedBytes = 128<<20, 256<<20
	l := shard(t, boot(t, newFS(t), o), 0)
	l.wantEnd = o.FileBytes // filling is a sync, too
	if err := l.PrepareFile(); err != nil {
		t.Fatal(err)
	}
	c := newChain(2)
	big := c.prepare(20 << 20)
	for range 3 {
		mustAppend(t, l, big)
	}
	if _, err := l.Append([]Record{big}); !errors.Is(err, ErrUnsynced) {
		t.Fatal(err)
	}
	written := newChain(3).prepare(10)
	mustAppend(t, l, written)
	mustSync(t, l)
	mustAppend(t, l, big)
}

func TestLog_WriteThatFailsClaimsNothing(t *testing.T) {
	m := newFS(t)
	l := shard(t, boot(t, m, testOptions(1)), 0)
	c := newChain(2)
	mustAppend(t, l, c.birth())
	failed := *c
	for range 6 {
		left := 1
		m.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite && left > 0 {
				left--
				return errors.New("medium error")
			}
			return nil
		})
		if _, err := l.Append(failed.prepares(700, 800, 900)); err == nil || errors.Is(err, ErrNotReady) {
			t.Fatal(err)
		}
		m.SetHook(nil)
	}
	if batch := mustAppend(t, l, c.prepares(10, 20)...); batch != 2 {
		t.Fatalf("batch %d", batch)
	}
	for _, mode := range []vfs.CrashMode{vfs.KillOnly} {
		if g := find(t, boot(t, crash(m, 1, mode), testOptions(2)), c); !slices.Equal(ops(g), []uint64{1, 2}) || g.State != Intact {
			t.Fatalf("%+v", g)
		}
	}
	mustSync(t, l)
	if g := find(t, boot(t, crash(m, 1, vfs.LoseUnsynced), testOptions(2)), c); !slices.Equal(ops(g), []uint64{1, 2}) {
		t.Fatalf("%+v", g)
	}
}
