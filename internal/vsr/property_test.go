package vsr

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

var (
	lives    = flag.Int("lives", 400, "number of cluster lives")
	trace    = flag.Bool("trace-life", false, "print what replicas do")
	lifeSeed = flag.Uint64("life-seed", 1, "seed of the first one")
)

// TestLives_AgreeWhateverHappens drives small clusters through lost, repeated and reordered frames, slow and
// failing appends and superblock writes, held applies, silences that make views change, crashes and restarts.
// Whatever happens, what two replicas apply is the same, no vote is cast twice, nobody speaks for a view that a
// restart could forget, and no view has two primaries. Once everything heals, somebody leads, and everybody
// gets to where it is.
func TestLives_AgreeWhateverHappens(t *testing.T) {
	for i := range *lives {
		seed := *lifeSeed + uint64(i)
		if err := live(seed); err != nil {
			t.Fatalf("seed %d: %v (run it again: go test ./internal/vsr -run TestLives -lives 1 -life-seed %d)", seed, err, seed)
		}
	}
}

func live(seed uint64) (err error) {
	d := newLife(seed)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("step %d: panic: %v", d.steps, p)
			if *lives == 1 {
				panic(p)
			}
		}
	}()
	for d.steps = range 100 + d.rng.IntN(1500) {
		d.step()
		if err := d.check(); err != nil {
			return fmt.Errorf("step %d: %w", d.steps, err)
		}
	}
	if err := d.heal(); err != nil {
		return fmt.Errorf("healed: %w", err)
	}
	if left := d.c.close(); left != 0 {
		return fmt.Errorf("%d bytes of bodies were never released", left)
	}
	return nil
}

// life is a cluster with what an observer who sees everything knows about it.
type life struct {
	c       *cluster
	rng     *rand.Rand
	steps   int
	applied []protocol.Uint128 // by op-1: what was applied anywhere
	seen    []int              // by replica: how much of its applied was compared
	leaders map[uint32]int
	votes   map[[2]uint64]protocol.Uint128 // by replica and view: seal of the vote
	views   []SuperblockWrite              // by replica: newest durable one
	lossy   bool
	// forgetful lives lose the ends of logs: the cluster may stand still then, and must not go wrong.
	forgetful, mayStop bool
	cut                [][]bool // links that let nothing through, by sender and receiver
	late               []lateFrame
	err                error
}

func newLife(seed uint64) *life {
	rng := rand.New(rand.NewPCG(seed, 2))
	n := []int{1, 2, 3, 3, 3, 4, 5}[rng.IntN(7)]
	d := &life{
		rng: rng, leaders: map[uint32]int{}, votes: map[[2]uint64]protocol.Uint128{}, seen: make([]int, n),
		views: make([]SuperblockWrite, n), lossy: rng.IntN(3) > 0,
		c: newCluster(clusterOptions{replicas: n, depth: 1 + rng.IntN(6), group: testGroup,
			timeouts: Timeouts{Commit: 5, Heartbeat: uint32(8 + rng.IntN(60)), ViewChangeStatus: 200}}), // a pass counts two ticks at most
	}
	d.forgetful = n > 1 && rng.IntN(3) == 0
	for range n {
		d.cut = append(d.cut, make([]bool, n))
	}
	return d
}

// lateFrame is a copy of a frame that arrives long after.
type lateFrame struct {
	from, to int
	frame    frame
}

// rewire cuts links, in one direction or both, or mends all of them.
func (d *life) rewire() {
	n := len(d.c.nodes)
	for from := range n {
		for to := range n {
			d.cut[from][to] = false
		}
	}
	if d.oneIn(2) {
		return
	}
	alone := d.rng.IntN(n)
	for other := range n {
		if d.oneIn(3) {
			continue
		}
		switch d.rng.IntN(4) {
		case 0:
			d.cut[alone][other] = true
		case 1:
			d.cut[other][alone] = true
		default:
			d.cut[alone][other], d.cut[other][alone] = true, true
		}
	}
}

func (d *life) oneIn(n int) bool { return d.rng.IntN(n) == 0 }

