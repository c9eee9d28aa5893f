package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vsr"
	"github.com/galgolog/galgo/internal/wal"
)

// MetadataOptions are what the metadata group begins with.
type MetadataOptions struct {
	JournalSlots int
	// ClientsTableMax is fixed by the first boot of a cluster; another value refuses to start.
	ClientsTableMax int
	// PrepareDepth is the number of metadata operations in flight, 0 for the default of 32.
	PrepareDepth int
	// SuperblockFailuresMax is the number of failed superblock writes in a row after which the process ends
	// with exit code 3; 0 means 120, below 0 never.
	SuperblockFailuresMax int
	// Root gives the name and password hash of the first user. It is called when the log is empty, and only
	// then.
	Root func() (name, hash string, err error)
	// JournalEpoch is random per boot.
	JournalEpoch uint64
}

// openMetadata recovers the metadata group. Nothing is decoded before what vouches for it is verified, and
// nothing that contradicts is guessed about: see boot_errors.go for what refuses.
func (n *Node) openMetadata(o MetadataOptions) error {
	dir := n.layout.Metadata()
	frame, err := snapshot.Read(n.fs, n.snapshotPath())
	if err != nil {
		return err
	}
	store, outcome, err := superblock.Open(n.fs, dir)
	if err != nil {
		return err
	}
	state, present := store.State()
	if present {
		if err := state.CheckIdentity(n.cluster, n.replicaID, n.replicas); err != nil {
			return err
		}
	}
	m := &metaGroup{shard: n.shards[0], block: metaBlock{store: store}}
	n.meta, n.shards[0].meta = m, m
	m.depth = uint64(cmp.Or(o.PrepareDepth, metadataDepthDefault))
	m.checkpoint = checkpointer{
		slots: uint64(o.JournalSlots), margin: max(checkpointMarginMin, m.depth),
		paired: mark{state.CheckpointOp, state.CheckpointChecksum},
	}
	if err := m.restore(frame, o.ClientsTableMax); err != nil {
		return err
	}
	headers, err := m.openJournal(o, outcome == superblock.Present || frame != nil)
	if err != nil {
		return err
	}
	if outcome == superblock.Empty && len(headers) > 0 {
		n.log.Warn("metadata journal without a superblock: recovered from the journal", "ops", len(headers))
	}
	if err := m.replay(m.start(state, present, headers), headers, o); err != nil {
		return err
	}
	return m.bootstrap(o)
}

// metadataDepthDefault is the number of metadata operations in flight when nothing else is configured.
const metadataDepthDefault = 32

// restore makes the state from the snapshot, if there is one and it is the one that the superblock names, or a
// newer one: a crash may come between the two writes.
func (m *metaGroup) restore(frame *snapshot.Frame, clientsTableMax int) error {
	n, named := m.shard.node, m.checkpoint.paired
	dir := n.layout.Metadata()
	if frame == nil {
		if named.op > 0 {
			return &SnapshotMissingError{Dir: dir, CheckpointOp: named.op}
		}
		m.state = metadata.New()
		return nil
	}
	switch {
	case named.op > frame.Op:
		return &CheckpointAheadOfSnapshotError{Dir: dir, CheckpointOp: named.op, SnapshotOp: frame.Op}
	case named.op == frame.Op && named.checksum != frame.Checksum:
		return &CheckpointChecksumError{Dir: dir, Op: frame.Op, Expected: named.checksum, Actual: frame.Checksum}
	case int(frame.ClientsTableMax) != clientsTableMax:
		return &ClientsTableError{Stored: int(frame.ClientsTableMax), Configured: clientsTableMax}
	}
	if named.op < frame.Op {
		// The crash may have come before the name of the snapshot was durable. The superblock that will name
		// it must not be durable first.
		if err := n.fs.SyncDir(dir); err != nil {
			return fmt.Errorf("metadata directory: %w", err)
		}
	}
	var err error
	m.state, err = metadata.RestoreFrame(frame)
	m.checkpoint.written = mark{frame.Op, frame.Checksum}
	n.metrics.snapshotBytes.Store(uint64(len(frame.Bytes)))
	return err
}

