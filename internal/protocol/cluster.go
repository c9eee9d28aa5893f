package protocol

import "github.com/zeebo/blake3"

// ClusterID is the identity that every frame between replicas and every durable record carries: the first 16
// bytes of the BLAKE3 of the cluster's name.
func ClusterID(name string) Uint128 {
	sum := blake3.Sum256([]byte(name))
	return ReadUint128(sum[:16])
}
