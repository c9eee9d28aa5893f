package session

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
)

// target is a partition that a poll or an offset read addresses.
type target struct {
	group      protocol.GroupID
	revision   uint64
	generation uint64
	key        partition.ConsumerKey
}

// pollMessages serves a poll on the goroutine of the connection.
func (s *session) pollMessages(x *transport.Exchange, b *binding, view *metadata.View) {
	req, err := command.DecodePollMessages(x.Body.Bytes)
	if err != nil {
		s.deny(x, protocol.CodeInvalidCommand)
		return
	}
	t, resync, code := pollTarget(&req, b, view)
	if code != protocol.Success {
		s.deny(x, code)
		return
	}
	if resync {
		s.answerPoll(x, command.ResyncPartition)
		return
	}
	q := node.PollRequest{
		Group: t.group, Revision: t.revision, PurgeGeneration: t.generation, UserID: b.user,
		Query:      partition.Query{Strategy: partition.Strategy(req.Strategy), Value: req.Value, Count: req.Count, Key: t.key},
		MaxBytes:   s.server.o.MaxFrameBytes - protocol.HeaderSize - command.PollReplySize,
		AutoCommit: req.AutoCommit, ForGroup: t.key.Kind == partition.KindGroup,
	}
	if code := s.server.o.Node.Poll(&q, &s.poll); code != protocol.Success {
		s.poll.Release()
		s.deny(x, code)
		return
	}
	_, _, id := t.group.Partition()
	s.answerPoll(x, id)
}

// answerPoll sends the result of a poll; its memory goes with the answer.
func (s *session) answerPoll(x *transport.Exchange, id uint32) {
	r := &s.poll
	if id == command.ResyncPartition {
		r.Reset()
		r.Current = 0
	}
	x.Reply().SetEcho(&x.Header, x.Header.Client(), x.Header.Session(), s.server.o.Node.MetadataCommit(), protocol.Success)
	var head [command.PollReplySize]byte
	command.PollReply{Partition: id, CurrentOffset: r.Current, Count: r.Count}.Put(head[:])
	x.SetBody(head[:])
	for _, c := range r.Chunks {
		x.AppendPiece(c.Bytes, c.Lease)
	}
	r.Reset()
	x.Done()
}

// pollTarget resolves a poll in the order of its codes. resync says that a group member has to sync first.
func pollTarget(req *command.PollMessages, b *binding, view *metadata.View) (t target, resync bool, code protocol.Code) {
	st, topic, code := view.Topic(req.TopicRef)
	if code != protocol.Success {
		return t, false, code
	}
	isGroup := req.Consumer.Kind == protocol.ConsumerGroup
	part, exists := topic.Partition(req.Partition)
	if isGroup && !req.HasPartition || !isGroup && !exists {
		return t, false, protocol.CodePartitionNotFound
	}
	if !view.Allowed(b.user, protocol.CmdMessagePoll, metadata.Target{Stream: st.ID, Topic: topic.ID}) {
		return t, false, protocol.CodeUnauthorized
	}
	key, g, known := consumerKey(req.Consumer, topic)
	if isGroup && (!known || !exists || g.Owns(b.client, req.Partition) != metadata.Owner) {
		return t, true, protocol.Success
	}
	t.key = key
	t.group, _ = protocol.PartitionGroup(st.ID, topic.ID, req.Partition)
	t.revision, t.generation = part.CreatedRevision, part.PurgeGeneration
	return t, false, protocol.Success
}

// getOffset serves the stored offset of a consumer or group.
func (s *session) getOffset(x *transport.Exchange, b *binding, view *metadata.View) {
	ref, err := command.DecodeOffsetRef(x.Body.Bytes)
	if err != nil {
		s.deny(x, protocol.CodeInvalidCommand)
		return
	}
	st, topic, code := view.Topic(ref.TopicRef)
	if code != protocol.Success {
		s.answer(x, nil)
		return
	}
	if !view.Allowed(b.user, protocol.CmdConsumerOffsetGet, metadata.Target{Stream: st.ID, Topic: topic.ID}) {
		s.deny(x, protocol.CodeUnauthorized)
		return
	}
	key, _, known := consumerKey(ref.Consumer, topic)
	if !known {
		s.answer(x, nil)
		return
	}
	part, ok := topic.Partition(ref.Partition)
	if !ok {
		s.deny(x, protocol.CodePartitionNotFound)
		return
	}
	id, _ := protocol.PartitionGroup(st.ID, topic.ID, ref.Partition)
	current, stored, found, code := s.server.o.Node.ConsumerOffset(id, part.CreatedRevision, part.PurgeGeneration, key)
	switch {
	case code != protocol.Success:
		s.deny(x, code)
	case !found:
		s.answer(x, nil)
	default:
		s.out = command.OffsetReply{Partition: ref.Partition, CurrentOffset: current, Stored: stored}.Append(s.out[:0])
		s.answer(x, s.out)
	}
}

// flush syncs a partition.
func (s *session) flush(x *transport.Exchange, b *binding, view *metadata.View) {
	req, err := command.DecodeFlush(x.Body.Bytes)
	if err != nil {
		s.deny(x, protocol.CodeInvalidCommand)
		return
	}
	st, topic, code := view.Topic(req.TopicRef)
	if code != protocol.Success {
		s.deny(x, code)
		return
	}
	part, ok := topic.Partition(req.Partition)
	if !ok {
		s.deny(x, protocol.CodePartitionNotFound)
		return
	}
	if !view.Allowed(b.user, protocol.CmdMessageSend, metadata.Target{Stream: st.ID, Topic: topic.ID}) {
		s.deny(x, protocol.CodeUnauthorized)
		return
	}
	id, _ := protocol.PartitionGroup(st.ID, topic.ID, req.Partition)
	if code := s.server.o.Node.FlushPartition(id, part.CreatedRevision, req.Fsync); code != protocol.Success {
		s.deny(x, code)
		return
	}
	s.answer(x, nil)
}
