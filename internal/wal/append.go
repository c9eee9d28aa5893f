package wal

import (
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// maxPadding is the zeros behind a record.
var maxPadding [RecordAlign]byte

// AppendBatch makes entries durable as one batch: one vectored write and one fdatasync of the journal, then
// their headers go to the mirror and it is synced. nil means that all of them survive any crash.
//
// An op that is in the journal already is superseded by the new entry. An entry that follows its
// predecessor in the file by op must name it as parent: truncate before replacing a suffix.
//
// ErrRefused: an entry does not qualify (form, checksums, size, parent); nothing was written. *FullError: its
// slot belongs to another op that no snapshot covers; nothing was written. ErrPoisoned: it is unknown what
// is durable; every later call fails. Any other error: nothing of the batch is in the journal, and the call
// may be repeated.
func (j *Journal) AppendBatch(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	j.write.Lock()
	defer j.write.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	if err := j.qualify(entries); err != nil {
		return err
	}
	end := j.cursor
	j.records.reset(j.header.epoch, len(entries))
	for i, e := range entries {
		j.records.add(e, i == len(entries)-1, &end)
	}
	_, err := j.file.WritevAt(j.records.vectors, j.cursor.pos)
	clear(j.records.vectors) // keeps no body of the caller alive
	if err != nil {
		return j.unwind(err)
	}
	if err := j.file.Datasync(); err != nil {
		// The kernel may have dropped the pages and called them clean: a retry would prove nothing.
		return j.poison(fmt.Errorf("append op %d: %w", entries[0].Header.Op(), err))
	}
	if err := j.mirrorEntries(entries); err != nil {
		return j.poison(fmt.Errorf("mirror of op %d: %w", entries[0].Header.Op(), err))
	}
	j.publish(entries, end)
	j.reserve(end.pos)
	return nil
}

// reserveBytes is the room kept behind the last record, so that operations which make room on a full disk, such as
// the deletion of a topic, can be written.
const reserveBytes = 1 << 20

// reserve has disk blocks ready behind pos. Where there are none left, what was reserved before is used up.
func (j *Journal) reserve(pos int64) {
	if pos+reserveBytes/2 <= j.reserved {
		return
	}
	if j.file.Preallocate(pos, reserveBytes) == nil {
		j.reserved = pos + reserveBytes
	}
}

// qualify refuses what a later boot would take for damage.
func (j *Journal) qualify(entries []Entry) error {
	at := j.cursor
	for _, e := range entries {
		// Two ops in one slot would make every later boot fail, so this comes before anything is written.
		if op := e.Header.Op(); j.full(op) {
			return &FullError{File: j.path, Op: op, SnapshotOp: j.covered, Slots: j.opts.Slots}
		}
		err := checkHeader(e.Header)
		if err == nil {
			err = checkBody(e.Header, e.Body)
		}
		if err == nil && protocol.HeaderSize+len(e.Body) > j.opts.MaxEntryBytes {
			err = fmt.Errorf("%d bytes are above the limit of %d", protocol.HeaderSize+len(e.Body), j.opts.MaxEntryBytes)
		}
		if err == nil {
			err = at.follows(e.Header)
		}
		if err != nil {
			return fmt.Errorf("journal append op %d: %w: %w", e.Header.Op(), ErrRefused, err)
		}
		at.op, at.checksum = e.Header.Op(), e.Header.Common().Checksum()
	}
	return nil
}

// recordBatch is the records of one write: what goes to the file, as vectors that alias the entries.
type recordBatch struct {
	epoch   uint64
	arena   []byte // record heads
	vectors [][]byte
}

// reset empties the batch and makes room for the heads of so many entries.
func (r *recordBatch) reset(epoch uint64, entries int) {
	if need := entries * RecordHeadBytes; cap(r.arena) < need {
		r.arena = make([]byte, 0, need)
	}
	r.epoch, r.arena, r.vectors = epoch, r.arena[:0], r.vectors[:0]
}

// add appends the record of one entry and moves end behind it.
func (r *recordBatch) add(e Entry, last bool, end *cursor) {
	head := RecordHead{
		Kind: KindPrepare, Last: last, Epoch: r.epoch, Group: uint64(protocol.MetadataGroup),
		PayloadBytes: uint32(protocol.HeaderSize + len(e.Body)),
	}
	head.Batch, head.First = end.nextBatch()
	head.Synced = head.Batch - 1
	at := len(r.arena)
	r.arena = r.arena[:at+RecordHeadBytes]
	b := r.arena[at:]
	head.Encode(b, e.Header[:])
	padding := head.Span() - RecordHeadBytes - int64(head.PayloadBytes)
	r.vectors = append(r.vectors, b, e.Header[:], e.Body, maxPadding[:padding])
	end.advance(&head, e.Header)
}

// unwind removes what a failed write left behind the last record. If that fails, too, nobody knows.
func (j *Journal) unwind(cause error) error {
	j.reserved = 0 // cutting gives it back
	err := j.file.Truncate(j.cursor.pos)
	if err == nil {
		err = j.file.Datasync()
	}
	if err != nil {
		return j.poison(fmt.Errorf("append: %w, then %w", cause, err))
	}
	return fmt.Errorf("journal append: %w", cause)
}

func (j *Journal) mirrorEntries(entries []Entry) error {
	if err := j.mirror.put(entries); err != nil {
		return err
	}
	return j.mirror.file.Datasync()
}

// publish makes the entries of a durable batch readable.
func (j *Journal) publish(entries []Entry, end cursor) {
	j.state.Lock()
	defer j.state.Unlock()
	pos := j.cursor.pos
	for _, e := range entries {
		size := protocol.HeaderSize + len(e.Body)
		j.index[e.Header.Op()] = locate(pos, e.Header)
		pos += RecordSpan(int64(size))
	}
	j.cursor = end
}
