package command

import "github.com/galgolog/galgo/internal/protocol"

// CreateStream is the body of command 202. Options is a valid block, which streams do not have keys for.
type CreateStream struct{ Name, Options []byte }

// DecodeCreateStream reads a CreateStream.
func DecodeCreateStream(body []byte) (CreateStream, error) {
	r := protocol.NewReader(body)
	c := CreateStream{Name: r.Name("name")}
	c.Options = readOptions(&r)
	return c, r.Err()
}

// Append encodes c.
func (c CreateStream) Append(dst []byte) []byte {
	return append(protocol.AppendName(dst, c.Name), c.Options...)
}

// UpdateStream is the body of command 204.
type UpdateStream struct {
	Stream        protocol.Identifier
	Name, Options []byte
}

// DecodeUpdateStream reads an UpdateStream.
func DecodeUpdateStream(body []byte) (UpdateStream, error) {
	r := protocol.NewReader(body)
	u := UpdateStream{Stream: r.Identifier("stream"), Name: r.Name("name")}
	u.Options = readOptions(&r)
	return u, r.Err()
}

// Append encodes u.
func (u UpdateStream) Append(dst []byte) []byte {
	return append(protocol.AppendName(u.Stream.Append(dst), u.Name), u.Options...)
}

// StreamHeader describes a stream in replies.
type StreamHeader struct {
	ID            uint32
	CreatedAt     uint64
	TopicsCount   uint32
	SizeBytes     uint64
	MessagesCount uint64
	Name, Options []byte
}

// Append encodes s.
func (s StreamHeader) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, s.ID)
	dst = le.AppendUint64(dst, s.CreatedAt)
	dst = le.AppendUint32(dst, s.TopicsCount)
	dst = le.AppendUint64(dst, s.SizeBytes)
	dst = le.AppendUint64(dst, s.MessagesCount)
	return protocol.AppendText32(protocol.AppendName(dst, s.Name), s.Options)
}

func readStreamHeader(r *protocol.Reader) StreamHeader {
	return StreamHeader{
		ID: r.U32("id"), CreatedAt: r.U64("created at"), TopicsCount: r.U32("topics"), SizeBytes: r.U64("size"),
		MessagesCount: r.U64("messages"), Name: r.Name("name"), Options: r.Text32Raw("options"),
	}
}

// StreamDetails is a stream with its topics.
type StreamDetails struct {
	StreamHeader
	Topics []TopicHeader
}

// DecodeStreamDetails reads the reply to get and create stream.
func DecodeStreamDetails(payload []byte) (StreamDetails, error) {
	r := protocol.NewReader(payload)
	d := StreamDetails{StreamHeader: readStreamHeader(&r)}
	for range d.TopicsCount {
		if r.Err() != nil {
			break
		}
		d.Topics = append(d.Topics, readTopicHeader(&r))
	}
	return d, r.Err()
}

// Append encodes d, whose TopicsCount is the number of Topics.
func (d StreamDetails) Append(dst []byte) []byte {
	dst = d.StreamHeader.Append(dst)
	for _, t := range d.Topics {
		dst = t.Append(dst)
	}
	return dst
}

// DecodeStreams reads the reply to get streams.
func DecodeStreams(payload []byte) ([]StreamHeader, error) {
	r := protocol.NewReader(payload)
	var all []StreamHeader
	for r.Len() > 0 && r.Err() == nil {
		all = append(all, readStreamHeader(&r))
	}
	return all, r.Err()
}
