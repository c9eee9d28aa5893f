package vsr

import "github.com/galgolog/galgo/internal/protocol"

// ForwardOutcome is what became of something forwarded to the primary. Its values depend on the frame: the
// constants are named after it.
type ForwardOutcome uint8

// Outcomes of ForwardRegisterResult.
const (
	RegisterOk           ForwardOutcome = 0
	RegisterNotPrimary   ForwardOutcome = 1
	RegisterNotCaughtUp  ForwardOutcome = 2 // reserved, never sent
	RegisterPipelineFull ForwardOutcome = 3
	RegisterInProgress   ForwardOutcome = 4
	RegisterCanceled     ForwardOutcome = 5
	RegisterForeignID    ForwardOutcome = 6 // the client id belongs to another user; terminal
)

// Outcomes of ForwardLogoutResult.
const (
	LogoutOk           ForwardOutcome = 0
	LogoutNotPrimary   ForwardOutcome = 1
	LogoutPipelineFull ForwardOutcome = 2
	LogoutInProgress   ForwardOutcome = 3
	LogoutCanceled     ForwardOutcome = 4
)

// Outcomes of ForwardReply.
const (
	ForwardAnswered         ForwardOutcome = 0
	ForwardNotPrimary       ForwardOutcome = 1
	ForwardNotReady         ForwardOutcome = 2
	ForwardQueueFull        ForwardOutcome = 3
	ForwardCanceled         ForwardOutcome = 4
	ForwardWrongIncarnation ForwardOutcome = 5
)

// ForwardBudgetMaxMillis bounds the time an entry node asks a primary to take.
const ForwardBudgetMaxMillis = 5000

// ForwardFlushCode is the command code that a forwarded flush carries.
const ForwardFlushCode = 102

// ForwardRegisterHeader carries a sign-in, verified at the entry node, to the metadata primary.
//
//	off size field
//	128   16 client
//	144   16 nonce
//	160    4 user_i_d
//	168    8 verified_at        commit_min of the sender when it verified
type ForwardRegisterHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *ForwardRegisterHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *ForwardRegisterHeader) Client() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *ForwardRegisterHeader) SetClient(v protocol.Uint128) { v.Put(h[128:]) }
func (h *ForwardRegisterHeader) Nonce() protocol.Uint128      { return protocol.ReadUint128(h[144:]) }
func (h *ForwardRegisterHeader) SetNonce(v protocol.Uint128)  { v.Put(h[144:]) }
func (h *ForwardRegisterHeader) UserID() uint32               { return le.Uint32(h[160:]) }
func (h *ForwardRegisterHeader) SetUserID(v uint32)           { le.PutUint32(h[160:], v) }
func (h *ForwardRegisterHeader) VerifiedAt() uint64           { return le.Uint64(h[168:]) }
func (h *ForwardRegisterHeader) SetVerifiedAt(v uint64)       { le.PutUint64(h[168:], v) }

// ForwardRegisterResultHeader answers a ForwardRegister.
//
//	off size field
//	128   16 nonce
//	144   16 client
//	160    8 epoch              0 unless the outcome is Ok
//	168    8 watermark          0 unless the outcome is Ok
//	255    1 outcome
type ForwardRegisterResultHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *ForwardRegisterResultHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *ForwardRegisterResultHeader) Nonce() protocol.Uint128      { return protocol.ReadUint128(h[128:]) }
func (h *ForwardRegisterResultHeader) SetNonce(v protocol.Uint128)  { v.Put(h[128:]) }
func (h *ForwardRegisterResultHeader) Client() protocol.Uint128     { return protocol.ReadUint128(h[144:]) }
func (h *ForwardRegisterResultHeader) SetClient(v protocol.Uint128) { v.Put(h[144:]) }
func (h *ForwardRegisterResultHeader) Epoch() uint64                { return le.Uint64(h[160:]) }
func (h *ForwardRegisterResultHeader) SetEpoch(v uint64)            { le.PutUint64(h[160:], v) }
func (h *ForwardRegisterResultHeader) Watermark() uint64            { return le.Uint64(h[168:]) }
func (h *ForwardRegisterResultHeader) SetWatermark(v uint64)        { le.PutUint64(h[168:], v) }
func (h *ForwardRegisterResultHeader) Outcome() ForwardOutcome      { return ForwardOutcome(h[255]) }
func (h *ForwardRegisterResultHeader) SetOutcome(v ForwardOutcome)  { h[255] = byte(v) }

