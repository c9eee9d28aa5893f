package command

import "github.com/galgolog/galgo/internal/protocol"

// CreateTopic is the body of command 302.
type CreateTopic struct {
	Stream          protocol.Identifier
	PartitionsCount uint32
	Name, Options   []byte
}

// DecodeCreateTopic reads a CreateTopic.
func DecodeCreateTopic(body []byte) (CreateTopic, error) {
	r := protocol.NewReader(body)
	c := CreateTopic{Stream: r.Identifier("stream"), PartitionsCount: r.U32("partitions"), Name: r.Name("name")}
	c.Options = readOptions(&r)
	return c, r.Err()
}

// Append encodes c.
func (c CreateTopic) Append(dst []byte) []byte {
	dst = le.AppendUint32(c.Stream.Append(dst), c.PartitionsCount)
	return append(protocol.AppendName(dst, c.Name), c.Options...)
}

// UpdateTopic is the body of command 304.
type UpdateTopic struct {
	TopicRef
	Name, Options []byte
}

// DecodeUpdateTopic reads an UpdateTopic.
func DecodeUpdateTopic(body []byte) (UpdateTopic, error) {
	r := protocol.NewReader(body)
	u := UpdateTopic{TopicRef: readTopicRef(&r), Name: r.Name("name")}
	u.Options = readOptions(&r)
	return u, r.Err()
}

// Append encodes u.
func (u UpdateTopic) Append(dst []byte) []byte {
	return append(protocol.AppendName(u.TopicRef.Append(dst), u.Name), u.Options...)
}

// TopicHeader describes a topic in replies.
type TopicHeader struct {
	ID                uint32
	CreatedAt         uint64
	PartitionsCount   uint32
	MessageExpiry     uint64 // microseconds, or a sentinel
	Compression       uint8
	MaxTopicSize      uint64 // bytes, or a sentinel
	SizeBytes         uint64
	MessagesCount     uint64
	Name              []byte
	Explicit, Derived []byte // option blocks
}

// Append encodes t.
func (t TopicHeader) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, t.ID)
	dst = le.AppendUint64(dst, t.CreatedAt)
	dst = le.AppendUint32(dst, t.PartitionsCount)
	dst = le.AppendUint64(dst, t.MessageExpiry)
	dst = append(dst, t.Compression)
	dst = le.AppendUint64(dst, t.MaxTopicSize)
	dst = le.AppendUint64(dst, t.SizeBytes)
	dst = le.AppendUint64(dst, t.MessagesCount)
	dst = protocol.AppendName(dst, t.Name)
	return protocol.AppendText32(protocol.AppendText32(dst, t.Explicit), t.Derived)
}

func readTopicHeader(r *protocol.Reader) TopicHeader {
	return TopicHeader{
		ID: r.U32("id"), CreatedAt: r.U64("created at"), PartitionsCount: r.U32("partitions"),
		MessageExpiry: r.U64("expiry"), Compression: r.U8("compression"), MaxTopicSize: r.U64("max size"),
		SizeBytes: r.U64("size"), MessagesCount: r.U64("messages"), Name: r.Name("name"),
		Explicit: r.Text32Raw("explicit options"), Derived: r.Text32Raw("derived options"),
	}
}

// PartitionRecord describes a partition in replies.
type PartitionRecord struct {
	ID            uint32
	CreatedAt     uint64
	SegmentsCount uint32
	CurrentOffset uint64
	SizeBytes     uint64
	MessagesCount uint64
}

// Append encodes p.
func (p PartitionRecord) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, p.ID)
	dst = le.AppendUint64(dst, p.CreatedAt)
	dst = le.AppendUint32(dst, p.SegmentsCount)
	dst = le.AppendUint64(dst, p.CurrentOffset)
	dst = le.AppendUint64(dst, p.SizeBytes)
	return le.AppendUint64(dst, p.MessagesCount)
}

// TopicDetails is a topic with its partitions.
type TopicDetails struct {
	TopicHeader
	Partitions []PartitionRecord
}

// Append encodes d, whose PartitionsCount is the number of Partitions.
func (d TopicDetails) Append(dst []byte) []byte {
	dst = d.TopicHeader.Append(dst)
	for _, p := range d.Partitions {
		dst = p.Append(dst)
	}
	return dst
}

// DecodeTopicDetails reads the reply to get and create topic.
func DecodeTopicDetails(payload []byte) (TopicDetails, error) {
	r := protocol.NewReader(payload)
	d := TopicDetails{TopicHeader: readTopicHeader(&r)}
	for range d.PartitionsCount {
		if r.Err() != nil {
			break
		}
		d.Partitions = append(d.Partitions, PartitionRecord{
			r.U32("id"), r.U64("created at"), r.U32("segments"), r.U64("current offset"), r.U64("size"), r.U64("messages"),
		})
	}
	return d, r.Err()
}

// DecodeTopics reads the reply to get topics, the one list with a count in front.
func DecodeTopics(payload []byte) ([]TopicHeader, error) {
	r := protocol.NewReader(payload)
	n := r.U32("count")
	var all []TopicHeader
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		all = append(all, readTopicHeader(&r))
	}
	return all, r.Err()
}

// PartitionsChange is the body of commands 402 and 403: create or delete Count partitions.
type PartitionsChange struct {
	TopicRef
	Count uint32
}

// DecodePartitionsChange reads a PartitionsChange.
func DecodePartitionsChange(body []byte) (PartitionsChange, error) {
	r := protocol.NewReader(body)
	c := PartitionsChange{readTopicRef(&r), r.U32("count")}
	return c, r.Err()
}

// Append encodes c.
func (c PartitionsChange) Append(dst []byte) []byte {
	return le.AppendUint32(c.TopicRef.Append(dst), c.Count)
}

// DeleteSegments is the body of command 503.
type DeleteSegments struct {
	TopicRef
	Partition, Count uint32
}

// DecodeDeleteSegments reads a DeleteSegments.
func DecodeDeleteSegments(body []byte) (DeleteSegments, error) {
	r := protocol.NewReader(body)
	d := DeleteSegments{readTopicRef(&r), r.U32("partition"), r.U32("count")}
	return d, r.Err()
}

// Append encodes d.
func (d DeleteSegments) Append(dst []byte) []byte {
	return le.AppendUint32(le.AppendUint32(d.TopicRef.Append(dst), d.Partition), d.Count)
}

// TruncatePartition is the replicated form of DeleteSegments (operation 68): sealed segments that end at or
// below UpTo go. UpTo 0 removes nothing.
type TruncatePartition struct {
	TopicRef
	Partition uint32
	UpTo      uint64
}

// DecodeTruncatePartition reads a TruncatePartition.
func DecodeTruncatePartition(body []byte) (TruncatePartition, error) {
	r := protocol.NewReader(body)
	t := TruncatePartition{readTopicRef(&r), r.U32("partition"), r.U64("offset")}
	r.End()
	return t, r.Err()
}

// Append encodes t.
func (t TruncatePartition) Append(dst []byte) []byte {
	return le.AppendUint64(le.AppendUint32(t.TopicRef.Append(dst), t.Partition), t.UpTo)
}

// AppendTopics encodes the reply to get topics: a count and the topics; an unknown stream has none.
func AppendTopics(dst []byte, all ...TopicHeader) []byte {
	dst = le.AppendUint32(dst, uint32(len(all)))
	for _, t := range all {
		dst = t.Append(dst)
	}
	return dst
}
