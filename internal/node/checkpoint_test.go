package node

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// metric returns one number of a node.
func metric(t testing.TB, n *Node, name string) float64 {
	t.Helper()
	for _, m := range n.Metrics() {
		if m.Name == name {
			return m.Value
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// played boots a node with few slots and plays a script on it, until everything is idle.
func played(t testing.TB, disk *vfs.Mem, length int) *metaLife {
	t.Helper()
	l, err := bootMeta(disk, 1, crashSlots, nil)
	if err != nil {
		t.Fatal(err)
	}
	script := metaScript(length)
	if done, err := l.play(script, 0); err != nil || done != len(script) {
		t.Fatalf("played %d of %d: %v, %v", done, len(script), err, l.fatal)
	}
	l.idle()
	return l
}

// stream makes a stream for client 5, whose numbers go on from a high one.
func (l *metaLife) stream(number int) (*frameAnswer, bool) {
	return l.request(&metaOp{client: 5, number: uint64(1_000_000 + number), op: protocol.OpCreateStream,
		body: command.CreateStream{Name: fmt.Appendf(nil, "more-%d", number)}.Append(nil)})
}

func TestCheckpoint_KeepsTheJournalWithinItsSlots(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 200)
	j := l.n.meta.journal
	if used := j.Used(); used > crashSlots-checkpointMarginMin || j.Len() > used+1 {
		t.Errorf("%d ops in the journal, %d slots used", j.Len(), used)
	}
	f, err := snapshot.Read(disk, "/data/metadata/snapshot.bin")
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	state, _ := l.n.meta.block.store.State()
	if state.CheckpointOp != f.Op || state.CheckpointChecksum != f.Checksum || j.SnapshotOp() != f.Op-1 || f.ClientsTableMax != 64 {
		t.Errorf("superblock %+v, snapshot %+v, drained to %d", state, f.Header, j.SnapshotOp())
	}
	if _, _, err := j.Read(f.Op); err != nil {
		t.Errorf("the entry at the checkpoint is gone: %v", err)
	}
	for name, least := range map[string]float64{
		"galgo_metadata_checkpoints_total": 10, "galgo_metadata_journal_slots_used": 1, "galgo_metadata_snapshot_bytes": float64(len(f.Bytes)),
	} {
		if got := metric(t, l.n, name); got < least {
			t.Errorf("%s is %v", name, got)
		}
	}
	if failed := metric(t, l.n, "galgo_metadata_checkpoints_failed_total"); failed != 0 {
		t.Errorf("%v checkpoints failed", failed)
	}
}

// What a start finds of an unfinished checkpoint it finishes: nothing of it waits for the journal to fill again.
func TestCheckpoint_AStartFinishesWhatWasBegun(t *testing.T) {
	for stop, name := range map[string]string{"superblock": "superblock", "drain": "journal.wal.tmp"} {
		disk := vfs.NewMem(1)
		first := true
		disk.SetHook(func(op vfs.Op) error {
			begun := strings.Contains(op.Path, name) && op.Kind == vfs.OpCreate && !first
			if first = first && !strings.Contains(op.Path, "snapshot.bin"); begun {
				return vfs.ErrCrashed
			}
			return nil
		})
		l, err := bootMeta(disk, 1, crashSlots, nil)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := l.play(metaScript(60), 0); err != nil || done == 63 {
			t.Fatalf("%s: played %d, %v", stop, done, err)
		}
		l, err = bootMeta(disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced), 1, crashSlots, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.n.meta.shard.now.Ticks++
		l.until(func() bool { return l.n.metrics.checkpoints.Load() > 0 })
		state, _ := l.n.meta.block.store.State()
		written := l.n.meta.checkpoint.written
		if state.CheckpointOp != written.op || written.op == 0 || l.n.meta.journal.Len() > l.n.meta.journal.Used()+1 {
			t.Errorf("%s: snapshot of op %d, superblock names %d, %d entries, %d slots used", stop, written.op, state.CheckpointOp,
				l.n.meta.journal.Len(), l.n.meta.journal.Used())
		}
	}
}

// A checkpoint that fails, at whatever step, holds no operation up; when there are no slots left requests are
// answered 58 after a second; nothing is lost, and the first checkpoint that succeeds makes room again.
func TestCheckpoint_AFailedOneHoldsNothingUpUntilTheJournalIsFull(t *testing.T) {
	for name, at := range map[string]func(op vfs.Op) bool{
		"create":  func(op vfs.Op) bool { return op.Kind == vfs.OpCreate && strings.Contains(op.Path, "snapshot") },
		"fsync":   func(op vfs.Op) bool { return op.Kind == vfs.OpSync && strings.Contains(op.Path, "snapshot") },
		"rename":  func(op vfs.Op) bool { return op.Kind == vfs.OpRename && strings.Contains(op.Path, "snapshot") },
		"pairing": func(op vfs.Op) bool { return op.Kind == vfs.OpSync && strings.Contains(op.Path, "superblock") },
		"drain":   func(op vfs.Op) bool { return op.Kind == vfs.OpWrite && strings.Contains(op.Path, "journal.wal.tmp") },
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem(1)
			l := played(t, disk, 3)
			disk.SetHook(func(op vfs.Op) error {
				if at(op) {
					return syscall.ENOSPC
				}
				return nil
			})
			clock := l.n.clock.(*handClock)
			made := 0
			for {
				a, answered := l.stream(made)
				if !answered {
					clock.ticks += ticksPerSecond + 2 // the request has waited long enough
					l.until(func() bool { return a.done })
					if code := a.outcome.Code; code != protocol.CodeTransientNotAccepted {
						t.Fatalf("request on a full journal: %+v", a.outcome)
					}
					break
				}
				if code, _, _ := protocol.CutResult(a.body); code != protocol.Success {
					t.Fatalf("request %d: %+v", made, a.outcome)
				}
				if made++; made > 2*crashSlots {
					t.Fatal("the journal never fills")
				}
			}
			if used := l.n.meta.journal.Used(); used != crashSlots {
				t.Errorf("%d of %d slots used when requests are refused", used, crashSlots)
			}
			if metric(t, l.n, "galgo_metadata_checkpoints_failed_total") == 0 {
				t.Error("no failure was counted")
			}
			disk.SetHook(nil)
			clock.ticks += checkpointPauseMaxTicks
			l.idle()
			if a, answered := l.stream(made + 1); !answered || a.outcome.Verdict != vsr.Accepted {
				t.Fatalf("after the disk is mended: %v, %+v", answered, a.outcome)
			}
			l.idle()
			again, err := bootMeta(disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced), 1, crashSlots, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range made {
				if again.n.View().StreamByName(fmt.Sprintf("more-%d", i)) == nil {
					t.Fatalf("stream %d was acknowledged and is gone", i)
				}
			}
			if again.n.View().StreamByName(fmt.Sprintf("more-%d", made)) != nil {
				t.Error("the refused stream is there")
			}
		})
	}
}