// ForwardLogoutHeader carries a logout to the metadata primary.
//
//	off size field
//	128   16 client
//	144   16 nonce
//	160    8 session            at least 1
//	168    8 request            at least 1
type ForwardLogoutHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *ForwardLogoutHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *ForwardLogoutHeader) Client() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *ForwardLogoutHeader) SetClient(v protocol.Uint128) { v.Put(h[128:]) }
func (h *ForwardLogoutHeader) Nonce() protocol.Uint128      { return protocol.ReadUint128(h[144:]) }
func (h *ForwardLogoutHeader) SetNonce(v protocol.Uint128)  { v.Put(h[144:]) }
func (h *ForwardLogoutHeader) Session() uint64              { return le.Uint64(h[160:]) }
func (h *ForwardLogoutHeader) SetSession(v uint64)          { le.PutUint64(h[160:], v) }
func (h *ForwardLogoutHeader) Request() uint64              { return le.Uint64(h[168:]) }
func (h *ForwardLogoutHeader) SetRequest(v uint64)          { le.PutUint64(h[168:], v) }

// ForwardLogoutResultHeader answers a ForwardLogout.
//
//	off size field
//	128   16 nonce
//	144   16 client
//	160    8 commit             0 unless the outcome is Ok
//	255    1 outcome
type ForwardLogoutResultHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *ForwardLogoutResultHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *ForwardLogoutResultHeader) Nonce() protocol.Uint128      { return protocol.ReadUint128(h[128:]) }
func (h *ForwardLogoutResultHeader) SetNonce(v protocol.Uint128)  { v.Put(h[128:]) }
func (h *ForwardLogoutResultHeader) Client() protocol.Uint128     { return protocol.ReadUint128(h[144:]) }
func (h *ForwardLogoutResultHeader) SetClient(v protocol.Uint128) { v.Put(h[144:]) }
func (h *ForwardLogoutResultHeader) Commit() uint64               { return le.Uint64(h[160:]) }
func (h *ForwardLogoutResultHeader) SetCommit(v uint64)           { le.PutUint64(h[160:], v) }
func (h *ForwardLogoutResultHeader) Outcome() ForwardOutcome      { return ForwardOutcome(h[255]) }
func (h *ForwardLogoutResultHeader) SetOutcome(v ForwardOutcome)  { h[255] = byte(v) }

// ForwardRequestHeader carries a partition operation, a flush or an auto-commit to the primary of its group. The common view is 0.
//
//	off size field
//	128   16 client             2^128-1 for an auto-commit
//	144   16 nonce
//	160    8 group
//	168    8 request            the client's number
//	176    8 session            at least 1; 0 for an auto-commit
//	184    8 metadata_op        watermark of the session
//	192    8 verified_at        metadata commit_min of the sender when it authorized
//	200   16 request_checksum
//	216    4 user_i_d
//	220    4 code               102 for a flush, else 0
//	224    4 budget_millis      1..5000
//	228    1 operation          160, 161, 162 or 2
//	229    1 numbered
type ForwardRequestHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *ForwardRequestHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *ForwardRequestHeader) Client() protocol.Uint128     { return protocol.ReadUint128(h[128:]) }
func (h *ForwardRequestHeader) SetClient(v protocol.Uint128) { v.Put(h[128:]) }
func (h *ForwardRequestHeader) Nonce() protocol.Uint128      { return protocol.ReadUint128(h[144:]) }
func (h *ForwardRequestHeader) SetNonce(v protocol.Uint128)  { v.Put(h[144:]) }
func (h *ForwardRequestHeader) Group() protocol.GroupID      { return protocol.GroupID(le.Uint64(h[160:])) }
func (h *ForwardRequestHeader) SetGroup(v protocol.GroupID)  { le.PutUint64(h[160:], uint64(v)) }
func (h *ForwardRequestHeader) Request() uint64              { return le.Uint64(h[168:]) }
func (h *ForwardRequestHeader) SetRequest(v uint64)          { le.PutUint64(h[168:], v) }
func (h *ForwardRequestHeader) Session() uint64              { return le.Uint64(h[176:]) }
func (h *ForwardRequestHeader) SetSession(v uint64)          { le.PutUint64(h[176:], v) }
func (h *ForwardRequestHeader) MetadataOp() uint64           { return le.Uint64(h[184:]) }
func (h *ForwardRequestHeader) SetMetadataOp(v uint64)       { le.PutUint64(h[184:], v) }
func (h *ForwardRequestHeader) VerifiedAt() uint64           { return le.Uint64(h[192:]) }
func (h *ForwardRequestHeader) SetVerifiedAt(v uint64)       { le.PutUint64(h[192:], v) }
func (h *ForwardRequestHeader) RequestChecksum() protocol.Uint128 {
	return protocol.ReadUint128(h[200:])
}
func (h *ForwardRequestHeader) SetRequestChecksum(v protocol.Uint128) { v.Put(h[200:]) }
func (h *ForwardRequestHeader) UserID() uint32                        { return le.Uint32(h[216:]) }
func (h *ForwardRequestHeader) SetUserID(v uint32)                    { le.PutUint32(h[216:], v) }
func (h *ForwardRequestHeader) Code() uint32                          { return le.Uint32(h[220:]) }
func (h *ForwardRequestHeader) SetCode(v uint32)                      { le.PutUint32(h[220:], v) }
func (h *ForwardRequestHeader) BudgetMillis() uint32                  { return le.Uint32(h[224:]) }
func (h *ForwardRequestHeader) SetBudgetMillis(v uint32)              { le.PutUint32(h[224:], v) }
func (h *ForwardRequestHeader) Operation() protocol.Operation         { return protocol.Operation(h[228]) }
func (h *ForwardRequestHeader) SetOperation(v protocol.Operation)     { h[228] = byte(v) }
func (h *ForwardRequestHeader) Numbered() bool                        { return h[229] != 0 }
func (h *ForwardRequestHeader) SetNumbered(v bool)                    { h[229] = boolByte(v) }

