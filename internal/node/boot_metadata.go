package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
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
	// Root gives the name and password hash of the first user. It is called when the log is empty, and only
	// then.
	Root func() (name, hash string, err error)
	// JournalEpoch is random per boot.
	JournalEpoch uint64
}

// ClientsTableError says that the data was written with another capacity of the client table.
type ClientsTableError struct{ Stored, Configured int }

func (e *ClientsTableError) Error() string {
	return fmt.Sprintf("metadata.clients_table_max is %d, but this data was created with %d; "+
		"set it back to %d, the value is fixed when a cluster is created", e.Configured, e.Stored, e.Stored)
}

// MissingJournalError says that the metadata group has a superblock and no journal: what it had
// acknowledged is gone.
type MissingJournalError struct{ Dir string }

func (e *MissingJournalError) Error() string {
	return fmt.Sprintf("%s holds a superblock but no journal: acknowledged metadata is missing; "+
		"restore journal.wal and journal.mirror from a backup, or start with an empty data directory", e.Dir)
}

func (n *Node) openMetadata(o MetadataOptions) error {
	dir := n.layout.Metadata()
	store, outcome, err := superblock.Open(n.fs, dir)
	if err != nil {
		return err
	}
	journal, found, err := wal.Open(n.fs, dir, wal.Options{
		Cluster: n.cluster, Replica: n.replicaID, Slots: o.JournalSlots, Epoch: o.JournalEpoch,
	})
	if err != nil {
		return err
	}
	if outcome == superblock.Present && found.Fresh {
		return &MissingJournalError{dir}
	}
	if found.Cut != nil {
		n.log.Warn("incomplete end of the metadata journal was cut off", "cut", *found.Cut)
	}
	if outcome == superblock.Empty && len(found.Headers) > 0 {
		n.log.Warn("metadata journal without a superblock: recovered from the journal", "ops", len(found.Headers))
	}
	state, present := store.State()
	if present {
		if err := state.CheckIdentity(n.cluster, n.replicaID, n.replicas); err != nil {
			return err
		}
	}
	m := &metaGroup{shard: n.shards[0], journal: journal, store: store}
	m.state = metadata.New()
	n.meta, n.shards[0].meta = m, m
	if err := m.replay(state, present, found.Headers, o.PrepareDepth); err != nil {
		return err
	}
	return m.bootstrap(o)
}

// replay applies what the journal holds. On a solo node all of it is committed.
func (m *metaGroup) replay(state superblock.State, present bool, headers []protocol.PrepareHeader, depth int) error {
	n := m.shard.node
	start := vsr.Start{View: state.View, LogView: state.LogView, ViewDurable: present}
	if len(headers) > 0 {
		start.Head = &headers[len(headers)-1]
	}
	var err error
	m.replica, err = vsr.New(vsr.Config{
		Group: protocol.MetadataGroup, Cluster: n.cluster, Replica: n.replicaID, Replicas: n.replicas,
		Incarnation: n.incarnation, Machine: m.state, Sessions: m.state, PrepareDepth: depth,
		Start: start,
	})
	if err != nil {
		return err
	}
	now := n.clock.Now()
	for i := range headers {
		h, body, err := m.journal.Read(headers[i].Op())
		if err != nil {
			return err
		}
		if _, err := m.replica.Recovered(now, []vsr.Entry{{Header: h, Body: vsr.Body{Bytes: body}}}); err != nil {
			return fmt.Errorf("replay op %d: %w", headers[i].Op(), err)
		}
		if m.replica.Effects().Superblock != nil {
			m.wantView = true // the gate has asked for it and asks only once
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
