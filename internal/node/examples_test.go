package node

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// The worked examples of the offset reservation, with the default lease of 65,536: each after the process was
// killed, where everything acknowledged must be there, and after a loss of power, where the part that reached the
// disk is served and minting begins at the ceiling. Example K, of a topic that syncs into the log of its shard, is
// where that log is tested.

var killAndPowerLoss = []vfs.CrashMode{vfs.KillOnly, vfs.LoseUnsynced}

func inBothWays(t *testing.T, run func(t *testing.T, mode vfs.CrashMode)) {
	for _, mode := range killAndPowerLoss {
		t.Run(mode.String(), func(t *testing.T) { run(t, mode) })
	}
}

// writeback has the kernel write the named files of the partition, and the names in its directories.
func (l *life) writeback(names ...string) {
	l.t.Helper()
	for _, name := range names {
		f, err := l.disk.OpenFile(path.Join(l.dir(), name), vfs.ReadWrite)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		for at := path.Dir(name); at != "." && err == nil; at = path.Dir(at) {
			err = l.disk.SyncDir(path.Join(l.dir(), at))
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	if err := l.disk.SyncDir(l.dir()); err != nil {
		l.t.Fatal(err)
	}
}

// writes checks how many records the superblock of the partition has seen.
func (l *life) writes(want uint64) {
	l.t.Helper()
	if got := l.group().block.store.Sequence(); got != want {
		l.t.Fatalf("superblock written %d times, want %d", got, want)
	}
}

// ends checks the highest offset that clients are told of, and whether there is any.
func (l *life) ends(current uint64, seeded bool) {
	l.t.Helper()
	if s := l.n.PartitionStats(l.id, l.rev, l.generation()); s.CurrentOffset != current || s.Seeded != seeded {
		l.t.Fatalf("current offset %d %v, want %d %v", s.CurrentOffset, s.Seeded, current, seeded)
	}
}

// anchorIs checks what an anchor allows.
func (l *life) anchorIs(want segment.Anchor) {
	l.t.Helper()
	if a, ok, err := segment.ReadAnchor(l.disk, l.dir(), want.PlantedStart); !ok || err != nil || a != want {
		l.t.Fatalf("anchor %+v %v %v, want %+v", a, ok, err, want)
	}
}

// next polls one message behind the stored offset of a consumer.
func (l *life) nextOf(consumer uint32) (offset uint64, found bool) {
	l.t.Helper()
	return l.pollOne(partition.Query{Strategy: partition.FromNext, Key: partition.ConsumerKey{Kind: partition.KindConsumer, ID: consumer}, Count: 1})
}

func (l *life) pollOne(q partition.Query) (offset uint64, found bool) {
	l.t.Helper()
	var out PollResult
	defer out.Release()
	code := l.n.Poll(&PollRequest{Group: l.id, Revision: l.rev, PurgeGeneration: l.generation(), MaxBytes: 1 << 20, Query: q}, &out)
	if code != protocol.Success {
		l.t.Fatal(code)
	}
	return out.First, out.Count > 0
}

// exampleA is a first life that ends badly: four messages reached the disk, six more were acknowledged.
func exampleA(t *testing.T, mode vfs.CrashMode) (l *life, end uint64) {
	t.Helper()
	l = newLife(t, 0)
	l.put(0, 4)
	l.reserved(0, 65_540)
	l.writeback(segment.LogName(0))
	for offset := uint64(4); offset <= 9; offset++ {
		l.put(offset, 1)
	}
	l.writes(1)
	l.crash(mode)
	if mode == vfs.KillOnly {
		return l, 9
	}
	return l, 3
}

func TestReservation_ExampleA(t *testing.T) {
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		l, end := exampleA(t, mode)
		l.holds([2]uint64{0, end})
		l.ends(end, true)
		l.chain([]uint64{0, 65_540}, []uint64{65_540})
		l.anchorIs(segment.Anchor{PlantedStart: 65_540, SealedStart: 0, SealedEnd: end})
		l.put(65_540, 1)
		if offset, found := l.pollOne(partition.Query{Strategy: partition.FromOffset, Value: 10, Count: 1}); !found || offset != 65_540 {
			t.Errorf("a consumer that has seen 9 and asks for 10 is led to %d %v", offset, found)
		}
		l.crash(vfs.KillOnly)
		l.holds([2]uint64{0, end}, [2]uint64{65_540, 65_540})
	})
}