// ForwardReplyHeader answers a ForwardRequest; view and replica are those of the primary. The body is the client's reply body.
//
//	off size field
//	128   16 client
//	144   16 nonce
//	160    8 group
//	168    8 op                 of the committed prepare, else 0
//	176    8 commit
//	184    8 timestamp
//	192    4 status
//	196    1 operation
//	197    1 outcome
type ForwardReplyHeader [protocol.HeaderSize]byte

// Common gives access to the first half.
func (h *ForwardReplyHeader) Common() *protocol.Header { return (*protocol.Header)(h) }

func (h *ForwardReplyHeader) Client() protocol.Uint128          { return protocol.ReadUint128(h[128:]) }
func (h *ForwardReplyHeader) SetClient(v protocol.Uint128)      { v.Put(h[128:]) }
func (h *ForwardReplyHeader) Nonce() protocol.Uint128           { return protocol.ReadUint128(h[144:]) }
func (h *ForwardReplyHeader) SetNonce(v protocol.Uint128)       { v.Put(h[144:]) }
func (h *ForwardReplyHeader) Group() protocol.GroupID           { return protocol.GroupID(le.Uint64(h[160:])) }
func (h *ForwardReplyHeader) SetGroup(v protocol.GroupID)       { le.PutUint64(h[160:], uint64(v)) }
func (h *ForwardReplyHeader) Op() uint64                        { return le.Uint64(h[168:]) }
func (h *ForwardReplyHeader) SetOp(v uint64)                    { le.PutUint64(h[168:], v) }
func (h *ForwardReplyHeader) Commit() uint64                    { return le.Uint64(h[176:]) }
func (h *ForwardReplyHeader) SetCommit(v uint64)                { le.PutUint64(h[176:], v) }
func (h *ForwardReplyHeader) Timestamp() uint64                 { return le.Uint64(h[184:]) }
func (h *ForwardReplyHeader) SetTimestamp(v uint64)             { le.PutUint64(h[184:], v) }
func (h *ForwardReplyHeader) Status() protocol.Code             { return protocol.Code(le.Uint32(h[192:])) }
func (h *ForwardReplyHeader) SetStatus(v protocol.Code)         { le.PutUint32(h[192:], uint32(v)) }
func (h *ForwardReplyHeader) Operation() protocol.Operation     { return protocol.Operation(h[196]) }
func (h *ForwardReplyHeader) SetOperation(v protocol.Operation) { h[196] = byte(v) }
func (h *ForwardReplyHeader) Outcome() ForwardOutcome           { return ForwardOutcome(h[197]) }
func (h *ForwardReplyHeader) SetOutcome(v ForwardOutcome)       { h[197] = byte(v) }