// A write for the gate that runs between the phases must not lose the pairing, and one for a checkpoint must not
// take the view back. The gate of a solo node closes only once, so the test closes it by hand.
func TestCheckpoint_OneWriterForViewAndPairing(t *testing.T) {
	l := played(t, vfs.NewMem(1), 60)
	m := l.n.meta
	before, _ := m.block.store.State()
	if before.CheckpointOp == 0 {
		t.Fatal("no checkpoint to lose")
	}
	m.block.wantView = true
	m.writeSuperblock()
	m.block.wantView = true // asked for while it runs: the same write answers both
	l.idle()
	after, _ := m.block.store.State()
	if after.CheckpointOp != before.CheckpointOp || after.CheckpointChecksum != before.CheckpointChecksum || after.View != m.replica.View() {
		t.Errorf("a write for the gate made %+v of %+v", after, before)
	}
	if m.block.wantView || m.block.store.Sequence() == 0 {
		t.Error("the second wish is still open")
	}
	m.checkpoint.written.op++ // a snapshot that has just been written
	m.block.wantMark, m.block.wantView, m.checkpoint.running = true, true, true
	sequence := m.block.store.Sequence()
	m.writeSuperblock()
	l.until(func() bool { return m.checkpoint.paired == m.checkpoint.written })
	if s := m.block.store.Sequence(); s != sequence+1 {
		t.Errorf("%d writes for a view and a pairing", s-sequence)
	}
}

