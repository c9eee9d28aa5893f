package wal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// model is what a journal must and may hold: identities by op.
type model struct {
	must map[uint64]protocol.Uint128
	may  map[uint64][]protocol.Uint128 // besides must: what an unanswered call could have left
	ack  []uint64                      // acked heads that may be found
	opts Options
}

func newModel() *model {
	return &model{must: map[uint64]protocol.Uint128{}, may: map[uint64][]protocol.Uint128{}, ack: []uint64{0}, opts: options(8)}
}

// act is one call on a journal with its effect on the model: begin runs before the call, done after success.
type act struct {
	name  string
	call  func(j *Journal) error
	begin func(m *model)
	done  func(m *model)
}

func appendAct(entries []Entry) act {
	return act{
		name: fmt.Sprintf("append %d entries from op %d", len(entries), entries[0].Header.Op()),
		call: func(j *Journal) error { return j.AppendBatch(entries) },
		begin: func(m *model) {
			for _, e := range entries {
				m.may[e.Header.Op()] = append(m.may[e.Header.Op()], e.Header.Common().Checksum())
			}
		},
		done: func(m *model) {
			for _, e := range entries {
				m.must[e.Header.Op()] = e.Header.Common().Checksum()
			}
			clear(m.may)
		},
	}
}

// dropAct removes the ops that match.
func dropAct(name string, call func(j *Journal) error, match func(op uint64) bool) act {
	return act{
		name: name, call: call,
		begin: func(m *model) {
			for op, sum := range m.must {
				if match(op) {
					m.may[op] = append(m.may[op], sum)
					delete(m.must, op)
				}
			}
		},
		done: func(m *model) { clear(m.may) },
	}
}

func truncateAct(from uint64) act {
	return dropAct(fmt.Sprint("truncate from ", from), func(j *Journal) error { return j.TruncateFrom(from) },
		func(op uint64) bool { return op >= from })
}

func drainAct(to uint64) act {
	return dropAct(fmt.Sprint("drain to ", to), func(j *Journal) error { return j.Drain(to) },
		func(op uint64) bool { return op <= to })
}

func ackAct(op uint64) act {
	return act{
		name: fmt.Sprint("acked head ", op), call: func(j *Journal) error { return j.SetAckedHead(op) },
		begin: func(m *model) { m.ack = append(m.ack, op) },
		done:  func(m *model) { m.ack = []uint64{op} },
	}
}

func reopenAct() act {
	return act{name: "reopen", begin: func(*model) {}, done: func(*model) {}}
}

func script() []act {
	c := &chain{}
	acts := []act{appendAct(c.batch(10)), appendAct(c.batch(0, 700))}
	other := *c // stands at op 3
	other.salt = 8
	acts = append(acts, ackAct(3), appendAct(c.batch(64)), appendAct(c.batch(1500)), reopenAct(), appendAct(c.batch(5, 5)),
		truncateAct(4), appendAct(other.batch(30, 2000)), drainAct(2), appendAct(other.batch(1, 1)), reopenAct())
	above := other.batch(0, 9) // ops 8 and 9; 9 is appended before 8
	return append(acts, appendAct(above[1:]), appendAct(above[:1]), truncateAct(9), drainAct(5), appendAct(above[1:]))
}

// reopen opens what a life left, as a node does that has a snapshot of everything below the first entry.
func reopen(fsys vfs.FS, o Options) (*Journal, Recovered, error) {
	j, rec, err := Open(fsys, dir, o)
	if err == nil && len(rec.Headers) > 0 {
		err = j.Drain(rec.Headers[0].Op() - 1)
	}
	return j, rec, err
}

// runScript plays acts until one fails or all are done. The model then tells what a crash may leave.
func runScript(fsys vfs.FS, acts []act, m *model) (step string, err error) {
	j, _, err := reopen(fsys, m.opts)
	if err != nil {
		return "open", err
	}
	for _, a := range acts {
		a.begin(m)
		if a.call == nil {
			j, _, err = reopen(fsys, m.opts)
		} else {
			err = a.call(j)
		}
		if err != nil {
			return a.name, err
		}
		a.done(m)
	}
	return "end", nil
}

