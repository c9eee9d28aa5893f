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

func (h *EvictionHeader) Client() Uint128 { return ReadUint128(h[128:]) }
func (h *EvictionHeader) Versions() (max, min uint32) {
	return le.Uint32(h[144:]), le.Uint32(h[148:])
}
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
