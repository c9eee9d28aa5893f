package node

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/superblock"
)

// A rehearsal runs the recovery of a start on a file system whose changes are thrown away, so that tools can tell
// what a start would make of a directory. It is the recovery itself, not a description of it: what a start learns
// to refuse or to repair, a rehearsal does, too.

// MetadataRehearsal is what a start makes of the metadata group.
type MetadataRehearsal struct {
	View       *metadata.View
	Sessions   int // entries in the client table
	Superblock superblock.State
	// Sequence is the number of the newest superblock record, 0 when there is none.
	Sequence uint64
	// JournalOps and JournalBytes describe the journal, AckedHead is what its mirror says.
	JournalOps   int
	JournalBytes int64
	AckedHead    uint64
}

// RehearseMetadata recovers the metadata group on o.FS. The error is the one that a start refuses with.
func RehearseMetadata(o Options) (*MetadataRehearsal, error) {
	o.Executor, o.Clock = &rehearsalExecutor{}, SystemClock()
	n := newNode(o)
	if err := makeDirs(n.fs, n.layout.Path(), n.layout.Metadata()); err != nil {
		return nil, fmt.Errorf("metadata directory: %w", err)
	}
	err := n.openMetadata(o.Metadata)
	if n.meta != nil && n.meta.journal != nil {
		defer func() { _ = n.meta.journal.Close() }() // nothing of it is kept
	}
	if err != nil {
		return nil, err
	}
	m := n.meta
	r := &MetadataRehearsal{
		View: n.View(), Sessions: m.state.SessionsCount(), Sequence: m.block.store.Sequence(),
		JournalOps: m.journal.Len(), JournalBytes: m.journal.SizeBytes(), AckedHead: m.journal.AckedHead(),
	}
	r.Superblock, _ = m.block.store.State()
	return r, nil
}

// Rehearsal is what a start makes of a data directory: a node that was opened and never started.
type Rehearsal struct{ node *Node }

// PartitionRehearsal is what a start makes of one partition.
type PartitionRehearsal struct {
	Superblock superblock.State
	// NextOffset is the one that the next message would get.
	NextOffset uint64
	// WantsPurge: the partition has not followed the newest purge that the metadata knows.
	WantsPurge bool
}

// Rehearse opens a whole data directory on o.FS, up to where requests would be let in. The error is the one that a
// start refuses with. It holds as much memory as a start, and what o.FS keeps of what a start writes.
func Rehearse(o Options) (*Rehearsal, error) {
	exec := &rehearsalExecutor{}
	o.Executor, o.Clock = exec, SystemClock()
	n, err := Open(o)
	if err != nil {
		return nil, err
	}
	for exec.Help() { // what nobody waits for, such as removals
	}
	return &Rehearsal{n}, n.meta.journal.Close()
}

// ErrNoDirectory says that a partition has no directory that a start opens.
var ErrNoDirectory = errors.New("the partition was never used, or the metadata does not know it")

// Partition tells what became of a partition. The error is a *FenceError or ErrNoDirectory.
func (r *Rehearsal) Partition(id protocol.GroupID) (*PartitionRehearsal, error) {
	n := r.node
	if f := n.Fenced(id); f != nil {
		return nil, f
	}
	g := n.shards[n.shardIndex(id)].groups[id]
	p, _, ok := n.View().PartitionByID(id.Partition())
	if g == nil || !ok {
		return nil, ErrNoDirectory
	}
	out := &PartitionRehearsal{NextOffset: g.part.MintFrontier(), WantsPurge: g.part.WantsPurge(p.PurgeGeneration)}
	if g.block.store != nil {
		out.Superblock, _ = g.block.store.State()
	}
	return out, nil
}

// rehearsalExecutor keeps tasks until somebody helps: nothing runs beside the rehearsal.
type rehearsalExecutor struct{ tasks []func() }

func (e *rehearsalExecutor) Submit(_ *Lane, run func()) { e.tasks = append(e.tasks, run) }

func (e *rehearsalExecutor) Help() bool {
	if len(e.tasks) == 0 {
		return false
	}
	run := e.tasks[0]
	e.tasks = e.tasks[1:]
	run()
	return true
}

func (e *rehearsalExecutor) Close() {}
