package vsr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
)

var (
	testCluster = protocol.Uint128{Lo: 0xC1}
	errDisk     = errors.New("disk error")
)

const testGroup = protocol.GroupID(7)

// recorder is a state machine that remembers what it was told.
type recorder struct {
	applied  []protocol.Uint128 // identities, in order
	minted   []uint64
	unminted []uint64
	holdAt   uint64
	holds    int
	refuse   protocol.Code
}

func (m *recorder) Mint(h *protocol.PrepareHeader, body Body) (protocol.Uint128, protocol.Code) {
	if m.refuse != 0 {
		return protocol.Uint128{}, m.refuse
	}
	m.minted = append(m.minted, h.Op())
	return BodyChecksum(h.Operation(), body.Bytes), 0
}

func (m *recorder) Unmint(op uint64) {
	m.unminted = append(m.unminted, op)
	for len(m.minted) > 0 && m.minted[len(m.minted)-1] >= op {
		m.minted = m.minted[:len(m.minted)-1]
	}
}

func (m *recorder) Apply(h *protocol.PrepareHeader, body Body, reply []byte) ([]byte, ApplyStatus) {
	if m.holdAt == h.Op() {
		m.holds++
		return append(reply, "half"...), ApplyHeld
	}
	m.applied = append(m.applied, h.Common().Checksum())
	return fmt.Appendf(reply, "did %d %q", h.Op(), body.Bytes), ApplyDone
}

// table is a client table that knows sessions by their number and nothing else.
type table struct {
	deny      map[uint64]Outcome // by session
	committed []string
}

func (t *table) Check(req *Request) Outcome { return t.deny[req.Session] }

func (t *table) Committed(h *protocol.PrepareHeader, frame []byte) {
	t.committed = append(t.committed, fmt.Sprintf("%d:%s", h.Op(), frame[protocol.HeaderSize:]))
}

// node is one replica with its log and its outside.
type node struct {
	r       *Replica
	cfg     Config
	machine *recorder
	table   *table
	log     map[uint64]Entry // what the log holds
	pending []logWork        // what was asked of the log, in order
	loads   []Load
	// acked are the heads that truncations have recorded, by the view that they were made for.
	acked map[uint32]uint64
	// lost says that the log lost its end when lostIn was the log view.
	lost    bool
	lostIn  uint32
	write   *SuperblockWrite
	durable SuperblockWrite
	written bool
	replies []string
}

// logWork is an append or a truncation that was asked for.
type logWork struct {
	entry Entry
	cut   *Truncate
}

// cluster connects nodes through queues, one per direction.
type cluster struct {
	nodes []*node
	links [][][]frame
	now   Time
	out   strings.Builder
	pool  *buffer.Pool
}

// frame is one frame in flight; its body is a copy.
type frame struct {
	header protocol.Header
	body   []byte
}

type clusterOptions struct {
	replicas int
	depth    int
	sessions bool
	written  bool // superblocks exist already
	group    protocol.GroupID
	timeouts Timeouts
}

func newCluster(o clusterOptions) *cluster {
	c := &cluster{now: Time{Micros: 1_000_000}, pool: buffer.New(0)}
	for i := range o.replicas {
		n := &node{machine: &recorder{}, written: o.written, log: map[uint64]Entry{}, acked: map[uint32]uint64{}}
		cfg := Config{
			Group: o.group, Cluster: testCluster, Replica: uint8(i), Replicas: uint8(o.replicas), Revision: 3,
			Incarnation: protocol.Uint128{Lo: 1}, Machine: n.machine, PrepareDepth: o.depth,
			Start: Start{ViewDurable: o.written}, Timeouts: o.timeouts,
		}
		if o.group == protocol.MetadataGroup {
			cfg.Revision = 0
		}
		if o.sessions {
			n.table = &table{deny: map[uint64]Outcome{}}
			cfg.Sessions = n.table
		}
		n.cfg, n.r = cfg, mustNew(cfg)
		c.nodes = append(c.nodes, n)
		c.links = append(c.links, make([][]frame, o.replicas))
	}
	return c
}

func (c *cluster) tick(n uint64) {
	c.now.Ticks += n
	c.now.Micros += n * 10_000
}

func (c *cluster) printf(format string, args ...any) { fmt.Fprintf(&c.out, format+"\n", args...) }

