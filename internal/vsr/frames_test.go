package vsr

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

// headerTypes names the header of every command that replicas exchange.
var headerTypes = map[protocol.Command]any{
	protocol.CommandPrepare:               new(protocol.PrepareHeader),
	protocol.CommandRepairPrepare:         new(protocol.PrepareHeader),
	protocol.CommandPrepareOk:             new(PrepareOkHeader),
	protocol.CommandCommit:                new(CommitHeader),
	protocol.CommandStartViewChange:       new(StartViewChangeHeader),
	protocol.CommandDoViewChange:          new(DoViewChangeHeader),
	protocol.CommandStartView:             new(StartViewHeader),
	protocol.CommandRequestStartView:      new(RequestStartViewHeader),
	protocol.CommandRequestPrepares:       new(RequestPreparesHeader),
	protocol.CommandRepairDone:            new(RepairDoneHeader),
	protocol.CommandRangeEvicted:          new(RepairDoneHeader),
	protocol.CommandRequestStateTransfer:  new(RequestStateTransferHeader),
	protocol.CommandStateTransferTarget:   new(StateTransferTargetHeader),
	protocol.CommandRequestStateChunk:     new(RequestStateChunkHeader),
	protocol.CommandStateChunk:            new(StateChunkHeader),
	protocol.CommandForwardRegister:       new(ForwardRegisterHeader),
	protocol.CommandForwardRegisterResult: new(ForwardRegisterResultHeader),
	protocol.CommandForwardLogout:         new(ForwardLogoutHeader),
	protocol.CommandForwardLogoutResult:   new(ForwardLogoutResultHeader),
	protocol.CommandNodeHeartbeat:         new(NodeHeartbeatHeader),
	protocol.CommandForwardRequest:        new(ForwardRequestHeader),
	protocol.CommandForwardReply:          new(ForwardReplyHeader),
}

// TestFrames_EveryByteIsAFieldOrReserved sets every field of every header to all ones. The bytes that this
// changes and the reserved ones together are the command area, each byte once, and what was set is read.
func TestFrames_EveryByteIsAFieldOrReserved(t *testing.T) {
	for command := range frameRules {
		rule := ruleOf(protocol.Command(command))
		if (rule != nil) != (headerTypes[protocol.Command(command)] != nil) {
			t.Errorf("command %d: rule and header type do not go together", command)
		}
	}
	for command, header := range headerTypes {
		t.Run(fmt.Sprint(command), func(t *testing.T) {
			var owner [protocol.HeaderSize]string
			for _, s := range ruleOf(command).reserved {
				for i := s.first; i < s.end; i++ {
					owner[i] = "reserved"
				}
			}
			v := reflect.ValueOf(header)
			for i := range v.NumMethod() {
				name := v.Type().Method(i).Name
				if strings.HasPrefix(name, "Set") {
					claimField(t, v, name, &owner)
				}
			}
			for i := 128; i < protocol.HeaderSize; i++ {
				if owner[i] == "" {
					t.Errorf("byte %d belongs to nobody", i)
				}
			}
		})
	}
}

// claimField marks the bytes that a setter writes.
func claimField(t *testing.T, v reflect.Value, setter string, owner *[protocol.HeaderSize]string) {
	h := v.MethodByName("Common").Call(nil)[0].Interface().(*protocol.Header)
	set := v.MethodByName(setter)
	arg := reflect.New(set.Type().In(0)).Elem()
	switch arg.Kind() {
	case reflect.Struct:
		arg.Set(reflect.ValueOf(protocol.MaxUint128))
	case reflect.Bool:
		arg.SetBool(true)
	default:
		arg.SetUint(1<<arg.Type().Bits() - 1)
	}
	*h = protocol.Header{}
	set.Call([]reflect.Value{arg})
	for i, b := range h {
		if b == 0 {
			continue
		}
		if owner[i] != "" {
			t.Errorf("%s writes byte %d of %s", setter, i, owner[i])
		}
		owner[i] = setter
	}
	if got := v.MethodByName(strings.TrimPrefix(setter, "Set")).Call(nil)[0]; !got.Equal(arg) {
		t.Errorf("%s: read %v, wrote %v", setter, got, arg)
	}
}

