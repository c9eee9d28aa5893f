package node

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// takesRoom tells the operations that a full disk fails.
func takesRoom(op vfs.Op) bool {
	switch op.Kind {
	case vfs.OpCreate, vfs.OpMkdir, vfs.OpRename:
		return true
	case vfs.OpWrite:
		return !strings.HasSuffix(op.Path, "journal.mirror") // written in place
	}
	return false
}

func (s *stepRig) smallTopic(fsync bool) uint64 {
	s.commit(protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil))
	return s.commit(protocol.OpCreateTopicWithAssignments, command.CreateTopicReplicated{
		CreateTopic: command.CreateTopic{
			Stream: protocol.NumericID(0), PartitionsCount: 1, Name: []byte("t"),
			Options: command.AppendOptions(nil, command.BoolOption("enforce_fsync", fsync), command.U64Option("segment_size", 1<<20)),
		},
		Assignments: []command.Assignment{{}},
	}.Append(nil))
}

// outcome waits for the answer of a send, with time passing.
func (s *stepRig) outcome(a *answer) protocol.Code {
	s.t.Helper()
	for range 2000 {
		s.settle()
		if s.answered(a) {
			return a.code
		}
		s.clock.ticks += 10
	}
	s.t.Fatal("a send is not answered")
	return 0
}

// contents polls everything.
func (s *stepRig) contents(id protocol.GroupID, rev, generation uint64) map[uint64]bool {
	s.t.Helper()
	found := map[uint64]bool{}
	for from := uint64(0); ; {
		ids, next, code := s.poll(id, rev, generation, from, 100)
		if code != protocol.Success {
			s.t.Fatalf("poll from %d: %v", from, code)
		}
		if len(ids) == 0 {
			return found
		}
		for _, m := range ids {
			found[m] = true
		}
		from = next
	}
}

// A disk that is full while segments follow each other: what is confirmed is found after a crash, what is refused
// is not, and no leftover of the refused stands in the way.
func TestNode_FullDiskAcrossSegments(t *testing.T) {
	stride := 1
	if testing.Short() { // as under the race detector, which looks for something else
		stride = 9
	}
	for _, fsync := range []bool{false, true} {
		met := 0
		for n, more := uint64(1), true; more && !t.Failed(); n += uint64(stride) {
			t.Run(fmt.Sprintf("fsync=%v/op=%d", fsync, n), func(t *testing.T) {
				hit := false
				if hit, more = fullAcrossSegments(t, fsync, n); hit {
					met++
				}
			})
		}
		if met < 30/stride {
			t.Errorf("only %d lives met a full disk", met)
		}
	}
}

func fullAcrossSegments(t *testing.T, fsync bool, n uint64) (hit, reached bool) {
	disk := vfs.NewMem(n)
	s := openStepRig(t, disk)
	rev, id := s.smallTopic(fsync), groupID(t, 0, 0)
	from := disk.Ops() + n
	disk.SetHook(func(op vfs.Op) error {
		if op.Number < from || op.Number >= from+2 || !takesRoom(op) {
			return nil
		}
		hit = true
		return syscall.ENOSPC
	})
	confirmed, refused := map[uint64]bool{}, map[uint64]bool{}
	crash := func() {
		t.Helper()
		modes := []vfs.CrashMode{vfs.KillOnly}
		if fsync {
			modes = append(modes, vfs.LoseUnsynced, vfs.TearSectors)
		}
		for _, mode := range modes {
			after := openStepRig(t, disk.CrashClone(rand.New(rand.NewPCG(n, 0)), mode))
			found := after.contents(id, rev, 0)
			for m := range confirmed {
				if !found[m] {
					t.Errorf("%s: message %d was confirmed and is gone", mode, m)
				}
			}
			for m := range refused {
				if found[m] {
					t.Errorf("%s: message %d was refused and is there", mode, m)
				}
			}
		}
	}
	for m := uint64(1); m <= 9; m++ {
		before := len(refused)
		// Sizes differ, so that a retry ends the segment at another offset.
		a := s.send(id, rev, record(t, m*10, 1+int(m%3), 180<<10))
		for i := range 1 + m%3 {
			switch code := s.outcome(a); code {
			case protocol.Success:
				confirmed[m*10+i] = true
			case protocol.CodeTransientNotAccepted:
				refused[m*10+i] = true
			default:
				t.Fatalf("send %d: %v", m, code)
			}
		}
		if len(refused) > before {
			crash() // in the moment after the refusal
			s.advance(2 * ticksPerSecond)
		}
	}
	disk.SetHook(nil)
	reached = disk.Ops() >= from
	s.clock.ticks += 2 * ticksPerSecond
	if code := s.outcome(s.send(id, rev, record(t, 1000, 1, 10))); code != protocol.Success {
		t.Fatalf("with room again: %v", code)
	}
	confirmed[1000] = true
	crash()
	return hit, reached
}

