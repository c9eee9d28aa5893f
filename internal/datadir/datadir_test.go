package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func open(t *testing.T, o Options) *Dir {
	t.Helper()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestOpen_MakesFoldersWithModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "data")
	d := open(t, Options{Path: path})
	if !d.FirstStart() {
		t.Error("a new directory is not a first start")
	}
	for _, folder := range []string{"", "streams", "runtime", "logs"} {
		info, err := os.Stat(filepath.Join(path, folder))
		if err != nil || !info.IsDir() || info.Mode().Perm()&0o007 != 0 {
			t.Errorf("%q: %v, %v", folder, info, err)
		}
	}
	if _, err := os.Stat(d.Metadata()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the metadata folder tells a restart from a first start and was made: %v", err)
	}
}

func TestOpen_SecondHolderIsToldWho(t *testing.T) {
	path := t.TempDir()
	d := open(t, Options{Path: path})
	if err := os.WriteFile(filepath.Join(path, "streams", "keep"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Path: path, Fresh: true})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != path {
		t.Fatalf("second open: %v", err)
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "process") {
		t.Errorf("message does not help: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "streams", "keep")); err != nil {
		t.Errorf("a refused open wiped the directory of the holder: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Path: path})
}

func TestHolder_AsksWithoutTakingOrMaking(t *testing.T) {
	path := t.TempDir()
	if _, inUse, err := Holder(path); inUse || err != nil {
		t.Errorf("a directory without a lock: %v, %v", inUse, err)
	}
	if entries, _ := os.ReadDir(path); len(entries) > 0 {
		t.Errorf("the question made %v", entries)
	}
	d := open(t, Options{Path: path})
	if pid, inUse, err := Holder(path); pid != os.Getpid() || !inUse || err != nil {
		t.Errorf("in use: %d, %v, %v", pid, inUse, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, inUse, err := Holder(path); inUse || err != nil {
		t.Errorf("given back: %v, %v", inUse, err)
	}
	open(t, Options{Path: path})
}

func TestOpen_RestartKeepsDataAndEmptiesRuntime(t *testing.T) {
	path := t.TempDir()
	d := open(t, Options{Path: path})
	for _, file := range []string{d.RuntimeFile(), filepath.Join(d.Streams(), "kept")} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(d.Metadata(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, Options{Path: path})
	if d.FirstStart() {
		t.Error("a restart looks like a first start")
	}
	if _, err := os.Stat(d.RuntimeFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("runtime file of the last run is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.Streams(), "kept")); err != nil {
		t.Error(err)
	}
}

func TestOpen_FreshDeletesEverythingButTheLock(t *testing.T) {
	path := t.TempDir()
	for _, file := range []string{"metadata/journal.wal", "streams/1/x", "wal/shard-0/head"} {
		full := filepath.Join(path, file)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, Options{Path: path, Fresh: true})
	if !d.FirstStart() {
		t.Error("a wiped directory is a first start")
	}
	for _, gone := range []string{"metadata", "streams/1", "wal"} {
		if _, err := os.Stat(filepath.Join(path, gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s survived: %v", gone, err)
		}
	}
}

func TestOpen_FreshRefusesDirectoriesThatHoldMore(t *testing.T) {
	working := t.TempDir()
	t.Chdir(working)
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, path := range []string{"/", ".", "..", working, home, filepath.Dir(home)} {
		var unsafe *UnsafeWipeError
		if _, err := Open(Options{Path: path, Fresh: true}); !errors.As(err, &unsafe) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestLayout(t *testing.T) {
	path := t.TempDir()
	d := open(t, Options{Path: path, Folders: Folders{Topics: "t"}})
	for got, want := range map[string]string{
		d.Partition(1, 2, 3): "streams/1/t/2/partitions/3",
		d.WAL(4):             "wal/shard-4",
		d.Metadata():         "metadata",
		d.RuntimeFile():      "runtime/current_config.toml",
		d.Logs():             "logs",
	} {
		if got != filepath.Join(path, want) {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}

func TestLogs_FolderInTheWorkingDirectoryWins(t *testing.T) {
	working := t.TempDir()
	t.Chdir(working)
	if err := os.Mkdir("logs", 0o700); err != nil {
		t.Fatal(err)
	}
	d := open(t, Options{Path: "data"})
	if d.Logs() != filepath.Join(working, "logs") {
		t.Errorf("logs go to %s", d.Logs())
	}
}

func TestWriteRuntime_IsAtomic(t *testing.T) {
	d := open(t, Options{Path: t.TempDir()})
	for _, content := range []string{"first and long", "second"} {
		if err := d.WriteRuntime([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(d.RuntimeFile()); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	entries, err := os.ReadDir(d.Runtime())
	if err != nil || len(entries) != 1 {
		t.Errorf("leftovers: %v, %v", entries, err)
	}
	if err := os.RemoveAll(d.Runtime()); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRuntime(nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder gives %v", err)
	}
}

// A directory whose name is not synced into its parent is gone after a loss of power, with everything in it.
func TestMakeDir_SyncsEveryParentOfWhatItMade(t *testing.T) {
	base := t.TempDir()
	var synced []string
	sync := func(dir string) error {
		synced = append(synced, strings.TrimPrefix(dir, base))
		return syncDir(dir)
	}
	path := filepath.Join(base, "a", "b", "c")
	for _, want := range [][]string{{"", "/a", "/a/b"}, nil} {
		if synced = nil; makeDir(path, sync) != nil || !slices.Equal(synced, want) {
			t.Fatalf("synced %q, want %q", synced, want)
		}
	}
	broken := errors.New("device")
	if err := makeDir(filepath.Join(base, "d"), func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a parent that cannot be synced: %v", err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if makeDir(filepath.Join(file, "x"), sync) == nil {
		t.Error("made a directory below a file")
	}
}
