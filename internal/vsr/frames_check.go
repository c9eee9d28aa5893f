package vsr

import "github.com/galgolog/galgo/internal/protocol"

// Link is what a receiver knows about the connection that a frame came in on.
type Link struct {
	Cluster  protocol.Uint128
	Self     uint8
	Peer     uint8 // authenticated
	Replicas uint8
	SizeMax  uint32 // largest frame, header included
}

// CheckFrame decides whether a frame from a replica link may be handed on, and returns DropNone if so.
// body is what follows the header on the wire. Of a SendMessages body only the batch header is bound to
// the frame here; the reader of the link verifies the batch checksum in it.
//
// After DropSize the stream cannot be delimited any more and the link must be closed.
func CheckFrame(h *protocol.Header, body []byte, l Link) DropReason {
	if size := h.Size(); size < protocol.HeaderSize || size > l.SizeMax ||
		uint64(size) != protocol.HeaderSize+uint64(len(body)) {
		return DropSize
	}
	rule := ruleOf(h.Command())
	if rule == nil {
		return DropCommand
	}
	if reason := verifyChecksums(rule, h, body); reason != DropNone {
		return reason
	}
	switch {
	case rule.check != nil && !rule.check(h, body):
		return DropInvalid
	case h.Cluster() != l.Cluster:
		return DropCluster
	case h.Replica() >= l.Replicas:
		return DropSender
	// A prepare names the replica that prepared it, which may be any, the receiver included.
	case !rule.identity && (h.Replica() == l.Self || h.Replica() != l.Peer):
		return DropSender
	case !reservedClear(rule, h, body):
		return DropReserved
	}
	return DropNone
}

func verifyChecksums(rule *frameRule, h *protocol.Header, body []byte) DropReason {
	if rule.identity {
		p := (*protocol.PrepareHeader)(h)
		if !p.VerifyIdentity() {
			return DropSeal
		}
		if c := h.ChecksumBody(); c.IsZero() || c != BodyChecksum(p.Operation(), body) {
			return DropBodyChecksum
		}
		return DropNone
	}
	if c := h.Checksum(); c.IsZero() || c != frameSeal(h) {
		return DropSeal
	}
	if h.ChecksumBody() != frameBodyChecksum(h, body) {
		return DropBodyChecksum
	}
	return DropNone
}

// reservedClear reports whether a header-only frame is one and whether every reserved byte is zero.
func reservedClear(rule *frameRule, h *protocol.Header, body []byte) bool {
	if rule.body == bodyNone && len(body) != 0 {
		return false
	}
	if h.Release() != 0 || !allZero(h[62:64]) || !allZero(h[72:128]) {
		return false
	}
	group, ok := FrameGroup(h)
	if (!ok || group == protocol.MetadataGroup) && h.Revision() != 0 {
		return false
	}
	for _, s := range rule.reserved {
		if !allZero(h[s.first:s.end]) {
			return false
		}
	}
	return true
}

// checkPrepare wants an operation that has a place in the log of the group.
func checkPrepare(h *protocol.Header, _ []byte) bool {
	p := (*protocol.PrepareHeader)(h)
	return p.Op() >= 1 && p.Commit() < p.Op() &&
		loggable(p.Operation(), protocol.GroupID(p.Group()) == protocol.MetadataGroup)
}

// loggable reports whether an operation may stand in a log, of the metadata group or of a partition.
func loggable(o protocol.Operation, metadata bool) bool {
	switch {
	case !o.IsKnown() || o == protocol.OpNonReplicated || o == protocol.OpDeleteSegments:
		return false
	case o.IsPartition():
		return !metadata
	}
	return metadata
}

func checkPrepareOk(h *protocol.Header, _ []byte) bool {
	ok := (*PrepareOkHeader)(h)
	return ok.Op() >= 1 && !ok.PrepareChecksum().IsZero()
}

// checkCommit wants an identity beside every commit point but 0.
func checkCommit(h *protocol.Header, _ []byte) bool {
	c := (*CommitHeader)(h)
	return (c.Commit() == 0) == c.CommitChecksum().IsZero()
}

func checkNonce(h *protocol.Header, _ []byte) bool {
	return !protocol.ReadUint128(h[128:]).IsZero()
}

func checkDoViewChange(h *protocol.Header, body []byte) bool {
	d := (*DoViewChangeHeader)(h)
	if d.LogView() > h.View() || d.Commit() > d.Op() {
		return false
	}
	_, ok := DecodeDoViewChangeSuffix(d, body)
	return ok
}

