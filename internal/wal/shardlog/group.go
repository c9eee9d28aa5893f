package shardlog

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

// GroupState says how far the records of a group can be believed.
type GroupState uint8

// States of a group in the logs.
const (
	Intact GroupState = iota // what was synced is all there
	Lost                     // records may be missing: damage that the group's records do not chain across
	Broken                   // files are missing, foreign or damaged in their header
)

// GroupLog is what the logs hold of one incarnation of one group, after everything that voids earlier records
// was carried out.
type GroupLog struct {
	Group    protocol.GroupID
	Revision uint64 // created revision of the incarnation

	State  GroupState
	Reason error // of Lost and Broken

	Born    bool // a Birth record is still there
	Dropped bool // the incarnation has ended; nothing else counts

	// Checkpoint is the newest Checkpoint or Installed record, nil when there is none; Installed tells which.
	Checkpoint *Checkpoint
	Installed  bool
	// TrustLife is the highest life of a Birth, Adopted, Installed or Accepted record or of those that a
	// checkpoint carries on. With it below Verdict.UnprovenLife a group that is not synced is amnesiac.
	TrustLife uint64
	// LostMark: a Lost record stands, no Adopted, Installed or Accepted came after it.
	LostMark bool
	// Reset is set while an install has begun and not ended.
	Reset *Reset
	// Truncated, Adopted and Accepted are the newest records of their kinds, nil when there is none.
	Truncated *Truncate
	Adopted   *Adopted
	Accepted  *Accepted

	// Entries are the prepares above the checkpoint, ascending by op, and the Local records in their place
	// among them. Ops may be missing (a hole), and an op may name another parent than its predecessor's
	// identity: then that predecessor does not count.
	Entries []EntryRef
	// Rebooted tells that one of these prepares was written before the machine last started, or that nothing tells
	// when it started: of what was written elsewhere since the checkpoint and never synced, any part may be there.
	Rebooted bool
}

// EntryRef finds one record of a group in the logs.
type EntryRef struct {
	Op       uint64           // of a prepare; 0 of a Local record
	Checksum protocol.Uint128 // identity of a prepare
	Parent   protocol.Uint128
	Local    *Local // set for Local records, which need no Read

	place uint64 // op of a prepare; of a Local record that of the prepare before it
	file  *logFile
	pos   int64
	bytes uint32 // payload
}

// IsLocal reports whether the entry is a Local record.
func (e *EntryRef) IsLocal() bool { return e.Local != nil }

// Verdict says whether the records of groups that do not wait for syncs are known to be complete.
type Verdict struct {
	Proven bool
	Reason string // in a few words, for logs
	// Life is the number of this start: 1 + the highest found. UnprovenLife is the newest life that began
	// without a proof, 0 when there was none.
	Life, UnprovenLife uint64
}

// Record is one record to append.
type Record struct {
	Kind     wal.Kind
	Group    protocol.GroupID
	Revision uint64
	// Sync tells that somebody waits for the sync of the record: a copy is kept until then.
	Sync   bool
	Header *protocol.PrepareHeader // of a Prepare, sealed; else nil
	Body   []byte                  // of a Prepare; the payload of other kinds
}

// Bytes is what the record takes in a file.
func (r *Record) Bytes() int64 { return wal.RecordSpan(r.payloadBytes()) }

func (r *Record) payloadBytes() int64 {
	if r.Kind == wal.KindPrepare {
		return protocol.HeaderSize + int64(len(r.Body))
	}
	return int64(len(r.Body))
}

// Metrics of one log. Counters count since the start of the process.
type Metrics struct {
	RetainedBytes   int64  // of all files, the active one up to its last record
	Files, Spares   int    // files of the chain; files ready for use
	UnsyncedBytes   int64  // of records marked Sync
	PinnedGroups    int    // that have records in the oldest file
	OldestFile      uint64 // number
	NewestFile      uint64
	Batches         uint64 // appended
	Records         uint64
	AppendedBytes   uint64
	Syncs           uint64
	FailedSyncs     uint64
	FailuresInARow  int
	RecycledFiles   uint64
	CopiedForward   uint64 // checkpoint records
	OldestPinnedFor uint64 // batches appended since the oldest file was begun
}
