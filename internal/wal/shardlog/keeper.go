package shardlog

// keeper holds copies of records that wait for their sync, in the order of their positions.
type keeper struct {
	ring    []byte // circular
	start   int    // of the oldest byte
	bytes   int64  // in use
	records []keptRecord
	first   int // index of the oldest record; those before it are gone
}

// keptRecord is a record without padding.
type keptRecord struct {
	pos   int64 // in the active file
	bytes int
}

// ringIdleMax is the largest ring that is kept while nothing waits.
const ringIdleMax = 4 << 20

// add copies the parts of one record. Its head bytes may change later; whoever takes the copy builds them anew.
func (k *keeper) add(pos int64, parts ...[]byte) {
	total := 0
	for _, p := range parts {
		total += len(p)
	}
	k.reserve(total)
	at := (k.start + int(k.bytes)) % len(k.ring)
	for _, p := range parts {
		n := copy(k.ring[at:], p)
		copy(k.ring, p[n:])
		at = (at + len(p)) % len(k.ring)
	}
	k.bytes += int64(total)
	if k.first > 0 && len(k.records) == cap(k.records) {
		k.records = k.records[:copy(k.records, k.records[k.first:])]
		k.first = 0
	}
	k.records = append(k.records, keptRecord{pos: pos, bytes: total})
}

// reserve makes room for n more bytes.
func (k *keeper) reserve(n int) {
	if int(k.bytes)+n <= len(k.ring) {
		return
	}
	size := max(2*len(k.ring), 64<<10)
	for size < int(k.bytes)+n {
		size *= 2
	}
	ring := make([]byte, size)
	k.read(ring[:k.bytes], 0)
	k.ring, k.start = ring, 0
}

// read copies what lies off bytes behind the oldest one.
func (k *keeper) read(dst []byte, off int) {
	if len(dst) == 0 {
		return
	}
	at := (k.start + off) % len(k.ring)
	n := copy(dst, k.ring[at:])
	copy(dst[n:], k.ring)
}

// release forgets the records before pos.
func (k *keeper) release(pos int64) {
	for k.first < len(k.records) && k.records[k.first].pos < pos {
		n := k.records[k.first].bytes
		k.start, k.bytes = (k.start+n)%len(k.ring), k.bytes-int64(n)
		k.first++
	}
	if k.first == len(k.records) {
		k.records, k.first, k.start = k.records[:0], 0, 0
		if len(k.ring) > ringIdleMax {
			k.ring = nil
		}
	}
}

// shift moves all positions.
func (k *keeper) shift(by int64) {
	for i := range k.records {
		k.records[i].pos += by
	}
}
