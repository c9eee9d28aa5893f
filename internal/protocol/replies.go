package protocol

// AppendResult appends a result section: no entry for Success, else one entry of index 0.
func AppendResult(dst []byte, code Code) []byte {
	if code == Success {
		return le.AppendUint32(dst, 0)
	}
	dst = le.AppendUint32(dst, 1)
	dst = le.AppendUint32(dst, 0)
	return le.AppendUint32(dst, uint32(code))
}

// CutResult splits the body of a result-framed reply into the first code, Success when there is none, and
// the payload. A body too short for its own count is not ok.
func CutResult(body []byte) (code Code, payload []byte, ok bool) {
	if len(body) < 4 {
		return 0, nil, false
	}
	n := uint64(le.Uint32(body))
	if n*8 > uint64(len(body)-4) {
		return 0, nil, false
	}
	payload = body[4+n*8:]
	if n > 0 {
		code = Code(le.Uint32(body[8:]))
	}
	return code, payload, true
}

// SetEcho fills h for an answer that was not committed: the request's cluster, view, replica, checksum,
// timestamp, number and operation come back as they came. The size is that of an answer without a body;
// whoever adds one sets it.
func (h *ReplyHeader) SetEcho(r *RequestHeader, client Uint128, op, commit uint64, status Code) {
	*h = ReplyHeader{}
	c, rc := h.Common(), r.Common()
	c.SetCluster(rc.Cluster())
	c.SetSize(HeaderSize)
	c.SetView(rc.View())
	c.SetCommand(CommandReply)
	c.SetReplica(rc.Replica())
	copy(h[128:144], r[144:160])
	h.SetClient(client)
	h.SetOp(op)
	h.SetCommit(commit)
	h.SetTimestamp(r.Timestamp())
	h.SetRequest(r.Request())
	h.SetOperation(r.Operation())
	h.SetStatus(status)
}
