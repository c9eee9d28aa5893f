package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// mark of a superblock: what must not go back.
type blockMark struct {
	sequence      uint64
	view, logView uint32
}

func (w *World) partitionDir(m *partitionModel) string {
	stream, topic, part := m.id.Partition()
	return w.layout().Partition(stream, topic, part)
}

// noteBlocks remembers the superblocks as they are durable now.
func (w *World) noteBlocks() error {
	w.blocks = map[string]blockMark{}
	return w.eachBlock(w.disk, func(key string, b blockMark) error {
		w.blocks[key] = b
		return nil
	})
}

// checkBlocks holds the superblocks on a disk that the node has not opened yet against what they were.
func (w *World) checkBlocks(disk *vfs.Mem) error {
	seen := map[string]blockMark{}
	err := w.eachBlock(disk, func(key string, b blockMark) error {
		seen[key] = b
		return nil
	})
	if err != nil {
		return err
	}
	for key, was := range w.blocks {
		now, ok := seen[key]
		if !ok && (w.ending() || !w.owned(key)) {
			continue
		}
		if now.sequence < was.sequence || now.view < was.view || now.logView < was.logView {
			return fmt.Errorf("superblock of %s went back from %+v to %+v", key, was, now)
		}
	}
	return nil
}

// owned reports whether a partition that clients know of, or the metadata group, has the superblock of key.
func (w *World) owned(key string) bool {
	if key == "metadata" {
		return true
	}
	for _, m := range w.catalog.parts() {
		if blockKey(m) == key {
			return true
		}
	}
	return false
}

func blockKey(m *partitionModel) string { return fmt.Sprintf("%s of revision %d", m.id, m.revision) }

// eachBlock calls f for the superblock of the metadata group and of every partition that clients know of.
func (w *World) eachBlock(disk *vfs.Mem, f func(key string, b blockMark) error) error {
	if err := readBlock(disk, w.layout().Metadata(), "metadata", f); err != nil {
		return err
	}
	for _, m := range w.catalog.parts() {
		if w.ending() {
			continue
		}
		dir := w.partitionDir(m)
		owner, err := segment.ReadOwner(disk, dir)
		if err != nil {
			return err
		}
		if owner.Evidence == segment.OwnerUnknown || owner.Revision != m.revision {
			continue // not used yet
		}
		if err := readBlock(disk, dir, blockKey(m), f); err != nil {
			return err
		}
	}
	return nil
}

func readBlock(disk *vfs.Mem, dir, key string, f func(string, blockMark) error) error {
	var newest superblock.Slot
	for _, name := range superblock.Names() {
		slot, _, err := superblock.ReadSlot(disk, path.Join(dir, name))
		if err != nil {
			return err
		}
		if slot.Sequence > newest.Sequence {
			newest = slot
		}
	}
	if newest.Sequence == 0 {
		return nil
	}
	return f(key, blockMark{newest.Sequence, newest.State.View, newest.State.LogView})
}

// ending reports whether an operation that deletes partitions is on its way: it is not known which are there.
func (w *World) ending() bool {
	for _, c := range w.clients {
		if c.open == nil {
			continue
		}
		switch c.open.op {
		case protocol.OpDeleteTopic, protocol.OpDeleteStream, protocol.OpDeletePartitions:
			return true
		}
	}
	return false
}

// tmpMax is the number of temporary files that may lie in one directory: a crash leaves those that were being
// written, and whoever writes next replaces them.
const tmpMax = 2

// asideMax is the number of directories that one life may set aside for good: those of partitions that were deleted
// and made anew right before a crash.
const asideMax = 2

// checkLeftovers looks for what crashes left behind: nothing that was deleted, no directory without an owner, and few
// temporary files. What was set aside for an operator is counted.
func (w *World) checkLeftovers() error {
	owned, aside := map[string]bool{}, 0
	for _, m := range w.catalog.parts() {
		owned[w.partitionDir(m)] = true
	}
	err := walkDirs(w.disk, w.layout().Path(), func(dir string, names []string) error {
		tmp := 0
		for _, name := range names {
			switch {
			case strings.Contains(name, ".foreign"):
				aside++
				continue
			case strings.Contains(name, ".deleted"):
				return fmt.Errorf("%s/%s was left behind", dir, name)
			case strings.HasSuffix(name, ".tmp"), strings.HasSuffix(name, ".staging"):
				tmp++
			}
			if path.Base(dir) == "partitions" && !owned[path.Join(dir, name)] {
				return fmt.Errorf("%s/%s belongs to no partition", dir, name)
			}
		}
		if tmp > tmpMax {
			return fmt.Errorf("%s holds %d temporary files: %v", dir, tmp, names)
		}
		return nil
	})
	if err == nil && aside > w.aside {
		if aside > w.aside+asideMax {
			return fmt.Errorf("%d directories were set aside, %d before", aside, w.aside)
		}
		w.fences["directory of a deleted partition, set aside because its ids were used again before it was removed"] += uint64(aside - w.aside)
		w.aside = aside
	}
	return err
}

// walkDirs calls f for every directory below dir, with the names in it.
func walkDirs(disk *vfs.Mem, dir string, f func(dir string, names []string) error) error {
	names, err := disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f(dir, names); err != nil {
		return err
	}
	for _, name := range names {
		at := path.Join(dir, name)
		info, err := disk.Stat(at)
		if err != nil {
			return err
		}
		if !info.IsDir {
			continue
		}
		if err := walkDirs(disk, at, f); err != nil {
			return err
		}
	}
	return nil
}

// checkGaps looks at the offsets that a partition serves: they follow each other, but for gaps that an anchor
// allows.
func (w *World) checkGaps(m *partitionModel, offsets []uint64) error {
	for i := 1; i < len(offsets); i++ {
		if offsets[i] == offsets[i-1]+1 {
			continue
		}
		a, ok, err := segment.ReadAnchor(w.disk, w.partitionDir(m), offsets[i])
		if err != nil {
			return err
		}
		if !ok || a.SealedEnd != offsets[i-1] {
			return fmt.Errorf("partition %s: offset %d follows %d and no anchor allows it (%+v)", m.id, offsets[i], offsets[i-1], a)
		}
	}
	return nil
}

// checkFiles compares the logs in the directory of a partition with the segments that it serves.
func (w *World) checkFiles(m *partitionModel) error {
	names, err := w.disk.ReadDir(w.partitionDir(m))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not used yet
	}
	if err != nil {
		return err
	}
	logs := uint32(0)
	for _, name := range names {
		if path.Ext(name) == path.Ext(segment.LogName(0)) {
			logs++
		}
	}
	if n := w.node.PartitionStats(m.id, m.revision, w.generation(m)).Segments; logs != n && logs > 0 {
		return fmt.Errorf("partition %s: %d logs in its directory, %d segments served: %v", m.id, logs, n, names)
	}
	return nil
}