// TestFrames_GoldenChecksums holds the vectors of the specification.
func TestFrames_GoldenChecksums(t *testing.T) {
	if got := xxh3.Hash(nil); got != 0x2d06800538d394c2 {
		t.Errorf("hash of nothing %#x", got)
	}
	var svc StartViewChangeHeader
	c := svc.Common()
	c.SetCluster(protocol.Uint128{Lo: 1})
	c.SetSize(protocol.HeaderSize)
	c.SetView(7)
	c.SetCommand(protocol.CommandStartViewChange)
	c.SetReplica(2)
	svc.SetGroup(protocol.MetadataGroup)
	SealFrame(c, nil)
	if got := c.Checksum(); got != protocol.Uint128From64(0x08eb2cc072c371e4) {
		t.Errorf("seal %v", got)
	}
	var p protocol.PrepareHeader
	c = p.Common()
	c.SetChecksumBody(BodyChecksum(protocol.OpRegister, nil))
	c.SetCluster(protocol.Uint128{Lo: 1})
	c.SetSize(protocol.HeaderSize)
	c.SetCommand(protocol.CommandPrepare)
	p.SetClient(protocol.Uint128{Lo: 42})
	p.SetOp(1)
	p.SetTimestamp(1000)
	p.SetOperation(protocol.OpRegister)
	p.SetGroup(uint64(protocol.MetadataGroup))
	p.SetUserID(1)
	p.Seal()
	if got := c.Checksum(); got != protocol.Uint128From64(0x47756a181d49887b) {
		t.Errorf("identity %v", got)
	}
	c.SetView(9)
	c.SetCommand(protocol.CommandRepairPrepare)
	if !p.VerifyIdentity() {
		t.Error("the identity moves with view or command")
	}
}

// sample is a valid frame of every command, from replica 1 to replica 0.
func sample(command protocol.Command) (protocol.Header, []byte) {
	var h protocol.Header
	h.SetCluster(testCluster)
	h.SetCommand(command)
	h.SetReplica(1)
	h.SetView(2)
	revision := uint64(3)
	body := []byte("body")
	one := protocol.Uint128{Lo: 1}
	switch command {
	case protocol.CommandPrepare, protocol.CommandRepairPrepare:
		p := (*protocol.PrepareHeader)(&h)
		p.SetOp(2)
		p.SetCommit(1)
		p.SetOperation(protocol.OpStoreConsumerOffset)
		h.SetChecksumBody(hashOf(body))
	case protocol.CommandPrepareOk:
		p := (*PrepareOkHeader)(&h)
		p.SetOp(2)
		p.SetPrepareChecksum(one)
	case protocol.CommandDoViewChange:
		d := (*DoViewChangeHeader)(&h)
		d.SetOp(3)
		d.SetCommit(1)
		d.SetLogView(1)
		d.SetPresentBitset(protocol.Uint128{Lo: 0b101})
		d.SetNackBitset(protocol.Uint128{Lo: 0b010})
		body = suffixBody(3, 2)
	case protocol.CommandStartView:
		s := (*StartViewHeader)(&h)
		s.SetOp(3)
		s.SetCommit(1)
		body = suffixBody(3)
	default:
		sampleSession(command, &h)
	}
	switch command {
	case protocol.CommandNodeHeartbeat:
		revision, body = 0, heartbeatBody()
	case protocol.CommandForwardRegister, protocol.CommandForwardRegisterResult,
		protocol.CommandForwardLogout, protocol.CommandForwardLogoutResult:
		revision = 0
	}
	rule := ruleOf(command)
	if rule.group != 0 {
		le.PutUint64(h[rule.group:], uint64(testGroup))
	}
	if rule.group != 128 && protocol.ReadUint128(h[128:]).IsZero() && needsNonce(command) {
		one.Put(h[128:])
	}
	h.SetRevision(revision)
	if rule.body == bodyNone {
		body = nil
	}
	h.SetSize(uint32(protocol.HeaderSize + len(body)))
	reseal(&h, body)
	return h, body
}