// Nothing can be written at all, not one byte: what makes room works all the same.
func TestNode_WithoutAnyRoomPurgeAndDeletionWork(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRigWith(t, disk, func(o *Options) { o.Limits.FreeSpaceMin = 1 << 20 })
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 90)
	full := false
	disk.SetHook(func(op vfs.Op) error {
		// Journal and superblocks of the metadata have room of their own.
		if full && takesRoom(op) && !strings.Contains(op.Path, "/metadata/") {
			return syscall.ENOSPC
		}
		if op.Kind == vfs.OpRemove && strings.HasSuffix(op.Path, ".index") {
			full = false // what is deleted makes room
		}
		return nil
	})
	full = true
	if code := s.outcome(s.send(id, rev, record(t, 1, 1, 10))); code != protocol.CodeTransientNotAccepted {
		t.Fatalf("send: %v", code)
	}
	if ids, _, code := s.poll(id, rev, 0, 0, 100); code != protocol.Success || len(ids) != 90 {
		t.Fatalf("poll: %d messages, code %v", len(ids), code)
	}
	// A stored offset that cannot be written holds what comes behind it, but not a purge.
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: partition.ConsumerKey{Kind: partition.KindConsumer, ID: 7}, Offset: 3}.Put(body)
	store := s.submit(Work{Group: id, Revision: rev, Request: vsr.Request{
		Client: rigClient, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
	}})
	s.advance(5)
	if s.answered(store) {
		t.Fatalf("the offset was stored: the test shows nothing; code %v", store.code)
	}
	s.commit(protocol.OpPurgeTopic, topicZero.Append(nil))
	s.advance(3 * ticksPerSecond)
	if !s.answered(store) {
		t.Error("the offset operation is still held")
	}
	if full {
		t.Fatal("the purge has not made room")
	}
	if a := s.sent(id, rev, 1); a.base != 0 {
		t.Errorf("first offset after the purge: %d", a.base)
	}
	if s.n.Fenced(id) != nil {
		t.Error(s.n.Fenced(id))
	}
	s.close()
}

// The room of removed segments comes back although polls had them open and none comes any more.
func TestNode_RemovedSegmentsAreNotHeldOpen(t *testing.T) {
	s := openStepRig(t, vfs.NewMem(1))
	rev, id := s.smallTopic(false), groupID(t, 0, 0)
	for m := range uint64(15) {
		s.outcome(s.send(id, rev, record(t, 1+m, 1, 400<<10)))
	}
	s.contents(id, rev, 0)
	open := s.n.openHandles.Load()
	if open == 0 {
		t.Fatal("polls hold nothing open: the test shows nothing")
	}
	s.commit(protocol.OpTruncatePartition, command.TruncatePartition{TopicRef: topicZero, UpTo: 2}.Append(nil))
	s.advance(5)
	if left := s.n.openHandles.Load(); left != 0 {
		t.Errorf("%d of %d files are still open", left, open)
	}
	s.close()
}

// A node that starts on a full disk serves what it has, refuses sends, and goes on by itself when there is room.
func TestNode_StartOnAFullDisk(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRig(t, disk)
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 90)
	disk = disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)
	disk.SetHook(func(op vfs.Op) error {
		if takesRoom(op) && !strings.Contains(op.Path, "/metadata/") {
			return syscall.ENOSPC
		}
		return nil
	})
	s = openStepRig(t, disk)
	if got := len(s.contents(id, rev, 0)); got != 90 {
		t.Errorf("%d messages are served, want 90", got)
	}
	if code := s.outcome(s.send(id, rev, record(t, 1, 1, 10))); code != protocol.CodeTransientNotAccepted {
		t.Errorf("send: %v", code)
	}
	if f := s.n.Fenced(id); f != nil {
		t.Fatal(f)
	}
	disk.SetHook(nil)
	s.advance(2 * ticksPerSecond)
	if code := s.outcome(s.send(id, rev, record(t, 1000, 1, 10))); code != protocol.Success {
		t.Errorf("send with room again: %v", code)
	}
	if got := len(s.contents(id, rev, 0)); got != 91 {
		t.Errorf("%d messages are served, want 91", got)
	}
	s.close()
}

// Sends stop at the watermark, not a second of sending later.
func TestNode_AFastProducerDoesNotPassTheWatermark(t *testing.T) {
	disk := vfs.NewMem(1)
	disk.SetCapacity(8 << 20)
	s := openStepRigWith(t, disk, func(o *Options) { o.Limits.FreeSpaceMin = 2 << 20 })
	rev, id := s.newTopic(), groupID(t, 0, 0)
	refused := protocol.Success
	for i := uint64(1); i <= 200 && refused == protocol.Success; i++ {
		a := s.send(id, rev, record(t, i, 1, 100<<10))
		if s.settle(); !s.answered(a) {
			t.Fatal("not answered")
		}
		refused = a.code
	}
	free, err := disk.FreeBytes("/data")
	if err != nil || refused != protocol.CodeTransientNotAccepted || free < 2<<20-256<<10 {
		t.Errorf("answer %v with %d bytes free, %v", refused, free, err)
	}
	s.close()
}
