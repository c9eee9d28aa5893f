package vsr

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
)

// held is one operation in the log of a member: its header, and whether the body is there too.
type held struct {
	header  protocol.PrepareHeader
	present bool
}

// member is a replica as votes describe it. A nil entry of log is a hole that it knows nothing about.
type member struct {
	logView  uint32
	commit   uint64
	accepted uint64 // head that it must not deny
	log      []*held
}

func (m *member) op() uint64 { return uint64(len(m.log)) }

func (m *member) at(op uint64) *held {
	if op == 0 || op > m.op() {
		return nil
	}
	return m.log[op-1]
}

// vote is what the member says about its log.
func (m *member) vote() *vote {
	v := &vote{op: m.op(), commit: min(m.commit, m.op()), logView: m.logView}
	v.suffix.head = v.op
	for i, op := 0, v.op; op >= max(v.commit, 1) && i < SuffixMax; i, op = i+1, op-1 {
		h := m.at(op)
		switch {
		case h == nil:
			blank := Blank(op)
			v.suffix.headers = append(v.suffix.headers, blank[:]...)
			if op > v.commit && op > m.accepted {
				v.nack = withBit(v.nack, i)
			}
		default:
			v.suffix.headers = append(v.suffix.headers, h.header[:]...)
			if h.present {
				v.present = withBit(v.present, i)
			}
		}
	}
	return v
}

// TestMerge_KeepsWhatIsCommitted lives through views of a small group: each begins with the merge of the votes
// of some members, some members adopt its log with or without the bodies, new operations reach some of them,
// and what a replication quorum has is committed. However the votes fall, a merge that decides holds every
// committed operation, and its headers chain.
func TestMerge_KeepsWhatIsCommitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &history{t: t, n: rapid.SampledFrom([]int{2, 3, 4, 5, 7}).Draw(t, "replicas")}
		for range g.n {
			g.members = append(g.members, &member{})
		}
		g.operate()
		for range rapid.IntRange(1, 8).Draw(t, "views") {
			if g.changeView() {
				g.operate()
			}
		}
		if full, verdict := merge(g.votes(g.n), uint8(g.n)); verdict == mergeReady {
			g.holdsCommitted(&full)
		}
	})
}

type history struct {
	t         *rapid.T
	n         int
	view      uint32
	salt      uint64
	members   []*member
	committed []protocol.PrepareHeader
	primary   *member
}

func (g *history) coin(name string) bool { return rapid.Bool().Draw(g.t, name) }

// votes are those of some members, at least as many as given.
func (g *history) votes(least int) *votes {
	var vs votes
	for vs.count() < least {
		i := rapid.IntRange(0, g.n-1).Draw(g.t, "voter")
		vs[i] = g.members[i].vote()
	}
	return &vs
}

// changeView merges the votes of some, too few included, and lets voters adopt the result.
func (g *history) changeView() bool {
	vs := g.votes(rapid.IntRange(1, g.n).Draw(g.t, "votes"))
	merged, verdict := merge(vs, uint8(g.n))
	g.view++
	if verdict != mergeReady {
		return false
	}
	g.holdsCommitted(&merged)
	if !merged.chains() {
		g.t.Fatal("the merged log does not chain")
	}
	g.primary = nil
	for i, v := range vs {
		if v == nil || g.primary != nil && !g.coin("adopts") {
			continue
		}
		g.adopt(g.members[i], &merged, g.primary == nil)
		if g.primary == nil {
			g.primary = g.members[i]
		}
	}
	return true
}

// adopt makes the merged log that of a member. The primary repairs its bodies first, others may lack some.
func (g *history) adopt(m *member, merged *mergedLog, whole bool) {
	before := m.log
	m.log = make([]*held, merged.op)
	for op := uint64(1); op <= merged.op; op++ {
		had := held{}
		if op <= uint64(len(before)) && before[op-1] != nil {
			had = *before[op-1]
		}
		h := merged.of(op)
		switch {
		case h != nil:
			same := had.present && sameOp(&had.header, h)
			m.log[op-1] = &held{header: *h, present: same || whole}
		case op <= uint64(len(g.committed)):
			m.log[op-1] = &held{header: g.committed[op-1], present: true} // far below: transferred
		}
	}
	m.logView, m.commit, m.accepted = g.view, max(m.commit, merged.commitMax), merged.op
}

// operate lets the primary prepare operations that reach some members of its view, and commits what a quorum
// has.
func (g *history) operate() {
	if g.primary == nil {
		g.primary = g.members[0]
	}
	for range rapid.IntRange(0, 5).Draw(g.t, "operations") {
		h := g.prepare()
		for _, m := range g.members {
			if m.logView == g.view && m.op()+1 == h.Op() && (m == g.primary || g.coin("reaches")) {
				m.log = append(m.log, &held{header: h, present: true})
				m.accepted = h.Op()
			}
		}
	}
	for op := uint64(len(g.committed)) + 1; op <= g.primary.op(); op++ {
		holders := 0
		for _, m := range g.members {
			if h := m.at(op); m.logView == g.view && h != nil && h.present && sameOp(&h.header, &g.primary.at(op).header) {
				holders++
			}
		}
		if holders < int(replicationQuorum(uint8(g.n))) {
			break
		}
		g.committed = append(g.committed, g.primary.at(op).header)
	}
	for _, m := range g.members {
		if m.logView == g.view && g.coin("hears of the commit") {
			m.commit = max(m.commit, min(uint64(len(g.committed)), m.op()))
		}
	}
}

