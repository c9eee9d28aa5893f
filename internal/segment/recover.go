package segment

import (
	"errors"
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// Options say how Recover judges a directory.
type Options struct {
	// Solo allows gaps between segments where an anchor authorises them. Partitions with replicas have no
	// gaps.
	Solo bool
	// First, when FirstKnown, is the highest offset at which the oldest segment may begin, if there is one:
	// nothing above it was removed on purpose.
	First      uint64
	FirstKnown bool
	// Floor is the end of the data known to have been synced, 0 when nothing is known: a log that ends below it
	// is damaged and not torn.
	Floor uint64
}

// State is what Recover found, or made.
type State struct {
	// Segments are ascending; the last one is the active one. None: the partition never held data.
	Segments []Info
	// Foreign are names that end in ".log" and name no segment. They were left alone.
	Foreign []string
	// Swept are the leftovers that were removed.
	Swept []string
}

// End is the next offset after the data, or the start of an empty last segment; 0 when there is none.
func (st *State) End() uint64 {
	if len(st.Segments) == 0 {
		return 0
	}
	return st.Segments[len(st.Segments)-1].next()
}

// next is the offset that the segment goes on with.
func (i *Info) next() uint64 {
	if i.Size == 0 {
		return i.Start
	}
	return i.End + 1
}

// Info describes one recovered segment. While Size is 0 only Start means anything.
type Info struct {
	Start uint64 // first offset, and name
	End   uint64 // last offset
	Size  int64  // bytes of log
	// First, Last and Max are append times in microseconds: of the first batch, the last and the newest.
	First, Last, Max uint64
	// LastIndexed is the position of the newest index entry, which the live writer continues from; Indexed
	// tells that there is one.
	LastIndexed int64
	Indexed     bool
	// TruncatedBytes is what was cut off the log, Reindexed that the index was completed or written anew.
	TruncatedBytes int64
	Reindexed      bool
}

// Recover brings the segments of a partition directory into a state that a Writer can continue and a
// Reader can serve: leftovers of unfinished work are removed, a torn tail is cut off physically, an index
// that does not fit its log is rebuilt. Repairs are durable when it returns. A *Refusal means damage that
// must not be repaired from what is there; nothing but leftovers was touched then. Every other error is
// one of reading or writing. A missing directory is an empty State. Recover may be repeated at any time
// that nothing else works on the directory; what it returns has then nothing more to repair.
func Recover(fs vfs.FS, dir string, partitionID uint64, opts Options) (State, error) {
	names, err := fs.ReadDir(dir)
	if notExist(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("recover %s: %w", dir, err)
	}
	var st State
	starts, err := st.sweep(fs, dir, names)
	if err != nil {
		return State{}, fmt.Errorf("recover %s: %w", dir, err)
	}
	plans := make([]*plan, len(starts))
	for i, start := range starts {
		if plans[i], err = inspect(fs, dir, start, partitionID); err != nil {
			return State{}, recoverError(dir, err)
		}
	}
	if err := checkChain(fs, dir, plans, opts); err != nil {
		return State{}, recoverError(dir, err)
	}
	if err := checkExtent(plans, opts); err != nil {
		return State{}, recoverError(dir, err)
	}
	if err := repair(fs, dir, plans); err != nil {
		return State{}, fmt.Errorf("recover %s: %w", dir, err)
	}
	for _, p := range plans {
		st.Segments = append(st.Segments, p.info)
	}
	return st, nil
}

// recoverError puts the directory into a refusal, which describes itself, and in front of anything else.
func recoverError(dir string, err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		r.Dir = dir
		return r
	}
	return fmt.Errorf("recover %s: %w", dir, err)
}

