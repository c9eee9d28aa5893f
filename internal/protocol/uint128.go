package protocol

import (
	"encoding/binary"
	"fmt"
)

// Uint128 is an unsigned 128-bit number; on the wire 16 bytes, low half first. The zero value is 0,
// which is never a legal client id or nonce.
type Uint128 struct{ Lo, Hi uint64 }

// MaxUint128 is 2^128-1, the reserved client id of operations that the server itself puts into a
// partition's log.
var MaxUint128 = Uint128{^uint64(0), ^uint64(0)}

// Uint128From64 widens v.
func Uint128From64(v uint64) Uint128 { return Uint128{Lo: v} }

// ReadUint128 reads the first 16 bytes of b, which must be there.
func ReadUint128(b []byte) Uint128 {
	_ = b[15]
	return Uint128{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// Put writes u into the first 16 bytes of b, which must be there.
func (u Uint128) Put(b []byte) {
	_ = b[15]
	binary.LittleEndian.PutUint64(b, u.Lo)
	binary.LittleEndian.PutUint64(b[8:], u.Hi)
}

// IsZero reports whether u is 0.
func (u Uint128) IsZero() bool { return u == Uint128{} }

// Less reports whether u < v.
func (u Uint128) Less(v Uint128) bool {
	return u.Hi < v.Hi || u.Hi == v.Hi && u.Lo < v.Lo
}

// String returns 32 hexadecimal digits.
func (u Uint128) String() string { return fmt.Sprintf("%016x%016x", u.Hi, u.Lo) }
