package shardlog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// Logs are the logs of all shards of a node. Safe for concurrent use, but Scan, Begin and the replay come one
// after the other.
type Logs struct {
	fs       vfs.FS
	dir      string
	opts     Options
	registry *registry
	verdict  Verdict

	// What the scan found, until Replayed.
	found  []*foundLog
	damage []error
	open   []*logFile // old files that are open for reading

	mu       sync.Mutex // guards what follows; never held while waiting for the device
	logs     map[int]*Log
	begun    bool
	replayed bool

	creating sync.Mutex // held while a log is made, so that a shard gets one
}

// Verdict is that of this start.
func (ls *Logs) Verdict() Verdict { return ls.verdict }

// Damage lists what the scan met: *InteriorError and *TornTail in the order of their lives, then *BrokenError.
func (ls *Logs) Damage() []error { return ls.damage }

// Groups returns what was found of every incarnation, ascending by group and revision; nothing after Replayed.
// An incarnation that the metadata no longer knows keeps its files until a Dropped record is appended for it.
func (ls *Logs) Groups() []GroupLog {
	ls.registry.mu.Lock()
	defer ls.registry.mu.Unlock()
	var groups []GroupLog
	for _, inc := range ls.registry.incarnations {
		if inc.scan != nil {
			groups = append(groups, inc.scan.GroupLog)
		}
	}
	slices.SortFunc(groups, func(a, b GroupLog) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Revision, b.Revision))
	})
	return groups
}

// Find returns what was found of one incarnation; false when no log holds a record of it.
func (ls *Logs) Find(id protocol.GroupID, revision uint64) (GroupLog, bool) {
	ls.registry.mu.Lock()
	defer ls.registry.mu.Unlock()
	inc := ls.registry.incarnations[incarnationKey{id, revision}]
	if inc == nil || inc.scan == nil {
		return GroupLog{}, false
	}
	return inc.scan.GroupLog, true
}

// Read returns a prepare that the scan found, verified again. The body lies in buf when that is large enough.
// *RecordError: it no longer reads as it did. ErrClosed: after Replayed.
func (ls *Logs) Read(e EntryRef, buf []byte) (header protocol.PrepareHeader, body []byte, err error) {
	if e.file == nil {
		return header, nil, fmt.Errorf("read of an entry without a prepare: %w", ErrRefused)
	}
	ls.mu.Lock()
	replayed := ls.replayed
	ls.mu.Unlock()
	if replayed {
		return header, nil, ErrClosed
	}
	if cap(buf) < int(e.bytes) {
		buf = make([]byte, e.bytes)
	}
	buf = buf[:e.bytes]
	if n, err := e.file.f.ReadAt(buf, e.pos+wal.RecordHeadBytes); n != len(buf) {
		return header, nil, fmt.Errorf("read of op %d in %s: %w", e.Op, e.file.path, err)
	}
	header = protocol.PrepareHeader(buf)
	reason := checkPrepare(&header, protocol.GroupID(header.Group()), int64(e.bytes))
	if reason == nil {
		reason = checkBody(&header, buf[protocol.HeaderSize:])
	}
	if reason == nil && (header.Op() != e.Op || header.Common().Checksum() != e.Checksum) {
		reason = fmt.Errorf("it holds op %d", header.Op())
	}
	if reason != nil {
		return protocol.PrepareHeader{}, nil, &RecordError{File: e.file.path, Position: e.pos, Reason: reason.Error()}
	}
	return header, buf[protocol.HeaderSize:], nil
}

// Replayed gives back what only the start needs. Groups and Find answer nothing from then on, Read an error,
// and files may be recycled.
func (ls *Logs) Replayed() {
	ls.mu.Lock()
	ls.replayed = true
	ls.mu.Unlock()
	ls.registry.mu.Lock()
	for k, inc := range ls.registry.incarnations {
		inc.scan = nil
		if len(inc.needs) == 0 {
			delete(ls.registry.incarnations, k)
		}
	}
	ls.registry.mu.Unlock()
	_ = ls.closeOld() // they were read only: nothing to lose
	ls.found = nil
}

func (ls *Logs) closeOld() error {
	var err error
	for _, f := range ls.open {
		if f.f != nil {
			err = errors.Join(err, f.f.Close())
			f.f = nil
		}
	}
	ls.open = nil
	return err
}

// all returns the logs in the order of their shards.
func (ls *Logs) all() []*Log {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	logs := make([]*Log, 0, len(ls.logs))
	for _, n := range slices.Sorted(maps.Keys(ls.logs)) {
		logs = append(logs, ls.logs[n])
	}
	return logs
}

// isReplayed reports whether files may be given up.
func (ls *Logs) isReplayed() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.replayed
}

// Close closes every log, those that Shard never gave out included, as Log.Close does. Errors are joined.
func (ls *Logs) Close(clean bool) error {
	err := ls.closeOld()
	for _, l := range ls.all() {
		err = errors.Join(err, l.Close(clean))
	}
	return err
}
