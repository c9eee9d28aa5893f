package vsr

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// FuzzCheckFrame feeds arbitrary frames to the ingress check and, sealed anew, to the decoders behind it.
func FuzzCheckFrame(f *testing.F) {
	for command := range headerTypes {
		h, body := sample(command)
		f.Add(append(h[:], body...))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < protocol.HeaderSize {
			return
		}
		h, body := protocol.Header(data[:protocol.HeaderSize]), data[protocol.HeaderSize:]
		CheckFrame(&h, body, testLink())
		FrameGroup(&h)
		h.SetCluster(testCluster)
		h.SetSize(uint32(len(data)))
		h.SetReplica(1)
		if rule := ruleOf(h.Command()); rule != nil && rule.identity {
			h.SetChecksumBody(BodyChecksum((*protocol.PrepareHeader)(&h).Operation(), body))
		}
		reseal(&h, body)
		if CheckFrame(&h, body, testLink()) != DropNone {
			return
		}
		walkFrame(&h, body)
	})
}

// walkFrame reads everything an accepted frame offers.
func walkFrame(h *protocol.Header, body []byte) {
	switch h.Command() {
	case protocol.CommandDoViewChange:
		d := (*DoViewChangeHeader)(h)
		walkSuffix(d.Op(), func() (Suffix, bool) { return DecodeDoViewChangeSuffix(d, body) })
	case protocol.CommandStartView:
		s := (*StartViewHeader)(h)
		walkSuffix(s.Op(), func() (Suffix, bool) { return DecodeStartViewSuffix(s, body) })
	case protocol.CommandNodeHeartbeat:
		b, _ := DecodeHeartbeatBody((*NodeHeartbeatHeader)(h), body)
		for i := range b.ShardCount() {
			b.Progress(i)
		}
		for i := range b.UnableCount() {
			b.Unable(i).Reason()
		}
		for i := range b.CommitCount() {
			b.Commit(i).Checksum()
		}
	}
}

func walkSuffix(head uint64, decode func() (Suffix, bool)) {
	s, ok := decode()
	if !ok {
		panic("accepted frame does not decode")
	}
	for i := range s.Len() {
		if h := s.Of(head - uint64(i)); h != nil && h.Op() != head-uint64(i) {
			panic("header at the wrong place")
		}
	}
}

// FuzzStep feeds arbitrary frames, checked or not, to a primary and a backup with operations in flight.
func FuzzStep(f *testing.F) {
	for command := range headerTypes {
		h, body := sample(command)
		f.Add(uint8(command), append(h[:], body...))
	}
	f.Fuzz(func(t *testing.T, mode uint8, data []byte) {
		c := newCluster(clusterOptions{replicas: 3, depth: 2, group: testGroup, written: mode&1 == 0})
		for range 4 {
			c.propose(0, Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "w"}, "body")
		}
		c.drain(0)
		c.appendDone(0, 1)
		for i := 0; len(data) >= protocol.HeaderSize; i++ {
			h := protocol.Header(data[:protocol.HeaderSize])
			data = data[protocol.HeaderSize:]
			n := min(len(data), int(h.Size()%512))
			body := data[:n]
			data = data[n:]
			if mode&2 == 0 {
				h.SetSize(uint32(protocol.HeaderSize + n))
				h.SetRevision(3)
				if rule := ruleOf(h.Command()); rule != nil && rule.group != 0 {
					le.PutUint64(h[rule.group:], uint64(testGroup))
				}
				h.SetView(h.View() % 2)
				reseal(&h, body)
			}
			to := i & 1
			from := uint8(mode>>2) % 5
			c.nodes[to].r.Step(c.now, Message{From: from, Header: &h, Body: Body{Bytes: body}})
			if mode&64 == 0 {
				c.drain(to)
			}
			if len(c.nodes[to].pending) > 0 && mode&128 == 0 {
				c.appendDone(to, c.nodes[to].r.Op())
			}
			c.tick(30)
			c.nodes[to].r.Tick(c.now)
			if r := c.nodes[to].r; r.CommitMin() > r.CommitMax() {
				t.Fatalf("applied %d of %d committed", r.CommitMin(), r.CommitMax())
			}
		}
	})
}
