package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// machine is a computer that runs a node: a disk that survives the process, and a boot that survives it unless the
// power goes.
type machine struct {
	*stepRig
	rng  *rand.Rand
	boot byte
	rev  uint64
	life uint64

	limits func(*Limits) // nil: loggedLimits
}

// loggedLimits make the log rotate and checkpoint within a test.
func loggedLimits(l *Limits) {
	l.ReservationLease, l.WALFileBytes, l.WALRetainedBytes, l.Validate = 65_536, 64<<10, 256<<10, true
}

func newMachine(t testing.TB, seed uint64) *machine {
	m := &machine{rng: rand.New(rand.NewPCG(seed, 7)), boot: 1}
	m.start(t, vfs.NewMem(seed))
	return m
}

func (m *machine) start(t testing.TB, disk *vfs.Mem) {
	t.Helper()
	m.life++
	m.stepRig = openStepRigWith(t, disk, func(o *Options) {
		o.BootID = [16]byte{m.boot}
		o.Random = func() uint64 { return m.rng.Uint64() | 1 }
		o.Incarnation = protocol.Uint128From64(m.life)
		loggedLimits(&o.Limits)
		if m.limits != nil {
			m.limits(&o.Limits)
		}
	})
}

// crash drops the process and what mode takes with it, and boots.
func (m *machine) crash(mode vfs.CrashMode) {
	m.t.Helper()
	if mode != vfs.KillOnly {
		m.boot++
	}
	m.start(m.t, m.disk.CrashClone(m.rng, mode))
}

// restart stops in order and boots on a machine that loses whatever is not on its disk.
func (m *machine) restart() {
	m.t.Helper()
	m.close()
	m.crash(vfs.LoseUnsynced)
}

// durableTopic creates a topic with synced messages in a stream of its own.
func (m *machine) durableTopic(stream, partitions uint32, options ...protocol.Pair) {
	m.t.Helper()
	m.commit(protocol.OpCreateStream, command.CreateStream{Name: fmt.Appendf(nil, "s%d", stream)}.Append(nil))
	req := command.CreateTopicReplicated{CreateTopic: command.CreateTopic{
		Stream: protocol.NumericID(stream), PartitionsCount: partitions, Name: []byte("t"),
		Options: command.AppendOptions(nil, append(options, command.BoolOption("enforce_fsync", true))...),
	}}
	for p := range partitions {
		req.Assignments = append(req.Assignments, command.Assignment{Partition: p})
	}
	m.rev = m.commit(protocol.OpCreateTopicWithAssignments, req.Append(nil))
}

// put sends messages with the ids first, first+1, ... and returns the answer without waiting for it.
func (m *machine) put(id protocol.GroupID, first uint64, count int) *answer {
	return m.send(id, m.rev, record(m.t, first, count, 10))
}

// must waits for an answer and requires success.
func (m *machine) must(a *answer) *answer {
	m.t.Helper()
	m.settle()
	if !m.answered(a) || a.code != protocol.Success {
		m.t.Fatalf("answered %v, code %v", m.answered(a), a.code)
	}
	return a
}

func (m *machine) storeOffset(id protocol.GroupID, consumer uint32, offset uint64, local bool) *answer {
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: partition.ConsumerKey{Kind: partition.KindConsumer, ID: consumer}, Offset: offset}.Put(body)
	return m.submit(Work{Group: id, Revision: m.rev, Local: local, Request: vsr.Request{
		Client: rigClient, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
	}})
}

func (m *machine) storedOffset(id protocol.GroupID, consumer uint32) (uint64, bool) {
	m.t.Helper()
	_, v, ok, code := m.n.ConsumerOffset(id, m.rev, 0, partition.ConsumerKey{Kind: partition.KindConsumer, ID: consumer})
	if code != protocol.Success {
		m.t.Fatal(code)
	}
	return v, ok
}

