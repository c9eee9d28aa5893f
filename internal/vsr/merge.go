package vsr

import "github.com/galgolog/galgo/internal/protocol"

// vote is a DoViewChange as the candidate of the view keeps it.
type vote struct {
	op, commit uint64
	logView    uint32
	nack       protocol.Uint128
	present    protocol.Uint128
	suffix     Suffix // memory of its own
}

// header is what the sender knows of op, nil when nothing.
func (v *vote) header(op uint64) *protocol.PrepareHeader { return v.suffix.Of(op) }

// has reports whether the sender can serve op.
func (v *vote) has(op uint64) bool { return v.header(op) != nil && bit(v.present, int(v.op-op)) }

// nacks reports whether the sender says that it never prepared op.
func (v *vote) nacks(op uint64) bool {
	return v.op < op || v.op-op < uint64(v.suffix.Len()) && bit(v.nack, int(v.op-op))
}

// votes are the DoViewChanges for one view, by sender. Nil entries have not come.
type votes [ReplicasMax]*vote

func (vs *votes) count() (n int) {
	for _, v := range vs {
		if v != nil {
			n++
		}
	}
	return n
}

// mergeVerdict says how far the votes carry.
type mergeVerdict uint8

const (
	mergeAwaitsQuorum mergeVerdict = iota // too few votes
	mergeAwaitsVotes                      // an operation can be neither kept nor dropped yet; another vote may tell
	mergeDeadlocked                       // the same, and every vote is in; or the votes contradict each other
	mergeReady
)

// mergedLog is the log that a view starts with.
type mergedLog struct {
	op, commitMax uint64
	// headers are of op, op-1, ... down to max(commitMax, 1); they hash-chain.
	headers []protocol.PrepareHeader
	// elsewhere are headers below those, descending, that chain to them and were committed in an older view
	// by a sender that the others may not have heard.
	elsewhere []protocol.PrepareHeader
}

// of returns the header of an op that the merge decided upon, or nil.
func (m *mergedLog) of(op uint64) *protocol.PrepareHeader {
	if op <= m.op && m.op-op < uint64(len(m.headers)) {
		return &m.headers[m.op-op]
	}
	for i := range m.elsewhere {
		if m.elsewhere[i].Op() == op {
			return &m.elsewhere[i]
		}
	}
	return nil
}

// first is the lowest op that headers describes.
func (m *mergedLog) first() uint64 { return max(m.commitMax, 1) }

// merge finds the log that a new view has to start with. An operation that may be committed is always kept:
// a replication quorum holds it, so that a quorum of nacks cannot exist. One that a quorum never prepared is
// dropped with everything above it. Operations of which neither is proven hold the view up.
func merge(vs *votes, replicas uint8) (mergedLog, mergeVerdict) {
	quorum := viewChangeQuorum(replicas)
	if vs.count() < int(quorum) {
		return mergedLog{}, mergeAwaitsQuorum
	}
	canonical := uint32(0)
	for _, v := range vs {
		if v != nil {
			canonical = max(canonical, v.logView)
		}
	}
	m := mergedLog{commitMax: mergedCommit(vs)}
	m.op = m.commitMax
	for _, v := range vs {
		if v != nil && v.logView == canonical {
			m.op = max(m.op, v.op)
		}
	}
	if m.op == 0 {
		return m, mergeReady
	}
	if verdict := m.decide(vs, canonical, replicas); verdict != mergeReady {
		return mergedLog{}, verdict
	}
	if !m.chains() || !m.collectElsewhere(vs, canonical) {
		return mergedLog{}, mergeDeadlocked
	}
	return m, mergeReady
}

// mergedCommit is the highest commit point that the votes prove: what senders know, what their heads say,
// and that nobody ever has more than the deepest pipeline uncommitted.
func mergedCommit(vs *votes) (commit uint64) {
	for _, v := range vs {
		if v == nil {
			continue
		}
		commit = max(commit, v.commit, v.op-min(v.op, prepareDepthMax))
		if h := v.header(v.op); h != nil {
			commit = max(commit, h.Commit())
		}
	}
	return commit
}

