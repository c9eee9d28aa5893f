package vsr

import "github.com/galgolog/galgo/internal/protocol"

// NodeHeartbeatHeader tells a node how its peer and the groups of both are doing. The common view is 0.
//
//	off size field
//	128   16 incarnation        of the process
//	144    8 sequence           1, 2, 3, ... per connection and direction
//	152    8 echo               highest sequence received from the peer
//	160    8 metadata_commit    metadata commit_min of the sender
//	168    8 lead_version       version of the list of groups that the sender cannot lead
//	176    8 lead_seen          version of the list that was received from the peer
//	184    4 shards             at most 1024
//	188    4 unable
//	192    4 commits
//	196    1 flags              HeartbeatListAttached, HeartbeatLeadsNothing
//
// The body is shards progress counters of 8 bytes, then unable entries of 24, then commits entries of 48 bytes.
type NodeHeartbeatHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *NodeHeartbeatHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *NodeHeartbeatHeader) Incarnation() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *NodeHeartbeatHeader) SetIncarnation(v protocol.Uint128) { v.Put(h[128:]) }
func (h *NodeHeartbeatHeader) Sequence() uint64                  { return le.Uint64(h[144:]) }
func (h *NodeHeartbeatHeader) SetSequence(v uint64)              { le.PutUint64(h[144:], v) }
func (h *NodeHeartbeatHeader) Echo() uint64                      { return le.Uint64(h[152:]) }
func (h *NodeHeartbeatHeader) SetEcho(v uint64)                  { le.PutUint64(h[152:], v) }
func (h *NodeHeartbeatHeader) MetadataCommit() uint64            { return le.Uint64(h[160:]) }
func (h *NodeHeartbeatHeader) SetMetadataCommit(v uint64)        { le.PutUint64(h[160:], v) }
func (h *NodeHeartbeatHeader) LeadVersion() uint64               { return le.Uint64(h[168:]) }
func (h *NodeHeartbeatHeader) SetLeadVersion(v uint64)           { le.PutUint64(h[168:], v) }
func (h *NodeHeartbeatHeader) LeadSeen() uint64                  { return le.Uint64(h[176:]) }
func (h *NodeHeartbeatHeader) SetLeadSeen(v uint64)              { le.PutUint64(h[176:], v) }
func (h *NodeHeartbeatHeader) Shards() uint32                    { return le.Uint32(h[184:]) }
func (h *NodeHeartbeatHeader) SetShards(v uint32)                { le.PutUint32(h[184:], v) }
func (h *NodeHeartbeatHeader) Unable() uint32                    { return le.Uint32(h[188:]) }
func (h *NodeHeartbeatHeader) SetUnable(v uint32)                { le.PutUint32(h[188:], v) }
func (h *NodeHeartbeatHeader) Commits() uint32                   { return le.Uint32(h[192:]) }
func (h *NodeHeartbeatHeader) SetCommits(v uint32)               { le.PutUint32(h[192:], v) }
func (h *NodeHeartbeatHeader) Flags() uint8                      { return h[196] }
func (h *NodeHeartbeatHeader) SetFlags(v uint8)                  { h[196] = v }

// Flags of a NodeHeartbeat.
const (
	HeartbeatListAttached = 1 << 0 // the list of groups is in the body, even if it is empty
	HeartbeatLeadsNothing = 1 << 1 // the sender can lead no partition group at the moment
)

// HeartbeatShardsMax bounds the progress entries of a NodeHeartbeat.
const HeartbeatShardsMax = 1024

const (
	unableSize      = 24
	commitEntrySize = 48
)

// UnableReason says why a node cannot lead a group.
type UnableReason uint8

// Reasons of an UnableEntry.
const (
	UnableCeded        UnableReason = 1 // ceded or recovering
	UnableAmnesiac     UnableReason = 2
	UnableTransferring UnableReason = 3
	UnableFenced       UnableReason = 4
	UnableSuperblock   UnableReason = 5
	UnableBehind       UnableReason = 6
)

// UnableEntry names a group that the sender cannot lead.
//
//	off size field
//	  0    8 group
//	  8    8 revision
//	 16    1 reason
//	 17    7 zero
type UnableEntry [unableSize]byte

func (e *UnableEntry) Group() protocol.GroupID     { return protocol.GroupID(le.Uint64(e[0:])) }
func (e *UnableEntry) SetGroup(v protocol.GroupID) { le.PutUint64(e[0:], uint64(v)) }
func (e *UnableEntry) Revision() uint64            { return le.Uint64(e[8:]) }
func (e *UnableEntry) SetRevision(v uint64)        { le.PutUint64(e[8:], v) }
func (e *UnableEntry) Reason() UnableReason        { return UnableReason(e[16]) }
func (e *UnableEntry) SetReason(v UnableReason)    { e[16] = byte(v) }

