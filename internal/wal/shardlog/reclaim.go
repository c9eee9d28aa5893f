package shardlog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// Pinning returns the groups that should checkpoint now, because they hold the oldest files while the log is above
// its limit, oldest file first. Groups that are lost or wait for an install are among them.
func (l *Log) Pinning() []protocol.GroupID {
	l.mu.Lock()
	over := l.retained() - l.logs.opts.RetainedBytes
	var files []*logFile
	for _, f := range l.chain[:max(len(l.chain)-1, 0)] {
		if over <= 0 {
			break
		}
		files = append(files, f)
		over -= f.filled
	}
	l.mu.Unlock()
	return l.logs.pinning(files)
}

// pinning returns the groups that must checkpoint before the files can be given up.
func (ls *Logs) pinning(files []*logFile) []protocol.GroupID {
	ls.registry.mu.Lock()
	defer ls.registry.mu.Unlock()
	var groups []protocol.GroupID
	seen := map[protocol.GroupID]bool{}
	for _, f := range files {
		for _, n := range f.needs {
			if b, _ := n.blocks(); b == blockPinned && !seen[n.inc.key.group] {
				seen[n.inc.key.group] = true
				groups = append(groups, n.inc.key.group)
			}
		}
	}
	return groups
}

// Reclaim gives up the oldest files that no group needs: the head stops naming them, then they become spares.
// Records that cover a group and lie in the oldest file themselves are copied to the tail first where nothing else
// is in the way, and synced. A job; it does nothing before Replayed.
func (l *Log) Reclaim() error {
	if !l.logs.isReplayed() {
		return nil
	}
	l.reclaiming.Lock()
	defer l.reclaiming.Unlock()
	for {
		l.mu.Lock()
		var oldest *logFile
		if len(l.chain) > 1 && l.state != stateClosed {
			oldest = l.chain[0]
		}
		l.mu.Unlock()
		if oldest == nil {
			return nil
		}
		b, copies := l.logs.blocked(oldest)
		var err error
		switch b {
		case blockPinned:
			return nil
		case blockCopy:
			if err = l.copyForward(oldest, copies); err == nil {
				_, err = l.Sync()
			}
		case blockSync:
			err = l.logs.syncAll()
		default:
			err = l.giveUp(oldest)
		}
		if errors.Is(err, ErrNotReady) {
			return nil // the next time
		}
		if err != nil {
			return fmt.Errorf("reclaim of %s: %w", l.dir, err)
		}
		if b == blockSync || b == blockCopy {
			if b, _ = l.logs.blocked(oldest); b == blockSync || b == blockCopy {
				return nil
			}
		}
	}
}

// copyJob is a record to copy forward for a group.
type copyJob struct {
	inc  *incarnation
	mark mark
}

// blocked is the strongest reason to keep a file, with the records whose copies would end it.
func (ls *Logs) blocked(f *logFile) (blocker, []copyJob) {
	ls.registry.mu.Lock()
	defer ls.registry.mu.Unlock()
	worst := blockNone
	var jobs []copyJob
	for _, n := range f.needs {
		b, copies := n.blocks()
		if worst = max(worst, b); worst == blockPinned {
			return worst, nil
		}
		for _, m := range copies {
			jobs = append(jobs, copyJob{inc: n.inc, mark: *m})
		}
	}
	return worst, jobs
}

func (ls *Logs) syncAll() error {
	var err error
	for _, l := range ls.all() {
		if _, serr := l.Sync(); !errors.Is(serr, ErrClosed) {
			err = errors.Join(err, serr)
		}
	}
	return err
}

