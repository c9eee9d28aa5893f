package vfs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func seeds(n int, f func(seed uint64, rng *rand.Rand)) {
	for seed := range uint64(n) {
		f(seed, rand.New(rand.NewPCG(seed, 1)))
	}
}

func TestCrashClone_SyncedDataAndNamesSurviveEveryMode(t *testing.T) {
	m := NewMem(1)
	f := must[File](t)(m.Create("a"))
	must[int](t)(f.WriteAt(bytes.Repeat([]byte{1}, 3000), 0))
	if err := errors.Join(f.Sync(), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	must[int](t)(f.WriteAt(bytes.Repeat([]byte{2}, 3000), 2000))
	seeds(100, func(seed uint64, rng *rand.Rand) {
		for _, mode := range CrashModes {
			got, err := ReadFile(m.CrashClone(rng, mode), "a", 1<<20)
			if err != nil || len(got) < 3000 || !bytes.Equal(got[:2000], bytes.Repeat([]byte{1}, 2000)) {
				t.Fatalf("seed %d, %s: %d bytes, %v", seed, mode, len(got), err)
			}
			for i, b := range got[2000:] {
				old := byte(1)
				if i >= 1000 {
					old = 0
				}
				if b != 2 && b != old {
					t.Fatalf("seed %d, %s: byte %d is %d", seed, mode, 2000+i, b)
				}
			}
		}
	})
}

// outcomes collects what the clones of one mode show under name.
func outcomes(m *Mem, mode CrashMode, name string) map[string]int {
	seen := map[string]int{}
	seeds(300, func(_ uint64, rng *rand.Rand) {
		got, err := ReadFile(m.CrashClone(rng, mode), name, 1<<20)
		switch {
		case isNotExist(err):
			seen["missing"]++
		case err != nil:
			seen[err.Error()]++
		default:
			seen[string(got)]++
		}
	})
	return seen
}

func TestCrashClone_ModesTearAsTheySay(t *testing.T) {
	m := NewMem(1)
	f := must[File](t)(m.Create("a"))
	must[int](t)(f.WriteAt([]byte("......"), 0))
	if err := errors.Join(f.Sync(), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	must[int](t)(f.WriteAt([]byte("abc"), 0))
	must[int](t)(f.WriteAt([]byte("de"), 3))
	check := func(mode CrashMode, want ...string) {
		t.Helper()
		seen := outcomes(m, mode, "a")
		if len(seen) != len(want) {
			t.Errorf("%s: %v", mode, seen)
		}
		for _, w := range want {
			if seen[w] == 0 {
				t.Errorf("%s: never %q", mode, w)
			}
		}
	}
	check(KillOnly, "abcde.")
	check(LoseUnsynced, "......")
	check(KeepPrefix, "......", "a.....", "ab....", "abc...", "abcd..", "abcde.")
	check(TearSectors, "......", "abc...", "...de.", "abcde.")
	if seen := outcomes(m, TearBytes, "a"); seen[".b...."] == 0 || seen["..c.e."] == 0 {
		t.Errorf("%s: %v", TearBytes, seen)
	}
}

func TestCrashClone_SectorsOfOneWriteTearIndependently(t *testing.T) {
	m := NewMem(1)
	f := must[File](t)(m.Create("a"))
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	must[int](t)(f.WriteAt(bytes.Repeat([]byte{7}, 3*sectorBytes), 100))
	shapes := map[string]bool{}
	for content := range outcomes(m, TearSectors, "a") {
		shape := ""
		for at := 0; at < len(content); at++ {
			if at == 100 || at > 100 && at%sectorBytes == 0 {
				shape += string('0' + content[at])
			} else if at > 100 && content[at] != content[at-1] {
				t.Fatalf("torn inside a sector at byte %d", at)
			}
		}
		shapes[shape] = true
	}
	for _, want := range []string{"", "0707", "7777", "0000", "7", "07", "7007"} {
		if !shapes[want] {
			t.Errorf("never %q: %v", want, shapes)
		}
	}
}

func TestCrashClone_NamesNeedTheirDirectorySynced(t *testing.T) {
	m := NewMem(1)
	old := must[File](t)(m.Create("d.old"))
	must[int](t)(old.WriteAt([]byte("old"), 0))
	if err := errors.Join(old.Sync(), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	f := must[File](t)(m.Create("d.tmp"))
	must[int](t)(f.WriteAt([]byte("new"), 0))
	if err := errors.Join(f.Sync(), m.Rename("d.tmp", "d.old")); err != nil {
		t.Fatal(err)
	}
	if seen := outcomes(m, TearBytes, "d.old"); len(seen) != 2 || seen["old"] == 0 || seen["new"] == 0 {
		t.Fatalf("before the directory was synced: %v", seen)
	}
	if seen := outcomes(m, LoseUnsynced, "d.old"); seen["old"] != 300 {
		t.Fatalf("losing everything unsynced: %v", seen)
	}
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	if seen := outcomes(m, TearBytes, "d.old"); seen["new"] != 300 {
		t.Fatalf("after the directory was synced: %v", seen)
	}
}

func TestCrashClone_RenameBetweenDirectoriesIsOneChange(t *testing.T) {
	m := NewMem(1)
	for _, d := range []string{"x", "y"} {
		if err := m.MkdirAll(d); err != nil {
			t.Fatal(err)
		}
	}
	must[File](t)(m.Create("x/a"))
	if err := errors.Join(m.SyncDir("/"), m.SyncDir("x"), m.Rename("x/a", "y/a")); err != nil {
		t.Fatal(err)
	}
	check := func(m *Mem) {
		t.Helper()
		seeds(100, func(seed uint64, rng *rand.Rand) {
			for _, mode := range CrashModes {
				c := m.CrashClone(rng, mode)
				_, inX := c.Stat("x/a")
				_, inY := c.Stat("y/a")
				if (inX == nil) == (inY == nil) {
					t.Fatalf("seed %d, %s: in x %v, in y %v", seed, mode, inX, inY)
				}
			}
		})
	}
	check(m)
	if err := m.SyncDir("y"); err != nil {
		t.Fatal(err)
	}
	check(m)
	if seen := outcomes(m, LoseUnsynced, "y/a"); seen[""] != 300 {
		t.Fatalf("after syncing the target: %v", seen)
	}
}

func TestHook_CrashEndsTheLifeOfTheFileSystem(t *testing.T) {
	m := NewMem(1)
	f := must[File](t)(m.Create("a"))
	m.SetHook(CrashAt(m.Ops() + 2))
	must[int](t)(f.WriteAt([]byte("one"), 0))
	if _, err := f.WriteAt([]byte("two"), 3); !errors.Is(err, ErrCrashed) {
		t.Fatal(err)
	}
	_, statErr := m.Stat("a")
	_, readErr := f.ReadAt(make([]byte, 1), 0)
	_, openErr := m.OpenFile("a", ReadOnly)
	_, freeErr := m.FreeBytes("/")
	for i, err := range []error{statErr, readErr, openErr, freeErr, f.Sync(), m.SyncDir("/"), m.Rename("a", "b"), m.MkdirAll("d")} {
		if !errors.Is(err, ErrCrashed) {
			t.Errorf("operation %d after the crash: %v", i, err)
		}
	}
	if seen := outcomes(m, KillOnly, "a"); len(seen) != 1 || seen["missing"] != 0 {
		t.Errorf("a killed process loses nothing: %v", seen)
	}
}

func TestHook_FailedSyncMayLoseDataForGood(t *testing.T) {
	lost := 0
	seeds(64, func(seed uint64, rng *rand.Rand) {
		m := NewMem(seed)
		f := must[File](t)(m.Create("a"))
		must[int](t)(f.WriteAt([]byte("x"), 0))
		m.SetHook(FailAt(m.Ops()+1, syscall.EIO))
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), m.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		if got := must[[]byte](t)(ReadFile(m, "a", 10)); string(got) != "x" {
			t.Fatalf("the running process lost its own write: %q", got)
		}
		if got := must[[]byte](t)(ReadFile(m.CrashClone(rng, LoseUnsynced), "a", 10)); len(got) == 0 {
			lost++
		}
	})
	if lost == 0 || lost == 64 {
		t.Errorf("lost in %d of 64 runs", lost)
	}
}

func TestHook_SeesEveryOperation(t *testing.T) {
	m := NewMem(1)
	var ops []Op
	m.SetHook(func(op Op) error { ops = append(ops, op); return nil })
	f := func() File { return must[File](t)(m.Create("d/a")) }
	if err := m.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	a := f()
	must[int](t)(a.WritevAt([][]byte{[]byte("ab"), []byte("c")}, 4))
	if err := errors.Join(a.Datasync(), a.Sync(), a.Truncate(2), a.Preallocate(1, 9)); err != nil {
		t.Fatal(err)
	}
	f()
	if err := errors.Join(m.Rename("d/a", "d/b"), m.SyncDir("d"), m.RemoveAll("d")); err != nil {
		t.Fatal(err)
	}
	want := []Op{
		{1, OpMkdir, "/d", "", 0, 0}, {2, OpCreate, "d/a", "", 0, 0}, {3, OpWrite, "d/a", "", 4, 3}, {4, OpDatasync, "d/a", "", 0, 0},
		{5, OpSync, "d/a", "", 0, 0}, {6, OpTruncate, "d/a", "", 0, 2}, {7, OpPreallocate, "d/a", "", 1, 9},
		{8, OpTruncate, "d/a", "", 0, 0}, {9, OpRename, "d/a", "d/b", 0, 0}, {10, OpSyncDir, "d", "", 0, 0},
		{11, OpRemove, "d/b", "", 0, 0}, {12, OpRemove, "d", "", 0, 0},
	}
	if len(ops) != len(want) {
		t.Fatalf("%v", ops)
	}
	for i := range want {
		if ops[i] != want[i] {
			t.Errorf("operation %d: %v, want %v", i, ops[i], want[i])
		}
	}
}

func TestWriteFile_LeavesOldOrNewAtEveryCrash(t *testing.T) {
	for n := uint64(1); ; n++ {
		m := NewMem(n)
		if err := WriteFile(m, "f", []byte("old content")); err != nil {
			t.Fatal(err)
		}
		m.SetHook(CrashAt(m.Ops() + n))
		err := WriteFile(m, "f", []byte("new"))
		for _, mode := range CrashModes {
			seeds(50, func(seed uint64, rng *rand.Rand) {
				got, readErr := ReadFile(m.CrashClone(rng, mode), "f", 100)
				if s := string(got); readErr != nil || s != "new" && (s != "old content" || err == nil) {
					t.Fatalf("crash at %d (%v), %s, seed %d: %q, %v", n, err, mode, seed, got, readErr)
				}
			})
		}
		if err == nil {
			break
		}
	}
}

func TestWriteFile_ErrorLeavesTheOldContentAndNoLeftover(t *testing.T) {
	for n := uint64(1); n <= 4; n++ { // create, write, fsync, rename
		m := NewMem(n)
		if err := WriteFile(m, "f", []byte("old")); err != nil {
			t.Fatal(err)
		}
		m.SetHook(FailAt(m.Ops()+n, syscall.ENOSPC))
		if err := WriteFile(m, "f", []byte("new")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if got := must[[]byte](t)(ReadFile(m, "f", 100)); string(got) != "old" {
			t.Fatalf("operation %d: content %q", n, got)
		}
		if names := must[[]string](t)(m.ReadDir("/")); len(names) != 1 {
			t.Fatalf("operation %d: left %v", n, names)
		}
	}
}

func TestCrashClone_IsDeterministicAndFullyDurable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMem(7)
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "d/a"}).Draw(t, "name")
			step(m, "/", rapid.IntRange(0, 10).Draw(t, "kind"), []string{name, "c"}, 3*i, rapid.IntRange(0, 12).Draw(t, "size"), 'x')
		}
		seed := rapid.Uint64().Draw(t, "seed")
		mode := rapid.SampledFrom(CrashModes).Draw(t, "mode")
		clone := func() *Mem { return m.CrashClone(rand.New(rand.NewPCG(seed, 0)), mode) }
		one := clone()
		same(t, one, clone(), "/")
		same(t, one, one.CrashClone(rand.New(rand.NewPCG(1, 1)), LoseUnsynced), "/")
		if mode == KillOnly {
			same(t, one, m, "/")
		}
	})
}

