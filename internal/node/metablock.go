package node

import (
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vsr"
)

// metaBlock keeps the superblock of the metadata group: one write at a time, whatever asked for it. Every
// write holds the view of the replica and the newest snapshot, both as they were when it began; they come
// back with its completion, and only they count as durable. So a write for the gate never loses the pairing,
// and one for a checkpoint never takes the view back.
type metaBlock struct {
	store    *superblock.Store
	writing  bool
	wantView bool // the gate waits
	wantMark bool // a checkpoint waits
	failures int  // in a row
}

// writeSuperblock starts a write when one is wanted and none runs.
func (m *metaGroup) writeSuperblock() {
	b := &m.block
	if b.writing || !b.wantView && !b.wantMark {
		return
	}
	gate := b.wantView
	b.writing, b.wantView, b.wantMark = true, false, false
	n, names := m.shard.node, m.checkpoint.written
	state := superblock.State{
		Cluster: n.cluster, ReplicaID: n.replicaID, ReplicaCount: n.replicas,
		View: m.replica.View(), LogView: m.replica.LogView(), CommitMax: m.replica.CommitMax(),
		CheckpointOp: names.op, CheckpointChecksum: names.checksum,
	}
	m.submit(func() error { return b.store.Write(state) }, func(err error) {
		b.writing = false
		m.superblockDone(&state, gate, err)
	})
}

// superblockDone takes the values that were written, or why they were not.
func (m *metaGroup) superblockDone(state *superblock.State, gate bool, err error) {
	b, n := &m.block, m.shard.node
	if err != nil {
		b.failures++
		n.noteDiskError(err)
		if b.failures&(b.failures-1) == 0 {
			n.log.Error("metadata superblock", "failures", b.failures, "error", err)
		}
		if gate {
			m.replica.Done(m.shard.now, vsr.SuperblockDone{
				View: state.View, LogView: state.LogView, Err: err, NoSpace: isNoSpace(err),
			})
		}
	} else {
		b.failures = 0
		if gate || b.wantView { // asked for while this one ran: it may hold what is wanted
			b.wantView = false
			m.replica.Done(m.shard.now, vsr.SuperblockDone{View: state.View, LogView: state.LogView})
		}
	}
	m.snapshotPaired(mark{state.CheckpointOp, state.CheckpointChecksum}, err)
}