// drain takes the effects of one node and puts them where they belong.
func (c *cluster) drain(i int) {
	n := c.nodes[i]
	e := n.r.Effects()
	if e.Superblock != nil {
		w := *e.Superblock
		n.write = &w
		c.printf("  %d: superblock view=%d log_view=%d commit_max=%d", i, w.View, w.LogView, w.CommitMax)
	}
	for _, t := range e.Truncates {
		n.pending = append(n.pending, logWork{cut: &t})
		c.printf("  %d: truncate from=%d acked=%d", i, t.From, t.AckedHead)
	}
	n.loads = append(n.loads, e.Loads...)
	for _, a := range e.Appends {
		a.Body.Retain()
		n.pending = append(n.pending, logWork{entry: *a})
		c.printf("  %d: append op=%d commit=%d body=%q", i, a.Header.Op(), a.Header.Commit(), a.Body.Bytes)
	}
	for _, s := range e.Sends {
		c.links[i][s.To] = append(c.links[i][s.To], frame{s.Header, append([]byte(nil), s.Body.Bytes...)})
		c.printf("  %d->%d: %s", i, s.To, describe(&s.Header))
	}
	for _, p := range e.Replies {
		n.replies = append(n.replies, describeReply(&p))
		c.printf("  %d: reply %s", i, describeReply(&p))
	}
	if e.Broken != nil {
		c.printf("  %d: broken: %v", i, e.Broken)
	}
}

func describe(h *protocol.Header) string {
	switch h.Command() {
	case protocol.CommandPrepare:
		p := (*protocol.PrepareHeader)(h)
		return fmt.Sprintf("prepare op=%d commit=%d", p.Op(), p.Commit())
	case protocol.CommandPrepareOk:
		p := (*PrepareOkHeader)(h)
		return fmt.Sprintf("prepare_ok op=%d commit=%d", p.Op(), p.Commit())
	case protocol.CommandCommit:
		p := (*CommitHeader)(h)
		return fmt.Sprintf("commit commit=%d heartbeat=%d", p.Commit(), p.TimestampMonotonic())
	}
	return describeView(h)
}

func describeView(h *protocol.Header) string {
	switch h.Command() {
	case protocol.CommandStartViewChange:
		return fmt.Sprintf("start_view_change view=%d", h.View())
	case protocol.CommandDoViewChange:
		d := (*DoViewChangeHeader)(h)
		return fmt.Sprintf("do_view_change view=%d log_view=%d op=%d commit=%d nack=%x present=%x", h.View(), d.LogView(),
			d.Op(), d.Commit(), d.NackBitset().Lo, d.PresentBitset().Lo)
	case protocol.CommandStartView:
		s := (*StartViewHeader)(h)
		return fmt.Sprintf("start_view view=%d op=%d commit=%d", h.View(), s.Op(), s.Commit())
	case protocol.CommandRequestStartView:
		q := (*RequestStartViewHeader)(h)
		return fmt.Sprintf("request_start_view view=%d log_view=%d op=%d", h.View(), q.LogView(), q.Op())
	case protocol.CommandRequestPrepares:
		q := (*RequestPreparesHeader)(h)
		return fmt.Sprintf("request_prepares %d..%d", q.FromOp(), q.ToOp())
	case protocol.CommandRepairPrepare:
		return fmt.Sprintf("repair_prepare op=%d", (*protocol.PrepareHeader)(h).Op())
	case protocol.CommandRepairDone:
		return fmt.Sprintf("repair_done op=%d", (*RepairDoneHeader)(h).Op())
	case protocol.CommandRangeEvicted:
		return fmt.Sprintf("range_evicted op=%d", (*RepairDoneHeader)(h).Op())
	}
	return fmt.Sprintf("command %d", h.Command())
}

func describeReply(p *Reply) string {
	if p.Prepare != nil {
		return fmt.Sprintf("%v op=%d %s", p.Waiter, p.Prepare.Op(), p.Body)
	}
	return fmt.Sprintf("%v %s request=%d", p.Waiter, describeOutcome(p.Outcome), p.Request.Request)
}

func describeOutcome(o Outcome) string {
	names := [...]string{"accepted", "denied", "framed", "evicted", "replayed", "full"}
	s := names[o.Verdict]
	if o.Code != 0 {
		s += fmt.Sprintf(" %d", o.Code)
	}
	if o.Evict != 0 {
		s += fmt.Sprintf(" reason %d", o.Evict)
	}
	return s
}

// propose offers a request whose body is leased, so that a missing or a double release shows.
func (c *cluster) propose(i int, req Request, body string) Outcome {
	lease := c.pool.Get(len(body))
	copy(lease.Bytes, body)
	req.Body = Body{Lease: lease, Bytes: lease.Bytes}
	outcome := c.nodes[i].r.Propose(c.now, &req)
	if outcome.Verdict == Full {
		lease.Release()
	}
	return outcome
}

// appendDone completes what was asked of the log of a node up to the newest append of op.
func (c *cluster) appendDone(i int, op uint64) {
	n := c.nodes[i]
	last := -1
	for k, w := range n.pending {
		if w.cut == nil && w.entry.Header.Op() == op {
			last = k
		}
	}
	if last < 0 {
		n.r.Done(c.now, Appended{Op: op}) // of nothing that was asked for
		return
	}
	c.work(i, last+1)
}