func same(t *rapid.T, a, b *Mem, dir string) {
	names, err := a.ReadDir(dir)
	others, err2 := b.ReadDir(dir)
	if err != nil || err2 != nil || len(names) != len(others) {
		t.Fatalf("%s: %v %v, %v %v", dir, names, err, others, err2)
	}
	for _, n := range names {
		p := path.Join(dir, n)
		if info, err := a.Stat(p); err == nil && info.IsDir {
			same(t, a, b, p)
			continue
		}
		x, err := ReadFile(a, p, 1<<20)
		y, err2 := ReadFile(b, p, 1<<20)
		if err != nil || err2 != nil || !bytes.Equal(x, y) {
			t.Fatalf("%s: %q %v, %q %v", p, x, err, y, err2)
		}
	}
}

func TestFlipBit_RotReachesTheMedium(t *testing.T) {
	m := NewMem(1)
	if err := WriteFile(m, "f", []byte{0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := m.FlipBit("f", 1, 3); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Mem{m, m.CrashClone(rand.New(rand.NewPCG(1, 1)), LoseUnsynced)} {
		if got := must[[]byte](t)(ReadFile(c, "f", 10)); !bytes.Equal(got, []byte{0, 8}) {
			t.Fatalf("content %v", got)
		}
	}
	if m.FlipBit("f", 2, 0) == nil || m.FlipBit("g", 0, 0) == nil {
		t.Fatal("flipped a bit of nothing")
	}
}

func TestMem_ConcurrentUse(t *testing.T) {
	m := NewMem(1)
	f := must[File](t)(m.Create("a"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 50 {
				if _, err := f.WriteAt([]byte{byte(i)}, int64(i)); err != nil {
					t.Error(err)
				}
				if err := errors.Join(f.Sync(), m.SyncDir("/"), m.MkdirAll("d")); err != nil {
					t.Error(err)
				}
				m.CrashClone(rand.New(rand.NewPCG(uint64(k), 0)), TearBytes)
			}
		})
	}
	wg.Wait()
	if got := must[[]byte](t)(ReadFile(m, "a", 10)); !bytes.Equal(got, []byte{0, 1, 2, 3}) {
		t.Fatalf("content %v", got)
	}
}
