package protocol

// ReplyHeader heads an answer.
//
//	off size field
//	128   16 request_checksum  echo
//	144   16 context           0
//	160   16 client
//	176    8 op
//	184    8 commit
//	192    8 timestamp
//	200    8 request           echo of the client's own number
//	208    1 operation
//	216    4 status            0, or the code of a denial
type ReplyHeader [HeaderSize]byte

// Common gives access to the first half.
func (h *ReplyHeader) Common() *Header { return (*Header)(h) }

// RequestChecksum is that of the request, as it came.
func (h *ReplyHeader) RequestChecksum() Uint128 { return ReadUint128(h[128:]) }

// SetRequestChecksum stores the checksum of the request.
func (h *ReplyHeader) SetRequestChecksum(v Uint128) { v.Put(h[128:]) }

// Client is a consensus client id or the id of the connection; a client must not compare it with its own.
func (h *ReplyHeader) Client() Uint128 { return ReadUint128(h[160:]) }

// SetClient stores the id shown to the client.
func (h *ReplyHeader) SetClient(v Uint128) { v.Put(h[160:]) }

// Op is the log position of a committed operation; otherwise by kind of answer a session, a commit point or 0.
func (h *ReplyHeader) Op() uint64 { return le.Uint64(h[176:]) }

// SetOp stores the position.
func (h *ReplyHeader) SetOp(v uint64) { le.PutUint64(h[176:], v) }

// Commit is the log position of a committed operation; otherwise a commit point, or 0.
func (h *ReplyHeader) Commit() uint64 { return le.Uint64(h[184:]) }

// SetCommit stores the commit point.
func (h *ReplyHeader) SetCommit(v uint64) { le.PutUint64(h[184:], v) }

// Timestamp is the time of a committed operation in microseconds since the Unix epoch; otherwise that of the request.
func (h *ReplyHeader) Timestamp() uint64 { return le.Uint64(h[192:]) }

// SetTimestamp stores the time.
func (h *ReplyHeader) SetTimestamp(v uint64) { le.PutUint64(h[192:], v) }

// Request is the client's own request number.
func (h *ReplyHeader) Request() uint64 { return le.Uint64(h[200:]) }

// SetRequest stores the request number.
func (h *ReplyHeader) SetRequest(v uint64) { le.PutUint64(h[200:], v) }

// Operation is the operation that the body answers: the committed one, which may be a rewritten form of the one asked for.
func (h *ReplyHeader) Operation() Operation { return Operation(h[208]) }

// SetOperation stores the operation.
func (h *ReplyHeader) SetOperation(v Operation) { h[208] = byte(v) }

// Status is Success, or the code of a denial; then there is no body.
func (h *ReplyHeader) Status() Code { return Code(le.Uint32(h[216:])) }

// SetStatus stores the status.
func (h *ReplyHeader) SetStatus(v Code) { le.PutUint32(h[216:], uint32(v)) }

// SetCommitted fills h for the reply to a committed operation with a body of bodyLen bytes. Every field
// comes from the prepare, so any replica that applies the operation builds the same bytes. A partition
// operation that its client does not number was prepared with request 0: whoever answers it puts the
// client's own number back.
func (h *ReplyHeader) SetCommitted(p *PrepareHeader, bodyLen int) {
	*h = ReplyHeader{}
	c, pc := h.Common(), p.Common()
	c.SetCluster(pc.Cluster())
	c.SetSize(uint32(HeaderSize + bodyLen))
	c.SetView(pc.View())
	c.SetCommand(CommandReply)
	c.SetReplica(pc.Replica())
	h.SetRequestChecksum(p.RequestChecksum())
	h.SetClient(p.Client())
	h.SetOp(p.Op())
	h.SetCommit(p.Op())
	h.SetTimestamp(p.Timestamp())
	h.SetRequest(p.Request())
	h.SetOperation(p.Operation())
}
