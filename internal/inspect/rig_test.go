package inspect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

const dataDir = "/data"

var layout = datadir.NewLayout(dataDir, datadir.Folders{})

// testIdentity is what the configuration of the rig would say.
var testIdentity = Identity{
	Cluster: protocol.Uint128{Lo: 11, Hi: 12}, Replicas: 1, JournalSlots: 1024, ClientsTableMax: 64,
}

// lines is a log handler that keeps warnings and errors.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text)
	return nil
}

func (l *lines) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

// held keeps file tasks until somebody helps, so that nothing is written any more once Open has returned.
type held struct {
	mu    sync.Mutex
	tasks []func()
}

func (h *held) Submit(_ *node.Lane, run func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, run)
}

func (h *held) Help() bool {
	h.mu.Lock()
	if len(h.tasks) == 0 {
		h.mu.Unlock()
		return false
	}
	run := h.tasks[0]
	h.tasks = h.tasks[1:]
	h.mu.Unlock()
	run()
	return true
}

func (h *held) Close() {}

// machine is the boot of the machine that nodes and verifications run on.
var machine = [16]byte{1}

// open starts a node on fsys as a server would.
func open(fsys vfs.FS, log *lines, exec node.Executor) (*node.Node, error) {
	return node.Open(node.Options{
		FS: fsys, Clock: node.SystemClock(), Executor: exec, Log: slog.New(log), Layout: layout,
		Shards: 2, Cluster: testIdentity.Cluster, BootID: machine, Incarnation: protocol.Uint128{Lo: rand.Uint64() | 1},
		Limits: node.Limits{Validate: true, ReservationLease: 1000, ReservationMax: 1, TailBytes: 1, TailPartitionBytes: 1, NoRetention: true},
		Metadata: node.MetadataOptions{
			JournalSlots: testIdentity.JournalSlots, ClientsTableMax: testIdentity.ClientsTableMax, JournalEpoch: rand.Uint64() | 1,
			Root: func() (string, string, error) { return "iggy", "$argon2id$x", nil },
		},
		Fatal: func(int, error) {},
	})
}

// rig is a running node and a client of it.
type rig struct {
	t       testing.TB
	n       *node.Node
	session uint64
	request uint64
}

// lastID numbers the messages of all nodes.
var lastID uint64

var client = protocol.Uint128From64(77)

