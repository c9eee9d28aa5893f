package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
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

// Open recovers a node from its data directory: the metadata group first, then every partition that has a
// directory. Nothing is served before Start. A partition that cannot be trusted is fenced; only damage of
// the metadata group refuses.
func Open(o Options) (*Node, error) {
	n := newNode(o)
	if err := makeDirs(n.fs, n.layout.Path(), n.layout.Metadata()); err != nil {
		return nil, fmt.Errorf("metadata directory: %w", err)
	}
	if err := n.openMetadata(o.Metadata); err != nil {
		return nil, fmt.Errorf("metadata group: %w", err)
	}
	if err := n.openPartitions(); err != nil {
		return nil, fmt.Errorf("partitions: %w", err)
	}
	n.checkFreeSpace()
	return n, nil
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

// openPartitions recovers every partition that has a directory, and removes what the metadata no longer
// knows. Directories are read in parallel, one task per partition.
func (n *Node) openPartitions() error {
	found, err := n.listPartitions()
	if err != nil {
		return err
	}
	for _, id := range found {
		p, topic, ok := findPartition(n.View(), id)
		if !ok {
			if err := n.setAside(n.partitionDir(id)); err != nil {
				return err
			}
			continue
		}
		s := n.shards[n.shardIndex(id)]
		g := s.newGroup(id, p, topic)
		s.groups[id] = g
		n.readers.put(id, g.reader)
		s.load(g, p.PurgeGeneration)
	}
	return n.awaitOpen()
}

// load reads the directory of g on its lane.
func (s *shard) load(g *group, generation uint64) {
	var found *opened
	g.submit(func() (err error) {
		found, err = s.node.openFiles(g, generation)
		return err
	}, func(err error) { g.opened(found, err) })
}

// awaitOpen runs passes until no group is opening. The executor does the work meanwhile.
func (n *Node) awaitOpen() error {
	for _, s := range n.shards {
		for s.opening() {
			if !n.exec.Help() {
				<-s.wake
			}
			n.Pass(s.index)
		}
	}
	return nil
}

func (s *shard) opening() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		if g.state == opening {
			return true
		}
	}
	return false
}

// listPartitions returns the partitions that have a directory, ascending.
func (n *Node) listPartitions() ([]protocol.GroupID, error) {
	var ids []protocol.GroupID
	streams, err := n.numbersIn(n.layout.Streams())
	if err != nil {
		return nil, err
	}
	for _, stream := range streams {
		topics, err := n.numbersIn(n.layout.Topics(stream))
		if err != nil {
			return nil, err
		}
		for _, topic := range topics {
			parts, err := n.numbersIn(n.layout.Partitions(stream, topic))
			if err != nil {
				return nil, err
			}
			for _, part := range parts {
				if id, err := protocol.PartitionGroup(stream, topic, part); err == nil {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids, nil
}

// numbersIn lists the directory entries that are plain numbers. A missing directory has none.
func (n *Node) numbersIn(dir string) ([]uint32, error) {
	names, err := n.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, name := range names {
		if v, ok := datadir.ParseNumber(name); ok {
			numbers = append(numbers, v)
		} else if strings.Contains(name, deletedMark) {
			n.removeLater(path.Join(dir, name))
		}
	}
	return numbers, nil
}

// deletedMark is in the name of a directory whose partition was deleted.
const deletedMark = ".deleted"

// removeLater removes what a crash left of a deleted partition.
func (n *Node) removeLater(dir string) {
	n.exec.Submit(new(Lane), func() {
		if err := n.fs.RemoveAll(dir); err != nil {
			n.log.Warn("remove leftover of a deleted partition", "dir", dir, "error", err)
		}
	})
}

// evictPredecessor moves a directory aside that belongs to an earlier incarnation of the same ids. One that says it
// is of a later incarnation has a damaged record and is refused.
func (n *Node) evictPredecessor(dir string, revision uint64) error {
	owner, known, err := segment.ReadIncarnation(n.fs, dir)
	if err != nil || !known || owner == revision {
		return err
	}
	if owner > revision {
		return fmt.Errorf("%s: purge.gen names incarnation %d, newer than the partition's own %d: damaged, restore the backup",
			dir, owner, revision)
	}
	// The record has no checksum: a flipped bit in it must not cost the data, so nothing is removed, now or by a
	// later boot.
	aside := fmt.Sprintf("%s.foreign.%d", dir, owner)
	n.log.Warn("partition directory of another incarnation is set aside", "dir", dir, "aside", aside, "found", owner, "want", revision)
	if err := n.fs.Rename(dir, aside); err != nil {
		return err
	}
	return n.fs.SyncDir(path.Dir(dir))
}

// removePartition deletes the directory of a deleted partition, if it still is that partition's.
func (n *Node) removePartition(dir string, revision uint64) error {
	owner, known, err := segment.ReadIncarnation(n.fs, dir)
	if err != nil || known && owner != revision {
		return err
	}
	return n.setAside(dir)
}

// setAside renames a partition directory so that a successor can have its name, then removes it. A crash in
// between leaves a directory that no boot reads, and that the next one removes.
func (n *Node) setAside(dir string) error {
	aside := dir + deletedMark
	if owner, known, err := segment.ReadIncarnation(n.fs, dir); err == nil && known {
		aside = fmt.Sprintf("%s.%d", aside, owner)
	}
	if err := n.fs.RemoveAll(aside); err != nil {
		return err
	}
	err := n.fs.Rename(dir, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := n.fs.SyncDir(path.Dir(dir)); err != nil {
		return err
	}
	return n.fs.RemoveAll(aside)
}

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

// Partitions is the number of partitions in use on this node.
func (n *Node) Partitions() int {
	total := 0
	for i := range n.readers.stripes {
		s := &n.readers.stripes[i]
		s.mu.RLock()
		total += len(s.readers)
		s.mu.RUnlock()
	}
	return total
}
