package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// life is one partition on a node without goroutines that dies and is opened again on what is left of its disk.
type life struct {
	*stepRig
	id    protocol.GroupID
	rev   uint64
	lease uint64
	limit func(*Limits)
	dying bool // the disk may fail the metadata group, too
	log   *bytes.Buffer
	next  uint64            // id of the next message
	acked map[uint64]uint64 // message ids by offset, in the present generation
}

// newLife makes a topic with one partition. A lease of 0 is the default one.
func newLife(t testing.TB, lease uint64, options ...protocol.Pair) *life {
	t.Helper()
	l := &life{log: &bytes.Buffer{}, id: groupID(t, 0, 0), lease: lease, next: 1, acked: map[uint64]uint64{}}
	l.boot(t, vfs.NewMem(1))
	l.rev = l.newTopic(options...)
	return l
}

// boot opens the node on disk; requests of its client go on being numbered.
func (l *life) boot(t testing.TB, disk *vfs.Mem) {
	t.Helper()
	var request uint64
	if l.stepRig != nil {
		request = l.request
	}
	l.stepRig = openStepRigWith(t, disk, func(o *Options) {
		o.Limits.ReservationLease = l.lease
		o.Limits.Validate = true
		o.Log = slog.New(slog.NewTextHandler(l.log, nil))
		if l.limit != nil {
			l.limit(&o.Limits)
		}
		fatal := o.Fatal
		o.Fatal = func(code int, err error) {
			if !l.dying {
				fatal(code, err)
			}
		}
	})
	l.request = request
}

// crash ends the process, and with it what mode takes of the disk; then the node is opened again.
func (l *life) crash(mode vfs.CrashMode) {
	l.t.Helper()
	l.dying = false
	l.boot(l.t, l.disk.CrashClone(newRand(1), mode))
}

// restart stops in order and opens the node again.
func (l *life) restart() {
	l.t.Helper()
	l.close()
	l.boot(l.t, l.disk.CrashClone(newRand(1), vfs.LoseUnsynced))
}

// try sends one batch and reports its offset, or the code it was refused with.
func (l *life) try(count, size int) (base uint64, code protocol.Code) {
	l.t.Helper()
	first := l.next
	l.next += uint64(count)
	a := l.send(l.id, l.rev, record(l.t, first, count, size))
	for range 4 * ticksPerSecond {
		if l.settle(); l.answered(a) {
			break
		}
		l.clock.ticks++
	}
	if !l.answered(a) {
		l.t.Fatal("a send was not answered in four seconds")
	}
	if a.code == protocol.Success {
		for i := range uint64(count) {
			if was, used := l.acked[a.base+i]; used {
				l.t.Fatalf("offset %d was message %d and is now message %d", a.base+i, was, first+i)
			}
			l.acked[a.base+i] = first + i
		}
	}
	return a.base, a.code
}

// twin is the same life up to here; what one goes through the other does not learn.
func (l *life) twin() *life {
	one := *l
	one.acked = maps.Clone(l.acked)
	return &one
}

// dieAt has the process die before the first file operation that is matched. It returns whether that has happened.
func (l *life) dieAt(match func(op vfs.Op) bool) (died func() bool) {
	dead := false
	l.dying = true
	l.disk.SetHook(func(op vfs.Op) error {
		if dead || match(op) {
			dead = true
			return vfs.ErrCrashed
		}
		return nil
	})
	return func() bool { return dead }
}

// attempt sends a batch that may never be answered; it must not be confirmed by a process that died before.
func (l *life) attempt(count, size int) *answer {
	l.t.Helper()
	a := l.send(l.id, l.rev, record(l.t, l.next, count, size))
	l.next += uint64(count)
	l.settle()
	return a
}

// put sends one batch of small messages that must be confirmed at want.
func (l *life) put(want uint64, count int) {
	l.t.Helper()
	if base, code := l.try(count, 10); code != protocol.Success || base != want {
		l.t.Fatalf("send: offset %d, code %v; want offset %d", base, code, want)
	}
}

// dump polls the whole log and returns its messages by offset.
func (l *life) dump() (map[uint64]uint64, protocol.Code) {
	l.t.Helper()
	found := map[uint64]uint64{}
	generation := l.generation()
	for from := uint64(0); ; {
		var out PollResult
		code := l.n.Poll(&PollRequest{
			Group: l.id, Revision: l.rev, PurgeGeneration: generation, MaxBytes: 32 << 20,
			Query: partition.Query{Strategy: partition.FromOffset, Value: from, Count: 1 << 20},
		}, &out)
		if code != protocol.Success || out.Count == 0 {
			out.Release()
			return found, code
		}
		last := l.take(found, &out)
		out.Release()
		from = last + 1
	}
}

func (l *life) take(found map[uint64]uint64, out *PollResult) (last uint64) {
	l.t.Helper()
	var raw []byte
	for _, c := range out.Chunks {
		raw = append(raw, c.Bytes...)
	}
	for len(raw) > 0 {
		rec := raw[:batch.HeaderOf(raw).Length()]
		raw = raw[len(rec):]
		if bad := batch.VerifyStored(rec); bad != protocol.Success {
			l.t.Fatalf("served a record that does not verify: %v", bad)
		}
		w := batch.Walk(rec)
		for f, ok := w.Next(); ok; f, ok = w.Next() {
			last = batch.BaseOffset(rec) + uint64(f.OffsetDelta())
			found[last] = f.ID().Lo
		}
	}
	return last
}

