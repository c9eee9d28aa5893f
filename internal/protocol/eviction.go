package protocol

// EvictionReason says why a session ended (byte 255 of an eviction frame). 0 is never sent.
type EvictionReason uint8

// Eviction reasons that a server sends (spec: client wire protocol, eviction reasons).
const (
	EvictNoSession            EvictionReason = 1
	EvictInvalidCredentials   EvictionReason = 9
	EvictInvalidToken         EvictionReason = 10
	EvictUserInactive         EvictionReason = 11
	EvictSessionError         EvictionReason = 12
	EvictStaleClient          EvictionReason = 13
	EvictIncompatibleProtocol EvictionReason = 14
	EvictMalformedLogin       EvictionReason = 15
)
