package node

import (
	"encoding/binary"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/gatecheck"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// rig is a real node with its goroutines on a real directory, and one client of the metadata group.
type rig struct {
	t       testing.TB
	n       *Node
	dir     string
	mu      sync.Mutex
	session uint64
	request uint64
}

var rigClient = protocol.Uint128From64(77)

func discardLog() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// watch puts a gate between the node and its disk: whatever leaves it early fails the test.
func watch(t testing.TB, o *Options) {
	if o.Witness != nil {
		return // the test brings its own
	}
	gate := gatecheck.New(o.FS, func(err error) { t.Error(err) })
	o.FS, o.Witness = gate, gate
}

func openRig(t testing.TB, dir string, change func(*Options)) *rig {
	t.Helper()
	o := Options{
		FS: vfs.OS, Clock: SystemClock(), Executor: NewExecutor(), Log: discardLog(),
		Layout: datadir.NewLayout(dir, datadir.Folders{}), Shards: 2, Incarnation: protocol.Uint128From64(uint64(time.Now().UnixNano()) | 1),
		Limits: Limits{Validate: true},
		Metadata: MetadataOptions{
			JournalSlots: 1024, ClientsTableMax: 64, Root: func() (string, string, error) { return "iggy", "$hash", nil }, JournalEpoch: uint64(time.Now().UnixNano()) | 1,
		},
		Fatal: func(code int, err error) { t.Errorf("fatal %d: %v", code, err) },
	}
	if change != nil {
		change(&o)
	}
	watch(t, &o)
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	r := &rig{t: t, n: n, dir: dir}
	for !n.Bootstrapped() {
		time.Sleep(time.Millisecond)
	}
	a := r.metadata(protocol.OpRegister, metadata.AppendRegister(nil, n.MetadataCommit()))
	r.session = a.op
	return r
}

func (r *rig) close() {
	r.t.Helper()
	if err := r.n.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// answer is a Waiter that a test waits for.
type answer struct {
	work Work
	done chan struct{}
	code protocol.Code
	op   uint64
	base uint64

	flusher Flusher
}

func (a *answer) Complete(r *vsr.Reply) {
	a.code = r.Outcome.Code
	if r.Prepare != nil {
		a.op = r.Prepare.Op()
		if r.Prepare.Operation() == protocol.OpSendMessages {
			a.base = binary.LittleEndian.Uint64(r.Body[16:])
		} else if len(r.Body) >= 4 {
			a.code, _, _ = protocol.CutResult(r.Body)
		}
	}
	close(a.done)
}

func (a *answer) Flusher() Flusher { return a.flusher }

func (r *rig) submit(w Work) *answer {
	a := &answer{work: w, done: make(chan struct{})}
	a.work.Request.Waiter = a
	var b Batch
	b.Add(r.n, &a.work)
	r.n.Submit(&b)
	return a
}

func (a *answer) wait(t testing.TB) *answer {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer within 20 s")
	}
	return a
}

func (r *rig) metadata(op protocol.Operation, body []byte) *answer {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	req := vsr.Request{Client: rigClient, Operation: op, Body: vsr.Body{Bytes: body}, Session: r.session}
	if op != protocol.OpRegister {
		r.request++
		req.Request = r.request
	}
	a := r.submit(Work{Group: protocol.MetadataGroup, Request: req}).wait(r.t)
	if a.code != protocol.Success {
		r.t.Fatalf("%s: %v", op, a.code)
	}
	return a
}

// topic creates a stream and a topic, both numbered id.
func (r *rig) topic(id uint32, partitions uint32, options ...protocol.Pair) uint64 {
	r.t.Helper()
	r.metadata(protocol.OpCreateStream, command.CreateStream{Name: []byte{byte('a' + id)}}.Append(nil))
	req := command.CreateTopicReplicated{CreateTopic: command.CreateTopic{
		Stream: protocol.NumericID(id), PartitionsCount: partitions, Name: []byte("t"), Options: command.AppendOptions(nil, options...),
	}}
	for p := range partitions {
		req.Assignments = append(req.Assignments, command.Assignment{Partition: p})
	}
	return r.metadata(protocol.OpCreateTopicWithAssignments, req.Append(nil)).op
}

func groupID(t testing.TB, stream, part uint32) protocol.GroupID {
	t.Helper()
	id, err := protocol.PartitionGroup(stream, 0, part)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// record builds a batch whose messages carry the ids first, first+1, ...
func record(t testing.TB, first uint64, count, size int) vsr.Body {
	t.Helper()
	b := batch.NewBuilder()
	for i := range count {
		if err := b.Add(make([]byte, size), nil, protocol.Uint128From64(first+uint64(i)), 1); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	l := buffer.New(0).Get(len(raw))
	copy(l.Bytes, raw)
	return vsr.Body{Bytes: l.Bytes, Lease: l}
}

func (r *rig) send(id protocol.GroupID, revision uint64, body vsr.Body) *answer {
	return r.submit(Work{Group: id, Revision: revision, Messages: batch.MessageCount(body.Bytes), Request: vsr.Request{
		Client: rigClient, Operation: protocol.OpSendMessages, Body: body,
	}})
}

// poll returns the ids of up to count messages from an offset, and the offset after the last.
func (r *rig) poll(id protocol.GroupID, revision, generation, from uint64, count uint32) ([]uint64, uint64, protocol.Code) {
	var out PollResult
	code := r.n.Poll(&PollRequest{
		Group: id, Revision: revision, PurgeGeneration: generation, MaxBytes: 1 << 20,
		Query: partition.Query{Strategy: partition.FromOffset, Value: from, Count: count},
	}, &out)
	defer out.Release()
	if code != protocol.Success || out.Count == 0 {
		return nil, from, code
	}
	var raw []byte
	for _, c := range out.Chunks {
		raw = append(raw, c.Bytes...)
	}
	var ids []uint64
	for len(raw) > 0 {
		rec := raw[:batch.HeaderOf(raw).Length()]
		raw = raw[len(rec):]
		if bad := batch.VerifyStored(rec); bad != protocol.Success {
			r.t.Errorf("served a record that does not verify: %v", bad)
		}
		w := batch.Walk(rec)
		for f, ok := w.Next(); ok; f, ok = w.Next() {
			ids = append(ids, f.ID().Lo)
		}
	}
	return ids, out.Last + 1, code
}
