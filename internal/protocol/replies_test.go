package protocol_test

import (
	"bytes"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func TestResultSection(t *testing.T) {
	for _, tt := range []struct {
		name    string
		body    []byte
		code    protocol.Code
		payload string
		ok      bool
	}{
		{"success", []byte{0, 0, 0, 0}, 0, "", true},
		{"success with a payload", append([]byte{0, 0, 0, 0}, "payload"...), 0, "payload", true},
		{"rejection", []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xf4, 3, 0, 0}, 1012, "", true},
		{"first of two", []byte{2, 0, 0, 0, 0, 0, 0, 0, 58, 0, 0, 0, 1, 0, 0, 0, 57, 0, 0, 0, 'x'}, 58, "x", true},
		{"entry of code 0", []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'x'}, 0, "x", true},
		{"empty", nil, 0, "", false},
		{"short count", []byte{0, 0, 0}, 0, "", false},
		{"short entry", []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xf4, 3, 0}, 0, "", false},
		{"count beyond the body", append([]byte{0xff, 0xff, 0xff, 0xff}, make([]byte, 64)...), 0, "", false},
	} {
		code, payload, ok := protocol.CutResult(tt.body)
		if code != tt.code || string(payload) != tt.payload || ok != tt.ok {
			t.Errorf("%s: %d %q %t", tt.name, code, payload, ok)
		}
	}
	for _, code := range []protocol.Code{protocol.Success, protocol.CodeTransientNotAccepted} {
		got, payload, ok := protocol.CutResult(append(protocol.AppendResult(nil, code), 'p'))
		if got != code || string(payload) != "p" || !ok {
			t.Errorf("code %d comes back as %d %q %t", code, got, payload, ok)
		}
	}
}

// A reply header that is filled again keeps nothing of what it held.
func TestReplyHeader_FillingForgets(t *testing.T) {
	dirty := func() *protocol.ReplyHeader {
		h := new(protocol.ReplyHeader)
		copy(h[:], bytes.Repeat([]byte{0xee}, protocol.HeaderSize))
		return h
	}
	h, fresh := dirty(), new(protocol.ReplyHeader)
	p := new(protocol.PrepareHeader)
	p.SetOp(3)
	h.SetCommitted(p, 4)
	fresh.SetCommitted(p, 4)
	if *h != *fresh || h.Common().Size() != protocol.HeaderSize+4 || h.Commit() != 3 {
		t.Errorf("committed: %x", h)
	}
	r := request(protocol.OpLogout)
	h = dirty()
	h.SetEcho(r, r.Client(), 1, 2, protocol.CodeTransientNotCommitted)
	fresh.SetEcho(r, r.Client(), 1, 2, protocol.CodeTransientNotCommitted)
	if *h != *fresh || h.Op() != 1 || h.Commit() != 2 || h.Status() != 57 {
		t.Errorf("echo: %x", h)
	}
	e, clean := new(protocol.EvictionHeader), new(protocol.EvictionHeader)
	copy(e[:], bytes.Repeat([]byte{0xee}, protocol.HeaderSize))
	e.Set(r.Client(), protocol.EvictStaleClient)
	clean.Set(r.Client(), protocol.EvictStaleClient)
	if *e != *clean || !e.Check() {
		t.Errorf("eviction: %x", e)
	}
}

// What a request carries in the shared half travels back in answers that were not committed.
func TestReplyHeader_EchoesTheSharedHalf(t *testing.T) {
	r := request(protocol.OpSendMessages)
	r.Common().SetCluster(protocol.Uint128{Lo: 1, Hi: 2})
	r.Common().SetView(3)
	r.Common().SetReplica(4)
	r.Common().SetRelease(5)
	r.Common().SetChecksum(protocol.Uint128From64(6))
	r.SetTimestamp(7)
	r.SetRequestChecksum(protocol.Uint128{Lo: 8, Hi: 9})
	h := new(protocol.ReplyHeader)
	h.SetEcho(r, protocol.Uint128From64(10), 11, 12, 13)
	c := h.Common()
	if c.Cluster() != (protocol.Uint128{Lo: 1, Hi: 2}) || c.View() != 3 || c.Replica() != 4 || c.Release() != 0 ||
		!c.Checksum().IsZero() || c.Size() != protocol.HeaderSize || c.Command() != protocol.CommandReply {
		t.Errorf("shared half %x", h[:128])
	}
	if h.RequestChecksum() != (protocol.Uint128{Lo: 8, Hi: 9}) || h.Timestamp() != 7 || h.Request() != 1 ||
		h.Operation() != protocol.OpSendMessages || h.Client() != protocol.Uint128From64(10) {
		t.Errorf("second half %x", h[128:])
	}
}

// The identity names an operation: it does not depend on the view that sends it again, nor on the command.
func TestPrepareHeader_Identity(t *testing.T) {
	h := new(protocol.PrepareHeader)
	h.Common().SetChecksumBody(protocol.Uint128From64(protocol.Hash64(nil)))
	h.Common().SetCluster(protocol.Uint128From64(1))
	h.Common().SetSize(protocol.HeaderSize)
	h.Common().SetCommand(protocol.CommandPrepare)
	h.SetClient(protocol.Uint128From64(42))
	h.SetOp(1)
	h.SetTimestamp(1000)
	h.SetOperation(protocol.OpRegister)
	h.SetGroup(uint64(protocol.MetadataGroup))
	h.SetUserID(1)
	want := protocol.Uint128From64(0x47756a181d49887b)
	if got := h.Identity(); got != want {
		t.Fatalf("identity %s, want %s", got, want)
	}
	if h.VerifyIdentity() {
		t.Error("a zero identity verifies")
	}
	h.Seal()
	h.Common().SetView(9)
	h.Common().SetCommand(protocol.CommandRepairPrepare)
	if !h.VerifyIdentity() || h.Common().Checksum() != want {
		t.Error("identity changed with the view or the command")
	}
	for i := range h {
		if i < 16 || i >= 52 && i < 56 || i == 60 {
			continue
		}
		if h[i] ^= 1; h.VerifyIdentity() {
			t.Errorf("byte %d is outside the identity", i)
		}
		h[i] ^= 1
	}
}
