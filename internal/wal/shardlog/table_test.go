package shardlog

import (
	"errors"
	"path"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// The tests of this file are the table of crash points of docs/formats.md, row by row.

const shardDir = walDir + "/shard-0"

func walFile(number uint64) string { return path.Join(shardDir, fileName(number, walSuffix)) }

// place is one record in a file.
type recordPlace struct {
	pos  int64
	head wal.RecordHead
}

// records lists the intact records of a file in a row.
func records(t testing.TB, m vfs.FS, name string) []recordPlace {
	t.Helper()
	b := content(t, m, name)
	h, err := decodeFileHeader(name, b[:fileHeaderBytes])
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.OpenFile(name, vfs.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	r := recordReader{Window: wal.Window{File: f, Name: name, Size: int64(len(b))}, epoch: h.epoch}
	var out []recordPlace
	for pos := int64(fileHeaderBytes); ; {
		head, _, reason, err := r.record(pos)
		if err != nil {
			t.Fatal(err)
		}
		if reason != nil {
			return out
		}
		out = append(out, recordPlace{pos, head})
		pos += head.Span()
	}
}

// spoil inverts a bit of a file.
func spoil(t testing.TB, m *vfs.Mem, name string, pos int64) {
	t.Helper()
	if err := m.FlipBit(name, pos, 3); err != nil {
		t.Fatal(err)
	}
}

func damageOf[E error](ls *Logs) (found []E) {
	for _, d := range ls.Damage() {
		if e, ok := d.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// twoGroups appends a batch with both groups, syncs, appends one more of each, and syncs when asked to.
func twoGroups(t testing.TB, m *vfs.Mem) (l *Log, a, b *chain) {
	t.Helper()
	l = shard(t, boot(t, m, testOptions(1)), 0)
	a, b = newChain(2), newChain(3)
	mustAppend(t, l, a.birth(), b.birth(), a.prepare(100), b.prepare(100))
	mustSync(t, l)
	return l, a, b
}

func TestTable_InterruptedAppendLeavesAPrefix(t *testing.T) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	mustAppend(t, l, a.prepares(100, 200, 300)...)
	last := records(t, m, walFile(1))[6]
	spoil(t, m, walFile(1), last.pos+wal.RecordHeadBytes+300) // in the body
	ls := boot(t, crash(m, 1, vfs.KillOnly), testOptions(2))
	if g := find(t, ls, a); g.State != Intact || !slices.Equal(ops(g), []uint64{1, 2, 3}) {
		t.Fatalf("%+v", g)
	}
	tails := damageOf[*TornTail](ls)
	if len(tails) != 1 || tails[0].Position != last.pos || tails[0].Batch != 2 || len(ls.Damage()) != 1 {
		t.Fatalf("damage %v", ls.Damage())
	}
	// The batch is over; the next one has a new id and the cut stays where it was.
	l = shard(t, ls, 0)
	if batch := mustAppend(t, l, a.birth()); batch != 3 {
		t.Fatalf("batch %d", batch)
	}
	mustSync(t, l)
	again, err := Scan(crash(ls.fs.(*vfs.Mem), 1, vfs.LoseUnsynced), walDir, testOptions(3))
	if err != nil || len(again.Damage()) != 0 {
		t.Fatalf("second boot: %v, %v", again.Damage(), err)
	}
	if g := find(t, again, a); !slices.Equal(ops(g), []uint64{1, 2, 3}) {
		t.Fatalf("%+v", g)
	}
}

func TestTable_AppendedNotSyncedSurvivesAKill(t *testing.T) {
	m := newFS(t)
	l, a, b := twoGroups(t, m)
	mustAppend(t, l, a.prepare(10), b.prepare(10))
	for mode, want := range map[vfs.CrashMode]int{vfs.KillOnly: 2, vfs.LoseUnsynced: 1} {
		ls := boot(t, crash(m, 1, mode), testOptions(2))
		if g := find(t, ls, a); g.State != Intact || len(g.Entries) != want {
			t.Fatalf("%s: %+v", mode, g)
		}
	}
}

func TestTable_LaterBatchOnDiskEarlierTornNeitherSynced(t *testing.T) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	mustAppend(t, l, a.prepare(100))
	mustAppend(t, l, a.prepare(100))
	torn := records(t, m, walFile(1))[4]
	spoil(t, m, walFile(1), torn.pos+8)
	ls := boot(t, crash(m, 1, vfs.KillOnly), testOptions(2))
	if g := find(t, ls, a); g.State != Intact || !slices.Equal(ops(g), []uint64{1}) || len(damageOf[*InteriorError](ls)) != 0 {
		t.Fatalf("%+v, damage %v", g, ls.Damage())
	}
}

func TestTable_SyncedRecordRotted(t *testing.T) {
	m := newFS(t)
	l, a, b := twoGroups(t, m)
	c := newChain(5)
	mustAppend(t, l, c.birth())
	mustAppend(t, l, a.prepare(100))
	mustSync(t, l)
	mustAppend(t, l, a.prepare(100), b.prepare(100))
	d := newChain(7)
	mustAppend(t, l, d.birth(), d.prepare(5))
	mustSync(t, l)
	mustAppend(t, l, a.prepare(1)) // says that all before it is synced
	rotten := records(t, m, walFile(1))[5]
	before := content(t, m, walFile(1))
	for _, off := range []int64{0, 4, 8, 16, 48, 56, wal.RecordHeadBytes + 3, wal.RecordHeadBytes + 300} {
		m := crash(m, 1, vfs.KillOnly)
		spoil(t, m, walFile(1), rotten.pos+off)
		for range 2 { // a second start finds the same
			ls := boot(t, m, testOptions(2))
			damage := damageOf[*InteriorError](ls)
			if len(damage) != 1 || damage[0].Position != rotten.pos {
				t.Fatalf("byte %d: damage %v", off, ls.Damage())
			}
			if g := find(t, ls, a); g.State != Lost || !errors.As(g.Reason, new(*InteriorError)) {
				t.Fatalf("byte %d: the group that lost a record: %+v", off, g)
			}
			if g := find(t, ls, b); g.State != Intact || !slices.Equal(ops(g), []uint64{1, 2}) {
				t.Fatalf("byte %d: the group that chains across: %+v", off, g)
			}
			if g := find(t, ls, c); g.State != Lost {
				t.Fatalf("byte %d: the group that is not seen again: %+v", off, g)
			}
			if g := find(t, ls, d); g.State != Intact || !slices.Equal(ops(g), []uint64{1}) {
				t.Fatalf("byte %d: the group born later: %+v", off, g)
			}
			for i, v := range content(t, m, walFile(1)) {
				if at := int64(i) - rotten.pos; v != before[i] && at != off {
					t.Fatalf("byte %d of the file was changed", i)
				}
			}
			m = crash(m, 1, vfs.KillOnly)
		}
	}
}

func TestTable_LastSyncedRecordRottedInAFileThatWasLeft(t *testing.T) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	mustAppend(t, l, a.prepare(100))
	mustSync(t, l)
	last := records(t, m, walFile(1))[4]
	m = crash(m, 1, vfs.LoseUnsynced)
	boot(t, m, testOptions(2)) // its file says where the one before it ended
	spoil(t, m, walFile(1), last.pos)
	ls := boot(t, crash(m, 1, vfs.KillOnly), testOptions(3))
	if g := find(t, ls, a); g.State != Lost || len(damageOf[*InteriorError](ls)) != 1 {
		t.Fatalf("%+v", g)
	}
}

func TestTable_RecoveryEndsAfterAdoptedInstalledOrAccepted(t *testing.T) {
	for _, kind := range []wal.Kind{wal.KindAdopted, wal.KindInstalled, wal.KindAccepted, wal.KindCheckpoint} {
		m := newFS(t)
		l, a, _ := twoGroups(t, m)
		mustAppend(t, l, a.prepare(100))
		mustSync(t, l)
		mustAppend(t, l, newChain(9).birth())
		spoil(t, m, walFile(1), records(t, m, walFile(1))[4].pos)
		ls := boot(t, crash(m, 1, vfs.KillOnly), testOptions(2))
		if g := find(t, ls, a); g.State != Lost {
			t.Fatalf("%+v", g)
		}
		payload := map[wal.Kind][]byte{
			wal.KindAdopted: Adopted{View: 4, Op: 2}.AppendTo(nil), wal.KindAccepted: Accepted{LogView: 3, Op: 1}.AppendTo(nil),
			wal.KindInstalled:  EncodeCheckpoint(nil, &Checkpoint{Op: 9}),
			wal.KindCheckpoint: EncodeCheckpoint(nil, &Checkpoint{Op: 1}),
		}[kind]
		l = shard(t, ls, 0)
		mustAppend(t, l, a.control(wal.KindLost, LossMark{Reason: 1}.AppendTo(nil)))
		mustAppend(t, l, a.control(kind, payload))
		mustSync(t, l)
		ls = boot(t, crash(ls.fs.(*vfs.Mem), 1, vfs.LoseUnsynced), testOptions(3))
		want := Intact
		if kind == wal.KindCheckpoint {
			want = Lost
		}
		if g := find(t, ls, a); g.State != want || g.LostMark != (want == Lost) || g.TrustLife != map[bool]uint64{true: 2, false: 1}[want == Intact] {
			t.Fatalf("kind %d: %+v", kind, g)
		}
	}
}

// stopAt runs PrepareFile on a full log until an operation that matches, and returns what a crash there leaves.
func stopAt(t *testing.T, match func(op vfs.Op) bool, after bool) (*vfs.Mem, *chain) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	var found *vfs.Mem
	hit := false
	for found == nil {
		_, err := l.Append(a.prepares(3000))
		if err == nil {
			continue
		}
		a.op--
		m.SetHook(func(op vfs.Op) error {
			if hit && after && found == nil {
				found = crash(m, 1, vfs.KillOnly)
			}
			if match(op) && !hit {
				hit = true
				if !after {
					found = crash(m, 1, vfs.KillOnly)
				}
			}
			return nil
		})
		if err := l.PrepareFile(); err != nil {
			t.Fatal(err)
		}
	}
	return found, a
}

