package node

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// A purge begins with the superblock: while that cannot be written nothing is unlinked, and what was there is there
// after a crash. The purge goes on as soon as the record can be written.
func TestPurge_AFailingSuperblockChangesNothing(t *testing.T) {
	l := newLife(t, rowLease)
	l.put(0, 4)
	l.mustStore(1, 3)
	before := filesBelow(t, l.disk, l.dir())
	l.disk.SetHook(func(op vfs.Op) error {
		if strings.Contains(op.Path, "/partitions/0/superblock") {
			return syscall.EIO
		}
		return nil
	})
	l.purgeTopic()
	l.advance(3 * ticksPerSecond)
	after := filesBelow(t, l.disk, l.dir())
	maps.DeleteFunc(after, func(name string, _ []byte) bool { return strings.HasSuffix(name, ".tmp") })
	// The log may be closed, and its index be written with that.
	delete(before, segment.IndexName(0))
	delete(after, segment.IndexName(0))
	if !maps.EqualFunc(before, after, slices.Equal[[]byte]) {
		t.Errorf("files before %v, after %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	if _, code := l.try(1, 10); code != protocol.CodeTransientNotAccepted {
		t.Errorf("a send while a purge is outstanding is answered %v", code)
	}
	l.disk.SetHook(nil)
	l.advance(2 * ticksPerSecond)
	l.holds()
	l.put(0, 1)
}

// autoCommit polls count messages for a consumer, which stores how far it came.
func (l *life) autoCommit(consumer uint32, from uint64, count uint32) {
	l.t.Helper()
	key := partition.ConsumerKey{Kind: partition.KindConsumer, ID: consumer}
	var out PollResult
	defer out.Release()
	code := l.n.Poll(&PollRequest{
		Group: l.id, Revision: l.rev, PurgeGeneration: l.generation(), MaxBytes: 1 << 20, AutoCommit: true,
		Query: partition.Query{Strategy: partition.FromOffset, Value: from, Count: count, Key: key},
	}, &out)
	if code != protocol.Success || out.Count != count {
		l.t.Fatalf("poll: code %v, %d messages", code, out.Count)
	}
	l.settle()
}

// A poll that stores its own progress never lowers what is stored, before or after a restart; an explicit store does.
func TestOffsets_AutoCommitNeverLowersAndAStoreMay(t *testing.T) {
	l := newLife(t, rowLease)
	l.put(0, 10)
	want := func(offset uint64) {
		t.Helper()
		if got, found := l.stored(1); !found || got != offset {
			t.Fatalf("stored %d %v, want %d", got, found, offset)
		}
		onDisk, err := segment.LoadOffsets(l.disk, l.dir(), segment.ConsumerOffset)
		if err != nil || len(onDisk) != 1 || onDisk[0].Value != offset {
			t.Fatalf("on disk %+v, %v, want %d", onDisk, err, offset)
		}
	}
	l.autoCommit(1, 0, 5)
	want(4)
	l.autoCommit(1, 0, 2)
	want(4)
	l.crash(vfs.KillOnly)
	want(4)
	l.autoCommit(1, 0, 3) // the first touch after a start knows the file
	want(4)
	l.mustStore(1, 1)
	want(1)
	l.crash(vfs.KillOnly)
	want(1)
	l.autoCommit(1, 2, 6)
	want(7)
}

// A stored offset in the bare form of eight bytes counts; one that is torn or does not fit its checksum does not, is
// reported, and is written anew by the next store. Neither stops the partition.
func TestOffsets_FilesOfEveryForm(t *testing.T) {
	whole := segment.EncodeOffset(2)
	for name, c := range map[string]struct {
		content []byte
		counts  bool
	}{
		"checked": {whole[:], true}, "bare": {whole[:8], true}, "cut in the checksum": {whole[:13], true},
		"longer": {append(whole[:len(whole):len(whole)], 1, 2), true}, "torn": {whole[:5], false}, "empty": {[]byte{}, false},
		"rotted": {append([]byte{3}, whole[1:]...), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, rowLease)
			l.put(0, 4)
			l.mustStore(1, 2)
			l.damage(l.disk, "offsets/consumers/1", c.content)
			l.crash(vfs.KillOnly)
			if got, found := l.stored(1); found != c.counts || found && got != 2 {
				t.Fatalf("stored %d %v", got, found)
			}
			if said := strings.Contains(l.log.String(), "stored consumer offset dropped"); said == c.counts {
				t.Errorf("reported: %v", said)
			}
			l.mustStore(1, 3)
			l.crash(vfs.KillOnly)
			if got, found := l.stored(1); !found || got != 3 {
				t.Fatalf("after it was written anew: %d %v", got, found)
			}
		})
	}
}

