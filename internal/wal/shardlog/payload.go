package shardlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

var le = binary.LittleEndian

// errPayload is the cause of every payload that does not decode.
var errPayload = errors.New("payload does not decode")

// DedupEntry is what a partition remembers of one client that numbers its requests.
type DedupEntry struct {
	Client       protocol.Uint128
	User         uint32
	Watermark    uint64           // highest committed request number
	LatestCommit uint64           // op of that request
	Window       protocol.Uint128 // bit i: request Watermark-i was committed
}

// Checkpoint says that everything up to Op is durable outside the log. It is the payload of Checkpoint and
// Installed records:
//
//	off size field
//	  0  256 prepare header of Op; zero when not known
//	256    8 op
//	264    8 frontier
//	272    8 start offset of the segment that holds the end of the data
//	280    8 its size in bytes
//	288    8 newest timestamp
//	296    8 applied purge generation
//	304    8 op of the newest applied purge barrier
//	312    8 acked head
//	320    8 trust life
//	328    4 number of dedup entries, D
//	332    4 zero
//	336  52D dedup entries: client 16, user 4, watermark 8, latest commit 8, window 16
type Checkpoint struct {
	Header          protocol.PrepareHeader // of Op; zero when it is not known or Op is 0
	Op              uint64
	Frontier        uint64 // next offset after Op, 0 = none
	SegmentStart    uint64
	SegmentBytes    uint64
	Timestamp       uint64 // newest of a prepare at or below Op, microseconds
	PurgeGeneration uint64
	BarrierOp       uint64 // newest applied purge barrier, 0 = none
	AckedHead       uint64 // highest op that this replica acknowledged in its log view
	TrustLife       uint64 // life since which the records of the group are known to be whole
	Dedup           []DedupEntry
}

// HasHeader reports whether the prepare header of Op is known.
func (c *Checkpoint) HasHeader() bool { return c.Header != protocol.PrepareHeader{} }

// EncodeCheckpoint appends the payload to b and returns it.
func EncodeCheckpoint(b []byte, c *Checkpoint) []byte {
	b = append(b, c.Header[:]...)
	for _, v := range [...]uint64{
		c.Op, c.Frontier, c.SegmentStart, c.SegmentBytes, c.Timestamp, c.PurgeGeneration, c.BarrierOp, c.AckedHead,
		c.TrustLife,
	} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, uint32(len(c.Dedup)))
	b = le.AppendUint32(b, 0)
	for i := range c.Dedup {
		d := &c.Dedup[i]
		b = appendUint128(b, d.Client)
		b = le.AppendUint32(b, d.User)
		b = le.AppendUint64(b, d.Watermark)
		b = le.AppendUint64(b, d.LatestCommit)
		b = appendUint128(b, d.Window)
	}
	return b
}

// DecodeCheckpoint reads a payload. It keeps nothing of b.
func DecodeCheckpoint(b []byte) (Checkpoint, error) {
	if len(b) < wal.CheckpointMinBytes {
		return Checkpoint{}, fmt.Errorf("checkpoint of %d bytes: %w", len(b), errPayload)
	}
	u64 := func(off int) uint64 { return le.Uint64(b[off:]) }
	c := Checkpoint{
		Header: protocol.PrepareHeader(b), Op: u64(256), Frontier: u64(264), SegmentStart: u64(272), SegmentBytes: u64(280),
		Timestamp: u64(288), PurgeGeneration: u64(296), BarrierOp: u64(304), AckedHead: u64(312), TrustLife: u64(320),
	}
	entries := int64(le.Uint32(b[328:]))
	rest := b[wal.CheckpointMinBytes:]
	if int64(len(rest)) != entries*wal.DedupEntryBytes || le.Uint32(b[332:]) != 0 {
		return Checkpoint{}, fmt.Errorf("checkpoint of %d bytes with %d dedup entries: %w", len(b), entries, errPayload)
	}
	if c.HasHeader() && (!c.Header.VerifyIdentity() || c.Header.Op() != c.Op) {
		return Checkpoint{}, fmt.Errorf("checkpoint at op %d with the header of another op: %w", c.Op, errPayload)
	}
	if entries > 0 {
		c.Dedup = make([]DedupEntry, entries)
	}
	for i := range c.Dedup {
		e := rest[i*wal.DedupEntryBytes:]
		c.Dedup[i] = DedupEntry{
			Client: protocol.ReadUint128(e), User: le.Uint32(e[16:]), Watermark: le.Uint64(e[20:]),
			LatestCommit: le.Uint64(e[28:]), Window: protocol.ReadUint128(e[36:]),
		}
	}
	return c, nil
}