// holds requires the messages first..first+count-1 to be served from offset on.
func (m *machine) holds(id protocol.GroupID, generation, offset, first uint64, count int) {
	m.t.Helper()
	for i := range uint64(count) {
		ids, _, code := m.poll(id, m.rev, generation, offset+i, 1)
		if code != protocol.Success || len(ids) != 1 || ids[0] != first+i {
			m.t.Fatalf("offset %d: messages %v, code %v, want message %d", offset+i, ids, code, first+i)
		}
	}
}

func (m *machine) serving(id protocol.GroupID) *group {
	m.t.Helper()
	g := m.n.shards[0].groups[id]
	if g == nil || g.state != serving {
		m.t.Fatalf("partition %s does not serve: %v", id, m.n.Fenced(id))
	}
	return g
}

// eachCrash runs a test once for every way to lose what was not synced.
func eachCrash(t *testing.T, run func(t *testing.T, mode vfs.CrashMode, m *machine)) {
	for _, mode := range vfs.CrashModes {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s %d", mode, seed), func(t *testing.T) { run(t, mode, newMachine(t, seed)) })
		}
	}
}

func TestLogged_OneSyncConfirmsTheSendsOfAllPartitions(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 8)
	for p := range uint32(8) {
		m.must(m.put(groupID(t, 0, p), 1, 1)) // opens them
	}
	var logSyncs, otherSyncs int
	m.disk.SetHook(func(op vfs.Op) error {
		switch {
		case op.Kind != vfs.OpDatasync && op.Kind != vfs.OpSync:
		case strings.Contains(op.Path, "/wal/shard-0/"):
			logSyncs++
		default:
			otherSyncs++
		}
		return nil
	})
	var answers []*answer
	for p := range uint32(8) {
		answers = append(answers, m.put(groupID(t, 0, p), 2, 3))
	}
	m.n.Pass(0)
	for i, a := range answers {
		if m.answered(a) {
			t.Fatalf("send %d was confirmed before any sync", i)
		}
	}
	m.exec.Help() // the sync runs; what comes now is behind it
	for p := range uint32(8) {
		answers = append(answers, m.put(groupID(t, 0, p), 5, 3))
	}
	for _, a := range answers {
		m.must(a)
	}
	if logSyncs != 2 || otherSyncs != 0 {
		t.Fatalf("%d syncs of the log and %d of other files for sends to 8 partitions, want 2 and 0", logSyncs, otherSyncs)
	}
	m.disk.SetHook(nil)
	m.close()
}

func TestLogged_DefaultTopicsAloneMakeNoLog(t *testing.T) {
	m := newMachine(t, 1)
	rev, id := m.newTopic(), groupID(t, 0, 0)
	m.sent(id, rev, 3)
	m.close()
	if _, err := m.disk.Stat("/data/wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("wal folder: %v", err)
	}
}

// The order that recovery relies on: the log knows the partition before its superblock exists, and the superblock
// exists before anything is confirmed.
func TestLogged_BirthThenSuperblockThenConfirmation(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	var first *vfs.Mem // the disk before the first superblock
	m.disk.SetHook(func(op vfs.Op) error {
		if strings.Contains(op.Path, "/partitions/0/superblock") && first == nil {
			first = m.disk.CrashClone(m.rng, vfs.LoseUnsynced)
		}
		return nil
	})
	a := m.put(id, 1, 1)
	for !m.answered(a) {
		if m.n.Pass(0); m.answered(a) {
			break
		}
		m.exec.Help()
	}
	m.disk.SetHook(nil)
	if first == nil {
		t.Fatal("confirmed without a superblock")
	}
	logs, err := shardlog.Scan(first, "/data/wal", shardlog.Options{
		FileBytes: 64 << 10, RetainedBytes: 256 << 10, Random: m.rng.Uint64,
	})
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := logs.Find(id, m.rev); !ok || !found.Born {
		t.Fatalf("before the first superblock the log says %+v %v", found, ok)
	}
	m.close()
}

