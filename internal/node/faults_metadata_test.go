package node

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
)

// The rows of the table of faults that concern the metadata group of one node, one test a row, named after it.
// Row 21, a crash in each phase of a checkpoint, is in checkpoint_crash_test.go; damage of single bytes is tested
// where the files are read, in internal/snapshot, superblock and wal.

const metaDir = "/data/metadata/"

// afterPowerLoss is what a disk holds when power is lost now.
func afterPowerLoss(disk *vfs.Mem) *vfs.Mem {
	return disk.CrashClone(rand.New(rand.NewPCG(3, 3)), vfs.LoseUnsynced)
}

// stopped is the disk of a node with checkpoints, after the loss of power, and the life that ran on it.
func stopped(t *testing.T) (*vfs.Mem, *metaLife) {
	t.Helper()
	disk := vfs.NewMem(1)
	l := played(t, disk, 60)
	if l.n.metrics.checkpoints.Load() == 0 {
		t.Fatal("no checkpoint")
	}
	return afterPowerLoss(disk), l
}

// refuses wants a start on disk to be refused with an error of type E that says what to do, twice: the first
// refusal must not make the second start succeed. Nothing may be changed by it.
func refuses[E error](t *testing.T, disk *vfs.Mem) E {
	t.Helper()
	before := contents(t, disk)
	var refusal E
	for range 2 {
		_, err := bootMeta(disk, 1, crashSlots, nil)
		if !errors.As(err, &refusal) {
			t.Fatalf("start: %v, want a %T", err, refusal)
		}
	}
	if after := contents(t, disk); !slices.Equal(before, after) {
		t.Errorf("the refused start changed the directory: %q, was %q", after, before)
	}
	text := refusal.Error()
	if !slices.ContainsFunc([]string{"restore", "recover", "set it back", "start the build", "put ", "configured"}, func(s string) bool { return strings.Contains(text, s) }) {
		t.Errorf("the refusal does not say what to do: %s", text)
	}
	return refusal
}

// contents describes the files of the metadata group.
func contents(t *testing.T, disk *vfs.Mem) (files []string) {
	t.Helper()
	names, err := disk.ReadDir(metaDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := vfs.ReadFile(disk, metaDir+name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, name+": "+string(b))
	}
	return files
}

// goesOnAs wants a start on disk to come to the state of l.
func goesOnAs(t *testing.T, disk *vfs.Mem, l *metaLife) *metaLife {
	t.Helper()
	again, err := bootMeta(disk, 1, crashSlots, l)
	if err != nil {
		t.Fatal(err)
	}
	_, want := l.state()
	if _, got := again.state(); !bytes.Equal(got, want) {
		t.Fatal("another state after the start")
	}
	if a, answered := again.stream(77); !answered || a.outcome.Verdict != vsr.Accepted {
		t.Fatalf("the next request: %v, %+v", answered, a.outcome)
	}
	return again
}

func remove(t *testing.T, disk *vfs.Mem, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := disk.Remove(metaDir + name); err != nil {
			t.Fatal(err)
		}
	}
}

