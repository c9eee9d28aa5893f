package vsr

import (
	"math"

	"github.com/galgolog/galgo/internal/protocol"
)

// reconcile drops from this log what the decided one does not have: operations above its head, and those that
// headers of the view name differently. The log of the host is cut at the lowest of them; what lies above and
// stays is appended again.
func (r *Replica) reconcile(headers []protocol.PrepareHeader, head uint64) {
	cut := uint64(math.MaxUint64)
	for _, s := range r.ring.slots {
		if s != nil && s.state != slotEmpty && s.Header.Op() > head {
			if s.state == slotHeld {
				cut = min(cut, s.Header.Op())
			}
			r.forget(s)
		}
	}
	for i := range headers {
		h := &headers[i]
		if IsBlank(h) || h.Op() == 0 {
			continue
		}
		if h.Op() <= r.commitMin {
			r.checkApplied(h)
			continue
		}
		if s := r.ring.get(h.Op()); s != nil && !s.is(h) {
			if s.state == slotHeld {
				cut = min(cut, h.Op())
			}
			r.forget(s)
		}
	}
	r.op = min(r.op, head)
	if cut != math.MaxUint64 {
		r.cutLog(cut)
	}
}

// checkApplied compares what this replica has applied with what the group has there.
func (r *Replica) checkApplied(h *protocol.PrepareHeader) {
	if h.Op() == r.commitMin && !r.commitChecksum.IsZero() && h.Common().Checksum() != r.commitChecksum {
		r.fail(&DivergedError{Op: h.Op()})
	}
}

// tryStart starts the decided view once this candidate can serve every operation of its log, and fetches the
// lowest one that is missing until then.
func (r *Replica) tryStart() {
	if r.status != statusViewChange || !r.vc.decided || r.dead() {
		return
	}
	m := &r.vc.merged
	for i := len(m.elsewhere) - 1; i >= 0; i-- {
		if h := &m.elsewhere[i]; !r.covers(h) {
			r.fetch(h.Op())
			return
		}
	}
	for i := len(m.headers) - 1; i >= 0; i-- {
		if h := &m.headers[i]; !r.covers(h) {
			r.fetch(h.Op())
			return
		}
	}
	r.startView()
}

// covers reports whether the log of this replica has the operation.
func (r *Replica) covers(h *protocol.PrepareHeader) bool {
	if h.Op() <= r.commitMin {
		return true
	}
	s := r.ring.held(h.Op())
	return s != nil && s.durable && s.is(h)
}

// startView makes the decided log that of the view and this replica its primary. The log view rises only
// here: it says that the log of this replica is that of the view.
func (r *Replica) startView() {
	m := r.vc.merged
	r.op = m.op
	r.leaveView(statusNormal)
	r.logView, r.observedNewerView, r.amnesiac, r.ackedHead = r.view, 0, false, 0
	r.takeHead(m.headers)
	r.newTerm()
	// Not earlier: what older views vouched for proves nothing about a commit point of the new log.
	r.commitMax = max(r.commitMax, m.commitMax)
	for i := range m.headers {
		r.name(&m.headers[i])
	}
	r.vouchForAll()
	r.startTimers()
	r.unsaid.startView = true
	r.flushView()
	r.acknowledge()
	r.advance()
	r.repairMissing()
}

// takeHead makes the first of headers, which descend from the head of the log, what the next operation chains
// to.
func (r *Replica) takeHead(headers []protocol.PrepareHeader) {
	r.lastChecksum = protocol.Uint128{}
	if r.op == r.commitMin {
		r.lastChecksum = r.commitChecksum
	}
	if len(headers) > 0 && headers[0].Op() == r.op && !IsBlank(&headers[0]) {
		r.lastChecksum = headers[0].Common().Checksum()
	}
	for i := range headers {
		r.lastTimestamp = max(r.lastTimestamp, headers[i].Timestamp())
	}
}

