package protocol_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func TestVectors_SessionFrames(t *testing.T)   { proveAll(t, "session.json", proveFrame) }
func TestVectors_MetadataFrames(t *testing.T)  { proveAll(t, "metadata.json", proveFrame) }
func TestVectors_PartitionFrames(t *testing.T) { proveAll(t, "partition.json", proveFrame) }

// proveFrame decodes a frame, compares every listed field, builds it again from what was decoded and
// compares the bytes.
func proveFrame(t *testing.T, v vector) {
	if v.Direction == "at rest / inside poll replies" {
		proveRecord(t, v)
		return
	}
	common := (*protocol.Header)(v.bytes[:protocol.HeaderSize])
	if !protocol.FrameSizeOK(common.Size(), protocol.MaxFrameSizeDefault) || int(common.Size()) != len(v.bytes) {
		t.Fatalf("frame of size %d in %d bytes", common.Size(), len(v.bytes))
	}
	switch common.Command() {
	case protocol.CommandRequest:
		proveRequest(t, v)
	case protocol.CommandReply:
		proveReply(t, v)
	case protocol.CommandEviction:
		proveEviction(t, v)
	default:
		t.Fatalf("command %d", common.Command())
	}
}

func commonFields(v vector) fields {
	h := (*protocol.Header)(v.bytes[:protocol.HeaderSize])
	return fields{
		"total_len": len(v.bytes), "size": h.Size(), "command": h.Command(), "view": h.View(), "replica": h.Replica(),
		"cluster": h.Cluster().Lo,
	}
}

func requestFields(h *protocol.RequestHeader) fields {
	f := fields{
		"client": "0x" + h.Client().String(), "request": h.Request(), "operation": h.Operation(), "session": h.Session(),
		"user_id": h.UserID(), "request_checksum": fmt.Sprintf("0x%016x", h.RequestChecksum().Lo),
	}
	if h.Operation() == protocol.OpNonReplicated {
		f["non_replicated_code"] = h.CommandCode()
	}
	return f
}

// rebuildRequest makes the header of a request from the decoded parts of another.
func rebuildRequest(h *protocol.RequestHeader) *protocol.RequestHeader {
	r := new(protocol.RequestHeader)
	r.Common().SetSize(h.Common().Size())
	r.Common().SetCommand(h.Common().Command())
	r.SetClient(h.Client())
	r.SetRequestChecksum(h.RequestChecksum())
	r.SetTimestamp(h.Timestamp())
	r.SetRequest(h.Request())
	r.SetOperation(h.Operation())
	r.SetSession(h.Session())
	r.SetUserID(h.UserID())
	r.SetCommandCode(h.CommandCode())
	r.SetNumbered(h.Numbered())
	return r
}

func proveRequest(t *testing.T, v vector) {
	h, body := (*protocol.RequestHeader)(v.bytes), v.bytes[protocol.HeaderSize:]
	if code := h.Check(); code != protocol.Success {
		t.Errorf("header refused: %v", code)
	}
	if code := h.CheckBody(body); code != protocol.Success {
		t.Errorf("body refused: %v", code)
	}
	if h.Numbered() {
		t.Error("numbered")
	}
	decode, ok := frameBodies[v.Name]
	if !ok {
		t.Fatal("no codec for the body of this frame")
	}
	got, again, err := decode(body)
	if err != nil {
		t.Fatal(err)
	}
	v.expect(t, commonFields(v).add(requestFields(h)).add(fields{"body_len": len(body)}).add(got))
	r := rebuildRequest(h)
	v.expectBytes(t, append(r[:], again...))
}

func replyFields(h *protocol.ReplyHeader) fields {
	return fields{
		"client": "0x" + h.Client().String(), "op": h.Op(), "commit": h.Commit(), "timestamp": h.Timestamp(),
		"request": h.Request(), "operation": h.Operation(), "status": h.Status(),
	}
}

func proveReply(t *testing.T, v vector) {
	h, body := (*protocol.ReplyHeader)(v.bytes), v.bytes[protocol.HeaderSize:]
	got := commonFields(v).add(replyFields(h))
	var framed []byte
	refused := h.Status() != protocol.Success
	payload := body
	if h.Operation().IsResultFramed() || h.Operation() == protocol.OpRegister && len(body) > 0 {
		code, rest, ok := protocol.CutResult(body)
		if !ok {
			t.Fatal("no result section")
		}
		got.add(resultFields(code))
		framed, payload = protocol.AppendResult(nil, code), rest
		refused = refused || code != protocol.Success
	}
	decode, ok := frameBodies[v.Name]
	if !ok {
		t.Fatal("no codec for the body of this frame")
	}
	decoded, again, err := decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	v.expect(t, got.add(decoded))
	if text, ok := v.Fields["sdk_error"]; ok && (text != "") != refused {
		t.Errorf("client says %q, decoded as refused: %t", text, refused)
	}
	again = slices.Concat(framed, again)
	v.expectBytes(t, slices.Concat(rebuildReply(h, len(again))[:], again))
}

