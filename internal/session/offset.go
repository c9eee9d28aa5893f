package session

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// prepareOffset resolves a store or delete of a consumer offset, in the order of its codes: addressing,
// membership and ownership, permission.
func (s *session) prepareOffset(p *pending, b *binding, view *metadata.View) protocol.Code {
	x := p.x
	ref, offset, ack, err := decodeOffset(x)
	if err != nil {
		return protocol.CodeInvalidCommand
	}
	st, t, code := view.Topic(ref.TopicRef)
	if code != protocol.Success {
		return code
	}
	part, ok := t.Partition(ref.Partition)
	if !ok || !ref.HasPartition {
		return protocol.CodePartitionNotFound
	}
	key, g, known := consumerKey(ref.Consumer, t)
	if !known {
		return protocol.CodeConsumerGroupIdNotFound
	}
	if g != nil {
		switch g.Owns(b.client, ref.Partition) {
		case metadata.NotMember:
			return protocol.CodeConsumerGroupMemberNotFound
		case metadata.NotOwner:
			return protocol.CodeConsumerGroupPartitionNotOwned
		}
	}
	if !view.Allowed(b.user, protocol.CmdConsumerOffsetStore, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return protocol.CodeUnauthorized
	}
	group, err := protocol.PartitionGroup(st.ID, t.ID, ref.Partition)
	if err != nil {
		return protocol.CodePartitionNotFound
	}
	body := make([]byte, partition.OffsetOpSize) // the log may keep it longer than the request lives
	partition.OffsetOp{Key: key, Offset: offset}.Put(body)
	p.work.Group, p.work.Revision, p.work.Local = group, part.CreatedRevision, ack == protocol.AckNone
	p.work.Request = vsr.Request{
		Client: b.client, Session: b.session, Request: numbered(&x.Header), RequestChecksum: x.Header.RequestChecksum(),
		Operation: x.Header.Operation(), UserID: b.user, Body: vsr.Body{Bytes: body}, Waiter: p,
	}
	return protocol.Success
}

// consumerKey tells under which key a partition keeps the offset of a consumer, and the group when it is one.
// known is false for a group that the topic does not have.
func consumerKey(c protocol.Consumer, t *metadata.Topic) (key partition.ConsumerKey, g *metadata.ConsumerGroup, known bool) {
	if c.Kind != protocol.ConsumerGroup {
		return partition.ConsumerKey{Kind: partition.KindConsumer, ID: c.Key()}, nil, true
	}
	if g = t.Group(c.ID); g == nil {
		return key, nil, false
	}
	return partition.ConsumerKey{Kind: partition.KindGroup, ID: g.ID}, g, true
}

func decodeOffset(x *transport.Exchange) (command.OffsetRef, uint64, protocol.AckLevel, error) {
	if x.Header.Operation() == protocol.OpStoreConsumerOffset {
		o, err := command.DecodeStoreOffset(x.Body.Bytes)
		return o.OffsetRef, o.Offset, o.Ack, err
	}
	o, err := command.DecodeDeleteOffset(x.Body.Bytes)
	return o.OffsetRef, 0, o.Ack, err
}
