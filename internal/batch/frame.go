package batch

import (
	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

// FrameHeaderSize is the length of a frame before its payload, and the length of the shortest frame.
const FrameHeaderSize = 48

// Frame is one message inside a record, aliasing it.
//
//	off size field
//	  0    8 checksum             XXH3-64 of the frame from byte 8 to its end
//	  8   16 id                   chosen by the producer
//	 24    4 offset_delta         index in the batch as the producer wrote it
//	 28    4 timestamp_delta      microseconds since origin_timestamp
//	 32    4 user_headers_length
//	 36    4 payload_length
//	 40    8 reserved             zero
//	 48      payload, then user headers
type Frame []byte

// Checksum is the stored checksum of the frame.
func (f Frame) Checksum() uint64 { return le.Uint64(f) }

// ID is the producer's message id.
func (f Frame) ID() protocol.Uint128 { return protocol.ReadUint128(f[8:]) }

// OffsetDelta is the index that the producer gave the message.
func (f Frame) OffsetDelta() uint32 { return le.Uint32(f[24:]) }

// TimestampDelta is the time since the record's origin timestamp, in microseconds.
func (f Frame) TimestampDelta() uint32 { return le.Uint32(f[28:]) }

// Payload is the body of the message, aliasing the record.
func (f Frame) Payload() []byte {
	end := FrameHeaderSize + int(f.payloadLength())
	return f[FrameHeaderSize:end:end]
}

// UserHeaders are the encoded user headers, aliasing the record; empty when there are none.
func (f Frame) UserHeaders() []byte { return f[FrameHeaderSize+int(f.payloadLength()):] }

// Sum computes the checksum that the frame should carry.
func (f Frame) Sum() uint64 { return xxh3.Hash(f[8:]) }

// PayloadBytes is the length of the payload, as the frame's header has it.
func (f Frame) PayloadBytes() uint32 { return f.payloadLength() }

// HeaderBytes is the length of the encoded user headers.
func (f Frame) HeaderBytes() uint32 { return f.userHeadersLength() }

func (f Frame) userHeadersLength() uint32 { return le.Uint32(f[32:]) }
func (f Frame) payloadLength() uint32     { return le.Uint32(f[36:]) }

// length is what the frame's header claims for the whole frame.
func (f Frame) length() uint64 {
	return FrameHeaderSize + uint64(f.payloadLength()) + uint64(f.userHeadersLength())
}

// checkFrameHeader tests the frame header at the start of b against the room that is left for frames in
// the record, which may be more than b. b holds at least a frame header.
func checkFrameHeader(b []byte, room uint64) (uint64, protocol.Code) {
	f := Frame(b[:FrameHeaderSize])
	length := f.length()
	if le.Uint64(f[40:]) != 0 {
		return 0, protocol.CodeInvalidReservedField
	}
	if length > room {
		return 0, protocol.CodeInvalidCommand
	}
	return length, protocol.Success
}

// nextFrame returns the length of the frame at the start of rest, where rest is all that is left.
func nextFrame(rest []byte) (int, protocol.Code) {
	if len(rest) < FrameHeaderSize {
		return 0, protocol.CodeInvalidCommand
	}
	length, code := checkFrameHeader(rest, uint64(len(rest)))
	return int(length), code
}

// Walker yields the frames of a record in order. The zero value yields nothing.
type Walker struct {
	rest []byte
}

// Walk returns a walker over the frames of a record. It ends early, without a sign, where the layout is
// broken: records from outside pass CheckLayout or Verify first.
func Walk(record []byte) Walker {
	if len(record) < HeaderSize {
		return Walker{}
	}
	return Walker{rest: record[HeaderSize:]}
}

// Next returns the next frame; false when there is none.
func (w *Walker) Next() (Frame, bool) {
	length, code := nextFrame(w.rest)
	if code != protocol.Success {
		w.rest = nil
		return nil, false
	}
	f := Frame(w.rest[:length:length])
	w.rest = w.rest[length:]
	return f, true
}

// FrameLength reads the length of a frame from its header, the first 48 bytes of b; false when the header
// is none. The length is unchecked input.
func FrameLength(b []byte) (uint64, bool) {
	if len(b) < FrameHeaderSize || le.Uint64(b[40:]) != 0 {
		return 0, false
	}
	return Frame(b).length(), true
}

// FrameHasher verifies a frame that does not fit into memory as a whole. The zero value is ready for one
// frame, which Write takes in pieces, the first of at least 8 bytes.
type FrameHasher struct {
	begun bool
	want  uint64
	hash  xxh3.Hasher
}

// Write takes the next piece of the frame.
func (h *FrameHasher) Write(p []byte) {
	if !h.begun {
		h.begun, h.want = true, le.Uint64(p)
		p = p[8:]
	}
	h.hash.Write(p) //nolint:errcheck // a hash never fails
}

// Matches reports whether the checksum that the frame carries is that of its bytes.
func (h *FrameHasher) Matches() bool { return h.begun && h.hash.Sum64() == h.want }
