package node

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// What a start must make of a crash at every point that concerns one node, one subtest a row, on a whole node. In
// this file: append and flush, rotation, reservation and re-anchoring. In rows_offsets_test.go: the superblock as the
// checkpoint of a partition, stored offsets, purge. Rows of groups with peers and of the log of a shard are not here.
// Further tests of the same points, file by file: internal/segment/crash_test.go (every operation of append,
// creation, removal, re-anchoring and purge), internal/superblock (every operation of a write), rot_test.go (damage
// after the fact), internal/sim (whole lives from a seed).

// rowLease is the lease of the rows: a first batch of n messages reserves up to n + 100.
const rowLease = 100

func (l *life) fencedBy(kind segment.RefusalKind) {
	l.t.Helper()
	f := l.n.Fenced(l.id)
	var refusal *segment.Refusal
	if f == nil || !errors.As(f, &refusal) || refusal.Kind != kind {
		l.t.Fatalf("fence %v, want %s", f, kind)
	}
}

// read returns a file of the partition.
func (l *life) read(name string) []byte {
	l.t.Helper()
	b, err := vfs.ReadFile(l.disk, path.Join(l.dir(), name), 1<<30)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// onPath matches an operation of one kind on a file of the partition by the end of its name.
func onPath(kind vfs.OpKind, suffix string) func(vfs.Op) bool {
	return func(op vfs.Op) bool {
		return op.Kind == kind && strings.Contains(op.Path, "/partitions/0/") && strings.HasSuffix(op.Path, suffix)
	}
}

func TestCrash_AppendAndFlush(t *testing.T) {
	row := func(name string, run func(t *testing.T, l *life)) {
		t.Run(name, func(t *testing.T) { run(t, newLife(t, rowLease)) })
	}
	row("before anything is written: no offset is used beyond the block", func(t *testing.T, l *life) {
		l.dieAt(onPath(vfs.OpCreate, ".log"))
		if a := l.attempt(4, 10); l.answered(a) && a.code == 0 {
			t.Fatal("confirmed by a dead process")
		}
		l.crash(vfs.LoseUnsynced)
		l.holds()
		l.put(104, 1)
	})
	for _, mode := range vfs.CrashModes {
		row("written, not acknowledged: found or not, never at another offset: "+mode.String(), func(t *testing.T, l *life) {
			l.put(0, 2)
			l.dieAt(onPath(vfs.OpWrite, ".log"))
			l.attempt(3, 200)
			l.crash(mode)
			found, _ := l.dump()
			for offset, id := range found {
				if id != offset+1 {
					t.Fatalf("offset %d holds message %d", offset, id)
				}
			}
			l.put(102, 1)
		})
	}
	row("acknowledged, process killed: everything is there", func(t *testing.T, l *life) {
		for i := range uint64(5) {
			l.put(i, 1)
		}
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 4})
		l.chain([]uint64{0, 101}, []uint64{101})
		l.put(101, 1)
	})
	row("acknowledged, power lost, default topic: the end may be gone, its offsets stay used", func(t *testing.T, l *life) {
		l.put(0, 2)
		l.writeback(segment.LogName(0))
		l.put(2, 2)
		l.crash(vfs.LoseUnsynced)
		l.holds([2]uint64{0, 1})
		l.chain([]uint64{0, 102}, []uint64{102})
		l.put(102, 1)
	})
	t.Run("acknowledged, power lost, enforce_fsync: everything is there", func(t *testing.T) {
		l := newLife(t, rowLease, command.BoolOption("enforce_fsync", true))
		for i := range uint64(5) {
			l.put(i, 1)
		}
		l.crash(vfs.LoseUnsynced)
		l.holds([2]uint64{0, 4})
		if base, _ := l.try(1, 10); base < 5 {
			t.Fatalf("offset %d was issued before", base)
		}
	})
	row("log written in part: cut to the last whole batch", func(t *testing.T, l *life) {
		l.put(0, 2)
		whole := len(mustRead(t, l))
		l.put(2, 3)
		log := l.read(segment.LogName(0))
		for cut := whole; cut < len(log); cut += 7 {
			one := l.twin()
			disk := l.disk.CrashClone(newRand(1), vfs.KillOnly)
			l.damage(disk, segment.LogName(0), log[:cut])
			one.stepRig = nil
			one.boot(t, disk)
			one.holds([2]uint64{0, 1})
			if got := len(one.read(segment.LogName(0))); got != whole {
				t.Fatalf("cut at %d: the log is %d bytes long, want %d", cut, got, whole)
			}
		}
	})
	row("log complete, index missing: the index is built anew", func(t *testing.T, l *life) {
		l.strides()
		index := l.indexOf()
		l.damage(l.disk, segment.IndexName(0), nil)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 9})
		l.indexIs(index)
	})
	row("index entry written in part: cut to whole entries", func(t *testing.T, l *life) {
		l.strides()
		index := l.indexOf()
		l.damage(l.disk, segment.IndexName(0), append(slices.Clone(index), index[:11]...))
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 9})
		l.indexIs(index)
	})
	row("index ahead of the log: entries behind its end are dropped", func(t *testing.T, l *life) {
		l.strides()
		index := l.indexOf()
		log := l.read(segment.LogName(0))
		l.damage(l.disk, segment.IndexName(0), index)
		l.damage(l.disk, segment.LogName(0), log[:len(log)/2])
		l.crash(vfs.KillOnly)
		found, _ := l.dump()
		if len(found) == 0 || len(found) >= 10 || len(l.indexOf()) >= len(index) {
			t.Fatalf("%s served with %d bytes of index, %d before", spans(found), len(l.indexOf()), len(index))
		}
	})
	row("index could not be written: the batches are kept", func(t *testing.T, l *life) {
		broken := errors.New("device")
		l.disk.SetHook(func(op vfs.Op) error {
			if onPath(vfs.OpWrite, ".index")(op) {
				return broken
			}
			return nil
		})
		l.strides()
		l.n.exec.Submit(l.group().lane, func() { _ = l.group().files.active.FlushIndex() })
		l.settle()
		l.disk.SetHook(nil)
		if n := len(l.read(segment.IndexName(0))); n >= 5*segment.IndexEntrySize {
			t.Fatal("the index was written: the row shows nothing")
		}
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 9})
	})
	row("a hole inside the log, written out of order: fenced, files left", func(t *testing.T, l *life) {
		l.strides()
		log := l.read(segment.LogName(0))
		clear(log[len(log)/2 : len(log)/2+4096])
		l.damage(l.disk, segment.LogName(0), log)
		l.crash(vfs.KillOnly)
		l.fencedBy(segment.InteriorDamage)
		if !slices.Equal(l.read(segment.LogName(0)), log) {
			t.Error("the log was changed")
		}
	})
	t.Run("during the sync of a stop: the reservation stands, nothing is reused", func(t *testing.T) {
		for n := uint64(1); ; n++ {
			l := newLife(t, rowLease)
			for i := range uint64(4) {
				l.put(i, 1)
			}
			from := l.disk.Ops()
			died := l.dieAt(func(op vfs.Op) bool { return op.Number-from == n })
			_ = l.n.Close() // it dies on the way
			if !died() {
				return
			}
			for _, mode := range vfs.CrashModes {
				one := l.twin()
				one.crash(mode)
				if f := one.n.Fenced(l.id); f != nil {
					t.Fatalf("operation %d, %s: %v", n, mode, f)
				}
				if base, _ := one.try(1, 10); base < 4 {
					t.Fatalf("operation %d, %s: offset %d is issued again", n, mode, base)
				}
			}
		}
	})
}

