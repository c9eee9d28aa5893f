package protocol_test

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// request makes a header that passes for an operation; edits then break it.
func request(op protocol.Operation, edits ...func(*protocol.RequestHeader)) *protocol.RequestHeader {
	h := new(protocol.RequestHeader)
	h.Common().SetSize(protocol.HeaderSize)
	h.Common().SetCommand(protocol.CommandRequest)
	h.SetClient(protocol.Uint128From64(1))
	h.SetOperation(op)
	if op != protocol.OpRegister {
		h.SetSession(42)
		h.SetRequest(1)
	}
	for _, edit := range edits {
		edit(h)
	}
	return h
}

func session(v uint64) func(*protocol.RequestHeader) {
	return func(h *protocol.RequestHeader) { h.SetSession(v) }
}

func numberOf(v uint64) func(*protocol.RequestHeader) {
	return func(h *protocol.RequestHeader) { h.SetRequest(v) }
}

func TestRequestHeader_Check(t *testing.T) {
	const ok, denied = protocol.Success, protocol.CodeInvalidCommand
	noClient := func(h *protocol.RequestHeader) { h.SetClient(protocol.Uint128{}) }
	highClient := func(h *protocol.RequestHeader) { h.SetClient(protocol.Uint128{Hi: 1}) }
	untrusted := func(h *protocol.RequestHeader) {
		h.SetUserID(9)
		h.SetTimestamp(9)
		h.SetNumbered(true)
		h.Common().SetCluster(protocol.Uint128From64(9))
		h.Common().SetView(9)
		h.Common().SetRelease(9)
		h.Common().SetReplica(9)
		h[62], h[127], h[177], h[183], h[201], h[255] = 1, 1, 1, 1, 1, 1
	}
	for _, tt := range []struct {
		name string
		h    *protocol.RequestHeader
		want protocol.Code
	}{
		{"register", request(protocol.OpRegister), ok},
		{"register with a session", request(protocol.OpRegister, session(42)), denied},
		{"register with a request number", request(protocol.OpRegister, numberOf(1)), denied},
		{"register without a client", request(protocol.OpRegister, noClient), denied},
		{"read", request(protocol.OpNonReplicated), ok},
		{"read before sign-in", request(protocol.OpNonReplicated, session(0), numberOf(0)), ok},
		{"read without a client", request(protocol.OpNonReplicated, noClient), denied},
		{"logout", request(protocol.OpLogout), ok},
		{"logout without a session", request(protocol.OpLogout, session(0)), denied},
		{"logout without a number", request(protocol.OpLogout, numberOf(0)), denied},
		{"metadata operation", request(protocol.OpCreateStream), ok},
		{"metadata operation without a session", request(protocol.OpCreateStream, session(0)), denied},
		{"metadata operation without a number", request(protocol.OpLeaveConsumerGroup, numberOf(0)), denied},
		{"metadata operation without a client", request(protocol.OpCreateStream, noClient), denied},
		{"client in the high half only", request(protocol.OpCreateStream, highClient), ok},
		{"delete segments", request(protocol.OpDeleteSegments), ok},
		{"delete segments without a session", request(protocol.OpDeleteSegments, session(0)), denied},
		{"delete segments without a number", request(protocol.OpDeleteSegments, numberOf(0)), denied},
		{"send", request(protocol.OpSendMessages), ok},
		{"send without a number", request(protocol.OpSendMessages, numberOf(0)), ok},
		{"send without a session", request(protocol.OpSendMessages, session(0)), denied},
		{"store offset without a number", request(protocol.OpStoreConsumerOffset, numberOf(0)), ok},
		{"delete offset without a session", request(protocol.OpDeleteConsumerOffset, session(0)), denied},
		{"largest number and session", request(protocol.OpCreateTopic, session(^uint64(0)), numberOf(^uint64(0))), ok},
		{"fields that nobody trusts", request(protocol.OpCreateStream, untrusted), ok},
	} {
		if got := tt.h.Check(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Every operation byte is either one of the defined ones that clients may send, or denied.
func TestRequestHeader_CheckEveryOperation(t *testing.T) {
	sendable := 0
	for b := range 256 {
		op := protocol.Operation(b)
		want := protocol.CodeInvalidCommand
		if b >= 1 && b <= 3 || b >= 128 && b <= 149 || b >= 160 && b <= 162 {
			want = protocol.Success
			sendable++
		}
		if got := request(op).Check(); got != want {
			t.Errorf("operation %d: %d, want %d", b, got, want)
		}
	}
	if sendable != 28 {
		t.Errorf("%d operations to send", sendable)
	}
}

// Only the command of a request passes: those of replicas and undefined ones are denied.
func TestRequestHeader_CheckEveryCommand(t *testing.T) {
	for b := range 256 {
		h := request(protocol.OpCreateStream)
		h.Common().SetCommand(protocol.Command(b))
		want := protocol.CodeInvalidCommand
		if b == 5 {
			want = protocol.Success
		}
		if got := h.Check(); got != want {
			t.Errorf("command %d: %d, want %d", b, got, want)
		}
	}
}

func TestRequestHeader_CheckBody(t *testing.T) {
	body := []byte("body")
	sum := protocol.Hash64(body)
	for _, tt := range []struct {
		name string
		sum  protocol.Uint128
		body []byte
		want protocol.Code
	}{
		{"not stamped", protocol.Uint128{}, body, protocol.Success},
		{"stamped", protocol.Uint128From64(sum), body, protocol.Success},
		{"stamped without a body", protocol.Uint128From64(0x2d06800538d394c2), nil, protocol.Success},
		{"another body", protocol.Uint128From64(sum), []byte("bodY"), protocol.CodeInvalidFormat},
		{"high half not zero", protocol.Uint128{Lo: sum, Hi: 1}, body, protocol.CodeInvalidFormat},
		{"high half alone", protocol.Uint128{Hi: sum}, body, protocol.CodeInvalidFormat},
	} {
		h := request(protocol.OpCreateStream)
		h.SetRequestChecksum(tt.sum)
		if got := h.CheckBody(tt.body); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestFrameSizeOK(t *testing.T) {
	const limit = protocol.MaxFrameSizeDefault
	for size, want := range map[uint32]bool{
		0: false, 255: false, 256: true, 257: true, limit: true, limit + 1: false, 1 << 31: false, ^uint32(0): false,
	} {
		if got := protocol.FrameSizeOK(size, limit); got != want {
			t.Errorf("size %d: %t", size, got)
		}
	}
	if protocol.FrameSizeOK(300, 299) || !protocol.FrameSizeOK(300, 300) {
		t.Error("limit of a server is not kept")
	}
}

// Byte 200 counts when it is exactly 1.
func TestRequestHeader_Numbered(t *testing.T) {
	h := new(protocol.RequestHeader)
	for b := range 256 {
		if h[200] = byte(b); h.Numbered() != (b == 1) {
			t.Errorf("byte %d: %t", b, h.Numbered())
		}
	}
	h.SetNumbered(true)
	if h[200] != 1 || !h.Numbered() {
		t.Error("not numbered")
	}
	if h.SetNumbered(false); h[200] != 0 {
		t.Error("still numbered")
	}
}

func TestEvictionHeader_Check(t *testing.T) {
	made := func(reason protocol.EvictionReason, edit func(h *protocol.EvictionHeader)) *protocol.EvictionHeader {
		h := new(protocol.EvictionHeader)
		h.Set(protocol.Uint128From64(5), reason)
		edit(h)
		return h
	}
	good := func(*protocol.EvictionHeader) {}
	for reason := protocol.EvictNoSession; reason <= protocol.EvictMalformedLogin; reason++ {
		if !made(reason, good).Check() {
			t.Errorf("%s does not check", reason)
		}
	}
	for name, h := range map[string]*protocol.EvictionHeader{
		"no reason":             made(0, good),
		"no client":             made(1, func(h *protocol.EvictionHeader) { clear(h[128:144]) }),
		"size":                  made(1, func(h *protocol.EvictionHeader) { h.Common().SetSize(257) }),
		"command":               made(1, func(h *protocol.EvictionHeader) { h.Common().SetCommand(protocol.CommandReply) }),
		"first reserved":        made(1, func(h *protocol.EvictionHeader) { h[62] = 1 }),
		"last of the first":     made(1, func(h *protocol.EvictionHeader) { h[127] = 1 }),
		"reserved of the tail":  made(1, func(h *protocol.EvictionHeader) { h[152] = 1 }),
		"last before reason":    made(1, func(h *protocol.EvictionHeader) { h[254] = 1 }),
		"versions of another":   made(9, func(h *protocol.EvictionHeader) { h[144] = 1 }),
		"lowest of another":     made(9, func(h *protocol.EvictionHeader) { h[148] = 1 }),
		"no lowest":             made(14, func(h *protocol.EvictionHeader) { clear(h[148:152]) }),
		"lowest above highest":  made(14, func(h *protocol.EvictionHeader) { h[151] = 1 }),
		"window that is no one": made(14, func(h *protocol.EvictionHeader) { clear(h[144:152]) }),
	} {
		if h.Check() {
			t.Errorf("%s checks", name)
		}
	}
}

func TestAcceptsVersion(t *testing.T) {
	pack := func(major, minor, patch uint32) uint32 { return major<<20 | minor<<10 | patch }
	for _, tt := range []struct {
		major, minor, patch uint32
		want                bool
	}{
		{0, 11, 0, true},
		{0, 11, 1, true},
		{0, 11, 1023, true},
		{0, 10, 1023, false},
		{0, 10, 0, false},
		{0, 12, 0, false},
		{1, 0, 0, false},
		{1, 11, 0, false},
		{1023, 1023, 1023, false},
		{0, 0, 0, false},
	} {
		if got := protocol.AcceptsVersion(pack(tt.major, tt.minor, tt.patch)); got != tt.want {
			t.Errorf("%d.%d.%d: %t", tt.major, tt.minor, tt.patch, got)
		}
	}
	if protocol.AcceptsVersion(^uint32(0)) {
		t.Error("largest number accepted")
	}
	if protocol.Version != 11264 || protocol.VersionMin != 11264 {
		t.Errorf("version %d from %d", protocol.Version, protocol.VersionMin)
	}
}