// put replaces a file by one of another disk.
func put(t *testing.T, disk, from *vfs.Mem, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := vfs.ReadFile(from, metaDir+name, 1<<30)
		if err == nil {
			err = vfs.WriteFile(disk, metaDir+name, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// firstBoot starts a node that never was, until the disk dies at the first operation that matches. It returns the
// disk and whether anything was answered by then.
func firstBoot(t *testing.T, match func(op vfs.Op) bool) (*vfs.Mem, bool) {
	t.Helper()
	disk := vfs.NewMem(1)
	disk.SetHook(func(op vfs.Op) error {
		if match(op) {
			return vfs.ErrCrashed
		}
		return nil
	})
	l, err := bootMeta(disk, 1, crashSlots, nil)
	if err != nil && !errors.Is(err, vfs.ErrCrashed) {
		t.Fatal(err)
	}
	if l == nil {
		return disk, false
	}
	return disk, l.n.Bootstrapped()
}

// The one view that a solo node ever enters is view 0; its record comes before the first answer.
func TestFault_Row07_CrashBetweenTheViewAndItsSuperblock(t *testing.T) {
	disk, answered := firstBoot(t, func(op vfs.Op) bool { return strings.Contains(op.Path, "superblock") })
	if answered {
		t.Fatal("an operation was committed before the superblock")
	}
	for _, found := range []*vfs.Mem{afterPowerLoss(disk), disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)} {
		l, err := bootMeta(found, 1, crashSlots, nil)
		if err != nil || l.n.View().UsersCount() != 1 {
			t.Fatalf("the next start: %v", err)
		}
	}
}

func TestFault_Row08_CrashAfterTheSuperblockBeforeTheAnswer(t *testing.T) {
	written := false
	disk, answered := firstBoot(t, func(op vfs.Op) bool {
		written = written || op.Kind == vfs.OpRename && strings.Contains(op.Path, "superblock")
		return written && op.Kind == vfs.OpWrite && strings.Contains(op.Path, "journal.wal")
	})
	if answered || !written {
		t.Fatal("no such moment")
	}
	l, err := bootMeta(afterPowerLoss(disk), 1, crashSlots, nil)
	if err != nil || l.n.meta.replica.View() != 0 || l.n.View().UsersCount() != 1 || l.n.MetadataCommit() != 1 {
		t.Fatalf("the next start: %v", err)
	}
}

func TestFault_Row09_CrashInsideTheRenameOfTheSuperblock(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 3)
	before, _ := l.n.meta.block.store.State()
	disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncDir && l.n.meta.checkpoint.written.op > before.CheckpointOp {
			return vfs.ErrCrashed
		}
		return nil
	})
	for i := 0; ; i++ {
		if _, answered := l.stream(i); !answered {
			break
		}
	}
	next := l.n.meta.checkpoint.written
	records := map[uint64]int{}
	for seed := range uint64(20) {
		found := disk.CrashClone(rand.New(rand.NewPCG(seed, 1)), vfs.TearSectors)
		again, err := bootMeta(found, 1, crashSlots, nil)
		if err != nil {
			t.Fatal(err)
		}
		state, present := superblock.State{}, false
		if store, outcome, err := superblock.Open(found, metaDir); err == nil && outcome == superblock.Present {
			state, present = store.State()
		}
		if !present || again.n.meta.checkpoint.written.op != next.op {
			t.Fatalf("seed %d: superblock %+v, snapshot of op %d", seed, state, again.n.meta.checkpoint.written.op)
		}
		records[state.CheckpointOp]++
	}
	if len(records) != 2 || records[before.CheckpointOp] == 0 || records[next.op] == 0 {
		t.Fatalf("records by the checkpoint they name: %v, want some of %d and of %d", records, before.CheckpointOp, next.op)
	}
}

func TestFault_Row10_OneSuperblockRotted(t *testing.T) {
	for _, name := range superblock.Names() {
		disk, _ := stopped(t)
		if err := disk.FlipBit(metaDir+name, 40, 1); err != nil {
			t.Fatal(err)
		}
		if refusal := refuses[*superblock.UnreadableError](t, disk); !strings.HasSuffix(refusal.File, name) {
			t.Errorf("%s rotted, %s is named", name, refusal.File)
		}
	}
}

func TestFault_Row11_SuperblockOfAnotherClusterReplicaOrSize(t *testing.T) {
	for field, change := range map[string]func(*superblock.State){
		"cluster":       func(s *superblock.State) { s.Cluster.Lo++ },
		"replica id":    func(s *superblock.State) { s.ReplicaID++ },
		"replica count": func(s *superblock.State) { s.ReplicaCount += 2 },
	} {
		disk, _ := stopped(t)
		store, _, err := superblock.Open(disk, metaDir)
		if err != nil {
			t.Fatal(err)
		}
		state, _ := store.State()
		change(&state)
		if err := store.Write(state); err != nil {
			t.Fatal(err)
		}
		if refusal := refuses[*superblock.IdentityError](t, disk); refusal.Field != field {
			t.Errorf("another %s, %s is named", field, refusal.Field)
		}
	}
}

