package metadata

import "slices"

// Partition is what the metadata group knows about one partition. Its storage, its log and its counters
// live elsewhere.
type Partition struct {
	CreatedAt       uint64 // microseconds since the Unix epoch
	CreatedRevision uint64 // op that created it: tells incarnations of one id apart
	PurgeGeneration uint64 // number of purges so far
	PurgedAt        uint64 // op of the newest purge, 0 without one
	TruncateUpTo    uint64 // sealed segments that end at or below this offset are to be deleted; only rises until a purge
}

// chunkSize bounds what changing one partition copies.
const chunkSize = 128

// partitionList is a persistent dense list: chunks are shared between versions and never written to.
type partitionList struct {
	chunks [][]Partition // all full but the last
	count  uint32
}

func (l partitionList) at(id uint32) (Partition, bool) {
	if id >= l.count {
		return Partition{}, false
	}
	return l.chunks[id/chunkSize][id%chunkSize], true
}

// grow returns the list with n copies of p behind its end.
func (l partitionList) grow(n uint32, p Partition) partitionList {
	chunks := slices.Clone(l.chunks)
	for n > 0 {
		room := chunkSize - l.count%chunkSize
		take := min(n, room)
		var chunk []Partition
		if l.count%chunkSize != 0 {
			last := chunks[len(chunks)-1]
			chunk = append(make([]Partition, 0, uint32(len(last))+take), last...)
			chunks = chunks[:len(chunks)-1]
		} else {
			chunk = make([]Partition, 0, take)
		}
		for range take {
			chunk = append(chunk, p)
		}
		chunks = append(chunks, chunk)
		l.count += take
		n -= take
	}
	l.chunks = chunks
	return l
}

// shrink returns the list without its last n entries, n <= count.
func (l partitionList) shrink(n uint32) partitionList {
	l.count -= n
	full := (l.count + chunkSize - 1) / chunkSize
	l.chunks = slices.Clone(l.chunks[:full])
	if rest := l.count % chunkSize; rest != 0 {
		l.chunks[full-1] = slices.Clone(l.chunks[full-1][:rest])
	}
	return l
}

// with returns the list with entry id replaced.
func (l partitionList) with(id uint32, p Partition) partitionList {
	l.chunks = slices.Clone(l.chunks)
	chunk := slices.Clone(l.chunks[id/chunkSize])
	chunk[id%chunkSize] = p
	l.chunks[id/chunkSize] = chunk
	return l
}

// purged returns the list after a purge by the operation op.
func (l partitionList) purged(op uint64) partitionList {
	chunks := make([][]Partition, len(l.chunks))
	for i, chunk := range l.chunks {
		chunks[i] = slices.Clone(chunk)
		for j := range chunks[i] {
			p := &chunks[i][j]
			p.PurgeGeneration++
			p.PurgedAt, p.TruncateUpTo = op, 0
		}
	}
	l.chunks = chunks
	return l
}
