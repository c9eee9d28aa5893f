package shardlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/galgolog/galgo/internal/vfs"
)

// activation is how far the next file has come.
type activation uint8

const (
	actNone   activation = iota
	actNamed             // header synced, renamed
	actListed            // its name is durable
	actHeaded            // the head names it
)

// WantsFile reports whether PrepareFile has something to do. Ask after every Append and every Sync.
func (l *Log) WantsFile() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case stateSealed, statePoisoned:
		return true
	case stateOpen:
		return l.wantsFill() || l.wantsSpare()
	}
	return false
}

// wantsFill: the writer comes near the end of what is zero-filled. Called with mu held.
func (l *Log) wantsFill() bool {
	f := l.active()
	return f.filled < l.logs.opts.FileBytes && (l.wantEnd > f.filled || f.filled-l.tail < FillStepBytes)
}

// wantsSpare: the active file is half full and no next one is there. Called with mu held.
func (l *Log) wantsSpare() bool {
	return len(l.spares) == 0 && l.tail > l.logs.opts.FileBytes/2 && !l.wantsFill()
}

// PrepareFile makes room: it zero-fills the active file ahead of its writer and makes the next one, activates that
// when the active one is full, and carries over what a failed sync left behind. A job; calls wait for each other.
// It may be repeated after an error. *RescueError: the log is out of service.
func (l *Log) PrepareFile() error {
	l.files.Lock()
	defer l.files.Unlock()
	for {
		l.mu.Lock()
		state, fill, spare := l.state, false, false
		if state == stateOpen {
			fill, spare = l.wantsFill(), l.wantsSpare()
		}
		l.mu.Unlock()
		var err error
		switch {
		case state == stateSealed || state == statePoisoned:
			err = l.change()
		case fill:
			err = l.fillActive()
		case spare:
			err = l.makeSpare()
		default:
			return nil
		}
		if err != nil {
			return fmt.Errorf("prepare file of %s: %w", l.dir, err)
		}
	}
}

// fillActive zero-fills the next step of the active file and syncs it, which counts as a sync of the log: the
// error of a write of records shows only once.
func (l *Log) fillActive() error {
	l.mu.Lock()
	f, from := l.active(), l.active().filled
	l.mu.Unlock()
	to, err := fill(f.f, from, l.logs.opts.FileBytes)
	if err != nil {
		return err
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	end, batch, poisoned := l.tail, l.appended, l.state == statePoisoned
	l.mu.Unlock()
	if poisoned {
		return nil
	}
	if _, err := l.syncUpTo(f, end, batch); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.filled = to
	return nil
}

// zeros are what new files are filled with.
var zeros [1 << 20]byte

// fill writes zeros from one position up to the next step and returns where that ends.
func fill(f vfs.File, from, fileBytes int64) (int64, error) {
	to := min(from+FillStepBytes, fileBytes)
	for at := from; at < to; {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-at)], at)
		if err != nil {
			return from, err
		}
		at += int64(n)
	}
	return to, nil
}

// makeSpare makes a file that is filled a first step.
func (l *Log) makeSpare() error {
	l.number++
	s := spareFile{path: path.Join(l.dir, fileName(l.number, spareSuffix)), number: l.number}
	f, err := l.logs.fs.Create(s.path)
	if err != nil {
		return err
	}
	if s.filled, err = fill(f, 0, l.logs.opts.FileBytes); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, removeIfThere(l.logs.fs, s.path))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spares = append(l.spares, s)
	return nil
}

// change goes on to the next file. No append is under way when it looks at the tail, and none begins before it is done.
func (l *Log) change() error {
	l.write.Lock()
	//lint:ignore SA2001 it waits for an append that began before the state changed
	l.write.Unlock()
	l.syncing.Lock()
	_, err := l.syncActive()
	l.syncing.Unlock()
	var failed *SyncError
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, ErrNotReady) {
		return err
	}
	l.mu.Lock()
	failures := l.failures
	l.mu.Unlock()
	if failures > failedSyncsMax {
		return l.retire(fmt.Errorf("%d syncs in a row failed, the last: %w", failures, err))
	}
	return l.activate()
}

// activate makes a spare the active file. Each step is durable before the next, and a repeated call goes on behind
// the last one that was: header, name, directory, head, then what a failed sync left behind.
func (l *Log) activate() error {
	fsys := l.logs.fs
	if l.next == nil {
		if err := l.nameNext(); err != nil {
			return err
		}
	}
	if l.rank == actNamed {
		if err := fsys.SyncDir(l.dir); err != nil {
			return err
		}
		l.rank = actListed
	}
	if l.rank == actListed {
		if err := l.writeHead(l.next); err != nil {
			return err
		}
		l.rank = actHeaded
	}
	tail, err := l.carryOver()
	if err != nil {
		return err
	}
	l.open(tail)
	return nil
}

