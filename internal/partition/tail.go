package partition

import "github.com/galgolog/galgo/internal/vsr"

// tailBatch is a recent batch in memory.
type tailBatch struct {
	Base, End uint64
	Micros    uint64
	Body      vsr.Body
}

// tail keeps the newest committed batches. Views alias batches, whose elements are written once: dropping
// moves the front, growing appends, and a full backing array is left to the views that know it.
type tail struct {
	batches  []tailBatch
	bytes    int64
	maxBytes int64
}

func (t *tail) push(b tailBatch) {
	if t.maxBytes <= 0 || b.Body.Lease == nil {
		return
	}
	b.Body.Retain()
	if len(t.batches) == cap(t.batches) {
		grown := make([]tailBatch, len(t.batches), max(16, 2*len(t.batches)))
		copy(grown, t.batches)
		t.batches = grown
	}
	t.batches = append(t.batches, b)
	t.bytes += int64(len(b.Body.Bytes))
	t.trim(t.maxBytes)
}

// trim drops the oldest batches until at most maxBytes remain. The newest batch stays unless maxBytes is 0.
func (t *tail) trim(maxBytes int64) {
	for len(t.batches) > 0 && t.bytes > maxBytes && (len(t.batches) > 1 || maxBytes == 0) {
		t.bytes -= int64(len(t.batches[0].Body.Bytes))
		t.batches[0].Body.Release()
		t.batches = t.batches[1:]
	}
	if len(t.batches) == 0 {
		t.batches = nil
	}
}

// dropBelow drops the batches that end below offset: their segments are gone.
func (t *tail) dropBelow(offset uint64) {
	for len(t.batches) > 0 && t.batches[0].End < offset {
		t.bytes -= int64(len(t.batches[0].Body.Bytes))
		t.batches[0].Body.Release()
		t.batches = t.batches[1:]
	}
}

// TailBytes is the number of bytes of recent batches kept in memory.
func (p *Partition) TailBytes() int64 { return p.tail.bytes }

// TrimTail drops recent batches from memory, oldest first, until at most maxBytes remain, and publishes.
func (p *Partition) TrimTail(maxBytes int64) {
	if p.tail.bytes <= maxBytes {
		return
	}
	p.tail.trim(maxBytes)
	p.dirty = true
	p.Publish()
}