func TestLogged_WhatWasConfirmedSurvivesEveryCrash(t *testing.T) {
	eachCrash(t, func(t *testing.T, mode vfs.CrashMode, m *machine) {
		m.durableTopic(0, 2, command.U64Option("segment_size", 1<<20))
		a, b := groupID(t, 0, 0), groupID(t, 0, 1)
		next := uint64(1)
		base := map[uint64]uint64{} // offset of each message of a
		for range 4 {
			for range 30 {
				count := 1 + m.rng.IntN(3)
				at := m.must(m.put(a, next, count)).base
				for i := range uint64(count) {
					base[next+i] = at + i
				}
				next += uint64(count)
			}
			m.must(m.put(b, next, 1))
			m.must(m.storeOffset(a, 1, base[next-1], false))
			m.must(m.storeOffset(a, 2, base[next/2], false))
			want, half := base[next-1], base[next/2]
			m.put(a, 1_000_000+next, 2) // may or may not be there
			for range m.rng.IntN(4) {
				m.n.Pass(0)
				m.exec.Help()
			}
			m.crash(mode)
			m.serving(a)
			m.serving(b)
			for id, offset := range base {
				m.holds(a, 0, offset, id, 1)
			}
			if v, ok := m.storedOffset(a, 1); !ok || v != want {
				t.Fatalf("stored offset %d %v, want %d", v, ok, want)
			}
			if v, ok := m.storedOffset(a, 2); !ok || v != half {
				t.Fatalf("stored offset %d %v, want %d", v, ok, half)
			}
		}
		m.restart()
		for id, offset := range base {
			m.holds(a, 0, offset, id, 1)
		}
		m.close()
	})
}

// A solo partition with synced messages loses power: the segment holds offsets 0 to 3, the log 4 to 9 as well. All of
// them are served, and minting goes on at the ceiling of the reservation.
func TestLogged_WorkedExampleOfALossOfPower(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 4))
	m.checkpointNow(id)
	for i := range uint64(6) {
		m.must(m.put(id, 5+i, 1))
	}
	m.crash(vfs.LoseUnsynced)
	g := m.serving(id)
	m.holds(id, 0, 0, 1, 10)
	if v := g.part.View(); v.Committed != 9 || v.SegmentCount() != 2 || v.Segment(0).End != 9 || v.Segment(1).Start != 65_540 {
		t.Fatalf("committed %d, %d segments", v.Committed, v.SegmentCount())
	}
	anchor, ok, err := segment.ReadAnchor(m.disk, g.dir, 65_540)
	if err != nil || !ok || anchor != (segment.Anchor{PlantedStart: 65_540, SealedStart: 0, SealedEnd: 9}) {
		t.Fatalf("anchor %+v %v %v", anchor, ok, err)
	}
	if a := m.must(m.put(id, 11, 1)); a.base != 65_540 {
		t.Fatalf("minting goes on at %d", a.base)
	}
	// A second loss of power: the gap is no loss.
	m.crash(vfs.LoseUnsynced)
	m.serving(id)
	m.holds(id, 0, 0, 1, 10)
	m.holds(id, 0, 65_540, 11, 1)
	m.close()
}

// checkpointNow has the files of a partition made durable and the log told.
func (m *machine) checkpointNow(id protocol.GroupID) {
	m.t.Helper()
	g := m.serving(id)
	before := g.replica.CommitMin()
	m.n.shards[0].wal.want(g)
	m.settle()
	if g.logged.checkpoint.op != before {
		m.t.Fatalf("checkpoint at op %d, want %d", g.logged.checkpoint.op, before)
	}
}

// What the segments hold already is neither written nor counted again, however often the log is replayed.
func TestLogged_ReplayIsIdempotent(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	for i := range uint64(20) {
		m.must(m.put(id, 1+i*3, 3))
	}
	for range 3 {
		m.crash(vfs.KillOnly)
		g := m.serving(id)
		if v := g.part.View(); v.Messages != 60 || v.Committed != 59 {
			t.Fatalf("%d messages up to offset %d", v.Messages, v.Committed)
		}
		m.holds(id, 0, 0, 1, 60)
	}
	m.close()
}

