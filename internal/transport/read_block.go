package transport

import "github.com/galgolog/galgo/internal/buffer"

const (
	readBlockBytes = 512 << 10
	readBlockLeft  = 64 << 10 // a block with less room is followed by a new one
	// inPlaceBytesMin is the smallest body that stays where it was read. It holds on to its header and its share
	// of what was copied instead, so smaller ones would keep much more memory than they fill.
	inPlaceBytesMin = 1 << 10
)

// readBlock is the memory that reads of a busy connection land in, one behind the other. Bodies stay there,
// each with a reference of its own, instead of being copied into a slab. The zero value is empty.
type readBlock struct {
	lease *buffer.Lease
	used  int
}

// room is where the next read may go, at most readBytesMax bytes.
func (b *readBlock) room(pool *buffer.Pool) []byte {
	if b.lease == nil || len(b.lease.Bytes)-b.used < readBlockLeft {
		b.drop()
		b.lease = pool.Get(readBlockBytes)
	}
	return b.lease.Bytes[b.used:min(b.used+readBytesMax, len(b.lease.Bytes))]
}

// landed takes note of bytes that were read, and returns the lease they lie in: nil when they are not in the
// room that was given out last.
func (b *readBlock) landed(p []byte) *buffer.Lease {
	if b.lease == nil || b.used == len(b.lease.Bytes) || &p[0] != &b.lease.Bytes[b.used] {
		return nil
	}
	b.used += len(p)
	return b.lease
}

// drop gives the block's own reference back.
func (b *readBlock) drop() {
	if b.lease != nil {
		b.lease.Release()
		*b = readBlock{}
	}
}
