package inspect

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// walkNames looks for what does not belong at the top of the data directory and in the metadata folder.
func (v *verification) walkNames() {
	l := v.Layout
	known := map[string]bool{
		filepath.Base(l.Metadata()): true, filepath.Base(l.Streams()): true, filepath.Base(l.Runtime()): true,
		filepath.Base(filepath.Dir(l.WAL(0))): true, datadir.LockName: true, filepath.Base(l.StopMark()): true, filepath.Base(l.LogFolder()): true,
	}
	v.strangers(l.Path(), func(name string) bool { return known[name] })
	v.strangers(l.Metadata(), func(name string) bool {
		return slices.Contains(metadataNames(), name) || name == wal.JournalName+".tmp" || name == wal.MirrorName+".tmp" || name == snapshot.FileName+".tmp"
	})
}

// strangers notes the names in a directory that nobody knows.
func (v *verification) strangers(dir string, known func(string) bool) {
	names, err := v.FS.ReadDir(dir)
	if isMissing(err) {
		return
	}
	if err != nil {
		v.found.add(Refuses, relative(v.Layout.Path(), dir), "%v", err).remedy(remedyDevice)
		return
	}
	for _, name := range names {
		at := relative(v.Layout.Path(), path.Join(dir, name))
		switch {
		case known(name):
		case strings.HasSuffix(name, ".tmp"):
			v.found.add(Ignored, at, "leftover of an unfinished replacement; the next one overwrites it")
		default:
			v.found.add(Ignored, at, "unknown name").remedy("remove it if nobody misses it")
		}
	}
}

// findPlaces lists the partition directories, and tells about every other name on the way.
func (v *verification) findPlaces() []place {
	var places []place
	l := v.Layout
	for _, stream := range v.numbers(l.Streams()) {
		v.onlyFolder(filepath.Join(l.Streams(), itoa(uint64(stream))), filepath.Base(l.Topics(stream)))
		for _, topic := range v.numbers(l.Topics(stream)) {
			v.onlyFolder(filepath.Join(l.Topics(stream), itoa(uint64(topic))), filepath.Base(l.Partitions(stream, topic)))
			for _, part := range v.numbers(l.Partitions(stream, topic)) {
				dir := l.Partition(stream, topic, part)
				id, err := protocol.PartitionGroup(stream, topic, part)
				if err != nil {
					v.found.add(Ignored, relative(l.Path(), dir), "no partition has these numbers")
					continue
				}
				p := place{id: id, dir: dir}
				if v.group.rehearsal == nil {
					places = append(places, p)
					continue
				}
				var ok bool
				if p.known, p.topic, ok = v.group.view().PartitionByID(stream, topic, part); !ok {
					v.orphan(dir)
					continue
				}
				places = append(places, p)
			}
		}
	}
	return places
}

// numbers lists the directory entries that are plain numbers, and tells about the others.
func (v *verification) numbers(dir string) []uint32 {
	names, err := v.FS.ReadDir(dir)
	if isMissing(err) {
		return nil
	}
	at := relative(v.Layout.Path(), dir)
	if err != nil {
		v.found.add(Refuses, at, "%v", err).remedy(remedyDevice)
		return nil
	}
	var numbers []uint32
	for _, name := range names {
		number, ok := datadir.ParseNumber(name)
		switch {
		case ok:
			numbers = append(numbers, number)
		case strings.Contains(name, ".deleted"):
			v.found.add(Continues, path.Join(at, name), "a deleted partition on its way out; removed")
		case strings.Contains(name, ".foreign."):
			v.found.add(Ignored, path.Join(at, name), "a directory of another incarnation that was set aside, %s", size(v.dirBytes(filepath.Join(dir, name)))).
				remedy("look at it, then delete it or restore the backup")
		default:
			v.found.add(Ignored, path.Join(at, name), "unknown name").remedy("remove it if nobody misses it")
		}
	}
	return numbers
}

// onlyFolder tells about names beside the only folder that belongs into dir.
func (v *verification) onlyFolder(dir, folder string) {
	v.strangers(dir, func(name string) bool { return name == folder })
}

// orphan reports a partition directory that the metadata does not know.
func (v *verification) orphan(dir string) {
	if v.group.start == nil {
		v.found.add(Ignored, relative(v.Layout.Path(), dir), "the metadata knows no such partition")
		return
	}
	what := "the metadata knows no such partition"
	if owner, err := segment.ReadOwner(v.FS, dir); err == nil && owner.Evidence != segment.OwnerUnknown {
		what = fmt.Sprintf("%s (incarnation %d)", what, owner.Revision)
	}
	v.found.add(Deletes, relative(v.Layout.Path(), dir), "%s; the next start deletes the directory, %s", what, size(v.dirBytes(dir))).
		remedy("nothing if the partition was deleted just before the stop; else restore the whole data directory from a backup before the start")
}

// logBytes is the length of the logs in a partition directory.
func (v *verification) logBytes(dir string) int64 {
	return sumFiles(v.FS, dir, func(name string) bool {
		kind, _ := segment.KindOf(name)
		return kind == segment.LogFile
	})
}

func (v *verification) dirBytes(dir string) int64 {
	return sumFiles(v.FS, dir, func(string) bool { return true })
}

func sumFiles(fsys vfs.FS, dir string, counts func(name string) bool) (total int64) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return 0 // reported where the directory is opened
	}
	for _, name := range names {
		if info, err := fsys.Stat(path.Join(dir, name)); err == nil && !info.IsDir && counts(name) {
			total += info.SizeBytes
		}
	}
	return total
}