// verify opens what a crash left and compares it with the model.
func verify(fsys *vfs.Mem, m *model) error {
	j, rec, err := reopen(fsys, m.opts)
	if err != nil {
		return err
	}
	found := map[uint64]protocol.Uint128{}
	for i := range rec.Headers {
		h := &rec.Headers[i]
		found[h.Op()] = h.Common().Checksum()
		if got, _, err := j.Read(h.Op()); err != nil || got != *h {
			return fmt.Errorf("read op %d: %w", h.Op(), err)
		}
	}
	for op, sum := range m.must {
		if found[op] != sum && !slices.Contains(m.may[op], found[op]) {
			return fmt.Errorf("lost op %d, found %v", op, slices.Sorted(maps.Keys(found)))
		}
	}
	for op, sum := range found {
		if m.must[op] != sum && !slices.Contains(m.may[op], sum) {
			return fmt.Errorf("op %d came from nowhere", op)
		}
	}
	if !slices.Contains(m.ack, rec.AckedHead) {
		return fmt.Errorf("acked head %d, want one of %v", rec.AckedHead, m.ack)
	}
	ops := fsys.Ops()
	_, again, err := Open(fsys.CrashClone(rngOf(ops), vfs.LoseUnsynced), dir, m.opts)
	if err != nil || !slices.Equal(rec.Headers, again.Headers) || rec.AckedHead != again.AckedHead || again.Cut != nil {
		return fmt.Errorf("second open differs: %+v, %w", again, err)
	}
	return goesOn(fsys, j, rec, m.opts)
}

// goesOn appends to a recovered journal and wants to find it after the next crash.
func goesOn(fsys *vfs.Mem, j *Journal, rec Recovered, o Options) error {
	c := &chain{salt: 77}
	if n := len(rec.Headers); n > 0 {
		c.op, c.parent = rec.Headers[n-1].Op(), rec.Headers[n-1].Common().Checksum()
	}
	want := append(slices.Clone(ops(rec.Headers)), c.op+1, c.op+2)
	j.cover(c.op) // room, whatever was found
	if err := j.AppendBatch(c.batch(100, 100)); err != nil {
		return fmt.Errorf("append after recovery: %w", err)
	}
	_, rec, err := Open(fsys.CrashClone(rngOf(1), vfs.LoseUnsynced), dir, o)
	if err != nil || rec.Cut != nil || !slices.Equal(ops(rec.Headers), want) {
		return fmt.Errorf("after that append: %v, want %v, %w", ops(rec.Headers), want, err)
	}
	return nil
}

func TestJournal_CrashAtEveryOperation(t *testing.T) {
	acts := script()
	for n := uint64(1); ; n++ {
		m := newFS(t)
		m.SetHook(vfs.CrashAt(m.Ops() + n))
		want := newModel()
		step, err := runScript(m, acts, want)
		for _, mode := range vfs.CrashModes {
			for seed := range uint64(12) {
				if verr := verify(m.CrashClone(rngOf(seed), mode), want); verr != nil {
					t.Fatalf("crash at operation %d (%s), %s, seed %d: %v", n, step, mode, seed, verr)
				}
			}
		}
		if err == nil {
			t.Logf("%d operations", n-1)
			return
		}
	}
}

// A failed operation either poisons the journal or leaves nothing of the call, which then succeeds when it
// is repeated. Whatever happens, what was acknowledged survives the crash that follows.
func TestJournal_FailureAtEveryOperation(t *testing.T) {
	acts := script()
	for n := uint64(1); ; n++ {
		m := newFS(t)
		m.SetHook(vfs.FailAt(m.Ops()+n, syscall.ENOSPC))
		want := newModel()
		var failed error
		j, _, err := reopen(m, want.opts)
		if err != nil {
			failed = err
			if j, _, err = reopen(m, want.opts); err != nil {
				t.Fatalf("operation %d: open again: %v", n, err)
			}
		}
		for _, a := range acts {
			a.begin(want)
			for range 2 {
				if a.call == nil {
					j, _, err = reopen(m, want.opts)
				} else {
					err = a.call(j)
				}
				if err == nil {
					break
				}
				failed = err
				if errors.Is(err, ErrPoisoned) {
					break
				}
				for _, mode := range []vfs.CrashMode{vfs.KillOnly, vfs.LoseUnsynced} {
					strict := &model{must: want.must, may: want.may, ack: want.ack, opts: want.opts}
					if verr := verify(m.CrashClone(rngOf(n), mode), strict); verr != nil {
						t.Fatalf("operation %d failed in %q, then %s: %v", n, a.name, mode, verr)
					}
				}
			}
			if errors.Is(err, ErrPoisoned) {
				if again := j.AppendBatch((&chain{}).batch(1)); !errors.Is(again, ErrPoisoned) {
					t.Fatalf("operation %d: poisoned journal answered %v", n, again)
				}
				break
			}
			if err != nil {
				t.Fatalf("operation %d: %s does not succeed when repeated: %v", n, a.name, err)
			}
			a.done(want)
		}
		for _, mode := range vfs.CrashModes {
			for seed := range uint64(4) {
				if verr := verify(m.CrashClone(rngOf(seed), mode), want); verr != nil {
					t.Fatalf("operation %d failed (%v), %s, seed %d: %v", n, failed, mode, seed, verr)
				}
			}
		}
		if failed == nil {
			return
		}
	}
}

// lateDir is a file system whose directory syncs do not happen.
type lateDir struct{ *vfs.Mem }

func (lateDir) SyncDir(string) error { return nil }

