package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var lineOf100 = append(bytes.Repeat([]byte("x"), 99), '\n')

func newLogFile(t *testing.T, o FileOptions) *logFile {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "iggy-server.log")
	f, err := openLogFile(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.close() })
	return f
}

func sizes(t *testing.T, f *logFile) map[string]int64 {
	t.Helper()
	f.flush()
	entries, err := os.ReadDir(filepath.Dir(f.options.Path))
	if err != nil {
		t.Fatal(err)
	}
	result := map[string]int64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		result[strings.TrimPrefix(entry.Name(), "iggy-server.log")] = info.Size()
	}
	return result
}

func TestLogFile_RotatesBeforeItWouldExceed(t *testing.T) {
	f := newLogFile(t, FileOptions{MaxFileBytes: 350, MaxTotalBytes: 1400})
	for range 100 {
		f.line(lineOf100, time.Now())
	}
	got := sizes(t, f)
	if len(got) != 4 {
		t.Errorf("files: %v; total divided by file size is 4", got)
	}
	for name, size := range got {
		if size > 350 || size == 0 {
			t.Errorf("%q has %d bytes", name, size)
		}
	}
	for _, name := range []string{"", ".1", ".2", ".3"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%q is missing: %v", name, got)
		}
	}
}

func TestLogFile_NewestArchiveIsNumberOne(t *testing.T) {
	f := newLogFile(t, FileOptions{MaxFileBytes: 3, MaxTotalBytes: 0})
	for _, text := range []string{"a\n", "b\n", "c\n"} {
		f.line([]byte(text), time.Now())
	}
	f.flush()
	for name, want := range map[string]string{"": "c\n", ".1": "b\n", ".2": "a\n"} {
		if got, err := os.ReadFile(f.options.Path + name); err != nil || string(got) != want {
			t.Errorf("%q holds %q, %v", name, got, err)
		}
	}
}

func TestLogFile_HourlyRotationOnlyWithALimit(t *testing.T) {
	limited := newLogFile(t, FileOptions{MaxFileBytes: 1 << 20})
	unlimited := newLogFile(t, FileOptions{})
	for _, f := range []*logFile{limited, unlimited} {
		now := time.Now()
		f.line(lineOf100, now.Add(2*time.Hour)) // empty: nothing to rotate
		f.line(lineOf100, now.Add(2*time.Hour))
	}
	if got := sizes(t, limited); len(got) != 2 {
		t.Errorf("limited: %v", got)
	}
	if got := sizes(t, unlimited); len(got) != 1 {
		t.Errorf("unlimited: %v", got)
	}
}

func TestLogFile_CleanByAgeAndTotal(t *testing.T) {
	f := newLogFile(t, FileOptions{MaxFileBytes: 1000, MaxTotalBytes: 1000, Retention: time.Hour})
	for n, age := range map[int]time.Duration{1: 0, 2: time.Minute, 3: 2 * time.Minute, 4: 2 * time.Hour} {
		if err := os.WriteFile(f.archive(n), make([]byte, 400), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(f.archive(n), then, then); err != nil {
			t.Fatal(err)
		}
	}
	foreign := f.options.Path + ".old"
	if err := os.WriteFile(foreign, make([]byte, 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	f.line(lineOf100, time.Now())
	f.clean(time.Now())
	got := sizes(t, f)
	if _, kept := got[".old"]; !kept {
		t.Error("a file of somebody else was deleted")
	}
	if len(got) != 4 || got[".1"] != 400 || got[".2"] != 400 || got[""] != 100 {
		t.Errorf("kept: %v", got)
	}
}

func TestLogFile_AppendsAfterARestart(t *testing.T) {
	f := newLogFile(t, FileOptions{MaxFileBytes: 250})
	f.line(lineOf100, time.Now())
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openLogFile(f.options)
	if err != nil {
		t.Fatal(err)
	}
	again.line(lineOf100, time.Now())
	again.line(lineOf100, time.Now())
	if got := sizes(t, again); got[""] != 100 || got[".1"] != 200 {
		t.Errorf("%v", got)
	}
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
}

func TestLogFile_ComesBackWhenItsFolderDoes(t *testing.T) {
	f := newLogFile(t, FileOptions{MaxFileBytes: 150})
	f.line(lineOf100, time.Now())
	folder := filepath.Dir(f.options.Path)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	f.line(lineOf100, time.Now()) // rotates into nothing
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	f.line(lineOf100, time.Now())
	if got := sizes(t, f); got[""] != 100 {
		t.Errorf("%v", got)
	}
}

func TestLogFile_WarnsAboutLowSpace(t *testing.T) {
	f := newLogFile(t, FileOptions{FreeBytesWarn: 1 << 62})
	if warning := f.maintain(time.Now()); !strings.Contains(warning, "are free for logs") {
		t.Errorf("warning: %q", warning)
	}
	f.options.FreeBytesWarn = 1
	if warning := f.maintain(time.Now()); warning != "" {
		t.Errorf("warning: %q", warning)
	}
}
