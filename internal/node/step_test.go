package node

import (
	"errors"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// handExecutor runs file tasks when it is told to, in the order in which they came.
type handExecutor struct{ tasks []func() }

func (e *handExecutor) Submit(_ *Lane, run func()) { e.tasks = append(e.tasks, run) }

func (e *handExecutor) Help() bool {
	if len(e.tasks) == 0 {
		return false
	}
	run := e.tasks[0]
	e.tasks = e.tasks[1:]
	run()
	return true
}

func (e *handExecutor) Close() {
	for e.Help() {
	}
}

type handClock struct{ ticks uint64 }

func (c *handClock) Now() vsr.Time {
	return vsr.Time{Micros: 1_700_000_000_000_000 + c.ticks*tickMicros, Ticks: c.ticks}
}

// stepRig is a node without goroutines on a file system in memory.
type stepRig struct {
	rig
	exec  *handExecutor
	clock *handClock
	disk  *vfs.Mem
}

// stepOptions are those of a node on a file system in memory; clock, executor and Fatal are the caller's.
func stepOptions(disk vfs.FS) Options {
	return Options{
		FS: disk, Log: discardLog(), Layout: datadir.NewLayout("/data", datadir.Folders{}), Incarnation: protocol.Uint128From64(1),
		Limits: Limits{WALFileBytes: 4 << 20, WALRetainedBytes: 16 << 20, ReservationLease: 100},
		Metadata: MetadataOptions{
			JournalSlots: 1024, ClientsTableMax: 64, Root: func() (string, string, error) { return "iggy", "$hash", nil }, JournalEpoch: 1,
		},
	}
}

func openStepRig(t testing.TB, disk *vfs.Mem) *stepRig { return openStepRigWith(t, disk, nil) }

// openStepRigWith opens a node whose options a test changes.
func openStepRigWith(t testing.TB, disk *vfs.Mem, change func(*Options)) *stepRig {
	t.Helper()
	s := &stepRig{exec: &handExecutor{}, clock: &handClock{ticks: 1000}, disk: disk}
	o := stepOptions(disk)
	o.Clock, o.Executor = s.clock, s.exec
	o.Fatal = func(code int, err error) { t.Errorf("fatal %d: %v", code, err) }
	if change != nil {
		change(&o)
	}
	watch(t, &o)
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.rig = rig{t: t, n: n}
	s.settle()
	s.session = s.commit(protocol.OpRegister, metadata.AppendRegister(nil, n.MetadataCommit()))
	return s
}

// settle runs passes and tasks until nothing is left to do at this tick.
func (s *stepRig) settle() {
	for again := true; again; {
		s.n.Pass(0)
		again = s.exec.Help() || !s.n.shards[0].inbox.empty()
	}
}

// advance moves the clock tick by tick.
func (s *stepRig) advance(ticks int) {
	for range ticks {
		s.clock.ticks++
		s.settle()
	}
}

func (s *stepRig) answered(a *answer) bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// commit has a metadata operation committed and returns its op.
func (s *stepRig) commit(op protocol.Operation, body []byte) uint64 {
	s.t.Helper()
	req := vsr.Request{Client: rigClient, Operation: op, Body: vsr.Body{Bytes: body}, Session: s.session}
	if op != protocol.OpRegister {
		s.request++
		req.Request = s.request
	}
	a := s.submit(Work{Group: protocol.MetadataGroup, Request: req})
	s.settle()
	if !s.answered(a) || a.code != protocol.Success {
		s.t.Fatalf("%s: answered %v, code %v", op, s.answered(a), a.code)
	}
	return a.op
}

func (s *stepRig) newTopic(options ...protocol.Pair) uint64 {
	s.commit(protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil))
	return s.commit(protocol.OpCreateTopicWithAssignments, command.CreateTopicReplicated{
		CreateTopic: command.CreateTopic{Stream: protocol.NumericID(0), PartitionsCount: 1, Name: []byte("t"),
			Options: command.AppendOptions(nil, options...)},
		Assignments: []command.Assignment{{}},
	}.Append(nil))
}

func (s *stepRig) sent(id protocol.GroupID, rev uint64, count int) *answer {
	s.t.Helper()
	a := s.send(id, rev, record(s.t, 1, count, 10))
	s.settle()
	if !s.answered(a) || a.code != protocol.Success {
		s.t.Fatalf("send: answered %v, code %v", s.answered(a), a.code)
	}
	return a
}

var topicZero = command.TopicRef{Stream: protocol.NumericID(0), Topic: protocol.NumericID(0)}

// A claim of offsets that could not be written before a purge is forgotten by it: written afterwards, it would
// tell of data that is gone.
func TestNode_AClaimFromBeforeAPurgeIsNotWrittenAfterIt(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRig(t, disk)
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 90)
	s.sent(id, rev, 90)
	broken := errors.New("device")
	disk.SetHook(func(op vfs.Op) error {
		if strings.Contains(op.Path, "/partitions/0/superblock") {
			return broken
		}
		return nil
	})
	large := s.send(id, rev, record(t, 1, 500, 10))
	s.settle()
	if g := s.n.shards[0].groups[id]; g.block.failures == 0 {
		t.Fatal("the claim was written: the test shows nothing")
	}
	s.clock.ticks += 2 * ticksPerSecond
	s.n.Pass(0)
	if s.settle(); !s.answered(large) || large.code != protocol.CodeTransientNotAccepted {
		t.Fatalf("a send that cannot be claimed: answered %v, code %v", s.answered(large), large.code)
	}
	s.commit(protocol.OpPurgeTopic, topicZero.Append(nil))
	disk.SetHook(nil)
	s.advance(5 * ticksPerSecond)
	s.close()
	s = openStepRig(t, disk)
	if a := s.sent(id, rev, 1); a.base != 0 {
		t.Errorf("first offset after a purge and a restart: %d", a.base)
	}
	s.close()
}

