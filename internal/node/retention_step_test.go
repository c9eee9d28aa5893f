package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// smallSegments has every batch of 1,000 bytes fill a segment that expires after a second.
func (l *life) smallSegments() {
	l.group().part.SetOptions(partition.Options{SegmentBytes: 1000, ExpiryMicros: 1_000_000})
}

// fill writes count segments.
func (l *life) fill(count int) {
	l.t.Helper()
	for range count {
		if _, code := l.try(1, 1000); code != protocol.Success {
			l.t.Fatal(code)
		}
	}
}

// A hundred expired segments go within a few ticks, sixteen at a time, and the partition beside them is served all
// the while, in the same shard.
func TestRetention_AHundredSegmentsGoWithinTicksWhileOthersAreServed(t *testing.T) {
	l := newLife(t, 1000)
	l.commit(protocol.OpCreateStream, command.CreateStream{Name: []byte("other")}.Append(nil))
	otherRev := l.commit(protocol.OpCreateTopicWithAssignments, command.CreateTopicReplicated{
		CreateTopic: command.CreateTopic{Stream: protocol.NumericID(1), PartitionsCount: 1, Name: []byte("t")},
		Assignments: []command.Assignment{{}},
	}.Append(nil))
	other := groupID(t, 1, 0)
	l.put(0, 1)
	l.smallSegments()
	l.n.limits.RetentionTicks = 1 << 40
	l.fill(100)
	l.sent(other, otherRev, 1)
	if n := len(l.logs()); n != 101 {
		t.Fatalf("%d segments", n)
	}
	l.clock.ticks += 2 * ticksPerSecond
	l.n.limits.RetentionTicks = 1
	passes, served, most := 0, 0, 0
	before := len(l.logs())
	for start := l.clock.ticks; len(l.logs()) > 1; passes++ {
		if l.clock.ticks-start > 3 {
			t.Fatalf("%d segments are left after 3 ticks", len(l.logs()))
		}
		a := l.send(other, otherRev, record(t, 1, 1, 10))
		l.n.Pass(0)
		if l.answered(a) && a.code == protocol.Success {
			served++
		}
		if !l.exec.Help() {
			l.clock.ticks++
		}
		most = max(most, before-len(l.logs()))
		before = len(l.logs())
	}
	if most > 16 || passes < 100/16 || served < passes-1 {
		t.Errorf("%d passes, at most %d segments removed between two of them, %d sends to the other partition served", passes, most, served)
	}
	l.settle()
	l.holds()
	l.crash(vfs.LoseUnsynced)
	l.holds()
	l.try(1, 10)
}

// The cleaner comes as often as it is told to.
func TestRetention_TheIntervalIsTheConfiguredOne(t *testing.T) {
	for _, interval := range []uint64{7, 350} {
		l := newLife(t, 1000)
		l.put(0, 1)
		l.smallSegments()
		l.n.limits.RetentionTicks = interval
		l.advance(int(interval) + 1) // the first look, with nothing to do
		l.fill(2)
		looked := l.n.shards[0].clock.lastRetain
		l.clock.ticks = looked + interval - 1
		l.n.shards[0].groups[l.id].part.SetOptions(partition.Options{SegmentBytes: 1000, ExpiryMicros: 1})
		if l.settle(); len(l.logs()) != 3 {
			t.Errorf("interval %d: the cleaner came early: %v", interval, l.logs())
		}
		if l.advance(1); len(l.logs()) != 1 {
			t.Errorf("interval %d: the cleaner did not come: %v", interval, l.logs())
		}
		l.close()
	}
}

// DeleteSegments is not bound to one budget a second either.
func TestRetention_DeleteSegmentsGoesOnUntilDone(t *testing.T) {
	l := newLife(t, 1000)
	l.put(0, 1)
	l.group().part.SetOptions(partition.Options{SegmentBytes: 1000})
	l.fill(100)
	g := l.group()
	upTo, ok := g.part.EndOfOldest(90)
	if !ok {
		t.Fatal("no sealed segments")
	}
	g.setTruncate(upTo)
	l.n.shards[0].postControl(func(s *shard) { g.clean() })
	l.settle()
	if n := len(l.logs()); n != 11 {
		t.Errorf("%d segments are left", n)
	}
}

// Two removals are under way and the first fails: the second does not go past it, so that a crash leaves a chain
// without a hole, and both are finished later.
func TestRetention_ALaterRemovalWaitsForOneThatFailed(t *testing.T) {
	for _, mode := range vfs.CrashModes {
		t.Run(mode.String(), func(t *testing.T) {
			l := newLife(t, 1000)
			l.put(0, 1)
			l.group().part.SetOptions(partition.Options{SegmentBytes: 1000})
			l.fill(30)
			g := l.group()
			all := l.logs()
			broken := errors.New("device")
			l.disk.SetHook(func(op vfs.Op) error {
				if op.Kind == vfs.OpRemove && strings.HasSuffix(op.Path, all[3]) {
					return broken
				}
				return nil
			})
			l.n.shards[0].postControl(func(s *shard) { // both go to the lane before either has run
				g.part.Truncate(endOf(g, 6))
				s.touch(g)
			})
			l.n.Pass(0)
			l.n.shards[0].postControl(func(s *shard) {
				g.part.Truncate(endOf(g, 6))
				s.touch(g)
			})
			l.n.Pass(0)
			if len(l.exec.tasks) != 2 {
				t.Fatalf("%d tasks wait", len(l.exec.tasks))
			}
			l.settle()
			if got := l.logs(); !slices.Equal(got, all[3:]) {
				t.Fatalf("left %v", got)
			}
			dead := l.twin()
			dead.crash(mode)
			if f := dead.n.Fenced(l.id); f != nil {
				t.Fatal(f)
			}
			found, code := dead.dump()
			if code != protocol.Success {
				t.Fatal(code)
			}
			for offset, id := range found {
				if l.acked[offset] != id {
					t.Fatalf("offset %d is message %d, was %d", offset, id, l.acked[offset])
				}
			}
			l.disk.SetHook(nil)
			l.advance(2)
			if got := l.logs(); !slices.Equal(got, all[12:]) {
				t.Fatalf("left after the device came back: %v", got)
			}
			if own, err := segment.ReadOwner(l.disk, l.dir()); err != nil || fmt.Sprintf("%020d.log", own.First) != all[12] {
				t.Fatalf("owner %+v, %v", own, err)
			}
			l.crash(mode)
			if f := l.n.Fenced(l.id); f != nil {
				t.Fatal(f)
			}
		})
	}
}

func endOf(g *group, count uint32) uint64 {
	upTo, _ := g.part.EndOfOldest(count)
	return upTo
}
