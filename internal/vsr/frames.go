package vsr

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

var le = binary.LittleEndian

// batchHeaderSize is the part of a SendMessages body that its checksum covers: the stamped batch header,
// which holds the batch checksum, which covers the messages.
const batchHeaderSize = 256

// bodyKind says what the body checksum of a command means.
type bodyKind uint8

const (
	bodyNone   bodyKind = iota // the frame is a header
	bodyHashed                 // hash of the body, 0 when it is empty
	bodyOp                     // hash of an operation's body, also when it is empty
)

// span is a run of bytes of a header, from first to before end.
type span struct{ first, end int }

// frameRule is what holds for every frame of a command.
type frameRule struct {
	replica  bool // replicas exchange it on a link
	identity bool // checksum is the identity of an operation, not a seal
	body     bodyKind
	group    int // offset of the group, 0 when the frame names none
	reserved []span
	check    func(h *protocol.Header, body []byte) bool
}

// frameRules is indexed by command.
var frameRules [protocol.CommandForwardReply + 1]frameRule

func init() {
	prepare := frameRule{replica: true, identity: true, body: bodyOp, group: 216,
		reserved: []span{{209, 216}, {228, 256}}, check: checkPrepare}
	frameRules = [...]frameRule{
		protocol.CommandPrepare:       prepare,
		protocol.CommandRepairPrepare: prepare,
		protocol.CommandPrepareOk: {replica: true, group: 200,
			reserved: []span{{193, 200}, {208, 256}}, check: checkPrepareOk},
		protocol.CommandCommit: {replica: true, group: 168, reserved: []span{{176, 256}}, check: checkCommit},
		protocol.CommandStartViewChange: {replica: true, group: 128,
			reserved: []span{{136, 256}}},
		protocol.CommandDoViewChange: {replica: true, body: bodyHashed, group: 144,
			reserved: []span{{156, 224}}, check: checkDoViewChange},
		protocol.CommandStartView: {replica: true, body: bodyHashed, group: 144,
			reserved: []span{{152, 240}}, check: checkStartView},
		protocol.CommandRequestStartView: {replica: true, group: 128,
			reserved: []span{{149, 152}, {176, 240}}, check: checkRequestStartView},
		protocol.CommandRequestPrepares: {replica: true, group: 160,
			reserved: []span{{168, 256}}, check: checkRequestPrepares},
		protocol.CommandRepairDone:   {replica: true, group: 152, reserved: []span{{160, 256}}, check: checkNonce},
		protocol.CommandRangeEvicted: {replica: true, group: 152, reserved: []span{{160, 256}}, check: checkNonce},
		protocol.CommandRequestStateTransfer: {replica: true, group: 144,
			reserved: []span{{152, 256}}, check: checkNonce},
		protocol.CommandStateTransferTarget: {replica: true, body: bodyHashed, group: 152,
			reserved: []span{{162, 168}, {176, 256}}, check: checkStateTransferTarget},
		protocol.CommandRequestStateChunk: {replica: true, group: 152,
			reserved: []span{{168, 256}}, check: checkRequestStateChunk},
		protocol.CommandStateChunk: {replica: true, body: bodyHashed, group: 152,
			reserved: []span{{164, 256}}, check: checkStateChunk},
		protocol.CommandForwardRegister: {replica: true,
			reserved: []span{{164, 168}, {176, 256}}, check: checkForwardRegister},
		protocol.CommandForwardRegisterResult: {replica: true,
			reserved: []span{{176, 255}}, check: checkForwardRegisterResult},
		protocol.CommandForwardLogout: {replica: true,
			reserved: []span{{176, 256}}, check: checkForwardLogout},
		protocol.CommandForwardLogoutResult: {replica: true,
			reserved: []span{{168, 255}}, check: checkForwardLogoutResult},
		protocol.CommandNodeHeartbeat: {replica: true, body: bodyHashed,
			reserved: []span{{197, 256}}, check: checkNodeHeartbeat},
		protocol.CommandForwardRequest: {replica: true, body: bodyHashed, group: 160,
			reserved: []span{{230, 256}}, check: checkForwardRequest},
		protocol.CommandForwardReply: {replica: true, body: bodyHashed, group: 160,
			reserved: []span{{198, 256}}, check: checkForwardReply},
	}
}

// ruleOf returns the rule of a command that replicas exchange on a link, or nil.
func ruleOf(c protocol.Command) *frameRule {
	if int(c) >= len(frameRules) || !frameRules[c].replica {
		return nil
	}
	return &frameRules[c]
}

// FrameGroup is the group that a replica frame belongs to. The four frames that forward a sign-in or a
// logout belong to the metadata group. It reports false for a NodeHeartbeat, which speaks for many, and
// for commands that replicas do not exchange.
func FrameGroup(h *protocol.Header) (protocol.GroupID, bool) {
	rule := ruleOf(h.Command())
	switch {
	case rule == nil || h.Command() == protocol.CommandNodeHeartbeat:
		return 0, false
	case rule.group == 0:
		return protocol.MetadataGroup, true
	}
	return protocol.GroupID(le.Uint64(h[rule.group:])), true
}

// SealFrame writes the body checksum and the seal of a frame, as its last change. It is not for Prepare
// and RepairPrepare, whose checksum is an identity.
func SealFrame(h *protocol.Header, body []byte) {
	h.SetChecksumBody(frameBodyChecksum(h, body))
	h.SetChecksum(frameSeal(h))
}

func frameSeal(h *protocol.Header) protocol.Uint128 {
	return protocol.Uint128From64(xxh3.Hash(h[16:]))
}

// frameBodyChecksum is the body checksum that a sealed frame must carry.
func frameBodyChecksum(h *protocol.Header, body []byte) protocol.Uint128 {
	switch {
	case len(body) == 0:
		return protocol.Uint128{}
	case h.Command() == protocol.CommandForwardRequest &&
		(*ForwardRequestHeader)(h).Operation() == protocol.OpSendMessages && len(body) >= batchHeaderSize:
		return protocol.Uint128From64(xxh3.Hash(body[:batchHeaderSize]))
	}
	return protocol.Uint128From64(xxh3.Hash(body))
}

// BodyChecksum is the body checksum that a prepare of an operation must carry: the hash of the body, or of
// the batch header that a SendMessages body begins with. A SendMessages body without a whole batch header
// has none, and the result is 0.
func BodyChecksum(operation protocol.Operation, body []byte) protocol.Uint128 {
	if operation == protocol.OpSendMessages {
		if len(body) < batchHeaderSize {
			return protocol.Uint128{}
		}
		body = body[:batchHeaderSize]
	}
	return protocol.Uint128From64(xxh3.Hash(body))
}

func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}
