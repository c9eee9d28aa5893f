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

func (h *RequestHeader) Client() Uint128              { return ReadUint128(h[128:]) }
func (h *RequestHeader) SetClient(v Uint128)          { v.Put(h[128:]) }
func (h *RequestHeader) RequestChecksum() Uint128     { return ReadUint128(h[144:]) }
func (h *RequestHeader) SetRequestChecksum(v Uint128) { v.Put(h[144:]) }
func (h *RequestHeader) Timestamp() uint64            { return le.Uint64(h[160:]) }
func (h *RequestHeader) SetTimestamp(v uint64)        { le.PutUint64(h[160:], v) }
func (h *RequestHeader) Request() uint64              { return le.Uint64(h[168:]) }
func (h *RequestHeader) SetRequest(v uint64)          { le.PutUint64(h[168:], v) }
func (h *RequestHeader) Operation() Operation         { return Operation(h[176]) }
func (h *RequestHeader) SetOperation(v Operation)     { h[176] = byte(v) }
func (h *RequestHeader) Session() uint64              { return le.Uint64(h[184:]) }
func (h *RequestHeader) SetSession(v uint64)          { le.PutUint64(h[184:], v) }
func (h *RequestHeader) UserID() uint32               { return le.Uint32(h[192:]) }
func (h *RequestHeader) SetUserID(v uint32)           { le.PutUint32(h[192:], v) }
func (h *RequestHeader) CommandCode() uint32          { return le.Uint32(h[196:]) }
func (h *RequestHeader) SetCommandCode(v uint32)      { le.PutUint32(h[196:], v) }
func (h *RequestHeader) Numbered() bool               { return h[200] == 1 }
func (h *RequestHeader) SetNumbered(v bool) {
	h[200] = 0
	if v {
		h[200] = 1
	}
}