func TestFault_Row12_SuperblockOfAnotherVersion(t *testing.T) {
	disk, _ := stopped(t)
	b, err := vfs.ReadFile(disk, metaDir+"superblock.a", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b[4] = 9
	b = b[:len(b)-8]
	sum := protocol.Hash64(b)
	for i := range 8 {
		b = append(b, byte(sum>>(8*i)))
	}
	if err := vfs.WriteFile(disk, metaDir+"superblock.a", b); err != nil {
		t.Fatal(err)
	}
	if refusal := refuses[*superblock.VersionError](t, disk); refusal.Found != 9 || refusal.Supported != 2 {
		t.Errorf("%+v", refusal)
	}
}

func TestFault_Row14_JournalWithATornTail(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 60)
	_, before := l.state()
	disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync && strings.Contains(op.Path, "journal.wal") {
			return vfs.ErrCrashed
		}
		return nil
	})
	if _, answered := l.stream(1); answered {
		t.Fatal("answered without a sync")
	}
	torn := 0
	for seed := range uint64(30) {
		found := disk.CrashClone(rand.New(rand.NewPCG(seed, 1)), vfs.TearBytes)
		again, err := bootMeta(found, 1, crashSlots, l)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, state := again.state(); bytes.Equal(state, before) {
			torn++
		}
		// Executed or not, the retry ends with the stream made once.
		if a, answered := again.stream(1); !answered || a.outcome.Verdict != vsr.Accepted && a.outcome.Verdict != vsr.Replayed {
			t.Fatalf("seed %d: retry: %+v", seed, a.outcome)
		}
		if again.n.View().StreamByName("more-1") == nil {
			t.Fatalf("seed %d: no stream", seed)
		}
	}
	if torn == 0 {
		t.Error("no seed tore the tail")
	}
}

func TestFault_Row15_RotInsideTheJournal(t *testing.T) {
	disk, l := stopped(t)
	op := l.n.meta.journal.SnapshotOp() + 2
	at := int64(64 + wal.RecordHeadBytes + protocol.HeaderSize + 2) // in the body of the first entry
	if err := disk.FlipBit(metaDir+"journal.wal", at, 1); err != nil {
		t.Fatal(err)
	}
	if refusal := refuses[*wal.InteriorError](t, disk); !refusal.Identified || refusal.Op != op-1 || refusal.Position != 64 {
		t.Errorf("%+v, want op %d", refusal, op-1)
	}
}

func TestFault_Row16_JournalDeletedSuperblockKept(t *testing.T) {
	disk, _ := stopped(t)
	remove(t, disk, "journal.wal", "journal.mirror")
	refuses[*JournalMissingError](t, disk)
	remove(t, disk, "superblock.a", "superblock.b") // the snapshot alone is evidence enough
	refuses[*JournalMissingError](t, disk)

	disk, _ = stopped(t)
	remove(t, disk, "journal.wal")
	if refusal := refuses[*wal.MissingError](t, disk); refusal.Op == 0 {
		t.Error("the mirror knows which operations are missing")
	}
	disk, _ = stopped(t)
	remove(t, disk, "journal.mirror")
	refuses[*wal.MissingError](t, disk)
}

func TestFault_Row16_JournalOfBeforePutBack(t *testing.T) {
	disk := vfs.NewMem(1)
	played(t, disk, 3)
	old := afterPowerLoss(disk)
	disk, l := stopped(t)
	put(t, disk, old, "journal.wal", "journal.mirror")
	refusal := refuses[*JournalBehindSnapshotError](t, disk)
	if refusal.SnapshotOp != l.n.meta.checkpoint.written.op || refusal.JournalOp >= refusal.SnapshotOp || refusal.JournalOp == 0 {
		t.Errorf("%+v", refusal)
	}
}