func mustRead(t *testing.T, l *life) []byte {
	t.Helper()
	return l.read(segment.LogName(0))
}

// strides writes ten messages over several strides of the index.
func (l *life) strides() {
	l.t.Helper()
	for i := range uint64(10) {
		if base, code := l.try(1, 40_000); base != i || code != 0 {
			l.t.Fatal(base, code)
		}
	}
}

// indexOf returns the index of the first segment as its file holds it.
func (l *life) indexOf() []byte {
	if g := l.group(); g.files.active != nil && g.files.active.Start() == 0 {
		_ = g.files.active.FlushIndex()
	}
	return l.read(segment.IndexName(0))
}

func (l *life) indexIs(want []byte) {
	l.t.Helper()
	if got := l.read(segment.IndexName(0)); !slices.Equal(got, want) {
		l.t.Fatalf("index of %d bytes, want %d", len(got), len(want))
	}
}

func TestCrash_Rotation(t *testing.T) {
	// full has one batch fill the first segment; the process dies at the given point of making the next.
	full := func(t *testing.T, match func(vfs.Op) bool) *life {
		l := newLife(t, rowLease)
		l.put(0, 1)
		l.group().part.SetOptions(partition.Options{SegmentBytes: 1000})
		l.writeback(segment.LogName(0))
		if match != nil {
			died := l.dieAt(match)
			if l.attempt(1, 1000); !died() {
				t.Fatal("the process lives: the row shows nothing")
			}
			return l
		}
		if _, code := l.try(1, 1000); code != 0 {
			t.Fatal(code)
		}
		return l
	}
	for _, mode := range killAndPowerLoss {
		t.Run("full, the next segment not made: the full one is kept and left behind: "+mode.String(), func(t *testing.T) {
			l := full(t, onPath(vfs.OpCreate, segment.LogName(2)))
			l.crash(mode)
			l.chain([]uint64{0, 101}, []uint64{101})
			l.put(101, 1)
		})
		t.Run("log of the next segment made, its index not: an empty end, removed for an anchored one: "+mode.String(), func(t *testing.T) {
			l := full(t, onPath(vfs.OpCreate, segment.IndexName(2)))
			l.crash(mode)
			l.chain([]uint64{0, 101}, []uint64{101})
			l.put(101, 1)
		})
	}
	t.Run("index of the next segment made, its log not: the index is swept", func(t *testing.T) {
		l := full(t, nil)
		l.damage(l.disk, segment.LogName(2), nil)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 1})
		l.chain([]uint64{0, 101}, []uint64{101})
		if names := l.names(".index"); len(names) != 2 {
			t.Errorf("indexes %v", names)
		}
	})
	t.Run("both made, their names lost: as if they had not been", func(t *testing.T) {
		l := full(t, nil)
		l.damage(l.disk, segment.LogName(2), nil)
		l.damage(l.disk, segment.IndexName(2), nil)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 1})
		l.put(101, 1)
	})
	t.Run("data in the next segment, the end of the full one lost: fenced", func(t *testing.T) {
		l := full(t, nil)
		if _, code := l.try(1, 10); code != 0 {
			t.Fatal(code)
		}
		log := l.read(segment.LogName(0))
		l.damage(l.disk, segment.LogName(0), log[:len(log)-500])
		l.crash(vfs.KillOnly)
		l.fencedBy(segment.Hole)
		if got := l.read(segment.LogName(0)); len(got) != len(log)-500 {
			t.Error("the log was changed")
		}
	})
	t.Run("full, the next one empty, the reservation above: the empty one goes, an anchored one comes", func(t *testing.T) {
		l := full(t, nil)
		l.chain([]uint64{0, 2}, nil)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 1})
		l.chain([]uint64{0, 101}, []uint64{101})
		l.anchorIs(segment.Anchor{PlantedStart: 101, SealedStart: 0, SealedEnd: 1})
	})
}

