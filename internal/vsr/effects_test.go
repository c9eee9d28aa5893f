package vsr

import (
	"testing"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
)

func leased(pool *buffer.Pool) (*buffer.Lease, *Request) {
	l := pool.Get(100)
	return l, &Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "w", Body: Body{Lease: l, Bytes: l.Bytes}}
}

func TestEffects_UndrainedAppendsAndSendsOfUnwoundOperationsAreTakenBack(t *testing.T) {
	c := newCluster(clusterOptions{replicas: 3, depth: 4, group: testGroup, written: true})
	r := c.nodes[0].r
	for range 3 {
		c.propose(0, Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "w"}, "body")
	}
	r.Done(c.now, Appended{Op: 2, Err: errDisk})
	e := r.Effects()
	if len(e.Appends) != 1 || e.Appends[0].Header.Op() != 1 || len(e.Sends) != 2 || len(e.Replies) != 2 {
		t.Fatalf("%d appends, %d sends, %d replies", len(e.Appends), len(e.Sends), len(e.Replies))
	}
	for _, s := range e.Sends {
		if op := (*protocol.PrepareHeader)(&s.Header).Op(); op != 1 {
			t.Errorf("op %d left after it was unwound", op)
		}
	}
	if left := c.close(); left != 0 {
		t.Errorf("%d bytes never released", left)
	}
}

func TestEffects_BodyOutlivesTheFrameThatCarriesIt(t *testing.T) {
	c := newCluster(clusterOptions{replicas: 3, depth: 4, group: testGroup, written: true})
	r, pool := c.nodes[0].r, buffer.New(0)
	lease, req := leased(pool)
	r.Propose(c.now, req)
	h := r.Effects().Appends[0].Header
	r.Done(c.now, Appended{Op: 1})
	c.tick(1000)
	r.Tick(c.now) // repeats the prepare
	var ok PrepareOkHeader
	c.nodes[1].r.stamp(ok.Common(), protocol.CommandPrepareOk)
	ok.SetOp(1)
	ok.SetPrepareChecksum(h.Common().Checksum())
	ok.SetGroup(testGroup)
	r.Step(c.now, Message{From: 1, Header: ok.Common()})
	if r.CommitMin() != 1 {
		t.Fatal("not applied")
	}
	if !lease.TryRetain() {
		t.Fatal("body released under an undrained frame")
	}
	lease.Release()
	if len(r.Effects().Replies) != 1 {
		t.Fatal("no reply")
	}
	if pool.LiveBytes() == 0 {
		t.Fatal("body released before the drained frame ran out")
	}
	r.Tick(c.now)
	if pool.LiveBytes() != 0 {
		t.Fatal("body never released")
	}
}

func TestEffects_SecondDrainIsEmpty(t *testing.T) {
	r, _ := soloReplica(nil)
	r.Propose(Time{}, &Request{Operation: protocol.OpSendMessages, Waiter: "w"})
	if len(r.Effects().Appends) != 1 || len(r.Effects().Appends) != 0 {
		t.Fatal("effects are not drained once")
	}
	r.Done(Time{}, Appended{Op: 1})
	if len(r.Effects().Replies) != 1 || len(r.Effects().Replies) != 0 {
		t.Fatal("replies are not drained once")
	}
}

func TestEffects_RepliesOfOnePassKeepTheirBytes(t *testing.T) {
	c := newCluster(clusterOptions{replicas: 1, depth: 2, group: testGroup, written: true})
	r := c.nodes[0].r
	for op := uint64(1); op <= 200; op++ { // rounds of one pass: the ring is used over and over
		c.propose(0, Request{Operation: protocol.OpStoreConsumerOffset, Waiter: op}, "body")
		r.Done(c.now, Appended{Op: op})
	}
	e := r.Effects()
	for i, p := range e.Replies {
		if op := uint64(i + 1); p.Prepare.Op() != op || p.Waiter != op || string(p.Body) != fmtReply(op) {
			t.Fatalf("reply %d: op %d, waiter %v, %q", i, p.Prepare.Op(), p.Waiter, p.Body)
		}
	}
	if len(e.Replies) != 200 {
		t.Fatalf("%d replies", len(e.Replies))
	}
}
