package session

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
)

// files lists the files of the node whose path contains every part.
func (r *rig) files(parts ...string) (found []string) {
	r.t.Helper()
	var look func(dir string)
	look = func(dir string) {
		for _, name := range sure(r.fs.ReadDir(dir)) {
			path := dir + "/" + name
			if sure(r.fs.Stat(path)).IsDir {
				look(path)
				continue
			}
			matches := true
			for _, p := range parts {
				matches = matches && strings.Contains(path, p)
			}
			if matches {
				found = append(found, path)
			}
		}
	}
	look("data")
	return found
}

func TestFaults_FencedPartition(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	r.root.send(ref, to(0), "x")
	r.root.send(ref, to(1), "x")
	r.close()
	for _, path := range r.files("partitions/0/", "superblock") {
		size := sure(r.fs.Stat(path)).SizeBytes
		r.root.must(r.fs.FlipBit(path, size/2, 0))
	}
	r.open()
	place := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}
	want := denied(protocol.CodeCannotReadPartitions)
	r.root.does("send", protocol.OpSendMessages, sendBody(ref, to(0), 1, record("x")), want)
	for _, ack := range []protocol.AckLevel{protocol.AckNone, protocol.AckQuorum} {
		r.root.does("offset store", protocol.OpStoreConsumerOffset, storeBody(place, 0, ack), want)
		r.root.does("offset delete", protocol.OpDeleteConsumerOffset, deleteBody(place, ack), want)
	}
	r.root.reads("poll", protocol.CmdMessagePoll, fromFirst(ref, 0).Append(nil), want)
	r.root.reads("offset get", protocol.CmdConsumerOffsetGet, place.Append(nil), want)
	r.root.wants("flush", r.root.Flush(ref, 0, true), want)
	r.root.does("delete segments", protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: ref, Count: 1}.Append(nil), want)
	r.root.send(ref, to(1), "the others serve")
}

func TestFaults_DamagedMessageIsNotServed(t *testing.T) {
	r := openRig(t, setup{node: func(o *node.Options) { o.Limits.TailBytes = 1 }})
	ref := r.topic("s", "t", 1)
	for range 3 {
		r.root.send(ref, to(0), "payload")
	}
	const size = batch.HeaderSize + 48 + 7
	logs := r.files("partitions/0/", ".log")
	r.root.must(r.fs.FlipBit(logs[0], size+size-1, 0)) // the last byte of the second batch
	got, err := r.root.Poll(fromFirst(ref, 0))
	r.root.must(err)
	if got.Count != 1 {
		t.Errorf("%d messages in front of the damage; want 1", got.Count)
	}
	p := fromFirst(ref, 0)
	p.Strategy, p.Value = command.FromOffset, 1
	r.root.reads("poll of the damage", protocol.CmdMessagePoll, p.Append(nil), denied(protocol.CodeInvalidMessageChecksum))
	p.Value = 2
	if got, err = r.root.Poll(p); err != nil || got.Count != 1 {
		t.Errorf("behind the damage: %d messages, %v", got.Count, err)
	}
}

func TestFaults_WritesThatFail(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	r.root.send(ref, to(0), "x", "y")
	place := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}
	broken := errors.New("device error")
	r.fs.SetHook(func(op vfs.Op) error {
		if strings.Contains(op.Path, "offsets") {
			return broken
		}
		return nil
	})
	r.root.does("offset store without acknowledgement", protocol.OpStoreConsumerOffset, storeBody(place, 1, protocol.AckNone), denied(protocol.CodeTransientNotAccepted))
	r.fs.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.HasSuffix(op.Path, ".log") {
			return syscall.EIO
		}
		return nil
	})
	r.root.does("send", protocol.OpSendMessages, sendBody(ref, to(0), 1, record("lost")), denied(protocol.CodeTransientNotAccepted))
	r.fs.SetHook(nil)
	eventually(t, "sends are taken again", func() bool {
		got, err := r.root.SendMessages(ref, to(0), record("z"))
		return err == nil && got.Known
	})
	if got := payloads(sure(r.root.Poll(fromFirst(ref, 0))).Records); strings.Join(got, "") != "xyz" {
		t.Errorf("stored %v", got)
	}
}
