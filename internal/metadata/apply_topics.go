package metadata

import (
	"github.com/galgolog/galgo/internal/metadata/tree"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func (s *State) createTopic(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeCreateTopicReplicated(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	name := string(req.Name)
	st := s.view.Stream(req.Stream)
	switch {
	case st == nil:
		return reply, protocol.CodeStreamIdNotFound
	case !s.may(o, Target{Stream: st.ID}):
		return reply, protocol.CodeUnauthorized
	case st.TopicByName(name) != nil:
		return reply, protocol.CodeTopicNameAlreadyExists
	}
	id := tree.LowestFree(st.topics)
	options, code := settledOptions(req.Options, req.Derived, req.PartitionsCount)
	switch {
	case id >= protocol.MaxTopics:
		return reply, protocol.CodeTooManyTopics
	case req.PartitionsCount >= protocol.MaxPartitions:
		return reply, protocol.CodePartitionIdSpaceExhausted
	case !dense(req.Assignments, req.PartitionsCount):
		return reply, protocol.CodeInvalidPartitionsCount
	case code != protocol.Success:
		return reply, code
	}
	t := &Topic{ID: id, CreatedAt: o.now, Name: name, Options: options}
	t.partitions = t.partitions.grow(req.PartitionsCount, Partition{CreatedAt: o.now, CreatedRevision: o.number})
	next := *st
	next.topicNames = st.topicNames.Set(t.Name, id)
	s.setTopic(&next, t)
	s.view.topicsCount++
	s.view.partitionsCount += req.PartitionsCount
	s.changes.partitions(PartitionChange{PartitionsCreated, st.ID, id, 0, req.PartitionsCount, o.number})
	return appendTopicDetails(reply, st.ID, t, nil), protocol.Success
}

// settledOptions joins the two option blocks of a replicated creation.
func settledOptions(explicit, derived []byte, partitions uint32) (TopicOptions, protocol.Code) {
	d, code := parseOptions(derived, false)
	if code != protocol.Success {
		return TopicOptions{}, protocol.CodeInvalidOptionValue
	}
	e, code := parseOptions(explicit, false)
	if code != protocol.Success {
		return TopicOptions{}, protocol.CodeInvalidOptionValue
	}
	options := d.over(standardOptions())
	options.explicit = 0
	options = e.over(options)
	return options, options.checkBounds(partitions)
}

// dense reports whether the assignments name the partitions 0 to count-1 in order.
func dense(all []command.Assignment, count uint32) bool {
	for i, a := range all {
		if a.Partition != uint32(i) {
			return false
		}
	}
	return uint64(len(all)) == uint64(count)
}

func (s *State) updateTopic(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeUpdateTopic(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, code := s.reachTopic(o, req.TopicRef)
	if code != protocol.Success {
		return reply, code
	}
	change, code := parseOptions(req.Options, true)
	if code != protocol.Success {
		return reply, protocol.CodeInvalidOptionValue
	}
	name := string(req.Name)
	if other := st.TopicByName(name); other != nil && other.ID != t.ID {
		return reply, protocol.CodeTopicNameAlreadyExists
	}
	next := *t
	next.Name, next.Options = name, change.over(t.Options)
	if next.Options.MaxTopicSize() < t.Options.SegmentSize() {
		return reply, protocol.CodeInvalidOptionValue
	}
	parent := *st
	parent.topicNames = st.topicNames.Delete(t.Name).Set(next.Name, t.ID)
	s.setTopic(&parent, &next)
	if next.Options != t.Options {
		s.changes.partitions(PartitionChange{PartitionsReconfigured, st.ID, t.ID, 0, t.PartitionsCount(), o.number})
	}
	return reply, protocol.Success
}

func (s *State) deleteTopic(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeTopicRef(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, code := s.reachTopic(o, ref)
	if code != protocol.Success {
		return reply, code
	}
	s.abandonTopic(o, st.ID, t)
	next := *st
	next.topics = st.topics.Delete(t.ID)
	next.topicNames = st.topicNames.Delete(t.Name)
	s.setStream(&next)
	s.dropGrants(func(g *Grants) *Grants { return g.withoutTopic(st.ID, t.ID) })
	return reply, protocol.Success
}

// abandonTopic takes what depends on a topic out of the state, before the topic itself goes.
func (s *State) abandonTopic(o *operation, stream uint32, t *Topic) {
	for g := range t.Groups() {
		s.abandonGroup(GroupRef{stream, t.ID, g.ID}, g)
	}
	s.view.topicsCount--
	s.view.partitionsCount -= t.PartitionsCount()
	s.changes.partitions(PartitionChange{PartitionsDeleted, stream, t.ID, 0, t.PartitionsCount(), o.number})
}

func (s *State) purgeTopic(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeTopicRef(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, code := s.reachTopic(o, ref)
	if code != protocol.Success {
		return reply, code
	}
	s.purge(o, st, t)
	return reply, protocol.Success
}

func (s *State) purge(o *operation, st *Stream, t *Topic) *Stream {
	next := *t
	next.partitions = t.partitions.purged(o.number)
	s.changes.partitions(PartitionChange{PartitionsPurged, st.ID, t.ID, 0, t.PartitionsCount(), o.number})
	return s.setTopic(st, &next)
}

func (s *State) createPartitions(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeCreatePartitionsReplicated(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, code := s.reachTopic(o, req.TopicRef)
	first := uint32(0)
	if t != nil {
		first = t.PartitionsCount()
	}
	switch {
	case code != protocol.Success:
		return reply, code
	case !dense(req.Assignments, req.Count):
		return reply, protocol.CodeInvalidPartitionsCount
	case uint64(first)+uint64(req.Count) > protocol.MaxPartitions:
		return reply, protocol.CodePartitionIdSpaceExhausted
	}
	next := *t
	next.partitions = t.partitions.grow(req.Count, Partition{CreatedAt: o.now, CreatedRevision: o.number})
	s.view.partitionsCount += req.Count
	s.repartition(st, &next)
	s.changes.partitions(PartitionChange{PartitionsCreated, st.ID, t.ID, first, req.Count, o.number})
	return reply, protocol.Success
}

func (s *State) deletePartitions(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodePartitionsChange(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, code := s.reachTopic(o, req.TopicRef)
	switch {
	case code != protocol.Success:
		return reply, code
	case req.Count == 0 || req.Count > t.PartitionsCount():
		return reply, protocol.CodeInvalidPartitionsCount
	}
	next := *t
	next.partitions = t.partitions.shrink(req.Count)
	s.view.partitionsCount -= req.Count
	s.repartition(st, &next)
	first := next.PartitionsCount()
	s.changes.partitions(PartitionChange{PartitionsDeleted, st.ID, t.ID, first, req.Count, o.number})
	return reply, protocol.Success
}

func (s *State) truncatePartition(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeTruncatePartition(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, code := s.reachTopic(o, req.TopicRef)
	if code != protocol.Success {
		return reply, code
	}
	p, ok := t.Partition(req.Partition)
	if !ok {
		return reply, protocol.CodePartitionNotFound
	}
	if req.UpTo > p.TruncateUpTo {
		p.TruncateUpTo = req.UpTo
		next := *t
		next.partitions = t.partitions.with(req.Partition, p)
		s.setTopic(st, &next)
		s.changes.partitions(PartitionChange{PartitionsTruncated, st.ID, t.ID, req.Partition, 1, o.number})
	}
	return reply, protocol.Success
}
