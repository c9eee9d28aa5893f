package protocol

// EvictionHeader is a whole frame: the session of a connection has ended, or could not begin.
//
//	off size field
//	128   16 client
//	144    4 server_protocol_version      highest accepted version, reason 14 only
//	148    4 server_protocol_version_min  lowest accepted version, reason 14 only
//	255    1 reason
type EvictionHeader [HeaderSize]byte

// Common gives access to the first half.
func (h *EvictionHeader) Common() *Header { return (*Header)(h) }

// Client is shown to the client and means nothing else.
func (h *EvictionHeader) Client() Uint128 { return ReadUint128(h[128:]) }

// Versions are the highest and the lowest accepted protocol version, packed; 0 unless the reason is
// EvictIncompatibleProtocol.
func (h *EvictionHeader) Versions() (max, min uint32) {
	return le.Uint32(h[144:]), le.Uint32(h[148:])
}

// Reason says why.
func (h *EvictionHeader) Reason() EvictionReason { return EvictionReason(h[255]) }

// Set fills h. client is shown to the client and means nothing else; it should not be zero.
func (h *EvictionHeader) Set(client Uint128, reason EvictionReason) {
	*h = EvictionHeader{}
	h.Common().SetSize(HeaderSize)
	h.Common().SetCommand(CommandEviction)
	client.Put(h[128:])
	if reason == EvictIncompatibleProtocol {
		le.PutUint32(h[144:], Version)
		le.PutUint32(h[148:], VersionMin)
	}
	h[255] = byte(reason)
}

// Check reports whether h is an eviction as a server may send it: of the size of a header, with a reason, a
// client, and accepted versions exactly where they belong; the rest zero.
func (h *EvictionHeader) Check() bool {
	c := h.Common()
	highest, lowest := h.Versions()
	switch {
	case c.Command() != CommandEviction, c.Size() != HeaderSize, h.Client().IsZero(), h.Reason() == 0,
		!allZero(h[62:128]), !allZero(h[152:255]):
		return false
	case h.Reason() == EvictIncompatibleProtocol:
		return lowest >= 1 && lowest <= highest
	}
	return highest == 0 && lowest == 0
}

func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}
