package session

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
)

// PartitionStats implements metadata.PartitionStats.
func (s *Server) PartitionStats(stream, topic, partition uint32) metadata.Stats {
	id, err := protocol.PartitionGroup(stream, topic, partition)
	if err != nil {
		return metadata.Stats{}
	}
	st := s.o.Node.View().StreamByID(stream)
	if st == nil || st.TopicByID(topic) == nil {
		return metadata.Stats{}
	}
	p, ok := st.TopicByID(topic).Partition(partition)
	if !ok {
		return metadata.Stats{}
	}
	n := s.o.Node.PartitionStats(id, p.CreatedRevision, p.PurgeGeneration)
	return metadata.Stats{
		SegmentsCount: n.Segments, CurrentOffset: n.CurrentOffset, SizeBytes: n.SizeBytes, MessagesCount: n.Messages,
	}
}

// InFlight implements metadata.Partitions.
func (s *Server) InFlight(group metadata.GroupRef) []uint32 {
	view := s.o.Node.View()
	st := view.StreamByID(group.Stream)
	if st == nil || st.TopicByID(group.Topic) == nil {
		return nil
	}
	t := st.TopicByID(group.Topic)
	var busy []uint32
	for i := range t.PartitionsCount() {
		p, _ := t.Partition(i)
		id, err := protocol.PartitionGroup(group.Stream, group.Topic, i)
		if err == nil && s.o.Node.PendingHandOver(id, p.CreatedRevision, group.Group) {
			busy = append(busy, i)
		}
	}
	return busy
}

// SealedUpTo implements metadata.Partitions.
func (s *Server) SealedUpTo(stream, topic, partition, count uint32) (uint64, protocol.Code) {
	id, err := protocol.PartitionGroup(stream, topic, partition)
	if err != nil {
		return 0, protocol.CodePartitionNotFound
	}
	st := s.o.Node.View().StreamByID(stream)
	if st == nil || st.TopicByID(topic) == nil {
		return 0, protocol.Success
	}
	p, _ := st.TopicByID(topic).Partition(partition)
	upTo, _, code := s.o.Node.ResolveSegments(id, p.CreatedRevision, count)
	return upTo, code
}
