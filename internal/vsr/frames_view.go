package vsr

import "github.com/galgolog/galgo/internal/protocol"

// StartViewChangeHeader asks for the view in the common header.
//
//	off size field
//	128    8 group
type StartViewChangeHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *StartViewChangeHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *StartViewChangeHeader) Group() protocol.GroupID     { return protocol.GroupID(le.Uint64(h[128:])) }
func (h *StartViewChangeHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[128:], uint64(v)) }

// DoViewChangeHeader is a vote for a view: the log of the sender in short. The body holds headers, op descending from op.
//
//	off size field
//	128    8 op                 head
//	136    8 commit
//	144    8 group
//	152    4 log_view
//	224   16 nack_bitset        bit i: the i-th operation was never prepared here
//	240   16 present_bitset     bit i: the i-th operation can be served
type DoViewChangeHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *DoViewChangeHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *DoViewChangeHeader) Op() uint64                          { return le.Uint64(h[128:]) }
func (h *DoViewChangeHeader) SetOp(v uint64)                      { le.PutUint64(h[128:], v) }
func (h *DoViewChangeHeader) Commit() uint64                      { return le.Uint64(h[136:]) }
func (h *DoViewChangeHeader) SetCommit(v uint64)                  { le.PutUint64(h[136:], v) }
func (h *DoViewChangeHeader) Group() protocol.GroupID             { return protocol.GroupID(le.Uint64(h[144:])) }
func (h *DoViewChangeHeader) SetGroup(v protocol.GroupID)         { le.PutUint64(h[144:], uint64(v)) }
func (h *DoViewChangeHeader) LogView() uint32                     { return le.Uint32(h[152:]) }
func (h *DoViewChangeHeader) SetLogView(v uint32)                 { le.PutUint32(h[152:], v) }
func (h *DoViewChangeHeader) NackBitset() protocol.Uint128        { return protocol.ReadUint128(h[224:]) }
func (h *DoViewChangeHeader) SetNackBitset(v protocol.Uint128)    { v.Put(h[224:]) }
func (h *DoViewChangeHeader) PresentBitset() protocol.Uint128     { return protocol.ReadUint128(h[240:]) }
func (h *DoViewChangeHeader) SetPresentBitset(v protocol.Uint128) { v.Put(h[240:]) }

// StartViewHeader announces the log of a view. The body holds headers, op descending from op.
//
//	off size field
//	128    8 op
//	136    8 commit
//	144    8 group
//	240   16 incarnation        of the prober that is answered, 0 unsolicited
type StartViewHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *StartViewHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *StartViewHeader) Op() uint64                        { return le.Uint64(h[128:]) }
func (h *StartViewHeader) SetOp(v uint64)                    { le.PutUint64(h[128:], v) }
func (h *StartViewHeader) Commit() uint64                    { return le.Uint64(h[136:]) }
func (h *StartViewHeader) SetCommit(v uint64)                { le.PutUint64(h[136:], v) }
func (h *StartViewHeader) Group() protocol.GroupID           { return protocol.GroupID(le.Uint64(h[144:])) }
func (h *StartViewHeader) SetGroup(v protocol.GroupID)       { le.PutUint64(h[144:], uint64(v)) }
func (h *StartViewHeader) Incarnation() protocol.Uint128     { return protocol.ReadUint128(h[240:]) }
func (h *StartViewHeader) SetIncarnation(v protocol.Uint128) { v.Put(h[240:]) }

// RequestStartViewHeader asks for the StartView of the current view. The common view is the prober's.
//
//	off size field
//	128    8 group
//	136    8 op                 head of the prober
//	144    4 log_view
//	148    1 claim              ClaimAmnesiac, ClaimEmpty
//	152    8 frontier           next offset after the data of a partition
//	160   16 head_checksum      identity of op, 0 unknown
//	240   16 incarnation
type RequestStartViewHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *RequestStartViewHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *RequestStartViewHeader) Group() protocol.GroupID {
	return protocol.GroupID(le.Uint64(h[128:]))
}
func (h *RequestStartViewHeader) SetGroup(v protocol.GroupID) { le.PutUint64(h[128:], uint64(v)) }
func (h *RequestStartViewHeader) Op() uint64                  { return le.Uint64(h[136:]) }
func (h *RequestStartViewHeader) SetOp(v uint64)              { le.PutUint64(h[136:], v) }
func (h *RequestStartViewHeader) LogView() uint32             { return le.Uint32(h[144:]) }
func (h *RequestStartViewHeader) SetLogView(v uint32)         { le.PutUint32(h[144:], v) }
func (h *RequestStartViewHeader) Claim() uint8                { return h[148] }
func (h *RequestStartViewHeader) SetClaim(v uint8)            { h[148] = v }
func (h *RequestStartViewHeader) Frontier() uint64            { return le.Uint64(h[152:]) }
func (h *RequestStartViewHeader) SetFrontier(v uint64)        { le.PutUint64(h[152:], v) }
func (h *RequestStartViewHeader) HeadChecksum() protocol.Uint128 {
	return protocol.ReadUint128(h[160:])
}
func (h *RequestStartViewHeader) SetHeadChecksum(v protocol.Uint128) { v.Put(h[160:]) }
func (h *RequestStartViewHeader) Incarnation() protocol.Uint128      { return protocol.ReadUint128(h[240:]) }
func (h *RequestStartViewHeader) SetIncarnation(v protocol.Uint128)  { v.Put(h[240:]) }

// Claims of a RequestStartView.
const (
	ClaimAmnesiac = 1 << 0 // the prober cannot prove that its log is complete
	ClaimEmpty    = 1 << 1 // its log is empty and nothing of the group was ever written
)