// sampleSession fills the header of a frame that is no part of normal operation or of a view change's vote.
func sampleSession(command protocol.Command, h *protocol.Header) {
	one := protocol.Uint128{Lo: 1}
	switch command {
	case protocol.CommandRequestStartView:
		(*RequestStartViewHeader)(h).SetIncarnation(one)
	case protocol.CommandRequestPrepares:
		q := (*RequestPreparesHeader)(h)
		q.SetFromOp(1)
		q.SetToOp(^uint64(0))
	case protocol.CommandStateTransferTarget:
		(*StateTransferTargetHeader)(h).SetAvailable(true)
	case protocol.CommandRequestStateChunk:
		(*RequestStateChunkHeader)(h).SetLen(1)
	case protocol.CommandForwardRegister, protocol.CommandForwardRegisterResult,
		protocol.CommandForwardLogout, protocol.CommandForwardLogoutResult:
		one.Put(h[144:])
		if command == protocol.CommandForwardLogout {
			(*ForwardLogoutHeader)(h).SetSession(1)
			(*ForwardLogoutHeader)(h).SetRequest(1)
		}
	case protocol.CommandNodeHeartbeat:
		h.SetView(0)
		n := (*NodeHeartbeatHeader)(h)
		n.SetShards(2)
		n.SetUnable(2)
		n.SetCommits(1)
		n.SetFlags(HeartbeatListAttached)
	case protocol.CommandForwardRequest:
		h.SetView(0)
		f := (*ForwardRequestHeader)(h)
		f.SetNonce(one)
		f.SetSession(1)
		f.SetBudgetMillis(1)
		f.SetOperation(protocol.OpStoreConsumerOffset)
	case protocol.CommandForwardReply:
		(*ForwardReplyHeader)(h).SetNonce(one)
	}
}

func needsNonce(c protocol.Command) bool { return c >= protocol.CommandRequestPrepares }

// reseal makes whatever checksum the command has right again.
func reseal(h *protocol.Header, body []byte) {
	if rule := ruleOf(h.Command()); rule != nil && rule.identity {
		(*protocol.PrepareHeader)(h).Seal()
		return
	}
	SealFrame(h, body)
}

// suffixBody is a chained suffix of n operations, head first, with blanks.
func suffixBody(n int, blanks ...uint64) []byte {
	entries := logOf(n, 1)
	var body []byte
	for op := uint64(n); op >= 1; op-- {
		h := entries[op-1].Header
		for _, b := range blanks {
			if b == op {
				h = Blank(op)
			}
		}
		body = append(body, h[:]...)
	}
	return body
}

func heartbeatBody() []byte {
	body := make([]byte, 16)
	le.PutUint64(body[8:], 77)
	var u UnableEntry
	for g := protocol.GroupID(1); g <= 2; g++ {
		u.SetGroup(g)
		u.SetRevision(9)
		u.SetReason(UnableFenced)
		body = append(body, u[:]...)
	}
	var e CommitEntry
	e.SetGroup(5)
	e.SetView(1)
	e.SetCommit(2)
	return append(body, e[:]...)
}

func testLink() Link {
	return Link{Cluster: testCluster, Self: 0, Peer: 1, Replicas: 3, SizeMax: 1 << 20}
}

func TestCheckFrame_AcceptsEveryCommand(t *testing.T) {
	for command := range headerTypes {
		h, body := sample(command)
		if reason := CheckFrame(&h, body, testLink()); reason != DropNone {
			t.Errorf("command %d: %s", command, reason)
		}
		group, ok := FrameGroup(&h)
		if want := command != protocol.CommandNodeHeartbeat; ok != want {
			t.Errorf("command %d: group %v, %v", command, group, ok)
		}
	}
}

func TestCheckFrame_RefusesAnyFlippedBit(t *testing.T) {
	for command := range headerTypes {
		h, body := sample(command)
		for i := range protocol.HeaderSize + len(body) {
			if identityLeavesOut(command, i) {
				continue
			}
			bad, badBody := h, append([]byte(nil), body...)
			if i < protocol.HeaderSize {
				bad[i] ^= 1
			} else {
				badBody[i-protocol.HeaderSize] ^= 1
			}
			if reason := CheckFrame(&bad, badBody, testLink()); reason == DropNone {
				t.Errorf("command %d: bit 0 of byte %d flipped and accepted", command, i)
			}
		}
	}
}

