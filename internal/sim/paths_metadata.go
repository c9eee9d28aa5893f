package sim

import (
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// metadataPaths are the paths of operations of the metadata group, and of what follows from them in partitions.
func metadataPaths() []*Path {
	return []*Path{
		{Name: "first-boot", Cold: true, Setup: nil, Run: twoTopics},
		{Name: "metadata", Setup: used, Run: changesMetadata},
		{Name: "metadata-batch", Clients: 4, Setup: used, Run: batchesMetadata},
		{Name: "checkpoint", Clients: 3, Options: Options{JournalSlots: checkpointSlots}, Setup: used, Run: checkpoints},
		{Name: "boot-checkpoint", Cold: true, Clients: 3, Options: Options{JournalSlots: checkpointSlots}, Setup: checkpoints, End: Killed, Run: checkpoints},
		{Name: "topic-create", Setup: used, Run: createsTopics},
		{Name: "topic-delete", Setup: used, Run: deletesTopics},
		{Name: "topic-recreate", Setup: used, Run: recreatesTopic},
		{Name: "stream-delete", Setup: used, Run: func(w *World) error { return w.deleteStream(streamName) }},
		{Name: "partitions", Setup: used, Run: changesPartitions},
	}
}

// changesMetadata does one of everything that partitions do not notice.
func changesMetadata(w *World) error {
	t := w.topic(streamName, defaultName)
	for _, do := range []func() error{
		func() error { return w.createStream("other") },
		func() error { return w.createTopic("other", "topic", topicOptions{partitions: 3}) },
		func() error { return w.createGroup(t, "group") },
		func() error { return w.createUser("somebody") },
		func() error { return w.deleteUser("somebody") },
		func() error { return w.createUser("somebody else") },
		func() error { return w.deleteStream("other") },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// batchesMetadata has several clients create topics at once, so that the journal takes some in one batch.
func batchesMetadata(w *World) error {
	for round := range 3 {
		for i, c := range w.clients {
			op, body, applied := topicCreation(streamName, fmt.Sprintf("topic%d-%d", round, i), topicOptions{})
			w.begin(c, op, body, applied)
			if w.died() {
				return errDied
			}
		}
		for _, c := range w.clients {
			if err := w.finish(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkpointSlots are so few slots of the journal that a dozen operations bring a checkpoint.
const checkpointSlots = 64 + 12

// checkpoints does as much as two checkpoints and their drains take, with a partition in use beside them.
func checkpoints(w *World) error {
	if w.topic(streamName, syncedName) == nil {
		if err := used(w); err != nil {
			return err
		}
	}
	before := w.node.View().Revision
	for i := 0; w.node.View().Revision < before+30; i++ {
		for j, c := range w.clients {
			name := fmt.Sprintf("stream%d-%d-%d", w.lives, i, j)
			w.begin(c, protocol.OpCreateStream, command.CreateStream{Name: []byte(name)}.Append(nil), func(w *World, _ uint64) error {
				w.catalog.streams[name] = w.node.View().StreamByName(name).ID
				return nil
			})
			if w.died() {
				return errDied
			}
		}
		for _, c := range w.clients {
			if err := w.finish(c); err != nil {
				return err
			}
		}
		if err := w.createUser(fmt.Sprintf("user%d-%d", w.lives, i)); err != nil {
			return err
		}
		if err := w.fill(syncedName, 10); err != nil {
			return err
		}
	}
	return nil
}

// createsTopics creates topics and uses each at once.
func createsTopics(w *World) error {
	for i, fsync := range []bool{false, true} {
		name := fmt.Sprintf("new%d", i)
		if err := w.createTopic(streamName, name, topicOptions{fsync: fsync, partitions: 2}); err != nil {
			return err
		}
		if err := w.fill(name, 100, 100); err != nil {
			return err
		}
	}
	return nil
}

// deletesTopics deletes a topic with messages and stored offsets, and one right after it was made.
func deletesTopics(w *World) error {
	for _, name := range []string{defaultName, syncedName} {
		t := w.topic(streamName, name)
		w.storeOffset(t.parts[0], consumer(1), storedOffset{1, true})
		if err := w.drain(); err != nil {
			return err
		}
		if err := w.deleteTopic(t); err != nil {
			return err
		}
	}
	if err := w.createTopic(streamName, "brief", topicOptions{}); err != nil {
		return err
	}
	return w.deleteTopic(w.topic(streamName, "brief"))
}

// recreatesTopic deletes a topic and makes one that gets its ids, and uses it at once.
func recreatesTopic(w *World) error {
	for i := range 2 {
		fsync := i == 1
		if err := w.deleteTopic(w.topic(streamName, defaultName)); err != nil {
			return err
		}
		if err := w.createTopic(streamName, defaultName, topicOptions{fsync: fsync}); err != nil {
			return err
		}
		if err := w.fill(defaultName, 100, 200); err != nil {
			return err
		}
	}
	return nil
}

// changesPartitions adds partitions, uses them, takes them away and adds them again.
func changesPartitions(w *World) error {
	for range 2 {
		if err := w.createPartitions(w.topic(streamName, syncedName), 2); err != nil {
			return err
		}
		for _, m := range w.topic(streamName, syncedName).parts[1:] {
			if err := w.sendTo(m, 100); err != nil {
				return err
			}
		}
		if err := w.drain(); err != nil {
			return err
		}
		if err := w.deletePartitions(w.topic(streamName, syncedName), 2); err != nil {
			return err
		}
	}
	return nil
}

// bootPaths begin with a boot on what an unclean end left.
func bootPaths() []*Path {
	serve := func(w *World) error {
		if err := w.fill(defaultName, 100, 100); err != nil {
			return err
		}
		return w.fill(syncedName, 100, 100)
	}
	again := func(w *World) error { // the segment that the first boot planted holds nothing yet
		if err := used(w); err != nil {
			return err
		}
		if err := w.killAndBoot(); err != nil {
			return err
		}
		return w.drain()
	}
	anchored := func(w *World) error { // a gap in the log already, and data behind it
		if err := again(w); err != nil {
			return err
		}
		return serve(w)
	}
	return []*Path{
		{Name: "re-anchor", Cold: true, Setup: used, End: Killed, Run: serve},
		{Name: "re-anchor-lost", Cold: true, Setup: used, End: PowerLost, Run: serve},
		{Name: "re-anchor-planted", Cold: true, Setup: again, End: PowerLost, Run: serve},
		{Name: "re-anchor-twice", Cold: true, Setup: anchored, End: Killed, Run: serve},
		{Name: "boot-torn", Cold: true, Setup: func(w *World) error {
			if err := used(w); err != nil {
				return err
			}
			if err := w.fill(defaultName, large, large); err != nil {
				return err
			}
			return w.tear(w.topic(streamName, defaultName).parts[0])
		}, End: Killed, Run: serve},
		{Name: "boot-purge", Cold: true, Setup: purgePending, End: Killed, Run: serve},
		{Name: "boot-delete", Cold: true, Setup: deletePending, End: Killed, Run: createsTopics},
	}
}

// killAndBoot ends the life of the node and begins the next one.
func (w *World) killAndBoot() error {
	if err := w.drain(); err != nil {
		return err
	}
	if err := w.lose(w.disk.CrashClone(w.rng, 0), false); err != nil {
		return err
	}
	if err := w.boot(); err != nil {
		return err
	}
	w.idle(10)
	return nil
}

// purgePending ends with a purge that the metadata group has committed and no partition has followed.
func purgePending(w *World) error {
	if err := used(w); err != nil {
		return err
	}
	w.storeOffset(w.topic(streamName, syncedName).parts[0], consumer(1), storedOffset{1, true})
	if err := w.drain(); err != nil {
		return err
	}
	return w.purgeStream(streamName)
}

// deletePending ends with deletions that the metadata group has committed and whose files are still there.
func deletePending(w *World) error {
	if err := used(w); err != nil {
		return err
	}
	if err := w.deleteTopic(w.topic(streamName, defaultName)); err != nil {
		return err
	}
	return w.deleteTopic(w.topic(streamName, syncedName))
}

// sessionPaths are signing in and out.
func sessionPaths() []*Path {
	return []*Path{{Name: "sessions", Setup: used, Run: func(w *World) error {
		for i := range 3 {
			c := newClient(0xABC0 + uint64(i))
			if err := w.signIn(c); err != nil {
				return err
			}
			w.clients = append(w.clients, c)
			w.begin(c, protocol.OpCreateStream, command.CreateStream{Name: fmt.Appendf(nil, "of%d", i)}.Append(nil), func(w *World, _ uint64) error {
				name := fmt.Sprintf("of%d", i)
				w.catalog.streams[name] = w.node.View().StreamByName(name).ID
				return nil
			})
			if err := w.finish(c); err != nil {
				return err
			}
		}
		return nil
	}}}
}
