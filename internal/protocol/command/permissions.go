package command

import "github.com/galgolog/galgo/internal/protocol"

// GlobalPermissions are the rights that hold everywhere.
type GlobalPermissions struct {
	ManageServers, ReadServers, ManageUsers, ReadUsers, ManageStreams, ReadStreams bool
	ManageTopics, ReadTopics, PollMessages, SendMessages                           bool
}

// StreamPermissions are the rights within one stream.
type StreamPermissions struct {
	Stream                                                                         uint32
	ManageStream, ReadStream, ManageTopics, ReadTopics, PollMessages, SendMessages bool
	Topics                                                                         []TopicPermissions
}

// TopicPermissions are the rights within one topic.
type TopicPermissions struct {
	Topic                                              uint32
	ManageTopic, ReadTopic, PollMessages, SendMessages bool
}

// Permissions is the record of a user's rights. A stream or topic named twice keeps its last record.
type Permissions struct {
	Global  GlobalPermissions
	Streams []StreamPermissions
}

func readFlags(r *protocol.Reader, flags ...*bool) {
	for _, f := range flags {
		*f = r.U8("permission flag") != 0
	}
}

func appendFlags(dst []byte, flags ...bool) []byte {
	for _, f := range flags {
		dst = appendBool(dst, f)
	}
	return dst
}

// DecodePermissions reads a record that fills record exactly. A right is any byte but 0; lists and their next
// entries are announced by 1 alone, and whatever stands behind another value is surplus and refused.
func DecodePermissions(record []byte) (Permissions, error) {
	r := protocol.NewReader(record)
	var p Permissions
	g := &p.Global
	readFlags(&r, &g.ManageServers, &g.ReadServers, &g.ManageUsers, &g.ReadUsers, &g.ManageStreams, &g.ReadStreams,
		&g.ManageTopics, &g.ReadTopics, &g.PollMessages, &g.SendMessages)
	for more := r.U8("streams flag") == 1; more && r.Err() == nil; more = r.U8("stream follows") == 1 {
		s := StreamPermissions{Stream: r.U32("stream")}
		readFlags(&r, &s.ManageStream, &s.ReadStream, &s.ManageTopics, &s.ReadTopics, &s.PollMessages, &s.SendMessages)
		for next := r.U8("topics flag") == 1; next && r.Err() == nil; next = r.U8("topic follows") == 1 {
			t := TopicPermissions{Topic: r.U32("topic")}
			readFlags(&r, &t.ManageTopic, &t.ReadTopic, &t.PollMessages, &t.SendMessages)
			s.Topics = append(s.Topics, t)
		}
		p.Streams = append(p.Streams, s)
	}
	r.End()
	return p, r.Err()
}

// Append encodes p.
func (p Permissions) Append(dst []byte) []byte {
	g := &p.Global
	dst = appendFlags(dst, g.ManageServers, g.ReadServers, g.ManageUsers, g.ReadUsers, g.ManageStreams, g.ReadStreams,
		g.ManageTopics, g.ReadTopics, g.PollMessages, g.SendMessages)
	dst = appendBool(dst, len(p.Streams) > 0)
	for i := range p.Streams {
		s := &p.Streams[i]
		dst = le.AppendUint32(dst, s.Stream)
		dst = appendFlags(dst, s.ManageStream, s.ReadStream, s.ManageTopics, s.ReadTopics, s.PollMessages, s.SendMessages)
		dst = appendBool(dst, len(s.Topics) > 0)
		for j := range s.Topics {
			t := &s.Topics[j]
			dst = le.AppendUint32(dst, t.Topic)
			dst = appendFlags(dst, t.ManageTopic, t.ReadTopic, t.PollMessages, t.SendMessages)
			dst = appendBool(dst, j < len(s.Topics)-1)
		}
		dst = appendBool(dst, i < len(p.Streams)-1)
	}
	return dst
}

// readOptionalPermissions reads a flag and, when it is 1, a length and a record of exactly that size.
func readOptionalPermissions(r *protocol.Reader) *Permissions {
	if r.U8("permissions flag") != 1 {
		return nil
	}
	p, err := DecodePermissions(r.Text32Raw("permissions"))
	if err != nil {
		r.Fail("permissions")
		return nil
	}
	return &p
}

func appendOptionalPermissions(dst []byte, p *Permissions) []byte {
	if p == nil {
		return append(dst, 0)
	}
	return protocol.AppendText32(append(dst, 1), p.Append(nil))
}