// decide goes up from the commit point and keeps operations until one is proven never to have been
// committed.
func (m *mergedLog) decide(vs *votes, canonical uint32, replicas uint8) mergeVerdict {
	head := m.op
	kept := make([]*protocol.PrepareHeader, 0, head-m.first()+1)
	for op := m.first(); op <= head; op++ {
		t := tallyOf(vs, canonical, op)
		switch {
		case t.nacks >= int(nackQuorum(replicas)) && op <= m.commitMax:
			return mergeDeadlocked
		case t.nacks >= int(nackQuorum(replicas)):
			head = op - 1
		case t.conflict || t.header == nil || t.copies == 0:
			if vs.count() < int(replicas) {
				return mergeAwaitsVotes
			}
			return mergeDeadlocked
		default:
			kept = append(kept, t.header)
		}
	}
	m.op = head
	for i := len(kept) - 1; i >= 0; i-- {
		m.headers = append(m.headers, *kept[i])
	}
	return mergeReady
}

// tally is what the votes say about one op.
type tally struct {
	header   *protocol.PrepareHeader // the canonical one
	conflict bool                    // two canonical senders hold different ones
	nacks    int
	copies   int
}

// tallyOf counts. Canonical are the senders whose log is of the newest view: what they hold is the log of that
// view, and an older log with something else there had dropped it, or never had it.
func tallyOf(vs *votes, canonical uint32, op uint64) (t tally) {
	for _, v := range vs {
		if v == nil || v.logView != canonical || v.header(op) == nil {
			continue
		}
		if t.header != nil && !sameOp(t.header, v.header(op)) {
			t.conflict = true
		}
		t.header = v.header(op)
	}
	for _, v := range vs {
		if v == nil {
			continue
		}
		held := v.header(op)
		switch {
		case v.nacks(op):
			t.nacks++
		case held == nil:
		case v.logView < canonical && (t.header == nil || !sameOp(t.header, held)):
			t.nacks++
		case t.header != nil && sameOp(t.header, held) && v.has(op):
			t.copies++
		}
	}
	return t
}

func sameOp(a, b *protocol.PrepareHeader) bool { return a.Common().Checksum() == b.Common().Checksum() }

// chains reports whether every header names the one below it.
func (m *mergedLog) chains() bool {
	for i := 1; i < len(m.headers); i++ {
		if m.headers[i-1].Parent() != m.headers[i].Common().Checksum() {
			return false
		}
	}
	return true
}

// collectElsewhere adds what senders with an older log know to be committed below the canonical headers,
// as far as it chains to them. It reports false when two of them contradict each other.
func (m *mergedLog) collectElsewhere(vs *votes, canonical uint32) bool {
	if len(m.headers) == 0 {
		return true
	}
	above := &m.headers[len(m.headers)-1]
	for op := m.first() - 1; op > 0 && m.commitMax-op < SuffixMax; op-- {
		var found *protocol.PrepareHeader
		for _, v := range vs {
			if v == nil || v.logView == canonical || op > v.commit || v.header(op) == nil {
				continue
			}
			h := v.header(op)
			if found != nil && !sameOp(found, h) {
				return false
			}
			found = h
		}
		if found == nil || above.Parent() != found.Common().Checksum() {
			return true
		}
		m.elsewhere = append(m.elsewhere, *found)
		above = &m.elsewhere[len(m.elsewhere)-1]
	}
	return true
}

// viewChangeQuorum is the number of votes that start a view: it meets every replication quorum.
func viewChangeQuorum(replicas uint8) uint8 {
	if replicas == 2 {
		return 2
	}
	return replicas - replicationQuorum(replicas) + 1
}

// nackQuorum is the number of replicas whose never having prepared an operation proves that it was not
// committed: too few others are left for a replication quorum.
func nackQuorum(replicas uint8) uint8 { return replicas - replicationQuorum(replicas) + 1 }
