package protocol

import (
	"github.com/OneOfOne/xxhash"
	"github.com/zeebo/xxh3"
)

// Hash32 is XXH32 with seed 0: the key of a named consumer and the hash of a partitioning key.
func Hash32(b []byte) uint32 { return xxhash.Checksum32(b) }

// Hash64 is XXH3-64 with seed 0 and the default secret: every checksum of the protocol.
func Hash64(b []byte) uint64 { return xxh3.Hash(b) }
