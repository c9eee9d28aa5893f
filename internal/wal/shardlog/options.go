package shardlog

import (
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// Options of the logs of a node.
type Options struct {
	Cluster protocol.Uint128
	Replica uint8
	// Shards is the number of shards of this life: a log of a shard at or above it gets a closing file and is
	// removed once no group needs it (Logs.Orphans, Logs.Reclaim). 0 means that no log is closing.
	Shards int
	// FileBytes is the size of a file, header included. A batch must fit into one.
	FileBytes int64
	// RetainedBytes is the size of a log above which groups should checkpoint (Log.Pinning); twice that is
	// Log.Full.
	RetainedBytes int64
	// BootID names the boot of the machine, zero when it is not known.
	BootID [16]byte
	// Random draws epochs. No client may be able to predict it.
	Random func() uint64
}

const (
	// unsyncedBytesMax is how much of records marked Sync may wait for a sync; their copies are kept that long.
	unsyncedBytesMax = 64 << 20
	// FillStepBytes is how much of a new file is zero-filled and synced at once.
	FillStepBytes = 8 << 20
	// sparesMax is how many spare files a log keeps; further ones are removed.
	sparesMax = 4
	// failedSyncsMax is how many files in a row may be given up because of failed syncs.
	failedSyncsMax = 8
	// shardsMax bounds shard numbers: the file header has two bytes for them.
	shardsMax = 1 << 16
	// counterMax is beyond what any life can count to, so that sums of numbers read from files never wrap.
	counterMax = 1 << 62
)

func (o *Options) validate() error {
	switch {
	case o.FileBytes < 2*fileHeaderBytes || o.FileBytes > 1<<32:
		return fmt.Errorf("shard log: file size is %d, allowed are %d to %d", o.FileBytes, 2*fileHeaderBytes, int64(1)<<32)
	case o.RetainedBytes < o.FileBytes:
		return fmt.Errorf("shard log: %d retained bytes are less than a file of %d", o.RetainedBytes, o.FileBytes)
	case o.Shards < 0 || o.Shards > shardsMax:
		return fmt.Errorf("shard log: %d shards, allowed are 0 to %d", o.Shards, shardsMax)
	case o.Random == nil:
		return fmt.Errorf("shard log: no source of epochs")
	}
	return nil
}