func TestLogged_AStopInOrderLeavesNothingToReplay(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	for i := range uint64(20) {
		m.must(m.put(id, 1+i, 1))
	}
	m.must(m.storeOffset(id, 7, 11, false))
	op := m.serving(id).replica.Op()
	m.restart()
	g := m.serving(id)
	if n := m.n.metrics.replayed.Load(); n != 0 {
		t.Errorf("%d operations were replayed", n)
	}
	if g.replica.Op() != op {
		t.Errorf("the log goes on at op %d, want %d", g.replica.Op(), op)
	}
	if !m.n.logs.Verdict().Proven {
		t.Errorf("the log does not count as complete: %s", m.n.logs.Verdict().Reason)
	}
	if a := m.must(m.put(id, 21, 1)); a.base != 20 {
		t.Errorf("minting goes on at %d: the reservation was not given back", a.base)
	}
	if v, ok := m.storedOffset(id, 7); !ok || v != 11 {
		t.Errorf("stored offset %d %v", v, ok)
	}
	m.close()
}

func TestLogged_RequestNumbersSurviveCheckpointAndCrash(t *testing.T) {
	eachCrash(t, func(t *testing.T, mode vfs.CrashMode, m *machine) {
		m.durableTopic(0, 1)
		id := groupID(t, 0, 0)
		numbered := func(number uint64) *answer {
			body := record(t, number, 1, 10)
			return m.submit(Work{Group: id, Revision: m.rev, Messages: batch.MessageCount(body.Bytes), Request: vsr.Request{
				Client: protocol.Uint128From64(5), Request: number, Operation: protocol.OpSendMessages, Body: body,
			}})
		}
		m.must(numbered(1))
		m.must(numbered(2))
		m.checkpointNow(id)
		m.must(numbered(3))
		m.crash(mode)
		for number := range uint64(3) {
			m.must(numbered(number + 1))
		}
		if v := m.serving(id).part.View(); v.Messages != 3 {
			t.Fatalf("%d messages: a repeated request was executed again", v.Messages)
		}
		m.close()
	})
}

// A local store keeps its place among the replicated ones.
func TestLogged_LocalStoresAreReplayedInTheirPlace(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 10))
	steps := []struct {
		offset uint64
		local  bool
	}{{5, false}, {9, true}, {3, false}, {4, true}, {2, true}, {8, false}}
	for i := range steps {
		var all []*answer
		for _, step := range steps[:i+1] {
			all = append(all, m.storeOffset(id, uint32(i+1), step.offset, step.local))
		}
		for _, a := range all {
			m.must(a)
		}
	}
	for range 2 {
		m.crash(vfs.KillOnly)
		for i := range steps {
			if v, ok := m.storedOffset(id, uint32(i+1)); !ok || v != steps[i].offset {
				t.Fatalf("consumer %d reads %d %v, want %d", i+1, v, ok, steps[i].offset)
			}
		}
	}
	m.close()
}