// identityLeavesOut reports the bytes that a prepare may change on its way: those of the view.
func identityLeavesOut(c protocol.Command, i int) bool {
	prepare := c == protocol.CommandPrepare || c == protocol.CommandRepairPrepare
	return prepare && i >= 52 && i < 56
}

// set writes one byte.
func set(i int, v byte) func(h *protocol.Header) { return func(h *protocol.Header) { h[i] = v } }

// refusals are valid frames with one change, sealed anew unless the seal is what changed.
var refusals = []struct {
	name    string
	command protocol.Command
	change  func(h *protocol.Header)
	unseal  bool
	want    DropReason
}{
	{"size below a header", protocol.CommandCommit, func(h *protocol.Header) { h.SetSize(255) }, false, DropSize},
	{"size above the limit", protocol.CommandCommit, func(h *protocol.Header) { h.SetSize(2 << 20) }, false, DropSize},
	{"size and body differ", protocol.CommandStateChunk, func(h *protocol.Header) { h.SetSize(257) }, false, DropSize},
	{"client command", protocol.CommandCommit, func(h *protocol.Header) { h.SetCommand(protocol.CommandRequest) }, false, DropCommand},
	{"unknown command", protocol.CommandCommit, set(60, 33), false, DropCommand},
	{"handshake command", protocol.CommandCommit, func(h *protocol.Header) { h.SetCommand(protocol.CommandReplicaHello) }, false, DropCommand},
	{"no seal", protocol.CommandCommit, func(h *protocol.Header) { h.SetChecksum(protocol.Uint128{}) }, true, DropSeal},
	{"no identity", protocol.CommandPrepare, func(h *protocol.Header) { h.SetChecksum(protocol.Uint128{}) }, true, DropSeal},
	{"no body checksum", protocol.CommandPrepare, func(h *protocol.Header) { h.SetChecksumBody(protocol.Uint128{}) }, false, DropBodyChecksum},
	{"other cluster", protocol.CommandCommit, set(32, 0xEE), false, DropCluster},
	{"sender out of range", protocol.CommandCommit, func(h *protocol.Header) { h.SetReplica(3) }, false, DropSender},
	{"preparer out of range", protocol.CommandPrepare, func(h *protocol.Header) { h.SetReplica(3) }, false, DropSender},
	{"sender is ourselves", protocol.CommandCommit, func(h *protocol.Header) { h.SetReplica(0) }, false, DropSender},
	{"sender is not the peer", protocol.CommandCommit, func(h *protocol.Header) { h.SetReplica(2) }, false, DropSender},
	{"we prepared it", protocol.CommandPrepare, func(h *protocol.Header) { h.SetReplica(0) }, false, DropNone},
	{"release", protocol.CommandStartView, func(h *protocol.Header) { h.SetRelease(1) }, false, DropReserved},
	{"reserved of the common half", protocol.CommandCommit, set(62, 1), false, DropReserved},
	{"reserved behind the revision", protocol.CommandCommit, set(72, 1), false, DropReserved},
	{"reserved of the command", protocol.CommandCommit, set(255, 1), false, DropReserved},
	{"reserved of a prepare", protocol.CommandPrepare, set(228, 1), false, DropReserved},
	{"revision without a partition", protocol.CommandForwardLogout, func(h *protocol.Header) { h.SetRevision(1) }, false, DropReserved},
	{"prepare of op 0", protocol.CommandPrepare, func(h *protocol.Header) { (*protocol.PrepareHeader)(h).SetOp(0) }, false, DropInvalid},
	{"prepare commits itself", protocol.CommandPrepare, func(h *protocol.Header) { (*protocol.PrepareHeader)(h).SetCommit(2) }, false, DropInvalid},
	{"operation of the other plane", protocol.CommandPrepare, func(h *protocol.Header) { (*protocol.PrepareHeader)(h).SetOperation(protocol.OpCreateStream) }, false, DropInvalid},
	{"operation without a log", protocol.CommandPrepare, func(h *protocol.Header) { (*protocol.PrepareHeader)(h).SetOperation(protocol.OpNonReplicated) }, false, DropInvalid},
	{"unknown operation", protocol.CommandPrepare, func(h *protocol.Header) { (*protocol.PrepareHeader)(h).SetOperation(200) }, false, DropInvalid},
	{"commit without identity", protocol.CommandCommit, func(h *protocol.Header) { (*CommitHeader)(h).SetCommit(4) }, false, DropInvalid},
	{"log view above view", protocol.CommandDoViewChange, func(h *protocol.Header) { (*DoViewChangeHeader)(h).SetLogView(3) }, false, DropInvalid},
	{"commit above op", protocol.CommandDoViewChange, func(h *protocol.Header) { (*DoViewChangeHeader)(h).SetCommit(4) }, false, DropInvalid},
	{"bit beyond the suffix", protocol.CommandDoViewChange, func(h *protocol.Header) { (*DoViewChangeHeader)(h).SetNackBitset(protocol.Uint128{Hi: 1}) }, false, DropInvalid},
	{"nack of a header", protocol.CommandDoViewChange, func(h *protocol.Header) { (*DoViewChangeHeader)(h).SetNackBitset(protocol.Uint128{Lo: 1}) }, false, DropInvalid},
	{"blank that is present", protocol.CommandDoViewChange, func(h *protocol.Header) { (*DoViewChangeHeader)(h).SetPresentBitset(protocol.Uint128{Lo: 2}) }, false, DropInvalid},
	{"suffix of another head", protocol.CommandStartView, func(h *protocol.Header) { (*StartViewHeader)(h).SetOp(4) }, false, DropInvalid},
	{"suffix of another group", protocol.CommandStartView, func(h *protocol.Header) { (*StartViewHeader)(h).SetGroup(8) }, false, DropInvalid},
	{"unknown claim", protocol.CommandRequestStartView, set(148, 4), false, DropInvalid},
	{"range backwards", protocol.CommandRequestPrepares, func(h *protocol.Header) { (*RequestPreparesHeader)(h).SetToOp(0) }, false, DropInvalid},
	{"range from 0", protocol.CommandRequestPrepares, func(h *protocol.Header) { (*RequestPreparesHeader)(h).SetFromOp(0) }, false, DropInvalid},
	{"no nonce", protocol.CommandRepairDone, func(h *protocol.Header) { protocol.Uint128{}.Put(h[128:]) }, false, DropInvalid},
	{"offer that is none", protocol.CommandStateTransferTarget, set(161, 1), false, DropInvalid},
	{"chunk of no bytes", protocol.CommandRequestStateChunk, func(h *protocol.Header) { (*RequestStateChunkHeader)(h).SetLen(0) }, false, DropInvalid},
	{"unknown outcome", protocol.CommandForwardRegisterResult, set(255, 7), false, DropInvalid},
	{"refusal with an epoch", protocol.CommandForwardRegisterResult, func(h *protocol.Header) { h[255] = 1; h[160] = 1 }, false, DropInvalid},
	{"session 0", protocol.CommandForwardRequest, func(h *protocol.Header) { (*ForwardRequestHeader)(h).SetSession(0) }, false, DropInvalid},
	{"no time left", protocol.CommandForwardRequest, func(h *protocol.Header) { (*ForwardRequestHeader)(h).SetBudgetMillis(0) }, false, DropInvalid},
	{"operation that is not forwarded", protocol.CommandForwardRequest, func(h *protocol.Header) { (*ForwardRequestHeader)(h).SetOperation(protocol.OpPurgeBarrier) }, false, DropInvalid},
	{"body beside a denial", protocol.CommandForwardReply, func(h *protocol.Header) { (*ForwardReplyHeader)(h).SetStatus(3) }, false, DropInvalid},
	{"entries that are not there", protocol.CommandNodeHeartbeat, func(h *protocol.Header) { (*NodeHeartbeatHeader)(h).SetCommits(1 << 31) }, false, DropInvalid},
	{"list that is not attached", protocol.CommandNodeHeartbeat, func(h *protocol.Header) { (*NodeHeartbeatHeader)(h).SetFlags(0) }, false, DropInvalid},
}

