package metadata

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
)

// The sections of a snapshot, in this order, each a count and its entries: users, streams, clients. Integers
// are little-endian. Everything that can be computed from the entries (indexes, memberships, counters) is not
// stored. Header and trailer are those of package snapshot.
//
// The form is canonical: entries stand in the order of their keys, and equal states have equal bytes. Of
// the replies of a client only the newest is kept.

// The ways in which the sections of a snapshot can be refused. Match them with errors.Is.
var (
	ErrSnapshotTruncated    = errors.New("truncated")
	ErrSnapshotContradicts  = errors.New("entries contradict each other")
	ErrSnapshotNotCanonical = errors.New("not in canonical form")
)

// Capture is the state after one operation, for an encoding that runs beside its owner. Safe for
// concurrent use.
type Capture struct {
	header  snapshot.Header
	view    *View
	clients []*client // slots; entries are copied before they change
	count   int
}

// Capture takes a picture of the state for Encode. Entities are shared with the published view and sessions
// with the table until they change, so it costs 8 bytes a slot of the client table. Owner only.
func (s *State) Capture() *Capture {
	return &Capture{
		header: snapshot.Header{
			Op: s.view.Revision, CreatedAt: s.timestamp, ClientsTableMax: uint32(s.clients.capacity),
		},
		view: s.View(), clients: s.clients.capture(), count: s.clients.count,
	}
}

// Op is the newest operation that the capture reflects.
func (c *Capture) Op() uint64 { return c.header.Op }

// Encode appends the canonical form, framed.
func (c *Capture) Encode(dst []byte) []byte {
	start := len(dst)
	dst = snapshot.AppendHeader(dst, c.header)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.view.UsersCount()))
	for u := range c.view.Users() {
		dst = appendUserState(dst, u)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.view.StreamsCount()))
	for st := range c.view.Streams() {
		dst = appendStreamState(dst, st)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.count))
	for _, entry := range c.clients {
		if entry != nil {
			dst = entry.appendState(dst)
		}
	}
	return snapshot.AppendTrailer(dst, start)
}

// Snapshot appends the canonical form of the state.
func (s *State) Snapshot(dst []byte) []byte { return s.Capture().Encode(dst) }

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

// appendState appends what a snapshot holds of a session. The links of the order of eviction may change
// meanwhile; they are not read.
func (c *client) appendState(dst []byte) []byte {
	var newest []byte
	if n := len(c.ring); n > 0 {
		newest = c.ring[n-1]
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(c.slot))
	dst = appendUint128(dst, c.id)
	dst = binary.LittleEndian.AppendUint64(dst, c.epoch)
	dst = binary.LittleEndian.AppendUint32(dst, c.user)
	dst = binary.LittleEndian.AppendUint64(dst, c.watermark)
	dst = appendUint128(dst, c.checksum)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(newest)))
	return append(dst, newest...)
}

// Restore makes the state that a snapshot holds. Refusals of the frame are those of snapshot.Open, refusals of
// the content those of RestoreFrame.
func Restore(b []byte) (*State, error) {
	f, err := snapshot.Open("of the metadata", b)
	if err != nil {
		return nil, err
	}
	return RestoreFrame(f)
}

// RestoreFrame makes the state that a verified snapshot holds. The error is a *snapshot.DecodeError around one
// of the ErrSnapshot values; the snapshot may come from a peer and its content is not trusted.
func RestoreFrame(f *snapshot.Frame) (*State, error) {
	s, err := restore(f)
	// What decodes and is not the canonical form of what it decodes to (entries out of order, bytes that
	// mean nothing) would let replicas with equal states differ.
	if err == nil && !slices.Equal(s.Snapshot(nil), f.Bytes) {
		err = ErrSnapshotNotCanonical
	}
	if err != nil {
		return nil, &snapshot.DecodeError{File: f.Name, Cause: err}
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