func TestCheckpoint_SessionsLiveThroughASnapshot(t *testing.T) {
	disk := vfs.NewMem(1)
	script := metaScript(100)
	l := played(t, disk, 100)
	type row struct {
		metadata.Session
		slot int
	}
	table := func(l *metaLife) (rows []row) {
		l.n.EachSession(func(s metadata.Session) { rows = append(rows, row{s, len(rows)}) })
		return rows
	}
	want := table(l)
	if len(want) != 4 {
		t.Fatalf("%d sessions", len(want))
	}
	again, err := bootMeta(disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced), 1, crashSlots, l)
	if err != nil {
		t.Fatal(err)
	}
	if op := again.n.meta.checkpoint.written.op; op == 0 || again.n.MetadataCommit()-op > crashSlots {
		t.Fatalf("restored from a snapshot of op %d at op %d", op, again.n.MetadataCommit())
	}
	if got := table(again); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sessions %v, were %v", got, want)
	}
	newest := &script[len(script)-1]
	if a, _ := again.request(newest); a.outcome.Verdict != vsr.Replayed || string(a.body) != string(l.replies[len(script)-1]) {
		t.Errorf("retry of the newest request: %+v", a.outcome)
	}
	other := *newest
	other.body = command.CreateStream{Name: []byte("something else")}.Append(nil)
	if a, _ := again.request(&metaOp{client: newest.client, number: 1, op: newest.op, body: other.body}); a.outcome.Code != protocol.CodeRequestAlreadyApplied {
		t.Errorf("a number far below the watermark: %+v", a.outcome)
	}
	fenced := again.sessions[3]
	again.sessions[3] = fenced - 1
	if a, _ := again.stream(1); a.outcome.Verdict != vsr.Accepted {
		t.Errorf("client 5 goes on: %+v", a.outcome)
	}
	if a, _ := again.request(&metaOp{client: 3, number: 1_000_000, op: newest.op, body: other.body}); a.outcome.Verdict != vsr.Evicted {
		t.Errorf("the epoch before: %+v", a.outcome)
	}
}

// An operation beside a checkpoint does not wait for it: encoding, hashing and writing are a job's.
func TestCheckpoint_AppendsGoOnBesideTheSnapshot(t *testing.T) {
	disk := vfs.NewMem(1)
	l := played(t, disk, 3)
	lane := &l.n.meta.checkpoint.lane
	for i := 0; len(l.exec.tasks[lane]) == 0; i++ {
		if a, answered := l.stream(i); !answered || a.outcome.Verdict != vsr.Accepted {
			t.Fatal(a.outcome)
		}
	}
	held := l.exec.tasks[lane]
	l.exec.lanes = l.exec.lanes[:0] // the job of the snapshot takes its time
	for i := range checkpointMarginMin / 2 {
		if a, answered := l.stream(1000 + i); !answered || a.outcome.Verdict != vsr.Accepted {
			t.Fatalf("operation %d beside the snapshot: %v, %+v", i, answered, a.outcome)
		}
	}
	if len(held) != 1 || l.n.meta.checkpoint.written.op != 0 {
		t.Fatal("the snapshot did not wait")
	}
	l.exec.lanes = append(l.exec.lanes, lane)
	l.idle()
	if f, err := snapshot.Read(disk, l.n.snapshotPath()); err != nil || f == nil || l.n.metrics.checkpoints.Load() == 0 {
		t.Fatal(err)
	}
}

func TestCheckpoint_RefusesMoreSlotsThanItWasGivenOnlyUntilTheNext(t *testing.T) {
	disk := vfs.NewMem(1)
	l, err := bootMeta(disk, 1, 0, nil) // many slots, no checkpoint
	if err != nil {
		t.Fatal(err)
	}
	if done, err := l.play(metaScript(3*crashSlots), 0); err != nil || done < 3*crashSlots {
		t.Fatal(done, err)
	}
	l, err = bootMeta(disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced), 1, crashSlots, l)
	if err != nil {
		t.Fatal(err)
	}
	l.n.clock.(*handClock).ticks++
	l.idle()
	if a, answered := l.stream(1); !answered || a.outcome.Verdict != vsr.Accepted || l.n.meta.journal.Len() > crashSlots {
		t.Fatalf("%v, %+v, %d entries", answered, a.outcome, l.n.meta.journal.Len())
	}
}

func TestExit_CodesOfTheMetadataGroup(t *testing.T) {
	for code, err := range map[int]error{ExitSuperblockWedged: fmt.Errorf("x: %w", vsr.ErrSuperblockWedged), ExitLogFrontier: errors.New("anything else")} {
		l := played(t, vfs.NewMem(1), 1)
		got := 0
		l.n.fatal = func(c int, _ error) { got = c }
		if l.n.meta.fail(err); got != code {
			t.Errorf("%v: exit %d, want %d", err, got, code)
		}
	}
}