// newTerm forgets what was acknowledged and vouched for in older views.
func (r *Replica) newTerm() {
	for op := r.commitMin + 1; op <= r.op; op++ {
		if s := r.ring.get(op); s != nil {
			s.acks, s.vouched, s.minted = 0, false, false
		}
	}
	r.acked, r.anchor = r.commitMin, r.commitMin
}

// vouchForAll takes every operation that headers of the view have named, and what they name below themselves,
// for part of its log.
func (r *Replica) vouchForAll() {
	for op := r.op; op > r.commitMin; op-- {
		if s := r.ring.get(op); s != nil && s.vouched {
			s.vouched = false
			r.vouchFor(s)
		}
	}
	r.advanceFrontiers()
}

// buildStartView describes the log of the view, which this replica leads.
func (r *Replica) buildStartView(incarnation protocol.Uint128) (*StartViewHeader, []byte) {
	var body []byte
	for i, op := 0, r.op; op >= max(r.commitMax, 1) && i < SuffixMax; i, op = i+1, op-1 {
		h, _ := r.describe(op)
		body = append(body, h[:]...)
	}
	h := new(StartViewHeader)
	r.stamp(h.Common(), protocol.CommandStartView)
	h.Common().SetSize(uint32(protocol.HeaderSize + len(body)))
	h.SetOp(r.op)
	h.SetCommit(r.commitMax)
	h.SetGroup(r.group)
	h.SetIncarnation(incarnation)
	SealFrame(h.Common(), body)
	return h, body
}

// sendStartView tells one replica of the view.
func (r *Replica) sendStartView(to uint8, incarnation protocol.Uint128) {
	if r.logView == r.view && r.passGate() {
		h, body := r.buildStartView(incarnation)
		r.out.send(to, h.Common(), Body{Bytes: body})
	}
}

// onStartView adopts a view that its primary has started.
func (r *Replica) onStartView(m *Message) {
	sv := (*StartViewHeader)(m.Header)
	view := m.Header.View()
	switch {
	case r.loading():
		r.drop(DropStatus)
		return
	case m.From != r.primary(view):
		r.drop(DropSender)
		return
	case view < r.view:
		r.drop(DropOldView)
		return
	case r.status == statusNormal && view == r.view:
		r.heartbeatSeen() // never adopted twice: what came since would be cut off
		r.drop(DropDuplicate)
		return
	case !r.fresh(sv, view):
		r.drop(DropStale)
		return
	}
	suffix, ok := DecodeStartViewSuffix(sv, m.Body.Bytes)
	if !ok || sv.Op() < r.commitMin {
		r.drop(DropInvalid)
		return
	}
	r.adopt(view, sv, suffix)
}

// fresh reports whether a StartView can be what the primary says now. An answer to an earlier life of this
// replica, or to nobody, may be older than what this replica has acknowledged since.
func (r *Replica) fresh(sv *StartViewHeader, view uint32) bool {
	if r.status != statusRecovering {
		return true
	}
	echo := sv.Incarnation()
	switch {
	case echo == r.incarnation || sv.Op() >= r.op:
		return true
	case view == r.logView:
		return false
	case view <= r.view:
		return echo.IsZero()
	}
	return true
}

// adopt makes the log of the view this replica's.
func (r *Replica) adopt(view uint32, sv *StartViewHeader, suffix Suffix) {
	headers := make([]protocol.PrepareHeader, suffix.Len())
	for i := range headers {
		headers[i] = *suffix.At(i)
	}
	r.leaveView(statusNormal)
	r.view = view
	r.reconcile(headers, sv.Op())
	r.logView, r.observedNewerView, r.amnesiac, r.ackedHead = view, 0, false, 0
	r.op = sv.Op()
	r.takeHead(headers)
	r.newTerm()
	r.commitMax = max(r.commitMax, sv.Commit())
	for i := range headers {
		if !IsBlank(&headers[i]) {
			r.name(&headers[i])
		}
	}
	r.vouchForAll()
	r.heartbeatSeen()
	r.passGate()
	r.acknowledge()
	r.advance()
	r.repairMissing()
}