func TestReservation_ExampleB(t *testing.T) {
	for _, what := range []string{"killed", "power lost", "power lost, the name of the log is there"} {
		t.Run(what, func(t *testing.T) {
			l := newLife(t, 0)
			for offset := range uint64(3) {
				l.put(offset, 1)
			}
			l.reserved(0, 65_537)
			if what == "killed" {
				l.crash(vfs.KillOnly)
				l.holds([2]uint64{0, 2})
				l.chain([]uint64{0, 65_537}, []uint64{65_537})
				l.put(65_537, 1)
				return
			}
			if what != "power lost" {
				l.writeback() // the directory alone
			}
			l.crash(vfs.LoseUnsynced)
			l.holds()
			l.ends(0, false)
			l.chain([]uint64{65_537}, nil)
			if code := l.store(1, 0); code != protocol.CodeInvalidOffset {
				t.Errorf("a store in a partition without messages is answered %v", code)
			}
			l.put(65_537, 1)
			l.ends(65_537, true)
			if code := l.store(1, 65_537); code != protocol.Success {
				t.Errorf("a store behind the first commit is answered %v", code)
			}
			l.crash(vfs.KillOnly)
			l.holds([2]uint64{65_537, 65_537})
		})
	}
}

func TestReservation_ExampleC(t *testing.T) {
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		l, end := exampleA(t, mode)
		for range 3 {
			l.crash(mode)
			l.reserved(0, 65_540)
			l.holds([2]uint64{0, end})
			l.chain([]uint64{0, 65_540}, []uint64{65_540})
		}
		l.put(65_540, 1)
	})
}

func TestReservation_ExampleD(t *testing.T) {
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		l, end := exampleA(t, mode)
		for offset := uint64(65_540); offset <= 65_549; offset++ {
			l.put(offset, 1)
		}
		l.restart()
		l.reserved(65_550, 65_550)
		l.holds([2]uint64{0, end}, [2]uint64{65_540, 65_549})
		l.chain([]uint64{0, 65_540}, []uint64{65_540})
		l.put(65_550, 1)
	})
}

func TestReservation_ExampleE(t *testing.T) {
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		l, end := exampleA(t, mode)
		for range 2 {
			l.restart()
			l.writes(1)
			l.reserved(0, 65_540)
		}
		l.holds([2]uint64{0, end})
		l.put(65_540, 1)
	})
}

// A batch above the whole reservation is claimed in one write. A batch of so many messages also makes the lease
// grow, to 1,024 such batches or its limit of 16,777,216, unless the limit is lower.
func TestReservation_ExampleF(t *testing.T) {
	for leaseMax, ceiling := range map[uint64]uint64{1: 265_537, 0: 200_001 + 16_777_216} {
		inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
			l := newLife(t, 0)
			l.limit = func(o *Limits) { o.ReservationMax = leaseMax }
			l.restart()
			l.put(0, 4)
			l.reserved(0, 65_540)
			if base, code := l.try(199_997, 1); base != 4 || code != protocol.Success {
				t.Fatal(base, code)
			}
			l.writes(2)
			l.reserved(4, ceiling)
			l.writeback(segment.LogName(0))
			l.crash(mode)
			l.holds([2]uint64{0, 200_000})
			l.put(ceiling, 1)
		})
	}
}

// upTo mints up to and excluding offset, in batches that do not count as large.
func (l *life) upTo(offset uint64) {
	l.t.Helper()
	for next := l.group().part.MintFrontier(); next < offset; next = l.group().part.MintFrontier() {
		l.put(next, int(min(255, offset-next)))
	}
}

