package batch

import (
	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

// Verifier is Verify for a record that arrives in pieces, so that every piece is hashed while it is still
// in the cache. It keeps a few kilobytes of state whatever the size of the record and does not allocate.
// Use: Reset, Write for every piece in order, Close. The answer is the one that Verify would give for the
// whole. Not safe for concurrent use.
type Verifier struct {
	code      protocol.Code
	wantCount uint32
	length    uint64 // of the record, as announced
	seen      uint64 // bytes of the record consumed
	headRead  bool
	left      uint32 // messages still to come
	frameLeft uint64 // bytes of the frame under way still to come; 0 between frames
	frameSum  uint64 // its stored checksum
	heldLen   int    // bytes in held
	held      [HeaderSize]byte
	head      Header
	hash      xxh3.Hasher
	seal      sealer
}

// Reset prepares for a record of length bytes that must hold wantCount messages.
func (v *Verifier) Reset(length int, wantCount uint32) {
	v.code, v.wantCount = protocol.Success, wantCount
	v.length, v.seen = uint64(max(length, 0)), 0
	v.headRead, v.left, v.frameLeft, v.heldLen = false, 0, 0, 0
	if length < HeaderSize {
		v.code = protocol.CodeInvalidCommand
	}
}

// Write takes the next piece of the record and answers with the first fault found so far. It does not
// keep p.
func (v *Verifier) Write(p []byte) protocol.Code {
	for len(p) > 0 && v.code == protocol.Success {
		switch {
		case !v.headRead:
			p = v.readHeader(p)
		case v.frameLeft > 0:
			p = v.continueFrame(p)
		default:
			p = v.startFrame(p)
		}
	}
	return v.code
}

// Close ends the record and answers for the whole of it.
func (v *Verifier) Close() protocol.Code {
	switch {
	case v.code != protocol.Success:
	case !v.headRead, v.heldLen != 0, v.frameLeft != 0, v.seen != v.length:
		v.code = protocol.CodeInvalidCommand
	case v.left != 0:
		v.code = protocol.CodeInvalidMessagesCount
	case v.seal.sum() != v.head.Checksum():
		v.code = protocol.CodeInvalidBatchChecksum
	}
	return v.code
}

func (v *Verifier) fail(code protocol.Code) []byte {
	v.code = code
	return nil
}

// hold gathers up to want bytes that a piece boundary may cut apart; false while some are missing.
func (v *Verifier) hold(p []byte, want int) (rest []byte, whole bool) {
	n := copy(v.held[v.heldLen:want], p)
	v.heldLen += n
	v.seen += uint64(n)
	return p[n:], v.heldLen == want
}

func (v *Verifier) readHeader(p []byte) []byte {
	p, whole := v.hold(p, HeaderSize)
	if !whole {
		return p
	}
	v.head, v.heldLen, v.headRead = v.held, 0, true
	if code := v.head.Check(); code != protocol.Success {
		return v.fail(code)
	}
	if v.head.Length() != v.length {
		return v.fail(protocol.CodeInvalidCommand)
	}
	if v.left = v.head.MessageCount(); v.left != v.wantCount {
		return v.fail(protocol.CodeInvalidMessagesCount)
	}
	v.seal.begin(&v.head)
	return p
}

// startFrame reads the header of a frame. A frame that lies whole in p is checked at once.
func (v *Verifier) startFrame(p []byte) []byte {
	room := v.length - v.seen + uint64(v.heldLen)
	if room < FrameHeaderSize {
		return v.fail(protocol.CodeInvalidCommand)
	}
	if v.heldLen == 0 && len(p) >= FrameHeaderSize {
		length, code := checkFrameHeader(p, room)
		if code != protocol.Success {
			return v.fail(code)
		}
		if v.left == 0 {
			return v.fail(protocol.CodeInvalidMessagesCount)
		}
		if length <= uint64(len(p)) {
			return v.wholeFrame(p, int(length))
		}
	}
	p, whole := v.hold(p, FrameHeaderSize)
	if !whole {
		return p
	}
	v.heldLen = 0
	length, code := checkFrameHeader(v.held[:], room)
	if code != protocol.Success {
		return v.fail(code)
	}
	if v.left == 0 {
		return v.fail(protocol.CodeInvalidMessagesCount)
	}
	v.hash.Reset()
	v.hash.Write(v.held[8:FrameHeaderSize]) //nolint:errcheck // a hash never fails
	v.frameSum = Frame(v.held[:]).Checksum()
	v.frameLeft = length - FrameHeaderSize
	if v.frameLeft == 0 {
		v.endFrame(v.hash.Sum64())
	}
	return p
}

func (v *Verifier) wholeFrame(p []byte, length int) []byte {
	f := Frame(p[:length])
	v.frameSum = f.Checksum()
	v.seen += uint64(length)
	v.endFrame(f.Sum())
	return p[length:]
}

func (v *Verifier) continueFrame(p []byte) []byte {
	n := int(min(uint64(len(p)), v.frameLeft))
	v.hash.Write(p[:n]) //nolint:errcheck // a hash never fails
	v.seen += uint64(n)
	if v.frameLeft -= uint64(n); v.frameLeft == 0 {
		v.endFrame(v.hash.Sum64())
	}
	return p[n:]
}

func (v *Verifier) endFrame(sum uint64) {
	if sum != v.frameSum {
		v.code = protocol.CodeInvalidMessageChecksum
		return
	}
	v.seal.add(v.frameSum)
	v.left--
}
