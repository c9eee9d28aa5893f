package session

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func storeBody(ref command.OffsetRef, offset uint64, ack protocol.AckLevel) []byte {
	return command.StoreOffset{OffsetRef: ref, Offset: offset, Ack: ack}.Append(nil)
}

func deleteBody(ref command.OffsetRef, ack protocol.AckLevel) []byte {
	return command.DeleteOffset{OffsetRef: ref, Ack: ack}.Append(nil)
}

func TestOffsets_EveryOutcome(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 3)
	sure(r.root.CreateGroup(ref, "g"))
	sure(r.root.CreateGroup(ref, "foreign"))
	member, second := r.as(rootName), r.as(rootName)
	member.must(member.JoinGroup(command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")}))
	second.must(second.JoinGroup(command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")}))
	owned := sure2(member.SyncGroup(command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")})).Partitions
	foreign := sure2(second.SyncGroup(command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")})).Partitions[0]
	r.newUser("nobody", nil)
	for _, p := range owned {
		r.root.send(ref, to(p), "a", "b", "c")
	}
	full, empty := owned[0], foreign

	place := func(c protocol.Consumer, ref command.TopicRef, partition uint32) command.OffsetRef {
		return command.OffsetRef{Consumer: c, TopicRef: ref, Partition: partition, HasPartition: true}
	}
	absent := place(consumer(1), ref, full)
	absent.HasPartition = false
	for _, ack := range []protocol.AckLevel{protocol.AckNone, protocol.AckQuorum} {
		for _, c := range []struct {
			name          string
			ref           command.OffsetRef
			offset        uint64
			store, delete protocol.Code
		}{
			{"unknown stream", place(consumer(1), at("none", "t"), full), 1, protocol.CodeStreamIdNotFound, protocol.CodeStreamIdNotFound},
			{"unknown topic", place(consumer(1), at("s", "none"), full), 1, protocol.CodeTopicIdNotFound, protocol.CodeTopicIdNotFound},
			{"unknown partition", place(consumer(1), ref, 3), 1, protocol.CodePartitionNotFound, protocol.CodePartitionNotFound},
			{"absent partition", absent, 1, protocol.CodePartitionNotFound, protocol.CodePartitionNotFound},
			{"unknown group", place(inGroup("none"), ref, full), 1, protocol.CodeConsumerGroupIdNotFound, protocol.CodeConsumerGroupIdNotFound},
			{"no member", place(inGroup("foreign"), ref, full), 1, protocol.CodeConsumerGroupMemberNotFound, protocol.CodeConsumerGroupMemberNotFound},
			{"not owned", place(inGroup("g"), ref, foreign), 1, protocol.CodeConsumerGroupPartitionNotOwned, protocol.CodeConsumerGroupPartitionNotOwned},
			{"empty partition", place(consumer(1), ref, empty), 0, protocol.CodeInvalidOffset, protocol.CodeConsumerOffsetNotFound},
			{"past the end", place(consumer(9), ref, full), 3, protocol.CodeInvalidOffset, protocol.CodeConsumerOffsetNotFound},
			{"group past the end", place(inGroup("g"), ref, full), 3, protocol.CodeInvalidOffset, protocol.CodeConsumerOffsetNotFound},
			{"consumer", place(consumer(1), ref, full), 2, protocol.Success, protocol.Success},
			{"named consumer", place(protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NamedID("reader")}, ref, full), 1, protocol.Success, protocol.Success},
			{"group", place(inGroup("g"), ref, full), 2, protocol.Success, protocol.Success},
		} {
			want := func(code protocol.Code) outcome {
				if code == protocol.Success {
					return outcome{}
				}
				return denied(code)
			}
			member.does(c.name+", store", protocol.OpStoreConsumerOffset, storeBody(c.ref, c.offset, ack), want(c.store))
			if c.store == protocol.Success {
				got, found, err := r.root.GetOffset(c.ref) // anybody may read, groups included
				if err != nil || !found || got.Stored != c.offset || got.CurrentOffset != 2 || got.Partition != full {
					t.Errorf("%s: stored %+v, %v, %v", c.name, got, found, err)
				}
				member.does(c.name+", store backwards", protocol.OpStoreConsumerOffset, storeBody(c.ref, 0, ack), outcome{})
				if got, _, _ := r.root.GetOffset(c.ref); got.Stored != 0 {
					t.Errorf("%s: %d after a store backwards", c.name, got.Stored)
				}
			}
			member.does(c.name+", delete", protocol.OpDeleteConsumerOffset, deleteBody(c.ref, ack), want(c.delete))
			if c.delete == protocol.Success {
				member.does(c.name+", delete again", protocol.OpDeleteConsumerOffset, deleteBody(c.ref, ack), denied(protocol.CodeConsumerOffsetNotFound))
			}
		}
	}
	stranger := r.as("nobody")
	stranger.does("no right", protocol.OpStoreConsumerOffset, storeBody(place(consumer(1), ref, full), 1, 1), denied(protocol.CodeUnauthorized))
	stranger.does("no right, no partition", protocol.OpStoreConsumerOffset, storeBody(place(consumer(1), ref, 7), 1, 1), denied(protocol.CodePartitionNotFound))
	stranger.does("no right, no member", protocol.OpDeleteConsumerOffset, deleteBody(place(inGroup("g"), ref, full), 1), denied(protocol.CodeConsumerGroupMemberNotFound))
	stranger.reads("no right, read", protocol.CmdConsumerOffsetGet, place(consumer(1), ref, full).Append(nil), denied(protocol.CodeUnauthorized))
}

// sure2 unwraps an answer that must be there.
func sure2[T any](v T, found bool, err error) T {
	if err != nil || !found {
		panic("nothing there")
	}
	return v
}

func TestOffsets_ReadOfWhatIsMissing(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	read := func(c protocol.Consumer, ref command.TopicRef, partition uint32) []byte {
		return command.OffsetRef{Consumer: c, TopicRef: ref, Partition: partition, HasPartition: true}.Append(nil)
	}
	for name, body := range map[string][]byte{
		"nothing stored": read(consumer(1), ref, 0), "unknown stream": read(consumer(1), at("none", "t"), 0),
		"unknown topic": read(consumer(1), at("s", "none"), 0), "unknown group": read(inGroup("none"), ref, 0),
	} {
		if got := r.root.ask(protocol.CmdConsumerOffsetGet, body); len(got) != 0 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	r.root.reads("unknown partition", protocol.CmdConsumerOffsetGet, read(consumer(1), ref, 1), denied(protocol.CodePartitionNotFound))
	r.root.send(ref, to(0), "a")
	r.root.must(r.root.StoreOffset(command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}, 0, protocol.AckQuorum))
	absent := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, Partition: 77}
	if got, found, err := r.root.GetOffset(absent); err != nil || !found || got.Partition != 0 {
		t.Errorf("partition absent: %+v, %v, %v", got, found, err)
	}
}
