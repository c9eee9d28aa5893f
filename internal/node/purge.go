package node

import (
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// proposePurge puts the barrier of the newest committed purge into the log, before anything else and with
// nothing in flight: what is ordered before it is dead, what comes after it is minted from 0.
func (g *group) proposePurge() bool {
	if g.purgeInLog() || !g.part.WantsPurge(g.purge.generation) || g.replica.Op() != g.replica.CommitMin() {
		return false
	}
	body := make([]byte, partition.PurgeBodySize)
	partition.PurgeBody{Generation: g.purge.generation, MetadataOp: g.purge.op, Revision: g.revision}.Put(body)
	req := &vsr.Request{Client: protocol.MaxUint128, Operation: protocol.OpPurgeBarrier, Body: vsr.Body{Bytes: body}}
	if g.replica.Propose(g.shard.now, req).Verdict != vsr.Accepted {
		return false
	}
	g.part.PurgeProposed(g.purge.generation)
	g.purge.barrier = g.replica.Op()
	return true
}

// purgeInTheWay reports that requests must wait: a barrier is to be proposed, or is not applied yet.
func (g *group) purgeInTheWay() bool {
	return g.purgeInLog() || g.part.WantsPurge(g.purge.generation)
}

// purgeInLog reports that a barrier is in the log and not applied.
func (g *group) purgeInLog() bool { return g.purge.barrier > g.replica.CommitMin() }
