package command

import "github.com/galgolog/galgo/internal/protocol"

// OffsetRef names a stored offset: the body of command 120 and the begin of 121 and 122. Without HasPartition
// Partition is 0, which reads of offsets take as the partition and writes refuse.
type OffsetRef struct {
	Consumer protocol.Consumer
	TopicRef
	Partition    uint32
	HasPartition bool
}

func readOffsetRef(r *protocol.Reader) OffsetRef {
	o := OffsetRef{Consumer: r.Consumer(), TopicRef: readTopicRef(r)}
	o.Partition, o.HasPartition = r.OptionalPartition()
	return o
}

// DecodeOffsetRef reads an OffsetRef.
func DecodeOffsetRef(body []byte) (OffsetRef, error) {
	r := protocol.NewReader(body)
	o := readOffsetRef(&r)
	return o, r.Err()
}

// Append encodes o.
func (o OffsetRef) Append(dst []byte) []byte {
	return protocol.AppendOptionalPartition(o.TopicRef.Append(o.Consumer.Append(dst)), o.Partition, o.HasPartition)
}

// StoreOffset is the body of operation 161.
type StoreOffset struct {
	OffsetRef
	Offset uint64
	Ack    protocol.AckLevel
}

// DecodeStoreOffset reads a StoreOffset.
func DecodeStoreOffset(body []byte) (StoreOffset, error) {
	r := protocol.NewReader(body)
	s := StoreOffset{readOffsetRef(&r), r.U64("offset"), r.AckLevel()}
	return s, r.Err()
}

// Append encodes s.
func (s StoreOffset) Append(dst []byte) []byte {
	return append(le.AppendUint64(s.OffsetRef.Append(dst), s.Offset), byte(s.Ack))
}

// DeleteOffset is the body of operation 162.
type DeleteOffset struct {
	OffsetRef
	Ack protocol.AckLevel
}

// DecodeDeleteOffset reads a DeleteOffset.
func DecodeDeleteOffset(body []byte) (DeleteOffset, error) {
	r := protocol.NewReader(body)
	d := DeleteOffset{readOffsetRef(&r), r.AckLevel()}
	return d, r.Err()
}

// Append encodes d.
func (d DeleteOffset) Append(dst []byte) []byte { return append(d.OffsetRef.Append(dst), byte(d.Ack)) }

// OffsetReply is the payload of command 120 when something is stored.
type OffsetReply struct {
	Partition             uint32
	CurrentOffset, Stored uint64
}

// Append encodes o.
func (o OffsetReply) Append(dst []byte) []byte {
	return le.AppendUint64(le.AppendUint64(le.AppendUint32(dst, o.Partition), o.CurrentOffset), o.Stored)
}

// DecodeOffsetReply reads an OffsetReply; an empty payload means that nothing is stored.
func DecodeOffsetReply(payload []byte) (OffsetReply, bool, error) {
	if len(payload) == 0 {
		return OffsetReply{}, false, nil
	}
	r := protocol.NewReader(payload)
	o := OffsetReply{r.U32("partition"), r.U64("current offset"), r.U64("stored offset")}
	return o, true, r.Err()
}
