package sim

import (
	"fmt"
	"slices"
	"sort"

	"github.com/galgolog/galgo/internal/protocol"
)

// partitionModel is what the clients know about one partition.
type partitionModel struct {
	id       protocol.GroupID
	revision uint64
	fsync    bool
	// known is the message at every offset that was confirmed or seen, in this incarnation and generation.
	known map[uint64]uint64
	// safe are the offsets whose loss would break the promise of the topic.
	safe map[uint64]bool
	// highest is the highest offset confirmed or seen; none when any is false.
	highest uint64
	any     bool
	// removed is the first offset that retention may not have taken.
	refused map[uint64]bool
	floor   uint64
	stored  map[uint32]uint64 // confirmed consumer offsets
	// maybe are the offsets of stores that were on their way when the node died.
	maybe map[uint32][]uint64
}

func newPartitionModel(id protocol.GroupID, revision uint64, fsync bool) *partitionModel {
	return &partitionModel{
		id: id, revision: revision, fsync: fsync, known: map[uint64]uint64{}, safe: map[uint64]bool{},
		refused: map[uint64]bool{}, stored: map[uint32]uint64{}, maybe: map[uint32][]uint64{},
	}
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
	if m.refused[message] {
		return fmt.Errorf("partition %s: message %d was refused and is at offset %d", m.id, message, offset)
	}
	m.known[offset] = message
	if !m.any || offset > m.highest {
		m.highest, m.any = offset, true
	}
	return nil
}

// crashed forgets what the topic does not promise to keep when the machine loses power.
func (m *partitionModel) crashed(power bool) {
	if power && !m.fsync {
		m.safe = map[uint64]bool{}
		m.stored, m.maybe = map[uint32]uint64{}, map[uint32][]uint64{}
	}
}

// compare holds what the partition serves against what clients know. found is the whole log, by offset.
func (m *partitionModel) compare(found map[uint64]uint64) error {
	offsets := make([]uint64, 0, len(found))
	for offset := range found {
		offsets = append(offsets, offset)
	}
	sort.Slice(offsets, func(i, j int) bool { return offsets[i] < offsets[j] })
	for _, offset := range offsets {
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
		sort.Slice(missing, func(i, j int) bool { return missing[i] < missing[j] })
		return fmt.Errorf("partition %s: %d acknowledged messages are missing, the first at offset %d", m.id, len(missing), missing[0])
	}
	return nil
}

// storedMayBe reports whether consumer key may read offset, and takes it for confirmed from now on.
func (m *partitionModel) storedMayBe(key uint32, offset uint64) bool {
	ok := m.stored[key] == offset || slices.Contains(m.maybe[key], offset)
	m.stored[key] = offset
	delete(m.maybe, key)
	return ok
}