// copyForward appends copies of records that lie in f, as far as they are still what counts for their group.
func (l *Log) copyForward(f *logFile, jobs []copyJob) error {
	file, err := l.logs.fs.OpenFile(f.path, vfs.ReadOnly)
	if err != nil {
		return err
	}
	defer file.Close() // read only
	l.mu.Lock()
	limit := f.filled
	l.mu.Unlock()
	r := &recordReader{Window: wal.Window{File: file, Name: f.path, Size: limit}, epoch: f.header.epoch}
	for _, j := range jobs {
		_, payload, reason, err := r.record(j.mark.pos)
		if err = errors.Join(err, reason); err != nil {
			return &RecordError{File: f.path, Position: j.mark.pos, Reason: err.Error()}
		}
		record := Record{
			Kind: j.mark.kind, Group: j.inc.key.group, Revision: j.inc.key.revision, Body: slices.Clone(payload),
		}
		if record.Kind == wal.KindInstalled {
			// A copy in a later life must not look like an install of that life.
			c, err := DecodeCheckpoint(record.Body)
			if err != nil {
				return err
			}
			c.TrustLife = max(c.TrustLife, f.header.life)
			record.Kind, record.Body = wal.KindCheckpoint, EncodeCheckpoint(nil, &c)
		}
		if err := l.appendIf(record, j); err != nil {
			return err
		}
	}
	return nil
}

// appendIf appends the copy unless the owner has appended something newer meanwhile.
func (l *Log) appendIf(record Record, j copyJob) error {
	l.write.Lock()
	defer l.write.Unlock()
	if !l.logs.registry.stands(j) {
		return nil
	}
	records := []Record{record}
	at, err := l.place(records)
	if err != nil {
		return err
	}
	if err := l.writeAt(records, at); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metrics.CopiedForward++
	return nil
}

// stands reports whether the record is still the newest of its kind.
func (r *registry) stands(j copyJob) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range []*mark{j.inc.pending, j.inc.cover, j.inc.reset, j.inc.lost, j.inc.dropped} {
		if m == nil || (m == j.inc.cover && j.inc.pending != nil) {
			continue
		}
		if *m == j.mark {
			return true
		}
	}
	return false
}

// giveUp takes the oldest file out of the log and keeps it as a spare.
func (l *Log) giveUp(f *logFile) error {
	l.files.Lock()
	defer l.files.Unlock()
	l.mu.Lock()
	if l.state == stateClosed || l.next != nil || len(l.chain) < 2 || l.chain[0] != f {
		l.mu.Unlock()
		return ErrNotReady
	}
	newest, oldest := l.active(), l.chain[1].header.number
	l.mu.Unlock()
	if err := l.putHead(newest, oldest); err != nil {
		return err
	}
	l.mu.Lock()
	l.chain = slices.Delete(l.chain, 0, 1)
	l.metrics.RecycledFiles++
	l.mu.Unlock()
	l.logs.registry.forget(f)
	return l.recycle(f.path)
}

// Orphans returns the groups that must checkpoint before a log of a shard that exists no more can be removed.
func (ls *Logs) Orphans() []protocol.GroupID {
	var files []*logFile
	for _, l := range ls.all() {
		if ls.isClosing(l) {
			l.mu.Lock()
			files = append(files, l.chain...)
			l.mu.Unlock()
		}
	}
	return ls.pinning(files)
}

func (ls *Logs) isClosing(l *Log) bool { return ls.opts.Shards > 0 && l.shard >= ls.opts.Shards }

// Reclaim is Log.Reclaim for every log; closing logs that no group needs any more are removed. A job.
func (ls *Logs) Reclaim() error {
	if !ls.isReplayed() {
		return nil
	}
	var err error
	for _, l := range ls.all() {
		err = errors.Join(err, l.Reclaim())
		if ls.isClosing(l) {
			err = errors.Join(err, ls.remove(l))
		}
	}
	return err
}

// remove removes a closing log once only its closing file is left, which holds no record. The directory changes
// its name first, so that a crash leaves it whole or not at all.
func (ls *Logs) remove(l *Log) error {
	l.mu.Lock()
	isEmpty := l.state == stateOpen && len(l.chain) == 1 && l.tail == fileHeaderBytes
	l.mu.Unlock()
	if !isEmpty {
		return nil
	}
	if err := l.Close(false); err != nil {
		return err
	}
	ls.mu.Lock()
	delete(ls.logs, l.shard)
	ls.mu.Unlock()
	if err := ls.fs.Rename(l.dir, l.dir+goneSuffix); err != nil {
		return err
	}
	if err := ls.fs.SyncDir(ls.dir); err != nil {
		return err
	}
	return ls.fs.RemoveAll(l.dir + goneSuffix)
}
