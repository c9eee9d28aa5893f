package rawclient

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Bytes of a batch header that Refresh writes, and those that its checksum covers.
const (
	originAt     = 24
	checksumAt   = 40
	countAt      = 48
	sealedFields = 44
)

// BatchFrame is a SendMessages request that is made once and sent often. Sending it allocates nothing and
// reads none of its messages again. It belongs to one goroutine.
type BatchFrame struct {
	frame    []byte
	record   []byte // the batch inside frame
	seal     []byte // what the checksum of the batch covers: header fields, then all frame checksums
	messages int
}

// NewBatchFrame makes a SendMessages request of a record in order, which is copied.
func (c *Conn) NewBatchFrame(ref command.TopicRef, to protocol.Partitioning, record []byte) (*BatchFrame, error) {
	if len(record) < batch.HeaderSize {
		return nil, fmt.Errorf("batch frame: record of %d bytes", len(record))
	}
	head := command.SendMessages{TopicRef: ref, Partitioning: to, MessagesCount: batch.MessageCount(record)}
	body := append(head.Append(nil), record...)
	b := &BatchFrame{frame: c.AppendFrame(nil, protocol.OpSendMessages, 0, body)}
	b.record = b.frame[len(b.frame)-len(record):]
	b.messages = int(batch.MessageCount(b.record))
	if code := batch.Verify(b.record, uint32(b.messages)); code != protocol.Success {
		return nil, fmt.Errorf("batch frame: the record is refused with code %d", uint32(code))
	}
	b.seal = make([]byte, sealedFields, sealedFields+8*b.messages)
	copy(b.seal, b.record[:checksumAt])
	copy(b.seal[checksumAt:], b.record[countAt:countAt+4])
	for w := batch.Walk(b.record); ; {
		f, ok := w.Next()
		if !ok {
			break
		}
		b.seal = binary.LittleEndian.AppendUint64(b.seal, f.Checksum())
	}
	return b, nil
}

// Messages is the number of messages in the batch.
func (b *BatchFrame) Messages() int { return b.messages }

// Bytes is the whole frame as it would be sent now, aliasing b.
func (b *BatchFrame) Bytes() []byte { return b.frame }

// Refresh gives the batch another origin time, in microseconds, and seals it again.
func (b *BatchFrame) Refresh(originMicros uint64) {
	binary.LittleEndian.PutUint64(b.seal[originAt:], originMicros)
	binary.LittleEndian.PutUint64(b.record[originAt:], originMicros)
	binary.LittleEndian.PutUint64(b.record[checksumAt:], xxh3.Hash(b.seal))
}

// SealedPart returns the offset inside the frame and the bytes there that Refresh has changed, so that
// copies of the frame can follow it.
func (b *BatchFrame) SealedPart() (offset int, part []byte) {
	at := len(b.frame) - len(b.record) + originAt
	return at, b.frame[at : at+checksumAt+8-originAt]
}

// Stamp makes the frame a request of c with its current session and request number. SendBatch does it by
// itself.
func (c *Conn) Stamp(b *BatchFrame) { c.stamp(b.frame) }

func (c *Conn) stamp(frame []byte) {
	h := (*protocol.RequestHeader)(frame)
	h.SetClient(c.client)
	h.SetSession(c.session)
	h.SetRequest(c.number)
}

// Confirmation tells where a batch was stored. Known is false when the server has committed the batch and
// cannot tell any more where.
type Confirmation struct {
	command.Confirmation
	Known bool
}

// SendBatch sends a prebuilt batch and waits for its confirmation. It allocates nothing unless it fails.
func (c *Conn) SendBatch(b *BatchFrame) (Confirmation, error) {
	c.Stamp(b)
	reply, err := c.Exchange(b.frame)
	if err != nil {
		return Confirmation{}, err
	}
	return ReadConfirmation(reply)
}

// SendMessages sends a record to a topic and waits for its confirmation.
func (c *Conn) SendMessages(ref command.TopicRef, to protocol.Partitioning, record []byte) (Confirmation, error) {
	count := uint32(0) // of something too short to be a record, which a test may want to send
	if len(record) >= batch.HeaderSize {
		count = batch.MessageCount(record)
	}
	head := command.SendMessages{TopicRef: ref, Partitioning: to, MessagesCount: count}
	reply, err := c.Do(protocol.OpSendMessages, 0, append(head.Append(nil), record...))
	if err != nil {
		return Confirmation{}, err
	}
	return ReadConfirmation(reply)
}

// oneConfirmation is the length of the usual reply: a count of 1 and one confirmation.
const oneConfirmation = 4 + 20

// ReadConfirmation reads the reply to a SendMessages request. The usual form is read without allocating.
func ReadConfirmation(reply Reply) (Confirmation, error) {
	r := protocol.NewReader(reply.Body)
	if count := r.U32("count"); count == 1 && len(reply.Body) == oneConfirmation {
		return Confirmation{command.Confirmation{
			Stream: r.U32("stream"), Topic: r.U32("topic"), Partition: r.U32("partition"), BaseOffset: r.U64("base offset"),
		}, true}, nil
	}
	all, err := command.DecodeConfirmations(reply.Body)
	if err != nil || len(all) == 0 {
		return Confirmation{}, err
	}
	return Confirmation{all[0], true}, nil
}