func (g *history) prepare() protocol.PrepareHeader {
	p := g.primary
	g.salt++
	var h protocol.PrepareHeader
	h.Common().SetSize(protocol.HeaderSize)
	h.Common().SetCommand(protocol.CommandPrepare)
	h.SetOp(p.op() + 1)
	h.SetCommit(min(uint64(len(g.committed)), p.op()))
	h.SetTimestamp(g.salt)
	h.SetOperation(protocol.OpStoreConsumerOffset)
	if last := p.at(p.op()); last != nil {
		h.SetParent(last.header.Common().Checksum())
	}
	h.Seal()
	return h
}

func (g *history) holdsCommitted(m *mergedLog) {
	if m.op < uint64(len(g.committed)) {
		g.t.Fatalf("%d operations are committed and the merged log ends at %d", len(g.committed), m.op)
	}
	for i := range g.committed {
		if h := m.of(uint64(i) + 1); h != nil && !sameOp(h, &g.committed[i]) {
			g.t.Fatalf("op %d is committed and the merged log has another one", i+1)
		}
	}
}

func TestMerge_Verdicts(t *testing.T) {
	chain := logOf(4, 2)
	full := func(n int, present ...uint64) []*held {
		log := make([]*held, n)
		for i := range log {
			log[i] = &held{header: chain[i].Header, present: true}
		}
		if len(present) > 0 {
			for i := range log {
				log[i].present = false
			}
			for _, op := range present {
				log[op-1].present = true
			}
		}
		return log
	}
	other := logOf(4, 1) // parts from chain at op 2
	for _, tt := range []struct {
		name    string
		members []*member // nil: no vote
		want    mergeVerdict
		op      uint64
	}{
		{"one vote is no quorum of three", []*member{{log: full(2)}, nil, nil}, mergeAwaitsQuorum, 0},
		{"empty logs", []*member{{}, {}, nil}, mergeReady, 0},
		{"a copy and a nack keep it while a third may hold it", []*member{{log: full(2)}, {log: full(1)}, nil}, mergeReady, 2},
		{"two nacks drop it", []*member{{log: full(2)}, {log: full(1)}, {log: full(1)}}, mergeReady, 1},
		{"an older log that ends elsewhere counts as a nack", []*member{
			{logView: 1, log: full(1)}, {log: []*held{{chain[0].Header, true}, {other[1].Header, true}}}, nil}, mergeReady, 1},
		{"a header without a body waits for another vote", []*member{
			{logView: 1, log: full(2, 1)}, {log: full(1)}, nil}, mergeAwaitsVotes, 0},
		{"with every vote in it deadlocks", []*member{
			{logView: 1, log: full(2, 1)}, {log: full(2, 1)}, {log: full(1)}}, mergeDeadlocked, 0},
		{"two canonical members that disagree", []*member{
			{logView: 1, log: full(2)}, {logView: 1, log: []*held{{chain[0].Header, true}, {other[1].Header, true}}},
			{logView: 1, log: full(1)}}, mergeDeadlocked, 0},
		{"a committed operation that a quorum denies", []*member{
			{log: full(2), commit: 2}, {log: full(1)}, {log: full(1)}}, mergeDeadlocked, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var vs votes
			for i, m := range tt.members {
				if m != nil {
					vs[i] = m.vote()
				}
			}
			m, got := merge(&vs, uint8(len(tt.members)))
			if got != tt.want || got == mergeReady && m.op != tt.op {
				t.Errorf("verdict %d, op %d; want %d, op %d", got, m.op, tt.want, tt.op)
			}
		})
	}
}

func TestMerge_TakesWhatAnOlderLogKnowsToBeCommitted(t *testing.T) {
	chain := logOf(4, 2)
	var vs votes
	canonical := &member{logView: 1, commit: 4}
	for i := range chain {
		canonical.log = append(canonical.log, &held{header: chain[i].Header, present: true})
	}
	older := &member{commit: 3, log: canonical.log[:3]}
	vs[0], vs[1] = canonical.vote(), older.vote()
	m, verdict := merge(&vs, 3)
	if verdict != mergeReady || m.op != 4 || len(m.elsewhere) != 1 || m.of(3) == nil || m.of(2) != nil {
		t.Fatalf("verdict %d, op %d, %d from elsewhere", verdict, m.op, len(m.elsewhere))
	}
}

func TestQuorums_MeetEachOther(t *testing.T) {
	for n := uint8(1); n <= ReplicasMax; n++ {
		qr, qv, qn := replicationQuorum(n), viewChangeQuorum(n), nackQuorum(n)
		if qr+qv <= n || qr+qn <= n {
			t.Errorf("N=%d: replication %d, view change %d, nack %d", n, qr, qv, qn)
		}
	}
}
