package sim

import (
	"fmt"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// partitionPaths are the paths of what happens to a log that exists.
func partitionPaths() []*Path {
	retention := Options{Retention: true, MaxFrameBytes: 1 << 20}
	return []*Path{
		{Name: "offsets", Setup: withGroup(defaultName), Run: storesOffsets(defaultName)},
		{Name: "offsets-synced", Setup: withGroup(syncedName), Run: storesOffsets(syncedName)},
		{Name: "purge", Setup: segments(defaultName), Run: purges(defaultName)},
		{Name: "purge-synced", Setup: segments(syncedName), Run: purges(syncedName)},
		{Name: "purge-stream", Setup: used, Run: purgesStream},
		{Name: "retention-age", Options: retention, Setup: limited(topicOptions{expiry: 60_000_000}), Run: expires},
		{Name: "retention-size", Options: retention, Setup: limited(topicOptions{fsync: true, maxBytes: 2 << 20}), Run: outgrows},
		{Name: "delete-segments", Setup: segments(syncedName), Run: deletesSegments},
	}
}

// withGroup has a consumer group beside some messages.
func withGroup(topic string) func(*World) error {
	return func(w *World) error {
		if err := used(w); err != nil {
			return err
		}
		return w.createGroup(w.topic(streamName, topic), "group")
	}
}

// storesOffsets stores, overwrites, rewinds and deletes offsets of a consumer and of a group.
func storesOffsets(topic string) func(*World) error {
	return func(w *World) error {
		t := w.topic(streamName, topic)
		m := t.parts[0]
		group := partition.ConsumerKey{Kind: partition.KindGroup, ID: t.groups["group"]}
		for _, key := range []partition.ConsumerKey{consumer(1), group} {
			for _, v := range []storedOffset{{0, true}, {2, true}, {1, true}, {}, {1, true}} {
				w.storeOffset(m, key, v)
				if err := w.drain(); err != nil {
					return err
				}
			}
		}
		w.storeOffset(m, consumer(2), storedOffset{1, true})
		w.storeOffset(m, consumer(2), storedOffset{2, true})
		w.storeOffset(m, group, storedOffset{2, true})
		return w.drain()
	}
}

// segments fills a topic with two sealed segments and an open one, and stores an offset.
func segments(topic string) func(*World) error {
	return func(w *World) error {
		if err := twoTopics(w); err != nil {
			return err
		}
		if err := w.fill(topic, large, large, large, large, large, large, 100); err != nil {
			return err
		}
		w.storeOffset(w.topic(streamName, topic).parts[0], consumer(1), storedOffset{6, true})
		return w.drain()
	}
}

// purges empties a topic, goes on, and empties it again.
func purges(topic string) func(*World) error {
	return func(w *World) error {
		for range 2 {
			if err := w.purgeTopic(w.topic(streamName, topic)); err != nil {
				return err
			}
			if err := w.fill(topic, 100, 200); err != nil {
				return err
			}
			w.storeOffset(w.topic(streamName, topic).parts[0], consumer(1), storedOffset{1, true})
			if err := w.drain(); err != nil {
				return err
			}
		}
		return nil
	}
}

func purgesStream(w *World) error {
	if err := w.purgeStream(streamName); err != nil {
		return err
	}
	for _, name := range []string{defaultName, syncedName} {
		if err := w.fill(name, 100); err != nil {
			return err
		}
	}
	return nil
}

// limitedName is a topic that the cleaner works on.
const limitedName = "limited"

func limited(o topicOptions) func(*World) error {
	return func(w *World) error {
		if err := w.createStream(streamName); err != nil {
			return err
		}
		if err := w.createTopic(streamName, limitedName, o); err != nil {
			return err
		}
		return w.fill(limitedName, large, large, large, large, large, large, 100)
	}
}

// expires waits until two segments are too old.
func expires(w *World) error {
	m := w.topic(streamName, limitedName).parts[0]
	m.floor = 7 // the open segment is sealed where a crash re-anchors it
	w.clock.Jump(61_000_000)
	w.idle(2 * retentionTicks)
	if w.died() {
		return errDied
	}
	if n := w.node.PartitionStats(m.id, m.revision, 0).Segments; n != 1 {
		return fmt.Errorf("%d segments are left, want 1", n)
	}
	m.gone = 6
	return w.fill(limitedName, 100)
}

// outgrows adds a segment that the budget of two has no room for.
func outgrows(w *World) error {
	m := w.topic(streamName, limitedName).parts[0]
	m.floor = 6
	if err := w.fill(limitedName, large, large, large, 100); err != nil {
		return err
	}
	w.idle(2 * retentionTicks)
	if w.died() {
		return errDied
	}
	if n := w.node.PartitionStats(m.id, m.revision, 0).Segments; n > 3 {
		return fmt.Errorf("%d segments are left, want at most 3", n)
	}
	return w.fill(limitedName, 100)
}

// deletesSegments deletes the oldest segment and, after it, all that are sealed.
func deletesSegments(w *World) error {
	for _, upTo := range []uint64{3, 6} {
		if err := w.deleteSegments(w.topic(streamName, syncedName), 0, upTo); err != nil {
			return err
		}
		if err := w.fill(syncedName, 100); err != nil {
			return err
		}
	}
	return nil
}

// tear cuts the last record of a partition short and its index to a part of an entry, as a machine that lost power
// could have left them.
func (w *World) tear(m *partitionModel) error {
	for _, name := range []string{segment.LogName(0), segment.IndexName(0)} {
		f, err := w.disk.OpenFile(w.partitionDir(m)+"/"+name, vfs.ReadWrite)
		if err != nil {
			return err
		}
		size, err := f.Size()
		if err != nil {
			return err
		}
		if err := f.Truncate(max(size-13, 0)); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	m.crashed(true)
	return nil
}