// work carries out the first k pieces of what was asked of the log of a node.
func (c *cluster) work(i, k int) {
	n := c.nodes[i]
	done := n.pending[:k:k]
	n.pending = n.pending[k:]
	appended := Appended{}
	flush := func() {
		if appended.Seq > 0 {
			n.r.Done(c.now, appended)
			appended = Appended{}
		}
	}
	for _, w := range done {
		if w.cut != nil {
			flush()
			c.cut(n, w.cut)
			continue
		}
		op := w.entry.Header.Op()
		if old, ok := n.log[op]; ok {
			old.Body.Release()
		}
		n.log[op] = w.entry
		appended = Appended{Op: op, Seq: w.entry.Seq}
	}
	flush()
}

func (c *cluster) cut(n *node, t *Truncate) {
	for op, e := range n.log {
		if op >= t.From {
			e.Body.Release()
			delete(n.log, op)
		}
	}
	n.acked[t.View] = max(n.acked[t.View], t.AckedHead)
	n.r.Done(c.now, Truncated{})
}

// load answers what a node was asked to read from its log.
func (c *cluster) load(i int) {
	n := c.nodes[i]
	loads := n.loads
	n.loads = nil
	for _, l := range loads {
		done := Loaded{Load: l, Oldest: 1}
		for op := l.From; op <= l.Up; op++ {
			e, ok := n.log[op]
			if !ok {
				break
			}
			done.Entries = append(done.Entries, e)
		}
		n.r.Done(c.now, done)
		c.drain(i)
	}
}

// appendFailed fails the append of op and of everything behind it.
func (c *cluster) appendFailed(i int, op uint64) {
	n := c.nodes[i]
	failed := Appended{Op: op, Err: errDisk}
	for k, w := range n.pending {
		if w.cut == nil && w.entry.Header.Op() == op {
			failed.Seq = w.entry.Seq
			for _, gone := range n.pending[k:] {
				if gone.cut == nil {
					gone.entry.Body.Release()
				}
			}
			n.pending = n.pending[:k]
			break
		}
	}
	n.r.Done(c.now, failed)
}

func (c *cluster) superblockDone(i int, err error) {
	n := c.nodes[i]
	w := *n.write
	n.write = nil
	if err == nil {
		n.durable, n.written = w, true
	}
	n.r.Done(c.now, SuperblockDone{View: w.View, LogView: w.LogView, Err: err})
}

// deliver hands the k-th frame of a link to its receiver.
func (c *cluster) deliver(from, to, k int) {
	q := c.links[from][to]
	f := q[k]
	c.links[from][to] = append(q[:k:k], q[k+1:]...)
	c.step(from, to, f)
}

func (c *cluster) step(from, to int, f frame) {
	lease := c.pool.Get(len(f.body))
	copy(lease.Bytes, f.body)
	link := Link{Cluster: testCluster, Self: uint8(to), Peer: uint8(from), Replicas: uint8(len(c.nodes)), SizeMax: 1 << 20}
	if reason := CheckFrame(&f.header, lease.Bytes, link); reason != DropNone {
		panic(fmt.Sprintf("%d->%d %s: own frame refused: %s", from, to, describe(&f.header), reason))
	}
	c.nodes[to].r.Step(c.now, Message{From: uint8(from), Header: &f.header, Body: Body{Lease: lease, Bytes: lease.Bytes}})
	lease.Release()
}

// state prints what the accessors of a replica say.
func (c *cluster) state(i int) {
	r := c.nodes[i].r
	role := "backup"
	if r.IsPrimary() {
		role = "primary"
	}
	var drops []string
	for d := DropNone + 1; d < dropReasons; d++ {
		if n := r.Dropped(d); n > 0 {
			drops = append(drops, fmt.Sprintf("%s=%d", strings.ReplaceAll(d.String(), " ", "_"), n))
		}
	}
	if n := r.PrimarySilences(); n > 0 {
		role += fmt.Sprintf(" silences=%d", n)
	}
	deadline := "-"
	if d := r.Deadline(); d != NoDeadline {
		deadline = fmt.Sprint(d)
	}
	c.printf("  %d %s view=%d op=%d durable=%d commit_min=%d commit_max=%d queue=%d applied=%d deadline=%s%s%s", i, role,
		r.View(), r.Op(), r.opDurable, r.CommitMin(), r.CommitMax(), r.queue.count, len(c.nodes[i].machine.applied), deadline,
		map[bool]string{true: " held"}[r.Held()], prefixed(" dropped ", drops))
}

func prefixed(p string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return p + strings.Join(list, " ")
}

// close stops every replica and gives back what the logs hold; the pool must then be empty.
func (c *cluster) close() int64 {
	for i, n := range c.nodes {
		n.r.Stop(c.now)
		n.r.Effects()
		n.r.input(c.now)
		for _, e := range n.log {
			e.Body.Release()
		}
		for _, w := range n.pending {
			if w.cut == nil {
				w.entry.Body.Release()
			}
		}
		c.links[i] = nil
	}
	return c.pool.LiveBytes()
}

func hashOf(b []byte) protocol.Uint128 { return protocol.Uint128From64(xxh3.Hash(b)) }

func fmtReply(op uint64) string { return fmt.Sprintf("did %d %q", op, "body") }

func mustNew(cfg Config) *Replica {
	r, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return r
}