func TestReservation_ExampleG(t *testing.T) {
	for name, broken := range map[string]error{"error of the device": syscall.EIO, "no space": syscall.ENOSPC} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, 0)
			l.put(0, 4)
			tries := 0
			l.disk.SetHook(func(op vfs.Op) error {
				if strings.Contains(op.Path, "partitions/0/superblock") {
					tries++
					return broken
				}
				return nil
			})
			l.upTo(57_340)
			l.clock.ticks += 2 * ticksPerSecond
			for l.group().part.MintFrontier() < 65_539 { // the extension fails, unnoticed but for a full disk
				if _, code := l.try(1, 10); code != protocol.Success && !errors.Is(broken, syscall.ENOSPC) {
					t.Fatal(code)
				}
				l.clock.ticks += 1
			}
			if tries == 0 {
				t.Fatal("nobody tried to extend the reservation")
			}
			l.reserved(0, 65_540)
			before := tries
			if _, code := l.try(2, 10); code != protocol.CodeTransientNotAccepted {
				t.Fatalf("a batch that ends at the ceiling is answered %v", code)
			}
			if n := tries - before; n > 12 {
				t.Errorf("%d tries within a second", n)
			}
			l.advance(ticksPerSecond + 1) // a full disk is looked at every second
			base, code := l.try(1, 10)
			if errors.Is(broken, syscall.EIO) && (code != protocol.Success || base != 65_539) {
				t.Fatalf("a batch below the ceiling: offset %d, code %v", base, code)
			}
			at := l.group().part.MintFrontier()
			l.disk.SetHook(nil)
			l.advance(2 * ticksPerSecond)
			l.put(at, 2)
			l.crash(vfs.KillOnly)
			l.holds([2]uint64{0, at + 1})
		})
	}
}

// A group with peers reserves nothing and heeds no reservation that it finds: the next offset follows from its log.
func TestReservation_ExampleH(t *testing.T) {
	p := partition.New(partition.Config{Replicas: 3})
	if !p.Covers(1<<40) || p.WantsExtension() {
		t.Error("a group with peers wants a reservation")
	}
	if _, needed := p.CollapseClaim(); needed {
		t.Error("a group with peers gives a reservation back")
	}
	out := p.Restore(partition.Recovered{
		Segments: []partition.Segment{{End: 9, Size: 100}}, Claim: partition.Claim{Frontier: 4, Reserved: 65_540},
	})
	if p.MintFrontier() != 10 || out.Replant {
		t.Errorf("next offset %d, replant %v", p.MintFrontier(), out.Replant)
	}
}

// A purge gives everything back before it unlinks anything. Whatever a crash leaves of it, the purge runs again
// before anything is served, and offsets begin at 0.
func TestReservation_ExampleI(t *testing.T) {
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		ended := false
		for n := uint64(1); !ended; n++ {
			l, _ := exampleA(t, mode)
			l.put(65_540, 1)
			l.writeback(l.logs()...)
			from := l.disk.Ops()
			l.disk.SetHook(func(op vfs.Op) error {
				if op.Kind == vfs.OpRemove && strings.HasSuffix(op.Path, ".log") {
					l.givenBack()
				}
				if op.Number-from == n+metadataOps && strings.Contains(op.Path, "partitions") {
					return vfs.ErrCrashed
				}
				return nil
			})
			l.purgeTopic()
			ended = l.disk.Ops()-from < n+metadataOps
			dead := l.disk.CrashClone(rand.New(rand.NewPCG(n, 1)), mode)
			l.boot(t, dead)
			l.settle()
			l.holds()
			l.ends(0, false)
			l.reserved(0, 0)
			l.chain([]uint64{0}, nil)
			l.put(0, 1)
		}
	})
}

// metadataOps are the file operations of the commit that orders a purge.
const metadataOps = 4

// givenBack checks that the superblock on the device says that no offset was given out.
func (l *life) givenBack() {
	l.t.Helper()
	disk := l.disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced)
	store, outcome, err := superblock.Open(disk, l.dir())
	if state, _ := store.State(); err != nil || outcome != superblock.Present || state.OffsetFrontier+state.OffsetReserved != 0 {
		l.t.Errorf("unlinked while the superblock says %+v (%s, %v)", state, outcome, err)
	}
}