func resultFields(code protocol.Code) fields {
	if code == protocol.Success {
		return fields{"result_count": 0}
	}
	return fields{"result_count": 1, "result_index": 0, "result_code": code}
}

// rebuildReply makes the header of a reply with the builders that servers use: a reply that carries a
// cluster is a committed one.
func rebuildReply(h *protocol.ReplyHeader, bodyLen int) *protocol.ReplyHeader {
	r := new(protocol.ReplyHeader)
	if !h.Common().Cluster().IsZero() {
		p := new(protocol.PrepareHeader)
		p.Common().SetCluster(h.Common().Cluster())
		p.Common().SetView(h.Common().View())
		p.Common().SetReplica(h.Common().Replica())
		p.Common().SetCommand(protocol.CommandPrepare)
		p.SetClient(h.Client())
		p.SetOp(h.Op())
		p.SetCommit(h.Op() - 1)
		p.SetTimestamp(h.Timestamp())
		p.SetRequest(h.Request())
		p.SetOperation(h.Operation())
		p.SetRequestChecksum(h.RequestChecksum())
		p.SetUserID(7)
		p.Seal()
		r.SetCommitted(p, bodyLen)
		return r
	}
	q := new(protocol.RequestHeader)
	q.SetClient(h.Client())
	q.SetRequest(h.Request())
	q.SetOperation(h.Operation())
	q.SetRequestChecksum(h.RequestChecksum())
	q.SetTimestamp(h.Timestamp())
	r.SetEcho(q, h.Client(), h.Op(), h.Commit(), h.Status())
	r.Common().SetSize(uint32(protocol.HeaderSize + bodyLen))
	return r
}

func proveEviction(t *testing.T, v vector) {
	h := (*protocol.EvictionHeader)(v.bytes)
	if !h.Check() {
		t.Error("eviction does not check")
	}
	highest, lowest := h.Versions()
	v.expect(t, commonFields(v).add(fields{
		"client": "0x" + h.Client().String(), "reason": h.Reason(),
		"server_protocol_version": highest, "server_protocol_version_min": lowest,
	}))
	r := new(protocol.EvictionHeader)
	r.Set(h.Client(), h.Reason())
	r.Common().SetView(h.Common().View())
	r.Common().SetReplica(h.Common().Replica())
	v.expectBytes(t, r[:])
}

// empty is the codec of bodies without a byte.
func empty(body []byte) (fields, []byte, error) {
	if len(body) != 0 {
		return nil, nil, fmt.Errorf("%d bytes where none belong", len(body))
	}
	return fields{}, nil, nil
}

// frameBodies has the codec of every frame's body by the name of its vector; of a reply, behind the result
// section.
var frameBodies = map[string]codec{
	"ping_preauth_request": empty, "ping_reply": empty, "denial_preauth_read_reply": empty, "login_transient_reply": empty,
	"logout_request": empty, "logout_reply": empty, "get_cluster_metadata_request": empty,
	"login_register_request": login, "login_register_with_pat_request": loginToken, "login_register_reply": loginReply,

	"create_stream_request": createStream, "create_stream_request_stamped": lengthBeforeOptions, "create_stream_reply": streamDetails,
	"committed_rejection_reply": empty, "transient_not_committed_reply": empty,

	"send_messages_request": sendMessages, "send_messages_request_balanced": sendMessages,
	"send_messages_request_messages_key": sendMessages, "send_messages_reply": confirmations,
	"send_messages_reply_no_confirmation": confirmations, "denial_unauthorized_reply": empty,
	"denial_transient_not_accepted_reply": empty, "poll_messages_request": pollMessages,
	"poll_messages_reply_full_batch": pollReply, "poll_messages_reply_mid_batch": pollReply,
	"poll_messages_reply_empty": pollReply, "poll_messages_reply_resync": pollReply,
	"store_consumer_offset_request": storeOffset, "store_consumer_offset_reply": empty,
	"get_consumer_offset_request": offsetRef, "get_consumer_offset_reply": offsetReply,
	"sync_consumer_group_request": groupRef, "sync_consumer_group_reply": syncReply,
}

// lengthBeforeOptions stands for the one vector whose body is not a body: it puts a length in front of its
// empty options, and the options of a request have none. Its header and stamp hold; no server decodes it.
func lengthBeforeOptions(body []byte) (fields, []byte, error) {
	if _, err := command.DecodeCreateStream(body); err == nil {
		return nil, nil, fmt.Errorf("a length in front of the options was taken for options")
	}
	r := protocol.NewReader(body)
	name, options := r.Name("name"), r.Text32Raw("options")
	r.End()
	return fields{"name": string(name), "options_len": len(options)},
		protocol.AppendText32(protocol.AppendName(nil, name), options), r.Err()
}
