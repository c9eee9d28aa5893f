package snapshot

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
)

const (
	// HeaderBytes and TrailerBytes are what the frame adds to the sections.
	HeaderBytes  = 64
	TrailerBytes = 20
	// Version of the format, header and sections.
	Version = 1

	headerMagic  = 0x534D4C47
	trailerMagic = 0x49534E50
)

var le = binary.LittleEndian

// Header says what a snapshot reflects, without a look at its sections.
type Header struct {
	Op              uint64 // newest operation that the state reflects
	CreatedAt       uint64 // timestamp of Op, microseconds since the Unix epoch
	ClientsTableMax uint32 // capacity of the client table
}

// AppendHeader begins a snapshot.
func AppendHeader(dst []byte, h Header) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderBytes)...)
	b := dst[start:]
	le.PutUint32(b, headerMagic)
	le.PutUint32(b[4:], Version)
	le.PutUint64(b[8:], h.Op)
	le.PutUint64(b[16:], h.CreatedAt)
	le.PutUint32(b[24:], h.ClientsTableMax)
	return dst
}

// AppendTrailer ends the snapshot that begins at start.
func AppendTrailer(dst []byte, start int) []byte {
	sum := protocol.Hash64(dst[start:])
	dst = le.AppendUint32(dst, trailerMagic)
	dst = le.AppendUint64(dst, sum)
	return le.AppendUint64(dst, 0)
}

// Checksum is what the trailer of a snapshot that AppendTrailer has ended says.
func Checksum(b []byte) protocol.Uint128 { return protocol.ReadUint128(b[len(b)-TrailerBytes+4:]) }

// Frame is a snapshot whose trailer was verified and whose version is ours. Sections are not looked at yet.
type Frame struct {
	Header
	Name     string           // where it comes from, for errors
	Bytes    []byte           // all of it
	Sections []byte           // aliases Bytes
	Checksum protocol.Uint128 // of everything before the trailer
}

// Open verifies the frame of a snapshot. name says where b comes from. Refusals: *TruncatedError,
// *ChecksumError, *VersionError, *DecodeError. b is kept.
func Open(name string, b []byte) (*Frame, error) {
	end := len(b) - TrailerBytes
	if end < HeaderBytes || le.Uint32(b[end:]) != trailerMagic {
		return nil, &TruncatedError{File: name, SizeBytes: int64(len(b))}
	}
	stored, sum := protocol.ReadUint128(b[end+4:]), protocol.Uint128From64(protocol.Hash64(b[:end]))
	if stored != sum {
		return nil, &ChecksumError{File: name, Stored: stored, Computed: sum}
	}
	if le.Uint32(b) != headerMagic {
		return nil, &DecodeError{File: name, Cause: ErrMagic}
	}
	if v := le.Uint32(b[4:]); v != Version {
		return nil, &VersionError{File: name, Found: v, Supported: Version}
	}
	return &Frame{
		Header: Header{Op: le.Uint64(b[8:]), CreatedAt: le.Uint64(b[16:]), ClientsTableMax: le.Uint32(b[24:])},
		Name:   name, Bytes: b, Sections: b[HeaderBytes:end], Checksum: sum,
	}, nil
}