func TestTable_RotationInterrupted(t *testing.T) {
	isRename := func(op vfs.Op) bool { return op.Kind == vfs.OpRename && path.Ext(op.NewPath) == walSuffix }
	isHead := func(op vfs.Op) bool { return op.Kind == vfs.OpRename && path.Base(op.NewPath) == headName }
	for what, c := range map[string]struct {
		match  func(op vfs.Op) bool
		after  bool
		number uint64 // of the file that the next life begins
	}{
		"header written, not renamed": {isRename, false, 2},
		"renamed, head not replaced":  {isHead, false, 3},
		"head replaced, no record":    {isHead, true, 3},
	} {
		m, a := stopAt(t, c.match, c.after)
		var epoch uint64
		if b, err := vfs.ReadFile(m, walFile(2)+".spare", 1<<20); err == nil {
			h, err := decodeFileHeader("", b[:fileHeaderBytes])
			if err != nil {
				t.Fatal(err)
			}
			epoch = h.epoch
		}
		ls := boot(t, m, testOptions(2))
		if len(ls.Damage()) != 0 || !ls.Verdict().Proven {
			t.Fatalf("%s: %v, %+v", what, ls.Damage(), ls.Verdict())
		}
		if g := find(t, ls, a); !slices.Equal(ops(g), upTo(1, a.op)) {
			t.Fatalf("%s: %v, want %d", what, ops(g), a.op)
		}
		active := shard(t, ls, 0).active().header
		if active.number != c.number || active.epoch == epoch || active.life != 2 {
			t.Fatalf("%s: active %+v", what, active)
		}
	}
}