func TestLogged_PurgeIsReplayedFromEveryCrashPoint(t *testing.T) {
	for _, mode := range vfs.CrashModes {
		t.Run(mode.String(), func(t *testing.T) {
			for point := uint64(1); ; point++ {
				m := newMachine(t, point)
				m.durableTopic(0, 1)
				id := groupID(t, 0, 0)
				m.must(m.put(id, 1, 5))
				if point%2 == 0 {
					m.checkpointNow(id)
				}
				m.must(m.storeOffset(id, 1, 4, false))
				m.submit(Work{Group: protocol.MetadataGroup, Request: vsr.Request{
					Client: rigClient, Session: m.session, Request: m.request + 1, Operation: protocol.OpPurgeTopic, Body: vsr.Body{Bytes: topicZero.Append(nil)},
				}})
				for m.exec.Help() && m.n.MetadataCommit() == 0 {
				}
				m.disk.SetHook(vfs.CrashAt(m.disk.Ops() + point))
				m.settle()
				after := m.put(id, 100, 2)
				m.settle()
				confirmed := m.answered(after) && after.code == protocol.Success
				done := m.disk.Ops()
				_ = done
				crashed := m.serves(id) == nil
				m.crash(mode)
				g := m.serving(id)
				if g.purge.generation == 0 { // the purge itself was not committed
					m.holds(id, 0, 0, 1, 5)
				} else {
					if v := g.part.View(); confirmed && v.Messages != 2 || v.Messages > 2 {
						t.Fatalf("point %d: %d messages after the purge", point, v.Messages)
					}
					if confirmed {
						m.holds(id, 1, 0, 100, 2)
					}
					if _, ok, _ := m.offsetIn(id, 1); ok {
						t.Fatalf("point %d: a stored offset survived the purge", point)
					}
				}
				m.close()
				if confirmed && !crashed {
					return
				}
			}
		})
	}
}

// serves returns the group if it is serving.
func (m *machine) serves(id protocol.GroupID) *group {
	if g := m.n.shards[0].groups[id]; g != nil && g.state == serving && m.disk != nil {
		if _, err := m.disk.Stat("/"); err == nil {
			return g
		}
	}
	return nil
}

func (m *machine) offsetIn(id protocol.GroupID, generation uint64) (uint64, bool, protocol.Code) {
	_, v, ok, code := m.n.ConsumerOffset(id, m.rev, generation, partition.ConsumerKey{Kind: partition.KindConsumer, ID: 1})
	return v, ok, code
}

func TestLogged_CheckpointsLetTheLogForget(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 2)
	busy, quiet := groupID(t, 0, 0), groupID(t, 0, 1)
	m.must(m.put(quiet, 1, 1))
	for i := range uint64(400) {
		m.must(m.send(busy, m.rev, record(t, 1+i, 1, 4000)))
		if i%20 == 0 {
			m.advance(ticksPerSecond)
		}
	}
	m.advance(7 * ticksPerSecond)
	if x := m.n.shards[0].wal.log.Metrics(); x.RetainedBytes > 2*m.n.limits.WALRetainedBytes || x.RecycledFiles == 0 {
		t.Fatalf("log after 1.6 MB: %+v", x)
	}
	m.crash(vfs.LoseUnsynced)
	m.holds(busy, 0, 0, 1, 400)
	m.holds(quiet, 0, 0, 1, 1)
	m.close()
}

func TestLogged_AFailedSyncReleasesNothingAndLosesNothing(t *testing.T) {
	for _, mode := range []vfs.CrashMode{vfs.KillOnly, vfs.LoseUnsynced, vfs.TearSectors} {
		t.Run(mode.String(), func(t *testing.T) {
			m := newMachine(t, 3)
			m.durableTopic(0, 1)
			id := groupID(t, 0, 0)
			m.must(m.put(id, 1, 1))
			broken := errors.New("device")
			failed := 0
			m.disk.SetHook(func(op vfs.Op) error {
				if failed == 0 && op.Kind == vfs.OpDatasync && strings.Contains(op.Path, "/wal/") {
					failed++
					return broken
				}
				return nil
			})
			a := m.put(id, 2, 3)
			m.settle()
			if failed != 1 || m.answered(a) {
				t.Fatalf("%d failed syncs, answered %v", failed, m.answered(a))
			}
			m.advance(20)
			m.must(a)
			m.must(m.put(id, 5, 1))
			m.crash(mode)
			m.holds(id, 0, 0, 1, 5)
			m.close()
		})
	}
}

