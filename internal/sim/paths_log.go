package sim

import "github.com/galgolog/galgo/internal/partition"

// large is the size of a message of which three fill a segment.
const large = 400 << 10

// names of what most paths work on.
const (
	streamName  = "s"
	defaultName = "plain"
	syncedName  = "synced"
)

func consumer(id uint32) partition.ConsumerKey {
	return partition.ConsumerKey{Kind: partition.KindConsumer, ID: id}
}

// twoTopics makes a default and a synced topic, of one partition each, that nobody has used.
func twoTopics(w *World) error {
	if err := w.createStream(streamName); err != nil {
		return err
	}
	if err := w.createTopic(streamName, defaultName, topicOptions{}); err != nil {
		return err
	}
	return w.createTopic(streamName, syncedName, topicOptions{fsync: true})
}

// used is twoTopics with a few messages in each.
func used(w *World) error {
	if err := twoTopics(w); err != nil {
		return err
	}
	for _, name := range []string{defaultName, syncedName} {
		if err := w.fill(name, 100, 200, 300); err != nil {
			return err
		}
	}
	return nil
}

// fill sends one message of each size to the first partition of a topic, one after the other.
func (w *World) fill(topic string, sizes ...int) error {
	for _, size := range sizes {
		if err := w.sendTo(w.topic(streamName, topic).parts[0], size); err != nil {
			return err
		}
		if err := w.drain(); err != nil {
			return err
		}
	}
	return nil
}

// burst sends one message of each size without waiting in between, then waits for all.
func (w *World) burst(topic string, sizes ...int) error {
	for _, size := range sizes {
		if err := w.sendTo(w.topic(streamName, topic).parts[0], size); err != nil {
			return err
		}
		if w.died() {
			return errDied
		}
	}
	return w.drain()
}

// logPaths are the paths of messages into the log of a partition.
func logPaths() []*Path {
	appends := func(topic string) func(*World) error {
		return func(w *World) error {
			if err := w.fill(topic, 10, 1000); err != nil {
				return err
			}
			if err := w.burst(topic, 700, 20, 3000, 1, 600, 600); err != nil {
				return err
			}
			return w.fill(topic, 50)
		}
	}
	rotates := func(topic string) func(*World) error {
		return func(w *World) error {
			if err := w.fill(topic, large, large, large); err != nil {
				return err
			}
			if err := w.burst(topic, large, 100, large, large, 200); err != nil {
				return err
			}
			return w.fill(topic, 10)
		}
	}
	reserves := func(topic string) func(*World) error {
		return func(w *World) error {
			m := w.topic(streamName, topic).parts[0]
			for range 8 {
				if err := w.sendTo(m, make([]int, 25)...); err != nil {
					return err
				}
				if err := w.drain(); err != nil {
					return err
				}
			}
			if err := w.sendTo(m, make([]int, 300)...); err != nil { // more than a lease
				return err
			}
			return w.fill(topic, 10)
		}
	}
	return []*Path{
		{Name: "first-use", Setup: twoTopics, Run: appends(defaultName)},
		{Name: "first-use-synced", Setup: twoTopics, Run: appends(syncedName)},
		{Name: "append", Setup: used, Run: appends(defaultName)},
		{Name: "append-synced", Setup: used, Run: appends(syncedName)},
		{Name: "flush", Setup: used, Run: flushes},
		{Name: "rotation", Setup: used, Run: rotates(defaultName)},
		{Name: "rotation-synced", Setup: used, Run: rotates(syncedName)},
		{Name: "reservation", Setup: used, Run: reserves(defaultName)},
		{Name: "reservation-synced", Setup: used, Run: reserves(syncedName)},
		{Name: "synced-together", Setup: syncedPartitions, Run: appendsTogether(6, 500)},
		{Name: "synced-volume", Setup: syncedPartitions, Run: appendsTogether(3, 20<<10)},
		{Name: "stop", Setup: used, Run: stops, Marks: true},
	}
}

// syncedPartitions makes a synced topic of three partitions, used, and a group that stores offsets in them.
func syncedPartitions(w *World) error {
	if err := w.createStream(streamName); err != nil {
		return err
	}
	if err := w.createTopic(streamName, syncedName, topicOptions{fsync: true, partitions: 3}); err != nil {
		return err
	}
	return appendsTogether(1, 100)(w)
}

// appendsTogether sends to all partitions of the synced topic at once, several times, and stores offsets in between.
// The partitions of a shard share its log: one sync covers them, and files of the log are used up and given back.
func appendsTogether(rounds, size int) func(*World) error {
	return func(w *World) error {
		t := w.topic(streamName, syncedName)
		for round := range rounds {
			for _, m := range t.parts {
				for range 2 {
					if err := w.sendTo(m, size, 10); err != nil {
						return err
					}
				}
				if m.any && round%3 == 1 {
					w.storeOffset(m, consumer(1), storedOffset{m.highest, true})
				}
				if w.died() {
					return errDied
				}
			}
			if err := w.drain(); err != nil {
				return err
			}
		}
		return nil
	}
}

// flushes writes and asks for what was written to be synced.
func flushes(w *World) error {
	for range 3 {
		if err := w.fill(defaultName, 500, 50, large); err != nil {
			return err
		}
		if err := w.flush(w.topic(streamName, defaultName).parts[0]); err != nil {
			return err
		}
	}
	return nil
}

// stops closes the node with something to sync and a reservation to give back, and opens it again.
func stops(w *World) error {
	if err := w.fill(defaultName, 500, 50); err != nil {
		return err
	}
	if err := w.fill(syncedName, 500, 50); err != nil {
		return err
	}
	for _, m := range w.parts() {
		w.storeOffset(m, consumer(1), storedOffset{m.highest, true})
	}
	if err := w.drain(); err != nil {
		return err
	}
	w.mark()
	if err := w.node.Close(); err != nil {
		if w.died() {
			return errDied
		}
		return err
	}
	return w.boot()
}
