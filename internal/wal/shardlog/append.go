package shardlog

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

// padding is the zeros behind a record.
var padding [wal.RecordAlign]byte

// Append writes one batch at the tail with one vectored write, to the page cache only, and returns its id. It keeps
// nothing of records. Owner of the shard only; it never waits for the device. On an error nothing was appended:
//
//	ErrNotReady      run PrepareFile, then append again
//	ErrUnsynced      Sync, then append again
//	ErrTooLarge      append it in parts
//	ErrRefused       a record does not qualify: a fault of the caller
//	ErrClosed        after Close
//	ErrOutOfService  only a restart helps
//	any other        the write failed; it may be tried again
func (l *Log) Append(records []Record) (batch uint64, err error) {
	for i := range records {
		if err := records[i].check(); err != nil {
			return 0, fmt.Errorf("%w: record %d of kind %d for group %s: %w", ErrRefused, i, records[i].Kind, records[i].Group, err)
		}
	}
	if len(records) == 0 {
		return 0, fmt.Errorf("%w: no records", ErrRefused)
	}
	return l.append(records)
}

// check refuses what a scan would take for damage.
func (r *Record) check() error {
	if r.Kind == wal.KindPrepare {
		if r.Header == nil {
			return errors.New("no header")
		}
		return checkPrepare(r.Header, r.Group, r.payloadBytes())
	}
	if r.Header != nil || r.Kind == wal.KindClean || !r.Kind.IsKnown() || len(r.Body) > 1<<30 ||
		!r.Kind.ValidPayload(uint32(len(r.Body))) {
		return errors.New("kind and payload do not fit")
	}
	return checkPayload(r.Kind, r.Group, r.Body)
}

// slot is the place of a batch.
type slot struct {
	file  *logFile
	pos   int64
	end   int64
	batch uint64
}

func (l *Log) append(records []Record) (uint64, error) {
	l.write.Lock()
	defer l.write.Unlock()
	at, err := l.place(records)
	if err != nil {
		return 0, err
	}
	return at.batch, l.writeAt(records, at)
}

// writeAt writes a batch into its place and publishes it. Called with write held.
func (l *Log) writeAt(records []Record, at slot) error {
	l.build(records, at)
	_, err := at.file.f.WritevAt(l.vectors, at.pos)
	if err == nil {
		l.publish(records, at)
	} else {
		err = fmt.Errorf("append to %s: %w", at.file.path, err)
	}
	clear(l.vectors) // keeps no body of the caller alive
	return err
}

// place finds room for a batch.
func (l *Log) place(records []Record) (slot, error) {
	var size, waiting int64
	for i := range records {
		size += records[i].Bytes()
		if records[i].Sync {
			waiting += wal.RecordHeadBytes + records[i].payloadBytes()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.unusable(); err != nil {
		return slot{}, err
	}
	f := l.active()
	at := slot{file: f, pos: l.tail, end: l.tail + size, batch: l.appended + 1}
	switch {
	case size > l.BatchBytesMax():
		return slot{}, fmt.Errorf("%w: %d bytes, a file holds %d", ErrTooLarge, size, l.BatchBytesMax())
	case waiting > 0 && l.kept.bytes > 0 && l.kept.bytes+waiting > unsyncedBytesMax:
		return slot{}, ErrUnsynced
	case at.end > l.logs.opts.FileBytes:
		l.state = stateSealed
		return slot{}, ErrNotReady
	case at.end > f.filled:
		l.wantEnd = at.end
		return slot{}, ErrNotReady
	}
	return at, nil
}

// build encodes the heads of a batch and lays out its vectors.
func (l *Log) build(records []Record, at slot) {
	if need := len(records) * wal.RecordHeadBytes; cap(l.heads) < need {
		l.heads = make([]byte, need)
	}
	synced := l.synced.Load()
	l.vectors = l.vectors[:0]
	for i := range records {
		r := &records[i]
		payload := r.payloadBytes()
		h := wal.RecordHead{
			Kind: r.Kind, First: i == 0, Last: i == len(records)-1, Epoch: at.file.header.epoch, Batch: at.batch, Synced: synced,
			Group: uint64(r.Group), Revision: r.Revision, PayloadBytes: uint32(payload),
		}
		b := l.heads[i*wal.RecordHeadBytes:][:wal.RecordHeadBytes]
		l.vectors = append(l.vectors, b)
		if r.Header != nil {
			h.Encode(b, r.Header[:])
			l.vectors = append(l.vectors, r.Header[:])
		} else {
			h.Encode(b, r.Body)
		}
		l.vectors = append(l.vectors, r.Body, padding[:h.Span()-wal.RecordHeadBytes-payload])
	}
}

// publish makes a written batch part of the log.
func (l *Log) publish(records []Record, at slot) {
	pos := at.pos
	for i := range records {
		r := &records[i]
		l.note(at.file, pos, at.batch, r.Kind, incarnationKey{r.Group, r.Revision}, r.Header, r.Body)
		pos += r.Bytes()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail, l.appended = at.end, at.batch
	l.metrics.Batches++
	l.metrics.Records += uint64(len(records))
	l.metrics.AppendedBytes += uint64(at.end - at.pos)
	pos = at.pos
	for i := range records {
		r := &records[i]
		if head := l.heads[i*wal.RecordHeadBytes:][:wal.RecordHeadBytes]; r.Sync && r.Header != nil {
			l.kept.add(pos, head, r.Header[:], r.Body)
		} else if r.Sync {
			l.kept.add(pos, head, r.Body)
		}
		pos += r.Bytes()
	}
}

// note tells the registry of one record. header is that of a prepare, payload that of another kind. Called with
// write held.
func (l *Log) note(f *logFile, pos int64, batch uint64, kind wal.Kind, k incarnationKey, header *protocol.PrepareHeader, payload []byte) {
	if kind == wal.KindClean {
		return
	}
	n := l.current[k]
	if n == nil {
		n = l.logs.registry.need(k, f)
		l.current[k] = n
	}
	if kind == wal.KindPrepare {
		n.raise(header.Op())
		return
	}
	m := mark{file: f, pos: pos, batch: batch, kind: kind}
	switch kind {
	case wal.KindLocal:
		return
	case wal.KindCheckpoint, wal.KindInstalled:
		m.op = le.Uint64(payload[protocol.HeaderSize:])
	case wal.KindTruncate:
		m.op = le.Uint64(payload)
	}
	l.logs.registry.observe(n.inc, m)
}
