package metadata

import (
	"github.com/galgolog/galgo/internal/metadata/tree"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func (s *State) createStream(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeCreateStream(body)
	name := string(req.Name)
	switch {
	case err != nil:
		return reply, protocol.CodeInvalidCommand
	case !s.may(o, Target{}):
		return reply, protocol.CodeUnauthorized
	case len(req.Options) > 0:
		return reply, protocol.CodeInvalidOptionValue
	case s.view.StreamByName(name) != nil:
		return reply, protocol.CodeStreamNameAlreadyExists
	}
	id := tree.LowestFree(s.view.streams)
	if id >= protocol.MaxStreams {
		return reply, protocol.CodeTooManyStreams
	}
	st := &Stream{ID: id, CreatedAt: o.now, Name: name}
	s.setStream(st)
	s.view.streamNames = s.view.streamNames.Set(name, id)
	return appendStreamHeader(reply, st, Stats{}), protocol.Success
}

func (s *State) updateStream(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeUpdateStream(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, code := s.reachStream(o, req.Stream)
	switch {
	case code != protocol.Success:
		return reply, code
	case len(req.Options) > 0:
		return reply, protocol.CodeInvalidOptionValue
	}
	name := string(req.Name)
	if other := s.view.StreamByName(name); other != nil && other.ID != st.ID {
		return reply, protocol.CodeStreamNameAlreadyExists
	}
	next := *st
	next.Name = name
	s.setStream(&next)
	s.view.streamNames = s.view.streamNames.Delete(st.Name).Set(name, st.ID)
	return reply, protocol.Success
}

func (s *State) deleteStream(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	id, err := command.DecodeIdentifier(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, code := s.reachStream(o, id)
	if code != protocol.Success {
		return reply, code
	}
	for t := range st.Topics() {
		s.abandonTopic(o, st.ID, t)
	}
	s.view.streams = s.view.streams.Delete(st.ID)
	s.view.streamNames = s.view.streamNames.Delete(st.Name)
	s.dropGrants(func(g *Grants) *Grants { return g.withoutStream(st.ID) })
	return reply, protocol.Success
}

func (s *State) purgeStream(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	id, err := command.DecodeIdentifier(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, code := s.reachStream(o, id)
	if code != protocol.Success {
		return reply, code
	}
	for t := range st.Topics() {
		st = s.purge(o, st, t)
	}
	return reply, protocol.Success
}

// reachStream resolves a stream that the operation addresses and asks for permission: 1009, 41.
func (s *State) reachStream(o *operation, id protocol.Identifier) (*Stream, protocol.Code) {
	st := s.view.Stream(id)
	switch {
	case st == nil:
		return nil, protocol.CodeStreamIdNotFound
	case !s.may(o, Target{Stream: st.ID}):
		return nil, protocol.CodeUnauthorized
	}
	return st, protocol.Success
}

// reachTopic resolves a topic that the operation addresses and asks for permission: 1009, 2010, 41.
func (s *State) reachTopic(o *operation, ref command.TopicRef) (*Stream, *Topic, protocol.Code) {
	st, t, code := s.view.Topic(ref)
	switch {
	case code != protocol.Success:
		return nil, nil, code
	case !s.may(o, Target{Stream: st.ID, Topic: t.ID}):
		return nil, nil, protocol.CodeUnauthorized
	}
	return st, t, protocol.Success
}