func TestFault_Row17_SuperblockDeletedJournalKept(t *testing.T) {
	disk, l := stopped(t)
	remove(t, disk, "superblock.a", "superblock.b")
	again := goesOnAs(t, disk, l)
	again.n.clock.(*handClock).ticks++
	again.idle()
	state, present := again.n.meta.block.store.State()
	if !present || state.CheckpointOp == 0 || state.View != again.n.meta.replica.View() {
		t.Errorf("the superblock that the start wrote: %v %+v", present, state)
	}
}

func TestFault_Row18_EverythingDeleted(t *testing.T) {
	disk, _ := stopped(t)
	remove(t, disk, "superblock.a", "superblock.b", "journal.wal", "journal.mirror", "snapshot.bin")
	l, err := bootMeta(disk, 1, crashSlots, nil)
	if err != nil || l.n.MetadataCommit() != 1 {
		t.Fatalf("a fresh start: %v", err)
	}
}

func TestFault_Row19_SnapshotOlderThanItsPairing(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 12) // one checkpoint
	old := afterPowerLoss(disk)
	oldOp := l.n.meta.checkpoint.written.op
	disk, l = stopped(t)
	newOp := l.n.meta.checkpoint.written.op
	if oldOp == 0 || oldOp >= newOp {
		t.Fatalf("snapshots of ops %d and %d", oldOp, newOp)
	}
	put(t, disk, old, "snapshot.bin")
	if refusal := refuses[*CheckpointAheadOfSnapshotError](t, disk); refusal.CheckpointOp != newOp || refusal.SnapshotOp != oldOp {
		t.Errorf("%+v", refusal)
	}
	remove(t, disk, "snapshot.bin")
	if refusal := refuses[*SnapshotMissingError](t, disk); refusal.CheckpointOp != newOp {
		t.Errorf("%+v", refusal)
	}
	remove(t, disk, "superblock.a", "superblock.b") // then the journal is what contradicts
	if refusal := refuses[*JournalGapError](t, disk); refusal.Want != 1 || refusal.Op != newOp {
		t.Errorf("%+v", refusal)
	}
}

func TestFault_Row20_SnapshotRotted(t *testing.T) {
	disk, l := stopped(t)
	good, err := vfs.ReadFile(disk, metaDir+"snapshot.bin", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := vfs.WriteFile(disk, metaDir+"snapshot.bin", b); err != nil {
			t.Fatal(err)
		}
	}
	rotted := bytes.Clone(good)
	rotted[len(rotted)/2] ^= 4
	write(rotted)
	refuses[*snapshot.ChecksumError](t, disk)
	write(good[:len(good)-1])
	refuses[*snapshot.TruncatedError](t, disk)
	write(nil)
	refuses[*snapshot.TruncatedError](t, disk)
	resealed := func(b []byte) []byte {
		return snapshot.AppendTrailer(bytes.Clone(b[:len(b)-snapshot.TrailerBytes]), 0)
	}
	write(resealed(rotted)) // somebody wrote another content of the same op: the superblock knows its checksum
	if refusal := refuses[*CheckpointChecksumError](t, disk); refusal.Op != l.n.meta.checkpoint.written.op || refusal.Actual == refusal.Expected {
		t.Errorf("%+v", refusal)
	}
	version := bytes.Clone(good)
	version[4] = 2
	write(resealed(version))
	if refusal := refuses[*snapshot.VersionError](t, disk); refusal.Found != 2 {
		t.Errorf("%+v", refusal)
	}
	other := bytes.Clone(good)
	other[24]++ // the capacity of the client table
	write(resealed(other))
	remove(t, disk, "superblock.a", "superblock.b")
	if refusal := refuses[*ClientsTableError](t, disk); refusal.Stored != 65 || refusal.Configured != 64 {
		t.Errorf("%+v", refusal)
	}
	write(resealed(append(bytes.Clone(good[:len(good)-snapshot.TrailerBytes]), make([]byte, 20+snapshot.TrailerBytes)...)))
	refuses[*snapshot.DecodeError](t, disk)
	write(good)
	goesOnAs(t, disk, l)
}

