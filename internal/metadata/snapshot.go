package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
)

// A snapshot is a header, three sections and a trailer. Integers are little-endian.
//
//	off size header field
//	  0    4 magic "GLMS"
//	  4    4 version 1
//	  8    8 op that the state reflects
//	 16    8 timestamp of that op, microseconds
//	 24    4 clients_table_max
//	 28   36 zero
//
// Sections, in this order, each a count and its entries: users, streams, clients. Everything that can be
// computed from the entries (indexes, memberships, counters) is not stored. The trailer is the magic "PNSI"
// and the XXH3-64, zero-extended to 16 bytes, of all before the trailer.
//
// The form is canonical: entries stand in the order of their keys, and equal states have equal bytes. Of
// the replies of a client only the newest is kept.
const (
	snapshotMagic      = 0x534D4C47
	snapshotVersion    = 1
	snapshotHeaderSize = 64
	trailerMagic       = 0x49534E50
	trailerSize        = 20
)

// The ways in which a snapshot can be refused. Match them with errors.Is.
var (
	ErrSnapshotTruncated    = errors.New("truncated")
	ErrSnapshotMagic        = errors.New("not a metadata snapshot")
	ErrSnapshotVersion      = errors.New("another format version")
	ErrSnapshotChecksum     = errors.New("checksum mismatch")
	ErrSnapshotContradicts  = errors.New("entries contradict each other")
	ErrSnapshotNotCanonical = errors.New("not in canonical form")
)

// Snapshot appends the canonical form of the state.
func (s *State) Snapshot(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, snapshotHeaderSize)...)
	h := dst[start:]
	binary.LittleEndian.PutUint32(h, snapshotMagic)
	binary.LittleEndian.PutUint32(h[4:], snapshotVersion)
	binary.LittleEndian.PutUint64(h[8:], s.view.Revision)
	binary.LittleEndian.PutUint64(h[16:], s.timestamp)
	binary.LittleEndian.PutUint32(h[24:], uint32(s.clients.capacity))

	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.view.UsersCount()))
	for u := range s.view.Users() {
		dst = appendUserState(dst, u)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.view.StreamsCount()))
	for st := range s.view.Streams() {
		dst = appendStreamState(dst, st)
	}
	dst = s.clients.appendState(dst)

	sum := protocol.Hash64(dst[start:])
	dst = binary.LittleEndian.AppendUint32(dst, trailerMagic)
	dst = binary.LittleEndian.AppendUint64(dst, sum)
	return binary.LittleEndian.AppendUint64(dst, 0)
}

// Digest returns a hash of the canonical form: equal on replicas that have applied the same operations.
func (s *State) Digest() uint64 { return protocol.Hash64(s.Snapshot(nil)) }

func appendUserState(dst []byte, u *User) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, u.ID)
	dst = binary.LittleEndian.AppendUint64(dst, u.CreatedAt)
	dst = append(dst, byte(u.Status))
	dst = protocol.AppendName(dst, u.Name)
	dst = appendText(dst, u.PasswordHash)
	dst = binary.LittleEndian.AppendUint64(dst, u.SessionsRevision)
	dst = binary.LittleEndian.AppendUint64(dst, u.CredentialsRevision)
	if dst = append(dst, flag(u.grants != nil)); u.grants != nil {
		dst = appendGrantsState(dst, u.grants)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(u.TokensCount()))
	for t := range u.Tokens() {
		dst = protocol.AppendName(dst, t.Name)
		dst = appendText(dst, t.Hash)
		dst = binary.LittleEndian.AppendUint64(dst, t.ExpiresAt)
	}
	return dst
}

func appendGrantsState(dst []byte, g *Grants) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, g.global)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.streams)))
	for _, s := range g.streams {
		dst = binary.LittleEndian.AppendUint32(dst, s.id)
		dst = binary.LittleEndian.AppendUint16(dst, s.flags)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.topics)))
		for _, t := range s.topics {
			dst = binary.LittleEndian.AppendUint32(dst, t.id)
			dst = binary.LittleEndian.AppendUint16(dst, t.flags)
		}
	}
	return dst
}

