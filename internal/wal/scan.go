package wal

import (
	"errors"
	"fmt"
	"io"

	"github.com/galgolog/galgo/internal/protocol"
)

// cursor is where the record chain of a file stands: what the next record must continue.
type cursor struct {
	pos       int64 // end of the last record
	batch     uint64
	batchOpen bool // the last record was not the last of its batch: the next one belongs to it
	op        uint64
	checksum  protocol.Uint128 // identity of op, zero before the first record
}

// nextBatch is the batch that the next record belongs to, and whether it opens it.
func (c *cursor) nextBatch() (batch uint64, first bool) {
	if c.batchOpen {
		return c.batch, false
	}
	return c.batch + 1, true
}

// advance moves over an accepted record.
func (c *cursor) advance(head *RecordHead, h *protocol.PrepareHeader) {
	c.pos += head.Span()
	c.batch, c.batchOpen = head.Batch, !head.Last
	c.op, c.checksum = h.Op(), h.Common().Checksum()
}

// follows verifies that an entry may come next in the file.
func (c *cursor) follows(h *protocol.PrepareHeader) error {
	if !c.checksum.IsZero() && h.Op() == c.op+1 && h.Parent() != c.checksum {
		return fmt.Errorf("parent is %s, op %d is %s", h.Parent(), c.op, c.checksum)
	}
	return nil
}

// damage is the first record that does not read.
type damage struct {
	reason error
	batch  uint64 // the batch it belonged to
	op     uint64 // known when header is
	header *protocol.PrepareHeader
}

// scanner walks the records of one file.
type scanner struct {
	Window
	epoch uint64
}

// run reads records from c on and hands each to visit, until the end of the file (nil, nil) or the first
// one that does not read (damage). Errors are those of reading and of intact records of foreign kinds.
func (s *scanner) run(c *cursor, visit func(pos int64, h *protocol.PrepareHeader)) (*damage, error) {
	for c.pos < s.Size {
		head, h, reason, err := s.record(c)
		if err != nil {
			return nil, err
		}
		if reason != nil {
			batch, _ := c.nextBatch()
			d := &damage{reason: reason, batch: batch, op: c.op + 1, header: h}
			if h != nil {
				d.op = h.Op()
			}
			return d, nil
		}
		pos := c.pos
		c.advance(&head, h)
		visit(pos, h)
	}
	return nil, nil
}

// record reads the record at c. reason says why it does not continue the chain; h is then set when the
// header of the entry can be trusted all the same.
func (s *scanner) record(c *cursor) (head RecordHead, h *protocol.PrepareHeader, reason, err error) {
	head, header, reason, err := s.head(c.pos)
	if err != nil || reason != nil {
		return head, nil, reason, err
	}
	batch, first := c.nextBatch()
	if head.Batch != batch || head.First != first || head.Synced != batch-1 {
		return head, header, fmt.Errorf("record of batch %d, due was %d", head.Batch, batch), nil
	}
	if head.Group != uint64(protocol.MetadataGroup) || head.Revision != 0 {
		return head, header, fmt.Errorf("record of group %d, revision %d", head.Group, head.Revision), nil
	}
	if reason := checkHeader(header); reason != nil {
		return head, nil, reason, nil
	}
	if head.PayloadBytes != header.Common().Size() {
		return head, header, fmt.Errorf("record holds %d bytes, its header says %d", head.PayloadBytes, header.Common().Size()), nil
	}
	if reason := c.follows(header); reason != nil {
		return head, header, reason, nil
	}
	b, err := s.Bytes(c.pos, int(head.Span()))
	if errors.Is(err, io.EOF) {
		return head, header, errors.New("it does not fit into the file"), nil
	}
	if err != nil {
		return head, nil, nil, err
	}
	payload, padding := b[RecordHeadBytes:][:head.PayloadBytes], b[RecordHeadBytes+int(head.PayloadBytes):]
	if reason := checkBody(header, payload[protocol.HeaderSize:]); reason != nil {
		return head, header, reason, nil
	}
	for _, p := range padding {
		if p != 0 {
			return head, header, errors.New("padding is not zero"), nil
		}
	}
	return head, header, nil, nil
}

// head reads head and prepare header at pos and verifies their hash. What passes was written by this file's
// owner in this epoch.
func (s *scanner) head(pos int64) (head RecordHead, h *protocol.PrepareHeader, reason, err error) {
	b, err := s.Bytes(pos, RecordHeadBytes)
	if errors.Is(err, io.EOF) {
		return head, nil, errors.New("it does not fit into the file"), nil
	}
	if err != nil {
		return head, nil, nil, err
	}
	head, reason = DecodeRecordHead(b, s.epoch)
	var foreign *KindError
	isForeign := errors.As(reason, &foreign) || reason == nil && head.Kind != KindPrepare
	if reason != nil && !isForeign {
		return head, nil, reason, nil
	}
	hashed := int(head.PayloadBytes)
	if !isForeign {
		hashed = protocol.HeaderSize
	} else if head.PayloadBytes > EntryMaxBytes {
		return head, nil, fmt.Errorf("kind is %d", head.Kind), nil
	}
	b, err = s.Bytes(pos, RecordHeadBytes+hashed)
	if errors.Is(err, io.EOF) {
		return head, nil, errors.New("it does not fit into the file"), nil
	}
	if err != nil {
		return head, nil, nil, err
	}
	if !VerifyRecordHash(b, b[RecordHeadBytes:]) {
		return head, nil, errors.New("hash of the record head does not fit"), nil
	}
	if isForeign {
		return head, nil, nil, &KindError{File: s.Name, Position: pos, Found: head.Kind}
	}
	header := protocol.PrepareHeader(b[RecordHeadBytes:])
	return head, &header, nil, nil
}

// provenDurable looks behind the damaged record at pos for an intact record of this epoch that was built
// when the damaged one's batch was known to be fsynced. The epoch is random and no client knows it, so bytes of
// messages cannot pass for such a record.
func (s *scanner) provenDurable(pos int64, batch uint64) (bool, error) {
	for pos += RecordAlign; pos+RecordHeadBytes <= s.Size; pos += RecordAlign {
		b, err := s.Bytes(pos, RecordHeadBytes)
		if err != nil {
			return false, err
		}
		if !IsRecordOf(b, s.epoch) {
			continue
		}
		head, _, reason, err := s.head(pos)
		var foreign *KindError
		switch {
		case err != nil && !errors.As(err, &foreign):
			return false, err
		case err == nil && reason == nil && head.Synced >= batch:
			return true, nil
		}
	}
	return false, nil
}