func TestFault_Row23_FullDiskOnAJournalAppend(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 60)
	_, before := l.state()
	disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.Contains(op.Path, "journal.wal") {
			return syscall.ENOSPC
		}
		return nil
	})
	a, answered := l.stream(1)
	if !answered || a.outcome.Code != protocol.CodeTransientNotAccepted || l.fatal != nil {
		t.Fatalf("%v, %+v, %v", answered, a.outcome, l.fatal)
	}
	if _, state := l.state(); !bytes.Equal(state, before) {
		t.Error("the refused operation left something")
	}
	disk.SetHook(nil)
	goesOnAs(t, afterPowerLoss(disk), l)
	if a, answered := l.stream(1); !answered || a.outcome.Verdict != vsr.Accepted {
		t.Errorf("once there is room: %v, %+v", answered, a.outcome)
	}
}

func TestFault_Row24_FailedSyncOfTheJournal(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 60)
	disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpDatasync && strings.Contains(op.Path, "journal.wal") {
			return syscall.EIO
		}
		return nil
	})
	if a, answered := l.stream(1); answered && a.outcome.Verdict == vsr.Accepted {
		t.Fatal("acknowledged what was never synced")
	}
	if l.fatal == nil || !errors.Is(l.fatal, wal.ErrPoisoned) || !strings.Contains(l.fatal.Error(), "exit 2") {
		t.Fatalf("the node went on: %v", l.fatal)
	}
	for seed := range uint64(10) {
		again, err := bootMeta(disk.CrashClone(rand.New(rand.NewPCG(seed, 1)), vfs.TearSectors), 1, crashSlots, l)
		if err != nil {
			t.Fatal(err)
		}
		if a, answered := again.stream(1); !answered || again.n.View().StreamByName("more-1") == nil {
			t.Fatalf("seed %d: retry: %v, %+v", seed, answered, a.outcome)
		}
	}
}

// Nothing is answered while the first superblock cannot be written; the writes are repeated with a growing pause, and
// after the configured number the process ends with code 3.
func TestFault_Row25_SuperblockUnwritable(t *testing.T) {
	for failuresMax, ends := range map[int]bool{5: true, -1: false} {
		disk := vfs.NewMem(1)
		var tries []uint64
		clock := &handClock{ticks: 1000}
		disk.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSync && strings.Contains(op.Path, "superblock") {
				tries = append(tries, clock.ticks)
				return syscall.EIO
			}
			return nil
		})
		code := 0
		exec := &handExecutor{}
		o := stepOptions(disk)
		o.Clock, o.Executor = clock, exec
		o.Metadata.SuperblockFailuresMax = failuresMax
		o.Fatal = func(c int, _ error) { code = c }
		n, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		for range 1500 {
			for again := true; again; {
				n.Pass(0)
				again = exec.Help() || !n.shards[0].inbox.empty()
			}
			clock.ticks++
		}
		if n.Bootstrapped() {
			t.Fatal("an operation was committed without a superblock")
		}
		if ends != (code == ExitSuperblockWedged) {
			t.Errorf("at most %d failures: exit code %d after %d", failuresMax, code, len(tries))
		}
		if ends && len(tries) != failuresMax {
			t.Errorf("%d writes, want %d", len(tries), failuresMax)
		}
		for i := 1; i < len(tries); i++ {
			if pause, want := tries[i]-tries[i-1], min(uint64(1)<<min(i, 8), ticksPerSecond); pause < want || pause > want+2 {
				t.Errorf("write %d came %d ticks after the one before", i+1, pause)
			}
		}
		if ends {
			continue
		}
		disk.SetHook(nil)
		for range 110 {
			clock.ticks++
			for again := true; again; {
				n.Pass(0)
				again = exec.Help() || !n.shards[0].inbox.empty()
			}
		}
		if !n.Bootstrapped() || code != 0 {
			t.Errorf("once the disk is mended: bootstrapped %v, exit code %d", n.Bootstrapped(), code)
		}
	}
}
