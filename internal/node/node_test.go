package node

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vsr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Producers, readers of the tail and of files, auto-commits and rotation at once: every reader sees every
// message once and in order, whatever memory is dropped and reused meanwhile. It is meant for the race
// detector, under which released blocks are overwritten.
func TestNode_ReadersMeetWritersRotationAndTheTail(t *testing.T) {
	r := openRig(t, t.TempDir(), func(o *Options) { o.Limits.TailPartitionBytes, o.Limits.TailBytes = 20<<10, 30<<10 })
	defer r.close()
	rev := r.topic(0, 2, command.U64Option("segment_size", 1<<20))
	const batches, perBatch = 120, 8
	var wg sync.WaitGroup
	for p := range uint32(2) {
		id := groupID(t, 0, p)
		wg.Go(func() {
			for i := range batches {
				a := r.send(id, rev, record(t, uint64(i*perBatch)+1, perBatch, 2500)).wait(t)
				if a.code != protocol.Success || a.base != uint64(i*perBatch) {
					t.Errorf("batch %d: code %v base %d", i, a.code, a.base)
					return
				}
			}
		})
		for range 2 {
			wg.Go(func() {
				for next := uint64(0); next < batches*perBatch; {
					ids, after, code := r.poll(id, rev, 0, next, 13)
					if code != protocol.Success {
						t.Errorf("poll: %v", code)
						return
					}
					for i, got := range ids {
						if got != next+uint64(i)+1 {
							t.Errorf("offset %d holds message %d", next+uint64(i), got)
							return
						}
					}
					next = after
				}
			})
		}
	}
	wg.Wait()
	st := r.n.PartitionStats(groupID(t, 0, 0), rev, 0)
	if st.Messages != batches*perBatch || st.Segments < 3 {
		t.Fatalf("stats %+v", st)
	}
}

func TestNode_PurgeWhileReadingNeverShowsOldMessagesAtNewOffsets(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	rev := r.topic(0, 1)
	id := groupID(t, 0, 0)
	var generation atomic.Uint64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			g := generation.Load()
			ids, _, code := r.poll(id, rev, g, 0, 4)
			if code != protocol.Success {
				t.Errorf("poll: %v", code)
				return
			}
			for i, got := range ids {
				if got/1000 < g || got%1000 != uint64(i) {
					t.Errorf("generation %d: offset %d holds message %d", g, i, got)
					return
				}
			}
		}
	})
	for g := range uint64(15) {
		for i := range 3 {
			if a := r.send(id, rev, record(t, g*1000+uint64(i*2), 2, 100)).wait(t); a.code != protocol.Success || a.base != uint64(i*2) {
				t.Fatalf("generation %d: code %v base %d", g, a.code, a.base)
			}
		}
		r.metadata(protocol.OpPurgeTopic, command.TopicRef{Stream: protocol.NumericID(0), Topic: protocol.NumericID(0)}.Append(nil))
		generation.Store(g + 1)
		if st := r.n.PartitionStats(id, rev, g+1); st.Messages != 0 {
			t.Fatalf("stats right after a purge: %+v", st)
		}
	}
	close(stop)
	wg.Wait()
}

func TestNode_DeleteAndRecreateWithTheSameIds(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, nil)
	topic := command.TopicRef{Stream: protocol.NumericID(0), Topic: protocol.NumericID(0)}
	rev := r.topic(0, 1)
	id := groupID(t, 0, 0)
	for i := range uint64(8) {
		if a := r.send(id, rev, record(t, i*10, 3, 50)).wait(t); a.code != protocol.Success || a.base != 0 {
			t.Fatalf("life %d: code %v base %d", i, a.code, a.base)
		}
		r.metadata(protocol.OpDeleteTopic, topic.Append(nil))
		if ids, _, code := r.poll(id, rev+1000, 0, 0, 10); len(ids) != 0 || code != protocol.Success {
			t.Fatalf("poll of a partition that is not there: %v %v", ids, code)
		}
		req := command.CreateTopicReplicated{CreateTopic: command.CreateTopic{
			Stream: protocol.NumericID(0), PartitionsCount: 1, Name: []byte("t"),
		}, Assignments: []command.Assignment{{}}}
		rev = r.metadata(protocol.OpCreateTopicWithAssignments, req.Append(nil)).op
	}
	last := r.send(id, rev, record(t, 900, 2, 50)).wait(t)
	if last.code != protocol.Success {
		t.Fatal(last.code)
	}
	r.close()
	r = openRig(t, dir, nil)
	defer r.close()
	if ids, _, _ := r.poll(id, rev, 0, 0, 10); len(ids) != 2 || ids[0] != 900 {
		t.Fatalf("after a restart: %v", ids)
	}
	left, err := os.ReadDir(filepath.Join(dir, "streams", "0", "topics", "0", "partitions"))
	if err != nil || len(left) != 1 {
		t.Fatalf("directories of dead incarnations are left: %v %v", left, err)
	}
}

