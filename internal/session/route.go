package session

import (
	"bytes"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// route is where the last send of a connection was allowed to go. A producer repeats the same target batch after
// batch, and what that leads to changes only with the user and the metadata. The zero value matches nothing.
// It keeps a copy of the target, at most command.SendMetadataMax bytes, and the topic as the view had it.
type route struct {
	user     *binding
	revision uint64 // of the view
	target   []byte

	stream   uint32
	topic    *metadata.Topic
	balanced bool
	fixed    place // unless balanced
}

// place is a partition as a shard knows it.
type place struct {
	group    protocol.GroupID
	revision uint64
}

// leads reports whether a send to target by the same user, with the same view, goes the same way.
func (r *route) leads(target []byte, b *binding, view *metadata.View) bool {
	return b != nil && r.user == b && r.revision == view.Revision && bytes.Equal(r.target, target)
}

// find resolves the target of a send and asks for permission. What is refused is not kept.
func (r *route) find(body []byte, b *binding, view *metadata.View) protocol.Code {
	r.user, r.topic = nil, nil
	head, err := command.DecodeSendMessages(body)
	if err != nil {
		return protocol.CodeInvalidCommand
	}
	st, t, code := view.Topic(head.TopicRef)
	if code != protocol.Success {
		return code
	}
	count := t.PartitionsCount()
	if count == 0 || head.Partitioning.Kind == protocol.PartitionByID && head.Partitioning.ID >= count {
		return protocol.CodePartitionNotFound
	}
	if !view.Allowed(b.user, protocol.CmdMessageSend, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return protocol.CodeUnauthorized
	}
	r.stream, r.topic, r.balanced = st.ID, t, false
	switch head.Partitioning.Kind {
	case protocol.PartitionByID:
		r.fixed, code = r.place(head.Partitioning.ID)
	case protocol.PartitionByKey:
		r.fixed, code = r.place(protocol.Hash32(head.Partitioning.Key) % count)
	default:
		r.balanced = true
	}
	if code == protocol.Success {
		section, _ := command.CutSendSection(body) // it was decoded
		r.user, r.revision, r.target = b, view.Revision, append(r.target[:0], section.Target...)
	}
	return code
}

func (r *route) place(partition uint32) (place, protocol.Code) {
	group, err := protocol.PartitionGroup(r.stream, r.topic.ID, partition)
	if err != nil {
		return place{}, protocol.CodePartitionNotFound
	}
	part, _ := r.topic.Partition(partition)
	return place{group, part.CreatedRevision}, protocol.Success
}

// next is where the next batch on this route goes. A balanced one moves the round of its topic.
func (r *route) next(rounds *roundRobin) (place, protocol.Code) {
	if !r.balanced {
		return r.fixed, protocol.Success
	}
	first, _ := r.topic.Partition(0)
	return r.place(rounds.take(r.stream, r.topic.ID, first.CreatedRevision, r.topic.PartitionsCount()))
}
