package session

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// sends pipelines n prebuilt batches from a client that allocates nothing itself, 64 at a time.
func sends(tb testing.TB, c *client, frame []byte, n int) {
	const window = 64
	block := bytes.Repeat(frame, window)
	for n > 0 {
		k := min(n, window)
		if err := c.SendFrames(block[:k*len(frame)], k); err != nil {
			tb.Fatal(err)
		}
		for range k {
			reply, err := c.Receive()
			if err != nil {
				tb.Fatal(err)
			}
			if _, err := rawclient.ReadConfirmation(reply); err != nil {
				tb.Fatal(err)
			}
		}
		n -= k
	}
}

func sendFrame(r *rig, ref command.TopicRef, to protocol.Partitioning, size int) []byte {
	return r.root.AppendFrame(nil, protocol.OpSendMessages, 0, sendBody(ref, to, 1, record(string(make([]byte, size)))))
}

// A send costs what the log costs: the allocations of the session itself are none. The bound leaves room for
// what partition and segment spread over many batches.
func TestSend_AllocatesNextToNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 3)
	for name, to := range map[string]protocol.Partitioning{
		"partition": to(0), "balanced": {Kind: protocol.PartitionBalanced}, "key": {Kind: protocol.PartitionByKey, Key: []byte("user-123")},
	} {
		frame := sendFrame(r, ref, to, 1000)
		sends(t, r.root, frame, 2000) // grow what is kept
		const n = 4000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sends(t, r.root, frame, n)
		runtime.ReadMemStats(&after)
		if per := float64(after.Mallocs-before.Mallocs) / n; per > 1 {
			t.Errorf("%s: %.2f allocations for each batch", name, per)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	r := openRig(b, setup{})
	ref := r.topic("s", "t", 1)
	frame := sendFrame(r, ref, to(0), 1000)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	b.ResetTimer()
	sends(b, r.root, frame, b.N)
}

func BenchmarkPoll(b *testing.B) {
	r := openRig(b, setup{})
	ref := r.topic("s", "t", 1)
	sends(b, r.root, sendFrame(r, ref, to(0), 1000), 100)
	p := fromFirst(ref, 0)
	p.Strategy, p.Count = command.FromOffset, 10
	poll := r.root.NewPollFrame(p)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if got, err := r.root.PollFrame(poll); err != nil || got.Count != 10 {
			b.Fatal(got.Count, err)
		}
	}
}
