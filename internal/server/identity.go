package server

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/zeebo/blake3"

	"github.com/galgolog/galgo/internal/protocol"
)

// clusterID is the identity that every frame between replicas and every durable record carries: the first 16
// bytes of the BLAKE3 of the cluster's name.
func clusterID(name string) protocol.Uint128 {
	sum := blake3.Sum256([]byte(name))
	return protocol.ReadUint128(sum[:16])
}

// random128 draws a number that is never zero.
func random128() protocol.Uint128 {
	var b [16]byte
	for {
		if _, err := rand.Read(b[:]); err != nil {
			panic("server: no randomness: " + err.Error())
		}
		if v := protocol.ReadUint128(b[:]); !v.IsZero() {
			return v
		}
	}
}

// random64 draws a number that is never zero.
func random64() uint64 {
	var b [8]byte
	for {
		if _, err := rand.Read(b[:]); err != nil {
			panic("server: no randomness: " + err.Error())
		}
		if v := binary.LittleEndian.Uint64(b[:]); v != 0 {
			return v
		}
	}
}