// nameNext writes the header of the next file into a spare, syncs it and gives it its name.
func (l *Log) nameNext() error {
	fsys, o, v := l.logs.fs, &l.logs.opts, l.logs.verdict
	l.mu.Lock()
	if len(l.spares) == 0 {
		l.mu.Unlock()
		if err := l.makeSpare(); err != nil {
			return err
		}
		l.mu.Lock()
	}
	spare := l.spares[0]
	l.spares = l.spares[1:]
	h := fileHeader{
		shard: uint16(l.shard), cluster: o.Cluster, replica: o.Replica, number: spare.number, epoch: l.drawEpoch(), life: v.Life,
		bootID: o.BootID, unprovenLife: v.UnprovenLife, prevBatch: l.synced.Load(),
	}
	if len(l.chain) > 0 {
		last := l.active()
		h.prevNumber, h.prevEnd = last.header.number, uint64(last.syncedEnd)
	}
	l.mu.Unlock()
	if h.number <= h.prevNumber { // the spare was in use before
		l.number++
		h.number = l.number
	}
	f := &logFile{log: l, header: h, path: path.Join(l.dir, fileName(h.number, walSuffix)), filled: spare.filled}
	f.end, f.syncedEnd = fileHeaderBytes, fileHeaderBytes
	var err error
	if f.f, err = fsys.OpenFile(spare.path, vfs.ReadWrite); err != nil {
		return err
	}
	if f.filled < fileHeaderBytes { // of an interrupted making
		f.filled, err = fill(f.f, f.filled, o.FileBytes)
	}
	if err == nil {
		_, err = f.f.WriteAt(h.encode(), 0)
	}
	if err == nil {
		err = f.f.Sync()
	}
	if err == nil {
		err = fsys.Rename(spare.path, f.path)
	}
	if err != nil {
		return errors.Join(err, f.f.Close(), removeIfThere(fsys, spare.path))
	}
	l.next, l.rank = f, actNamed
	return nil
}

func (l *Log) drawEpoch() uint64 {
	for {
		if e := l.logs.opts.Random(); e != 0 {
			return e
		}
	}
}

// writeHead replaces the head by one that names newest as the active file.
func (l *Log) writeHead(newest *logFile) error {
	l.mu.Lock()
	oldest := newest.header.number
	if len(l.chain) > 0 {
		oldest = l.chain[0].header.number
	}
	l.mu.Unlock()
	return l.putHead(newest, oldest)
}

func (l *Log) putHead(newest *logFile, oldest uint64) error {
	v := l.logs.verdict
	h := head{
		shard: uint16(l.shard), newest: newest.header.number, epoch: newest.header.epoch, oldest: oldest, life: v.Life,
		unprovenLife: v.UnprovenLife,
	}
	return vfs.WriteFile(l.logs.fs, l.headPath(), h.encode())
}

// open makes the next file the active one.
func (l *Log) open(tail int64) {
	l.write.Lock()
	defer l.write.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.chain) > 0 {
		last := l.active()
		last.end = last.syncedEnd
		if !last.isOld && last.f != nil {
			_ = last.f.Close() // what counts in it is synced
			last.f = nil
		}
	}
	l.chain = append(l.chain, l.next)
	l.next, l.rank = nil, actNone
	l.tail, l.wantEnd = tail, 0
	if l.state != stateClosed {
		l.state = stateOpen
	}
}

// recycle makes a file that is not part of the log any more a spare, or removes it when there are enough. It may be
// repeated after an error.
func (l *Log) recycle(name string) error {
	fsys := l.logs.fs
	s := spareFile{path: strings.TrimSuffix(name, walSuffix) + spareSuffix} // its number is used up
	info, err := fsys.Stat(name)
	isLeft := err == nil
	if errors.Is(err, fs.ErrNotExist) { // renamed or removed by an earlier attempt
		info, err = fsys.Stat(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			return fsys.SyncDir(l.dir)
		}
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	enough := len(l.spares) >= sparesMax
	l.mu.Unlock()
	if isLeft && (enough || info.SizeBytes > l.logs.opts.FileBytes) {
		if err := fsys.Remove(name); err != nil {
			return err
		}
		return fsys.SyncDir(l.dir)
	}
	if isLeft {
		if err := fsys.Rename(name, s.path); err != nil {
			return err
		}
	}
	// Before the name is durable the file must not be used again: after a crash it could have two.
	if err := fsys.SyncDir(l.dir); err != nil {
		return err
	}
	s.filled = info.SizeBytes
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spares = append(l.spares, s)
	return nil
}
