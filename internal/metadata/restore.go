package metadata

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/galgolog/galgo/internal/metadata/balance"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
)

// decoder reads a snapshot. After the first fault it reads zeros and keeps the fault.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

func (d *decoder) take(n int) []byte {
	if len(d.rest) < n {
		d.fail(ErrSnapshotTruncated)
		return make([]byte, min(n, 16))
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) u8() byte    { return d.take(1)[0] }
func (d *decoder) u16() uint16 { return binary.LittleEndian.Uint16(d.take(2)) }
func (d *decoder) u32() uint32 { return binary.LittleEndian.Uint32(d.take(4)) }
func (d *decoder) u64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }

func (d *decoder) u128() protocol.Uint128 { return protocol.ReadUint128(d.take(16)) }

// bytes reads n bytes, or none when they are not there.
func (d *decoder) bytes(n int) []byte {
	if len(d.rest) < n {
		d.fail(ErrSnapshotTruncated)
		return nil
	}
	return d.take(n)
}

func (d *decoder) name() string { return string(d.bytes(int(d.u8()))) }
func (d *decoder) text() string { return string(d.bytes(int(d.u16()))) }

// count reads the number of entries of at least size bytes each, so that no more room is made than the
// input can fill.
func (d *decoder) count(size int) int {
	n := d.u32()
	if uint64(n)*uint64(size) > uint64(len(d.rest)) {
		d.fail(ErrSnapshotTruncated)
		return 0
	}
	return int(n)
}

// must records a contradiction unless the fact holds.
func (d *decoder) must(fact bool) bool {
	if !fact {
		d.fail(ErrSnapshotContradicts)
	}
	return d.err == nil
}

func restore(f *snapshot.Frame) (*State, error) {
	s := New()
	s.view.Revision, s.timestamp = f.Op, f.CreatedAt
	capacity := f.ClientsTableMax
	d := &decoder{rest: f.Sections}
	if d.must(capacity >= 1 && capacity <= slotsMax) {
		s.clients.capacity = int(capacity)
	}
	for range d.count(40) {
		s.restoreUser(d)
	}
	for range d.count(18) {
		s.restoreStream(d)
	}
	s.clients.restore(d)
	d.must(len(d.rest) == 0)
	for member := range s.view.memberships.All() {
		d.must(s.clients.index[member] != nil)
	}
	for _, c := range s.clients.slots {
		d.must(c == nil || s.view.UserByID(c.user) != nil)
	}
	return s, d.err
}

func (s *State) restoreUser(d *decoder) {
	u := &User{ID: d.u32(), CreatedAt: d.u64(), Status: UserStatus(d.u8()), Name: d.name(), PasswordHash: d.text()}
	u.SessionsRevision, u.CredentialsRevision = d.u64(), d.u64()
	if d.u8() != 0 {
		u.grants = restoreGrants(d)
	}
	for range d.count(11) {
		t := &Token{Name: d.name(), Hash: d.text(), ExpiresAt: d.u64()}
		_, taken := s.view.tokens.Get(t.Hash)
		if !d.must(!taken && t.Name != "" && u.TokenByName(t.Name) == nil) {
			return
		}
		u.tokens = u.tokens.Set(t.Name, t)
		s.view.tokens = s.view.tokens.Set(t.Hash, tokenOwner{u.ID, t.Name})
	}
	known := u.Status == UserActive || u.Status == UserInactive
	if d.must(known && u.Name != "" && s.view.UserByID(u.ID) == nil && s.view.UserByName(u.Name) == nil) {
		s.setUser(u)
		s.view.userNames = s.view.userNames.Set(u.Name, u.ID)
	}
}

func restoreGrants(d *decoder) *Grants {
	g := &Grants{global: d.u16()}
	d.must(g.global <= globalAll)
	g.streams = make([]streamGrants, 0, d.count(10))
	for range cap(g.streams) {
		s := streamGrants{id: d.u32(), flags: d.u16()}
		s.topics = make([]topicGrants, 0, d.count(6))
		for range cap(s.topics) {
			t := topicGrants{id: d.u32(), flags: d.u16()}
			d.must(t.flags < 1<<topicFlags && (len(s.topics) == 0 || s.topics[len(s.topics)-1].id < t.id))
			s.topics = append(s.topics, t)
		}
		d.must(s.flags < 1<<streamFlags && (len(g.streams) == 0 || g.streams[len(g.streams)-1].id < s.id))
		g.streams = append(g.streams, s)
	}
	return g
}

func (s *State) restoreStream(d *decoder) {
	st := &Stream{ID: d.u32(), CreatedAt: d.u64(), Name: d.name()}
	for range d.count(94) {
		t := s.restoreTopic(d, st.ID)
		if !d.must(t.ID < protocol.MaxTopics && t.Name != "" && st.TopicByID(t.ID) == nil && st.TopicByName(t.Name) == nil) {
			return
		}
		st.topics = st.topics.Set(t.ID, t)
		st.topicNames = st.topicNames.Set(t.Name, t.ID)
	}
	if d.must(st.ID < protocol.MaxStreams && st.Name != "" && s.view.StreamByID(st.ID) == nil && s.view.StreamByName(st.Name) == nil) {
		s.setStream(st)
		s.view.streamNames = s.view.streamNames.Set(st.Name, st.ID)
	}
}

