package batch

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
)

// HeaderSize is the length of a record's header in bytes, and the length of the shortest record.
const HeaderSize = 256

const (
	reservedFrom = 52
	// sealedFields is the number of header bytes under the batch checksum.
	sealedFields = 44
)

var le = binary.LittleEndian

// Header heads a record.
//
//	off size field
//	  0    8 partition_id      stamped at admission; producers send 0
//	  8    8 base_offset       offset of the first message; stamped
//	 16    8 base_timestamp    microseconds of the append, the same on every replica; stamped
//	 24    8 origin_timestamp  microseconds, smallest clock of the producer in the batch
//	 32    8 batch_length      whole record in bytes, at least 256
//	 40    8 batch_checksum    XXH3-64 of the fields above and of message_count, then of all frame checksums
//	 48    4 message_count     at least 1
//	 52  204 reserved          zero
type Header [HeaderSize]byte

// HeaderOf returns the header at the start of record, aliasing it, or nil when record is shorter than one.
func HeaderOf(record []byte) *Header {
	if len(record) < HeaderSize {
		return nil
	}
	return (*Header)(record)
}

// PartitionID is the id of the partition within its topic; 0 as sent by a producer.
func (h *Header) PartitionID() uint64 { return le.Uint64(h[0:]) }

// BaseOffset is the offset of the first message.
func (h *Header) BaseOffset() uint64 { return le.Uint64(h[8:]) }

// BaseTimestamp is the append time in microseconds, common to all messages of the record.
func (h *Header) BaseTimestamp() uint64 { return le.Uint64(h[16:]) }

// OriginTimestamp is the producer's clock in microseconds that frames count their deltas from.
func (h *Header) OriginTimestamp() uint64 { return le.Uint64(h[24:]) }

// Length is the length of the whole record in bytes, as claimed: unchecked input until CheckLayout.
func (h *Header) Length() uint64 { return le.Uint64(h[32:]) }

// Checksum is the stored batch checksum.
func (h *Header) Checksum() uint64 { return le.Uint64(h[40:]) }

// MessageCount is the number of messages, as claimed: unchecked input until CheckLayout.
func (h *Header) MessageCount() uint32 { return le.Uint32(h[48:]) }

// EndOffset is the offset of the last message; meaningless for a count of 0.
func (h *Header) EndOffset() uint64 { return h.BaseOffset() + uint64(h.MessageCount()) - 1 }

func (h *Header) setPartitionID(v uint64)     { le.PutUint64(h[0:], v) }
func (h *Header) setBaseOffset(v uint64)      { le.PutUint64(h[8:], v) }
func (h *Header) setBaseTimestamp(v uint64)   { le.PutUint64(h[16:], v) }
func (h *Header) setOriginTimestamp(v uint64) { le.PutUint64(h[24:], v) }
func (h *Header) setLength(v uint64)          { le.PutUint64(h[32:], v) }
func (h *Header) setChecksum(v uint64)        { le.PutUint64(h[40:], v) }
func (h *Header) setMessageCount(v uint32)    { le.PutUint32(h[48:], v) }

// Check tests what the header says about itself: a length that can hold its messages, a count that is not
// 0, and zeroes where nothing is defined. Offsets and partition are not looked at, because a producer may
// send anything there; see Spans.
func (h *Header) Check() protocol.Code {
	length, count := h.Length(), h.MessageCount()
	switch {
	case length < HeaderSize:
		return protocol.CodeInvalidCommand
	case *(*[HeaderSize - reservedFrom]byte)(h[reservedFrom:]) != [HeaderSize - reservedFrom]byte{}:
		return protocol.CodeInvalidReservedField
	case count == 0, uint64(count) > (length-HeaderSize)/FrameHeaderSize:
		return protocol.CodeInvalidMessagesCount
	}
	return protocol.Success
}

// Spans reports whether the offsets of the record fit 64 bits; false for a count of 0.
func (h *Header) Spans() bool { return h.MessageCount() > 0 && h.EndOffset() >= h.BaseOffset() }

// PartitionID reads the field of that name. Like the readers below it expects a record with a whole header.
func PartitionID(record []byte) uint64 { return (*Header)(record).PartitionID() }

// BaseOffset reads the offset of the first message.
func BaseOffset(record []byte) uint64 { return (*Header)(record).BaseOffset() }

// EndOffset reads the offset of the last message.
func EndOffset(record []byte) uint64 { return (*Header)(record).EndOffset() }

// BaseTimestamp reads the append time in microseconds.
func BaseTimestamp(record []byte) uint64 { return (*Header)(record).BaseTimestamp() }

// OriginTimestamp reads the producer's clock in microseconds.
func OriginTimestamp(record []byte) uint64 { return (*Header)(record).OriginTimestamp() }

// MessageCount reads the number of messages.
func MessageCount(record []byte) uint32 { return (*Header)(record).MessageCount() }