// CommitEntry is a Commit for one group, inside a NodeHeartbeat.
//
//	off size field
//	  0    8 group
//	  8    8 revision
//	 16    4 view
//	 20    4 zero
//	 24    8 commit               commit_min of the primary
//	 32    8 timestamp_monotonic  heartbeat counter
//	 40    8 checksum             low half of the identity of op commit, 0 when commit is 0
type CommitEntry [commitEntrySize]byte

func (e *CommitEntry) Group() protocol.GroupID        { return protocol.GroupID(le.Uint64(e[0:])) }
func (e *CommitEntry) SetGroup(v protocol.GroupID)    { le.PutUint64(e[0:], uint64(v)) }
func (e *CommitEntry) Revision() uint64               { return le.Uint64(e[8:]) }
func (e *CommitEntry) SetRevision(v uint64)           { le.PutUint64(e[8:], v) }
func (e *CommitEntry) View() uint32                   { return le.Uint32(e[16:]) }
func (e *CommitEntry) SetView(v uint32)               { le.PutUint32(e[16:], v) }
func (e *CommitEntry) Commit() uint64                 { return le.Uint64(e[24:]) }
func (e *CommitEntry) SetCommit(v uint64)             { le.PutUint64(e[24:], v) }
func (e *CommitEntry) TimestampMonotonic() uint64     { return le.Uint64(e[32:]) }
func (e *CommitEntry) SetTimestampMonotonic(v uint64) { le.PutUint64(e[32:], v) }
func (e *CommitEntry) Checksum() uint64               { return le.Uint64(e[40:]) }
func (e *CommitEntry) SetChecksum(v uint64)           { le.PutUint64(e[40:], v) }

// HeartbeatBody is the decoded body of a NodeHeartbeat; its slices alias the frame.
type HeartbeatBody struct {
	progress, unable, commits []byte
}

// DecodeHeartbeatBody splits the body of a NodeHeartbeat. It reports false unless the lengths agree with
// the header, reserved bytes are zero, reasons are known and both lists ascend by group.
func DecodeHeartbeatBody(h *NodeHeartbeatHeader, body []byte) (HeartbeatBody, bool) {
	shards, unable, commits := uint64(h.Shards()), uint64(h.Unable()), uint64(h.Commits())
	if shards > HeartbeatShardsMax || uint64(len(body)) != 8*shards+unableSize*unable+commitEntrySize*commits {
		return HeartbeatBody{}, false
	}
	if h.Flags()&HeartbeatListAttached == 0 && unable != 0 {
		return HeartbeatBody{}, false
	}
	b := HeartbeatBody{progress: body[:8*shards], unable: body[8*shards : 8*shards+unableSize*unable]}
	b.commits = body[8*shards+unableSize*unable:]
	return b, b.valid()
}

func (b HeartbeatBody) valid() bool {
	for i := range b.UnableCount() {
		e := b.Unable(i)
		if !allZero(e[17:]) || e.Reason() < UnableCeded || e.Reason() > UnableBehind ||
			i > 0 && b.Unable(i-1).Group() >= e.Group() {
			return false
		}
	}
	for i := range b.CommitCount() {
		e := b.Commit(i)
		if !allZero(e[20:24]) || i > 0 && b.Commit(i-1).Group() >= e.Group() {
			return false
		}
	}
	return true
}

// ShardCount is the number of shards that report progress.
func (b HeartbeatBody) ShardCount() int { return len(b.progress) / 8 }

// Progress is the number of ticks that a shard has finished.
func (b HeartbeatBody) Progress(shard int) uint64 { return le.Uint64(b.progress[8*shard:]) }

// UnableCount is the number of groups that the sender cannot lead.
func (b HeartbeatBody) UnableCount() int { return len(b.unable) / unableSize }

// Unable is the i-th of them.
func (b HeartbeatBody) Unable(i int) *UnableEntry {
	return (*UnableEntry)(b.unable[unableSize*i:])
}

// CommitCount is the number of commit entries.
func (b HeartbeatBody) CommitCount() int { return len(b.commits) / commitEntrySize }

// Commit is the i-th commit entry.
func (b HeartbeatBody) Commit(i int) *CommitEntry {
	return (*CommitEntry)(b.commits[commitEntrySize*i:])
}
