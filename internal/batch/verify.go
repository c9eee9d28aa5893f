package batch

import "github.com/galgolog/galgo/internal/protocol"

// CheckLayout tests that record is exactly one record that can be walked: lengths, counts and reserved
// bytes, no checksums. It answers Success, 3, 4009 or 4101.
func CheckLayout(record []byte) protocol.Code {
	h, code := openRecord(record)
	if code != protocol.Success {
		return code
	}
	left := h.MessageCount()
	for rest := record[HeaderSize:]; len(rest) > 0; left-- {
		length, code := nextFrame(rest)
		if code != protocol.Success {
			return code
		}
		if left == 0 {
			return protocol.CodeInvalidMessagesCount
		}
		rest = rest[length:]
	}
	if left != 0 {
		return protocol.CodeInvalidMessagesCount
	}
	return protocol.Success
}

// Verify tests everything that can be known about record by itself, layout and checksums, in one pass
// over the bodies, and that it holds wantCount messages. Codes: 3 layout, 4009 number of messages,
// 4101 reserved bytes, 4027 checksum of a frame, 4039 checksum of the batch. The checksum is that of the
// record as it is: unstamped as sent by a producer, or stamped as stored.
func Verify(record []byte, wantCount uint32) protocol.Code {
	h, code := openRecord(record)
	if code != protocol.Success {
		return code
	}
	if h.MessageCount() != wantCount {
		return protocol.CodeInvalidMessagesCount
	}
	if wantCount == 1 {
		return verifyLone(h, record)
	}
	return verifyAll(h, record)
}

// verifyLone is verifyAll for a header that announces one frame: most records are of that kind where messages
// come one by one.
func verifyLone(h *Header, record []byte) protocol.Code {
	rest := record[HeaderSize:]
	length, code := nextFrame(rest)
	if code != protocol.Success {
		return code
	}
	f := Frame(rest[:length])
	if f.Checksum() != f.Sum() {
		return protocol.CodeInvalidMessageChecksum
	}
	if rest = rest[length:]; len(rest) > 0 {
		if _, code := nextFrame(rest); code != protocol.Success {
			return code
		}
		return protocol.CodeInvalidMessagesCount
	}
	if sealLone(h, f.Checksum()) != h.Checksum() {
		return protocol.CodeInvalidBatchChecksum
	}
	return protocol.Success
}

func verifyAll(h *Header, record []byte) protocol.Code {
	left := h.MessageCount()
	var seal sealer
	seal.begin(h)
	for rest := record[HeaderSize:]; len(rest) > 0; left-- {
		length, code := nextFrame(rest)
		if code != protocol.Success {
			return code
		}
		if left == 0 {
			return protocol.CodeInvalidMessagesCount
		}
		f := Frame(rest[:length])
		if f.Checksum() != f.Sum() {
			return protocol.CodeInvalidMessageChecksum
		}
		seal.add(f.Checksum())
		rest = rest[length:]
	}
	if left != 0 {
		return protocol.CodeInvalidMessagesCount
	}
	if seal.sum() != h.Checksum() {
		return protocol.CodeInvalidBatchChecksum
	}
	return protocol.Success
}

// VerifyStored is Verify for a record that comes with no second opinion on its number of messages.
func VerifyStored(record []byte) protocol.Code {
	if len(record) < HeaderSize {
		return protocol.CodeInvalidCommand
	}
	return Verify(record, (*Header)(record).MessageCount())
}

// openRecord tests the header of a record that must fill the slice.
func openRecord(record []byte) (*Header, protocol.Code) {
	h := HeaderOf(record)
	if h == nil {
		return nil, protocol.CodeInvalidCommand
	}
	if code := h.Check(); code != protocol.Success {
		return nil, code
	}
	if h.Length() != uint64(len(record)) {
		return nil, protocol.CodeInvalidCommand
	}
	return h, protocol.Success
}
