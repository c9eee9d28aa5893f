package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// catalog is what clients know about the metadata: what they were told exists, by name.
type catalog struct {
	streams map[string]uint32
	topics  map[string]*topicModel // by stream and name
	users   map[string]bool
}

// topicModel is one topic.
type topicModel struct {
	stream, name string
	ids          command.TopicRef
	streamID, id uint32
	options      topicOptions
	parts        []*partitionModel
	groups       map[string]uint32
}

// topicOptions are the options that a topic is created with.
type topicOptions struct {
	fsync      bool
	partitions uint32 // 0 means one
	expiry     uint64 // microseconds
	maxBytes   uint64
}

func newCatalog() catalog {
	return catalog{map[string]uint32{}, map[string]*topicModel{}, map[string]bool{}}
}

func (c *catalog) clone() catalog {
	d := catalog{maps.Clone(c.streams), maps.Clone(c.topics), maps.Clone(c.users)}
	for key, t := range d.topics {
		u := *t
		u.groups = maps.Clone(t.groups)
		u.parts = slices.Clone(t.parts)
		for i, m := range u.parts {
			u.parts[i] = m.clone()
		}
		d.topics[key] = &u
	}
	return d
}

// parts lists the partitions of all topics in a fixed order.
func (c *catalog) parts() []*partitionModel {
	var all []*partitionModel
	for _, key := range slices.Sorted(maps.Keys(c.topics)) {
		all = append(all, c.topics[key].parts...)
	}
	return all
}

func (w *World) topic(stream, name string) *topicModel { return w.catalog.topics[stream+"/"+name] }

func (w *World) createStream(name string) error {
	return w.change(protocol.OpCreateStream, command.CreateStream{Name: []byte(name)}.Append(nil), func(w *World, _ uint64) error {
		s := w.node.View().StreamByName(name)
		if s == nil {
			return fmt.Errorf("stream %s was created and is not there", name)
		}
		w.catalog.streams[name] = s.ID
		return nil
	})
}

func (w *World) deleteStream(name string) error {
	return w.change(protocol.OpDeleteStream, protocol.NamedID(name).Append(nil), func(w *World, _ uint64) error {
		delete(w.catalog.streams, name)
		for key, t := range w.catalog.topics {
			if t.stream == name {
				delete(w.catalog.topics, key)
			}
		}
		return nil
	})
}

func (w *World) purgeStream(name string) error {
	return w.change(protocol.OpPurgeStream, protocol.NamedID(name).Append(nil), func(w *World, _ uint64) error {
		for _, t := range w.catalog.topics {
			if t.stream == name {
				t.purge()
			}
		}
		return nil
	})
}

func (t *topicModel) purge() {
	for _, m := range t.parts {
		m.purge()
	}
}

// createTopic makes a topic whose segments are as small as they may be.
func (w *World) createTopic(stream, name string, o topicOptions) error {
	op, body, applied := topicCreation(stream, name, o)
	return w.change(op, body, applied)
}

func topicCreation(stream, name string, o topicOptions) (protocol.Operation, []byte, func(*World, uint64) error) {
	o.partitions = max(o.partitions, 1)
	pairs := []protocol.Pair{command.BoolOption("enforce_fsync", o.fsync), command.U64Option("segment_size", 1<<20)}
	if o.expiry > 0 {
		pairs = append(pairs, command.U64Option("message_expiry", o.expiry))
	}
	if o.maxBytes > 0 {
		pairs = append(pairs, command.U64Option("max_topic_size", o.maxBytes))
	}
	req := command.CreateTopicReplicated{CreateTopic: command.CreateTopic{
		Stream: protocol.NamedID(stream), PartitionsCount: o.partitions, Name: []byte(name),
		Options: command.AppendOptions(nil, pairs...),
	}, Assignments: assignments(o.partitions)}
	return protocol.OpCreateTopicWithAssignments, req.Append(nil), func(w *World, op uint64) error {
		t := &topicModel{stream: stream, name: name, options: o, groups: map[string]uint32{}}
		t.ids = command.TopicRef{Stream: protocol.NamedID(stream), Topic: protocol.NamedID(name)}
		s := w.node.View().StreamByName(stream)
		if s == nil || s.TopicByName(name) == nil {
			return fmt.Errorf("topic %s/%s was created and is not there", stream, name)
		}
		t.streamID, t.id = s.ID, s.TopicByName(name).ID
		w.catalog.topics[stream+"/"+name] = t
		return w.grow(t, o.partitions, op)
	}
}

func assignments(count uint32) []command.Assignment {
	all := make([]command.Assignment, count)
	for p := range all {
		all[p].Partition = uint32(p)
	}
	return all
}

// grow adds partitions that the operation op created, 0 where that is not known.
func (w *World) grow(t *topicModel, count uint32, op uint64) error {
	for range count {
		if op == 0 {
			p, _ := w.lookTopic(t).Partition(uint32(len(t.parts)))
			op = p.CreatedRevision
		}
		id, err := protocol.PartitionGroup(t.streamID, t.id, uint32(len(t.parts)))
		if err != nil {
			return err
		}
		t.parts = append(t.parts, newPartitionModel(id, op, t.options.fsync))
	}
	return nil
}

