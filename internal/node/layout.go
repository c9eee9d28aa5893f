package node

import (
	"cmp"
	"path"
	"strconv"
)

// layout names what is where below the data directory. Paths are built from numbers only.
type layout struct{ root, streams, topics, partitions string }

func newLayout(o *Options) layout {
	return layout{o.Root, cmp.Or(o.StreamsDir, "streams"), cmp.Or(o.TopicsDir, "topics"), cmp.Or(o.PartitionsDir, "partitions")}
}

func (l layout) metadataDir() string { return path.Join(l.root, "metadata") }

func (l layout) streamsDir() string { return path.Join(l.root, l.streams) }

func (l layout) topicsDir(stream uint32) string {
	return path.Join(l.streamsDir(), number(stream), l.topics)
}

func (l layout) partitionsDir(stream, topic uint32) string {
	return path.Join(l.topicsDir(stream), number(topic), l.partitions)
}

// PartitionDir is the directory of a partition.
func (l layout) PartitionDir(stream, topic, partition uint32) string {
	return path.Join(l.partitionsDir(stream, topic), number(partition))
}

func number(v uint32) string { return strconv.FormatUint(uint64(v), 10) }

// parseNumber reads a directory name that is a plain decimal number.
func parseNumber(name string) (uint32, bool) {
	v, err := strconv.ParseUint(name, 10, 32)
	if err != nil || number(uint32(v)) != name {
		return 0, false
	}
	return uint32(v), true
}
