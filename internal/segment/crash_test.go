package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/vfs"
)

// life is what one run of a partition wrote before it died: batches in order over all segments, and how
// many of them a sync had covered, files and names.
type life struct {
	fs      *vfs.Mem
	records [][]byte
	synced  int
	// returned is the number of bytes whose append had returned.
	returned int64
}

// run appends, syncs and rotates the way a node does, until the file system dies or the steps are done.
// A sealed segment is synced before its successor exists.
func (l *life) run(t *testing.T, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 9))
	must(t, l.fs.MkdirAll(testDir))
	must(t, l.fs.SyncDir("."))
	var w *Writer
	var s stride
	next, pos := uint64(0), int64(0)
	for range steps {
		if w == nil || pos > 150_000 {
			if w != nil && w.Sync() != nil {
				return
			}
			l.synced = len(l.records)
			var err error
			if w, err = Create(l.fs, testDir, next, CreateOptions{SyncDir: true, PreallocateBytes: 1 << 18}); err != nil {
				return
			}
			s, pos = stride{}, 0
		}
		var run [][]byte
		var entries []IndexEntry
		at := pos
		for range 1 + rng.IntN(3) {
			rec := makeBatch(t, testPartition, next, 100+next, 1+rng.IntN(3), 1+rng.IntN(9000))
			if s.take(at) {
				entries = append(entries, IndexEntry{next, 100 + next, uint64(at)})
			}
			at += int64(len(rec))
			next = batch.EndOffset(rec) + 1
			run = append(run, rec)
		}
		l.records = append(l.records, run...) // may have reached the disk even when the append dies
		if w.Append(run, pos, entries) != nil {
			return
		}
		l.returned += at - pos
		pos = at
		if rng.IntN(4) == 0 {
			if w.Datasync() != nil {
				return
			}
			l.synced = len(l.records)
		}
	}
	l.fs.Crash()
}

// recovered returns the bytes of all segments together, and tests the state on the way.
//
// An index whose entries lost some of their bytes may still be in order. Readers do not mind; exact asks
// for the very index that a rebuild gives.
func recovered(t *testing.T, fs vfs.FS, st State, exact bool) []byte {
	t.Helper()
	var all []byte
	for i, info := range st.Segments {
		data := readAll(t, fs, logPath(testDir, info.Start))
		if int64(len(data)) != info.Size {
			t.Fatalf("segment %d: %d bytes on disk, %d recovered", info.Start, len(data), info.Size)
		}
		var records [][]byte
		for b := data; len(b) > 0; b = b[batch.HeaderOf(b).Length():] {
			records = append(records, b[:batch.HeaderOf(b).Length()])
		}
		index := EncodeIndex(nil, indexOf(records, info.Start))
		if got := readAll(t, fs, indexPath(testDir, info.Start)); exact && !bytes.Equal(got, index) {
			t.Fatalf("segment %d of %d: index differs from a rebuilt one", i, len(st.Segments))
		}
		all = append(all, data...)
	}
	return all
}

// TestCrash_EveryOperationInEveryMode kills the file system at every operation of a life and looks at what
// recovery makes of every kind of loss.
func TestCrash_EveryOperationInEveryMode(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		probe := &life{fs: vfs.NewMem(seed)}
		probe.run(t, seed, 30)
		for op := uint64(3); op <= probe.fs.Ops(); op++ {
			l := &life{fs: vfs.NewMem(seed)}
			l.fs.SetHook(vfs.CrashAt(op))
			l.run(t, seed, 30)
			for _, mode := range vfs.CrashModes {
				clone := l.fs.CrashClone(rand.New(rand.NewPCG(seed, op)), mode)
				checkLife(t, l, clone, mode, fmt.Sprintf("seed %d, operation %d, %v", seed, op, mode))
			}
		}
	}
}

// position is where in the sequence of all records the refused byte lies.
func (l *life) position(r *Refusal) int {
	n := 0
	for _, rec := range l.records {
		if batch.BaseOffset(rec) == r.Start {
			return n + int(r.Position)
		}
		n += len(rec)
	}
	return -1
}