func TestTable_OldRecordsOfARecycledFileAreForeign(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	a := newChain(2)
	mustAppend(t, l, a.birth())
	for l.Metrics().RecycledFiles < 4 {
		mustAppend(t, l, a.prepare(500))
		mustAppend(t, l, a.checkpoint(a.op, 1))
		if err := l.Reclaim(); err != nil {
			t.Fatal(err)
		}
	}
	for l.Metrics().NewestFile < 7 || l.active().filled < l.logs.opts.FileBytes {
		mustAppend(t, l, a.prepare(500))
	}
	mustSync(t, l)
	mustAppend(t, l, a.prepare(2000))
	name := l.active().path
	last := records(t, m, name)
	at := last[len(last)-1]
	// The record did not arrive: what lies there is of the earlier use, whole records among it.
	spoil(t, m, name, at.pos)
	ls = boot(t, crash(m, 1, vfs.KillOnly), testOptions(2))
	if g := find(t, ls, a); g.State != Intact || !slices.Equal(ops(g), upTo(g.Checkpoint.Op+1, a.op-1)) {
		t.Fatalf("%+v", ops(g))
	}
}

func TestTable_NothingIsReclaimedBeforeTheCheckpointIsSynced(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	a := newChain(3)
	mustAppend(t, l, a.birth(), a.prepare(10))
	for l.Metrics().Files < 3 {
		mustAppend(t, l, newChain(5).control(wal.KindDropped, nil), a.checkpoint(0, 1))
		mustAppend(t, l, a.prepare(3000))
	}
	mustSync(t, l)
	mustAppend(t, l, a.checkpoint(a.op, 1))
	if b, _ := ls.blocked(l.chain[0]); b != blockSync {
		t.Fatalf("the oldest file is held by %d", b)
	}
	left := true
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync {
			left = false
		}
		if left && op.Kind == vfs.OpRename {
			t.Errorf("before the sync: %s", op)
		}
		return nil
	})
	if err := l.Reclaim(); err != nil {
		t.Fatal(err)
	}
	if l.Metrics().RecycledFiles == 0 {
		t.Fatal("nothing was reclaimed")
	}
}

