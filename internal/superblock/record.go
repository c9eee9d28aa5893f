package superblock

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

const (
	recordMagic     = 0x53424C4B
	recordVersion   = 2
	payloadOffset   = 28
	trailerBytes    = 8
	recordBytes     = payloadOffset + stateBytes + trailerBytes
	payloadMaxBytes = 4096
	// recordMaxBytes bounds what is read of a slot: a longer file is damaged without being looked at.
	recordMaxBytes = payloadOffset + payloadMaxBytes + trailerBytes
)

// record is one decoded slot. trailer is the hash that the next record names as its parent.
type record struct {
	sequence uint64
	parent   uint64
	trailer  uint64
	state    State
}

// encode returns the bytes of the record and sets its trailer.
func (r *record) encode() []byte {
	b := make([]byte, 0, recordBytes)
	b = le.AppendUint32(b, recordMagic)
	b = le.AppendUint16(b, recordVersion)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, r.sequence)
	b = le.AppendUint64(b, r.parent)
	b = le.AppendUint32(b, stateBytes)
	b = r.state.append(b)
	r.trailer = xxh3.Hash(b)
	return le.AppendUint64(b, r.trailer)
}

// decodeRecord reads a slot. Another version is told from damage by the trailer, which ends the file in
// every version.
func decodeRecord(b []byte) (record, error) {
	if len(b) < payloadOffset+trailerBytes {
		return record{}, &CorruptError{Reason: fmt.Sprintf("%d bytes are too few", len(b))}
	}
	version := le.Uint16(b[4:])
	corrupt := func(format string, args ...any) (record, error) {
		return record{}, &CorruptError{Reason: fmt.Sprintf(format, args...), Version: version}
	}
	if len(b) > recordMaxBytes {
		return corrupt("%d bytes are too many", len(b))
	}
	body, trailer := b[:len(b)-trailerBytes], le.Uint64(b[len(b)-trailerBytes:])
	sealed := xxh3.Hash(body) == trailer
	switch payload := int64(le.Uint32(b[24:])); {
	case le.Uint32(b) != recordMagic:
		return corrupt("magic is %#08x", le.Uint32(b))
	case version != recordVersion && sealed:
		return record{}, &VersionError{Found: version, Supported: recordVersion}
	case version != recordVersion:
		return corrupt("version field is %d, this build reads %d, and the hash does not fit", version, recordVersion)
	case payload != int64(len(body)-payloadOffset):
		return corrupt("payload length is %d in a file of %d bytes", payload, len(b))
	case !sealed:
		return corrupt("hash does not fit")
	case le.Uint16(b[6:]) != 0:
		return corrupt("reserved field is %#04x", le.Uint16(b[6:]))
	case le.Uint64(b[8:]) == 0:
		return corrupt("sequence is 0")
	}
	state, err := decodeState(body[payloadOffset:])
	if err != nil {
		return record{}, err
	}
	return record{sequence: le.Uint64(b[8:]), parent: le.Uint64(b[16:]), trailer: trailer, state: state}, nil
}

// follows reports whether r was written next after before.
func (r *record) follows(before *record) bool {
	return r.sequence == before.sequence+1 && r.parent == before.trailer
}
