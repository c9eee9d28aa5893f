package metadata

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
)

// Bodies written out by hand, from the layouts and not with the codec under test.

func cat(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func name(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func num(v uint32) []byte { return append([]byte{1, 4}, u32(v)...) }

func str(s string) []byte { return append([]byte{2, byte(len(s))}, s...) }

func sized(b []byte) []byte { return append(u32(uint32(len(b))), b...) }

func opt(key string, kind byte, value []byte) []byte {
	return cat([]byte{2}, u32(uint32(len(key))), []byte(key), []byte{kind}, u32(uint32(len(value))), value)
}

// assigned encodes n assignments with ids 0 to n-1.
func assigned(n uint32) []byte {
	out := u32(n)
	for i := range n {
		out = cat(out, u32(i), u64(0))
	}
	return out
}

func topicBody(stream []byte, topic string, partitions uint32, explicit ...[]byte) []byte {
	return cat(sized(cat(stream, u32(partitions), name(topic), cat(explicit...))), sized(nil), assigned(partitions))
}

func partitionsBody(stream, topic []byte, n uint32) []byte {
	return cat(sized(cat(stream, topic, u32(n))), assigned(n))
}

func joinBody(stream, topic, group []byte, client protocol.Uint128, inFlight ...uint32) []byte {
	out := cat(stream, topic, group, appendUint128(nil, client), u32(uint32(len(inFlight))))
	for _, p := range inFlight {
		out = append(out, u32(p)...)
	}
	return out
}

// grantsBody encodes a record with the global flags, one flag of a stream and one of a topic in it; a
// negative number leaves its level out.
func grantsBody(global uint16, stream, streamFlag, topic, topicFlag int) []byte {
	g := &Grants{global: global}
	if stream >= 0 {
		flags := uint16(0)
		if streamFlag >= 0 {
			flags = 1 << streamFlag
		}
		s := g.setStream(uint32(stream), flags)
		if topic >= 0 {
			s.setTopic(uint32(topic), 1<<topicFlag)
		}
	}
	return g.append(nil)
}

func userBody(username string, hash string, status byte, grants []byte) []byte {
	out := cat(name(username), name(hash), []byte{status})
	if grants == nil {
		return append(out, 0)
	}
	return cat(out, []byte{1}, sized(grants))
}

func tokenBody(user uint32, token string, expiry uint64) []byte {
	return cat(u32(user), name(token), u64(expiry), []byte(tokenHash(user, token)))
}

func tokenHash(user uint32, token string) string { return fmt.Sprintf("%08x%056x", user, token)[:64] }

// setStream and setTopic add to a record that is being built for a test.
func (g *Grants) setStream(id uint32, flags uint16) *streamGrants {
	g.streams = append(g.streams, streamGrants{id: id, flags: flags})
	g.streams = lastOfEach(g.streams, func(s streamGrants) uint32 { return s.id })
	i, _ := slices.BinarySearchFunc(g.streams, id, streamGrants.compare)
	return &g.streams[i]
}

func (s *streamGrants) setTopic(id uint32, flags uint16) {
	s.topics = append(s.topics, topicGrants{id, flags})
	s.topics = lastOfEach(s.topics, func(t topicGrants) uint32 { return t.id })
}
