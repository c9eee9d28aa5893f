package protocol_test

import (
	"encoding/binary"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// The setters write where the layout says, and nowhere else; the getters read it back.
func TestHeaders_Layout(t *testing.T) {
	const mark = 0x1122334455667788
	wide := protocol.Uint128{Lo: mark, Hi: ^uint64(mark)}
	type field struct {
		name   string
		at, n  int
		set    func(b *[protocol.HeaderSize]byte)
		stored func(b *[protocol.HeaderSize]byte) bool
	}
	common := func(b *[protocol.HeaderSize]byte) *protocol.Header { return (*protocol.Header)(b) }
	req := func(b *[protocol.HeaderSize]byte) *protocol.RequestHeader { return (*protocol.RequestHeader)(b) }
	rep := func(b *[protocol.HeaderSize]byte) *protocol.ReplyHeader { return (*protocol.ReplyHeader)(b) }
	prep := func(b *[protocol.HeaderSize]byte) *protocol.PrepareHeader { return (*protocol.PrepareHeader)(b) }
	type bytes = *[protocol.HeaderSize]byte
	const u32, u8 = uint32(mark & 0xffffffff), uint8(mark & 0xff)
	for _, f := range []field{
		{"checksum", 0, 16, func(b bytes) { common(b).SetChecksum(wide) }, func(b bytes) bool { return common(b).Checksum() == wide }},
		{"checksum_body", 16, 16, func(b bytes) { common(b).SetChecksumBody(wide) }, func(b bytes) bool { return common(b).ChecksumBody() == wide }},
		{"cluster", 32, 16, func(b bytes) { common(b).SetCluster(wide) }, func(b bytes) bool { return common(b).Cluster() == wide }},
		{"size", 48, 4, func(b bytes) { common(b).SetSize(u32) }, func(b bytes) bool { return common(b).Size() == u32 }},
		{"view", 52, 4, func(b bytes) { common(b).SetView(u32) }, func(b bytes) bool { return common(b).View() == u32 }},
		{"release", 56, 4, func(b bytes) { common(b).SetRelease(u32) }, func(b bytes) bool { return common(b).Release() == u32 }},
		{"command", 60, 1, func(b bytes) { common(b).SetCommand(protocol.Command(u8)) }, func(b bytes) bool { return uint8(common(b).Command()) == u8 }},
		{"replica", 61, 1, func(b bytes) { common(b).SetReplica(u8) }, func(b bytes) bool { return common(b).Replica() == u8 }},
		{"revision", 64, 8, func(b bytes) { common(b).SetRevision(mark) }, func(b bytes) bool { return common(b).Revision() == mark }},

		{"request client", 128, 16, func(b bytes) { req(b).SetClient(wide) }, func(b bytes) bool { return req(b).Client() == wide }},
		{"request checksum", 144, 16, func(b bytes) { req(b).SetRequestChecksum(wide) }, func(b bytes) bool { return req(b).RequestChecksum() == wide }},
		{"request timestamp", 160, 8, func(b bytes) { req(b).SetTimestamp(mark) }, func(b bytes) bool { return req(b).Timestamp() == mark }},
		{"request number", 168, 8, func(b bytes) { req(b).SetRequest(mark) }, func(b bytes) bool { return req(b).Request() == mark }},
		{"request operation", 176, 1, func(b bytes) { req(b).SetOperation(protocol.Operation(u8)) }, func(b bytes) bool { return uint8(req(b).Operation()) == u8 }},
		{"request session", 184, 8, func(b bytes) { req(b).SetSession(mark) }, func(b bytes) bool { return req(b).Session() == mark }},
		{"request user", 192, 4, func(b bytes) { req(b).SetUserID(u32) }, func(b bytes) bool { return req(b).UserID() == u32 }},
		{"request code", 196, 4, func(b bytes) { req(b).SetCommandCode(u32) }, func(b bytes) bool { return req(b).CommandCode() == u32 }},

		{"reply checksum", 128, 16, func(b bytes) { rep(b).SetRequestChecksum(wide) }, func(b bytes) bool { return rep(b).RequestChecksum() == wide }},
		{"reply client", 160, 16, func(b bytes) { rep(b).SetClient(wide) }, func(b bytes) bool { return rep(b).Client() == wide }},
		{"reply op", 176, 8, func(b bytes) { rep(b).SetOp(mark) }, func(b bytes) bool { return rep(b).Op() == mark }},
		{"reply commit", 184, 8, func(b bytes) { rep(b).SetCommit(mark) }, func(b bytes) bool { return rep(b).Commit() == mark }},
		{"reply timestamp", 192, 8, func(b bytes) { rep(b).SetTimestamp(mark) }, func(b bytes) bool { return rep(b).Timestamp() == mark }},
		{"reply number", 200, 8, func(b bytes) { rep(b).SetRequest(mark) }, func(b bytes) bool { return rep(b).Request() == mark }},
		{"reply operation", 208, 1, func(b bytes) { rep(b).SetOperation(protocol.Operation(u8)) }, func(b bytes) bool { return uint8(rep(b).Operation()) == u8 }},
		{"reply status", 216, 4, func(b bytes) { rep(b).SetStatus(protocol.Code(u32)) }, func(b bytes) bool { return uint32(rep(b).Status()) == u32 }},

		{"prepare client", 128, 16, func(b bytes) { prep(b).SetClient(wide) }, func(b bytes) bool { return prep(b).Client() == wide }},
		{"prepare parent", 144, 16, func(b bytes) { prep(b).SetParent(wide) }, func(b bytes) bool { return prep(b).Parent() == wide }},
		{"prepare checksum", 160, 16, func(b bytes) { prep(b).SetRequestChecksum(wide) }, func(b bytes) bool { return prep(b).RequestChecksum() == wide }},
		{"prepare op", 176, 8, func(b bytes) { prep(b).SetOp(mark) }, func(b bytes) bool { return prep(b).Op() == mark }},
		{"prepare commit", 184, 8, func(b bytes) { prep(b).SetCommit(mark) }, func(b bytes) bool { return prep(b).Commit() == mark }},
		{"prepare timestamp", 192, 8, func(b bytes) { prep(b).SetTimestamp(mark) }, func(b bytes) bool { return prep(b).Timestamp() == mark }},
		{"prepare request", 200, 8, func(b bytes) { prep(b).SetRequest(mark) }, func(b bytes) bool { return prep(b).Request() == mark }},
		{"prepare operation", 208, 1, func(b bytes) { prep(b).SetOperation(protocol.Operation(u8)) }, func(b bytes) bool { return uint8(prep(b).Operation()) == u8 }},
		{"prepare group", 216, 8, func(b bytes) { prep(b).SetGroup(mark) }, func(b bytes) bool { return prep(b).Group() == mark }},
		{"prepare user", 224, 4, func(b bytes) { prep(b).SetUserID(u32) }, func(b bytes) bool { return prep(b).UserID() == u32 }},
	} {
		var b, want [protocol.HeaderSize]byte
		var marks [16]byte
		binary.LittleEndian.PutUint64(marks[:], wide.Lo)
		binary.LittleEndian.PutUint64(marks[8:], wide.Hi)
		copy(want[f.at:f.at+f.n], marks[:])
		if f.set(&b); b != want {
			t.Errorf("%s: wrote %x", f.name, b)
		}
		if !f.stored(&b) {
			t.Errorf("%s: does not read back", f.name)
		}
	}
}
