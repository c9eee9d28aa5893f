package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/vfs"
)

// breakage is a file system that answers some operations with success and does not do them.
type breakage struct {
	vfs.FS
	// syncs, dirs, renames and removes tell by name what is left out. Nil leaves nothing out.
	syncs, dirs, renames, removes func(name string) bool
}

type brokenFile struct {
	vfs.File
	name  string
	broke *breakage
}

func skip(f func(string) bool, name string) bool { return f != nil && f(name) }

func (b *breakage) file(f vfs.File, err error, name string) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &brokenFile{f, name, b}, nil
}

func (b *breakage) OpenFile(name string, flags vfs.Flags) (vfs.File, error) {
	f, err := b.FS.OpenFile(name, flags)
	return b.file(f, err, name)
}

func (b *breakage) Create(name string) (vfs.File, error) {
	f, err := b.FS.Create(name)
	return b.file(f, err, name)
}

func (b *breakage) SyncDir(name string) error {
	if skip(b.dirs, name) {
		return nil
	}
	return b.FS.SyncDir(name)
}

func (b *breakage) Rename(from, to string) error {
	if skip(b.renames, to) {
		return nil
	}
	return b.FS.Rename(from, to)
}

func (b *breakage) Remove(name string) error {
	if skip(b.removes, name) {
		return nil
	}
	return b.FS.Remove(name)
}

func (b *breakage) RemoveAll(name string) error {
	if skip(b.removes, name) {
		return nil
	}
	return b.FS.RemoveAll(name)
}

func (f *brokenFile) Sync() error {
	if skip(f.broke.syncs, f.name) {
		return nil
	}
	return f.File.Sync()
}

func (f *brokenFile) Datasync() error {
	if skip(f.broke.syncs, f.name) {
		return nil
	}
	return f.File.Datasync()
}

func ending(suffix string) func(string) bool {
	return func(name string) bool { return strings.HasSuffix(name, suffix) }
}

func containing(part string) func(string) bool {
	return func(name string) bool { return strings.Contains(name, part) }
}

func every(string) bool { return true }

// breakages are what the sweep must not miss, each with the paths that show it.
var breakages = []struct {
	name  string
	broke breakage
	paths []string
}{
	{"no directory is synced", breakage{dirs: every}, []string{"first-use-synced"}},
	{"the directory of the metadata is not synced", breakage{dirs: ending("/metadata")}, []string{"first-boot"}},
	{"partition directories are not synced", breakage{dirs: containing("/partitions/")}, []string{"rotation-synced"}},
	{"new directories are not synced into their parents", breakage{dirs: ending("/partitions")}, []string{"first-use-synced"}},
	{"the journal is not synced", breakage{syncs: ending("/journal.wal")}, []string{"metadata"}},
	{"superblocks are not synced", breakage{syncs: containing("/superblock.")}, []string{"reservation-synced"}},
	{"superblocks are not replaced", breakage{renames: containing("/superblock.")}, []string{"first-use"}},
	{"the shard log is not synced", breakage{syncs: containing("/wal/shard-")}, []string{"append-synced", "synced-together"}},
	{"logs are not synced by a flush", breakage{syncs: ending(".log")}, []string{"flush"}},
	{"stored offsets are not synced", breakage{syncs: containing("/offsets/")}, []string{"offsets-synced"}},
	{"names of stored offsets are not synced", breakage{dirs: containing("/offsets/")}, []string{"offsets-synced"}},
	{"owners are not synced", breakage{syncs: containing("/owner")}, []string{"purge-synced", "boot-purge", "topic-recreate"}},
	{"anchors are not synced", breakage{syncs: containing(".anchor")}, []string{"re-anchor", "re-anchor-twice"}},
	{"purged segments stay", breakage{removes: ending(".log")}, []string{"purge-synced"}},
	{"purged offsets stay", breakage{removes: containing("/offsets/")}, []string{"purge-synced"}},
	{"expired segments stay", breakage{removes: ending(".log")}, []string{"retention-age"}},
	{"deleted segments stay", breakage{removes: ending(".log")}, []string{"delete-segments"}},
	{"directories of deleted topics stay", breakage{renames: containing(".deleted")}, []string{"topic-delete"}},
	{"files of deleted topics stay", breakage{removes: containing(".deleted")}, []string{"topic-delete"}},
}

// TestCrashPoints_CatchBreakages sweeps over file systems that leave something out: every one must be noticed.
func TestCrashPoints_CatchBreakages(t *testing.T) {
	if !*crashBreakages {
		t.Skip("run with -crash-breakages")
	}
	for _, b := range breakages {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			s := Sweep{Paths: allPaths(), Disk: func(disk vfs.FS) vfs.FS {
				broke := b.broke
				broke.FS = disk
				return &broke
			}}
			s.Paths = slices.DeleteFunc(s.Paths, func(p *Path) bool { return !slices.Contains(b.paths, p.Name) })
			_, err := s.Run()
			var at *PointError
			switch {
			case err == nil:
				t.Error("the sweep did not notice")
			case errors.As(err, &at):
				t.Logf("%s: %v", at.Point, at.Err)
			default:
				t.Logf("without a crash: %v", err)
			}
		})
	}
}