// gapped holds 0 to 3 and 104 to 106 with a gap in between that an anchor allows.
func gapped(t *testing.T) *life {
	t.Helper()
	l := newLife(t, rowLease)
	for i := range uint64(4) {
		l.put(i, 1)
	}
	l.crash(vfs.KillOnly)
	for i := range uint64(3) {
		l.clock.ticks += 10
		l.put(101+i, 1)
	}
	l.chain([]uint64{0, 101}, []uint64{101})
	return l
}

// Polls by every strategy step over a gap, serve as many messages as there are, and none twice. From the files and
// from memory.
func TestPoll_OverAGapByEveryStrategy(t *testing.T) {
	for _, cold := range []bool{false, true} {
		l := gapped(t)
		all := []uint64{0, 1, 2, 3, 101, 102, 103}
		if cold {
			l.restart()
			for l.group().part.TailBytes() > 0 {
				l.group().part.TrimTail(0)
			}
		}
		micros := func(offset uint64) uint64 {
			for _, s := range l.group().part.View().Sealed {
				if offset == s.End {
					return s.MaxMicros
				}
			}
			t.Fatal("no such segment")
			return 0
		}
		check := func(what string, q partition.Query, want []uint64) {
			t.Helper()
			if got := l.offsetsOf(q); !slices.Equal(got, want) {
				t.Errorf("cold %v: %s: %v, want %v", cold, what, got, want)
			}
		}
		for from := uint64(0); from <= 105; from++ {
			for _, count := range []uint32{1, 2, 3, 7, 100} {
				i, _ := slices.BinarySearch(all, from)
				check("offset", partition.Query{Strategy: partition.FromOffset, Value: from, Count: count}, all[i:min(i+int(count), len(all))])
			}
		}
		for count := range uint32(9) {
			n := min(int(count), len(all))
			check("last", partition.Query{Strategy: partition.FromLast, Count: count}, all[len(all)-n:])
			check("first", partition.Query{Strategy: partition.FromFirst, Count: count}, all[:n])
		}
		key := partition.ConsumerKey{Kind: partition.KindConsumer, ID: 1}
		check("next of nobody", partition.Query{Strategy: partition.FromNext, Key: key, Count: 5}, all[:5])
		l.mustStore(1, 3)
		check("next behind the gap", partition.Query{Strategy: partition.FromNext, Key: key, Count: 5}, all[4:])
		check("time at the gap", partition.Query{Strategy: partition.FromTimestamp, Value: micros(3) + 1, Count: 5}, all[4:])
		check("time before the gap", partition.Query{Strategy: partition.FromTimestamp, Value: micros(3), Count: 3}, all[3:6])
	}
}

// offsetsOf returns the offsets that a poll serves.
func (l *life) offsetsOf(q partition.Query) []uint64 {
	l.t.Helper()
	var out PollResult
	defer out.Release()
	code := l.n.Poll(&PollRequest{Group: l.id, Revision: l.rev, PurgeGeneration: l.generation(), MaxBytes: 1 << 20, Query: q}, &out)
	if code != protocol.Success {
		l.t.Fatal(code)
	}
	found := map[uint64]uint64{}
	if out.Count > 0 {
		l.take(found, &out)
	}
	return slices.Sorted(maps.Keys(found))
}