func TestNode_RestartFindsEverythingAndSkipsNoOffset(t *testing.T) {
	dir := t.TempDir()
	var rev uint64
	for life := range 4 {
		r := openRig(t, dir, nil)
		if life == 0 {
			rev = r.topic(0, 2, command.BoolOption("enforce_fsync", true))
		}
		for p := range uint32(2) {
			a := r.send(groupID(t, 0, p), rev, record(t, uint64(life)*10, 5, 100)).wait(t)
			if a.code != protocol.Success || a.base != uint64(life)*5 {
				t.Fatalf("life %d: code %v base %d", life, a.code, a.base)
			}
		}
		body := make([]byte, partition.OffsetOpSize)
		partition.OffsetOp{Key: partition.ConsumerKey{Kind: partition.KindConsumer, ID: 3}, Offset: uint64(life)}.Put(body)
		a := r.submit(Work{Group: groupID(t, 0, 1), Revision: rev, Request: vsr.Request{
			Client: rigClient, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
		}}).wait(t)
		if a.code != protocol.Success {
			t.Fatal(a.code)
		}
		r.close()
	}
	r := openRig(t, dir, nil)
	defer r.close()
	ids, _, _ := r.poll(groupID(t, 0, 1), rev, 0, 0, 100)
	if len(ids) != 20 {
		t.Fatalf("%d messages after restarts", len(ids))
	}
	_, stored, found, _ := r.n.ConsumerOffset(groupID(t, 0, 1), rev, 0, partition.ConsumerKey{Kind: partition.KindConsumer, ID: 3})
	if !found || stored != 3 {
		t.Fatalf("stored offset %d %v", stored, found)
	}
}

func TestNode_PipelinedSendsKeepTheirOrderBeyondTheDepth(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	rev := r.topic(0, 1)
	id := groupID(t, 0, 0)
	var b Batch
	answers := make([]*answer, 500)
	for i := range answers {
		body := record(t, uint64(i), 1, 10)
		answers[i] = &answer{done: make(chan struct{})}
		answers[i].work = Work{Group: id, Revision: rev, Messages: 1, Request: vsr.Request{
			Client: rigClient, Operation: protocol.OpSendMessages, Body: body, Waiter: answers[i],
		}}
		b.Add(r.n, &answers[i].work)
	}
	r.n.Submit(&b)
	for i, a := range answers {
		if a.wait(t); a.code != protocol.Success || a.base != uint64(i) {
			t.Fatalf("send %d: code %v base %d", i, a.code, a.base)
		}
	}
}

// connFlush stands for a connection: it notes how many of its answers were complete at every flush.
type connFlush struct {
	answers []*answer
	seen    chan int
}

func (c *connFlush) Flush() {
	n := 0
	for _, a := range c.answers {
		select {
		case <-a.done:
			n++
		default:
		}
	}
	c.seen <- n
}

func TestNode_OneFlushForTheAnswersOfAPass(t *testing.T) {
	r := openRig(t, t.TempDir(), nil)
	defer r.close()
	rev := r.topic(0, 1)
	id := groupID(t, 0, 0)
	r.send(id, rev, record(t, 0, 1, 10)).wait(t) // the partition is open, so that one pass answers everything
	conns := [2]*connFlush{{seen: make(chan int, 100)}, {seen: make(chan int, 100)}}
	var b Batch
	for i := range 60 {
		c := conns[i/10%2]
		a := &answer{done: make(chan struct{}), flusher: c}
		a.work = Work{Group: id, Revision: rev, Messages: 1, Request: vsr.Request{
			Client: rigClient, Operation: protocol.OpSendMessages, Body: record(t, uint64(i), 1, 10), Waiter: a,
		}}
		c.answers = append(c.answers, a)
		b.Add(r.n, &a.work)
	}
	r.n.Submit(&b)
	for i, c := range conns {
		flushes, last := 0, 0
		for last < len(c.answers) {
			select {
			case last = <-c.seen:
				flushes++
			case <-time.After(20 * time.Second):
				t.Fatalf("connection %d: %d of %d answers flushed", i, last, len(c.answers))
			}
		}
		for _, a := range c.answers {
			if a.code != protocol.Success {
				t.Fatalf("connection %d: %v", i, a.code)
			}
		}
		time.Sleep(10 * time.Millisecond) // room for more of them, which would be too many
		if flushes += len(c.seen); flushes > 3 {
			t.Fatalf("connection %d: %d flushes for 3 runs of answers", i, flushes)
		}
	}
}

func TestNode_AnotherClientsTableIsRefused(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, nil)
	r.close()
	o := Options{
		FS: r.n.fs, Clock: SystemClock(), Executor: NewExecutor(), Log: r.n.log, Layout: datadir.NewLayout(dir, datadir.Folders{}),
		Incarnation: protocol.Uint128From64(3),
		Metadata:    MetadataOptions{JournalSlots: 1024, ClientsTableMax: 65, Root: func() (string, string, error) { return "iggy", "h", nil }, JournalEpoch: 5},
	}
	if _, err := Open(o); err == nil {
		t.Fatal("opened with another clients_table_max")
	} else {
		t.Log(err)
	}
}