func start(t testing.TB, fsys vfs.FS) *rig {
	t.Helper()
	n, err := open(fsys, &lines{}, node.NewExecutor())
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	if err := n.AwaitBootstrap(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, n: n, request: uint64(time.Now().UnixNano())}
	r.session = r.metadata(protocol.OpRegister, metadata.AppendRegister(nil, n.MetadataCommit()))
	return r
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.n.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// reply is a waiter.
type reply struct {
	work node.Work
	done chan struct{}
	code protocol.Code
	op   uint64
}

func (a *reply) Complete(r *vsr.Reply) {
	a.code = r.Outcome.Code
	if r.Prepare != nil {
		a.op = r.Prepare.Op()
		if r.Prepare.Operation() != protocol.OpSendMessages && len(r.Body) >= 4 {
			a.code, _, _ = protocol.CutResult(r.Body)
		}
	}
	close(a.done)
}

func (a *reply) Flusher() node.Flusher { return nil }

func (r *rig) submit(w node.Work) *reply {
	r.t.Helper()
	a := &reply{work: w, done: make(chan struct{})}
	a.work.Request.Waiter = a
	var b node.Batch
	b.Add(r.n, &a.work)
	r.n.Submit(&b)
	select {
	case <-a.done:
	case <-time.After(20 * time.Second):
		r.t.Fatal("no answer within 20 s")
	}
	if a.code != protocol.Success {
		r.t.Fatalf("%s: %v", w.Request.Operation, a.code)
	}
	return a
}

func (r *rig) metadata(op protocol.Operation, body []byte) uint64 {
	r.t.Helper()
	req := vsr.Request{Client: client, Operation: op, Body: vsr.Body{Bytes: body}, Session: r.session}
	if op != protocol.OpRegister {
		r.request++
		req.Request = r.request
	}
	return r.submit(node.Work{Group: protocol.MetadataGroup, Request: req}).op
}

func (r *rig) topic(name string, partitions uint32, fsync bool) {
	r.t.Helper()
	req := command.CreateTopicReplicated{CreateTopic: command.CreateTopic{
		Stream: protocol.NumericID(0), PartitionsCount: partitions, Name: []byte(name),
		Options: command.AppendOptions(nil, command.BoolOption("enforce_fsync", fsync), command.U64Option("segment_size", 1<<20)),
	}}
	for p := range partitions {
		req.Assignments = append(req.Assignments, command.Assignment{Partition: p})
	}
	r.metadata(protocol.OpCreateTopicWithAssignments, req.Append(nil))
}

func (r *rig) revision(id protocol.GroupID) uint64 {
	p, _, ok := r.n.View().PartitionByID(id.Partition())
	if !ok {
		r.t.Fatalf("no partition %s", id)
	}
	return p.CreatedRevision
}

// send sends batches of 100 messages of 500 bytes.
func (r *rig) send(id protocol.GroupID, batches int) {
	r.t.Helper()
	for range batches {
		b := batch.NewBuilder()
		for range 100 {
			lastID++
			payload := bytes.Repeat([]byte{byte(lastID)}, 500)
			if err := b.Add(payload, nil, protocol.Uint128From64(lastID), 1); err != nil {
				r.t.Fatal(err)
			}
		}
		raw, err := b.Build()
		if err != nil {
			r.t.Fatal(err)
		}
		l := buffer.New(0).Get(len(raw))
		copy(l.Bytes, raw)
		r.submit(node.Work{Group: id, Revision: r.revision(id), Messages: 100, Request: vsr.Request{
			Client: client, Operation: protocol.OpSendMessages, Body: vsr.Body{Bytes: l.Bytes, Lease: l},
		}})
	}
}

// store stores the offset of a consumer.
func (r *rig) store(id protocol.GroupID, kind partition.ConsumerKind, consumer uint32, offset uint64) {
	r.t.Helper()
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: partition.ConsumerKey{Kind: kind, ID: consumer}, Offset: offset}.Put(body)
	r.submit(node.Work{Group: id, Revision: r.revision(id), Request: vsr.Request{
		Client: client, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
	}})
}

func group3(stream, topic, part uint32) protocol.GroupID {
	id, err := protocol.PartitionGroup(stream, topic, part)
	if err != nil {
		panic(err)
	}
	return id
}

// populate makes a directory with everything in it: two topics, partitions of several segments and of one, a
// partition that was never used, stored offsets, and a gap behind an anchor.
func populate(t testing.TB) (clean, killed *vfs.Mem) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	mem := vfs.NewMem(1)
	r := start(t, mem)
	r.metadata(protocol.OpCreateStream, command.CreateStream{Name: []byte("orders")}.Append(nil))
	r.topic("plain", 3, false)
	r.topic("synced", 1, true)
	r.metadata(protocol.OpCreateConsumerGroup, command.CreateGroup{
		TopicRef: command.TopicRef{Stream: protocol.NumericID(0), Topic: protocol.NumericID(0)}, Name: []byte("readers"),
	}.Append(nil))
	r.send(group3(0, 0, 0), 50)
	r.send(group3(0, 0, 1), 3)
	r.send(group3(0, 1, 0), 3)
	r.store(group3(0, 0, 0), partition.KindConsumer, 7, 40)
	r.store(group3(0, 0, 0), partition.KindGroup, 0, 41)
	crashed := mem.CrashClone(rng, vfs.KillOnly)
	r.stop()
	r = start(t, crashed) // a gap, because the reservation was not given back
	r.send(group3(0, 0, 0), 30)
	r.send(group3(0, 0, 1), 2)
	killed = crashed.CrashClone(rng, vfs.KillOnly)
	r.stop()
	return crashed.CrashClone(rng, vfs.KillOnly), killed
}

