package vsr

import "github.com/galgolog/galgo/internal/protocol"

// RequestStateTransferHeader asks a peer for an offer of its state.
//
//	off size field
//	128   16 nonce
//	144    8 group
type RequestStateTransferHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *RequestStateTransferHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *RequestStateTransferHeader) Nonce() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *RequestStateTransferHeader) SetNonce(v protocol.Uint128) { v.Put(h[128:]) }
func (h *RequestStateTransferHeader) Group() protocol.GroupID {
	return protocol.GroupID(le.Uint64(h[144:]))
}
func (h *RequestStateTransferHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[144:], uint64(v)) }

// StateTransferTargetHeader offers state, with the manifest as body, or says that there is none to offer.
//
//	off size field
//	128   16 nonce
//	144    8 commit_op          what the offered state has applied
//	152    8 group
//	160    1 available
//	161    1 unavailable_transient ask again; only without an offer
//	168    8 commit_max         commit point of the sender
type StateTransferTargetHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *StateTransferTargetHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *StateTransferTargetHeader) Nonce() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *StateTransferTargetHeader) SetNonce(v protocol.Uint128) { v.Put(h[128:]) }
func (h *StateTransferTargetHeader) CommitOp() uint64            { return le.Uint64(h[144:]) }
func (h *StateTransferTargetHeader) SetCommitOp(v uint64)        { le.PutUint64(h[144:], v) }
func (h *StateTransferTargetHeader) Group() protocol.GroupID {
	return protocol.GroupID(le.Uint64(h[152:]))
}
func (h *StateTransferTargetHeader) SetGroup(v protocol.GroupID)    { le.PutUint64(h[152:], uint64(v)) }
func (h *StateTransferTargetHeader) Available() bool                { return h[160] != 0 }
func (h *StateTransferTargetHeader) SetAvailable(v bool)            { h[160] = boolByte(v) }
func (h *StateTransferTargetHeader) UnavailableTransient() bool     { return h[161] != 0 }
func (h *StateTransferTargetHeader) SetUnavailableTransient(v bool) { h[161] = boolByte(v) }
func (h *StateTransferTargetHeader) CommitMax() uint64              { return le.Uint64(h[168:]) }
func (h *StateTransferTargetHeader) SetCommitMax(v uint64)          { le.PutUint64(h[168:], v) }

// RequestStateChunkHeader asks for a part of an artifact of an offer.
//
//	off size field
//	128   16 nonce
//	144    8 offset
//	152    8 group
//	160    4 len                at least 1
//	164    4 artifact
type RequestStateChunkHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *RequestStateChunkHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *RequestStateChunkHeader) Nonce() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *RequestStateChunkHeader) SetNonce(v protocol.Uint128) { v.Put(h[128:]) }
func (h *RequestStateChunkHeader) Offset() uint64              { return le.Uint64(h[144:]) }
func (h *RequestStateChunkHeader) SetOffset(v uint64)          { le.PutUint64(h[144:], v) }
func (h *RequestStateChunkHeader) Group() protocol.GroupID {
	return protocol.GroupID(le.Uint64(h[152:]))
}
func (h *RequestStateChunkHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[152:], uint64(v)) }
func (h *RequestStateChunkHeader) Len() uint32                 { return le.Uint32(h[160:]) }
func (h *RequestStateChunkHeader) SetLen(v uint32)             { le.PutUint32(h[160:], v) }
func (h *RequestStateChunkHeader) Artifact() uint32            { return le.Uint32(h[164:]) }
func (h *RequestStateChunkHeader) SetArtifact(v uint32)        { le.PutUint32(h[164:], v) }

// StateChunkHeader carries a part of an artifact as body.
//
//	off size field
//	128   16 nonce
//	144    8 offset
//	152    8 group
//	160    4 artifact
type StateChunkHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *StateChunkHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *StateChunkHeader) Nonce() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *StateChunkHeader) SetNonce(v protocol.Uint128) { v.Put(h[128:]) }
func (h *StateChunkHeader) Offset() uint64              { return le.Uint64(h[144:]) }
func (h *StateChunkHeader) SetOffset(v uint64)          { le.PutUint64(h[144:], v) }
func (h *StateChunkHeader) Group() protocol.GroupID     { return protocol.GroupID(le.Uint64(h[152:])) }
func (h *StateChunkHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[152:], uint64(v)) }
func (h *StateChunkHeader) Artifact() uint32            { return le.Uint32(h[160:]) }
func (h *StateChunkHeader) SetArtifact(v uint32)        { le.PutUint32(h[160:], v) }
