package protocol

import "fmt"

// Limits behind the packing of a group id.
const (
	MaxStreams    = 1 << 20
	MaxTopics     = 1 << 12
	MaxPartitions = 1_000_000
)

// GroupID names a consensus group: the metadata group, or the partition whose ids it packs (partition in
// bits 0..20, topic in 20..32, stream in 32..52). 0 is a legal partition group and never means "none".
type GroupID uint64

// MetadataGroup is the one group that holds streams, topics, users, tokens and consumer groups.
const MetadataGroup GroupID = 1 << 63

// PartitionGroup packs the ids of a partition. Ids beyond their limit are an error, never masked.
func PartitionGroup(stream, topic, partition uint32) (GroupID, error) {
	if stream >= MaxStreams || topic >= MaxTopics || partition >= MaxPartitions {
		return 0, fmt.Errorf("group of stream %d, topic %d, partition %d: id beyond its limit", stream, topic, partition)
	}
	return GroupID(stream)<<32 | GroupID(topic)<<20 | GroupID(partition), nil
}

// Partition unpacks a partition group.
func (g GroupID) Partition() (stream, topic, partition uint32) {
	return uint32(g>>32) & (MaxStreams - 1), uint32(g>>20) & (MaxTopics - 1), uint32(g) & (1<<20 - 1)
}

// String names the group for logs.
func (g GroupID) String() string {
	if g == MetadataGroup {
		return "metadata"
	}
	s, t, p := g.Partition()
	return fmt.Sprintf("%d/%d/%d", s, t, p)
}