func checkLife(t *testing.T, l *life, fs *vfs.Mem, mode vfs.CrashMode, name string) {
	t.Helper()
	want := bytes.Join(l.records, nil)
	sure := len(bytes.Join(l.records[:l.synced], nil))
	st, err := Recover(fs, testDir, testPartition, Options{})
	var refusal *Refusal
	if errors.As(err, &refusal) && (mode == vfs.TearSectors || mode == vfs.TearBytes) &&
		refusal.Kind == InteriorDamage && l.position(refusal) >= sure {
		return // a hole in front of data that survived unsynced
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := recovered(t, fs, st, mode != vfs.TearBytes)
	if len(got) < sure || !bytes.HasPrefix(want, got) {
		t.Fatalf("%s: %d bytes, %d synced, %d written", name, len(got), sure, len(want))
	}
	if mode == vfs.KillOnly && len(got) < int(l.returned) {
		t.Fatalf("%s: %d bytes, but the page cache held %d", name, len(got), l.returned)
	}
	again, err := Recover(fs, testDir, testPartition, Options{})
	if err != nil || len(again.Segments) != len(st.Segments) || !bytes.Equal(recovered(t, fs, again, mode != vfs.TearBytes), got) {
		t.Fatalf("%s: second recovery differs: %v", name, err)
	}
	for _, info := range again.Segments {
		if info.TruncatedBytes > 0 || info.Reindexed {
			t.Fatalf("%s: second recovery repairs: %+v", name, info)
		}
	}
}

// TestCrash_RecoveryItselfMayDie kills recovery at every operation and recovers again.
func TestCrash_RecoveryItselfMayDie(t *testing.T) {
	l := &life{fs: vfs.NewMem(5)}
	l.run(t, 5, 25)
	torn := l.fs.CrashClone(rand.New(rand.NewPCG(5, 5)), vfs.KillOnly)
	newest := recoverSolo(t, torn.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)).Segments
	last := newest[len(newest)-1]
	put(t, torn, logPath(testDir, last.Start), readAll(t, torn, logPath(testDir, last.Start))[:last.Size-100])
	put(t, torn, testDir+"/"+IndexStagingName(77), []byte("x"))
	want := func() []byte {
		c := torn.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)
		st, err := Recover(c, testDir, testPartition, Options{})
		must(t, err)
		return recovered(t, c, st, true)
	}()
	for n := uint64(1); ; n++ {
		c := torn.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)
		c.SetHook(vfs.CrashAt(n))
		if _, err := Recover(c, testDir, testPartition, Options{}); err == nil {
			if n < 4 {
				t.Fatal("recovery had nothing to repair")
			}
			return
		}
		for _, mode := range vfs.CrashModes {
			again := c.CrashClone(rand.New(rand.NewPCG(n, 1)), mode)
			st, err := Recover(again, testDir, testPartition, Options{})
			must(t, err)
			if got := recovered(t, again, st, true); !bytes.Equal(got, want) {
				t.Fatalf("died at %d, %v: %d bytes, want %d", n, mode, len(got), len(want))
			}
		}
	}
}

// chain builds durable segments of one batch each: starts 0, 2, 4, ...
func chain(t *testing.T, segments int) (*vfs.Mem, [][]byte) {
	t.Helper()
	fs := vfs.NewMem(1)
	var records [][]byte
	for i := range uint64(segments) {
		rec := makeBatch(t, testPartition, 2*i, 10+i, 2, 30)
		records = append(records, rec)
		put(t, fs, indexPath(testDir, 2*i), EncodeIndex(nil, indexOf([][]byte{rec}, 2*i)))
		put(t, fs, logPath(testDir, 2*i), rec)
	}
	must(t, fs.SyncDir("."))
	return fs, records
}

// forEachCrash runs step on copies of fs, dying at every operation in every mode, and hands what boot finds
// to check. It ends when step survives.
func forEachCrash(t *testing.T, fs *vfs.Mem, step func(fs vfs.FS) error, check func(name string, fs *vfs.Mem)) {
	t.Helper()
	for n := uint64(1); ; n++ {
		c := fs.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)
		c.SetHook(vfs.CrashAt(n))
		err := step(c)
		for _, mode := range vfs.CrashModes {
			for seed := range uint64(4) {
				check(fmt.Sprintf("operation %d, %v, seed %d", n, mode, seed),
					c.CrashClone(rand.New(rand.NewPCG(n, seed)), mode))
			}
		}
		if err == nil {
			return
		}
		if !errors.Is(err, vfs.ErrCrashed) {
			t.Fatal(err)
		}
	}
}