// image is every file below a directory.
func image(t testing.TB, fsys vfs.FS, dir string, into map[string]string) map[string]string {
	t.Helper()
	names, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		at := path.Join(dir, name)
		info, err := fsys.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir {
			image(t, fsys, at, into)
			continue
		}
		b, err := vfs.ReadFile(fsys, at, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		into[at] = string(b)
	}
	return into
}

// boot is what a start made of a directory.
type boot struct {
	refused  error
	fenced   map[string]error // by directory of the partition
	changed  []string         // files
	warnings []string
	messages map[string][]uint64 // ids by directory, as far as polls got
	failed   map[string]protocol.Code
}

// observe starts a node on fsys, which it changes, and another one on a copy to see what is served.
func observe(t testing.TB, fsys *vfs.Mem) *boot {
	t.Helper()
	b := &boot{fenced: map[string]error{}, messages: map[string][]uint64{}, failed: map[string]protocol.Code{}}
	before := image(t, fsys, dataDir, map[string]string{})
	served := clone(fsys)
	log, exec := &lines{}, &held{}
	_, err := open(fsys, log, exec)
	for err == nil && exec.Help() { // removals that nobody waits for
	}
	after := image(t, fsys, dataDir, map[string]string{})
	for _, images := range [][2]map[string]string{{before, after}, {after, before}} {
		for name, content := range images[0] {
			if other, there := images[1][name]; !there || other != content {
				b.changed = append(b.changed, name)
			}
		}
	}
	slices.Sort(b.changed)
	b.changed = slices.Compact(b.changed)
	b.warnings = log.warnings()
	if b.refused = err; err != nil {
		return b
	}
	n, err := open(served, &lines{}, node.NewExecutor())
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	defer func() {
		if err := n.Close(); err != nil {
			t.Logf("close: %v", err)
		}
	}()
	for _, id := range []protocol.GroupID{group3(0, 0, 0), group3(0, 0, 1), group3(0, 0, 2), group3(0, 1, 0)} {
		stream, topic, part := id.Partition()
		dir := layout.Partition(stream, topic, part)
		if f := n.Fenced(id); f != nil {
			b.fenced[dir] = f
			continue
		}
		b.messages[dir], b.failed[dir] = readAll(n, id)
	}
	return b
}

// readAll polls a partition from its first offset, stepping over what fails.
func readAll(n *node.Node, id protocol.GroupID) (ids []uint64, failed protocol.Code) {
	p, _, ok := n.View().PartitionByID(id.Partition())
	if !ok {
		return nil, protocol.Success
	}
	for from := uint64(0); from < 400_000; {
		var out node.PollResult
		code := n.Poll(&node.PollRequest{
			Group: id, Revision: p.CreatedRevision, PurgeGeneration: p.PurgeGeneration, MaxBytes: 1 << 20,
			Query: partition.Query{Strategy: partition.FromOffset, Value: from, Count: 1000},
		}, &out)
		if code != protocol.Success {
			failed = code
			from += 100
			continue
		}
		if out.Count == 0 {
			break
		}
		from = out.Last + 1
		for _, chunk := range out.Chunks {
			raw := chunk.Bytes
			for len(raw) > 0 {
				record := raw[:batch.HeaderOf(raw).Length()]
				raw = raw[len(record):]
				w := batch.Walk(record)
				for f, ok := w.Next(); ok; f, ok = w.Next() {
					ids = append(ids, f.ID().Lo)
				}
			}
		}
		out.Release()
	}
	return ids, failed
}

// put changes a file.
func put(t testing.TB, fsys vfs.FS, name string, change func([]byte) []byte) {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<30)
	if err == nil {
		err = vfs.WriteFile(fsys, name, change(b))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func mustRemove(t testing.TB, fsys vfs.FS, name string) {
	t.Helper()
	if err := errors.Join(fsys.Remove(name), fsys.SyncDir(path.Dir(name))); err != nil {
		t.Fatal(err)
	}
}
