package node

import (
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vsr"
)

// superblockWriter keeps the durable record of a group: one write at a time, whatever asked for it. What is
// asked for while one runs is covered by the next.
type superblockWriter struct {
	store       *superblock.Store
	writing     bool
	wantView    bool
	claim       partition.Claim
	wantsOff    bool // claim is wanted
	failures    int
	retryAt     uint64 // tick
	mintAtStart uint64 // next offset to mint when the write began
	claimedAt   uint64 // tick of the last claim, 0 for none
	purging     bool   // a purge writes the record: a claim from before it must not follow
}

// purged forgets what was wanted before a purge: offsets begin at 0 again.
func (b *superblockWriter) purged() {
	b.purging, b.wantsOff, b.claim = false, false, partition.Claim{}
}

// claimLastsTicks is how long a claim of offsets should last: a sync that an append meets is felt.
const claimLastsTicks = 30 * ticksPerSecond

func (b *superblockWriter) wantClaim(c partition.Claim) {
	if !b.wantsOff || c.Reserved > b.claim.Reserved {
		b.claim, b.wantsOff = c, true
	}
}

// writeSuperblock starts a write when one is due. The values are captured here and come back with the
// completion: what counts as durable is what was written.
func (g *group) writeSuperblock() {
	b := &g.block
	if b.writing || b.purging || !b.wantView && !b.wantsOff || g.shard.now.Ticks < b.retryAt {
		return
	}
	claim, claims := g.part.KeepClaim(), b.wantsOff
	if claims {
		claim.Frontier = max(claim.Frontier, b.claim.Frontier)
		claim.Reserved = max(claim.Reserved, b.claim.Reserved)
	}
	state := g.superblockState(claim)
	b.writing, b.wantView, b.wantsOff, b.mintAtStart = true, false, false, g.part.MintFrontier()
	g.submit(func() error { return b.store.Write(state) }, func(err error) { g.superblockDone(state, claim, claims, err) })
}

func (g *group) superblockState(claim partition.Claim) superblock.State {
	return g.stateOf(g.replica, claim)
}

// stateOf is what a superblock says of a group whose replica is given.
func (g *group) stateOf(replica *vsr.Replica, claim partition.Claim) superblock.State {
	n := g.shard.node
	return superblock.State{
		Cluster: n.cluster, ReplicaID: n.replicaID, ReplicaCount: n.replicas,
		View: replica.View(), LogView: replica.LogView(), CommitMax: replica.CommitMax(),
		OffsetFrontier: claim.Frontier, OffsetReserved: claim.Reserved,
	}
}

// viewDurable reports whether the record on the disk holds the view of the replica: a claim of offsets carries it,
// and it is not written a second time for the view alone.
func (g *group) viewDurable() bool {
	state, present := g.block.store.State()
	return present && state.View == g.replica.View() && state.LogView == g.replica.LogView()
}

// superblockDone follows a write; claims tells that it was to raise the reservation.
func (g *group) superblockDone(state superblock.State, claim partition.Claim, claims bool, err error) {
	b := &g.block
	b.writing = false
	if g.state != serving {
		return
	}
	if err != nil {
		b.failures++
		b.retryAt = g.shard.now.Ticks + backoffTicks(b.failures)
		b.wantClaim(claim)
		if b.failures&(b.failures-1) == 0 {
			g.shard.node.log.Error("superblock", "partition", g.id.String(), "failures", b.failures, "error", err)
		}
		g.shard.node.noteDiskError(err)
		g.replica.Done(g.shard.now, vsr.SuperblockDone{View: state.View, LogView: state.LogView, Err: err, NoSpace: isNoSpace(err)})
		return
	}
	b.failures, b.retryAt = 0, 0
	b.wantView = b.wantView && !g.viewDurable()
	g.part.Claimed(claim)
	if claims {
		minted := g.part.MintFrontier() - min(g.part.MintFrontier(), b.mintAtStart)
		now := g.shard.now.Ticks
		g.part.ClaimTook(minted, b.claimedAt > 0 && now-b.claimedAt < claimLastsTicks)
		b.claimedAt = now
	}
	g.replica.Done(g.shard.now, vsr.SuperblockDone{View: state.View, LogView: state.LogView})
}

// backoffTicks is 10 ms doubled with every failure, at most a second.
func backoffTicks(failures int) uint64 { return min(uint64(1)<<min(failures, 8), ticksPerSecond) }
