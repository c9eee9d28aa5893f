package wal

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

const (
	// RecordHeadBytes is the length of the head of every record.
	RecordHeadBytes = 64
	// RecordAlign is the unit of positions: records begin and end at multiples of it.
	RecordAlign = 64

	// CheckpointMinBytes is the payload of a Checkpoint or Installed record without dedup entries.
	CheckpointMinBytes = 336
	// DedupEntryBytes is what each dedup entry adds to it.
	DedupEntryBytes = 52

	recordMagic   = 0x43525747 // bytes "GWRC"
	recordHashOff = 56
	recordHashed  = recordHashOff + protocol.HeaderSize // what the hash of a prepare record covers
)

var le = binary.LittleEndian

// Kind tells what a record says. The values are part of the format.
type Kind uint8

// Kinds of records. A metadata journal holds Prepare only; the others belong to the logs of shards.
const (
	KindPrepare    Kind = 1  // sealed prepare header and body
	KindCheckpoint Kind = 2  // everything up to an op is in the segments
	KindTruncate   Kind = 3  // ops from one on are void
	KindReset      Kind = 4  // an install has begun: earlier records of the group are void
	KindInstalled  Kind = 5  // an install has ended
	KindLost       Kind = 6  // records of the group were damaged
	KindAdopted    Kind = 7  // a started view was adopted with ops missing
	KindLocal      Kind = 8  // an offset write that was not replicated
	KindBirth      Kind = 9  // first record of a group
	KindDropped    Kind = 10 // the partition was deleted
	KindClean      Kind = 11 // the life of the log ended in order
	KindAccepted   Kind = 12 // an operator accepted what was lost
)

// fixedPayload is the payload length of the kinds that have only one.
var fixedPayload = map[Kind]uint32{
	KindTruncate: 24, KindReset: 32, KindLost: 8, KindAdopted: 32, KindLocal: 16, KindBirth: 0, KindDropped: 0,
	KindClean: 0, KindAccepted: 16,
}

// IsKnown reports whether this build understands the kind.
func (k Kind) IsKnown() bool { return k >= KindPrepare && k <= KindAccepted }

// ValidPayload reports whether a record of this kind may have a payload of that length.
func (k Kind) ValidPayload(payloadBytes uint32) bool {
	switch k {
	case KindPrepare:
		return payloadBytes >= protocol.HeaderSize
	case KindCheckpoint, KindInstalled:
		return payloadBytes >= CheckpointMinBytes && (payloadBytes-CheckpointMinBytes)%DedupEntryBytes == 0
	}
	return payloadBytes == fixedPayload[k]
}

// RecordHead describes a record. On disk:
//
//	off size field
//	  0    4 magic    "GWRC"
//	  4    1 kind
//	  5    1 flags    bit 0 first of its batch, bit 1 last of its batch
//	  6    2 zero
//	  8    8 epoch    of the file
//	 16    8 batch    one per append
//	 24    8 synced   highest batch known to be fsynced when the record was built
//	 32    8 group
//	 40    8 revision created revision of the group's incarnation
//	 48    4 payload length, without padding
//	 52    4 zero
//	 56    8 XXH3-64 of bytes 0 to 56 followed by the payload, of a prepare by its first 256 bytes
//
// The payload follows, then zeros up to a multiple of RecordAlign. The body of a prepare is bound by the
// body checksum inside its header.
type RecordHead struct {
	Kind         Kind
	First, Last  bool // of the batch
	Epoch        uint64
	Batch        uint64
	Synced       uint64
	Group        uint64
	Revision     uint64
	PayloadBytes uint32
}

// Span is the number of bytes that the record takes in the file, padding included.
func (h *RecordHead) Span() int64 { return RecordSpan(int64(h.PayloadBytes)) }

// RecordSpan is the number of bytes that a record with a payload of that length takes, padding included.
func RecordSpan(payloadBytes int64) int64 {
	return (RecordHeadBytes + payloadBytes + RecordAlign - 1) &^ (RecordAlign - 1)
}

