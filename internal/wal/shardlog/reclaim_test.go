package shardlog

import (
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// twoFiles fills a log until its first file, which holds prepares 1 to 5 of the group, is not the active one.
func twoFiles(t *testing.T, m *vfs.Mem, c *chain) *Log {
	t.Helper()
	ls := boot(t, m, testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	other := newChain(9)
	mustAppend(t, l, c.birth())
	mustAppend(t, l, c.prepares(1, 2, 3, 4, 5)...)
	for l.Metrics().Files < 2 {
		mustAppend(t, l, other.control(wal.KindLocal, Local{}.AppendTo(nil)), other.prepare(3000))
	}
	mustAppend(t, l, other.checkpoint(other.op, 1))
	mustSync(t, l)
	return l
}

func blockedBy(l *Log) blocker {
	b, _ := l.logs.blocked(l.chain[0])
	return b
}

// Ops that a Truncate voids do not hold a file, but only once it is synced: until then a crash brings them back.
func TestReclaim_VoidOpsHoldNothing(t *testing.T) {
	c := newChain(2)
	l := twoFiles(t, newFS(t), c)
	mustAppend(t, l, c.checkpoint(2, 1))
	mustSync(t, l)
	if b := blockedBy(l); b != blockPinned {
		t.Fatalf("before the Truncate: %d", b)
	}
	mustAppend(t, l, c.control(wal.KindTruncate, Truncate{FromOp: 3, View: 4}.AppendTo(nil)))
	if b := blockedBy(l); b != blockPinned {
		t.Fatalf("before the sync of the Truncate: %d", b)
	}
	mustSync(t, l)
	if b := blockedBy(l); b != blockNone {
		t.Fatalf("after it: %d", b)
	}
	if err := l.Reclaim(); err != nil || l.Metrics().RecycledFiles != 1 {
		t.Fatalf("%+v, %v", l.Metrics(), err)
	}
}

// A Reset alone gives files free; before its sync the old records still count.
func TestReclaim_ResetHoldsNothingBeforeIt(t *testing.T) {
	c := newChain(2)
	l := twoFiles(t, newFS(t), c)
	mustAppend(t, l, c.control(wal.KindReset, Reset{CommitOp: 9}.AppendTo(nil)))
	if b := blockedBy(l); b == blockNone {
		t.Fatal("an unsynced Reset gave the file free")
	}
	mustSync(t, l)
	if b := blockedBy(l); b != blockNone {
		t.Fatalf("after its sync: %d", b)
	}
}

// A copy that the owner has overtaken is not written: it would be the newest record and an older state.
func TestReclaim_CopyThatWasOvertakenIsNotWritten(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	c, other := newChain(2), newChain(9)
	mustAppend(t, l, c.birth())
	mustAppend(t, l, c.prepare(1))
	mustAppend(t, l, c.checkpoint(1, 1))
	for l.Metrics().Files < 2 {
		mustAppend(t, l, other.prepare(3000))
	}
	mustAppend(t, l, other.checkpoint(other.op, 1))
	mustSync(t, l)
	b, jobs := ls.blocked(l.chain[0])
	if b != blockCopy || len(jobs) != 1 {
		t.Fatalf("%d, %+v", b, jobs)
	}
	mustAppend(t, l, c.prepare(2), c.checkpoint(2, 1))
	if err := l.copyForward(l.chain[0], jobs); err != nil || l.Metrics().CopiedForward != 0 {
		t.Fatalf("%+v, %v", l.Metrics(), err)
	}
	mustSync(t, l)
	if g := find(t, boot(t, crash(m, 1, vfs.LoseUnsynced), testOptions(2)), c); g.Checkpoint.Op != 2 || len(g.Entries) != 0 {
		t.Fatalf("%+v", g)
	}
}

// An Installed record that is copied in a later life does not look like an install of that life.
func TestReclaim_CopyOfAnInstalledKeepsItsTrust(t *testing.T) {
	m := newFS(t)
	c := newChain(3)
	l := shard(t, boot(t, m, testOptions(1)), 0)
	mustAppend(t, l, c.birth())
	mustAppend(t, l, c.control(wal.KindReset, Reset{CommitOp: 9}.AppendTo(nil)))
	mustAppend(t, l, c.control(wal.KindInstalled, EncodeCheckpoint(nil, &Checkpoint{Op: 9, Frontier: 90})))
	mustSync(t, l)
	ls := boot(t, crash(m, 1, vfs.LoseUnsynced), otherBoot(2))
	ls.Replayed()
	if err := ls.Reclaim(); err != nil {
		t.Fatal(err)
	}
	if got := shard(t, ls, 0).Metrics(); got.CopiedForward != 1 || got.Files != 1 {
		t.Fatalf("%+v", got)
	}
	ls = boot(t, crash(ls.fs.(*vfs.Mem), 1, vfs.LoseUnsynced), otherBoot(2))
	g, v := find(t, ls, c), ls.Verdict()
	if g.Checkpoint.Op != 9 || g.Installed || g.TrustLife != 1 || v.UnprovenLife != 2 {
		t.Fatalf("%+v, %+v", g, v)
	}
}

// After a change of the number of shards the records of a group lie in two logs, and order by their lives.
func TestReclaim_GroupThatMovedToAnotherShard(t *testing.T) {
	m := newFS(t)
	c := newChain(2)
	l := shard(t, boot(t, m, testOptions(1)), 1)
	mustAppend(t, l, c.birth(), c.prepare(1))
	mustAppend(t, l, c.prepare(2))
	mustSync(t, l)
	o := testOptions(2)
	o.Shards = 1
	ls := boot(t, crash(m, 1, vfs.KillOnly), o)
	ls.Replayed()
	l = shard(t, ls, 0)
	mustAppend(t, l, c.prepare(3), c.prepare(4))
	mustSync(t, l)
	ls = boot(t, crash(ls.fs.(*vfs.Mem), 1, vfs.LoseUnsynced), o)
	if g := find(t, ls, c); !slices.Equal(ops(g), upTo(1, 4)) || g.State != Intact {
		t.Fatalf("%+v", g)
	}
	ls.Replayed()
	l = shard(t, ls, 0)
	mustAppend(t, l, c.control(wal.KindDropped, nil))
	if err := ls.Reclaim(); err != nil { // syncs what the other log waits for
		t.Fatal(err)
	}
	if got := ls.Orphans(); len(got) != 0 {
		t.Fatalf("orphans %v", got)
	}
	if err := ls.Reclaim(); err != nil {
		t.Fatal(err)
	}
	ls = boot(t, crash(ls.fs.(*vfs.Mem), 1, vfs.LoseUnsynced), o)
	if g, found := ls.Find(protocol.GroupID(2), c.revision); found && !g.Dropped {
		t.Fatalf("the dropped group lives: %+v", g)
	}
}
