package vfs

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tree returns the content of every file below dir, and a mark for every directory.
func tree(t *rapid.T, fsys FS, dir string, into map[string]string) map[string]string {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatalf("list %s: %v", dir, err)
	}
	for _, name := range names {
		at := path.Join(dir, name)
		info, err := fsys.Stat(at)
		if err != nil {
			t.Fatalf("%s is listed: %v", at, err)
		}
		if info.IsDir {
			into[at] = "directory"
			tree(t, fsys, at, into)
			continue
		}
		b, err := ReadFile(fsys, at, 1<<20)
		if err != nil || int64(len(b)) != info.SizeBytes {
			t.Fatalf("%s: %d of %d bytes, %v", at, len(b), info.SizeBytes, err)
		}
		into[at] = "file " + string(b)
	}
	return into
}

// Drawn operations on an overlay are seen through it as they are on a copy of what lies below, which stays as it
// was, and Diff names exactly the files that differ in the end.
func TestOverlay_ShowsChangesAndMakesNone(t *testing.T) {
	files, dirs := []string{"a", "b", "d/a", "d/b", "d/e/f"}, []string{"d", "d/e"}
	rapid.Check(t, func(t *rapid.T) {
		base := NewMem(1)
		draw := func(fs FS, label string, isBase bool, other FS) {
			kind := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10}).Draw(t, label)
			pool := files
			if kind == 0 || kind == 4 || (kind == 1 || kind == 2) && rapid.Bool().Draw(t, "directory") {
				pool = dirs
			}
			names := []string{rapid.SampledFrom(pool).Draw(t, "name"), rapid.SampledFrom(files).Draw(t, "to")}
			off, size := rapid.SampledFrom([]int{0, 1, 7, 40, 4090, 4096, 5000, 9000}).Draw(t, "off"), rapid.IntRange(0, 12).Draw(t, "size")
			fill := byte(rapid.IntRange('a', 'y').Draw(t, "fill"))
			got := step(fs, "/", kind, names, off, size, fill)
			if isBase {
				return
			}
			if want := step(other, "/", kind, names, off, size, fill); got != want {
				t.Fatalf("operation %d on %v off %d size %d: overlay %q, memory %q", kind, names, off, size, got, want)
			}
		}
		for range rapid.IntRange(0, 15).Draw(t, "below") {
			draw(base, "prepare", true, nil)
		}
		before := tree(t, base, "/", map[string]string{})
		model := base.CrashClone(rand.New(rand.NewPCG(1, 1)), KillOnly)
		over := NewOverlay(base)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			draw(over, "kind", false, model)
		}
		after := tree(t, over, "/", map[string]string{})
		if want := tree(t, model, "/", map[string]string{}); !equalTrees(after, want) {
			t.Fatalf("overlay %v, memory %v", after, want)
		}
		if now := tree(t, base, "/", map[string]string{}); !equalTrees(now, before) {
			t.Fatalf("below was %v, is %v", before, now)
		}
		checkDiff(t, over, before, after)
	})
}

func equalTrees(a, b map[string]string) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return len(a) == len(b)
}

func checkDiff(t *rapid.T, over *Overlay, before, after map[string]string) {
	changes, err := over.Diff()
	if err != nil {
		t.Fatal(err)
	}
	reported := map[string]bool{}
	for _, c := range changes {
		reported[c.Name] = true
		was, is := before[c.Name], after[c.Name]
		if was == is && was != "directory" {
			t.Fatalf("%+v is no difference", c)
		}
		if c.Kind != Changed {
			continue
		}
		was, is = was[len("file "):], is[len("file "):]
		n := 0
		for n < min(len(was), len(is)) && was[n] == is[n] {
			n++
		}
		if c.Before != int64(len(was)) || c.After != int64(len(is)) || c.From != int64(n) {
			t.Fatalf("%+v of %q and %q", c, was, is)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
		if before[name] == after[name] || before[name] == "" && after[name] == "directory" {
			continue
		}
		covered := false
		for at := name; at != "/" && !covered; at = path.Dir(at) {
			covered = reported[at] && (at == name || before[at] == "directory")
		}
		if !covered {
			t.Fatalf("%s was %q, is %q and was not reported", name, before[name], after[name])
		}
	}
}

// What was removed below and made again does not bring back what it held.
func TestOverlay_RemovedDirectoryComesBackEmpty(t *testing.T) {
	base := NewMem(1)
	_ = base.MkdirAll("/d/e")
	if err := WriteFile(base, "/d/e/f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	over := NewOverlay(base)
	if err := over.RemoveAll("/d"); err != nil {
		t.Fatal(err)
	}
	if err := over.MkdirAll("/d/e"); err != nil {
		t.Fatal(err)
	}
	if names, err := over.ReadDir("/d/e"); err != nil || len(names) > 0 {
		t.Fatal(names, err)
	}
	if _, err := over.Stat("/d/e/f"); !isNotExist(err) {
		t.Fatal(err)
	}
}

// A directory that is renamed takes along what it held, changed or not.
func TestOverlay_RenamesDirectories(t *testing.T) {
	base := NewMem(1)
	_ = base.MkdirAll("/d/e")
	for _, name := range []string{"/d/a", "/d/e/f"} {
		if err := WriteFile(base, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	over := NewOverlay(base)
	if err := WriteFile(over, "/d/new", []byte("n")); err != nil {
		t.Fatal(err)
	}
	if err := over.Rename("/d", "/x"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/x/a": "/d/a", "/x/e/f": "/d/e/f", "/x/new": "n"} {
		if b, err := ReadFile(over, name, 100); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := over.Stat("/d"); !isNotExist(err) {
		t.Errorf("the old name: %v", err)
	}
	if names, err := base.ReadDir("/"); err != nil || !slices.Equal(names, []string{"d"}) {
		t.Errorf("below: %v, %v", names, err)
	}
}