// Encode writes the head to b, which holds at least RecordHeadBytes. hashed is the part of the payload
// that the hash covers: the 256-byte header of a prepare, the whole payload of other kinds.
func (h *RecordHead) Encode(b []byte, hashed []byte) {
	b = b[:RecordHeadBytes]
	le.PutUint32(b, recordMagic)
	b[4], b[5] = byte(h.Kind), 0
	if h.First {
		b[5] |= 1
	}
	if h.Last {
		b[5] |= 2
	}
	le.PutUint16(b[6:], 0)
	le.PutUint64(b[8:], h.Epoch)
	le.PutUint64(b[16:], h.Batch)
	le.PutUint64(b[24:], h.Synced)
	le.PutUint64(b[32:], h.Group)
	le.PutUint64(b[40:], h.Revision)
	le.PutUint32(b[48:], h.PayloadBytes)
	le.PutUint32(b[52:], 0)
	le.PutUint64(b[recordHashOff:], recordHash(b, hashed))
}

// DecodeRecordHead reads the head at the start of b and verifies its form and its epoch, not its hash:
// VerifyRecordHash does, once the payload is there. Errors describe the first field that is wrong; an
// unknown kind is a *KindError, which is trusted only after the hash fits.
func DecodeRecordHead(b []byte, epoch uint64) (RecordHead, error) {
	if len(b) < RecordHeadBytes {
		return RecordHead{}, fmt.Errorf("%d bytes are too few for a record head", len(b))
	}
	h := RecordHead{
		Kind: Kind(b[4]), First: b[5]&1 != 0, Last: b[5]&2 != 0,
		Epoch: le.Uint64(b[8:]), Batch: le.Uint64(b[16:]), Synced: le.Uint64(b[24:]),
		Group: le.Uint64(b[32:]), Revision: le.Uint64(b[40:]), PayloadBytes: le.Uint32(b[48:]),
	}
	switch {
	case le.Uint32(b) != recordMagic:
		return h, fmt.Errorf("record magic is %#08x", le.Uint32(b))
	case h.Epoch != epoch:
		return h, fmt.Errorf("record epoch is %#016x, the file's is %#016x", h.Epoch, epoch)
	case b[5]&^3 != 0 || le.Uint16(b[6:]) != 0 || le.Uint32(b[52:]) != 0:
		return h, fmt.Errorf("reserved bits of the record head are set")
	case !h.Kind.IsKnown():
		return h, &KindError{Found: h.Kind}
	case !h.Kind.ValidPayload(h.PayloadBytes):
		return h, fmt.Errorf("payload of %d bytes in a record of kind %d", h.PayloadBytes, h.Kind)
	case h.Synced >= h.Batch:
		return h, fmt.Errorf("record of batch %d claims that batch %d is synced", h.Batch, h.Synced)
	}
	return h, nil
}

// VerifyRecordHash reports whether the hash in the head fits it and the hashed part of its payload.
func VerifyRecordHash(head, hashed []byte) bool {
	return le.Uint64(head[recordHashOff:]) == recordHash(head, hashed)
}

// recordHash hashes what a head and its payload bind. Prepares and the small kinds, which are hot, need no hasher state.
func recordHash(head, hashed []byte) uint64 {
	if len(hashed) <= protocol.HeaderSize {
		var joined [recordHashed]byte
		copy(joined[:], head[:recordHashOff])
		n := copy(joined[recordHashOff:], hashed)
		return xxh3.Hash(joined[:recordHashOff+n])
	}
	x := xxh3.New()
	_, _ = x.Write(head[:recordHashOff]) // a hasher takes everything
	_, _ = x.Write(hashed)
	return x.Sum64()
}

// IsRecordOf reports whether b begins with the magic of a record and that epoch: a cheap test for scans.
func IsRecordOf(b []byte, epoch uint64) bool {
	return len(b) >= RecordHeadBytes && le.Uint32(b) == recordMagic && le.Uint64(b[8:]) == epoch
}