// sweep removes what unfinished work left behind and returns the starts of the segments, ascending.
func (st *State) sweep(fs vfs.FS, dir string, names []string) ([]uint64, error) {
	var starts []uint64
	logs := map[string]bool{}
	for _, name := range names { // sorted, and stems have one width: starts ascend
		if path.Ext(name) != logSuffix {
			continue
		}
		s := name[:len(name)-len(logSuffix)]
		logs[s] = true
		if start, ok := parseStem(s); ok {
			starts = append(starts, start)
		} else {
			st.Foreign = append(st.Foreign, name)
		}
	}
	for _, name := range names {
		ext := path.Ext(name)
		orphan := (ext == indexSuffix || ext == anchorSuffix) && !logs[name[:len(name)-len(ext)]]
		if ext != stagingSuffix && !orphan {
			continue
		}
		if err := removeIfThere(fs, path.Join(dir, name)); err != nil {
			return nil, err
		}
		st.Swept = append(st.Swept, name)
	}
	if len(st.Swept) == 0 {
		return starts, nil
	}
	return starts, fs.SyncDir(path.Clean(dir))
}

// checkChain tests that the segments follow each other.
func checkChain(fs vfs.FS, dir string, plans []*plan, opts Options) error {
	for i := 0; i+1 < len(plans); i++ {
		a, b := plans[i].info, plans[i+1].info
		switch {
		case a.Size == 0:
			return &Refusal{Kind: EmptyInside, Start: a.Start}
		case b.Start <= a.End:
			return &Refusal{Kind: Overlap, Start: b.Start, Expected: a.End, Found: b.Start}
		case b.Start == a.End+1:
			continue
		}
		anchor, ok, err := ReadAnchor(fs, dir, b.Start)
		if err != nil {
			return err
		}
		if !opts.Solo || !ok || anchor != (Anchor{PlantedStart: b.Start, SealedStart: a.Start, SealedEnd: a.End}) {
			return &Refusal{Kind: Hole, Start: b.Start, Expected: a.End + 1, Found: b.Start}
		}
	}
	return nil
}

// checkExtent tests that nothing is missing at either end of the chain, as far as that is known.
func checkExtent(plans []*plan, opts Options) error {
	var first, last Info
	if len(plans) > 0 {
		first, last = plans[0].info, plans[len(plans)-1].info
	}
	if opts.FirstKnown && first.Start > opts.First {
		return &Refusal{Kind: HeadMissing, Start: first.Start, Expected: opts.First, Found: first.Start}
	}
	if end := last.next(); end < opts.Floor {
		return &Refusal{Kind: EndMissing, Start: last.Start, Expected: opts.Floor, Found: end}
	}
	return nil
}

// repair carries out what inspect found necessary: logs first, then the indexes that describe them.
func repair(fs vfs.FS, dir string, plans []*plan) error {
	renamed := false
	for _, p := range plans {
		if p.info.TruncatedBytes > 0 {
			if err := cutLog(fs, dir, p.info.Start, p.info.Size); err != nil {
				return err
			}
		}
		if err := p.repairIndex(fs, dir); err != nil {
			return err
		}
		renamed = renamed || p.rewrite
	}
	if !renamed {
		return nil
	}
	return fs.SyncDir(path.Clean(dir))
}

// repairIndex writes an index anew that did not fit, and completes one that was merely behind, as the live
// writer would have done: the log bears out what it says, so nothing needs to wait for the device.
func (p *plan) repairIndex(fs vfs.FS, dir string) error {
	if p.rewrite {
		err := replaceIndex(fs, dir, p.info.Start, p.entries)
		if noSpace(err) {
			// Readers do without, and the next start builds it: a full disk must not keep the data from them.
			p.info.Indexed, p.info.LastIndexed = false, 0
			err = errors.Join(removeIfThere(fs, indexPath(dir, p.info.Start)),
				removeIfThere(fs, path.Join(dir, IndexStagingName(p.info.Start))))
		}
		return err
	}
	if p.missing == 0 {
		return nil
	}
	f, err := fs.OpenFile(indexPath(dir, p.info.Start), vfs.ReadWrite)
	if err != nil {
		return err
	}
	have := len(p.entries) - p.missing
	_, err = f.WriteAt(EncodeIndex(nil, p.entries[have:]), int64(have)*IndexEntrySize)
	if noSpace(err) {
		err = nil // readers walk a little further until there is room
	}
	return errors.Join(err, f.Close())
}

func cutLog(fs vfs.FS, dir string, start uint64, size int64) error {
	f, err := fs.OpenFile(logPath(dir, start), vfs.ReadWrite)
	if err != nil {
		return err
	}
	if err = f.Truncate(size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
