package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestOS_WritesReadsAndRenames(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "sub", "a.log")
	if err := OS.MkdirAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	if _, err := OS.OpenFile(name, ReadWrite); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("open of a missing file: %v", err)
	}
	f, err := OS.OpenFile(name, ReadWrite|Create|Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OS.OpenFile(name, ReadWrite|Create|Exclusive); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("exclusive create of an existing file: %v", err)
	}
	if n, err := f.WritevAt([][]byte{[]byte("he"), nil, []byte("llo")}, 3); n != 5 || err != nil {
		t.Fatalf("write: %d, %v", n, err)
	}
	for what, err := range map[string]error{
		"preallocate": f.Preallocate(0, 1<<20), "datasync": f.Datasync(),
		"sync": f.Sync(), "sync dir": OS.SyncDir(filepath.Dir(name)),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if size, err := f.Size(); size != 8 || err != nil {
		t.Fatalf("size after preallocation: %d, %v", size, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"datasync": f.Datasync(), "sync": f.Sync(), "close": f.Close()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
	if _, err := f.WritevAt([][]byte{{1}}, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("vectored write after close: %v", err)
	}
	if err := OS.Rename(name, filepath.Join(dir, "b.log")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(OS, filepath.Join(dir, "b.log"), 8)
	if err != nil || !bytes.Equal(got, []byte("\x00\x00\x00hello")) {
		t.Fatalf("content %q, %v", got, err)
	}
	if _, err := ReadFile(OS, filepath.Join(dir, "b.log"), 7); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("read beyond the limit: %v", err)
	}
	if names, err := OS.ReadDir(dir); err != nil || len(names) != 2 || names[0] != "b.log" || names[1] != "sub" {
		t.Fatalf("names %v, %v", names, err)
	}
	if free, err := OS.FreeBytes(dir); err != nil || free == 0 {
		t.Fatalf("free bytes %d, %v", free, err)
	}
}
