package wal

import (
	"fmt"
	"path"
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

const (
	journalName = "journal.wal"
	mirrorName  = "journal.mirror"
)

// Options of a journal.
type Options struct {
	Cluster protocol.Uint128
	Replica uint8
	// Slots is the number of ops above the last that a snapshot covers for which there is room, 1 to
	// SlotsMax. It may differ from one start to the next: the mirror is then written anew, and a journal that
	// holds more takes none until a Drain.
	Slots int
	// SnapshotOp is the highest op that a durable snapshot covers, 0 without one.
	SnapshotOp uint64
	// MustExist refuses a start without a journal with ErrAbsent, and creates nothing.
	MustExist bool
	// MaxEntryBytes bounds an appended entry, header included; 0 means EntryMaxBytes, which is also the
	// upper bound. What is on disk is read whatever its size.
	MaxEntryBytes int
	// Epoch is a fresh random number, not 0, that no client can learn. It marks the records of a file
	// that this start creates.
	Epoch uint64
}

func (o *Options) validate() error {
	if o.MaxEntryBytes == 0 {
		o.MaxEntryBytes = EntryMaxBytes
	}
	switch {
	case o.Slots < 1 || o.Slots > SlotsMax:
		return fmt.Errorf("journal open: %d slots, allowed are 1 to %d", o.Slots, SlotsMax)
	case o.MaxEntryBytes < protocol.HeaderSize || o.MaxEntryBytes > EntryMaxBytes:
		return fmt.Errorf("journal open: entry limit %d, allowed are %d to %d", o.MaxEntryBytes, protocol.HeaderSize, EntryMaxBytes)
	case o.Epoch == 0:
		return fmt.Errorf("journal open: epoch is 0")
	}
	return nil
}

// location finds an entry in the file.
type location struct {
	pos      int64
	size     uint32 // of the entry: header and body
	checksum protocol.Uint128
	parent   protocol.Uint128
}

func locate(pos int64, h *protocol.PrepareHeader) location {
	c := h.Common()
	return location{pos: pos, size: c.Size(), checksum: c.Checksum(), parent: h.Parent()}
}

// Journal is the log of the metadata group. Read and the metrics may run beside everything; AppendBatch,
// TruncateFrom, SetAckedHead and the last step of Drain run one after the other.
type Journal struct {
	fs   vfs.FS
	path string
	opts Options

	write     sync.Mutex // held by whoever changes files
	header    fileHeader
	mirror    *mirror
	rewriting bool
	rewrites  uint64 // makes the epochs of one life differ
	records   recordBatch
	reserved  int64 // end of the disk blocks that are known to be reserved

	// state guards what follows; whoever changes it holds write, too. Never held while waiting for a sync.
	state    sync.RWMutex
	cursor   cursor
	file     vfs.File
	index    map[uint64]location
	covered  uint64 // highest op that a durable snapshot covers
	poisoned error
}

// Path is the name of the journal file.
func (j *Journal) Path() string { return j.path }

// Len is the number of ops in the index: those above SnapshotOp, at most Slots of them, and what a checkpoint
// left.
func (j *Journal) Len() int {
	j.state.RLock()
	defer j.state.RUnlock()
	return len(j.index)
}

// SnapshotOp is the highest op that a durable snapshot covers, as far as Drain and Options have told: the
// slots of ops up to it are free.
func (j *Journal) SnapshotOp() uint64 {
	j.state.RLock()
	defer j.state.RUnlock()
	return j.covered
}

// Used is the number of slots that are taken: the ops between SnapshotOp and the head.
func (j *Journal) Used() int {
	j.state.RLock()
	defer j.state.RUnlock()
	return int(j.cursor.op - min(j.cursor.op, j.covered))
}

// full reports whether op has no slot. Called with write held.
func (j *Journal) full(op uint64) bool {
	return op > j.covered && op-j.covered > uint64(j.opts.Slots)
}

// SizeBytes is the length of the journal file up to the last record.
func (j *Journal) SizeBytes() int64 {
	j.state.RLock()
	defer j.state.RUnlock()
	return j.cursor.pos
}

// AckedHead is the durable lower bound of the highest op that the replica acknowledged, as SetAckedHead
// left it; 0 when it was never set.
func (j *Journal) AckedHead() uint64 {
	j.write.Lock()
	defer j.write.Unlock()
	return j.mirror.head.ackedHead
}

// SetAckedHead makes op durable as the acked head. It must return before an acknowledged entry is dropped.
func (j *Journal) SetAckedHead(op uint64) error {
	j.write.Lock()
	defer j.write.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	head := j.mirror.head
	if head.ackedHead == op {
		return nil
	}
	head.ackedHead = op
	if err := j.mirror.setHead(head); err != nil {
		return j.poison(fmt.Errorf("acked head %d: %w", op, err))
	}
	return nil
}

// Close gives the files back. What was acknowledged is durable already. Every later call fails.
func (j *Journal) Close() error {
	j.write.Lock()
	defer j.write.Unlock()
	j.state.Lock()
	defer j.state.Unlock()
	if j.poisoned == nil {
		j.poisoned = fmt.Errorf("journal %s is closed: %w", j.path, ErrPoisoned)
	}
	err := j.file.Close()
	if merr := j.mirror.file.Close(); err == nil {
		err = merr
	}
	return err
}

// Read returns the entry of op: its header and a body of its own memory. Identity, body checksum and
// place are verified on every call; a mismatch is an *EntryError. An op that is not there is ErrNotFound.
func (j *Journal) Read(op uint64) (protocol.PrepareHeader, []byte, error) {
	j.state.RLock()
	defer j.state.RUnlock()
	if j.poisoned != nil {
		return protocol.PrepareHeader{}, nil, j.poisoned
	}
	at, ok := j.index[op]
	if !ok {
		return protocol.PrepareHeader{}, nil, fmt.Errorf("journal read op %d: %w", op, ErrNotFound)
	}
	return readEntry(j.file, j.path, op, at)
}

func readEntry(f vfs.File, name string, op uint64, at location) (h protocol.PrepareHeader, body []byte, err error) {
	b := make([]byte, at.size)
	if n, err := f.ReadAt(b, at.pos+RecordHeadBytes); n != len(b) {
		return h, nil, fmt.Errorf("journal read op %d: %w", op, err)
	}
	h, body = protocol.PrepareHeader(b), b[protocol.HeaderSize:]
	reason := checkHeader(&h)
	if reason == nil {
		reason = checkBody(&h, body)
	}
	if reason == nil && (h.Op() != op || h.Common().Checksum() != at.checksum) {
		reason = fmt.Errorf("it holds op %d with identity %s", h.Op(), h.Common().Checksum())
	}
	if reason != nil {
		return protocol.PrepareHeader{}, nil, &EntryError{File: name, Position: at.pos, Op: op, Reason: reason.Error()}
	}
	return h, body, nil
}

// usable reports why the journal takes no more calls. Called with write held.
func (j *Journal) usable() error {
	j.state.RLock()
	defer j.state.RUnlock()
	return j.poisoned
}

// poison takes the journal out of service: what is durable can only be found out by opening it again.
func (j *Journal) poison(cause error) error {
	j.state.Lock()
	defer j.state.Unlock()
	j.poisoned = fmt.Errorf("journal %s: %w: %w", j.path, ErrPoisoned, cause)
	return j.poisoned
}

func (j *Journal) mirrorPath() string { return path.Join(path.Dir(j.path), mirrorName) }
