package vsr

import "github.com/galgolog/galgo/internal/protocol"

// announceCommit tells the backups of a commit point that no prepare has carried to them.
func (r *Replica) announceCommit() {
	if !r.solo() && r.announced < r.commitMin && !r.dead() && r.IsPrimary() && r.gateOpen() {
		r.broadcastCommit()
	}
}

// broadcastCommit tells every backup what this primary has applied; they then never outrun it.
func (r *Replica) broadcastCommit() {
	r.timers.commit.start(r.now.Ticks, r.timers.base.Commit)
	if !r.passGate() {
		return
	}
	r.heartbeatTS++
	r.announced = r.commitMin
	var c CommitHeader
	r.stamp(c.Common(), protocol.CommandCommit)
	c.SetCommitChecksum(r.commitChecksum)
	c.SetTimestampMonotonic(r.heartbeatTS)
	c.SetCommit(r.commitMin)
	c.SetGroup(r.group)
	SealFrame(c.Common(), nil)
	for to := range r.replicas {
		if to != r.self {
			r.out.send(to, c.Common(), Body{})
		}
	}
}

// onCommit takes the commit point of the primary.
func (r *Replica) onCommit(m *Message) {
	c := (*CommitHeader)(m.Header)
	if view := m.Header.View(); view < r.view && r.IsPrimary() && m.From == r.primary(view) {
		r.sendStartView(m.From, protocol.Uint128{}) // it does not know yet that it was replaced
	}
	if !r.inView(m) {
		return
	}
	switch {
	case r.status != statusNormal || r.loading():
		r.drop(DropStatus)
		return
	case r.IsPrimary():
		r.drop(DropRole)
		return
	case m.From != r.Primary():
		r.drop(DropSender)
		return
	}
	if c.TimestampMonotonic() > r.heartbeatTS {
		r.heartbeatTS = c.TimestampMonotonic()
		r.heartbeatSeen()
	} else {
		r.drop(DropStaleHeartbeat)
	}
	if reason := r.vouch(c.Commit(), c.CommitChecksum()); reason != DropNone {
		r.drop(reason)
		return
	}
	r.commitMax = max(r.commitMax, c.Commit())
	r.advance()
	r.repairMissing()
}

// heartbeatSeen notes a sign of life of the primary of this view.
func (r *Replica) heartbeatSeen() {
	r.timers.heartbeat.startCounting(r.timers.base.Heartbeat)
}
