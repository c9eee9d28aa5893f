package metadata

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"pgregory.net/rapid"
)

// A capture is encoded beside the owner: what the owner does meanwhile must not reach it.
func TestCapture_StaysWhatItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{rt, newGroupOfOne(rt, 5)}
		h.g.login(id(1), RootUser)
		for range rapid.IntRange(1, 40).Draw(rt, "before") {
			h.step()
		}
		want := h.g.s.Snapshot(nil)
		c := h.g.s.Capture()
		var got []byte
		var wait sync.WaitGroup
		wait.Go(func() { got = c.Encode(nil) }) // the race detector watches this one
		for range rapid.IntRange(1, 40).Draw(rt, "beside") {
			h.step()
		}
		wait.Wait()
		if !bytes.Equal(got, want) || !bytes.Equal(c.Encode([]byte("before"))[6:], want) {
			rt.Fatal("the capture changed")
		}
	})
}

// Two logs of the same length that come to the same entities have the same bytes, whatever stood between:
// one makes and removes transient streams, topics, groups, users and sessions in a random order, the other
// has operations in those places that are refused.
func TestSnapshot_EqualStatesOfDifferentHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		busy, calm := survivors(rt), survivors(rt)
		if !bytes.Equal(busy.s.Snapshot(nil), calm.s.Snapshot(nil)) {
			rt.Fatal("the histories differ before they should")
		}
		begin := busy.op
		for _, what := range rapid.SliceOfN(rapid.IntRange(0, 3), 1, 6).Draw(rt, "transients") {
			transient(busy, what, rapid.IntRange(0, 9).Draw(rt, "name"))
		}
		for _, name := range []string{"x9", "x3", "x5"} { // the last of the transients, to have some of every kind
			busy.server(protocol.OpCreateStream, command.CreateStream{Name: []byte(name)}.Append(nil), protocol.Success)
		}
		for _, name := range []string{"x3", "x9", "x5"} {
			busy.server(protocol.OpDeleteStream, str(name), protocol.Success)
		}
		for calm.op < busy.op {
			calm.server(protocol.OpDeleteStream, str("nothing"), protocol.CodeStreamIdNotFound)
		}
		if calm.op == begin {
			rt.Fatal("nothing happened")
		}
		// The newest reply of a client is part of the state: both have answered their client last.
		for _, g := range []*group{busy, calm} {
			if _, code := g.replicated(id(1), protocol.OpCreateStream, command.CreateStream{Name: []byte("last")}.Append(nil)); code != protocol.Success {
				rt.Fatal(code)
			}
		}
		if busy.s.Digest() != calm.s.Digest() || !bytes.Equal(busy.s.Snapshot(nil), calm.s.Snapshot(nil)) {
			rt.Fatal("equal states, different bytes")
		}
		checkRestores(rt, busy.s)
	})
}

// survivors is what both histories have in common.
func survivors(t rapid.TB) *group {
	g := newGroupOfOne(t, 8)
	g.login(id(1), RootUser)
	g.login(id(2), RootUser)
	for _, s := range []string{"b", "a"} {
		g.server(protocol.OpCreateStream, command.CreateStream{Name: []byte(s)}.Append(nil), protocol.Success)
	}
	return g
}

// transient makes something and removes it again.
func transient(g *group, what, number int) {
	name := fmt.Sprintf("tmp%d", number)
	switch what {
	case 0:
		g.server(protocol.OpCreateStream, command.CreateStream{Name: []byte(name)}.Append(nil), protocol.Success)
		g.server(protocol.OpDeleteStream, str(name), protocol.Success)
	case 1:
		g.login(id(uint64(10+number)), RootUser)
		g.commit(id(uint64(10+number)), 0, ^uint64(0), protocol.OpLogout, nil)
	case 2:
		g.server(protocol.OpCreateUser, userBody(name, "$h", 1, nil), protocol.Success)
		g.server(protocol.OpDeleteUser, str(name), protocol.Success)
	default:
		g.server(protocol.OpCreateTopicWithAssignments, topicBody(str("a"), name, 3), protocol.Success)
		g.server(protocol.OpDeleteTopic, cat(str("a"), str(name)), protocol.Success)
	}
}

// large is a state of so many sessions, each with a reply of 300 bytes, and 100,000 partitions.
func large(t testing.TB, sessions int) *State {
	t.Helper()
	g := newGroupOfOne(t, uint32(sessions))
	g.login(id(root), RootUser)
	g.mustSend(root, protocol.OpCreateStream, name("s"))
	g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(0), name("t")))
	for range 100 {
		g.mustSend(root, protocol.OpCreatePartitions, cat(num(0), num(0), u32(1000)))
	}
	for i := range sessions - 1 {
		g.login(id(uint64(1000+i)), RootUser)
	}
	g.s.Drain()
	return g.s
}

// The owner is held up for less than a tick of 10 ms, whatever the state holds; the rest is a job's.
func TestCapture_HoldsTheOwnerUpForLessThanATick(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a large state")
	}
	s := large(t, ClientsTableDefault)
	best := time.Hour // of several: the machine may be busy with something else
	for range 5 {
		begin := time.Now()
		c := s.Capture()
		best = min(best, time.Since(begin))
		if c.Op() == 0 {
			t.Fatal("captured nothing")
		}
	}
	if best > 10*time.Millisecond {
		t.Fatalf("capture took %s", best)
	}
	t.Logf("capture %s, snapshot of %d bytes", best, len(s.Snapshot(nil)))
}

func BenchmarkCapture(b *testing.B) {
	for _, sessions := range []int{ClientsTableDefault, slotsMax} {
		s := large(b, sessions)
		b.Run(fmt.Sprintf("%d sessions, 100000 partitions", sessions), func(b *testing.B) {
			for b.Loop() {
				s.Capture()
			}
		})
		b.Run(fmt.Sprintf("encode %d sessions, 100000 partitions", sessions), func(b *testing.B) {
			c := s.Capture()
			b.ReportMetric(float64(len(c.Encode(nil))), "bytes")
			for b.Loop() {
				c.Encode(nil)
			}
		})
		b.Run(fmt.Sprintf("restore %d sessions, 100000 partitions", sessions), func(b *testing.B) {
			encoded := s.Snapshot(nil)
			for b.Loop() {
				if _, err := Restore(encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
