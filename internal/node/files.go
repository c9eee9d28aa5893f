package node

import (
	"errors"
	"slices"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// segmentFiles are the files that a partition writes: the active segment, and those that are full and not
// synced yet.
type segmentFiles struct {
	fs       vfs.FS
	dir      string
	active   *segment.Writer
	full     []*segment.Writer
	dirDirty bool     // a segment was created since the directory was synced
	orphans  []uint64 // segments behind the end of the log that are to be removed before it grows, newest first
	// lost is why bytes of full segments that were given back may not be on the device; no later sync can tell.
	lost error
}

// write carries out a plan. After an error the log ends where the plan began or behind one of its runs; the
// partition plans the same positions again.
func (f *segmentFiles) write(plan *partition.AppendPlan, preallocate int64) error {
	if err := f.removeOrphans(); err != nil {
		return err
	}
	for i := range plan.Runs {
		r := &plan.Runs[i]
		if r.Create {
			if err := f.create(r.Start, preallocate); err != nil {
				return err
			}
		}
		if len(r.Records) == 0 {
			continue
		}
		if err := f.open(r.Start, r.Position); err != nil {
			return err
		}
		if err := f.active.Append(r.Records, r.Position, r.Index); err != nil {
			return err
		}
	}
	return nil
}

func (f *segmentFiles) create(start uint64, preallocate int64) error {
	w, err := segment.Create(f.fs, f.dir, start, segment.CreateOptions{PreallocateBytes: preallocate})
	if err != nil {
		// It may be there all the same, and would not continue the log once another batch ends elsewhere.
		f.orphans = append([]uint64{start}, f.orphans...)
		return err
	}
	if f.active != nil {
		f.full = append(f.full, f.active)
	}
	f.active, f.dirDirty = w, true
	return nil
}

// open makes the segment that begins at start the one that is written. It holds size bytes.
func (f *segmentFiles) open(start uint64, size int64) error {
	if f.active != nil && f.active.Start() == start {
		return nil
	}
	if back, err := f.takeBack(start); back || err != nil {
		return err
	}
	w, err := segment.OpenWriter(f.fs, f.dir, start, size)
	if err != nil {
		return err
	}
	if f.active != nil {
		f.full = append(f.full, f.active)
	}
	f.active = w
	return nil
}

// takeBack makes a full segment active again: what filled it was unwound. The segments that followed hold
// nothing that counts; left in place, they would not continue the log at a boot.
func (f *segmentFiles) takeBack(start uint64) (bool, error) {
	i := slices.IndexFunc(f.full, func(w *segment.Writer) bool { return w.Start() == start })
	if i < 0 {
		return false, nil
	}
	followers := append(slices.Clone(f.full[i+1:]), f.active)
	f.active, f.full = f.full[i], f.full[:i]
	slices.Reverse(followers)
	var err error
	for _, w := range followers {
		err = errors.Join(err, w.Close())
		f.orphans = append(f.orphans, w.Start())
	}
	return true, errors.Join(err, f.removeOrphans())
}

// cutBack makes the log end at position of the segment that begins at start, durably: everything behind it was
// refused.
func (f *segmentFiles) cutBack(start uint64, position int64) error {
	if f.active != nil && f.active.Start() != start {
		if _, err := f.takeBack(start); err != nil {
			return err
		}
	}
	if f.active != nil && f.active.Start() == start {
		if err := f.active.Cut(position); err != nil {
			return err
		}
	}
	return f.removeOrphans()
}

// removeOrphans removes what is behind the end of the log. What fails is tried again before the next write.
func (f *segmentFiles) removeOrphans() error {
	for len(f.orphans) > 0 {
		if err := segment.RemoveSegments(f.fs, f.dir, f.orphans[:1]); err != nil {
			return err
		}
		f.orphans = f.orphans[1:]
	}
	return nil
}

// syncSet is what one sync covers.
type syncSet struct {
	fs       vfs.FS
	dir      string
	writers  []*segment.Writer
	full     int // the first of writers are full: they are closed once synced
	dirDirty bool
	lost     bool // after run: bytes or names may be gone that no later sync can vouch for
}

// toSync returns everything written and not known to be durable.
func (f *segmentFiles) toSync() syncSet {
	s := syncSet{fs: f.fs, dir: f.dir, dirDirty: f.dirDirty, full: len(f.full)}
	s.writers = append(s.writers, f.full...)
	if f.active != nil {
		s.writers = append(s.writers, f.active)
	}
	f.dirDirty = false
	f.full = nil
	return s
}

// held returns the same as toSync for a sync that nobody's promise depends on: what it covers stays to be synced,
// and open.
func (f *segmentFiles) held() syncSet {
	s := syncSet{fs: f.fs, dir: f.dir, dirDirty: f.dirDirty, writers: slices.Clone(f.full)}
	if f.active != nil {
		s.writers = append(s.writers, f.active)
	}
	return s
}

// fullToSync returns the full segments only.
func (f *segmentFiles) fullToSync() (syncSet, bool) {
	if len(f.full) == 0 {
		return syncSet{}, false
	}
	s := syncSet{fs: f.fs, dir: f.dir, dirDirty: f.dirDirty, full: len(f.full), writers: f.full}
	f.dirDirty, f.full = false, nil
	return s, true
}

// rewrite writes again what an earlier sync of the set has failed for.
func (s *syncSet) rewrite() error {
	for _, w := range s.writers {
		if err := w.Rewrite(); err != nil {
			return err
		}
	}
	return nil
}

// run syncs the set, data before names. When all of it is on the device, the full segments are closed;
// otherwise every one stays open, because what it holds may have to be written again.
func (s *syncSet) run() error {
	var err error
	for _, w := range s.writers {
		err = errors.Join(err, w.Datasync())
		s.lost = s.lost || w.Lost()
	}
	if s.dirDirty {
		derr := s.fs.SyncDir(s.dir)
		s.lost = s.lost || derr != nil
		err = errors.Join(err, derr)
	}
	if err != nil {
		return err
	}
	for _, w := range s.writers[:s.full] {
		_ = w.Close() // nothing to lose: log and index were synced
	}
	return nil
}

// close gives the descriptors of full segments back without a sync.
func (s *syncSet) close() {
	for _, w := range s.writers[:s.full] {
		_ = w.Close() // the sync that failed was reported
	}
}

// restore puts back what a failed sync did not cover.
func (f *segmentFiles) restore(s *syncSet) {
	f.full = append(append([]*segment.Writer(nil), s.writers[:s.full]...), f.full...)
	f.dirDirty = f.dirDirty || s.dirDirty
}

// close gives the descriptors back without syncing.
func (f *segmentFiles) close() error {
	var err error
	for _, w := range f.full {
		err = errors.Join(err, w.Close())
	}
	if f.active != nil {
		err = errors.Join(err, f.active.Close())
	}
	f.full, f.active = nil, nil
	return err
}
