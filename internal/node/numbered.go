package node

import (
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// absorb answers the numbered request w, the first of those that wait, when its number was seen before, and
// reports whether it did. A request that was committed is answered with success and appends nothing: the
// empty list of confirmations of a send and the empty result section of an offset operation are the same
// four zero bytes. One that is in flight will be decided soon, and its client asks again. One below the
// window was decided too long ago to say how.
func (g *group) absorb(w *Work) bool {
	if w.Local || !g.replica.IsPrimary() {
		return false
	}
	var outcome vsr.Outcome
	switch seen := g.part.Seen(&w.Request); {
	case seen == partition.SeenCommitted:
		outcome = vsr.Outcome{Verdict: vsr.Framed, Code: protocol.Success}
	case g.replica.InFlight(&w.Request):
		outcome = vsr.Outcome{Verdict: vsr.Denied, Code: protocol.CodeTransientNotCommitted}
	case seen == partition.SeenTooOld:
		outcome = vsr.Outcome{Verdict: vsr.Denied, Code: protocol.CodeRequestAlreadyApplied}
	default:
		return false
	}
	g.waiting.pop()
	g.publish() // what the success speaks of must be visible
	w.Request.Body.Release()
	g.scratch = vsr.Reply{Waiter: w.Request.Waiter, Request: &w.Request, Outcome: outcome}
	g.shard.answered(w.Request.Waiter, &g.scratch)
	return true
}
