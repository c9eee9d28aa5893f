package batch

import (
	"github.com/zeebo/xxh3"
)

// sealBuffer holds the header fields and the checksums of 122 frames: smaller batches are hashed in one
// call, larger ones through the streaming form in steps of this size.
const sealBuffer = 1024

// sealer computes a batch checksum from the header fields and the checksums of the frames in order. It
// must be begun before use and needs no cleaning afterwards.
type sealer struct {
	streaming bool
	n         int
	buf       [sealBuffer]byte
	hash      xxh3.Hasher
}

func (s *sealer) begin(h *Header) {
	s.streaming = false
	putSealedFields(s.buf[:], h)
	s.n = sealedFields
}

func putSealedFields(dst []byte, h *Header) {
	copy(dst, h[:40])
	copy(dst[40:], h[48:52])
}

// sealLone computes the batch checksum of a record of one frame. Clearing the memory of a sealer would cost
// more than the hash.
func sealLone(h *Header, checksum uint64) uint64 {
	var b [sealedFields + 8]byte
	putSealedFields(b[:], h)
	le.PutUint64(b[sealedFields:], checksum)
	return xxh3.Hash(b[:])
}

// add takes the stored checksum of the next frame.
func (s *sealer) add(checksum uint64) {
	if s.n > sealBuffer-8 {
		s.drain()
	}
	le.PutUint64(s.buf[s.n:], checksum)
	s.n += 8
}

func (s *sealer) drain() {
	s.write(s.buf[:s.n])
	s.n = 0
}

func (s *sealer) write(b []byte) {
	if !s.streaming {
		s.streaming = true
		s.hash.Reset()
	}
	s.hash.Write(b) //nolint:errcheck // a hash never fails
}

func (s *sealer) sum() uint64 {
	if !s.streaming {
		return xxh3.Hash(s.buf[:s.n])
	}
	s.drain()
	return s.hash.Sum64()
}
