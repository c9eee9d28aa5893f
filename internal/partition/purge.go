package partition

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// purgeState is how far this replica has followed the purges that the metadata group committed.
type purgeState struct {
	applied  uint64 // generation on disk
	proposed uint64 // highest generation put into the log in this life
	chain    uint64 // chain generation that the newest purge began
	barrier  uint64 // op of the newest purge that was applied, 0 for none
}

// PurgeBody is the body of a PurgeBarrier: generation u64, the metadata op that committed it u64, the
// incarnation u64.
type PurgeBody struct{ Generation, MetadataOp, Revision uint64 }

// PurgeBodySize is the length of an encoded PurgeBody.
const PurgeBodySize = 24

// Put encodes b into dst, which has PurgeBodySize bytes.
func (b PurgeBody) Put(dst []byte) {
	binary.LittleEndian.PutUint64(dst, b.Generation)
	binary.LittleEndian.PutUint64(dst[8:], b.MetadataOp)
	binary.LittleEndian.PutUint64(dst[16:], b.Revision)
}

// DecodePurge reads an encoded PurgeBody; false when the bytes are not one.
func DecodePurge(b []byte) (PurgeBody, bool) {
	if len(b) != PurgeBodySize {
		return PurgeBody{}, false
	}
	return PurgeBody{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}, true
}

// WantsPurge reports whether a barrier of generation must be put into the log before anything else.
func (p *Partition) WantsPurge(generation uint64) bool {
	return generation > p.purge.applied && generation > p.purge.proposed
}

// PurgeProposed notes that the barrier of generation is in the log.
func (p *Partition) PurgeProposed(generation uint64) {
	p.purge.proposed = max(p.purge.proposed, generation)
}

// applyPurge empties the partition. What readers see is emptied at once, under a new chain generation; the
// files follow in the job, and the walk stays at the barrier until they have.
func (p *Partition) applyPurge(h *protocol.PrepareHeader, body []byte) vsr.ApplyStatus {
	b, ok := DecodePurge(body)
	if !ok || b.Revision != p.cfg.Revision || b.Generation <= p.purge.applied {
		return vsr.ApplyDone
	}
	if p.resumed(h.Op()) {
		return vsr.ApplyDone
	}
	p.empty()
	return p.hold(h.Op(), Job{Kind: JobPurge, Generation: b.Generation, Revision: b.Revision, Chain: p.generation})
}

// empty resets everything below the barrier. Batches minted behind it in the log keep their claims: the
// host lets none in between (see node), so append state restarts at 0 too.
func (p *Partition) empty() {
	p.generation++
	p.purge.chain = p.generation
	p.sealed, p.active, p.hasActive = nil, Segment{}, false
	p.committed, p.seeded, p.appended, p.live = 0, false, 0, false
	p.messages, p.bytes = 0, 0
	p.write = writeCursor{}
	p.tail.trim(0)
	p.cursors.clear()
	p.dedup.clear()
	clear(p.offsets.durable)
	p.offsets.counts = [3]int{}
	p.reserve.minted = false
	p.checkpointed = 0
	p.dirty = true
}

// finishPurge follows the job: the directory holds one empty segment at 0 and purge.gen the generation.
func (p *Partition) finishPurge(j *Job) {
	p.purge.applied, p.purge.barrier = j.Generation, j.Op
	p.write = writeCursor{exists: true}
	p.active, p.hasActive = Segment{}, true
	p.generation++
	p.dirty = true
}