func appendStreamState(dst []byte, st *Stream) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, st.ID)
	dst = binary.LittleEndian.AppendUint64(dst, st.CreatedAt)
	dst = protocol.AppendName(dst, st.Name)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(st.TopicsCount()))
	for t := range st.Topics() {
		dst = appendTopicState(dst, t)
	}
	return dst
}

func appendTopicState(dst []byte, t *Topic) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, t.ID)
	dst = binary.LittleEndian.AppendUint64(dst, t.CreatedAt)
	dst = protocol.AppendName(dst, t.Name)
	dst = append(dst, t.Options.explicit)
	for _, v := range t.Options.values {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, t.PartitionsCount())
	for _, chunk := range t.partitions.chunks {
		for _, p := range chunk {
			dst = binary.LittleEndian.AppendUint64(dst, p.CreatedAt)
			dst = binary.LittleEndian.AppendUint64(dst, p.CreatedRevision)
			dst = binary.LittleEndian.AppendUint64(dst, p.PurgeGeneration)
			dst = binary.LittleEndian.AppendUint64(dst, p.PurgedAt)
			dst = binary.LittleEndian.AppendUint64(dst, p.TruncateUpTo)
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, t.nextGroup)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(t.GroupsCount()))
	for g := range t.Groups() {
		dst = appendGroupState(dst, g)
	}
	return dst
}

func appendGroupState(dst []byte, g *ConsumerGroup) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, g.ID)
	dst = protocol.AppendName(dst, g.Name)
	dst = binary.LittleEndian.AppendUint64(dst, g.deal.Generation)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.deal.Members)))
	for _, m := range g.deal.Members {
		dst = binary.LittleEndian.AppendUint32(dst, m.ID)
		dst = appendUint128(dst, m.Client)
		dst = binary.LittleEndian.AppendUint64(dst, m.Session)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Owned)))
		for _, p := range m.Owned {
			dst = binary.LittleEndian.AppendUint32(dst, p)
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.Pending)))
		for _, r := range m.Pending {
			dst = binary.LittleEndian.AppendUint32(dst, r.Partition)
			dst = binary.LittleEndian.AppendUint32(dst, r.Target)
			dst = binary.LittleEndian.AppendUint64(dst, r.Since)
		}
	}
	return dst
}

func (t *clientTable) appendState(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(t.count))
	for _, c := range t.slots {
		if c == nil {
			continue
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c.slot))
		dst = appendUint128(dst, c.id)
		dst = binary.LittleEndian.AppendUint64(dst, c.epoch)
		dst = binary.LittleEndian.AppendUint32(dst, c.user)
		dst = binary.LittleEndian.AppendUint64(dst, c.watermark)
		dst = appendUint128(dst, c.checksum)
		var newest []byte
		if len(c.ring) > 0 {
			newest = c.ring[len(c.ring)-1]
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(newest)))
		dst = append(dst, newest...)
	}
	return dst
}

// Restore makes the state that a snapshot holds. The error wraps one of the
// ErrSnapshot values; the snapshot may come from a peer and is not trusted.
func Restore(snapshot []byte) (*State, error) {
	s, err := restore(snapshot)
	if err != nil {
		return nil, fmt.Errorf("restore metadata snapshot: %w", err)
	}
	// What decodes and is not the canonical form of what it decodes to (entries out of order, bytes that
	// mean nothing) would let replicas with equal states differ.
	if !slices.Equal(s.Snapshot(nil), snapshot) {
		return nil, fmt.Errorf("restore metadata snapshot: %w", ErrSnapshotNotCanonical)
	}
	s.changes = Changes{Everything: true}
	return s, nil
}

// appendText encodes a string of up to 65535 bytes.
func appendText(dst []byte, text string) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	return append(dst, text...)
}

func appendUint128(dst []byte, v protocol.Uint128) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, v.Lo)
	return binary.LittleEndian.AppendUint64(dst, v.Hi)
}
