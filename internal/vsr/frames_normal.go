package vsr

import "github.com/galgolog/galgo/internal/protocol"

// PrepareOkHeader acknowledges one operation to the primary. The common view is the sender's.
//
//	off size field
//	128   16 parent
//	144   16 prepare_checksum   identity of the operation
//	160    8 op
//	168    8 commit             commit point of the sender
//	176    8 timestamp
//	184    8 request
//	192    1 operation
//	200    8 group
type PrepareOkHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *PrepareOkHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *PrepareOkHeader) Parent() protocol.Uint128              { return protocol.ReadUint128(h[128:]) }
func (h *PrepareOkHeader) SetParent(v protocol.Uint128)          { v.Put(h[128:]) }
func (h *PrepareOkHeader) PrepareChecksum() protocol.Uint128     { return protocol.ReadUint128(h[144:]) }
func (h *PrepareOkHeader) SetPrepareChecksum(v protocol.Uint128) { v.Put(h[144:]) }
func (h *PrepareOkHeader) Op() uint64                            { return le.Uint64(h[160:]) }
func (h *PrepareOkHeader) SetOp(v uint64)                        { le.PutUint64(h[160:], v) }
func (h *PrepareOkHeader) Commit() uint64                        { return le.Uint64(h[168:]) }
func (h *PrepareOkHeader) SetCommit(v uint64)                    { le.PutUint64(h[168:], v) }
func (h *PrepareOkHeader) Timestamp() uint64                     { return le.Uint64(h[176:]) }
func (h *PrepareOkHeader) SetTimestamp(v uint64)                 { le.PutUint64(h[176:], v) }
func (h *PrepareOkHeader) Request() uint64                       { return le.Uint64(h[184:]) }
func (h *PrepareOkHeader) SetRequest(v uint64)                   { le.PutUint64(h[184:], v) }
func (h *PrepareOkHeader) Operation() protocol.Operation         { return protocol.Operation(h[192]) }
func (h *PrepareOkHeader) SetOperation(v protocol.Operation)     { h[192] = byte(v) }
func (h *PrepareOkHeader) Group() protocol.GroupID               { return protocol.GroupID(le.Uint64(h[200:])) }
func (h *PrepareOkHeader) SetGroup(v protocol.GroupID)           { le.PutUint64(h[200:], uint64(v)) }

// CommitHeader tells backups what the primary has applied, and that it lives.
//
//	off size field
//	128   16 commit_checksum    identity of op commit, 0 when commit is 0
//	144    8 timestamp_monotonic heartbeat counter, ascending within a view
//	152    8 commit
//	160    8 checkpoint_op      newest durable snapshot of the sender, 0 unknown
//	168    8 group
type CommitHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *CommitHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *CommitHeader) CommitChecksum() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *CommitHeader) SetCommitChecksum(v protocol.Uint128) { v.Put(h[128:]) }
func (h *CommitHeader) TimestampMonotonic() uint64           { return le.Uint64(h[144:]) }
func (h *CommitHeader) SetTimestampMonotonic(v uint64)       { le.PutUint64(h[144:], v) }
func (h *CommitHeader) Commit() uint64                       { return le.Uint64(h[152:]) }
func (h *CommitHeader) SetCommit(v uint64)                   { le.PutUint64(h[152:], v) }
func (h *CommitHeader) CheckpointOp() uint64                 { return le.Uint64(h[160:]) }
func (h *CommitHeader) SetCheckpointOp(v uint64)             { le.PutUint64(h[160:], v) }
func (h *CommitHeader) Group() protocol.GroupID              { return protocol.GroupID(le.Uint64(h[168:])) }
func (h *CommitHeader) SetGroup(v protocol.GroupID)          { le.PutUint64(h[168:], uint64(v)) }