func TestTable_HeadIsReplacedBeforeTheOldestFileLeaves(t *testing.T) {
	m := newFS(t)
	ls := boot(t, m, testOptions(1))
	ls.Replayed()
	l := shard(t, ls, 0)
	a := newChain(2)
	mustAppend(t, l, a.birth())
	for l.Metrics().Files < 2 {
		mustAppend(t, l, a.prepare(3000))
	}
	mustAppend(t, l, a.checkpoint(a.op, 1))
	mustSync(t, l)
	checked := false
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && op.Path == walFile(1) {
			h, err := decodeHead("", content(t, crash(m, 1, vfs.LoseUnsynced), path.Join(shardDir, headName)))
			if checked = true; err != nil || h.oldest != 2 {
				t.Errorf("head %+v, %v", h, err)
			}
		}
		return nil
	})
	if err := l.Reclaim(); err != nil || !checked {
		t.Fatalf("reclaim: %v", err)
	}
}

func TestTable_BirthAlone(t *testing.T) {
	m := newFS(t)
	l := shard(t, boot(t, m, testOptions(1)), 0)
	a := newChain(2)
	mustAppend(t, l, a.birth())
	mustSync(t, l)
	g := find(t, boot(t, crash(m, 1, vfs.LoseUnsynced), testOptions(2)), a)
	if !g.Born || g.Checkpoint != nil || len(g.Entries) != 0 || g.TrustLife != 1 {
		t.Fatalf("%+v", g)
	}
}

// otherBoot are the options after a restart of the machine.
func otherBoot(seed uint64) Options {
	o := testOptions(seed)
	o.BootID = [16]byte{byte(seed), 0xFF}
	return o
}

func TestTable_VerdictByBootAndCleanRecord(t *testing.T) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	_ = l
	for _, c := range []struct {
		what   string
		o      Options
		clean  bool
		proven bool
	}{
		{"killed, same boot", testOptions(2), false, true},
		{"killed, other boot", otherBoot(3), false, false},
		{"stopped, other boot", otherBoot(4), true, true},
		{"killed, boot not known", func() Options { o := testOptions(5); o.BootID = [16]byte{}; return o }(), false, false},
	} {
		m := crash(m, 1, vfs.KillOnly)
		ls := boot(t, m, testOptions(9))
		mustAppend(t, shard(t, ls, 0), a.control(wal.KindLocal, Local{}.AppendTo(nil)))
		if err := ls.Close(c.clean); err != nil {
			t.Fatal(err)
		}
		ls, err := Scan(crash(m, 1, vfs.KillOnly), walDir, c.o)
		if err != nil {
			t.Fatal(err)
		}
		v := ls.Verdict()
		if v.Proven != c.proven || v.Life != 3 || (v.UnprovenLife == 3) == c.proven {
			t.Errorf("%s: %+v", c.what, v)
		}
	}
}

