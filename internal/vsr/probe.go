package vsr

import "github.com/galgolog/galgo/internal/protocol"

// startProbing makes the replica silent until it has learned the view of the group.
func (r *Replica) startProbing() {
	r.leaveView(statusRecovering)
	r.timers.probe.start(r.now.Ticks, r.timers.base.Probe)
	r.probes = 0
}

// probeTimer asks again for the view. A recovering replica that nobody answers takes part in an election, if
// it can prove what it acknowledged.
func (r *Replica) probeTimer() {
	r.timers.probe.start(r.now.Ticks, r.timers.base.Probe)
	if r.status == statusRecovering {
		if r.probes++; r.probes >= r.timers.base.ProbeAttempts && !r.amnesiac {
			r.elect()
			return
		}
	}
	var h RequestStartViewHeader
	r.stamp(h.Common(), protocol.CommandRequestStartView)
	h.SetGroup(r.group)
	h.SetOp(r.op)
	h.SetLogView(r.logView)
	if r.amnesiac {
		h.SetClaim(ClaimAmnesiac)
	}
	h.SetHeadChecksum(r.lastChecksum)
	h.SetIncarnation(r.incarnation)
	SealFrame(h.Common(), nil)
	r.broadcast(h.Common(), nil)
}

// onRequestStartView tells the view to who asks for it. A primary that asks cannot lead: it has restarted, and
// the others change the view at once.
func (r *Replica) onRequestStartView(m *Message) {
	switch {
	case r.status != statusNormal || r.loading():
		r.observeView(m.Header)
		r.drop(DropStatus)
	case m.From == r.Primary():
		if m.Header.View() == r.view {
			r.elect()
		} else {
			r.drop(DropOldView)
		}
	case r.isCandidate():
		r.sendStartView(m.From, (*RequestStartViewHeader)(m.Header).Incarnation())
	default:
		r.observeView(m.Header)
	}
}
