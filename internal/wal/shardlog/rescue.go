package shardlog

import (
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

// rescueBytes is how much is written at once when records are carried over.
const rescueBytes = 1 << 20

// carryOver appends to the next file what a failed sync left behind, under the same batch ids, and returns the tail
// of that file. Nothing else appends meanwhile. A repeated call writes the same again.
func (l *Log) carryOver() (tail int64, err error) {
	l.mu.Lock()
	poisoned := l.state == statePoisoned
	var from *logFile
	var end int64
	if poisoned {
		from, end = l.active(), l.tail
	}
	l.mu.Unlock()
	l.current = map[incarnationKey]*need{}
	if !poisoned {
		return fileHeaderBytes, nil
	}
	c := carrier{
		log: l, to: l.next, at: fileHeaderBytes, shift: fileHeaderBytes - from.syncedEnd, synced: l.synced.Load(),
		reader: recordReader{Window: wal.Window{File: from.f, Name: from.path, Size: end}, epoch: from.header.epoch},
	}
	if err := c.room(end); err != nil {
		return 0, err
	}
	for pos := from.syncedEnd; pos < end; {
		n, err := c.carry(pos)
		if err != nil {
			return 0, err
		}
		pos += n
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	for _, m := range c.moved {
		l.note(l.next, m.pos, m.head.Batch, m.head.Kind, keyOf(&m.head), m.header(), m.payload)
	}
	l.mu.Lock()
	l.kept.shift(c.shift)
	l.mu.Unlock()
	return end + c.shift, nil
}

// carrier copies records from a file whose sync failed to the next one.
type carrier struct {
	log    *Log
	reader recordReader
	to     *logFile
	shift  int64 // from a position there to one here
	at     int64 // where out begins
	synced uint64
	out    []byte
	kept   int // index of the next kept record
	off    int // of its bytes
	moved  []movedRecord
}

// movedRecord is what the registry must be told of a record.
type movedRecord struct {
	pos     int64
	head    wal.RecordHead
	payload []byte // of a prepare its header
}

func (m *movedRecord) header() *protocol.PrepareHeader {
	if m.head.Kind != wal.KindPrepare {
		return nil
	}
	return (*protocol.PrepareHeader)(m.payload)
}

// room fills the next file as far as the records reach.
func (c *carrier) room(end int64) error {
	for c.to.filled < end+c.shift {
		to, err := fill(c.to.f, c.to.filled, c.log.logs.opts.FileBytes)
		if err != nil {
			return err
		}
		c.to.filled = to
	}
	return nil
}

// carry takes over the record at pos and returns what it takes in a file.
func (c *carrier) carry(pos int64) (int64, error) {
	head, payload, err := c.load(pos)
	if err != nil {
		cause := &RescueError{File: c.reader.Name, Position: pos, Batch: head.Batch, Err: err}
		return 0, c.log.retire(cause)
	}
	if int64(len(c.out))+head.Span() > rescueBytes {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	head.Epoch, head.Synced = c.to.header.epoch, c.synced
	m := movedRecord{pos: pos + c.shift, head: head}
	hashed := payload
	if head.Kind == wal.KindPrepare {
		hashed = payload[:protocol.HeaderSize]
	}
	m.payload = append(m.payload, hashed...)
	c.moved = append(c.moved, m)
	at := len(c.out)
	c.out = append(c.out, padding[:]...)
	head.Encode(c.out[at:], hashed)
	c.out = append(c.out, payload...)
	c.out = append(c.out, padding[:int(head.Span())-(len(c.out)-at)]...)
	return head.Span(), nil
}

// load finds the record at pos among the copies, else in the file.
func (c *carrier) load(pos int64) (wal.RecordHead, []byte, error) {
	k := &c.log.kept
	c.log.mu.Lock()
	if i := k.first + c.kept; i < len(k.records) && k.records[i].pos == pos {
		b := make([]byte, k.records[i].bytes)
		k.read(b, c.off)
		c.kept, c.off = c.kept+1, c.off+len(b)
		c.log.mu.Unlock()
		head, err := wal.DecodeRecordHead(b, le.Uint64(b[8:])) // of the file that it was first written to
		if err == nil && int(head.PayloadBytes) != len(b)-wal.RecordHeadBytes {
			err = fmt.Errorf("copy has %d bytes", len(b))
		}
		return head, b[min(len(b), wal.RecordHeadBytes):], err
	}
	c.log.mu.Unlock()
	head, payload, reason, err := c.reader.record(pos)
	if err == nil {
		err = reason
	}
	return head, payload, err
}

func (c *carrier) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	if _, err := c.to.f.WriteAt(c.out, c.at); err != nil {
		return fmt.Errorf("carry over to %s: %w", c.to.path, err)
	}
	c.at += int64(len(c.out))
	c.out = c.out[:0]
	return nil
}