// Records of an earlier boot of the machine say so until a checkpoint covers them, whatever was written since.
func TestTable_RecordsOfAnotherBootOfTheMachine(t *testing.T) {
	m := newFS(t)
	_, a, _ := twoGroups(t, m)
	unknown := testOptions(5)
	unknown.BootID = [16]byte{}
	for _, c := range []struct {
		o    Options
		want bool
	}{{testOptions(2), false}, {otherBoot(2), true}, {unknown, true}} {
		ls, err := Scan(crash(m, 1, vfs.KillOnly), walDir, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if g := find(t, ls, a); g.Rebooted != c.want || len(g.Entries) == 0 {
			t.Errorf("boot %x: %+v", c.o.BootID, g)
		}
	}
	ls := boot(t, crash(m, 1, vfs.KillOnly), otherBoot(2))
	ls, err := Scan(crash(ls.fs.(*vfs.Mem), 1, vfs.KillOnly), walDir, otherBoot(2))
	if err != nil {
		t.Fatal(err)
	}
	if !find(t, ls, a).Rebooted {
		t.Error("a second start of the same boot forgot it")
	}
	ls = boot(t, crash(m, 1, vfs.KillOnly), otherBoot(2))
	mustAppend(t, shard(t, ls, 0), a.checkpoint(a.op, 1))
	ls, err = Scan(crash(ls.fs.(*vfs.Mem), 1, vfs.KillOnly), walDir, otherBoot(2))
	if err != nil {
		t.Fatal(err)
	}
	if g := find(t, ls, a); g.Rebooted {
		t.Errorf("behind the checkpoint: %+v", g)
	}
}

func TestTable_KilledRightAfterBeginKeepsTheVerdict(t *testing.T) {
	m := newFS(t)
	_, a, _ := twoGroups(t, m)
	ls := boot(t, crash(m, 1, vfs.LoseUnsynced), otherBoot(2))
	if v := ls.Verdict(); v.Proven || v.UnprovenLife != 2 {
		t.Fatalf("%+v", v)
	}
	ls = boot(t, crash(ls.fs.(*vfs.Mem), 1, vfs.KillOnly), otherBoot(2))
	if v := ls.Verdict(); v.UnprovenLife != 2 || v.Life != 3 || find(t, ls, a).TrustLife != 1 {
		t.Fatalf("%+v", v)
	}
}

func TestTable_CleanStopDoesNotRestoreTrust(t *testing.T) {
	m := newFS(t)
	_, a, _ := twoGroups(t, m)
	ls := boot(t, crash(m, 1, vfs.KillOnly), otherBoot(2))
	if err := ls.Close(true); err != nil {
		t.Fatal(err)
	}
	ls = boot(t, crash(ls.fs.(*vfs.Mem), 1, vfs.LoseUnsynced), otherBoot(3))
	v, g := ls.Verdict(), find(t, ls, a)
	if !v.Proven || v.UnprovenLife != 2 || g.TrustLife >= v.UnprovenLife {
		t.Fatalf("%+v, %+v", v, g)
	}
}

func TestTable_TornCleanRecord(t *testing.T) {
	m := newFS(t)
	twoGroups(t, m)
	ls := boot(t, crash(m, 1, vfs.KillOnly), testOptions(2))
	if err := ls.Close(true); err != nil {
		t.Fatal(err)
	}
	m = crash(ls.fs.(*vfs.Mem), 1, vfs.KillOnly)
	spoil(t, m, walFile(2), records(t, m, walFile(2))[0].pos+20)
	for want, o := range map[bool]Options{true: testOptions(3), false: otherBoot(3)} {
		ls, err := Scan(crash(m, 1, vfs.KillOnly), walDir, o)
		if err != nil || ls.Verdict().Proven != want {
			t.Fatalf("%+v, %v", ls.Verdict(), err)
		}
	}
}

func TestTable_FailedSyncOfTheLastLifeShowsAtBoot(t *testing.T) {
	m := newFS(t)
	twoGroups(t, m)
	m = crash(m, 1, vfs.KillOnly)
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && op.Path == walFile(1) {
			return errors.New("medium error")
		}
		return nil
	})
	ls, err := Scan(m, walDir, testOptions(2))
	if err != nil || ls.Verdict().Proven || ls.Verdict().UnprovenLife != 2 {
		t.Fatalf("%+v, %v", ls.Verdict(), err)
	}
}

func TestTable_CopiesInBothFilesAfterAFailedSync(t *testing.T) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	mustAppend(t, l, a.prepare(100))
	left := 1
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync && left > 0 {
			left--
			return errors.New("medium error")
		}
		return nil
	})
	_, _ = l.Sync()
	if err := l.PrepareFile(); err != nil {
		t.Fatal(err)
	}
	cut := records(t, m, walFile(1))[4]
	h, err := decodeFileHeader("", content(t, m, walFile(2))[:fileHeaderBytes])
	if err != nil || int64(h.prevEnd) != cut.pos || h.prevBatch != 1 {
		t.Fatalf("%+v, %v", h, err)
	}
	if got := records(t, m, walFile(2)); len(got) != 1 || got[0].head.Batch != 2 {
		t.Fatalf("%+v", got)
	}
	ls := boot(t, crash(m, 1, vfs.KillOnly), testOptions(2))
	if g := find(t, ls, a); !slices.Equal(ops(g), []uint64{1, 2}) || g.Entries[1].file.header.number != 2 {
		t.Fatalf("%+v", g)
	}
}
