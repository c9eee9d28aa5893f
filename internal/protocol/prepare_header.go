package protocol

import "github.com/zeebo/xxh3"

// PrepareHeader heads one operation of a group's log: on a replica link, in a write-ahead log and in the
// memory of a replica.
//
//	off size field
//	  0   16 checksum          identity: hash of all bytes but itself and view
//	 16   16 checksum_body     hash of the body; of the stamped batch header for SendMessages
//	128   16 client            2^128-1 for operations the server itself proposed
//	144   16 parent            identity of the operation before
//	160   16 request_checksum
//	176    8 op                1, 2, 3, ...
//	184    8 commit            commit point of the primary when it was built
//	192    8 timestamp         microseconds, strictly increasing within a group
//	200    8 request           0 in a partition group unless the client numbers its requests
//	208    1 operation
//	216    8 group
//	224    4 user_id           acting user
//
// The remaining bytes are zero and inside the identity.
type PrepareHeader [HeaderSize]byte

// Common gives access to the first half.
func (h *PrepareHeader) Common() *Header { return (*Header)(h) }

// Client is the client whose request this is; MaxUint128 when the server itself proposed it. Never 0.
func (h *PrepareHeader) Client() Uint128 { return ReadUint128(h[128:]) }

// SetClient stores the client.
func (h *PrepareHeader) SetClient(v Uint128) { v.Put(h[128:]) }

// Parent is the identity of the operation before.
func (h *PrepareHeader) Parent() Uint128 { return ReadUint128(h[144:]) }

// SetParent stores the identity of the operation before.
func (h *PrepareHeader) SetParent(v Uint128) { v.Put(h[144:]) }

// RequestChecksum is that of the request; 0 when it carried none.
func (h *PrepareHeader) RequestChecksum() Uint128 { return ReadUint128(h[160:]) }

// SetRequestChecksum stores the checksum of the request.
func (h *PrepareHeader) SetRequestChecksum(v Uint128) { v.Put(h[160:]) }

// Op is the position in the log, from 1.
func (h *PrepareHeader) Op() uint64 { return le.Uint64(h[176:]) }

// SetOp stores the position.
func (h *PrepareHeader) SetOp(v uint64) { le.PutUint64(h[176:], v) }

// Commit is the commit point of the primary when it built the header; always below Op.
func (h *PrepareHeader) Commit() uint64 { return le.Uint64(h[184:]) }

// SetCommit stores the commit point.
func (h *PrepareHeader) SetCommit(v uint64) { le.PutUint64(h[184:], v) }

// Timestamp is the primary's time in microseconds since the Unix epoch, above that of the operation before.
func (h *PrepareHeader) Timestamp() uint64 { return le.Uint64(h[192:]) }

// SetTimestamp stores the time.
func (h *PrepareHeader) SetTimestamp(v uint64) { le.PutUint64(h[192:], v) }

// Request is the request number; 0 in a partition group unless the client numbers its requests.
func (h *PrepareHeader) Request() uint64 { return le.Uint64(h[200:]) }

// SetRequest stores the request number.
func (h *PrepareHeader) SetRequest(v uint64) { le.PutUint64(h[200:], v) }

// Operation is what the operation does.
func (h *PrepareHeader) Operation() Operation { return Operation(h[208]) }

// SetOperation stores the operation.
func (h *PrepareHeader) SetOperation(v Operation) { h[208] = byte(v) }

// Group is the GroupID of the log, as a number.
func (h *PrepareHeader) Group() uint64 { return le.Uint64(h[216:]) }

// SetGroup stores the group.
func (h *PrepareHeader) SetGroup(v uint64) { le.PutUint64(h[216:], v) }

// UserID is the acting user.
func (h *PrepareHeader) UserID() uint32 { return le.Uint32(h[224:]) }

// SetUserID stores the acting user.
func (h *PrepareHeader) SetUserID(v uint32) { le.PutUint32(h[224:], v) }

// Identity computes the checksum that names this operation: XXH3-64, zero-extended, of the header with
// the checksum itself and the view taken as zero and the command as Prepare, so that a retransmission in
// a later view and a repair keep the identity.
func (h *PrepareHeader) Identity() Uint128 {
	c := *h
	clear(c[0:16])
	clear(c[52:56])
	c[60] = byte(CommandPrepare)
	return Uint128From64(xxh3.Hash(c[:]))
}

// Seal writes the identity. It must be the last change to the header.
func (h *PrepareHeader) Seal() { h.Common().SetChecksum(h.Identity()) }

// VerifyIdentity reports whether the stored identity is the computed one. A zero identity never is.
func (h *PrepareHeader) VerifyIdentity() bool {
	c := h.Common().Checksum()
	return !c.IsZero() && c == h.Identity()
}
