package node

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
)

// metaGroup is the metadata group on this node: replica, state machine and journal. It lives on shard 0.
type metaGroup struct {
	shard   *shard
	replica *vsr.Replica
	state   *metadata.State
	view    atomic.Pointer[metadata.View]
	journal *wal.Journal
	depth   uint64 // prepares in flight at most
	lane    Lane

	block      metaBlock
	checkpoint checkpointer

	waiting  workQueue
	gathered []journalEntry
	spare    []journalEntry
	writing  bool // a journal batch is on its way
	// proposedHandovers are the hand-overs in sight, and the tick before which their end is not proposed again.
	proposedHandovers map[metadata.Handover]uint64
	failed            bool
	scratch           vsr.Reply
}

// journalEntry is a prepare on its way to the journal, with a reference of its own on the body.
type journalEntry struct {
	header protocol.PrepareHeader
	body   vsr.Body
}

// View is the metadata as applied, immutable. Never nil.
func (n *Node) View() *metadata.View { return n.meta.view.Load() }

// MetadataCommit is the newest applied metadata operation.
func (n *Node) MetadataCommit() uint64 { return n.View().Revision }

func (m *metaGroup) enqueue(w *Work) {
	m.waiting.push(w)
	m.shard.metaHot = true
}

// run carries the group as far as it can go in this pass.
func (m *metaGroup) run() {
	for !m.failed && m.step() {
	}
	if m.waiting.head != nil {
		m.shard.wantTick()
	}
}

func (m *metaGroup) step() bool {
	progress := m.propose()
	eff := m.replica.Effects()
	if m.replica.CommitMin() != m.view.Load().Revision {
		m.publish()
	}
	for i := range eff.Replies {
		m.shard.answered(eff.Replies[i].Waiter, &eff.Replies[i])
	}
	if eff.Broken != nil {
		m.fail(eff.Broken)
		return false
	}
	if eff.Superblock != nil {
		m.block.wantView = true
	}
	for _, e := range eff.Appends {
		e.Body.Retain()
		m.gathered = append(m.gathered, journalEntry{e.Header, e.Body})
	}
	replies := len(eff.Replies) > 0
	m.writeSuperblock()
	m.writeJournal()
	return progress || replies
}

func (m *metaGroup) propose() bool {
	progress := false
	for m.waiting.head != nil {
		if !m.hasRoom() {
			return progress
		}
		w := m.waiting.head
		outcome := m.replica.Propose(m.shard.now, &w.Request)
		if outcome.Verdict == vsr.Full {
			return progress
		}
		m.waiting.pop()
		progress = true
		if outcome.Verdict != vsr.Accepted {
			m.scratch = vsr.Reply{Waiter: w.Request.Waiter, Request: &w.Request, Outcome: outcome}
			m.shard.answered(w.Request.Waiter, &m.scratch)
		}
	}
	return progress
}

// publish makes the applied state visible and tells shards what changed, before any reply that depends on it.
func (m *metaGroup) publish() {
	m.view.Store(m.state.View())
	changes := m.state.Drain()
	m.shard.node.reconcile(changes)
	m.noteSessions(&changes)
}

// writeJournal starts the next batch: everything that gathered while the last one was synced.
func (m *metaGroup) writeJournal() {
	if m.writing || len(m.gathered) == 0 {
		return
	}
	m.checkpointIfDue()
	batch := m.gathered
	m.gathered, m.spare = m.spare[:0], nil
	m.writing = true
	first, last := batch[0].header.Op(), batch[len(batch)-1].header.Op()
	m.submit(func() error { return m.appendBatch(batch) }, func(err error) {
		m.writing = false
		m.releaseEntries(batch)
		m.spare = batch[:0]
		if err != nil {
			m.shard.node.log.Error("metadata journal", "op", first, "error", err)
			m.shard.node.noteDiskError(err)
			m.releaseEntries(m.gathered)
			m.gathered = m.gathered[:0]
			m.replica.Done(m.shard.now, vsr.Appended{Op: first, Err: err})
			if errors.Is(err, wal.ErrPoisoned) {
				m.fail(err) // nothing can be written any more; a start recovers what is on the disk
			}
			return
		}
		m.shard.node.metrics.journalWrites.Inc()
		m.replica.Done(m.shard.now, vsr.Appended{Op: last})
	})
}

func (m *metaGroup) appendBatch(batch []journalEntry) error {
	entries := make([]wal.Entry, len(batch))
	for i := range batch {
		entries[i] = wal.Entry{Header: &batch[i].header, Body: batch[i].body.Bytes}
	}
	return m.journal.AppendBatch(entries)
}

func (m *metaGroup) releaseEntries(entries []journalEntry) {
	for i := range entries {
		entries[i].body.Release()
	}
	clear(entries)
}

// submit has a task run in the order of appends and superblock writes, and done in a pass afterwards.
func (m *metaGroup) submit(task func() error, done func(error)) { m.submitTo(&m.lane, task, done) }

func (m *metaGroup) submitTo(lane *Lane, task func() error, done func(error)) {
	m.shard.node.exec.Submit(lane, func() {
		err := task()
		m.shard.postCompletion(completion{done: func() {
			m.shard.metaHot = true
			if !m.failed {
				done(err)
			}
		}})
	})
}

// tick lets timers fire and answers what waited too long.
func (m *metaGroup) tick() {
	now := m.shard.now
	if now.Ticks >= m.replica.Deadline() {
		m.replica.Tick(now)
		m.shard.metaHot = true
	}
	for m.waiting.head != nil && now.Ticks-m.waiting.head.arrived > ticksPerSecond {
		w := m.waiting.pop()
		w.Request.Body.Release()
		m.scratch = vsr.Reply{Waiter: w.Request.Waiter, Request: &w.Request,
			Outcome: vsr.Outcome{Verdict: vsr.Framed, Code: protocol.CodeTransientNotAccepted}}
		m.shard.answered(w.Request.Waiter, &m.scratch)
	}
	m.completeRevocations()
	m.checkpointIfDue()
}

// Exit codes of a node that cannot go on.
const (
	ExitLogFrontier      = 2
	ExitSuperblockWedged = 3
)

// fail stops the metadata group: without it the node cannot keep its promises, so the process ends.
func (m *metaGroup) fail(err error) {
	m.failed = true
	code := ExitLogFrontier
	if errors.Is(err, vsr.ErrSuperblockWedged) {
		code = ExitSuperblockWedged
	}
	m.shard.node.fatal(code, fmt.Errorf("metadata group: %w", err))
}

// EachSession calls f for every session in the client table. It must run before requests are submitted.
func (n *Node) EachSession(f func(metadata.Session)) {
	s := n.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range n.meta.state.AllSessions() {
		f(e)
	}
}
