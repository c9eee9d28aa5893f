package vsr

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// echo is the cheapest state machine.
type echo struct{ applied uint64 }

func (m *echo) Mint(h *protocol.PrepareHeader, body Body) (protocol.Uint128, protocol.Code) {
	return protocol.Uint128From64(h.Op()), 0
}
func (m *echo) Unmint(uint64) {}
func (m *echo) Apply(h *protocol.PrepareHeader, body Body, reply []byte) ([]byte, ApplyStatus) {
	m.applied++
	return append(reply, "okay"...), ApplyDone
}

// soloPass proposes a batch, completes its append and takes the replies, as a host does in one pass.
func soloPass(r *Replica, now Time, req *Request, batch int) int {
	for range batch {
		if o := r.Propose(now, req); o.Verdict != Accepted {
			panic("not accepted")
		}
	}
	e := r.Effects()
	last := e.Appends[len(e.Appends)-1].Header.Op()
	r.Done(now, Appended{Op: last})
	return len(r.Effects().Replies)
}

func soloReplica(sessions Sessions) (*Replica, *echo) {
	machine := &echo{}
	return mustNew(Config{Group: testGroup, Cluster: testCluster, Replicas: 1, Incarnation: protocol.Uint128{Lo: 1},
		Machine: machine, Sessions: sessions, Start: Start{ViewDurable: true}}), machine
}

func TestSoloPath_DoesNotAllocate(t *testing.T) {
	for _, batch := range []int{1, 32} {
		r, machine := soloReplica(nil)
		req := &Request{Operation: protocol.OpSendMessages, Body: Body{Bytes: make([]byte, 512)}, Waiter: t}
		now := Time{Micros: 1}
		for range 4 { // the ring and the slices reach their size
			soloPass(r, now, req, batch)
		}
		before := machine.applied
		allocs := testing.AllocsPerRun(200, func() {
			now.Micros++
			if n := soloPass(r, now, req, batch); n != batch {
				t.Fatalf("%d replies to %d requests", n, batch)
			}
		})
		if allocs != 0 {
			t.Errorf("batch of %d: %v allocations per pass", batch, allocs)
		}
		if machine.applied == before {
			t.Error("nothing was applied")
		}
	}
}

func BenchmarkSolo(b *testing.B) {
	for _, c := range []struct {
		name  string
		batch int
	}{{"batch=1", 1}, {"batch=32", 32}} {
		b.Run(c.name, func(b *testing.B) {
			r, _ := soloReplica(nil)
			req := &Request{Operation: protocol.OpSendMessages, Body: Body{Bytes: make([]byte, 512)}, Waiter: b}
			now := Time{Micros: 1}
			b.ReportAllocs()
			for b.Loop() {
				now.Micros++
				soloPass(r, now, req, c.batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.batch), "ns/message")
		})
	}
}