func appendUint128(b []byte, v protocol.Uint128) []byte {
	return le.AppendUint64(le.AppendUint64(b, v.Lo), v.Hi)
}

// Truncate says that ops from FromOp on are void. Payload: from_op u64, acked_head u64, view u32, zero u32.
type Truncate struct {
	FromOp    uint64
	AckedHead uint64 // of the log view that is left; counts while the superblock's log view is below View
	View      uint32
}

// AppendTo appends the payload to b.
func (p Truncate) AppendTo(b []byte) []byte {
	b = le.AppendUint64(le.AppendUint64(b, p.FromOp), p.AckedHead)
	return le.AppendUint32(le.AppendUint32(b, p.View), 0)
}

// Reset says that an install has begun and everything before it is void. Payload: four u64 in this order.
type Reset struct {
	CommitOp, NextOffset, PurgeGeneration, AckedHead uint64
}

// AppendTo appends the payload to b.
func (p Reset) AppendTo(b []byte) []byte {
	b = le.AppendUint64(le.AppendUint64(b, p.CommitOp), p.NextOffset)
	return le.AppendUint64(le.AppendUint64(b, p.PurgeGeneration), p.AckedHead)
}

// LossMark is the payload of a Lost record: records of the group were damaged. Payload: reason u64, a number of the caller's.
type LossMark struct{ Reason uint64 }

// AppendTo appends the payload to b.
func (p LossMark) AppendTo(b []byte) []byte { return le.AppendUint64(b, p.Reason) }

// Adopted says that a started view was adopted with ops missing. Payload: view u32, zero u32, op, commit and
// acked_head u64.
type Adopted struct {
	View                  uint32
	Op, Commit, AckedHead uint64
}

// AppendTo appends the payload to b.
func (p Adopted) AppendTo(b []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, p.View), 0)
	return le.AppendUint64(le.AppendUint64(le.AppendUint64(b, p.Op), p.Commit), p.AckedHead)
}

// Local is an offset write that was not replicated. Payload: consumer_kind u8, delete u8 (1 store, 2 delete),
// zero u16, id u32, offset u64.
type Local struct {
	ConsumerKind uint8
	Delete       bool
	ID           uint32
	Offset       uint64 // 0 for a delete
}

// AppendTo appends the payload to b.
func (p Local) AppendTo(b []byte) []byte {
	verb := byte(1)
	if p.Delete {
		verb = 2
	}
	b = le.AppendUint32(append(b, p.ConsumerKind, verb, 0, 0), p.ID)
	return le.AppendUint64(b, p.Offset)
}

// Accepted says that an operator accepted what was lost. Payload: log_view u32, zero u32, op u64.
type Accepted struct {
	LogView uint32
	Op      uint64
}

// AppendTo appends the payload to b.
func (p Accepted) AppendTo(b []byte) []byte {
	return le.AppendUint64(le.AppendUint32(le.AppendUint32(b, p.LogView), 0), p.Op)
}

// The small payloads have a length of their own each, which the record head has been checked for; what is
// left to check are bytes without meaning.

func decodeTruncate(b []byte) (Truncate, error) {
	return Truncate{FromOp: le.Uint64(b), AckedHead: le.Uint64(b[8:]), View: le.Uint32(b[16:])}, zeroOrError(b[20:24])
}

func decodeReset(b []byte) (Reset, error) {
	return Reset{CommitOp: le.Uint64(b), NextOffset: le.Uint64(b[8:]), PurgeGeneration: le.Uint64(b[16:]),
		AckedHead: le.Uint64(b[24:])}, nil
}

func decodeAdopted(b []byte) (Adopted, error) {
	return Adopted{View: le.Uint32(b), Op: le.Uint64(b[8:]), Commit: le.Uint64(b[16:]), AckedHead: le.Uint64(b[24:])},
		zeroOrError(b[4:8])
}

func decodeLocal(b []byte) (Local, error) {
	err := zeroOrError(b[2:4])
	if b[1] != 1 && b[1] != 2 {
		err = fmt.Errorf("offset write %d: %w", b[1], errPayload)
	}
	return Local{ConsumerKind: b[0], Delete: b[1] == 2, ID: le.Uint32(b[4:]), Offset: le.Uint64(b[8:])}, err
}

func decodeAccepted(b []byte) (Accepted, error) {
	return Accepted{LogView: le.Uint32(b), Op: le.Uint64(b[8:])}, zeroOrError(b[4:8])
}

func zeroOrError(b []byte) error {
	for _, v := range b {
		if v != 0 {
			return fmt.Errorf("reserved bytes are set: %w", errPayload)
		}
	}
	return nil
}