func TestNode_StoppedDuringAPurgeItStartsAtZero(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRig(t, disk)
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 90)
	s.sent(id, rev, 90)
	s.sent(id, rev, 90)
	g := s.n.shards[0].groups[id]
	a := s.submit(Work{Group: protocol.MetadataGroup, Request: vsr.Request{
		Client: rigClient, Session: s.session, Request: s.request + 1, Operation: protocol.OpPurgeTopic, Body: vsr.Body{Bytes: topicZero.Append(nil)},
	}})
	for !g.replica.Held() {
		s.exec.Help()
		s.n.Pass(0)
	}
	if !s.answered(a) {
		t.Fatal("the purge is not committed")
	}
	s.close()
	s = openStepRig(t, disk)
	if a := s.sent(id, rev, 1); a.base != 0 {
		t.Errorf("first offset after a purge and a restart: %d", a.base)
	}
	s.close()
}

func TestNode_RequestsDoNotWaitForAPartitionThatDoesNotOpen(t *testing.T) {
	s := openStepRig(t, vfs.NewMem(1))
	rev, id := s.newTopic(), groupID(t, 0, 0)
	a := s.send(id, rev, record(t, 1, 1, 10))
	for range 4 * ticksPerSecond {
		s.clock.ticks++
		s.n.Pass(0)
	}
	if !s.answered(a) || a.code != protocol.CodeTransientNotAccepted {
		t.Fatalf("after 4 s: answered %v, code %v", s.answered(a), a.code)
	}
	a.gaveBodyBack(t)
	s.close()
}

// The offset of a group that was deleted while nobody followed it would hold back retention for ever.
func TestNode_AStartForgetsTheOffsetsOfDeletedGroups(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRig(t, disk)
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 3)
	key := partition.ConsumerKey{Kind: partition.KindGroup, ID: 9}
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: key, Offset: 1}.Put(body)
	a := s.submit(Work{Group: id, Revision: rev, Request: vsr.Request{
		Client: rigClient, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
	}})
	if s.settle(); a.code != protocol.Success {
		t.Fatal(a.code)
	}
	dir := s.n.partitionDir(id)
	s.close()
	s = openStepRig(t, disk)
	if _, _, found, _ := s.n.ConsumerOffset(id, rev, 0, key); found {
		t.Error("the offset is still there")
	}
	if files, err := segment.LoadOffsets(disk, dir, segment.OffsetKind(partition.KindGroup)); err != nil || len(files) != 0 {
		t.Errorf("files %+v, %v", files, err)
	}
	s.close()
}

func TestNode_ADeletedPartitionOpensNoFiles(t *testing.T) {
	s := openStepRig(t, vfs.NewMem(1))
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 3)
	r := s.n.readers.get(id)
	h, err := r.acquire(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.commit(protocol.OpDeleteStream, protocol.NumericID(0).Append(nil))
	s.sent(id, s.newTopic(), 3) // the ids are used again, and so is the name of the file
	if r == s.n.readers.get(id) {
		t.Fatal("the partition is the same")
	}
	if _, err := r.acquire(2, 0); err == nil {
		t.Error("a file of the successor was opened")
	}
	r.letGo(h)
	if open := s.n.openHandles.Load(); open != 0 {
		t.Errorf("%d files are open", open)
	}
	s.close()
}

func TestNode_RequestsAfterTheEndAreAnswered(t *testing.T) {
	s := openStepRig(t, vfs.NewMem(1))
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 3)
	s.close()
	a := s.send(id, rev, record(t, 1, 1, 10))
	if !s.answered(a) || a.code != protocol.CodeTransientNotAccepted {
		t.Fatalf("answered %v, code %v", s.answered(a), a.code)
	}
	a.gaveBodyBack(t)
}

// The bound of recent batches in memory holds for a partition whose only batch is larger than it, too.
func TestNode_TailsOfSingleBatchesAreTrimmed(t *testing.T) {
	s := openStepRig(t, vfs.NewMem(1))
	s.n.limits.TailBytes = 1000
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 90)
	if held := s.n.tailBytes.Load(); held > 1000 {
		t.Errorf("%d bytes are held", held)
	}
	if ids, _, code := s.poll(id, rev, 0, 0, 100); code != protocol.Success || len(ids) != 90 {
		t.Errorf("poll: %d messages, code %v", len(ids), code)
	}
	s.close()
}

// The first claim of offsets carries the view: the gate does not have it written a second time, and a view that is
// on the disk is not written again by a later life. A write for the view alone would also count as a claim that
// came soon after another, and double what a crash wastes.
func TestNode_TheSuperblockIsWrittenOncePerChange(t *testing.T) {
	l := newLife(t, 0)
	sequence := func(want uint64) {
		t.Helper()
		if got := l.group().block.store.Sequence(); got != want {
			t.Fatalf("%d records were written, want %d", got, want)
		}
	}
	for i := range uint64(100) {
		l.put(i, 1)
	}
	sequence(1)
	l.reserved(0, 65_537)
	l.crash(vfs.KillOnly)
	l.put(65_537, 1)
	sequence(2)
	l.reserved(100, 65_538+65_536)
	l.restart()
	sequence(3) // what was not used was given back
	l.reserved(65_538, 65_538)
	l.put(65_538, 1)
	sequence(4)
}
