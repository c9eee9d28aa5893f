package metadata

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/protocol"
)

// Bodies of the operations that only servers propose. Integers are little-endian; a body of another length
// does not decode.

// RemoveMember is the body of RemoveConsumerGroupMember (66), 36 bytes: stream u32, topic u32, group u32,
// client u128, session u64. A member that joined again under a session above Session stays.
type RemoveMember struct {
	GroupRef
	Client  protocol.Uint128
	Session uint64
}

const removeMemberSize = 36

// Append encodes m.
func (m RemoveMember) Append(dst []byte) []byte {
	dst = m.GroupRef.append(dst)
	return binary.LittleEndian.AppendUint64(appendUint128(dst, m.Client), m.Session)
}

// DecodeRemoveMember decodes a body; false when it is none.
func DecodeRemoveMember(body []byte) (RemoveMember, bool) {
	if len(body) != removeMemberSize {
		return RemoveMember{}, false
	}
	return RemoveMember{readGroupRef(body), protocol.ReadUint128(body[12:]), binary.LittleEndian.Uint64(body[28:])}, true
}

// CompleteRevocation is the body of CompleteConsumerGroupRevocation (67), 28 bytes: stream u32, topic u32,
// group u32, partition u32, source u32, since u64. Since is that of the Handover it ends.
type CompleteRevocation struct {
	GroupRef
	Partition, Source uint32
	Since             uint64
}

const completeRevocationSize = 28

// Append encodes c.
func (c CompleteRevocation) Append(dst []byte) []byte {
	dst = c.GroupRef.append(dst)
	dst = binary.LittleEndian.AppendUint32(dst, c.Partition)
	dst = binary.LittleEndian.AppendUint32(dst, c.Source)
	return binary.LittleEndian.AppendUint64(dst, c.Since)
}

// DecodeCompleteRevocation decodes a body; false when it is none.
func DecodeCompleteRevocation(body []byte) (CompleteRevocation, bool) {
	if len(body) != completeRevocationSize {
		return CompleteRevocation{}, false
	}
	return CompleteRevocation{
		readGroupRef(body), binary.LittleEndian.Uint32(body[12:]), binary.LittleEndian.Uint32(body[16:]),
		binary.LittleEndian.Uint64(body[20:]),
	}, true
}

func (r GroupRef) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.Stream)
	dst = binary.LittleEndian.AppendUint32(dst, r.Topic)
	return binary.LittleEndian.AppendUint32(dst, r.Group)
}

func readGroupRef(b []byte) GroupRef {
	return GroupRef{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
}

// Bootstrap is the body of the first operation of a cluster (70): clients_table_max u32, name of root (u8
// length, bytes), hash of root's password in PHC form (u8 length, bytes).
type Bootstrap struct {
	ClientsTableMax uint32 // 1 to 65536
	RootName        string // 3 to 50 bytes
	RootHash        string // 1 to 255 bytes
}

// Append encodes b, whose fields must be in range.
func (b Bootstrap) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, b.ClientsTableMax)
	return protocol.AppendName(protocol.AppendName(dst, b.RootName), b.RootHash)
}

// DecodeBootstrap decodes a body; false when it is none or out of range.
func DecodeBootstrap(body []byte) (Bootstrap, bool) {
	if len(body) < 4 {
		return Bootstrap{}, false
	}
	name, rest, ok1 := cutName(body[4:])
	hash, rest, ok2 := cutName(rest)
	b := Bootstrap{binary.LittleEndian.Uint32(body), name, hash}
	ok := ok1 && ok2 && len(rest) == 0 && hash != "" && usernameFits(name) &&
		b.ClientsTableMax >= 1 && b.ClientsTableMax <= slotsMax
	return b, ok
}

func cutName(b []byte) (name string, rest []byte, ok bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, false
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], true
}

// AppendRegister encodes the body of a Register: verifiedAt is the Revision of the View that the
// credentials were verified against.
func AppendRegister(dst []byte, verifiedAt uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, verifiedAt)
}

// AppendLogout encodes the body of a Logout: session is the epoch that it ends.
func AppendLogout(dst []byte, session uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, session)
}
