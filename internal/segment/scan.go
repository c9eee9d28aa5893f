package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

const (
	// scanBuffer is how much of a log a scan holds in memory, whatever the size of its records.
	scanBuffer = 1 << 20
	// scanBufferFirst is what it begins with: after a clean stop little more than a stride is looked at.
	scanBufferFirst = 2 * IndexStride
)

// scanner reads a log for recovery: every record is verified, none needs to fit in memory.
type scanner struct {
	f     vfs.File
	start uint64 // segment
	size  int64
	buf   []byte
	base  int64 // position of buf[0]
	n     int   // valid bytes
	check batch.Verifier
}

func newScanner(f vfs.File, start uint64, size int64) *scanner {
	return &scanner{f: f, start: start, size: size}
}

// peek returns n bytes at position, which lie inside the log; n is at most scanBuffer. The bytes hold until
// the next call.
func (s *scanner) peek(position int64, n int) ([]byte, error) {
	if position < s.base || position+int64(n) > s.base+int64(s.n) {
		if err := s.load(position, n); err != nil {
			return nil, err
		}
	}
	at := position - s.base
	return s.buf[at : at+int64(n)], nil
}

// load fills the buffer from position on, with n bytes at least, keeping what it already has of it.
func (s *scanner) load(position int64, n int) error {
	old := s.buf
	if size := s.bufferSize(n); size > len(s.buf) {
		s.buf = make([]byte, size)
	}
	have := 0
	if position >= s.base && position < s.base+int64(s.n) {
		have = copy(s.buf, old[position-s.base:s.n])
	}
	s.base, s.n = position, have
	want := int(min(int64(len(s.buf)), s.size-position))
	got, err := s.f.ReadAt(s.buf[have:want], position+int64(have))
	s.n += got
	if s.n < want {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read segment %d at byte %d: %w", s.start, position, err)
	}
	return nil
}

func (s *scanner) bufferSize(n int) int {
	if s.buf == nil && n <= scanBufferFirst {
		return int(min(s.size, scanBufferFirst))
	}
	return int(min(s.size, scanBuffer))
}

// record verifies the record at position, layout and checksums. ok is false when there is none; the header
// is then what stands there, zero when not even that fits. Errors are those of reading.
func (s *scanner) record(position int64) (h batch.Header, ok bool, err error) {
	if s.size-position < batch.HeaderSize {
		return batch.Header{}, false, nil
	}
	b, err := s.peek(position, batch.HeaderSize)
	if err != nil {
		return batch.Header{}, false, err
	}
	h = batch.Header(b)
	if h.Check() != protocol.Success || !h.Spans() || h.Length() > uint64(s.size-position) {
		return h, false, nil
	}
	length := int64(h.Length())
	if length <= scanBuffer {
		b, err = s.peek(position, int(length))
		return h, err == nil && batch.VerifyStored(b) == protocol.Success, err
	}
	s.check.Reset(int(length), h.MessageCount())
	for at := position; at < position+length; {
		n := int(min(scanBuffer, position+length-at))
		if b, err = s.peek(at, n); err != nil {
			return h, false, err
		}
		if s.check.Write(b) != protocol.Success {
			return h, false, nil
		}
		at += int64(n)
	}
	return h, s.check.Close() == protocol.Success, nil
}

// cutShort reports whether the bytes from position to the end of the log are the beginning of one record
// that was to continue the log: its header says so, the record ends beyond the log, and so does the chain
// of frames, all of them intact up to the one that is cut. Two faults in one record would be needed to
// mistake damage for that.
func (s *scanner) cutShort(position int64, h *batch.Header, expected, partitionID uint64) (bool, error) {
	if s.size-position < batch.HeaderSize || h.Check() != protocol.Success || h.BaseOffset() != expected ||
		h.PartitionID() != partitionID || h.Length() <= uint64(s.size-position) {
		return false, nil
	}
	return s.framesReachEnd(position + batch.HeaderSize)
}

