package protocol

// RequestHeader heads every frame that a client sends.
//
//	off size field
//	128   16 client            chosen by the client, never zero
//	144   16 request_checksum  0, or the hash of the body
//	160    8 timestamp
//	168    8 request           request number
//	176    1 operation
//	184    8 session           fence
//	192    4 user_id           never trusted
//	196    4 code              command code of a NonReplicated request
//	200    1 numbered          1: the client numbers its partition requests
type RequestHeader [HeaderSize]byte

// Common gives access to the first half.
func (h *RequestHeader) Common() *Header { return (*Header)(h) }

// Client is the id that the client chose for itself; a request with 0 is refused. Once a connection has signed in
// it is the binding that counts, not this.
func (h *RequestHeader) Client() Uint128 { return ReadUint128(h[128:]) }

// SetClient stores the id of the client.
func (h *RequestHeader) SetClient(v Uint128) { v.Put(h[128:]) }

// RequestChecksum is the hash of the body widened to 128 bits, or 0 when the client does not stamp it.
func (h *RequestHeader) RequestChecksum() Uint128 { return ReadUint128(h[144:]) }

// SetRequestChecksum stores the hash of the body.
func (h *RequestHeader) SetRequestChecksum(v Uint128) { v.Put(h[144:]) }

// Timestamp is the client's own time, which only travels back in answers that were not committed.
func (h *RequestHeader) Timestamp() uint64 { return le.Uint64(h[160:]) }

// SetTimestamp stores a time that comes back.
func (h *RequestHeader) SetTimestamp(v uint64) { le.PutUint64(h[160:], v) }

// Request is the client's request number: 0 for Register, at least 1 for metadata operations and Logout, anything on
// reads and partition operations.
func (h *RequestHeader) Request() uint64 { return le.Uint64(h[168:]) }

// SetRequest stores the request number.
func (h *RequestHeader) SetRequest(v uint64) { le.PutUint64(h[168:], v) }

// Operation is what the request asks for, unchecked.
func (h *RequestHeader) Operation() Operation { return Operation(h[176]) }

// SetOperation stores the operation.
func (h *RequestHeader) SetOperation(v Operation) { h[176] = byte(v) }

// Session is the fence that sign-in returned; 0 before it.
func (h *RequestHeader) Session() uint64 { return le.Uint64(h[184:]) }

// SetSession stores the fence of the session.
func (h *RequestHeader) SetSession(v uint64) { le.PutUint64(h[184:], v) }

// UserID is whatever the client wrote; it is never trusted.
func (h *RequestHeader) UserID() uint32 { return le.Uint32(h[192:]) }

// SetUserID stores the acting user.
func (h *RequestHeader) SetUserID(v uint32) { le.PutUint32(h[192:], v) }

// CommandCode is the command of a NonReplicated request, unchecked; 0 on any other.
func (h *RequestHeader) CommandCode() uint32 { return le.Uint32(h[196:]) }

// SetCommandCode stores the command of a NonReplicated request.
func (h *RequestHeader) SetCommandCode(v uint32) { le.PutUint32(h[196:], v) }

// Numbered reports whether the client numbers its requests per partition, so that a repeated one can be
// recognised. It means nothing outside partition operations.
func (h *RequestHeader) Numbered() bool { return h[200] == 1 }

// SetNumbered says whether the request number counts within the partition.
func (h *RequestHeader) SetNumbered(v bool) {
	h[200] = 0
	if v {
		h[200] = 1
	}
}