func checkStartView(h *protocol.Header, body []byte) bool {
	s := (*StartViewHeader)(h)
	if s.Commit() > s.Op() || s.Op() > 0 && len(body) == 0 {
		return false
	}
	_, ok := DecodeStartViewSuffix(s, body)
	return ok
}

func checkRequestStartView(h *protocol.Header, _ []byte) bool {
	q := (*RequestStartViewHeader)(h)
	return q.LogView() <= h.View() && q.Claim()&^(ClaimAmnesiac|ClaimEmpty) == 0 && !q.Incarnation().IsZero()
}

func checkRequestPrepares(h *protocol.Header, body []byte) bool {
	q := (*RequestPreparesHeader)(h)
	return checkNonce(h, body) && q.FromOp() >= 1 && q.ToOp() >= q.FromOp()
}

func checkStateTransferTarget(h *protocol.Header, body []byte) bool {
	if h[160] > 1 || h[161] > 1 || !checkNonce(h, body) {
		return false
	}
	t := (*StateTransferTargetHeader)(h)
	if t.Available() {
		return !t.UnavailableTransient() && len(body) > 0
	}
	return len(body) == 0
}

func checkRequestStateChunk(h *protocol.Header, body []byte) bool {
	return checkNonce(h, body) && (*RequestStateChunkHeader)(h).Len() >= 1
}

func checkStateChunk(h *protocol.Header, body []byte) bool {
	return checkNonce(h, body) && len(body) > 0
}

func checkForwardRegister(h *protocol.Header, _ []byte) bool {
	f := (*ForwardRegisterHeader)(h)
	return !f.Client().IsZero() && !f.Nonce().IsZero()
}

func checkForwardRegisterResult(h *protocol.Header, _ []byte) bool {
	f := (*ForwardRegisterResultHeader)(h)
	return !f.Client().IsZero() && !f.Nonce().IsZero() && f.Outcome() <= RegisterForeignID &&
		(f.Outcome() == RegisterOk || f.Epoch() == 0 && f.Watermark() == 0)
}

func checkForwardLogout(h *protocol.Header, _ []byte) bool {
	f := (*ForwardLogoutHeader)(h)
	return !f.Client().IsZero() && !f.Nonce().IsZero() && f.Session() >= 1 && f.Request() >= 1
}

func checkForwardLogoutResult(h *protocol.Header, _ []byte) bool {
	f := (*ForwardLogoutResultHeader)(h)
	return !f.Client().IsZero() && !f.Nonce().IsZero() && f.Outcome() <= LogoutCanceled &&
		(f.Outcome() == LogoutOk || f.Commit() == 0)
}

func checkForwardRequest(h *protocol.Header, body []byte) bool {
	f := (*ForwardRequestHeader)(h)
	auto := f.Client() == protocol.MaxUint128
	switch {
	case f.Client().IsZero(), f.Nonce().IsZero(), h.View() != 0, len(body) == 0, h[229] > 1:
		return false
	case f.Group() == protocol.MetadataGroup, auto != (f.Session() == 0):
		return false
	case f.BudgetMillis() < 1 || f.BudgetMillis() > ForwardBudgetMaxMillis:
		return false
	}
	switch f.Operation() {
	case protocol.OpSendMessages:
		return f.Code() == 0 && len(body) >= batchHeaderSize
	case protocol.OpStoreConsumerOffset, protocol.OpDeleteConsumerOffset:
		return f.Code() == 0
	case protocol.OpNonReplicated:
		return f.Code() == ForwardFlushCode
	}
	return false
}

func checkForwardReply(h *protocol.Header, body []byte) bool {
	f := (*ForwardReplyHeader)(h)
	return !f.Client().IsZero() && !f.Nonce().IsZero() && f.Group() != protocol.MetadataGroup &&
		f.Outcome() <= ForwardWrongIncarnation &&
		(len(body) == 0 || f.Outcome() == ForwardAnswered && f.Status() == protocol.Success)
}

func checkNodeHeartbeat(h *protocol.Header, body []byte) bool {
	n := (*NodeHeartbeatHeader)(h)
	if h.View() != 0 || n.Incarnation().IsZero() || n.Flags()&^(HeartbeatListAttached|HeartbeatLeadsNothing) != 0 {
		return false
	}
	_, ok := DecodeHeartbeatBody(n, body)
	return ok
}
