package vsr

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
)

// TestNormalOperation_AgreesUnderLoss drives a small cluster in one view through lost, repeated and
// reordered frames, slow and failing appends and superblock writes, and held applies. Whatever happens,
// what two replicas apply is the same as far as both have come, and what anybody applies is in a quorum of
// logs. Once the network heals the primary commits everything, and nobody is ahead of it. Rapid prints the
// seed of a failure.
func TestNormalOperation_AgreesUnderLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(clusterOptions{
			replicas: rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(t, "replicas"),
			depth:    rapid.IntRange(1, 6).Draw(t, "depth"),
			group:    testGroup,
		})
		d := &driver{c: c, t: t}
		for range rapid.IntRange(100, 400).Draw(t, "steps") {
			d.step()
			d.check()
		}
		d.heal()
		d.check()
		r := c.nodes[0].r
		if r.CommitMin() != r.Op() || len(d.longest()) != int(r.Op()) || r.queue.count != 0 {
			t.Fatalf("healed: op %d, committed %d, applied %d, %d queued", r.Op(), r.CommitMax(), r.CommitMin(), r.queue.count)
		}
		c.drain(0)
		if answered := len(c.nodes[0].replies); answered != d.accepted {
			t.Fatalf("%d replies to %d accepted requests", answered, d.accepted)
		}
		if left := c.close(); left != 0 {
			t.Fatalf("%d bytes of bodies were never released", left)
		}
	})
}

type driver struct {
	c        *cluster
	t        *rapid.T
	accepted int
}

func (d *driver) pick(name string, n int) int { return rapid.IntRange(0, n-1).Draw(d.t, name) }

func (d *driver) step() {
	c := d.c
	i := d.pick("replica", len(c.nodes))
	n := c.nodes[i]
	switch rapid.SampledFrom([]string{
		"propose", "propose", "propose", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver",
		"drop", "duplicate", "append", "append", "append", "append", "fail", "superblock", "superblock", "tick", "hold", "resume",
	}).Draw(d.t, "step") {
	case "propose":
		i = 0
		for range 1 + d.pick("more", 3) {
			req := Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "w"}
			if c.propose(0, req, "body").Verdict == Accepted {
				d.accepted++
			}
		}
	case "deliver":
		for range 1 + d.pick("burst", 8) {
			from, to, k, ok := d.frame()
			if !ok {
				break
			}
			if d.pick("in order", 4) > 0 {
				k = 0
			}
			c.drain(i)
			i = to
			c.deliver(from, to, k)
		}
	case "drop":
		if from, to, k, ok := d.frame(); ok {
			q := c.links[from][to]
			c.links[from][to] = append(q[:k:k], q[k+1:]...)
		}
	case "duplicate":
		if from, to, k, ok := d.frame(); ok {
			c.links[from][to] = append(c.links[from][to], c.links[from][to][k])
		}
	case "append":
		if i, n = d.among(func(n *node) bool { return len(n.pending) > 0 }); n != nil {
			c.appendDone(i, n.pending[d.pick("append", len(n.pending))].Header.Op())
		}
	case "fail":
		// A primary of several cannot fail an append and go on: its prepare may have left.
		if len(n.pending) > 0 && (i > 0 || len(c.nodes) == 1) {
			c.appendFailed(i, n.pending[d.pick("append", len(n.pending))].Header.Op())
		}
	case "superblock":
		if i, n = d.among(func(n *node) bool { return n.write != nil }); n != nil {
			c.superblockDone(i, []error{errDisk, nil, nil, nil}[d.pick("failed", 4)])
		}
	case "tick":
		c.tick(uint64(1 + d.pick("ticks", 40)))
		n.r.Tick(c.now)
	case "hold":
		n.machine.holdAt = n.r.CommitMin() + 1 + uint64(d.pick("hold", 3))
	case "resume":
		n.machine.holdAt = 0
		n.r.Resume(c.now)
	}
	// A pass may take several inputs before its effects are drained.
	if d.pick("pass", 3) > 0 {
		c.drain(i)
	}
}

// among picks one of the nodes that have something, or none.
func (d *driver) among(has func(*node) bool) (int, *node) {
	var found []int
	for i, n := range d.c.nodes {
		if has(n) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return 0, nil
	}
	i := found[d.pick("which", len(found))]
	return i, d.c.nodes[i]
}

// frame picks a frame in flight.
func (d *driver) frame() (from, to, k int, ok bool) {
	var busy [][2]int
	for from := range d.c.links {
		for to := range d.c.links[from] {
			if len(d.c.links[from][to]) > 0 {
				busy = append(busy, [2]int{from, to})
			}
		}
	}
	if len(busy) == 0 {
		return 0, 0, 0, false
	}
	link := busy[d.pick("link", len(busy))]
	return link[0], link[1], d.pick("frame", len(d.c.links[link[0]][link[1]])), true
}

// heal lets everything through for long enough.
func (d *driver) heal() {
	c := d.c
	for range 400 {
		c.tick(10)
		for i, n := range c.nodes {
			n.machine.holdAt = 0
			n.r.Resume(c.now)
			n.r.Tick(c.now)
			c.drain(i)
			if n.write != nil {
				c.superblockDone(i, nil)
				c.drain(i)
			}
			if len(n.pending) > 0 {
				c.appendDone(i, n.pending[len(n.pending)-1].Header.Op())
				c.drain(i)
			}
			for to := range c.nodes {
				for len(c.links[i][to]) > 0 {
					c.deliver(i, to, 0)
					c.drain(to)
				}
			}
		}
	}
}

func (d *driver) check() {
	applied := d.longest()
	for i, n := range d.c.nodes {
		r := n.r
		if r.out.effects.Broken != nil {
			d.t.Fatalf("replica %d: %v", i, r.out.effects.Broken)
		}
		if r.commitMin > r.commitMax || r.opDurable > r.op || r.acked > r.opDurable || r.commitMin > r.opDurable {
			d.t.Fatalf("replica %d: applied %d committed %d acked %d durable %d op %d", i, r.commitMin, r.commitMax, r.acked, r.opDurable, r.op)
		}
		if uint64(len(n.machine.applied)) != r.commitMin {
			d.t.Fatalf("replica %d applied %d operations, commit_min %d", i, len(n.machine.applied), r.commitMin)
		}
		if r.acked > 0 && !n.written {
			d.t.Fatalf("replica %d acknowledged without a superblock", i)
		}
		for k, id := range n.machine.applied {
			if id != applied[k] {
				d.t.Fatalf("replica %d applied another operation %d", i, k+1)
			}
		}
	}
	if r := d.c.nodes[0].r; r.op-r.commitMin > r.depth || r.queue.count > 2*int(r.depth) {
		d.t.Fatalf("op %d over %d with depth %d, %d queued", r.op, r.commitMin, r.depth, r.queue.count)
	}
	d.checkDurable()
}

// longest is what the replica furthest ahead has applied: the primary, unless it is held.
func (d *driver) longest() []protocol.Uint128 {
	var longest []protocol.Uint128
	for _, n := range d.c.nodes {
		if len(n.machine.applied) > len(longest) {
			longest = n.machine.applied
		}
	}
	return longest
}

// checkDurable wants every operation that was applied anywhere in the logs of a quorum.
func (d *driver) checkDurable() {
	for k, id := range d.longest() {
		holders := 0
		for _, n := range d.c.nodes {
			if k < len(n.log) && n.log[k].Header.Common().Checksum() == id {
				holders++
			}
		}
		if want := int(d.c.nodes[0].r.quorum); holders < want {
			d.t.Fatalf("op %d applied with %d of %d copies", k+1, holders, want)
		}
	}
}