func TestCrash_ReservationAndReanchoring(t *testing.T) {
	slot := func(kind vfs.OpKind) func(vfs.Op) bool {
		return func(op vfs.Op) bool {
			if kind == vfs.OpSyncDir {
				return op.Kind == kind && strings.HasSuffix(op.Path, "/partitions/0")
			}
			return op.Kind == kind && strings.Contains(op.Path, "/partitions/0/superblock")
		}
	}
	// claims uses the block up, so that the next batch needs a claim, in which the process dies.
	claims := func(t *testing.T, match func(vfs.Op) bool) *life {
		l := newLife(t, rowLease)
		l.limit = func(o *Limits) { o.ReservationMax = 1 }
		l.restart()
		l.put(0, 4)
		l.put(4, 87) // 13 left: an eighth of the lease is 12
		l.writeback(segment.LogName(0))
		died := l.dieAt(match)
		if a := l.attempt(50, 10); l.answered(a) && a.code == 0 || !died() {
			t.Fatalf("confirmed without a claim, or alive: %v", died())
		}
		return l
	}
	for _, mode := range vfs.CrashModes {
		t.Run("before the slot is renamed: the record before, and nothing above it was given out: "+mode.String(), func(t *testing.T) {
			l := claims(t, slot(vfs.OpRename))
			l.crash(mode)
			l.holds([2]uint64{0, 90})
			l.reserved(0, 104)
			l.put(104, 1)
		})
		t.Run("renamed, the directory not synced: either record: "+mode.String(), func(t *testing.T) {
			l := claims(t, slot(vfs.OpSyncDir))
			l.crash(mode)
			l.holds([2]uint64{0, 90})
			if base, _ := l.try(1, 10); base != 104 && base != 241 {
				t.Fatalf("offset %d", base)
			}
		})
		t.Run("claimed, nothing appended: at most one block is wasted: "+mode.String(), func(t *testing.T) {
			l := claims(t, onPath(vfs.OpWrite, ".log"))
			l.crash(mode)
			l.reserved(91, 241)
			if base, _ := l.try(1, 10); base != 241 {
				t.Fatalf("offset %d", base)
			}
		})
	}
	t.Run("slot torn by the device: fenced, never taken for fresh", func(t *testing.T) {
		l := newLife(t, rowLease)
		l.put(0, 4)
		record := l.read("superblock.a")
		clear(record[len(record)/2:])
		l.damage(l.disk, "superblock.a", record)
		l.crash(vfs.KillOnly)
		var unreadable *superblock.UnreadableError
		if f := l.n.Fenced(l.id); f == nil || !errors.As(f, &unreadable) {
			t.Fatalf("fence %v", f)
		}
	})
	// dieStarting has a start die at its n-th file operation in the partition, from an image with an empty last
	// segment below the ceiling.
	dieStarting := func(t *testing.T, rowName string, at func(op vfs.Op) bool) {
		t.Run(rowName, func(t *testing.T) {
			for _, mode := range vfs.CrashModes {
				l := newLife(t, rowLease)
				l.put(0, 1)
				l.group().part.SetOptions(partition.Options{SegmentBytes: 1000})
				if _, code := l.try(1, 1000); code != 0 { // fills the segment: an empty one follows
					t.Fatal(code)
				}
				l.writeback(append(l.logs(), l.names(".index")...)...)
				first := l.disk.CrashClone(newRand(1), vfs.LoseUnsynced)
				died := false
				l.dying = true
				first.SetHook(func(op vfs.Op) error {
					if died || at(op) {
						died = true
						return vfs.ErrCrashed
					}
					return nil
				})
				openDying(first)
				if !died {
					t.Fatal("the start lives: the row shows nothing")
				}
				l.disk = first
				l.crash(mode)
				l.holds([2]uint64{0, 1})
				l.chain([]uint64{0, 101}, []uint64{101})
				l.anchorIs(segment.Anchor{PlantedStart: 101, SealedStart: 0, SealedEnd: 1})
				l.crash(mode)
				l.chain([]uint64{0, 101}, []uint64{101})
				l.put(101, 1)
			}
		})
	}
	removed := false
	dieStarting(t, "start: empty last segment unlinked, nothing planted: done again", func(op vfs.Op) bool {
		was := removed
		removed = onPath(vfs.OpRemove, segment.LogName(2))(op)
		return was
	})
	dieStarting(t, "start: anchor written, its segment not: the anchor is swept and written again", onPath(vfs.OpCreate, segment.LogName(101)))
	t.Run("start: planted, nothing appended: nothing to do", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			l := newLife(t, rowLease)
			l.put(0, 1)
			l.writeback(segment.LogName(0))
			l.crash(vfs.KillOnly)
			l.crash(mode)
			l.holds([2]uint64{0, 0})
			l.chain([]uint64{0, 101}, []uint64{101})
			l.reserved(0, 101)
		}
	})
	t.Run("second crash with data in the planted segment: the gap stands, the next one gets its own anchor", func(t *testing.T) {
		l := newLife(t, rowLease)
		l.put(0, 1)
		l.crash(vfs.KillOnly)
		l.put(101, 3)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 0}, [2]uint64{101, 103})
		l.chain([]uint64{0, 101, 204}, []uint64{101, 204})
		l.anchorIs(segment.Anchor{PlantedStart: 204, SealedStart: 101, SealedEnd: 103})
		l.put(204, 1)
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, 0}, [2]uint64{101, 103}, [2]uint64{204, 204})
	})
	t.Run("stop: synced, the reservation not given back: a gap of at most a block", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			l := newLife(t, rowLease)
			l.put(0, 4)
			l.dieAt(slot(vfs.OpCreate))
			_ = l.n.Close()
			l.crash(mode)
			l.holds([2]uint64{0, 3})
			l.put(104, 1)
		}
	})
	t.Run("stop: given back, killed before the exit: goes on exactly there", func(t *testing.T) {
		for _, mode := range vfs.CrashModes {
			l := newLife(t, rowLease)
			l.put(0, 4)
			if err := l.n.Close(); err != nil {
				t.Fatal(err)
			}
			l.crash(mode)
			l.holds([2]uint64{0, 3})
			l.put(4, 1)
		}
	})
}
