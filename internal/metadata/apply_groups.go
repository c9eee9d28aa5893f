package metadata

import (
	"slices"

	"github.com/galgolog/galgo/internal/metadata/balance"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func (s *State) createGroup(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeCreateGroup(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	name := string(req.Name)
	st, t, code := s.reachTopic(o, req.TopicRef)
	switch {
	case code != protocol.Success:
		return reply, code
	case t.GroupByName(name) != nil:
		return reply, protocol.CodeConsumerGroupNameAlreadyExists
	}
	g := newGroup(t.nextGroup, name, balance.Group{}, t.PartitionsCount())
	next := *t
	next.nextGroup++
	next.groups = t.groups.Set(g.ID, g)
	next.groupNames = t.groupNames.Set(name, g.ID)
	s.setTopic(st, &next)
	s.view.groupsCount++
	return appendGroupHeader(reply, t, g), protocol.Success
}

func (s *State) deleteGroup(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeGroupRef(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, g, code := s.reachGroup(o, ref)
	if code != protocol.Success {
		return reply, code
	}
	s.abandonGroup(GroupRef{st.ID, t.ID, g.ID}, g)
	next := *t
	next.groups = t.groups.Delete(g.ID)
	next.groupNames = t.groupNames.Delete(g.Name)
	s.setTopic(st, &next)
	return reply, protocol.Success
}

// joinGroup adds the client of the operation. A client without a session cannot be a member: nothing would
// ever remove it.
func (s *State) joinGroup(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeJoinGroup(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, g, code := s.reachGroup(o, req.GroupRef)
	if code != protocol.Success {
		return reply, code
	}
	member := o.client
	if o.server {
		member = req.Client
	}
	c := s.clients.index[member]
	if c == nil {
		return reply, protocol.CodeUnauthorized
	}
	ref := GroupRef{st.ID, t.ID, g.ID}
	s.setGroup(ref, st, t, g, g.deal.Join(member, c.epoch, t.PartitionsCount(), req.InFlight, o.now))
	refs := s.view.Memberships(member)
	if i, found := slices.BinarySearchFunc(refs, ref, groupOrder{}.Compare); !found {
		s.view.memberships = s.view.memberships.Set(member, slices.Insert(slices.Clone(refs), i, ref))
	}
	return reply, protocol.Success
}

func (s *State) leaveGroup(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, err := command.DecodeLeaveGroup(body)
	if err != nil {
		return reply, protocol.CodeInvalidCommand
	}
	st, t, g, code := s.reachGroup(o, req.GroupRef)
	if code != protocol.Success {
		return reply, code
	}
	member := o.client
	if o.server {
		member = req.Client
	}
	if !s.leave(GroupRef{st.ID, t.ID, g.ID}, member) {
		return reply, protocol.CodeConsumerGroupMemberNotFound
	}
	return reply, protocol.Success
}

// reachGroup resolves a group that the operation addresses and asks for permission: 1009, 2010, 41, 5000.
func (s *State) reachGroup(o *operation, ref command.GroupRef) (*Stream, *Topic, *ConsumerGroup, protocol.Code) {
	st, t, code := s.reachTopic(o, ref.TopicRef)
	if code != protocol.Success {
		return nil, nil, nil, code
	}
	g := t.Group(ref.Group)
	if g == nil {
		return nil, nil, nil, protocol.CodeConsumerGroupIdNotFound
	}
	return st, t, g, protocol.Success
}

// removeMember takes a client that lost its connection out of a group, unless it has joined again under a
// newer session since. It always succeeds.
func (s *State) removeMember(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, ok := DecodeRemoveMember(body)
	if !ok || !o.server {
		return reply, protocol.CodeInvalidCommand
	}
	if g := s.view.GroupByRef(req.GroupRef); g != nil {
		if m := g.Member(req.Client); m != nil && m.Session <= req.Session {
			s.leave(req.GroupRef, req.Client)
		}
	}
	return reply, protocol.Success
}

// completeRevocation ends a hand-over. It always succeeds; one that is over already changes nothing.
func (s *State) completeRevocation(o *operation, body, reply []byte) ([]byte, protocol.Code) {
	req, ok := DecodeCompleteRevocation(body)
	if !ok || !o.server {
		return reply, protocol.CodeInvalidCommand
	}
	if g := s.view.GroupByRef(req.GroupRef); g != nil {
		st := s.view.StreamByID(req.Stream)
		t := st.TopicByID(req.Topic)
		if deal, done := g.deal.Complete(req.Source, req.Partition, req.Since, t.PartitionsCount()); done {
			s.setGroup(req.GroupRef, st, t, g, deal)
		}
	}
	return reply, protocol.Success
}

// leave removes a client from a group that exists and deals eagerly; false when it is no member.
func (s *State) leave(ref GroupRef, client protocol.Uint128) bool {
	st := s.view.StreamByID(ref.Stream)
	t := st.TopicByID(ref.Topic)
	g := t.GroupByID(ref.Group)
	deal, ok := g.deal.Leave(client, t.PartitionsCount())
	if ok {
		s.setGroup(ref, st, t, g, deal)
		s.forget(ref, client)
	}
	return ok
}

// leaveAll removes a client from every group.
func (s *State) leaveAll(client protocol.Uint128) {
	for _, ref := range s.view.Memberships(client) {
		s.leave(ref, client)
	}
}

// forget takes a group off the list of a client.
func (s *State) forget(ref GroupRef, client protocol.Uint128) {
	refs := s.view.Memberships(client)
	i, found := slices.BinarySearchFunc(refs, ref, groupOrder{}.Compare)
	if !found {
		return
	}
	if len(refs) == 1 {
		s.view.memberships = s.view.memberships.Delete(client)
	} else {
		s.view.memberships = s.view.memberships.Set(client, slices.Delete(slices.Clone(refs), i, i+1))
	}
	s.changes.lost(LostMembership{ref, client})
}

// setGroup stores a new assignment of a group.
func (s *State) setGroup(ref GroupRef, st *Stream, t *Topic, g *ConsumerGroup, deal balance.Group) {
	next := *t
	next.groups = t.groups.Set(g.ID, newGroup(g.ID, g.Name, deal, t.PartitionsCount()))
	s.setTopic(st, &next)
	s.noteHandovers(ref, next.GroupByID(g.ID))
}

func (s *State) noteHandovers(ref GroupRef, g *ConsumerGroup) {
	if g.deal.HasPending() {
		s.view.handovers = s.view.handovers.Set(ref, g)
	} else {
		s.view.handovers = s.view.handovers.Delete(ref)
	}
}

// repartition stores a topic whose partitions have changed in number, with all its groups dealt again.
func (s *State) repartition(st *Stream, t *Topic) {
	for g := range t.Groups() {
		g = newGroup(g.ID, g.Name, g.deal.Repartition(t.PartitionsCount()), t.PartitionsCount())
		t.groups = t.groups.Set(g.ID, g)
		s.noteHandovers(GroupRef{st.ID, t.ID, g.ID}, g)
	}
	s.setTopic(st, t)
}

// abandonGroup takes what depends on a group out of the state, before the group itself goes.
func (s *State) abandonGroup(ref GroupRef, g *ConsumerGroup) {
	for _, m := range g.deal.Members {
		s.forget(ref, m.Client)
	}
	s.view.handovers = s.view.handovers.Delete(ref)
	s.view.groupsCount--
}
