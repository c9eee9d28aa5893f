package metadata

import (
	"unsafe"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Identifiers resolve by number or by exact name, never one for the other.

// Stream resolves an identifier; nil when there is no such stream.
func (v *View) Stream(id protocol.Identifier) *Stream {
	if id.IsNumeric() {
		return v.StreamByID(id.ID())
	}
	return v.StreamByName(borrowed(id.Name()))
}

// Topic resolves an identifier; nil when there is no such topic.
func (s *Stream) Topic(id protocol.Identifier) *Topic {
	if id.IsNumeric() {
		return s.TopicByID(id.ID())
	}
	return s.TopicByName(borrowed(id.Name()))
}

// Group resolves an identifier; nil when there is no such group.
func (t *Topic) Group(id protocol.Identifier) *ConsumerGroup {
	if id.IsNumeric() {
		return t.GroupByID(id.ID())
	}
	return t.GroupByName(borrowed(id.Name()))
}

// User resolves an identifier; nil when there is no such user.
func (v *View) User(id protocol.Identifier) *User {
	if id.IsNumeric() {
		return v.UserByID(id.ID())
	}
	return v.UserByName(borrowed(id.Name()))
}

// Topic resolves what a command addresses. The code is 1009 or 2010 for the level that is missing; the
// stream is given as far as it is known.
func (v *View) Topic(ref command.TopicRef) (*Stream, *Topic, protocol.Code) {
	s := v.Stream(ref.Stream)
	if s == nil {
		return nil, nil, protocol.CodeStreamIdNotFound
	}
	t := s.Topic(ref.Topic)
	if t == nil {
		return s, nil, protocol.CodeTopicIdNotFound
	}
	return s, t, protocol.Success
}

// borrowed looks at b as a string for the length of one look-up, which keeps nothing of it. Polls and sends
// address by name often, and must not allocate.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
