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
	runtimeFile    = "current_config.toml"
	stopMark       = "stopped"
	// LockName is the name of the lock file in the data directory.
	LockName = "galgo.lock"
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

// Layout names what is where in a data directory. Paths are built from numbers and configured names only; nothing is
// looked at. Safe for concurrent use.
type Layout struct {
	path    string
	folders Folders
}

// NewLayout is the layout of the data directory path.
func NewLayout(path string, f Folders) Layout { return Layout{path, f.withDefaults()} }

// Path is the data directory itself.
func (l Layout) Path() string { return l.path }

// StopMark is the file that a stop in order leaves and the next start takes away.
func (l Layout) StopMark() string { return filepath.Join(l.path, stopMark) }

// Metadata is the folder of the metadata group.
func (l Layout) Metadata() string { return filepath.Join(l.path, metadataFolder) }

// WAL is the folder of the write-ahead log of a shard.
func (l Layout) WAL(shard int) string {
	return filepath.Join(l.path, walFolder, "shard-"+strconv.Itoa(shard))
}

// Streams is the folder of all streams.
func (l Layout) Streams() string { return filepath.Join(l.path, l.folders.Streams) }

// Topics is the folder of the topics of a stream.
func (l Layout) Topics(stream uint32) string {
	return filepath.Join(l.Streams(), number(stream), l.folders.Topics)
}

// Partitions is the folder of the partitions of a topic.
func (l Layout) Partitions(stream, topic uint32) string {
	return filepath.Join(l.Topics(stream), number(topic), l.folders.Partitions)
}

// Partition is the folder of one partition. It appears on first use of the partition.
func (l Layout) Partition(stream, topic, partition uint32) string {
	return filepath.Join(l.Partitions(stream, topic), number(partition))
}

func number(v uint32) string { return strconv.FormatUint(uint64(v), 10) }

// ParseNumber reads the name of a folder of a stream, topic or partition, which is a plain decimal number.
func ParseNumber(name string) (uint32, bool) {
	v, err := strconv.ParseUint(name, 10, 32)
	if err != nil || number(uint32(v)) != name {
		return 0, false
	}
	return uint32(v), true
}

// Runtime is the folder of what concerns only this run of the server.
func (l Layout) Runtime() string { return filepath.Join(l.path, l.folders.Runtime) }

// RuntimeFile is where WriteRuntime puts the effective configuration.
func (l Layout) RuntimeFile() string { return filepath.Join(l.Runtime(), runtimeFile) }

// LogFolder is the folder of the log files in the data directory, which Dir.Logs prefers another one to.
func (l Layout) LogFolder() string { return filepath.Join(l.path, l.folders.Logs) }

// Logs is the folder of the log files. A folder of that name in the working directory is used instead of the
// one in the data directory.
func (d *Dir) Logs() string { return d.logs }