func (s *State) restoreTopic(d *decoder, stream uint32) *Topic {
	t := &Topic{ID: d.u32(), CreatedAt: d.u64(), Name: d.name()}
	t.Options.explicit = d.u8()
	for i := range t.Options.values {
		t.Options.values[i] = d.u64()
	}
	d.must(t.Options.sound())
	partitions := make([]Partition, d.count(40))
	d.must(len(partitions) <= protocol.MaxPartitions)
	for i := range partitions {
		partitions[i] = Partition{d.u64(), d.u64(), d.u64(), d.u64(), d.u64()}
	}
	t.partitions = partitionList{slices.Collect(slices.Chunk(partitions, chunkSize)), uint32(len(partitions))}
	s.view.topicsCount++
	s.view.partitionsCount += t.PartitionsCount()
	t.nextGroup = d.u32()
	for range d.count(17) {
		g := s.restoreGroup(d, GroupRef{Stream: stream, Topic: t.ID}, t)
		if !d.must(g != nil && g.ID < t.nextGroup && g.Name != "" && t.GroupByID(g.ID) == nil && t.GroupByName(g.Name) == nil) {
			return t
		}
		t.groups = t.groups.Set(g.ID, g)
		t.groupNames = t.groupNames.Set(g.Name, g.ID)
		s.view.groupsCount++
	}
	return t
}

func (s *State) restoreGroup(d *decoder, ref GroupRef, t *Topic) *ConsumerGroup {
	id, name := d.u32(), d.name()
	ref.Group = id
	deal := balance.Group{Generation: d.u64()}
	owned := make([]bool, t.PartitionsCount())
	for range d.count(36) {
		m := balance.Member{ID: d.u32(), Client: d.u128(), Session: d.u64()}
		for range d.count(4) {
			p := d.u32()
			if !d.must(p < t.PartitionsCount() && !owned[p]) {
				return nil
			}
			owned[p] = true
			m.Owned = append(m.Owned, p)
		}
		for range d.count(16) {
			r := balance.Revocation{Partition: d.u32(), Target: d.u32(), Since: d.u64()}
			if !d.must(r.Partition < t.PartitionsCount() && slices.Contains(m.Owned, r.Partition) && !m.IsPending(r.Partition)) {
				return nil
			}
			m.Pending = append(m.Pending, r)
		}
		n := len(deal.Members)
		if !d.must((n == 0 || deal.Members[n-1].ID < m.ID) && deal.Find(m.Client) < 0) {
			return nil
		}
		deal.Members = append(deal.Members, m)
		refs := s.view.Memberships(m.Client)
		s.view.memberships = s.view.memberships.Set(m.Client, append(slices.Clone(refs), ref))
	}
	if !d.must(len(deal.Members) == 0 || !slices.Contains(owned, false)) {
		return nil
	}
	g := newGroup(id, name, deal, t.PartitionsCount())
	s.noteHandovers(ref, g)
	return g
}

// restore reads the section of clients into an empty table.
func (t *clientTable) restore(d *decoder) {
	var entries []*client
	seen := map[protocol.Uint128]bool{}
	for range d.count(60 + protocol.HeaderSize) {
		c := &client{slot: int(d.u32()), id: d.u128(), epoch: d.u64(), user: d.u32(), watermark: d.u64(), checksum: d.u128()}
		frame := slices.Clone(d.bytes(int(d.u32())))
		n := len(entries)
		if !d.must(c.slot < slotsMax && (n == 0 || entries[n-1].slot < c.slot) && !c.id.IsZero() && !seen[c.id] && isReply(frame)) {
			return
		}
		seen[c.id] = true
		c.ring, c.latest = [][]byte{frame}, replyHeader(frame).Op()
		entries = append(entries, c)
	}
	// the order of eviction is that of the newest replies
	slices.SortStableFunc(entries, func(a, b *client) int { return cmp.Compare(a.latest, b.latest) })
	for _, e := range entries {
		c := t.place(e.id, e.slot)
		c.epoch, c.user, c.watermark, c.checksum, c.ring, c.latest = e.epoch, e.user, e.watermark, e.checksum, e.ring, e.latest
		t.capacity = max(t.capacity, e.slot+1)
	}
}

func isReply(frame []byte) bool {
	if len(frame) < protocol.HeaderSize {
		return false
	}
	h := replyHeader(frame).Common()
	return h.Command() == protocol.CommandReply && int(h.Size()) == len(frame)
}

// sound reports whether every value is one that the option can have.
func (o *TopicOptions) sound() bool {
	for i, v := range o.values {
		var change optionChange
		var value [8]byte
		rule := &optionCatalogue[i]
		encoded := appendOptionValue(value[:0], option(i), v)
		if change.add(rule.key, rule.kind, encoded, false) != protocol.Success || change.values[i] != v {
			return false
		}
	}
	return o.checkBounds(0) == protocol.Success
}
