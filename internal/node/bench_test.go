package node

import (
	"sync"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// sink is a Waiter that counts.
type sink struct {
	wg   sync.WaitGroup
	fail protocol.Code
}

func (s *sink) Complete(r *vsr.Reply) {
	if r.Prepare == nil {
		s.fail = r.Outcome.Code
	}
	s.wg.Done()
}

func (s *sink) Flusher() Flusher { return nil }

// benchmarkSend submits reads of count batches of messages x size bytes.
func benchmarkSend(b *testing.B, count, messages, size int) {
	r := openRig(b, b.TempDir(), func(o *Options) { o.Shards = 1 })
	defer r.close()
	rev := r.topic(0, 1)
	id := groupID(b, 0, 0)
	raw := record(b, 1, messages, size).Bytes
	pool := buffer.New(64 << 20)
	var s sink
	works := make([]Work, count)
	var batchOf Batch
	b.SetBytes(int64(count * len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		s.wg.Add(count)
		slab := pool.Get(count * len(raw))
		for i := range works {
			at := i * len(raw)
			bytes := slab.Bytes[at : at+len(raw)]
			copy(bytes, raw)
			slab.Retain()
			works[i] = Work{Group: id, Revision: rev, Messages: batch.MessageCount(raw), Request: vsr.Request{
				Client: rigClient, Operation: protocol.OpSendMessages, Body: vsr.Body{Lease: slab, Bytes: bytes}, Waiter: &s,
			}}
			batchOf.Add(r.n, &works[i])
		}
		slab.Release()
		r.n.Submit(&batchOf)
		s.wg.Wait()
	}
	if s.fail != protocol.Success {
		b.Fatal(s.fail)
	}
	b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "batches/s")
}

func BenchmarkSend_LoneMessage(b *testing.B)       { benchmarkSend(b, 1, 1, 1024) }
func BenchmarkSend_PipelinedMessages(b *testing.B) { benchmarkSend(b, 160, 1, 1024) }
func BenchmarkSend_ThousandMessages(b *testing.B)  { benchmarkSend(b, 1, 1000, 1000) }

func BenchmarkPoll_ThousandMessages(b *testing.B) {
	for name, tail := range map[string]int64{"tail": 0, "files": 1} {
		b.Run(name, func(b *testing.B) {
			r := openRig(b, b.TempDir(), func(o *Options) { o.Limits.TailPartitionBytes = tail })
			defer r.close()
			rev := r.topic(0, 1)
			id := groupID(b, 0, 0)
			for i := range uint64(20) {
				r.send(id, rev, record(b, i, 1000, 1000)).wait(b)
			}
			var out PollResult
			q := PollRequest{Group: id, Revision: rev, MaxBytes: 60 << 20,
				Query: partition.Query{Strategy: partition.FromOffset, Value: 18_000, Count: 1000}}
			b.SetBytes(1_000_000)
			b.ReportAllocs()
			for b.Loop() {
				if code := r.n.Poll(&q, &out); code != protocol.Success || out.Count != 1000 {
					b.Fatal(code, out.Count)
				}
				out.Release()
			}
		})
	}
}