func (d *life) step() {
	c := d.c
	i := d.rng.IntN(len(c.nodes))
	n := c.nodes[i]
	switch k := d.rng.IntN(100); {
	case k < 13:
		d.propose()
	case k < 14:
		d.rewire()
	case k < 15:
		d.replay()
	case k < 55:
		for range 1 + d.rng.IntN(8) {
			d.deliver()
		}
	case k < 60 && d.lossy:
		if from, to, at, ok := d.frame(); ok {
			q := c.links[from][to]
			c.links[from][to] = append(q[:at:at], q[at+1:]...)
		}
	case k < 62 && d.lossy:
		if from, to, at, ok := d.frame(); ok {
			c.links[from][to] = append(c.links[from][to], c.links[from][to][at])
		}
	case k < 76:
		if len(n.pending) > 0 && n.written { // a log without a superblock is taken for loss
			c.work(i, 1+d.rng.IntN(len(n.pending)))
		}
		d.drain(i)
		c.load(i)
	case k < 77:
		d.failAppend(i)
	case k < 85:
		if n.write != nil {
			var err error
			if d.oneIn(5) {
				err = errDisk
			}
			c.superblockDone(i, err)
		}
	case k < 94:
		c.tick(uint64(1 + d.rng.IntN(40)))
		for j := range c.nodes {
			if d.oneIn(2) || j == i {
				c.nodes[j].r.Tick(c.now)
			}
		}
	case k < 96:
		n.machine.holdAt = n.r.CommitMin() + 1 + uint64(d.rng.IntN(3))
	case k < 98:
		n.machine.holdAt = 0
		n.r.Resume(c.now)
	default:
		if d.oneIn(2) {
			d.restart(i)
		}
	}
	if d.oneIn(3) {
		return // a pass may take several inputs before its effects are drained
	}
	for j := range c.nodes {
		d.drain(j)
	}
}

func (d *life) propose() {
	for i, n := range d.c.nodes {
		if n.r.IsPrimary() && d.oneIn(2) {
			d.c.propose(i, Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "w"}, "body")
		}
	}
}

func (d *life) deliver() {
	from, to, at, ok := d.frame()
	if !ok {
		return
	}
	if !d.lossy || d.rng.IntN(4) > 0 {
		at = 0
	}
	q := d.c.links[from][to]
	if d.cut[from][to] {
		d.c.links[from][to] = append(q[:at:at], q[at+1:]...)
		return
	}
	if d.lossy && d.oneIn(30) {
		d.late = append(d.late, lateFrame{from, to, q[at]})
	}
	d.drain(to)
	d.c.deliver(from, to, at)
}

// replay delivers a frame again that was delivered long ago, to the same life of its receiver.
func (d *life) replay() {
	if len(d.late) == 0 {
		return
	}
	i := d.rng.IntN(len(d.late))
	l := d.late[i]
	d.late = slices.Delete(d.late, i, i+1)
	d.drain(l.to)
	d.c.step(l.from, l.to, l.frame)
}

// frame picks a frame in flight.
func (d *life) frame() (from, to, at int, ok bool) {
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
	link := busy[d.rng.IntN(len(busy))]
	return link[0], link[1], d.rng.IntN(len(d.c.links[link[0]][link[1]])), true
}

// failAppend fails appends that a replica can take back: a primary's own may have left already.
func (d *life) failAppend(i int) {
	n := d.c.nodes[i]
	if len(n.pending) == 0 || n.r.IsPrimary() && len(d.c.nodes) > 1 ||
		slices.ContainsFunc(n.pending, func(w logWork) bool { return w.cut != nil }) {
		return
	}
	d.c.appendFailed(i, n.pending[d.rng.IntN(len(n.pending))].entry.Header.Op())
}

// restart kills a replica and starts it on what its disk holds.
func (d *life) restart(i int) {
	c, n := d.c, d.c.nodes[i]
	n.r.Stop(c.now)
	n.r.Effects()
	n.r.input(c.now)
	// What was under way may have reached the disk, as far as it came.
	reached := 0
	if len(n.pending) > 0 && n.written {
		reached = d.rng.IntN(len(n.pending) + 1)
	}
	dead := *n
	c.work(i, reached)
	for _, w := range n.pending {
		if w.cut == nil {
			w.entry.Body.Release()
		}
	}
	n.pending, n.loads = nil, nil
	if n.write != nil && d.oneIn(2) {
		n.durable, n.written = *n.write, true
		d.wrote(i)
	}
	n.write = nil
	for to := range c.nodes {
		if d.oneIn(2) {
			c.links[i][to], c.links[to][i] = nil, nil
		}
	}
	if d.forgetful && d.oneIn(4) {
		d.mayStop = true
		n.lose(d.rng)
	}
	if err := n.boot(c); err != nil {
		d.err = fmt.Errorf("replica %d of view %d: %w", i, dead.durable.View, err)
	}
	d.seen[i] = 0
}