// A poll that begins in bytes that cannot be read, or do not verify, is answered with a code and never with what lies
// behind them; what lies in front is served.
func TestPoll_BytesThatCannotBeServed(t *testing.T) {
	begin := func(t *testing.T) *life {
		l := gapped(t)
		l.restart()
		l.group().part.TrimTail(0)
		return l
	}
	poll := func(l *life, from uint64, count uint32) (int, protocol.Code) {
		var out PollResult
		defer out.Release()
		code := l.n.Poll(&PollRequest{Group: l.id, Revision: l.rev, MaxBytes: 1 << 20,
			Query: partition.Query{Strategy: partition.FromOffset, Value: from, Count: count}}, &out)
		return int(out.Count), code
	}
	t.Run("the device fails", func(t *testing.T) {
		l := begin(t)
		l.disk.SetReadHook(func(path string, _ int64, _ int) error {
			if strings.HasSuffix(path, segment.LogName(0)) {
				return syscall.EIO
			}
			return nil
		})
		if n, code := poll(l, 0, 100); n != 0 || code != protocol.CodeCannotReadMessage {
			t.Errorf("%d messages, code %v", n, code)
		}
		if n, code := poll(l, 101, 100); n != 3 || code != protocol.Success {
			t.Errorf("behind it: %d messages, code %v", n, code)
		}
		l.disk.SetReadHook(nil)
		if n, code := poll(l, 0, 100); n != 7 || code != protocol.Success {
			t.Errorf("once it reads again: %d messages, code %v", n, code)
		}
	})
	t.Run("a payload rotted", func(t *testing.T) {
		l := begin(t)
		log := l.read(segment.LogName(0))
		log[len(log)/2-1] ^= 1 // the end of the second of four records
		f, err := l.disk.OpenFile(l.dir()+"/"+segment.LogName(0), vfs.ReadWrite)
		if err == nil {
			_, err = f.WriteAt(log, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, code := poll(l, 0, 100); n != 1 || code != protocol.Success {
			t.Errorf("in front of it: %d messages, code %v", n, code)
		}
		if n, code := poll(l, 1, 100); n != 0 || code != protocol.CodeInvalidMessageChecksum {
			t.Errorf("at it: %d messages, code %v", n, code)
		}
		if n, code := poll(l, 2, 100); n != 5 || code != protocol.Success {
			t.Errorf("behind it: %d messages, code %v", n, code)
		}
	})
}

// Polls keep at most twelve files of a partition open, use an open one again, and a purge takes them all away, also
// from a poll that is under way.
func TestHandles_TwelveAreKeptAndAPurgeTakesThem(t *testing.T) {
	l := newLife(t, 1000)
	l.put(0, 1)
	l.group().part.SetOptions(partition.Options{SegmentBytes: 1000})
	l.fill(20)
	l.group().part.TrimTail(0)
	l.settle()
	for offset := range uint64(20) {
		if got := l.offsetsOf(partition.Query{Strategy: partition.FromOffset, Value: offset, Count: 1}); len(got) != 1 {
			t.Fatalf("offset %d: %v", offset, got)
		}
	}
	r := l.group().reader
	starts := func() (out []uint64) {
		for _, h := range r.files.open {
			out = append(out, h.reader.Start())
		}
		return out
	}
	if n := l.n.openHandles.Load(); n != handlesPerPartition || len(starts()) != handlesPerPartition {
		t.Fatalf("%d files are open, in the cache %v", n, starts())
	}
	oldest := starts()[0]
	h, err := r.acquire(r.files.chain, oldest)
	if err != nil || r.files.open[len(r.files.open)-1] != h || l.n.openHandles.Load() != handlesPerPartition {
		t.Fatalf("an open file was not used again: %v, %v", starts(), err)
	}
	l.purgeTopic()
	l.put(0, 1)
	l.group().part.TrimTail(0)
	l.holds([2]uint64{0, 0})
	if !h.gone || slices.Contains(r.files.open, h) {
		t.Error("a poll after the purge may use a file from before it")
	}
	r.letGo(h)
	if n := l.n.openHandles.Load(); n != int64(len(r.files.open)) {
		t.Errorf("%d files are open, %d are known", n, len(r.files.open))
	}
}
