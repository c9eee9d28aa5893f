package segment

import (
	"errors"
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// PlantEmpty makes an empty segment that begins at start, its files and names durable. What was there
// under that name must hold nothing.
func PlantEmpty(fs vfs.FS, dir string, start uint64) error {
	err := fs.MkdirAll(dir)
	for _, name := range []string{logPath(dir, start), indexPath(dir, start)} {
		if err == nil {
			err = writeWhole(fs, name, nil, false) // an empty file is its name
		}
	}
	if err == nil {
		err = fs.SyncDir(path.Clean(dir))
	}
	if err != nil {
		return fmt.Errorf("plant segment %d: %w", start, err)
	}
	return nil
}

// PlantAnchor makes an empty segment at a.PlantedStart behind the gap that a allows. The anchor is durable
// before the segment exists: a crash in between leaves an anchor alone, which recovery removes.
func PlantAnchor(fs vfs.FS, dir string, a Anchor) error {
	if err := WriteAnchor(fs, dir, a); err != nil {
		return err
	}
	return PlantEmpty(fs, dir, a.PlantedStart)
}

// Reanchor makes the chain of a partition without replicas end at frontier, the next offset to be given
// out, and returns the segments that result. An empty last segment below the frontier claims a range that
// it will never hold: it is removed. A last segment with data that ends below the frontier is sealed, and
// an empty one is planted behind an authorised gap. Repeating it after a crash at any point gives the same
// result; a chain that already ends at the frontier is left alone.
func Reanchor(fs vfs.FS, dir string, segments []Info, frontier uint64) ([]Info, error) {
	for len(segments) > 0 {
		last := segments[len(segments)-1]
		if last.Size > 0 || last.Start >= frontier {
			break
		}
		if err := RemoveSegments(fs, dir, []uint64{last.Start}); err != nil {
			return segments, fmt.Errorf("re-anchor at %d: %w", frontier, err)
		}
		segments = segments[:len(segments)-1]
	}
	var err error
	switch n := len(segments); {
	case n == 0:
		err = PlantEmpty(fs, dir, frontier)
	case segments[n-1].Size > 0 && segments[n-1].End < frontier-1 && frontier > 0:
		last := segments[n-1]
		err = PlantAnchor(fs, dir, Anchor{PlantedStart: frontier, SealedStart: last.Start, SealedEnd: last.End})
	default:
		return segments, nil
	}
	if err != nil {
		return segments, fmt.Errorf("re-anchor at %d: %w", frontier, err)
	}
	return append(segments[:len(segments):len(segments)], Info{Start: frontier}), nil
}

// RemoveSegments deletes the segments that begin at starts, in that order, each with its index and anchor.
// Oldest first, every step leaves a chain without a hole: the removal of one log is durable before anything
// that it needed goes, and before the next one begins. Missing files are no error, so that an interrupted
// removal can be repeated. What a crash leaves of index and anchor is removed by Recover.
func RemoveSegments(fs vfs.FS, dir string, starts []uint64) error {
	for _, start := range starts {
		if err := removeSegment(fs, dir, start); err != nil {
			return fmt.Errorf("remove segment %d: %w", start, err)
		}
	}
	return nil
}

func removeSegment(fs vfs.FS, dir string, start uint64) error {
	if err := removeIfThere(fs, logPath(dir, start)); err != nil {
		return err
	}
	if err := fs.SyncDir(path.Clean(dir)); err != nil {
		return err
	}
	return errors.Join(removeIfThere(fs, indexPath(dir, start)), removeIfThere(fs, anchorPath(dir, start)))
}

// DropIndexes deletes the indexes of segments that are about to be removed, where a full disk has no room for the
// record that must come first. Readers do without an index, and recovery builds it anew.
func DropIndexes(fs vfs.FS, dir string, starts []uint64) error {
	for _, start := range starts {
		if err := removeIfThere(fs, indexPath(dir, start)); err != nil {
			return fmt.Errorf("drop index of segment %d: %w", start, err)
		}
	}
	return fs.SyncDir(path.Clean(dir)) // only now the room is free
}

// DropAllIndexes is DropIndexes for every segment found in a directory.
func DropAllIndexes(fs vfs.FS, dir string) error {
	starts, err := listSegments(fs, dir)
	if err != nil {
		return fmt.Errorf("list segments of %s: %w", dir, err)
	}
	return DropIndexes(fs, dir, starts)
}

// Purge empties a partition: every segment and every stored offset found in its directory is deleted, and
// an empty segment that begins at offset 0 is planted. Segments go oldest first, so that a crash leaves the
// newer end of the chain. Recording the purge is left to WriteOwner.
func Purge(fs vfs.FS, dir string) error {
	starts, err := listSegments(fs, dir)
	if err == nil {
		err = RemoveSegments(fs, dir, starts)
	}
	for _, kind := range []OffsetKind{ConsumerOffset, GroupOffset} {
		if err == nil {
			err = RemoveOffsets(fs, dir, kind)
		}
	}
	if err == nil {
		err = PlantEmpty(fs, dir, 0)
	}
	if err != nil {
		return fmt.Errorf("purge %s: %w", dir, err)
	}
	return nil
}

// listSegments returns the starts of the segments in a directory, ascending; none when it is missing.
func listSegments(fs vfs.FS, dir string) ([]uint64, error) {
	names, err := fs.ReadDir(dir)
	if notExist(err) {
		return nil, nil
	}
	var starts []uint64
	for _, name := range names {
		if path.Ext(name) != logSuffix {
			continue
		}
		if start, ok := parseStem(name[:len(name)-len(logSuffix)]); ok {
			starts = append(starts, start)
		}
	}
	return starts, err
}