func TestLogged_ALogThatKeepsFailingRefusesSends(t *testing.T) {
	m := newMachine(t, 3)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 1))
	broken := errors.New("device")
	m.disk.SetHook(func(op vfs.Op) error {
		if (op.Kind == vfs.OpDatasync || op.Kind == vfs.OpSync) && strings.Contains(op.Path, "/wal/") {
			return broken
		}
		return nil
	})
	a := m.put(id, 2, 1)
	m.advance(50)
	late := m.put(id, 3, 1)
	m.advance(ticksPerSecond + 2)
	if m.answered(a) || !m.answered(late) || late.code != protocol.CodeTransientNotAccepted {
		t.Fatalf("first send answered %v; later one %v, code %v", m.answered(a), m.answered(late), late.code)
	}
	m.disk.SetHook(nil)
	m.advance(3 * ticksPerSecond)
	m.must(a)
	m.must(m.put(id, 4, 1))
	m.close()
}

func TestLogged_ALogThatFailsForTwoMinutesStopsItsPartitions(t *testing.T) {
	m := newMachine(t, 3)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 1))
	broken := errors.New("device")
	m.disk.SetHook(func(op vfs.Op) error {
		if op.Kind != vfs.OpWrite && strings.Contains(op.Path, "/wal/") {
			return broken
		}
		return nil
	})
	m.put(id, 2, 1)
	m.advance(130 * ticksPerSecond)
	if f := m.n.Fenced(id); f == nil || !errors.Is(f, broken) {
		t.Fatalf("fenced: %v", f)
	}
	m.disk.SetHook(nil)
	m.crash(vfs.KillOnly)
	m.holds(id, 0, 0, 1, 1)
	m.close()
}

func TestLogged_AFullDiskRefusesSendsUntilThereIsSpace(t *testing.T) {
	m := newMachine(t, 3)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 1))
	m.disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite || op.Kind == vfs.OpCreate || op.Kind == vfs.OpPreallocate {
			return syscall.ENOSPC
		}
		return nil
	})
	confirmed := uint64(1)
	for i := range uint64(30) {
		a := m.send(id, m.rev, record(t, 2+i, 1, 4000))
		m.advance(5)
		if m.answered(a) && a.code == protocol.Success {
			t.Fatalf("send %d was confirmed on a full disk", i)
		}
	}
	m.disk.SetHook(nil)
	m.advance(3 * ticksPerSecond)
	a := m.must(m.put(id, 99, 1))
	if v := m.serving(id).part.View(); v.Committed != a.base {
		t.Fatalf("committed %d, the last message is at %d", v.Committed, a.base)
	}
	m.crash(vfs.LoseUnsynced)
	m.holds(id, 0, 0, 1, int(confirmed))
	m.holds(id, 0, a.base, 99, 1)
	m.close()
}

// A segment that cannot be written holds what is committed; nothing is unwound.
func TestLogged_ASegmentThatCannotBeWrittenHoldsTheCommitWalk(t *testing.T) {
	m := newMachine(t, 3)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 1))
	broken := errors.New("device")
	m.disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.HasSuffix(op.Path, ".log") {
			return broken
		}
		return nil
	})
	a := m.put(id, 2, 1)
	b := m.put(id, 3, 1)
	m.advance(50)
	if m.answered(a) || m.answered(b) {
		t.Fatal("confirmed without a segment")
	}
	m.disk.SetHook(nil)
	m.advance(2 * ticksPerSecond)
	m.must(a)
	m.must(b)
	m.holds(id, 0, 0, 1, 3)
	m.close()
}

func TestLogged_ASegmentThatFailsForTwoMinutesStopsThePartition(t *testing.T) {
	m := newMachine(t, 3)
	m.durableTopic(0, 2)
	id, other := groupID(t, 0, 0), groupID(t, 0, 1)
	m.must(m.put(id, 1, 1))
	m.must(m.put(other, 1, 1))
	broken := errors.New("device")
	m.disk.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.Contains(op.Path, "/partitions/0/") && strings.HasSuffix(op.Path, ".log") {
			return broken
		}
		return nil
	})
	m.put(id, 2, 1)
	m.advance(121 * ticksPerSecond)
	if f := m.n.Fenced(id); !errors.Is(f, broken) {
		t.Fatalf("fenced: %v", f)
	}
	m.must(m.put(other, 2, 1))
	m.disk.SetHook(nil)
	m.crash(vfs.LoseUnsynced)
	m.holds(id, 0, 0, 1, 2) // the log had the second one
	m.close()
}