// lose drops the end of a log that was not synced.
func (n *node) lose(rng *rand.Rand) {
	n.lost, n.lostIn = true, n.durable.LogView
	from := rng.Uint64N(uint64(len(n.log)) + 1)
	for op, e := range n.log {
		if op >= from {
			e.Body.Release()
			delete(n.log, op)
		}
	}
}

// boot starts a replica on its log and superblock.
func (n *node) boot(c *cluster) error {
	ops := slices.Sorted(maps.Keys(n.log))
	cfg := n.cfg
	cfg.Incarnation = protocol.Uint128{Lo: cfg.Incarnation.Lo + 2}
	cfg.Start = Start{View: n.durable.View, LogView: n.durable.LogView, ViewDurable: n.written, CommitMax: n.durable.CommitMax}
	switch {
	case len(c.nodes) == 1 || !n.written && len(ops) == 0:
	case n.lost && n.durable.LogView <= n.lostIn: // until a view was adopted since
		cfg.Start.Join = JoinAmnesiac
	default:
		cfg.Start.Join = JoinProbe
	}
	for view, head := range n.acked {
		if n.durable.LogView < view {
			cfg.Start.AckedHead = max(cfg.Start.AckedHead, head)
		}
	}
	entries := make([]Entry, 0, len(ops))
	for _, op := range ops {
		e := n.log[op]
		e.Body.Retain()
		entries = append(entries, e)
	}
	if len(entries) > 0 {
		cfg.Start.Head = &entries[len(entries)-1].Header
	}
	hold := n.machine.holdAt
	*n.machine = recorder{}
	n.cfg, n.r = cfg, mustNew(cfg)
	if taken, err := n.r.Recovered(c.now, entries); err != nil || taken != len(entries) {
		return fmt.Errorf("recovered %d of %d entries: %w", taken, len(entries), err)
	}
	n.machine.holdAt = hold
	return nil
}

// drain takes the effects of a replica, and holds what it says against what it may say.
func (d *life) drain(i int) {
	n := d.c.nodes[i]
	before := make([]int, len(d.c.nodes))
	for to := range before {
		before[to] = len(d.c.links[i][to])
	}
	d.c.out.Reset()
	d.c.drain(i)
	if *trace && d.c.out.Len() > 0 {
		fmt.Printf("step %d tick %d\n%s", d.steps, d.c.now.Ticks, d.c.out.String())
	}
	for to := range before {
		for _, f := range d.c.links[i][to][before[to]:] {
			if err := d.mayBeSaid(i, n, &f.header); err != nil && d.err == nil {
				d.err = fmt.Errorf("replica %d says %s: %w", i, describe(&f.header), err)
			}
		}
	}
}

// mayBeSaid checks the gate, the honesty of an acknowledgement, and that nobody votes twice.
func (d *life) mayBeSaid(i int, n *node, h *protocol.Header) error {
	switch h.Command() {
	case protocol.CommandPrepare, protocol.CommandPrepareOk, protocol.CommandCommit, protocol.CommandStartViewChange,
		protocol.CommandDoViewChange, protocol.CommandStartView:
		if !n.written || h.View() > n.durable.View {
			return fmt.Errorf("view %d, durable %d", h.View(), n.durable.View)
		}
	}
	switch h.Command() {
	case protocol.CommandPrepareOk:
		ok := (*PrepareOkHeader)(h)
		if e, here := n.log[ok.Op()]; !here || e.Header.Common().Checksum() != ok.PrepareChecksum() {
			return fmt.Errorf("op %d is not in its log", ok.Op())
		}
	case protocol.CommandDoViewChange:
		key := [2]uint64{uint64(i), uint64(h.View())}
		if was, voted := d.votes[key]; voted && was != h.Checksum() {
			return fmt.Errorf("it voted otherwise before")
		}
		d.votes[key] = h.Checksum()
	}
	return nil
}

