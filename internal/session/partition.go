package session

import (
	"sync/atomic"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vsr"
)

// Body implements transport.Handler: a large send is verified while it arrives.
func (s *session) Body(x *transport.Exchange, have int) {
	a := &s.arriving
	if a.x != x {
		a.x, a.state, a.fed, a.code = x, unseen, 0, protocol.Success
	}
	if a.state == unseen {
		if x.Header.Operation() != protocol.OpSendMessages {
			a.state = other
			return
		}
		head, err := command.DecodeSendMessages(x.Body.Bytes[:have])
		if err != nil {
			a.state = other
			return
		}
		a.head, a.fed, a.state = head, head.BatchAt, verified
		a.verifier.Reset(x.BodyLen()-head.BatchAt, head.MessagesCount)
	}
	if a.state == verified && a.code == protocol.Success && have > a.fed {
		a.code = a.verifier.Write(x.Body.Bytes[a.fed:have])
		a.fed = have
	}
}

// partition gathers a send or an offset write for the shard of its partition.
func (s *session) partition(x *transport.Exchange, b *binding) {
	var code protocol.Code
	p := s.pendingOf(x)
	switch x.Header.Operation() {
	case protocol.OpSendMessages:
		code = s.prepareSend(p, b)
	default:
		code = s.prepareOffset(p, b)
	}
	if code != protocol.Success {
		s.settle()
		s.deny(x, code)
		return
	}
	s.open.Add(1)
	s.batch.Add(s.server.o.Node, &p.work)
}

// prepareSend verifies a batch at the door and finds its partition.
func (s *session) prepareSend(p *pending, b *binding) protocol.Code {
	x := p.x
	head, code := s.verifySend(x)
	if code != protocol.Success {
		return code
	}
	view := s.server.o.Node.View()
	st, t, code := view.Topic(head.TopicRef)
	if code != protocol.Success {
		return code
	}
	id, ok := s.server.choose(st, t, head.Partitioning)
	if !ok {
		return protocol.CodePartitionNotFound
	}
	part, ok := t.Partition(id)
	if !ok {
		return protocol.CodePartitionNotFound
	}
	if !view.Allowed(b.user, protocol.CmdMessageSend, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return protocol.CodeUnauthorized
	}
	group, err := protocol.PartitionGroup(st.ID, t.ID, id)
	if err != nil {
		return protocol.CodePartitionNotFound
	}
	body := x.TakeBody()
	body.Bytes = body.Bytes[head.BatchAt:]
	p.work.Group, p.work.Revision, p.work.Messages = group, part.CreatedRevision, head.MessagesCount
	p.work.Request = vsr.Request{
		Client: b.client, Session: b.session, Request: numbered(&x.Header), RequestChecksum: x.Header.RequestChecksum(),
		Operation: protocol.OpSendMessages, UserID: b.user, Body: body, Waiter: p,
	}
	return protocol.Success
}

// numbered is the request number that the log may look at: only clients that say so number their requests.
func numbered(h *protocol.RequestHeader) uint64 {
	if h.Numbered() {
		return h.Request()
	}
	return 0
}

// verifySend checks layout and checksums, in the pass that ran while the body arrived or in one of its own.
func (s *session) verifySend(x *transport.Exchange) (command.SendMessages, protocol.Code) {
	a := &s.arriving
	if a.x == x && a.state == verified {
		a.x = nil
		if a.code == protocol.Success {
			a.code = a.verifier.Close()
		}
		// The names in the head may alias memory that has moved since; decode it where it is now.
		head, err := command.DecodeSendMessages(x.Body.Bytes)
		if err != nil {
			return head, protocol.CodeInvalidCommand
		}
		return head, a.code
	}
	a.x = nil
	head, err := command.DecodeSendMessages(x.Body.Bytes)
	if err != nil {
		return head, protocol.CodeInvalidCommand
	}
	record := x.Body.Bytes[head.BatchAt:]
	if len(record) < batch.HeaderSize {
		return head, protocol.CodeInvalidCommand
	}
	return head, batch.Verify(record, head.MessagesCount)
}

// choose applies the partitioning of a send to the partitions of a topic.
func (s *Server) choose(st *metadata.Stream, t *metadata.Topic, p protocol.Partitioning) (uint32, bool) {
	count := t.PartitionsCount()
	if count == 0 {
		return 0, false
	}
	switch p.Kind {
	case protocol.PartitionByID:
		return p.ID, true
	case protocol.PartitionByKey:
		return protocol.Hash32(p.Key) % count, true
	}
	key := topicKey{st.ID, t.ID}
	v, ok := s.balanced.Load(key)
	if !ok {
		v, _ = s.balanced.LoadOrStore(key, new(atomic.Uint32))
	}
	return (v.(*atomic.Uint32).Add(1) - 1) % count, true
}

// prepareOffset resolves a store or delete of a consumer offset, in the order of its codes.
func (s *session) prepareOffset(p *pending, b *binding) protocol.Code {
	x := p.x
	ref, offset, ack, err := decodeOffset(x)
	if err != nil {
		return protocol.CodeInvalidCommand
	}
	view := s.server.o.Node.View()
	st, t, code := view.Topic(ref.TopicRef)
	if code != protocol.Success {
		return code
	}
	part, ok := t.Partition(ref.Partition)
	if !ok || !ref.HasPartition {
		return protocol.CodePartitionNotFound
	}
	key := partition.ConsumerKey{Kind: partition.KindConsumer, ID: ref.Consumer.Key()}
	if ref.Consumer.Kind == protocol.ConsumerGroup {
		g := t.Group(ref.Consumer.ID)
		if g == nil {
			return protocol.CodeConsumerGroupIdNotFound
		}
		switch g.Owns(b.client, ref.Partition) {
		case metadata.NotMember:
			return protocol.CodeConsumerGroupMemberNotFound
		case metadata.NotOwner:
			return protocol.CodeConsumerGroupPartitionNotOwned
		}
		key = partition.ConsumerKey{Kind: partition.KindGroup, ID: g.ID}
	}
	if !view.Allowed(b.user, protocol.CmdConsumerOffsetStore, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return protocol.CodeUnauthorized
	}
	group, err := protocol.PartitionGroup(st.ID, t.ID, ref.Partition)
	if err != nil {
		return protocol.CodePartitionNotFound
	}
	partition.OffsetOp{Key: key, Offset: offset}.Put(p.offset[:])
	p.work.Group, p.work.Revision, p.work.Local = group, part.CreatedRevision, ack == protocol.AckNone
	p.work.Request = vsr.Request{
		Client: b.client, Session: b.session, Request: numbered(&x.Header), RequestChecksum: x.Header.RequestChecksum(),
		Operation: x.Header.Operation(), UserID: b.user, Body: vsr.Body{Bytes: p.offset[:]}, Waiter: p,
	}
	return protocol.Success
}

func decodeOffset(x *transport.Exchange) (command.OffsetRef, uint64, protocol.AckLevel, error) {
	if x.Header.Operation() == protocol.OpStoreConsumerOffset {
		o, err := command.DecodeStoreOffset(x.Body.Bytes)
		return o.OffsetRef, o.Offset, o.Ack, err
	}
	o, err := command.DecodeDeleteOffset(x.Body.Bytes)
	return o.OffsetRef, 0, o.Ack, err
}