// framesReachEnd walks frames from at on and reports whether intact ones lead up to one that is cut by the
// end of the log.
func (s *scanner) framesReachEnd(at int64) (bool, error) {
	for s.size-at >= batch.FrameHeaderSize {
		b, err := s.peek(at, batch.FrameHeaderSize)
		if err != nil {
			return false, err
		}
		length, ok := batch.FrameLength(b)
		if !ok {
			return false, nil
		}
		if length > uint64(s.size-at) {
			return true, nil
		}
		intact, err := s.frame(at, int64(length))
		if err != nil || !intact {
			return false, err
		}
		at += int64(length)
	}
	return true, nil
}

// frame verifies one frame.
func (s *scanner) frame(at, length int64) (bool, error) {
	if length <= scanBuffer {
		b, err := s.peek(at, int(length))
		return err == nil && batch.Frame(b).Checksum() == batch.Frame(b).Sum(), err
	}
	var sum batch.FrameHasher
	for done := int64(0); done < length; {
		n := int(min(scanBuffer, length-done))
		b, err := s.peek(at+done, n)
		if err != nil {
			return false, err
		}
		sum.Write(b)
		done += int64(n)
	}
	return sum.Matches(), nil
}

const (
	// reservedRun is the run of zeros that every record header holds.
	reservedRun = 204
	// reservedAt is where it begins; the count in front of it is never 0, so that at most its three upper
	// bytes can lengthen the run at this end.
	reservedAt = 52
	probeStep  = 96 // every run holds a probe of 8 bytes at a multiple of this
)

// findRecord searches from position on for a whole, verifying record of the partition whose offsets lie
// above floor, and returns where it begins. The search hops over the log looking for the zeros that every
// header holds, so it runs at memory speed.
func (s *scanner) findRecord(position int64, partitionID, floor uint64) (int64, bool, error) {
	for at := position; at+8 <= s.size; {
		b, err := s.peekUpTo(at, 8)
		if err != nil {
			return 0, false, err
		}
		hop := nonZeroProbes(b)
		if hop > 0 {
			at += hop
			continue
		}
		from, to, err := s.zeroRun(at, max(position, at-reservedRun))
		if err != nil {
			return 0, false, err
		}
		if to-from >= reservedRun {
			for header := from - reservedAt; header <= from-reservedAt+3; header++ {
				ok, err := s.isRecord(header, position, partitionID, floor)
				if ok || err != nil {
					return header, ok, err
				}
			}
		}
		at = max(to, at+1)
	}
	return 0, false, nil
}

// nonZeroProbes returns how far a search may move over b, whose probes at multiples of probeStep are not
// zero; 0 when the first one is.
func nonZeroProbes(b []byte) int64 {
	hop := 0
	for hop+8 <= len(b) && le.Uint64(b[hop:]) != 0 {
		hop += probeStep
	}
	return int64(hop)
}

// peekUpTo returns what the buffer holds from position on, at least n bytes of the log.
func (s *scanner) peekUpTo(position int64, n int) ([]byte, error) {
	if _, err := s.peek(position, n); err != nil {
		return nil, err
	}
	return s.buf[position-s.base : s.n], nil
}

// zeroRun returns the run of zero bytes around at, not looking in front of low.
func (s *scanner) zeroRun(at, low int64) (from, to int64, err error) {
	b, err := s.peek(low, int(at-low)+8)
	if err != nil {
		return 0, 0, err
	}
	from = at
	for from > low && b[from-low-1] == 0 {
		from--
	}
	for to = at; to < s.size; {
		rest, err := s.peekUpTo(to, 1)
		if err != nil {
			return 0, 0, err
		}
		i := 0
		for i+8 <= len(rest) && le.Uint64(rest[i:]) == 0 {
			i += 8
		}
		for i < len(rest) && rest[i] == 0 {
			i++
		}
		to += int64(i)
		if i < len(rest) {
			break
		}
	}
	return from, to, nil
}

func (s *scanner) isRecord(header, low int64, partitionID, floor uint64) (bool, error) {
	if header < low || s.size-header < batch.HeaderSize {
		return false, nil
	}
	b, err := s.peek(header, batch.HeaderSize)
	if err != nil {
		return false, err
	}
	if h := batch.HeaderOf(b); h.PartitionID() != partitionID || h.BaseOffset() <= floor {
		return false, nil
	}
	_, ok, err := s.record(header)
	return ok, err
}