// wrote notes the superblock of a replica, whose views only rise.
func (d *life) wrote(i int) {
	was, is := d.views[i], d.c.nodes[i].durable
	if is.View < was.View || is.LogView < was.LogView {
		d.err = fmt.Errorf("replica %d went back from view %d/%d to %d/%d", i, was.View, was.LogView, is.View, is.LogView)
	}
	d.views[i] = is
}

func (d *life) check() error {
	for i, n := range d.c.nodes {
		r := n.r
		if n.written {
			d.wrote(i)
		}
		if d.err != nil {
			return d.err
		}
		if broken := r.out.effects.Broken; broken != nil {
			return fmt.Errorf("replica %d: %w", i, broken)
		}
		if r.commitMin > r.commitMax && r.commitMin > r.op || r.opDurable > r.op || r.acked > r.op || r.logView > r.view {
			return fmt.Errorf("replica %d: applied %d committed %d acked %d durable %d op %d", i, r.commitMin, r.commitMax, r.acked, r.opDurable, r.op)
		}
		if uint64(len(n.machine.applied)) != r.commitMin {
			return fmt.Errorf("replica %d applied %d operations, commit_min %d", i, len(n.machine.applied), r.commitMin)
		}
		for ; d.seen[i] < len(n.machine.applied); d.seen[i]++ {
			id := n.machine.applied[d.seen[i]]
			if d.seen[i] == len(d.applied) {
				d.applied = append(d.applied, id)
			}
			if d.applied[d.seen[i]] != id {
				return fmt.Errorf("replica %d applied another operation %d", i, d.seen[i]+1)
			}
		}
		if r.IsPrimary() && r.logView == r.view {
			if leader, led := d.leaders[r.view]; led && leader != i {
				return fmt.Errorf("view %d is led by %d and by %d", r.view, leader, i)
			}
			d.leaders[r.view] = i
		}
	}
	return nil
}

// heal lets everything through until the cluster has come to rest, and demands that it works.
func (d *life) heal() error {
	for from := range d.cut {
		clear(d.cut[from])
	}
	if err := d.calm(3000); err != nil {
		return err
	}
	leader := -1
	for i, n := range d.c.nodes {
		if n.r.IsPrimary() {
			leader = i
		}
	}
	if leader < 0 && d.mayStop {
		return nil
	}
	if leader < 0 {
		return fmt.Errorf("nobody leads: %s", d.states())
	}
	before := d.c.nodes[leader].r.Op()
	for range 3 {
		d.c.propose(leader, Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "last"}, "body")
	}
	if err := d.calm(300); err != nil {
		return err
	}
	for _, n := range d.c.nodes {
		if d.mayStop {
			break
		}
		if n.r.CommitMin() < before+1 || n.r.CommitMin() != d.c.nodes[leader].r.CommitMin() {
			return fmt.Errorf("not everybody has everything: %s", d.states())
		}
	}
	if !d.mayStop && len(d.applied) != int(d.c.nodes[leader].r.CommitMin()) {
		return fmt.Errorf("%d operations were applied once, %d are now", len(d.applied), d.c.nodes[leader].r.CommitMin())
	}
	return nil
}

func (d *life) states() (s string) {
	d.c.out.Reset()
	for i := range d.c.nodes {
		d.c.state(i)
	}
	return "\n" + d.c.out.String()
}

func (d *life) calm(ticks int) error {
	c := d.c
	for range ticks / 5 {
		c.tick(5)
		for i, n := range c.nodes {
			n.machine.holdAt = 0
			n.r.Resume(c.now)
			n.r.Tick(c.now)
			d.drain(i)
			if n.write != nil {
				c.superblockDone(i, nil)
				d.drain(i)
			}
			c.work(i, len(n.pending))
			d.drain(i)
			c.load(i)
			for to := range c.nodes {
				for len(c.links[i][to]) > 0 {
					c.deliver(i, to, 0)
					d.drain(to)
				}
			}
		}
		if err := d.check(); err != nil {
			return err
		}
	}
	return nil
}