// openJournal opens the journal and returns the headers of what it holds from the operation on that the
// snapshot ends with. used tells that the group was written to before.
func (m *metaGroup) openJournal(o MetadataOptions, used bool) ([]protocol.PrepareHeader, error) {
	n, covered := m.shard.node, m.checkpoint.written.op
	dir := n.layout.Metadata()
	journal, found, err := wal.Open(n.fs, dir, wal.Options{
		Cluster: n.cluster, Replica: n.replicaID, Slots: o.JournalSlots, Epoch: o.JournalEpoch,
		SnapshotOp: covered, MustExist: used,
	})
	if errors.Is(err, wal.ErrAbsent) {
		return nil, &JournalMissingError{dir}
	}
	if err != nil {
		return nil, err
	}
	m.journal = journal
	if found.Cut != nil {
		n.log.Warn("incomplete end of the metadata journal was cut off", "cut", *found.Cut)
	}
	headers := found.Headers
	head := uint64(0)
	if len(headers) > 0 {
		head = headers[len(headers)-1].Op()
		m.checkpoint.undrained = headers[0].Op() < covered
	}
	if head < covered {
		return nil, &JournalBehindSnapshotError{dir, head, covered}
	}
	return slices.DeleteFunc(headers, func(h protocol.PrepareHeader) bool { return h.Op() < covered }), nil
}

// start is what recovery knows before the replay. Without a superblock the newest entry tells the view.
func (m *metaGroup) start(state superblock.State, present bool, headers []protocol.PrepareHeader) vsr.Start {
	s := vsr.Start{
		View: state.View, LogView: state.LogView, ViewDurable: present,
		CommitMin: m.checkpoint.written.op, Timestamp: m.state.Timestamp(),
	}
	if len(headers) == 0 {
		return s
	}
	s.Head = &headers[len(headers)-1]
	if !present {
		s.View = s.Head.Common().View()
		s.LogView = s.View
	}
	if first := &headers[0]; first.Op() == s.CommitMin {
		s.CommitChecksum = first.Common().Checksum()
	}
	return s
}

// replay applies what the journal holds above the snapshot. On a solo node all of it is committed.
func (m *metaGroup) replay(start vsr.Start, headers []protocol.PrepareHeader, o MetadataOptions) error {
	n := m.shard.node
	var err error
	m.replica, err = vsr.New(vsr.Config{
		Group: protocol.MetadataGroup, Cluster: n.cluster, Replica: n.replicaID, Replicas: n.replicas,
		Incarnation: n.incarnation, Machine: m.state, Sessions: m.state, PrepareDepth: o.PrepareDepth,
		SuperblockFailuresMax: o.SuperblockFailuresMax, Start: start,
	})
	if err != nil {
		return err
	}
	now := n.clock.Now()
	for i := range headers {
		op := headers[i].Op()
		if op <= start.CommitMin {
			continue
		}
		h, body, err := m.journal.Read(op)
		if err != nil {
			return &ReplayReadError{Op: op, Cause: err}
		}
		if _, err := m.replica.Recovered(now, []vsr.Entry{{Header: h, Body: vsr.Body{Bytes: body}}}); err != nil {
			var chain *vsr.ChainError
			if errors.As(err, &chain) {
				return &JournalGapError{Dir: n.layout.Metadata(), Op: op, Want: chain.Want, SnapshotOp: start.CommitMin}
			}
			return fmt.Errorf("replay op %d: %w", op, err)
		}
		if m.replica.Effects().Superblock != nil {
			m.block.wantView = true // the gate has asked for it and asks only once
		}
	}
	m.state.Drain()
	m.view.Store(m.state.View())
	return nil
}

// bootstrap puts the first operation into the log of a new cluster, and refuses a client table of another
// capacity than that of an existing one.
func (m *metaGroup) bootstrap(o MetadataOptions) error {
	if m.replica.Op() > 0 {
		if stored := m.state.ClientsTableMax(); stored != o.ClientsTableMax {
			return &ClientsTableError{Stored: stored, Configured: o.ClientsTableMax}
		}
		return nil
	}
	name, hash, err := o.Root()
	if err != nil {
		return fmt.Errorf("root user: %w", err)
	}
	body := metadata.Bootstrap{ClientsTableMax: uint32(o.ClientsTableMax), RootName: name, RootHash: hash}
	m.shard.now = m.shard.node.clock.Now() // no pass has run; without it the first one finds a request that waited too long
	m.proposeInternal(protocol.OpBootstrap, body.Append(nil))
	return nil
}

// Bootstrapped reports whether the first operation of the cluster has been applied, which sign-in needs.
func (n *Node) Bootstrapped() bool { return n.View().UsersCount() > 0 }

// ErrNotBootstrapped says that the first operation of a new cluster could not be written in time.
var ErrNotBootstrapped = errors.New("the first metadata operation was not written within ten seconds")

// AwaitBootstrap waits until somebody can sign in. It needs Start.
func (n *Node) AwaitBootstrap() error {
	for range 1000 {
		if n.Bootstrapped() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ErrNotBootstrapped
}
