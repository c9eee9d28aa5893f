package node

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// The two rows about a view that was changed and not written, or written and not sent, are of groups with peers: a
// node alone stays in view 0. What they need of the record is in internal/superblock.
func TestCrash_SuperblockAndStoredOffsets(t *testing.T) {
	t.Run("during the write of the other slot: the newest whole record counts", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			for step := range 5 { // create, write, sync, rename, sync of the directory
				l := newLife(t, rowLease)
				l.limit = func(o *Limits) { o.ReservationMax = 1 }
				l.restart()
				l.put(0, 4)
				at := 0
				died := l.dieAt(func(op vfs.Op) bool {
					if strings.Contains(op.Path, "superblock") || op.Kind == vfs.OpSyncDir && op.Path == l.dir() {
						at++
					}
					return at > step
				})
				if l.attempt(150, 10); !died() {
					t.Fatal("the process lives: the row shows nothing")
				}
				l.crash(mode)
				state, _ := l.group().block.store.State()
				if r := state.OffsetReserved; r != 104 && r != 254 || step < 3 && r != 104 {
					t.Fatalf("step %d, %s: reserved %d", step, mode, r)
				}
				if base, _ := l.try(1, 10); base != state.OffsetReserved {
					t.Fatalf("step %d, %s: offset %d, reserved %d", step, mode, base, state.OffsetReserved)
				}
			}
		}
	})
	// Stored offsets on both kinds of topic, killed or cut off at every file operation of a store.
	for _, fsync := range []bool{false, true} {
		t.Run(fmt.Sprintf("a store at every operation: the old value or the new one, enforce_fsync %v", fsync), func(t *testing.T) {
			for _, mode := range vfs.CrashModes {
				for n := uint64(1); ; n++ {
					l := newLife(t, rowLease, command.BoolOption("enforce_fsync", fsync))
					l.put(0, 10)
					l.mustStore(1, 3)
					l.writeback(append(l.logs(), "offsets/consumers/1")...)
					from := l.disk.Ops()
					died := l.dieAt(func(op vfs.Op) bool { return op.Number-from == n })
					answered := l.tryStore(1, 8)
					if !died() {
						break
					}
					l.crash(mode)
					got, found := l.stored(1)
					lost := !found && !fsync && mode != vfs.KillOnly // renamed, its content not yet written
					if !lost && (!found || got != 3 && got != 8) || answered && fsync && got != 8 {
						t.Fatalf("operation %d, %s: stored %d %v, answered %v", n, mode, got, found, answered)
					}
				}
			}
		})
	}
	t.Run("file emptied in place: the consumer starts over", func(t *testing.T) {
		l := newLife(t, rowLease)
		l.put(0, 4)
		l.mustStore(1, 3)
		l.damage(l.disk, "offsets/consumers/1", []byte{})
		l.crash(vfs.KillOnly)
		if got, found := l.stored(1); found {
			t.Fatalf("stored %d", got)
		}
		if offset, found := l.nextOf(1); !found || offset != 0 {
			t.Fatalf("next is %d %v", offset, found)
		}
		l.mustStore(1, 2)
		l.crash(vfs.KillOnly)
		if got, _ := l.stored(1); got != 2 {
			t.Fatalf("stored %d after it was written anew", got)
		}
	})
	t.Run("replacement written, not renamed: the old value, the replacement is ignored", func(t *testing.T) {
		l := newLife(t, rowLease)
		l.put(0, 4)
		l.mustStore(1, 3)
		l.dieAt(onPath(vfs.OpRename, "/consumers/1.tmp"))
		l.tryStore(1, 1)
		l.crash(vfs.KillOnly)
		if got, _ := l.stored(1); got != 3 {
			t.Fatalf("stored %d", got)
		}
	})
	t.Run("renamed, the directory not synced: either value", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			l := newLife(t, rowLease)
			l.put(0, 4)
			l.writeback(l.logs()...)
			l.mustStore(1, 3)
			l.writeback("offsets/consumers/1")
			l.mustStore(1, 1)
			l.crash(mode)
			if got, found := l.stored(1); found && got != 3 && got != 1 {
				t.Fatalf("%s: stored %d", mode, got)
			}
		}
	})
	t.Run("ahead of the data that survived: clamped to its end, dropped where there is none", func(t *testing.T) {
		for _, some := range []bool{true, false} {
			l := newLife(t, rowLease)
			l.put(0, 4)
			if some {
				l.writeback(segment.LogName(0))
			}
			l.put(4, 4)
			l.mustStore(1, 7)
			l.writeback("offsets/consumers/1")
			if !some {
				l.damage(l.disk, segment.LogName(0), []byte{})
			}
			l.crash(vfs.LoseUnsynced)
			if got, found := l.stored(1); found != some || some && got != 3 {
				t.Fatalf("stored %d %v", got, found)
			}
		}
	})
}

func (l *life) mustStore(consumer uint32, offset uint64) {
	l.t.Helper()
	if code := l.store(consumer, offset); code != protocol.Success {
		l.t.Fatal(code)
	}
}

// tryStore stores an offset in a process that may be dying and reports whether it was confirmed.
func (l *life) tryStore(consumer uint32, offset uint64) bool {
	a := l.storing(consumer, offset)
	l.settle()
	return l.answered(a) && a.code == protocol.Success
}

