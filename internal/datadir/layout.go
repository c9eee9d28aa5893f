package datadir

import (
	"path/filepath"
	"strconv"
)

// Folders are the configurable names inside the data directory. Empty names mean the defaults.
type Folders struct {
	Runtime    string // "runtime"
	Logs       string // "logs"
	Streams    string // "streams"
	Topics     string // "topics"
	Partitions string // "partitions"
}

// Fixed names.
const (
	metadataFolder = "metadata"
	walFolder      = "wal"
	offsetsFolder  = "offsets"
	lockFile       = "galgo.lock"
	runtimeFile    = "current_config.toml"
	// LogFile is the name of the live log file in Dir.Logs.
	LogFile = "iggy-server.log"
)

func (f Folders) withDefaults() Folders {
	for _, name := range []struct {
		value    *string
		standard string
	}{{&f.Runtime, "runtime"}, {&f.Logs, "logs"}, {&f.Streams, "streams"}, {&f.Topics, "topics"},
		{&f.Partitions, "partitions"}} {
		if *name.value == "" {
			*name.value = name.standard
		}
	}
	return f
}

// Path is the data directory itself, absolute.
func (d *Dir) Path() string { return d.path }

// Metadata is the folder of the metadata group.
func (d *Dir) Metadata() string { return filepath.Join(d.path, metadataFolder) }

// WAL is the folder of the write-ahead log of a shard.
func (d *Dir) WAL(shard int) string {
	return filepath.Join(d.path, walFolder, "shard-"+strconv.Itoa(shard))
}

// Streams is the folder of all streams.
func (d *Dir) Streams() string { return filepath.Join(d.path, d.folders.Streams) }

// Partition is the folder of one partition. It appears on first use of the partition.
func (d *Dir) Partition(stream, topic, partition uint32) string {
	number := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
	return filepath.Join(d.Streams(), number(stream), d.folders.Topics, number(topic), d.folders.Partitions, number(partition))
}

// ConsumerOffsets is the folder of the offsets that consumers stored in a partition.
func (d *Dir) ConsumerOffsets(stream, topic, partition uint32) string {
	return filepath.Join(d.Partition(stream, topic, partition), offsetsFolder, "consumers")
}

// GroupOffsets is the folder of the offsets that consumer groups stored in a partition.
func (d *Dir) GroupOffsets(stream, topic, partition uint32) string {
	return filepath.Join(d.Partition(stream, topic, partition), offsetsFolder, "groups")
}

// Runtime is the folder of what concerns only this run of the server.
func (d *Dir) Runtime() string { return filepath.Join(d.path, d.folders.Runtime) }

// RuntimeFile is where WriteRuntime puts the effective configuration.
func (d *Dir) RuntimeFile() string { return filepath.Join(d.Runtime(), runtimeFile) }

// Logs is the folder of the log files. A folder of that name in the working directory is used instead of the
// one in the data directory.
func (d *Dir) Logs() string { return d.logs }
