package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
)

// partitionModel is what the clients know about one partition.
type partitionModel struct {
	id       protocol.GroupID
	revision uint64
	fsync    bool
	fenced   bool // not served any more, for a reason that may be
	// known is the message at every offset that was confirmed or seen since the last purge, at the offset of every
	// such message.
	known map[uint64]uint64
	at    map[uint64]uint64
	// safe are the offsets whose loss would break the promise of the topic.
	safe map[uint64]bool
	// sent are the messages that may turn up; refused and purged ones must not.
	sent, refused, purged map[uint64]bool
	// highest is the highest offset confirmed or seen; none when any is false.
	highest uint64
	any     bool
	// floor is the first offset that retention may not have taken, gone the first that a deletion has not taken.
	floor, gone uint64
	// synced is the first offset that no flush has covered.
	synced uint64

	stored map[partition.ConsumerKey]storedOffset // confirmed consumer offsets
	// maybe are the values of operations that were on their way when the node died; ever are all since the last
	// purge. For the keys in loose anything may be found that is not above the end, until the next store: the machine
	// lost power, and a value cut to the end of the data is so in memory only.
	maybe, ever map[partition.ConsumerKey][]storedOffset
	loose       map[partition.ConsumerKey]bool
}

// storedOffset is the stored offset of a consumer; not set: none.
type storedOffset struct {
	offset uint64
	set    bool
}

func newPartitionModel(id protocol.GroupID, revision uint64, fsync bool) *partitionModel {
	m := &partitionModel{id: id, revision: revision, fsync: fsync}
	m.sent, m.refused, m.purged = map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	m.forget()
	return m
}

// forget drops what a purge ends.
func (m *partitionModel) forget() {
	m.known, m.at, m.safe = map[uint64]uint64{}, map[uint64]uint64{}, map[uint64]bool{}
	m.stored, m.loose = map[partition.ConsumerKey]storedOffset{}, map[partition.ConsumerKey]bool{}
	m.maybe, m.ever = map[partition.ConsumerKey][]storedOffset{}, map[partition.ConsumerKey][]storedOffset{}
	m.highest, m.any, m.floor, m.gone, m.synced = 0, false, 0, 0, 0
}

// clone returns a copy that shares nothing.
func (m *partitionModel) clone() *partitionModel {
	c := *m
	c.known, c.at, c.safe = maps.Clone(m.known), maps.Clone(m.at), maps.Clone(m.safe)
	c.sent, c.refused, c.purged = maps.Clone(m.sent), maps.Clone(m.refused), maps.Clone(m.purged)
	c.stored, c.loose = maps.Clone(m.stored), maps.Clone(m.loose)
	c.maybe, c.ever = cloneLists(m.maybe), cloneLists(m.ever)
	return &c
}

func cloneLists(m map[partition.ConsumerKey][]storedOffset) map[partition.ConsumerKey][]storedOffset {
	c := maps.Clone(m)
	for k, v := range c {
		c[k] = slices.Clone(v)
	}
	return c
}

// confirm records that the messages were acknowledged at base.
func (m *partitionModel) confirm(base uint64, messages []uint64) error {
	for i, msg := range messages {
		offset := base + uint64(i)
		if err := m.see(offset, msg); err != nil {
			return fmt.Errorf("confirmed: %w", err)
		}
		m.safe[offset] = true
	}
	return nil
}

// see records that message was found at offset.
func (m *partitionModel) see(offset, message uint64) error {
	if was, ok := m.known[offset]; ok && was != message {
		return fmt.Errorf("partition %s: offset %d was message %d and is now %d", m.id, offset, was, message)
	}
	if was, ok := m.at[message]; ok && was != offset {
		return fmt.Errorf("partition %s: message %d was at offset %d and is now at %d", m.id, message, was, offset)
	}
	switch {
	case !m.sent[message]:
		return fmt.Errorf("partition %s: message %d at offset %d was never sent there", m.id, message, offset)
	case m.refused[message]:
		return fmt.Errorf("partition %s: message %d was refused and is at offset %d", m.id, message, offset)
	case m.purged[message]:
		return fmt.Errorf("partition %s: message %d was purged and is at offset %d", m.id, message, offset)
	case offset < m.gone:
		return fmt.Errorf("partition %s: offset %d was deleted and is served", m.id, offset)
	}
	m.known[offset], m.at[message] = message, offset
	if !m.any || offset > m.highest {
		m.highest, m.any = offset, true
	}
	return nil
}

// purge follows the confirmation of a purge that nothing was sent behind.
func (m *partitionModel) purge() {
	for message := range m.sent {
		m.purged[message] = true
	}
	m.forget()
}

// crashed forgets what the topic does not promise to keep when the machine loses power.
func (m *partitionModel) crashed(power bool) {
	if !power || m.fsync {
		return
	}
	for offset := range m.safe {
		if offset >= m.synced {
			delete(m.safe, offset)
		}
	}
	for key := range m.ever {
		m.loose[key] = true
	}
}

// compare holds what the partition serves against what clients know. found is the whole log, by offset.
func (m *partitionModel) compare(found map[uint64]uint64) error {
	for _, offset := range slices.Sorted(maps.Keys(found)) {
		if err := m.see(offset, found[offset]); err != nil {
			return err
		}
	}
	missing := make([]uint64, 0)
	for offset := range m.safe {
		if _, ok := found[offset]; !ok && offset >= m.floor {
			missing = append(missing, offset)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("partition %s: %d acknowledged messages are missing, the first at offset %d",
			m.id, len(missing), slices.Min(missing))
	}
	return nil
}

// storing records that an offset operation is on its way.
func (m *partitionModel) storing(key partition.ConsumerKey, v storedOffset) {
	m.ever[key] = append(m.ever[key], v)
}

// confirmStored takes an acknowledged offset operation over.
func (m *partitionModel) confirmStored(key partition.ConsumerKey, v storedOffset) {
	m.stored[key] = v
	delete(m.loose, key)
}

// storedMayBe reports whether key may read v where end is the highest visible offset, and takes it for confirmed from
// now on.
func (m *partitionModel) storedMayBe(key partition.ConsumerKey, v storedOffset, end uint64) bool {
	ok := m.stored[key] == v || slices.Contains(m.maybe[key], v) || m.loose[key]
	m.stored[key] = v
	delete(m.maybe, key)
	return ok && (!v.set || v.offset <= end)
}