// A process dies between the rename of a drained journal and the sync of the directory. The next one appends
// to the new file: a loss of power must not bring the old one back.
func TestOpen_AfterADrainThatWasNotSyncedKeepsWhatFollows(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(1, 1, 1))
	j, _, err := Open(lateDir{m}, dir, options(8))
	if err == nil {
		err = j.Drain(2)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, rec := open(t, m)
	wantOps(t, rec.Headers, 3)
	mustAppend(t, j, c.batch(1))
	_, rec = open(t, m.CrashClone(rngOf(1), vfs.LoseUnsynced))
	wantOps(t, rec.Headers, 3, 4)
}

func TestAppendBatch_FailedWriteLeavesNothing(t *testing.T) {
	for seed := range uint64(40) {
		m := vfs.NewMem(seed)
		if err := errors.Join(m.MkdirAll(dir), m.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		j, _ := open(t, m)
		c := &chain{}
		mustAppend(t, j, c.batch(10))
		at := *c
		m.SetHook(vfs.FailAt(m.Ops()+1, syscall.ENOSPC))
		if err := j.AppendBatch(c.batch(100, 200)); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrPoisoned) {
			t.Fatal(err)
		}
		for _, mode := range vfs.CrashModes {
			_, rec := open(t, m.CrashClone(rngOf(seed), mode))
			wantOps(t, rec.Headers, 1)
		}
		at.salt = 5
		mustAppend(t, j, at.batch(3))
		_, rec := open(t, m)
		wantOps(t, rec.Headers, 1, 2)
	}
}

func TestAppendBatch_FailedSyncTakesTheJournalOutOfService(t *testing.T) {
	for _, name := range []string{walFile, mirFile} {
		m := newFS(t)
		j, _ := open(t, m)
		c := &chain{}
		mustAppend(t, j, c.batch(10))
		m.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpDatasync && op.Path == name {
				return syscall.EIO
			}
			return nil
		})
		if err := j.AppendBatch(c.batch(5)); !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.EIO) {
			t.Errorf("failed sync of %s: %v", name, err)
		}
		m.SetHook(nil)
		_, _, readErr := j.Read(1)
		for i, err := range []error{readErr, j.AppendBatch(c.batch(5)), j.TruncateFrom(1), j.Drain(1), j.SetAckedHead(1)} {
			if !errors.Is(err, ErrPoisoned) {
				t.Errorf("call %d after a failed sync of %s: %v", i, name, err)
			}
		}
		if _, rec := open(t, m); len(rec.Headers) == 0 {
			t.Error("lost what was acknowledged before")
		}
	}
}

// Random scripts with random crashes, recovering each time and going on with what was found.
func TestJournal_SurvivesRandomLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := vfs.NewMem(rapid.Uint64().Draw(t, "seed"))
		if err := errors.Join(m.MkdirAll(dir), m.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		found := map[uint64]protocol.Uint128{}
		ack := uint64(0)
		for life := range rapid.IntRange(1, 5).Draw(t, "lives") {
			want := &model{must: found, may: map[uint64][]protocol.Uint128{}, ack: []uint64{ack}, opts: options(512)}
			c := &chain{salt: byte(life)}
			for op, sum := range found {
				if op > c.op {
					c.op, c.parent = op, sum
				}
			}
			var acts []act
			for range rapid.IntRange(1, 6).Draw(t, "acts") {
				switch rapid.IntRange(0, 6).Draw(t, "act") {
				case 0:
					acts = append(acts, drainAct(rapid.Uint64Range(0, c.op).Draw(t, "to")))
				case 1:
					from := rapid.Uint64Range(1, c.op+1).Draw(t, "from")
					acts = append(acts, truncateAct(from))
					c = &chain{op: from + 1, salt: c.salt + 100} // a hole: nothing to chain to
				case 2:
					acts = append(acts, ackAct(c.op))
				default:
					bodies := rapid.SliceOfN(rapid.IntRange(0, 900), 1, 4).Draw(t, "bodies")
					acts = append(acts, appendAct(c.batch(bodies...)))
				}
			}
			m.SetHook(vfs.CrashAt(m.Ops() + rapid.Uint64Range(1, 60).Draw(t, "crash")))
			step, _ := runScript(m, acts, want)
			mode := rapid.SampledFrom(vfs.CrashModes).Draw(t, "mode")
			rng := rngOf(rapid.Uint64().Draw(t, "tear"))
			m = m.CrashClone(rng, mode)
			if err := verify(copyOf(m), want); err != nil {
				t.Fatalf("life %d, crash in %q, %s: %v", life, step, mode, err)
			}
			_, rec, err := Open(m, dir, want.opts)
			if err != nil {
				t.Fatal(err)
			}
			found, ack = map[uint64]protocol.Uint128{}, rec.AckedHead
			for i := range rec.Headers {
				found[rec.Headers[i].Op()] = rec.Headers[i].Common().Checksum()
			}
		}
	})
}
