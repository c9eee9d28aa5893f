package partition

import (
	"cmp"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
)

// Checkpoint is the state of a logged partition at its newest applied operation, as far as its files do not
// tell it. Once the files are durable, the log may forget everything up to Op.
type Checkpoint struct {
	// Header is the prepare of Op; zero when no operation was applied yet.
	Header protocol.PrepareHeader
	Op     uint64
	// Frontier is the offset after the last committed message, 0 when there never was one.
	Frontier uint64
	// SegmentStart and SegmentSize say where the data ends: the active segment and its bytes.
	SegmentStart uint64
	SegmentSize  int64
	// Micros is the newest time of a prepare at or below Op.
	Micros          uint64
	PurgeGeneration uint64
	// BarrierOp is the newest applied purge, 0 for none.
	BarrierOp uint64
	// Chain is the generation of the files. A purge moves it, and what was noted before says nothing any more.
	Chain uint64
}

// Checkpoint describes the partition now. Nothing may be staged and not applied.
func (p *Partition) Checkpoint() Checkpoint {
	return Checkpoint{
		Header: p.applied, Op: p.applied.Op(), Frontier: p.heldFrontier(),
		SegmentStart: p.active.Start, SegmentSize: p.active.Size,
		Micros:          max(p.applied.Timestamp(), p.NewestMicros()),
		PurgeGeneration: p.purge.applied, BarrierOp: p.purge.barrier, Chain: p.purge.chain,
	}
}

// Checkpointed tells that the log holds c durably and the files everything that it speaks of. It reports false
// for a checkpoint that a purge has overtaken. Retention keeps away from segments that were written since.
func (p *Partition) Checkpointed(c *Checkpoint) bool {
	if c.Chain != p.purge.chain {
		return false
	}
	p.checkpointed = max(p.checkpointed, c.Frontier)
	return true
}

// DedupEntry is what is remembered of one client that numbers its requests.
type DedupEntry struct {
	Client       protocol.Uint128
	User         uint32
	Watermark    uint64           // highest committed request number
	LatestCommit uint64           // op of that request
	Window       protocol.Uint128 // bit i: request Watermark-i was committed
}

// Dedup appends the remembered clients to dst, ascending by client, and returns it.
func (p *Partition) Dedup(dst []DedupEntry) []DedupEntry {
	n := len(dst)
	for i := range p.dedup.clients {
		c := &p.dedup.clients[i]
		dst = append(dst, DedupEntry{c.client, c.user, c.watermark, c.latestCommit, c.window})
	}
	slices.SortFunc(dst[n:], func(a, b DedupEntry) int {
		return cmp.Or(cmp.Compare(a.Client.Hi, b.Client.Hi), cmp.Compare(a.Client.Lo, b.Client.Lo))
	})
	return dst
}

// load makes entries the content of the table, whatever their order. More than fit push the oldest out.
func (t *dedupTable) load(entries []DedupEntry) {
	t.clear()
	byAge := slices.Clone(entries)
	slices.SortFunc(byAge, func(a, b DedupEntry) int { return cmp.Compare(a.LatestCommit, b.LatestCommit) })
	for _, e := range byAge {
		i := t.claim(e.Client)
		t.makeNewest(i)
		c := &t.clients[i]
		c.user, c.watermark, c.latestCommit, c.window = e.User, e.Watermark, e.LatestCommit, e.Window
	}
}
