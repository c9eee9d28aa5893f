package partition

import (
	"cmp"
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// ConsumerKind tells single consumers from groups. The values are those of the protocol.
type ConsumerKind uint8

// Consumer kinds.
const (
	KindConsumer ConsumerKind = 1
	KindGroup    ConsumerKind = 2
)

// ConsumerKey names the owner of a stored offset within a partition: the numeric id or hashed name of a
// single consumer, or the id of a group.
type ConsumerKey struct {
	Kind ConsumerKind
	ID   uint32
}

// Compare orders keys by kind and id.
func (k ConsumerKey) Compare(o ConsumerKey) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.ID, o.ID))
}

// maxOffsetsPerKind bounds the stored offsets of one kind.
const maxOffsetsPerKind = 65_536

// offsetTable mirrors the offset files: what is durable, not what readers see.
type offsetTable struct {
	durable map[ConsumerKey]uint64
	counts  [3]int
}

func (t *offsetTable) init() { t.durable = make(map[ConsumerKey]uint64) }

// OffsetOp is the body of operations 161 and 162 as it stands in the log: the consumer resolved to a key,
// 16 bytes long: kind u8, ack u8, zero u16, id u32, offset u64.
type OffsetOp struct {
	Key    ConsumerKey
	Offset uint64
}

// OffsetOpSize is the length of an encoded OffsetOp.
const OffsetOpSize = 16

// Put encodes o into dst, which has OffsetOpSize bytes.
func (o OffsetOp) Put(dst []byte) {
	clear(dst[:OffsetOpSize])
	dst[0] = byte(o.Key.Kind)
	binary.LittleEndian.PutUint32(dst[4:], o.Key.ID)
	binary.LittleEndian.PutUint64(dst[8:], o.Offset)
}

// DecodeOffsetOp reads an encoded OffsetOp; false when the bytes are not one.
func DecodeOffsetOp(b []byte) (OffsetOp, bool) {
	if len(b) != OffsetOpSize || b[1]|b[2]|b[3] != 0 {
		return OffsetOp{}, false
	}
	o := OffsetOp{
		Key:    ConsumerKey{ConsumerKind(b[0]), binary.LittleEndian.Uint32(b[4:])},
		Offset: binary.LittleEndian.Uint64(b[8:]),
	}
	return o, o.Key.Kind == KindConsumer || o.Key.Kind == KindGroup
}

func isAutoCommit(h *protocol.PrepareHeader) bool { return h.Client() == protocol.MaxUint128 }

// admitOffset refuses what can be refused before it is logged.
func (p *Partition) admitOffset(h *protocol.PrepareHeader, body []byte) protocol.Code {
	o, ok := DecodeOffsetOp(body)
	if !ok {
		return protocol.CodeInvalidCommand
	}
	return p.CheckOffset(h.Operation(), o)
}

// CheckOffset is the admission rule for offset operations: a stored offset names a committed message, a
// deleted one exists, and the table has room.
func (p *Partition) CheckOffset(op protocol.Operation, o OffsetOp) protocol.Code {
	_, known := p.cursors.Get(o.Key)
	if op == protocol.OpDeleteConsumerOffset {
		if !known {
			return protocol.CodeConsumerOffsetNotFound
		}
		return protocol.Success
	}
	if !p.seeded || o.Offset > p.committed {
		return protocol.CodeInvalidOffset
	}
	if !known && p.offsets.counts[o.Key.Kind] >= maxOffsetsPerKind {
		return protocol.CodeTransientNotAccepted
	}
	return protocol.Success
}

// applyOffset executes a committed offset operation: the file first, then the live value.
func (p *Partition) applyOffset(h *protocol.PrepareHeader, body, reply []byte) ([]byte, vsr.ApplyStatus) {
	o, ok := DecodeOffsetOp(body)
	if !ok {
		return appendRejection(reply, protocol.CodeInvalidCommand), vsr.ApplyDone
	}
	success := binary.LittleEndian.AppendUint32(reply, 0)
	if p.resumed(h.Op()) {
		p.showOffset(h, o)
		return success, vsr.ApplyDone
	}
	durable, stored := p.offsets.durable[o.Key]
	switch {
	case h.Operation() == protocol.OpDeleteConsumerOffset && stored:
		return reply, p.hold(h.Op(), Job{Kind: JobDeleteOffset, Key: o.Key})
	case h.Operation() == protocol.OpDeleteConsumerOffset,
		stored && durable == o.Offset, isAutoCommit(h) && stored && durable >= o.Offset:
		p.showOffset(h, o)
		return success, vsr.ApplyDone
	}
	return reply, p.hold(h.Op(), Job{Kind: JobStoreOffset, Key: o.Key, Offset: o.Offset})
}

// showOffset makes an applied offset operation visible to polls.
func (p *Partition) showOffset(h *protocol.PrepareHeader, o OffsetOp) {
	switch {
	case h.Operation() == protocol.OpDeleteConsumerOffset:
		if p.cursors.remove(o.Key) {
			p.offsets.counts[o.Key.Kind]--
		}
	case isAutoCommit(h):
		p.noteKey(p.cursors.Raise(o.Key, o.Offset), o.Key)
	default:
		p.noteKey(p.cursors.store(o.Key, o.Offset), o.Key)
	}
}

func (p *Partition) noteKey(isNew bool, key ConsumerKey) {
	if isNew {
		p.offsets.counts[key.Kind]++
	}
}

// StoreLocal is a store or delete that is applied on this replica only (acknowledgement level NoAck). The
// host runs the job; ShowLocal follows when it succeeded.
func (p *Partition) StoreLocal(op protocol.Operation, o OffsetOp) Job {
	if op == protocol.OpDeleteConsumerOffset {
		return Job{Kind: JobDeleteOffset, Key: o.Key}
	}
	return Job{Kind: JobStoreOffset, Key: o.Key, Offset: o.Offset}
}

// ShowLocal makes a local store or delete visible after its job.
func (p *Partition) ShowLocal(op protocol.Operation, o OffsetOp) {
	var h protocol.PrepareHeader
	h.SetOperation(op)
	p.showOffset(&h, o)
}

// DurableOffset returns the value in the file of key.
func (p *Partition) DurableOffset(key ConsumerKey) (uint64, bool) {
	v, ok := p.offsets.durable[key]
	return v, ok
}

// OffsetKeys returns the keys with a live offset, in ascending order.
func (p *Partition) OffsetKeys() []ConsumerKey { return p.cursors.keys() }

// appendRejection appends a result section with one entry.
func appendRejection(dst []byte, code protocol.Code) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 1)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, uint32(code))
}
