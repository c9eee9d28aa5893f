package rawclient

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
)

// Reply is an answer as received. Both fields alias the receive buffer of the Conn. Header is nil for an
// eviction. Body is what follows the header, without the result section where the operation has one.
type Reply struct {
	Header *protocol.ReplyHeader
	Body   []byte
}

// decodeReply reads the answer to the request f out of a whole frame. The reply is returned beside an
// *Error too, so that its header can be inspected.
func decodeReply(frame []byte, f flight) (Reply, error) {
	common := (*protocol.Header)(frame)
	switch common.Command() {
	case protocol.CommandReply:
	case protocol.CommandEviction:
		reason := protocol.EvictionReason(frame[255])
		if len(frame) != protocol.HeaderSize || reason == 0 {
			return Reply{}, breach("eviction of %d bytes with reason %d", len(frame), uint8(reason))
		}
		return Reply{}, &Error{Channel: ChannelEviction, Reason: reason, Operation: f.op, Request: f.request}
	default:
		return Reply{}, breach("frame with command %d", uint8(common.Command()))
	}
	reply := Reply{Header: (*protocol.ReplyHeader)(frame), Body: frame[protocol.HeaderSize:]}
	if err := checkTurn(reply.Header, f); err != nil {
		return reply, err
	}
	if status := reply.Header.Status(); status != protocol.Success {
		if len(reply.Body) != 0 {
			return reply, breach("denial %d with a body of %d bytes", uint32(status), len(reply.Body))
		}
		return reply, &Error{Channel: ChannelDenial, Code: status, Operation: f.op, Request: f.request}
	}
	return cutResult(reply, f)
}

// checkTurn reports a reply that answers another request than f.
func checkTurn(h *protocol.ReplyHeader, f flight) error {
	if op := h.Operation(); op != f.op && op != rewritten(f.op) {
		return breach("%s answered as %s", f.op, op)
	}
	if h.Request() != f.request {
		return breach("%s with request number %d answered under number %d", f.op, f.request, h.Request())
	}
	return nil
}

// rewritten is the operation that a server commits in place of op; op itself where it rewrites nothing.
func rewritten(op protocol.Operation) protocol.Operation {
	switch op {
	case protocol.OpCreateTopic:
		return protocol.OpCreateTopicWithAssignments
	case protocol.OpCreatePartitions:
		return protocol.OpCreatePartitionsWithAssignments
	case protocol.OpDeleteSegments:
		return protocol.OpTruncatePartition
	}
	return op
}

// cutResult takes the result section off the body. Which replies carry one is told by the operation of
// the reply, not of the request.
func cutResult(reply Reply, f flight) (Reply, error) {
	op := reply.Header.Operation()
	framed := op.IsResultFramed() || op == protocol.OpRegister && len(reply.Body) > 0
	if !framed {
		return reply, nil
	}
	body := reply.Body
	if len(body) < 4 {
		return reply, breach("%s answered with a result section of %d bytes", f.op, len(body))
	}
	count := uint64(binary.LittleEndian.Uint32(body))
	if uint64(len(body)-4) < 8*count {
		return reply, breach("%s answered with %d results in %d bytes", f.op, count, len(body))
	}
	reply.Body = body[4+8*count:]
	if count > 0 {
		if code := protocol.Code(binary.LittleEndian.Uint32(body[8:])); code != protocol.Success {
			return reply, &Error{Channel: ChannelResult, Code: code, Operation: f.op, Request: f.request}
		}
	}
	return reply, nil
}
