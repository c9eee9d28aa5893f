package shardlog

import (
	"errors"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

var errNotBuilt = errors.New("shard log: not built yet")

type logFile struct{}

// Logs are the logs of all shards of a node.
type Logs struct{}

// Scan reads every log below dir (<data>/wal, one directory shard-<n> each), decides the verdict and collects
// what must be replayed. It writes nothing; a missing dir is a node without logs. Damage is not an error.
// Refusals: *VersionError, *KindError; anything else is an error of reading.
func Scan(fs vfs.FS, dir string, o Options) (*Logs, error) { return nil, errNotBuilt }

// Verdict is that of this start.
func (l *Logs) Verdict() Verdict { return Verdict{} }

// Groups returns what was found of every incarnation, ascending by group and revision. Valid until Replayed.
func (l *Logs) Groups() []GroupLog { return nil }

// Find returns what was found of one incarnation.
func (l *Logs) Find(id protocol.GroupID, revision uint64) (GroupLog, bool) { return GroupLog{}, false }

// Damage lists what the scan met: *BrokenError, *InteriorError and *TornTail, in the order of the files.
func (l *Logs) Damage() []error { return nil }

// Read returns a prepare that the scan found, verified again. The body lies in buf when it is large enough.
func (l *Logs) Read(e EntryRef, buf []byte) (header protocol.PrepareHeader, body []byte, err error) {
	return header, nil, errNotBuilt
}

// Begin starts the new life: a new file in every log, with the verdict in its header. It may be repeated after an error.
func (l *Logs) Begin() error { return errNotBuilt }

// Replayed gives back what only the start needs. Read, Groups and Find answer nothing from then on, and files
// may be recycled.
func (l *Logs) Replayed() {}

// Shard returns the log of shard n, created with its directory when it has none. It waits for the device then.
func (l *Logs) Shard(n int) (*Log, error) { return nil, errNotBuilt }

// Orphans returns the groups that still need a log of a shard that exists no more, in no order.
func (l *Logs) Orphans() []protocol.GroupID { return nil }

// Reclaim recycles what nobody needs in every log and removes closing logs that nobody needs. A job.
func (l *Logs) Reclaim() error { return errNotBuilt }

// Close closes every log, those that Shard never gave out included, as Log.Close does.
func (l *Logs) Close(clean bool) error { return errNotBuilt }

// Log is the log of one shard.
type Log struct{}

// Append writes one batch at the tail with one vectored write, to the page cache only, and returns its id. It
// keeps nothing of records. Owner of the shard only; it never waits for the device. On an error nothing was
// appended: ErrNotReady, ErrUnsynced, ErrTooLarge, ErrRefused, ErrClosed, ErrOutOfService, or that of the write.
func (l *Log) Append(records []Record) (batch uint64, err error) { return 0, errNotBuilt }

// BatchBytesMax is the sum of Record.Bytes that one batch may have.
func (l *Log) BatchBytesMax() int64 { return 0 }

// Sync makes every batch durable that was appended before the call and returns the highest of them. One runs
// at a time, beside Append. *SyncError: nothing behind Synced is; call PrepareFile, then Sync again.
func (l *Log) Sync() (covered uint64, err error) { return 0, errNotBuilt }

// Synced is the highest batch known to be durable.
func (l *Log) Synced() uint64 { return 0 }

// WantsFile reports whether PrepareFile has something to do. Ask after every Append and every failed Sync.
func (l *Log) WantsFile() bool { return false }

// PrepareFile makes room: it fills and prepares files ahead of need, activates the next one when the active
// file is full, and carries over what a failed sync left behind. A job; one at a time.
func (l *Log) PrepareFile() error { return errNotBuilt }

// Pinning returns the groups that should checkpoint now because they hold the oldest files while the log is
// above its limit, oldest file first.
func (l *Log) Pinning() []protocol.GroupID { return nil }

// Full reports whether the log is above twice its limit: groups that Pinning names should refuse sends.
func (l *Log) Full() bool { return false }

// Reclaim recycles the oldest files that no group needs, after copying checkpoints forward where only they are
// in the way. A job.
func (l *Log) Reclaim() error { return errNotBuilt }

// Close ends the log. With clean set a synced Clean record says that nothing is missing; every group should have
// been checkpointed. Without it nothing is synced.
func (l *Log) Close(clean bool) error { return errNotBuilt }

// Metrics describes the log now.
func (l *Log) Metrics() Metrics { return Metrics{} }

const fileHeaderBytes = 4096