func (w *World) deleteTopic(t *topicModel) error {
	key := t.stream + "/" + t.name
	return w.change(protocol.OpDeleteTopic, t.ids.Append(nil), func(w *World, _ uint64) error {
		delete(w.catalog.topics, key)
		return nil
	})
}

func (w *World) purgeTopic(t *topicModel) error {
	key := t.stream + "/" + t.name
	return w.change(protocol.OpPurgeTopic, t.ids.Append(nil), func(w *World, _ uint64) error {
		w.catalog.topics[key].purge()
		return nil
	})
}

func (w *World) createPartitions(t *topicModel, count uint32) error {
	key := t.stream + "/" + t.name
	req := command.CreatePartitionsReplicated{
		PartitionsChange: command.PartitionsChange{TopicRef: t.ids, Count: count}, Assignments: assignments(count),
	}
	return w.change(protocol.OpCreatePartitionsWithAssignments, req.Append(nil), func(w *World, op uint64) error {
		return w.grow(w.catalog.topics[key], count, op)
	})
}

func (w *World) deletePartitions(t *topicModel, count uint32) error {
	key := t.stream + "/" + t.name
	req := command.PartitionsChange{TopicRef: t.ids, Count: count}
	return w.change(protocol.OpDeletePartitions, req.Append(nil), func(w *World, _ uint64) error {
		t := w.catalog.topics[key]
		t.parts = t.parts[:len(t.parts)-int(count)]
		return nil
	})
}

// deleteSegments removes the sealed segments of a partition that end below upTo.
func (w *World) deleteSegments(t *topicModel, p int, upTo uint64) error {
	key := t.stream + "/" + t.name
	t.parts[p].floor = max(t.parts[p].floor, upTo)
	req := command.TruncatePartition{TopicRef: t.ids, Partition: uint32(p), UpTo: upTo - 1}
	return w.change(protocol.OpTruncatePartition, req.Append(nil), func(w *World, _ uint64) error {
		w.catalog.topics[key].parts[p].gone = upTo
		return nil
	})
}

func (w *World) createGroup(t *topicModel, name string) error {
	key := t.stream + "/" + t.name
	body := command.CreateGroup{TopicRef: t.ids, Name: []byte(name)}.Append(nil)
	return w.change(protocol.OpCreateConsumerGroup, body, func(w *World, _ uint64) error {
		t := w.catalog.topics[key]
		g := w.lookTopic(t).GroupByName(name)
		if g == nil {
			return fmt.Errorf("group %s of %s was created and is not there", name, key)
		}
		t.groups[name] = g.ID
		return nil
	})
}

func (w *World) createUser(name string) error {
	body := command.CreateUser{Username: []byte(name), Password: []byte("$argon2id$simulated"), Status: command.UserActive}.Append(nil)
	return w.change(protocol.OpCreateUser, body, func(w *World, _ uint64) error {
		w.catalog.users[name] = true
		return nil
	})
}

func (w *World) deleteUser(name string) error {
	return w.change(protocol.OpDeleteUser, protocol.NamedID(name).Append(nil), func(w *World, _ uint64) error {
		w.catalog.users[name] = false
		return nil
	})
}

// lookTopic finds a topic in the metadata of the node; nil when it is not there.
func (w *World) lookTopic(t *topicModel) *metadata.Topic {
	s := w.node.View().StreamByName(t.stream)
	if s == nil {
		return nil
	}
	return s.TopicByName(t.name)
}

// checkCatalog holds the metadata that the node shows against what clients were told: everything acknowledged is
// there, and nothing else.
func (w *World) checkCatalog() error {
	v := w.node.View()
	if v.Revision < w.revision {
		return fmt.Errorf("metadata op %d was acknowledged and the node is at op %d", w.revision, v.Revision)
	}
	for name, id := range w.catalog.streams {
		if s := v.StreamByName(name); s == nil || s.ID != id {
			return fmt.Errorf("acknowledged stream %s is not there", name)
		}
	}
	for key, t := range w.catalog.topics {
		if err := w.checkTopic(key, t); err != nil {
			return err
		}
	}
	for name, there := range w.catalog.users {
		if (v.UserByName(name) != nil) != there {
			return fmt.Errorf("user %s: there %v, want %v", name, !there, there)
		}
	}
	if v.StreamsCount() != len(w.catalog.streams) || v.TopicsCount() != len(w.catalog.topics) {
		return fmt.Errorf("%d streams and %d topics, clients know of %d and %d", v.StreamsCount(), v.TopicsCount(),
			len(w.catalog.streams), len(w.catalog.topics))
	}
	return nil
}

func (w *World) checkTopic(key string, t *topicModel) error {
	seen := w.lookTopic(t)
	if seen == nil || seen.ID != t.id {
		return fmt.Errorf("acknowledged topic %s is not there", key)
	}
	if int(seen.PartitionsCount()) != len(t.parts) {
		return fmt.Errorf("topic %s: %d partitions, acknowledged %d", key, seen.PartitionsCount(), len(t.parts))
	}
	for name, id := range t.groups {
		if g := seen.GroupByName(name); g == nil || g.ID != id {
			return fmt.Errorf("acknowledged group %s of topic %s is not there", name, key)
		}
	}
	return nil
}
