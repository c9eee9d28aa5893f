package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// errClass is what callers can tell apart.
func errClass(err error) string {
	for _, c := range []error{
		fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, syscall.ENOTDIR, syscall.EISDIR, syscall.EINVAL,
	} {
		if errors.Is(err, c) {
			return c.Error()
		}
	}
	if err != nil && err.Error() == "EOF" {
		return "EOF"
	}
	if err != nil {
		return "other"
	}
	return "nil"
}

// step runs one drawn operation and returns everything a caller can observe of it.
func step(fsys FS, root string, kind int, names []string, off, size int, fill byte) string {
	at := func(i int) string { return filepath.Join(root, names[i]) }
	switch kind {
	case 0:
		return errClass(fsys.MkdirAll(at(0)))
	case 1:
		return errClass(fsys.Remove(at(0)))
	case 2:
		return errClass(fsys.RemoveAll(at(0)))
	case 3:
		return errClass(fsys.Rename(at(0), at(1)))
	case 4:
		got, err := fsys.ReadDir(at(0))
		return strings.Join(got, ",") + errClass(err)
	case 5:
		info, err := fsys.Stat(at(0))
		if info.IsDir || err != nil {
			info.SizeBytes = 0
		}
		return errClass(err) + string(rune('0'+info.SizeBytes))
	case 6:
		return errClass(fsys.SyncDir(filepath.Dir(at(0))))
	}
	flags := ReadWrite
	if kind >= 8 {
		flags |= Create
	}
	if kind == 9 {
		flags |= Exclusive
	}
	if kind == 10 {
		flags |= Truncate
	}
	f, err := fsys.OpenFile(at(0), flags)
	if err != nil {
		return errClass(err)
	}
	defer f.Close()
	var seen []string
	switch size % 4 {
	case 0:
		_, err = f.WriteAt(bytes.Repeat([]byte{fill}, size), int64(off))
	case 1:
		_, err = f.WritevAt([][]byte{{fill}, nil, bytes.Repeat([]byte{fill + 1}, size)}, int64(off))
	case 2:
		err = f.Truncate(int64(off))
	case 3:
		err = errors.Join(f.Datasync(), f.Sync(), f.Preallocate(0, 4096))
	}
	seen = append(seen, errClass(err))
	got := make([]byte, 60)
	n, err := f.ReadAt(got, int64(off/2))
	return strings.Join(append(seen, string(got[:n]), errClass(err)), "|")
}

func TestMem_BehavesLikeTheSystem(t *testing.T) {
	base := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		root := filepath.Join(base, string(rune('a'+run%20)), strings.Repeat("x", 1+run/20%200))
		if err := OS.MkdirAll(root); err != nil {
			t.Fatal(err)
		}
		defer OS.RemoveAll(root)
		mem := NewMem(1)
		name := rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/b", "d/e/f", "d/e"})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			kind := rapid.IntRange(0, 10).Draw(t, "kind")
			names := []string{name.Draw(t, "name"), name.Draw(t, "to")}
			off, size := rapid.IntRange(0, 40).Draw(t, "off"), rapid.IntRange(0, 12).Draw(t, "size")
			fill := byte(rapid.IntRange('a', 'y').Draw(t, "fill"))
			want := step(OS, root, kind, names, off, size, fill)
			got := step(mem, "/", kind, names, off, size, fill)
			if got != want {
				t.Fatalf("operation %d on %v off %d size %d: memory %q, system %q", kind, names, off, size, got, want)
			}
		}
	})
}

func TestMem_RefusesADirectoryBelowItself(t *testing.T) {
	for _, fsys := range []FS{OS, NewMem(1)} {
		root := t.TempDir()
		if err := fsys.MkdirAll(filepath.Join(root, "d")); err != nil {
			t.Fatal(err)
		}
		f, err := fsys.OpenFile(filepath.Join(root, "d/e"), ReadWrite|Create)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		for _, to := range []string{"d/e", "d/new"} { // a file that is there, and none
			if err := fsys.Rename(filepath.Join(root, "d"), filepath.Join(root, to)); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("%T: to %s: %v", fsys, to, err)
			}
		}
	}
}

func TestMem_HandlesOutliveTheirName(t *testing.T) {
	m := NewMem(1)
	f, _ := m.Create("a")
	if err := m.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("still here"), 0); err != nil {
		t.Fatal(err)
	}
	if size, err := f.Size(); size != 10 || err != nil {
		t.Fatalf("size %d, %v", size, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, fs.ErrClosed) {
		t.Fatalf("write after close: %v", err)
	}
	r, _ := m.Create("b")
	r.Close()
	r, err := m.OpenFile("b", ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a file opened for reading took a write")
	}
}

func TestMem_FullDiskTakesWhatFits(t *testing.T) {
	m := NewMem(1)
	m.SetCapacity(10)
	f, _ := m.Create("a")
	if n, err := f.WriteAt(make([]byte, 8), 0); n != 8 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := f.WriteAt(make([]byte, 8), 8); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%d, %v", n, err)
	}
	if free, err := m.FreeBytes("/"); free != 0 || err != nil {
		t.Fatalf("free %d, %v", free, err)
	}
	if n, err := f.WriteAt(make([]byte, 10), 0); n != 10 || err != nil {
		t.Fatalf("overwrite on a full disk: %d, %v", n, err)
	}
	if err := m.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if free, _ := m.FreeBytes("/"); free != 10 {
		t.Fatalf("free after removal %d", free)
	}
}
