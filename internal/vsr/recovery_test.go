package vsr

import (
	"errors"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// logOf returns a log of n operations, each of which names the operation lag before it as committed.
func logOf(n, lag int) []Entry {
	var entries []Entry
	var parent protocol.Uint128
	for op := uint64(1); op <= uint64(n); op++ {
		var e Entry
		h, c := &e.Header, e.Header.Common()
		e.Body.Bytes = []byte{byte(op)}
		c.SetCluster(testCluster)
		c.SetSize(protocol.HeaderSize + 1)
		c.SetCommand(protocol.CommandPrepare)
		c.SetRevision(3)
		h.SetOp(op)
		h.SetCommit(op - min(op, uint64(lag)))
		h.SetParent(parent)
		h.SetTimestamp(1000 + op)
		h.SetOperation(protocol.OpStoreConsumerOffset)
		h.SetGroup(uint64(testGroup))
		c.SetChecksumBody(hashOf(e.Body.Bytes))
		h.Seal()
		parent = c.Checksum()
		entries = append(entries, e)
	}
	return entries
}

func recovered(replicas, replica uint8, entries []Entry, commitMin uint64) (*Replica, *recorder) {
	m := &recorder{}
	start := Start{ViewDurable: true, CommitMin: commitMin}
	if len(entries) > 0 {
		start.Head = &entries[len(entries)-1].Header
	}
	return mustNew(Config{Group: testGroup, Cluster: testCluster, Replica: replica, Replicas: replicas, Revision: 3,
		Incarnation: protocol.Uint128{Lo: 1}, Machine: m, PrepareDepth: 4, Start: start}), m
}

func TestRecovered_SoloAppliesItsWholeLog(t *testing.T) {
	entries := logOf(100, 1)
	r, m := recovered(1, 0, entries, 0)
	if o := r.Propose(Time{}, &Request{}); o.Verdict != Denied || o.Code != protocol.CodeTransientNotAccepted {
		t.Fatalf("proposal before recovery: %v", o)
	}
	for k := 0; k < 100; k += 7 {
		batch := entries[k:min(k+7, 100)]
		if n, err := r.Recovered(Time{}, batch); n != len(batch) || err != nil {
			t.Fatalf("took %d of %d: %v", n, len(batch), err)
		}
	}
	if r.CommitMin() != 100 || len(m.applied) != 100 {
		t.Fatalf("applied %d", r.CommitMin())
	}
	if e := r.Effects(); len(e.Appends)+len(e.Replies)+len(e.Sends) != 0 {
		t.Fatalf("recovery has effects: %+v", e)
	}
	r.Propose(Time{Micros: 5}, &Request{Operation: protocol.OpStoreConsumerOffset})
	h := &r.Effects().Appends[0].Header
	if h.Op() != 101 || h.Parent() != entries[99].Header.Common().Checksum() || h.Timestamp() != 1101 {
		t.Fatalf("next operation %d, timestamp %d, or another parent", h.Op(), h.Timestamp())
	}
}

func TestRecovered_WaitsWhileTheMachineHolds(t *testing.T) {
	entries := logOf(30, 1)
	r, m := recovered(1, 0, entries, 0)
	m.holdAt = 3
	n, err := r.Recovered(Time{}, entries)
	if err != nil || n != 6 {
		t.Fatalf("took %d, %v: want the 2 applied and a depth of 4", n, err)
	}
	m.holdAt = 0
	r.Resume(Time{})
	if more, err := r.Recovered(Time{}, entries[n:]); err != nil || more != len(entries)-n || r.CommitMin() != 30 {
		t.Fatalf("took %d more, applied %d: %v", more, r.CommitMin(), err)
	}
}

func TestRecovered_RefusesWhatDoesNotChain(t *testing.T) {
	var chain *ChainError
	entries := logOf(5, 1)
	r, _ := recovered(1, 0, entries, 0)
	if n, err := r.Recovered(Time{}, []Entry{entries[0], entries[2]}); n != 1 || !errors.As(err, &chain) || chain.Op != 3 || chain.Want != 2 {
		t.Fatalf("gap: took %d, %v", n, err)
	}
	other := logOf(5, 2) // parts from entries at op 2
	if n, err := r.Recovered(Time{}, []Entry{entries[1], other[2]}); n != 1 || !errors.As(err, &chain) || chain.Op != 3 {
		t.Fatalf("other chain: took %d, %v", n, err)
	}
	if n, err := r.Recovered(Time{}, entries[2:]); n != 3 || err != nil {
		t.Fatalf("took %d, %v", n, err)
	}
	if n, err := r.Recovered(Time{}, logOf(6, 1)[5:]); n != 0 || !errors.As(err, &chain) {
		t.Fatalf("beyond the head: took %d, %v", n, err)
	}
}

// A start above a snapshot knows the identity of the operation that the snapshot ends with: the log above must
// begin right behind it and name it.
func TestRecovered_TheFirstEntryChainsToTheSnapshot(t *testing.T) {
	entries, other := logOf(5, 1), logOf(5, 2) // they part at op 2
	start := func() *Replica {
		return mustNew(Config{Group: testGroup, Cluster: testCluster, Replicas: 1, Revision: 3, Incarnation: protocol.Uint128{Lo: 1},
			Machine: &recorder{}, Start: Start{
				ViewDurable: true, CommitMin: 3, Head: &entries[4].Header, CommitChecksum: entries[2].Header.Common().Checksum(),
			}})
	}
	var chain *ChainError
	if n, err := start().Recovered(Time{}, other[3:]); n != 0 || !errors.As(err, &chain) || chain.Op != 4 || chain.Want != 4 {
		t.Fatalf("another log: took %d, %v", n, err)
	}
	if n, err := start().Recovered(Time{}, entries[4:]); n != 0 || !errors.As(err, &chain) || chain.Op != 5 || chain.Want != 4 {
		t.Fatalf("a gap behind the snapshot: took %d, %v", n, err)
	}
	r := start()
	if n, err := r.Recovered(Time{}, entries[3:]); n != 2 || err != nil || r.CommitMin() != 5 {
		t.Fatalf("took %d, applied %d, %v", n, r.CommitMin(), err)
	}
}

func TestRecovered_MemberAppliesOnlyWhatItsLogProves(t *testing.T) {
	entries := logOf(6, 3) // op k names k-3 as committed
	backup, m := recovered(3, 1, entries, 1)
	if _, err := backup.Recovered(Time{}, entries[1:]); err != nil {
		t.Fatal(err)
	}
	if backup.CommitMin() != 3 || backup.Op() != 6 || len(m.applied) != 2 {
		t.Fatalf("applied %d of %d", backup.CommitMin(), backup.Op())
	}
	primary, _ := recovered(3, 0, entries, 1)
	if _, err := primary.Recovered(Time{}, entries[1:]); err != nil {
		t.Fatal(err)
	}
	if primary.CommitMin() != 3 || primary.CommitMax() != 3 {
		t.Fatalf("the primary committed %d alone", primary.CommitMax())
	}
	primary.Tick(Time{Ticks: 1})
	primary.Effects()
	primary.Tick(Time{Ticks: primary.Deadline()})
	sends := primary.Effects().Sends
	if len(sends) != 6 {
		t.Fatalf("%d frames retransmit three operations to two backups", len(sends))
	}
}

func TestRecovered_SuffixIsAppliedOnceThePrimaryVouchesForIt(t *testing.T) {
	entries := logOf(6, 3)
	r, _ := recovered(3, 1, entries, 0)
	if _, err := r.Recovered(Time{}, entries); err != nil {
		t.Fatal(err)
	}
	commit := func(heartbeat, op uint64, checksum protocol.Uint128) {
		var c CommitHeader
		c.Common().SetCommand(protocol.CommandCommit)
		c.Common().SetSize(protocol.HeaderSize)
		c.Common().SetRevision(3)
		c.SetTimestampMonotonic(heartbeat)
		c.SetCommit(op)
		c.SetCommitChecksum(checksum)
		c.SetGroup(testGroup)
		r.Step(Time{}, Message{From: 0, Header: c.Common()})
	}
	commit(1, 9, protocol.Uint128{Lo: 1})
	if r.CommitMax() != 9 || r.CommitMin() != 3 {
		t.Fatalf("a number alone made %d operations of another primary's view count", r.CommitMin())
	}
	commit(2, 6, entries[5].Header.Common().Checksum())
	if r.CommitMin() != 6 {
		t.Fatalf("applied %d once op 6 was named", r.CommitMin())
	}
}

func TestNew_RefusesAnImpossibleConfig(t *testing.T) {
	good := Config{Replicas: 3, Machine: &recorder{}}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no replicas":       func(c *Config) { c.Replicas = 0 },
		"too many replicas": func(c *Config) { c.Replicas = 33 },
		"id out of range":   func(c *Config) { c.Replica = 3 },
		"depth":             func(c *Config) { c.PrepareDepth = 128 },
		"machine":           func(c *Config) { c.Machine = nil },
		"log view":          func(c *Config) { c.Start.LogView = 1 },
		"no head":           func(c *Config) { c.Start.CommitMin = 1 },
		"head below":        func(c *Config) { c.Start.CommitMin = 9; c.Start.Head = &logOf(1, 1)[0].Header },
	} {
		bad := good
		change(&bad)
		if _, err := New(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestReplicationQuorum_LeavesAnIntersection(t *testing.T) {
	want := []uint8{1, 2, 2, 2, 3, 3, 3, 3, 3}
	for n := uint8(1); n <= ReplicasMax; n++ {
		q := replicationQuorum(n)
		if int(n) <= len(want) && q != want[n-1] {
			t.Errorf("N=%d: %d, want %d", n, q, want[n-1])
		}
		if view := n - q + 1; q+view <= n {
			t.Errorf("N=%d: replication quorum %d and view change quorum %d do not meet", n, q, view)
		}
	}
}

func TestGate_WedgedSuperblockBreaksTheReplica(t *testing.T) {
	r := mustNew(Config{Group: testGroup, Replicas: 1, Machine: &recorder{}, SuperblockFailuresMax: 3})
	r.Propose(Time{}, &Request{Operation: protocol.OpStoreConsumerOffset})
	ticks := uint64(0)
	for n := 1; n <= 3; n++ {
		if r.Effects().Superblock == nil {
			t.Fatalf("attempt %d: no write is asked for", n)
		}
		r.Done(Time{Ticks: ticks}, SuperblockDone{Err: errDisk})
		if got := r.SuperblockFailures(); got != n {
			t.Fatalf("%d failures, want %d", got, n)
		}
		if broken := r.Effects().Broken; (broken != nil) != (n == 3) || n == 3 && !errors.Is(broken, ErrSuperblockWedged) {
			t.Fatalf("after %d failures: %v", n, broken)
		}
		ticks = r.Deadline()
		r.Tick(Time{Ticks: ticks})
	}
}

func TestGate_TakesTheViewThatWasWritten(t *testing.T) {
	r := mustNew(Config{Group: testGroup, Replicas: 1, Machine: &recorder{}, Start: Start{View: 5, LogView: 5}})
	r.Propose(Time{}, &Request{Operation: protocol.OpStoreConsumerOffset, Waiter: "w"})
	r.Effects()
	r.Done(Time{}, Appended{Op: 1})
	r.Done(Time{}, SuperblockDone{View: 4, LogView: 4})
	e := r.Effects()
	if len(e.Replies) != 0 || e.Superblock == nil || e.Superblock.View != 5 {
		t.Fatalf("view 4 on disk speaks for view 5: %+v", e)
	}
	r.Done(Time{}, SuperblockDone{View: 5, LogView: 5})
	if len(r.Effects().Replies) != 1 {
		t.Fatal("nothing committed once view 5 was durable")
	}
}