func TestLogged_SegmentsWhoseSyncFailsAreWrittenAgain(t *testing.T) {
	m := newMachine(t, 3)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 5))
	broken := errors.New("device")
	failed := 0
	m.disk.SetHook(func(op vfs.Op) error {
		if failed < 2 && op.Kind == vfs.OpDatasync && strings.HasSuffix(op.Path, ".log") {
			failed++
			return broken
		}
		return nil
	})
	g := m.serving(id)
	m.n.shards[0].wal.want(g)
	m.advance(5 * ticksPerSecond)
	if failed != 2 || g.logged.checkpoint.op != g.replica.CommitMin() {
		t.Fatalf("%d failed syncs, checkpoint at %d of %d", failed, g.logged.checkpoint.op, g.replica.CommitMin())
	}
	m.disk.SetHook(nil)
	m.crash(vfs.LoseUnsynced)
	m.holds(id, 0, 0, 1, 5)
	m.close()
}

// fencedBy boots a copy of the disk that change has worked on, and requires the partition to be stopped.
func (m *machine) fencedBy(t *testing.T, id protocol.GroupID, target any, change func(disk *vfs.Mem)) {
	t.Helper()
	copied := *m
	disk := m.disk.CrashClone(m.rng, vfs.LoseUnsynced)
	change(disk)
	copied.boot++
	copied.start(t, disk)
	f := copied.n.Fenced(id)
	if f == nil || !errors.As(f.Reason, target) {
		t.Fatalf("fenced: %v", f)
	}
	if a := copied.put(id, 9, 1); a.code != protocol.CodeCannotReadPartitions {
		copied.settle()
		if a.code != protocol.CodeCannotReadPartitions {
			t.Fatalf("send to a stopped partition: code %v", a.code)
		}
	}
	if _, err := disk.Stat(copied.n.partitionDir(id) + "/" + segment.LogName(0)); err != nil {
		t.Fatalf("the files are gone: %v", err)
	}
	copied.close()
}

func TestLogged_WhatTheLogCannotProveStopsThePartition(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 5))
	m.checkpointNow(id)
	m.must(m.put(id, 6, 5))
	m.must(m.put(id, 11, 5))
	removeLog := func(disk *vfs.Mem) {
		if err := disk.RemoveAll("/data/wal"); err != nil {
			t.Fatal(err)
		}
	}
	var missing *MissingLogError
	m.fencedBy(t, id, &missing, removeLog)
	var damaged *DamagedLogError
	m.fencedBy(t, id, &damaged, func(disk *vfs.Mem) {
		f, err := disk.OpenFile("/data/wal/shard-0/00000000000000000001.wal", vfs.ReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		content := make([]byte, 64<<10)
		if _, err := f.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var prepares []int // where they begin
		for at := 4096; at < len(content); at += 64 {
			if string(content[at:at+4]) == "GWRC" && content[at+4] == byte(wal.KindPrepare) {
				prepares = append(prepares, at)
			}
		}
		// Behind the checkpoint, and a later record knows that it was synced.
		at := prepares[len(prepares)-2] + 100
		_, err = f.WriteAt([]byte{content[at] ^ 0x10}, int64(at))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	})
	var behind *segment.ShortError
	m.fencedBy(t, id, &behind, func(disk *vfs.Mem) {
		f, err := disk.OpenFile(m.n.partitionDir(id)+"/"+segment.LogName(0), vfs.ReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(10), f.Close()); err != nil {
			t.Fatal(err)
		}
	})
	m.close()
}