// Case RP-3722: removal of old segments interrupted anywhere.
func TestCrash_RemovalLeavesNoHole(t *testing.T) {
	fs, records := chain(t, 5)
	starts := []uint64{0, 2, 4}
	forEachCrash(t, fs, func(fs vfs.FS) error { return RemoveSegments(fs, testDir, starts) },
		func(name string, fs *vfs.Mem) {
			st, err := Recover(fs, testDir, testPartition, Options{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := recovered(t, fs, st, true)
			if !bytes.HasSuffix(bytes.Join(records, nil), got) || len(st.Segments) < 2 {
				t.Fatalf("%s: %d segments", name, len(st.Segments))
			}
			first := st.Segments[0].Start
			must(t, RemoveSegments(fs, testDir, starts))
			if st = recoverSolo(t, fs); len(st.Segments) != 2 || st.Segments[0].Start < first {
				t.Fatalf("%s: after the next pass %+v", name, st)
			}
		})
}

// Case LOGCABIN-221: making a segment interrupted anywhere, with and without earlier ones.
func TestCrash_CreationAlwaysStarts(t *testing.T) {
	for _, before := range []int{0, 3} {
		fs, records := chain(t, before)
		must(t, fs.MkdirAll(testDir))
		must(t, fs.SyncDir("."))
		start := uint64(2 * before)
		first := makeBatch(t, testPartition, start, 99, 1, 5000)
		create := func(fs vfs.FS) error {
			w, err := Create(fs, testDir, start, CreateOptions{PreallocateBytes: 1 << 16, SyncDir: true})
			if err != nil {
				return err
			}
			if err := w.Append([][]byte{first}, 0, indexOf([][]byte{first}, start)); err != nil {
				return err
			}
			return w.Datasync()
		}
		forEachCrash(t, fs, create, func(name string, fs *vfs.Mem) {
			st, err := Recover(fs, testDir, testPartition, Options{})
			if err != nil {
				t.Fatalf("%d segments before, %s: %v", before, name, err)
			}
			got := recovered(t, fs, st, true)
			old := bytes.Join(records, nil)
			if !bytes.Equal(got, old) && !bytes.Equal(got, append(bytes.Clone(old), first...)) {
				t.Fatalf("%d segments before, %s: %d bytes", before, name, len(got))
			}
		})
		// Blocks that were reserved and count as length, on a file system that cannot tell them apart.
		put(t, fs, logPath(testDir, start), make([]byte, 1<<16))
		st := recoverSolo(t, fs)
		if last := st.Segments[len(st.Segments)-1]; last.Size != 0 || last.TruncatedBytes != 1<<16 {
			t.Fatalf("zeros counted: %+v", last)
		}
	}
}

func TestCrash_ReanchorCanBeRepeated(t *testing.T) {
	const frontier = 1000
	for name, segments := range map[string]int{"data": 2, "nothing": 0} {
		for _, emptyTail := range []bool{false, true} {
			fs, records := chain(t, segments)
			must(t, fs.MkdirAll(testDir))
			must(t, fs.SyncDir("."))
			if emptyTail {
				must(t, reanchorOnce(fs, 500))
			}
			forEachCrash(t, fs, func(fs vfs.FS) error { return reanchorOnce(fs, frontier) },
				func(at string, fs *vfs.Mem) {
					must(t, reanchorOnce(fs, frontier))
					st := recoverSolo(t, fs)
					last := st.Segments[len(st.Segments)-1]
					if last.Start != frontier || last.Size != 0 || len(st.Segments) != segments+1 {
						t.Fatalf("%s, empty tail %v, %s: %+v", name, emptyTail, at, st)
					}
					if got := recovered(t, fs, st, true); !bytes.Equal(got, bytes.Join(records, nil)) {
						t.Fatalf("%s, %s: data changed", name, at)
					}
				})
		}
	}
}

func reanchorOnce(fs vfs.FS, frontier uint64) error {
	st, err := Recover(fs, testDir, testPartition, Options{Solo: true})
	if err != nil {
		return err
	}
	got, err := Reanchor(fs, testDir, st.Segments, frontier)
	if err == nil && got[len(got)-1].Start != frontier {
		err = fmt.Errorf("re-anchored at %d", got[len(got)-1].Start)
	}
	return err
}

func TestReanchor_LeavesAChainThatFits(t *testing.T) {
	fs, _ := chain(t, 2)
	ops := fs.Ops()
	for _, frontier := range []uint64{4, 3, 0} { // at the end, and below it: data always wins
		got, err := Reanchor(fs, testDir, recoverSolo(t, fs).Segments, frontier)
		must(t, err)
		if len(got) != 2 || fs.Ops() != ops {
			t.Fatalf("frontier %d: %+v", frontier, got)
		}
	}
	got, err := Reanchor(fs, testDir, recoverSolo(t, fs).Segments, 9)
	must(t, err)
	if ops = fs.Ops(); len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	if got, err = Reanchor(fs, testDir, recoverSolo(t, fs).Segments, 9); err != nil || len(got) != 3 || fs.Ops() != ops {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestCrash_PurgeLeavesTheNewerEndOrNothing(t *testing.T) {
	fs, records := chain(t, 3)
	must(t, WriteOffset(fs, testDir, ConsumerOffset, 4, 2))
	must(t, WriteOffset(fs, testDir, GroupOffset, 5, 2))
	must(t, SyncOffsets(fs, testDir, ConsumerOffset, []uint32{4}))
	must(t, SyncOffsets(fs, testDir, GroupOffset, []uint32{5}))
	forEachCrash(t, fs, func(fs vfs.FS) error { return Purge(fs, testDir) }, func(name string, fs *vfs.Mem) {
		st, err := Recover(fs, testDir, testPartition, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := recovered(t, fs, st, true); !bytes.HasSuffix(bytes.Join(records, nil), got) {
			t.Fatalf("%s: %d bytes", name, len(got))
		}
		must(t, Purge(fs, testDir))
		st = recoverSolo(t, fs)
		for _, kind := range []OffsetKind{ConsumerOffset, GroupOffset} {
			left, err := LoadOffsets(fs, testDir, kind)
			must(t, err)
			if len(left) != 0 {
				t.Fatalf("%s: offsets left %+v", name, left)
			}
		}
		if len(st.Segments) != 1 || st.Segments[0].Size != 0 || st.Segments[0].Start != 0 {
			t.Fatalf("%s: %+v", name, st)
		}
	})
}
