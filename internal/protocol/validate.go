package protocol

// Check applies the rules for the header of a delimited request, before anybody looks at who sent it. A
// code other than Success is a denial; the connection goes on and the request number is not consumed.
func (h *RequestHeader) Check() Code {
	op := h.Operation()
	switch {
	case h.Common().Command() != CommandRequest,
		!op.IsKnown(), op.IsInternal(), h.Client().IsZero():
		return CodeInvalidCommand
	case op == OpNonReplicated:
		return Success
	case op == OpRegister:
		if h.Session() != 0 || h.Request() != 0 {
			return CodeInvalidCommand
		}
		return Success
	case h.Session() == 0:
		return CodeInvalidCommand
	case h.Request() == 0 && !op.IsPartition():
		return CodeInvalidCommand
	}
	return Success
}

// CheckBody compares the request checksum, when there is one, with the body as received.
func (h *RequestHeader) CheckBody(body []byte) Code {
	sum := h.RequestChecksum()
	if sum.IsZero() || sum == Uint128From64(Hash64(body)) {
		return Success
	}
	return CodeInvalidFormat
}

// FrameSizeOK reports whether a frame of that size can be delimited at all.
func FrameSizeOK(size uint32, max int) bool { return size >= HeaderSize && uint64(size) <= uint64(max) }