// A log may say itself that records of a partition were lost.
func TestLogged_AMarkOfLossStopsThePartition(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 5))
	m.checkpointNow(id)
	var damaged *DamagedLogError
	m.fencedBy(t, id, &damaged, func(disk *vfs.Mem) {
		logs, err := shardlog.Scan(disk, "/data/wal", shardlog.Options{
			FileBytes: 64 << 10, RetainedBytes: 256 << 10, Random: m.rng.Uint64,
		})
		if err == nil {
			err = logs.Begin()
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := logs.Shard(0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Append([]shardlog.Record{{
			Kind: wal.KindLost, Group: id, Revision: m.rev, Body: shardlog.LossMark{Reason: 1}.AppendTo(nil), Sync: true,
		}})
		if err := errors.Join(err, logs.Close(true)); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.Is(damaged, errMarkedLost) {
		t.Fatalf("reason: %v", damaged)
	}
	m.close()
}

func TestLogged_ALogWithoutASuperblockIsEnough(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 5))
	for _, name := range []string{"superblock.a", "superblock.b"} {
		if err := m.disk.Remove(m.n.partitionDir(id) + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	m.crash(vfs.KillOnly)
	m.holds(id, 0, 0, 1, 5)
	m.must(m.put(id, 6, 1))
	m.crash(vfs.LoseUnsynced)
	m.holds(id, 0, 0, 1, 5)
	m.close()
}

// Data of a build that kept no log, and the way out that MissingLogError names.
func TestLogged_FilesOfAStopInOrderAreTakenAsTheyAre(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 5))
	m.must(m.storeOffset(id, 3, 2, false))
	m.close()
	if err := m.disk.RemoveAll("/data/wal"); err != nil {
		t.Fatal(err)
	}
	m.crash(vfs.LoseUnsynced)
	m.holds(id, 0, 0, 1, 5)
	if v, ok := m.storedOffset(id, 3); !ok || v != 2 {
		t.Fatalf("stored offset %d %v", v, ok)
	}
	if a := m.must(m.put(id, 6, 1)); a.base != 5 {
		t.Fatalf("minting goes on at %d", a.base)
	}
	m.crash(vfs.TearBytes)
	m.holds(id, 0, 0, 1, 6)
	m.close()
}

func TestLogged_ADeletedPartitionLeavesTheLog(t *testing.T) {
	m := newMachine(t, 1)
	m.durableTopic(0, 1)
	id := groupID(t, 0, 0)
	m.must(m.put(id, 1, 5))
	old := m.rev
	m.commit(protocol.OpDeleteStream, protocol.NumericID(0).Append(nil))
	m.durableTopic(0, 1)
	if m.rev == old {
		t.Fatal("the incarnation is the same")
	}
	if a := m.must(m.put(id, 50, 2)); a.base != 0 {
		t.Fatalf("the successor begins at %d", a.base)
	}
	m.crash(vfs.LoseUnsynced)
	m.holds(id, 0, 0, 50, 2)
	for _, g := range m.n.logs.Groups() {
		t.Errorf("the start is over and group %s is still known", g.Group)
	}
	m.close()
}

func TestLogged_RetentionWaitsForTheCheckpoint(t *testing.T) {
	m := newMachine(t, 1)
	m.limits = func(l *Limits) { l.WALFileBytes, l.WALRetainedBytes = 2<<20, 8<<20 }
	m.crash(vfs.KillOnly)
	m.durableTopic(0, 1, command.U64Option("segment_size", 1<<20), command.U64Option("message_expiry", 1_000_000))
	m.n.limits.RetentionTicks = ticksPerSecond
	id := groupID(t, 0, 0)
	for i := range uint64(4) {
		m.must(m.send(id, m.rev, record(t, 1+i, 1, 600<<10)))
	}
	m.advance(4 * ticksPerSecond)
	if v := m.serving(id).part.View(); v.Messages > 2 {
		t.Fatalf("%d messages are left", v.Messages)
	}
	m.crash(vfs.LoseUnsynced)
	m.serving(id)
	m.must(m.put(id, 9, 1))
	m.close()
}
