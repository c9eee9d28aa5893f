package server

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
)

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