func (l *life) generation() uint64 {
	p, _, _ := l.n.View().PartitionByID(l.id.Partition())
	return p.PurgeGeneration
}

// holds checks that exactly the messages acknowledged at the given ranges of offsets are served.
func (l *life) holds(ranges ...[2]uint64) {
	l.t.Helper()
	want := map[uint64]uint64{}
	for _, r := range ranges {
		for offset := r[0]; offset <= r[1]; offset++ {
			want[offset] = l.acked[offset]
		}
	}
	found, code := l.dump()
	if code != protocol.Success || !maps.Equal(found, want) {
		l.t.Fatalf("served: code %v, offsets %s; want %s", code, spans(found), spans(want))
	}
}

// spans describes a set of offsets.
func spans(m map[uint64]uint64) string {
	var b strings.Builder
	offsets := slices.Sorted(maps.Keys(m))
	for i := 0; i < len(offsets); {
		j := i
		for j+1 < len(offsets) && offsets[j+1] == offsets[j]+1 {
			j++
		}
		fmt.Fprintf(&b, "[%d..%d]", offsets[i], offsets[j])
		i = j + 1
	}
	return b.String()
}

// reserved checks the record of offsets on the disk.
func (l *life) reserved(frontier, reserved uint64) {
	l.t.Helper()
	state, _ := l.group().block.store.State()
	if state.OffsetFrontier != frontier || state.OffsetReserved != reserved {
		l.t.Fatalf("superblock: frontier %d, reserved %d; want %d, %d", state.OffsetFrontier, state.OffsetReserved, frontier, reserved)
	}
}

func (l *life) group() *group { return l.n.shards[0].groups[l.id] }

func (l *life) dir() string { return l.n.partitionDir(l.id) }

// logs returns the names of the segments.
func (l *life) logs() []string { return l.names(".log") }

func (l *life) names(suffix string) []string {
	l.t.Helper()
	names, err := l.disk.ReadDir(l.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, suffix) })
}

// chain checks which segments there are, and which of them stand behind an anchor.
func (l *life) chain(logs []uint64, anchors []uint64) {
	l.t.Helper()
	name := func(starts []uint64, suffix string) (out []string) {
		for _, s := range starts {
			out = append(out, fmt.Sprintf("%020d%s", s, suffix))
		}
		return out
	}
	if got, want := l.logs(), name(logs, ".log"); !slices.Equal(got, want) {
		l.t.Fatalf("segments %v, want %v", got, want)
	}
	if got, want := l.names(".anchor"), name(anchors, ".anchor"); !slices.Equal(got, want) {
		l.t.Fatalf("anchors %v, want %v", got, want)
	}
}

// store stores a consumer offset and returns the answer.
func (l *life) store(consumer uint32, offset uint64) protocol.Code {
	l.t.Helper()
	a := l.storing(consumer, offset)
	if l.settle(); !l.answered(a) {
		l.t.Fatal("a store was not answered")
	}
	return a.code
}

// storing submits a store of a consumer offset.
func (l *life) storing(consumer uint32, offset uint64) *answer {
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: partition.ConsumerKey{Kind: partition.KindConsumer, ID: consumer}, Offset: offset}.Put(body)
	return l.submit(Work{Group: l.id, Revision: l.rev, Request: vsr.Request{
		Client: rigClient, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
	}})
}

// stored returns the offset of a consumer.
func (l *life) stored(consumer uint32) (uint64, bool) {
	l.t.Helper()
	key := partition.ConsumerKey{Kind: partition.KindConsumer, ID: consumer}
	_, offset, ok, code := l.n.ConsumerOffset(l.id, l.rev, l.generation(), key)
	if code != protocol.Success {
		l.t.Fatal(code)
	}
	return offset, ok
}

// purgeTopic commits a purge and lets the partition follow.
func (l *life) purgeTopic() {
	l.t.Helper()
	l.commit(protocol.OpPurgeTopic, topicZero.Append(nil))
	l.settle()
	l.acked = map[uint64]uint64{}
}

// damage changes the content of a file of the partition; nil removes it.
func (l *life) damage(disk *vfs.Mem, name string, content []byte) {
	l.t.Helper()
	setFile(l.t, disk, path.Join(l.dir(), name), content)
}

func setFile(t testing.TB, disk *vfs.Mem, name string, content []byte) {
	t.Helper()
	if content == nil {
		if err := disk.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := disk.Create(name)
	if err == nil {
		_, err = f.WriteAt(content, 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// filesBelow returns the content of every file below dir, by its name relative to dir.
func filesBelow(t testing.TB, disk *vfs.Mem, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	names, err := disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		full := path.Join(dir, name)
		info, err := disk.Stat(full)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir {
			for sub, b := range filesBelow(t, disk, full) {
				out[path.Join(name, sub)] = b
			}
			continue
		}
		if out[name], err = vfs.ReadFile(disk, full, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// openDying starts a node on a disk that will not last; what becomes of the start does not matter.
func openDying(disk *vfs.Mem) {
	exec := &handExecutor{}
	_, _ = Open(Options{
		FS: disk, Clock: &handClock{ticks: 1000}, Executor: exec, Log: discardLog(), Layout: datadir.NewLayout("/data", datadir.Folders{}),
		Incarnation: protocol.Uint128From64(1), Limits: Limits{ReservationLease: rowLease},
		Metadata: MetadataOptions{JournalSlots: 1024, ClientsTableMax: 64, JournalEpoch: 1},
		Fatal:    func(int, error) {},
	})
	exec.Close()
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