func TestCheckFrame_NamesTheReason(t *testing.T) {
	for _, c := range refusals {
		h, body := sample(c.command)
		c.change(&h)
		if !c.unseal {
			reseal(&h, body)
			if c.name == "no body checksum" {
				h.SetChecksumBody(protocol.Uint128{})
				(*protocol.PrepareHeader)(&h).Seal()
			}
		}
		if got := CheckFrame(&h, body, testLink()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCheckFrame_HeaderOnlyCommandsHaveNoBody(t *testing.T) {
	for command := range headerTypes {
		h, body := sample(command)
		if len(body) > 0 {
			continue
		}
		body = []byte("x")
		h.SetSize(protocol.HeaderSize + 1)
		h.SetChecksumBody(protocol.Uint128{})
		SealFrame(&h, body)
		if CheckFrame(&h, body, testLink()) == DropNone {
			t.Errorf("command %d accepted a body", command)
		}
	}
}

func TestSuffix_RefusesWhatIsNotOneLog(t *testing.T) {
	decode := func(head uint64, body []byte) bool {
		var s StartViewHeader
		s.SetOp(head)
		s.SetGroup(testGroup)
		s.Common().SetCluster(testCluster)
		s.Common().SetRevision(3)
		_, ok := DecodeStartViewSuffix(&s, body)
		return ok
	}
	good := suffixBody(3)
	if !decode(3, good) || !decode(3, good[:256]) || !decode(200, nil) {
		t.Fatal("valid suffix refused")
	}
	parted := append(append([]byte(nil), good[:256]...), suffixFrom(2, 5)...)
	long := suffixBody(129)
	for name, ok := range map[string]bool{
		"half a header": decode(3, good[:300]), "other head": decode(4, good), "gap": decode(3, append(good[:256:256], good[512:]...)),
		"below op 1": decode(2, good), "no chain": decode(3, parted), "too long": decode(129, long),
	} {
		if ok {
			t.Errorf("%s accepted", name)
		}
	}
	dirty := append([]byte(nil), good...)
	dirty[230] = 1
	(*protocol.PrepareHeader)(dirty).Seal()
	blank := Blank(3)
	blank[200] = 1
	if decode(3, dirty) || decode(3, blank[:]) {
		t.Error("dirty header accepted")
	}
	if s, ok := decodeSuffix(&protocol.Header{}, 3, testGroup, nil); !ok || s.Of(3) != nil {
		t.Error("empty suffix")
	}
}

// suffixFrom is the suffix from op down of a log that differs from logOf(n, 1).
func suffixFrom(op, lag int) []byte {
	h := logOf(op, lag)[op-1].Header
	return h[:]
}

func TestHeartbeatBody_RoundTrips(t *testing.T) {
	h, body := sample(protocol.CommandNodeHeartbeat)
	b, ok := DecodeHeartbeatBody((*NodeHeartbeatHeader)(&h), body)
	if !ok || b.ShardCount() != 2 || b.Progress(1) != 77 || b.UnableCount() != 2 || b.CommitCount() != 1 {
		t.Fatalf("%+v %v", b, ok)
	}
	if u := b.Unable(1); u.Group() != 2 || u.Revision() != 9 || u.Reason() != UnableFenced {
		t.Errorf("unable %v", u)
	}
	if e := b.Commit(0); e.Group() != 5 || e.View() != 1 || e.Commit() != 2 {
		t.Errorf("commit %v", e)
	}
	copy(body[16:24], body[40:48]) // two entries of one group
	if _, ok := DecodeHeartbeatBody((*NodeHeartbeatHeader)(&h), body); ok {
		t.Error("repeated group accepted")
	}
}

func TestBodyChecksum_OfABatchCoversItsHeader(t *testing.T) {
	body := make([]byte, 300)
	a := BodyChecksum(protocol.OpSendMessages, body)
	body[299] = 1
	if BodyChecksum(protocol.OpSendMessages, body) != a {
		t.Error("messages are hashed a second time")
	}
	body[255] = 1
	if BodyChecksum(protocol.OpSendMessages, body) == a {
		t.Error("batch header is not covered")
	}
	if !BodyChecksum(protocol.OpSendMessages, body[:255]).IsZero() {
		t.Error("half a batch header has a checksum")
	}
}
