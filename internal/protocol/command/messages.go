package command

import "github.com/galgolog/galgo/internal/protocol"

// SendMessages is what stands in front of the batch in the body of operation 160. Decoding does not
// allocate.
type SendMessages struct {
	TopicRef
	Partitioning  protocol.Partitioning
	MessagesCount uint32
	// BatchAt is where the batch begins in the body; it ends with the body.
	BatchAt int
}

// DecodeSendMessages reads a SendMessages. Only the begin of the body, up to the batch, has to be there.
func DecodeSendMessages(body []byte) (SendMessages, error) {
	r := protocol.NewReader(body)
	n := r.U32("metadata length")
	if uint64(n) > uint64(r.Len()) {
		r.Fail("metadata length")
		return SendMessages{}, r.Err()
	}
	m := protocol.NewReader(r.Bytes(int(n), "metadata"))
	s := SendMessages{TopicRef: readTopicRef(&m), Partitioning: m.Partitioning(), MessagesCount: m.U32("messages")}
	m.End()
	s.BatchAt = r.At()
	return s, m.Err()
}

// SendSection is the metadata section of a SendMessages whose target was not looked into: two sends with equal
// targets have equal topics and partitionings, and both are valid or neither is.
type SendSection struct {
	Target        []byte // aliases the body
	MessagesCount uint32
	BatchAt       int // as in SendMessages
}

// CutSendSection splits the body of a SendMessages. It fails where DecodeSendMessages fails for the length of
// the section alone.
func CutSendSection(body []byte) (SendSection, bool) {
	const count = 4
	if len(body) < 4 {
		return SendSection{}, false
	}
	n := uint64(le.Uint32(body))
	if n < count || n > uint64(len(body)-4) {
		return SendSection{}, false
	}
	end := 4 + int(n)
	return SendSection{body[4 : end-count], le.Uint32(body[end-count:]), end}, true
}

// SendMetadataMax is the longest metadata section that can be valid.
const SendMetadataMax = 3*(2+protocol.NameMaxBytes) + 4

// Append encodes the metadata section; the batch follows it.
func (s SendMessages) Append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = le.AppendUint32(s.Partitioning.Append(s.TopicRef.Append(dst)), s.MessagesCount)
	le.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// Confirmation tells where a batch was stored.
type Confirmation struct {
	Stream, Topic, Partition uint32
	BaseOffset               uint64
}

// DecodeConfirmations reads the reply to SendMessages.
func DecodeConfirmations(payload []byte) ([]Confirmation, error) {
	r := protocol.NewReader(payload)
	n := r.U32("count")
	var all []Confirmation
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		all = append(all, Confirmation{r.U32("stream"), r.U32("topic"), r.U32("partition"), r.U64("base offset")})
	}
	r.End()
	return all, r.Err()
}

// AppendConfirmations encodes the reply to SendMessages.
func AppendConfirmations(dst []byte, all ...Confirmation) []byte {
	dst = le.AppendUint32(dst, uint32(len(all)))
	for _, c := range all {
		dst = le.AppendUint32(le.AppendUint32(le.AppendUint32(dst, c.Stream), c.Topic), c.Partition)
		dst = le.AppendUint64(dst, c.BaseOffset)
	}
	return dst
}

// StrategyKind tells where a poll begins.
type StrategyKind uint8

// Strategies.
const (
	FromOffset    StrategyKind = 1
	FromTimestamp StrategyKind = 2
	FromFirst     StrategyKind = 3
	FromLast      StrategyKind = 4
	FromNext      StrategyKind = 5
)

// PollMessages is the body of command 100. Decoding does not allocate.
type PollMessages struct {
	Consumer protocol.Consumer
	TopicRef
	Partition    uint32
	HasPartition bool
	Strategy     StrategyKind
	Value        uint64 // offset or microseconds
	Count        uint32
	AutoCommit   bool
}

// DecodePollMessages reads a PollMessages.
func DecodePollMessages(body []byte) (PollMessages, error) {
	r := protocol.NewReader(body)
	p := PollMessages{Consumer: r.Consumer(), TopicRef: readTopicRef(&r)}
	p.Partition, p.HasPartition = r.OptionalPartition()
	p.Strategy, p.Value = StrategyKind(r.U8("strategy")), r.U64("strategy value")
	if p.Strategy < FromOffset || p.Strategy > FromNext {
		r.Fail("strategy")
	}
	p.Count = r.U32("count")
	p.AutoCommit = r.U8("auto commit") != 0
	return p, r.Err()
}

// Append encodes p.
func (p PollMessages) Append(dst []byte) []byte {
	dst = p.TopicRef.Append(p.Consumer.Append(dst))
	dst = protocol.AppendOptionalPartition(dst, p.Partition, p.HasPartition)
	dst = le.AppendUint64(append(dst, byte(p.Strategy)), p.Value)
	return appendBool(le.AppendUint32(dst, p.Count), p.AutoCommit)
}

// PollReplySize is the length of a PollReply, which records follow.
const PollReplySize = 16

// ResyncPartition is the partition id of the empty poll that sends a group member to sync.
const ResyncPartition = ^uint32(0)

// PollReply heads the reply to a poll.
type PollReply struct {
	Partition     uint32
	CurrentOffset uint64
	Count         uint32
}

// Put encodes p into dst, which has PollReplySize bytes.
func (p PollReply) Put(dst []byte) {
	le.PutUint32(dst, p.Partition)
	le.PutUint64(dst[4:], p.CurrentOffset)
	le.PutUint32(dst[12:], p.Count)
}

// DecodePollReply splits the reply to a poll into its head and the records.
func DecodePollReply(payload []byte) (PollReply, []byte, error) {
	r := protocol.NewReader(payload)
	p := PollReply{r.U32("partition"), r.U64("current offset"), r.U32("count")}
	return p, r.Rest(), r.Err()
}

// Flush is the body of command 102.
type Flush struct {
	TopicRef
	Partition uint32
	Fsync     bool
}

// DecodeFlush reads a Flush.
func DecodeFlush(body []byte) (Flush, error) {
	r := protocol.NewReader(body)
	f := Flush{readTopicRef(&r), r.U32("partition"), r.U8("fsync") != 0}
	return f, r.Err()
}

// Append encodes f.
func (f Flush) Append(dst []byte) []byte {
	return appendBool(le.AppendUint32(f.TopicRef.Append(dst), f.Partition), f.Fsync)
}