func TestReservation_ExampleJ(t *testing.T) {
	begin := func(t *testing.T) *life {
		l := newLife(t, 0)
		l.put(0, 4)
		l.reserved(0, 65_540)
		l.clock.ticks += 2 * claimLastsTicks
		l.upTo(57_348)
		l.writes(1)
		return l
	}
	// crossing mints 57,348 and leaves the claim that follows undone.
	crossing := func(l *life) {
		a := l.send(l.id, l.rev, record(l.t, l.next, 1, 10))
		l.acked[57_348] = l.next
		l.next++
		l.n.Pass(0)
		if !l.answered(a) || a.base != 57_348 || len(l.exec.tasks) != 1 {
			l.t.Fatalf("answered %v, offset %d, %d tasks", l.answered(a), a.base, len(l.exec.tasks))
		}
	}
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		t.Run("killed before the claim is renamed", func(t *testing.T) {
			l := begin(t)
			crossing(l)
			l.writeback(segment.LogName(0))
			l.crash(mode)
			l.holds([2]uint64{0, 57_348})
			l.put(65_540, 1) // a gap of 8,191
		})
		t.Run("killed right after the claim", func(t *testing.T) {
			l := begin(t)
			crossing(l)
			l.settle()
			l.writes(2)
			l.reserved(57_349, 122_885)
			l.writeback(segment.LogName(0))
			l.crash(mode)
			l.holds([2]uint64{0, 57_348})
			l.put(122_885, 1) // a gap of 65,536, one block
		})
		t.Run("appends go on under the old ceiling", func(t *testing.T) {
			l := begin(t)
			crossing(l)
			for next := uint64(57_349); next < 65_540; {
				count := min(255, 65_540-next)
				a := l.send(l.id, l.rev, record(t, l.next, int(count), 10))
				for i := range count {
					l.acked[next+i] = l.next + i
				}
				l.next += count
				l.n.Pass(0)
				if !l.answered(a) || a.code != protocol.Success || a.base != next {
					t.Fatalf("offset %d: answered %v, code %v", next, l.answered(a), a.code)
				}
				next += count
			}
			l.writes(1)
			beyond := l.send(l.id, l.rev, record(t, l.next, 1, 10))
			if l.n.Pass(0); l.answered(beyond) {
				t.Fatal("an append passed the ceiling")
			}
			l.settle()
			if !l.answered(beyond) || beyond.base != 65_540 {
				t.Fatalf("after the claim: answered %v, offset %d", l.answered(beyond), beyond.base)
			}
		})
	})
	t.Run("the extension after it", func(t *testing.T) {
		l := begin(t)
		l.upTo(57_349)
		l.writes(2)
		l.reserved(57_349, 122_885)
		l.clock.ticks += 2 * claimLastsTicks
		l.upTo(114_693)
		l.writes(2)
		l.upTo(114_694)
		l.writes(3)
		l.reserved(114_694, 180_230)
	})
}

func TestReservation_ExampleL(t *testing.T) {
	inBothWays(t, func(t *testing.T, mode vfs.CrashMode) {
		l := newLife(t, 0)
		l.put(0, 4)
		l.writeback(segment.LogName(0))
		for offset := uint64(4); offset <= 9; offset++ {
			l.put(offset, 1)
		}
		for _, consumer := range []uint32{1, 2} {
			if code := l.store(consumer, 9); code != protocol.Success {
				t.Fatal(code)
			}
			l.writeback("offsets/consumers/" + fmt.Sprint(consumer))
		}
		l.crash(mode)
		end, reports := uint64(9), 0
		if mode == vfs.LoseUnsynced {
			end, reports = 3, 1
		}
		if n := bytes.Count(l.log.Bytes(), []byte("stored consumer offsets were above the end of the data")); n != reports {
			t.Errorf("reported %d times, want %d", n, reports)
		}
		if reports > 0 && !bytes.Contains(l.log.Bytes(), []byte("clamped=2")) {
			t.Errorf("the report does not say how many: %s", l.log)
		}
		if offset, found := l.stored(1); !found || offset != end {
			t.Errorf("stored offset %d %v, want %d", offset, found, end)
		}
		if offset, found := l.nextOf(1); found {
			t.Errorf("offset %d is served although nothing follows", offset)
		}
		l.put(65_540, 1)
		if offset, found := l.nextOf(1); !found || offset != 65_540 {
			t.Errorf("next is %d %v, want 65540", offset, found)
		}
	})
}
