package vsr

import "github.com/galgolog/galgo/internal/protocol"

// RequestPreparesHeader asks a peer for the operations from_op to to_op.
//
//	off size field
//	128   16 nonce
//	144    8 from_op            at least 1
//	152    8 to_op              at least from_op; 2^64-1 is legal
//	160    8 group
type RequestPreparesHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *RequestPreparesHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *RequestPreparesHeader) Nonce() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *RequestPreparesHeader) SetNonce(v protocol.Uint128) { v.Put(h[128:]) }
func (h *RequestPreparesHeader) FromOp() uint64              { return le.Uint64(h[144:]) }
func (h *RequestPreparesHeader) SetFromOp(v uint64)          { le.PutUint64(h[144:], v) }
func (h *RequestPreparesHeader) ToOp() uint64                { return le.Uint64(h[152:]) }
func (h *RequestPreparesHeader) SetToOp(v uint64)            { le.PutUint64(h[152:], v) }
func (h *RequestPreparesHeader) Group() protocol.GroupID     { return protocol.GroupID(le.Uint64(h[160:])) }
func (h *RequestPreparesHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[160:], uint64(v)) }

// RepairDoneHeader ends the answer to a RequestPrepares (RepairDone), or says that its front is not held any more (RangeEvicted).
//
//	off size field
//	128   16 nonce
//	144    8 op                 last operation served; RangeEvicted: oldest one retained
//	152    8 group
type RepairDoneHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *RepairDoneHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *RepairDoneHeader) Nonce() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *RepairDoneHeader) SetNonce(v protocol.Uint128) { v.Put(h[128:]) }
func (h *RepairDoneHeader) Op() uint64                  { return le.Uint64(h[144:]) }
func (h *RepairDoneHeader) SetOp(v uint64)              { le.PutUint64(h[144:], v) }
func (h *RepairDoneHeader) Group() protocol.GroupID     { return protocol.GroupID(le.Uint64(h[152:])) }
func (h *RepairDoneHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[152:], uint64(v)) }