func TestCrash_Purge(t *testing.T) {
	// purging is a partition with data in three segments and a stored offset, whose purge is committed. The process
	// dies at the first operation that matches.
	purging := func(t *testing.T, match func(op vfs.Op) bool) *life {
		l := newLife(t, rowLease)
		l.put(0, 4)
		l.crash(vfs.KillOnly)
		l.put(104, 2)
		l.crash(vfs.KillOnly)
		l.put(206, 2)
		l.mustStore(1, 3)
		l.writeback(append(l.logs(), "offsets/consumers/1")...)
		l.chain([]uint64{0, 104, 206}, []uint64{104, 206})
		if match != nil {
			died := l.dieAt(match)
			if l.purgeTopic(); !died() {
				t.Fatal("the process lives: the row shows nothing")
			}
			return l
		}
		l.purgeTopic()
		return l
	}
	// again has the purge run once more and checks that nothing is left of what it removes.
	again := func(t *testing.T, l *life) {
		t.Helper()
		l.settle()
		l.holds()
		l.ends(0, false)
		l.chain([]uint64{0}, nil)
		if _, found := l.stored(1); found {
			t.Error("the stored offset is there")
		}
		if own, err := segment.ReadOwner(l.disk, l.dir()); err != nil || own.Generation != 1 || own.Stale {
			t.Errorf("owner %+v, %v", own, err)
		}
		l.put(0, 1)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 0})
	}
	inEveryMode := func(name string, match func(op vfs.Op) bool, found func(t *testing.T, l *life)) {
		t.Run(name, func(t *testing.T) {
			for _, mode := range vfs.CrashModes {
				l := purging(t, match)
				if found != nil {
					found(t, l)
				}
				l.crash(mode)
				again(t, l)
			}
		})
	}
	superblockIs := func(t *testing.T, l *life, given bool) {
		t.Helper()
		disk := l.disk.CrashClone(newRand(1), vfs.LoseUnsynced)
		store, outcome, err := superblock.Open(disk, l.dir())
		if state, _ := store.State(); err != nil || outcome != superblock.Present || (state.OffsetReserved == 0) != given {
			t.Fatalf("superblock %+v, %s, %v", state, outcome, err)
		}
	}
	inEveryMode("before the superblock says so: purged again", onPath(vfs.OpCreate, "superblock.b.tmp"),
		func(t *testing.T, l *life) { superblockIs(t, l, false) })
	inEveryMode("reservation given back, all segments there: purged again", onPath(vfs.OpRemove, segment.LogName(0)),
		func(t *testing.T, l *life) { superblockIs(t, l, true) })
	inEveryMode("some segments unlinked: the newer ones are left, purged again", onPath(vfs.OpRemove, segment.LogName(104)),
		func(t *testing.T, l *life) {
			for name := range filesBelow(t, l.disk.CrashClone(newRand(1), vfs.KillOnly), l.dir()) {
				if name == segment.LogName(0) {
					t.Fatal("the oldest segment is there")
				}
			}
		})
	inEveryMode("planted, not on record: purged again", func(op vfs.Op) bool { return strings.HasSuffix(op.Path, "/owner.tmp") }, nil)
	inEveryMode("on record: done, the copy of the record is written by the start", onPath(vfs.OpCreate, "purge.gen.tmp"), nil)
	t.Run("stored offsets are gone from the device before the purge is on record", func(t *testing.T) {
		l := purging(t, func(op vfs.Op) bool { return strings.HasSuffix(op.Path, "/owner.tmp") })
		disk := l.disk.CrashClone(newRand(1), vfs.LoseUnsynced)
		if found, err := segment.LoadOffsets(disk, l.dir(), segment.ConsumerOffset); err != nil || len(found) > 0 {
			t.Fatalf("stored offsets %v, %v", found, err)
		}
	})
	t.Run("a stored offset that cannot be unlinked: not on record, tried again", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			l := purging(t, onPath(vfs.OpCreate, "superblock.b.tmp"))
			broken := errors.New("device")
			survivor := l.disk.CrashClone(newRand(1), mode)
			survivor.SetHook(func(op vfs.Op) error {
				if onPath(vfs.OpRemove, "/consumers/1")(op) {
					return broken
				}
				return nil
			})
			l.boot(t, survivor)
			l.advance(3)
			if own, err := segment.ReadOwner(l.disk, l.dir()); err != nil || own.Generation != 0 {
				t.Fatalf("on record although a stored offset is there: %+v, %v", own, err)
			}
			dead := l.twin()
			dead.crash(mode)
			again(t, dead)
			l.disk.SetHook(nil)
			l.advance(3)
			again(t, l)
		}
	})
	t.Run("after it: nothing to do", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			l := purging(t, nil)
			l.put(0, 3)
			l.writeback(l.logs()...)
			l.crash(mode)
			l.holds([2]uint64{0, 2})
		}
	})
	t.Run("deleted and created anew, the directory of the predecessor is there: begins empty, with no purge applied", func(t *testing.T) {
		for _, mode := range killAndPowerLoss {
			l := newLife(t, rowLease)
			l.put(0, 2)
			l.purgeTopic()
			l.put(0, 4)
			l.writeback(l.logs()...)
			broken := errors.New("device")
			l.disk.SetHook(func(op vfs.Op) error {
				if op.Kind == vfs.OpRename && strings.HasSuffix(op.Path, "/partitions/0") {
					return broken
				}
				return nil
			})
			l.commit(protocol.OpDeleteStream, protocol.NumericID(0).Append(nil))
			was := l.rev
			l.rev, l.acked = l.newTopic(), map[uint64]uint64{}
			l.crash(mode)
			l.holds()
			l.put(0, 1)
			if own, err := segment.ReadOwner(l.disk, l.dir()); err != nil || own.Revision != l.rev || own.Generation != 0 {
				t.Fatalf("owner %+v, %v", own, err)
			}
			if _, err := l.disk.Stat(path.Join(fmt.Sprintf("%s.foreign.%d", l.dir(), was), segment.LogName(0))); err != nil {
				t.Fatalf("what was set aside: %v", err)
			}
		}
	})
}
