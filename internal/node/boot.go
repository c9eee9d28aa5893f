package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// Open recovers a node from its data directory: the metadata group first, then every partition that has a
// directory. Nothing is served before Start. A partition that cannot be trusted is fenced; only damage of
// the metadata group refuses.
func Open(o Options) (*Node, error) {
	n := newNode(o)
	if err := makeDirs(n.fs, n.layout.Path(), n.layout.Metadata()); err != nil {
		return nil, fmt.Errorf("metadata directory: %w", err)
	}
	if err := n.syncNames(); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	var err error
	if n.stoppedInOrder, err = n.takeStopMark(); err != nil {
		return nil, err
	}
	if err := n.openMetadata(o.Metadata); err != nil {
		if n.meta != nil && n.meta.journal != nil {
			err = errors.Join(err, n.meta.journal.Close())
		}
		return nil, fmt.Errorf("metadata group: %w", err)
	}
	if err := n.refuseLostMetadata(); err != nil {
		return nil, fmt.Errorf("partitions: %w", err)
	}
	if err := n.openLogs(); err != nil {
		return nil, fmt.Errorf("shard logs: %w", err)
	}
	if err := n.openPartitions(); err != nil {
		return nil, fmt.Errorf("partitions: %w", err)
	}
	n.checkFreeSpace()
	return n, nil
}

// LostMetadataError says that there are partitions and no metadata operation was ever written: a partition that the
// metadata does not know is one that was deleted, and the start would remove them all.
type LostMetadataError struct {
	Dir        string // of the metadata
	Partitions int
}

func (e *LostMetadataError) Error() string {
	return fmt.Sprintf("%s holds no metadata, but there are directories of %d partitions, which would be deleted: restore the "+
		"backup of the whole data directory, or start with an empty one", e.Dir, e.Partitions)
}

// syncNames makes the names of the data directory and of what is in it durable. An earlier process may have made
// them and died before their sync.
func (n *Node) syncNames() error {
	root := n.layout.Path()
	// Above the data directory is not ours: it may be closed to us, and then somebody else made the name.
	if err := n.fs.SyncDir(path.Dir(root)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return n.fs.SyncDir(root)
}

// refuseLostMetadata refuses to take partitions that no metadata knows for deleted ones. Nothing was changed yet.
func (n *Node) refuseLostMetadata() error {
	if n.View().Revision > 0 {
		return nil
	}
	found, _, err := n.listPartitions()
	if err == nil && len(found) > 0 {
		err = &LostMetadataError{Dir: n.layout.Metadata(), Partitions: len(found)}
	}
	return err
}

// openLogs reads the logs of all shards, decides what they prove, and begins a new life of each.
func (n *Node) openLogs() error {
	logs, err := shardlog.Scan(n.fs, path.Dir(n.layout.WAL(0)), shardlog.Options{
		Cluster: n.cluster, Replica: n.replicaID, Shards: len(n.shards),
		FileBytes: n.limits.WALFileBytes, RetainedBytes: n.limits.WALRetainedBytes,
		BootID: n.bootID, Random: n.random,
	})
	if err != nil {
		return err
	}
	for _, damage := range logs.Damage() {
		n.log.Warn("shard log", "found", damage)
	}
	n.logs = logs
	if err := logs.Begin(); !isNoSpace(err) {
		return err
	}
	n.log.Warn("shard logs wait for disk space: what they hold is served, and sends to synced topics are refused")
	return nil
}

// openPartitions recovers every partition that has a directory or is known to a log, and removes what the metadata
// no longer knows. Directories are read in parallel, one task per partition.
func (n *Node) openPartitions() error {
	n.recovering.Store(1)
	found, hidden, err := n.listPartitions()
	if err != nil {
		return err
	}
	found = n.addLogged(found)
	for _, id := range found {
		p, topic, ok := n.View().PartitionByID(id.Partition())
		if !ok {
			if err := n.setAside(n.partitionDir(id)); err != nil {
				n.log.Error("remove deleted partition", "dir", n.partitionDir(id), "error", err) // the next start tries again
			}
			continue
		}
		s := n.shards[n.shardIndex(id)]
		g := s.newGroup(id, p, topic)
		s.groups[id] = g
		n.readers.put(id, g.reader)
		if g.logged != nil {
			g.logged.recovering = true
			n.recovering.Add(1)
		}
		s.load(g, p.PurgeGeneration)
	}
	for _, h := range hidden {
		n.fenceHidden(h)
	}
	err = n.awaitOpen()
	n.recoveredFromLog()
	return err
}

// recoveredFromLog lets the logs go on once nobody has to read them any more.
func (n *Node) recoveredFromLog() {
	if n.recovering.Add(-1) == 0 {
		n.logs.Replayed()
	}
}

// addLogged adds the partitions that only the logs know, and tells the logs which of theirs the metadata no longer
// knows.
func (n *Node) addLogged(found []protocol.GroupID) []protocol.GroupID {
	isFound := make(map[protocol.GroupID]bool, len(found))
	for _, id := range found {
		isFound[id] = true
	}
	for _, g := range n.logs.Groups() {
		p, _, ok := n.View().PartitionByID(g.Group.Partition())
		switch {
		case g.Dropped:
		case !ok || p.CreatedRevision != g.Revision:
			s := n.shards[n.shardIndex(g.Group)]
			s.postControl(func(s *shard) { s.wal.dropGroup(g.Group, g.Revision) })
		case !isFound[g.Group]:
			found = append(found, g.Group)
		}
	}
	return found
}

// hiddenTopics are the topics of a stream, or one of them, whose folder cannot be listed: what their partitions hold is
// not known.
type hiddenTopics struct {
	stream uint32
	topic  uint32
	all    bool
	err    error
}

// fenceHidden fences every partition of h that the metadata knows.
func (n *Node) fenceHidden(h hiddenTopics) {
	st := n.View().StreamByID(h.stream)
	if st == nil {
		n.log.Error("folder cannot be listed", "error", h.err)
		return
	}
	for t := range st.Topics() {
		for i := uint32(0); i < t.PartitionsCount() && (h.all || t.ID == h.topic); i++ {
			id, err := protocol.PartitionGroup(h.stream, t.ID, i)
			p, known := t.Partition(i)
			if err != nil || !known {
				continue
			}
			s := n.shards[n.shardIndex(id)]
			if s.groups[id] != nil { // its log brought it up
				continue
			}
			g := s.newGroup(id, p, t)
			s.groups[id] = g
			n.readers.put(id, g.reader)
			g.fence(fmt.Errorf("folder of its topic cannot be listed: %w", h.err))
		}
	}
}

// load reads the directory of g on its lane.
func (s *shard) load(g *group, generation uint64) {
	var found *opened
	recovering := g.logged != nil && g.logged.recovering
	g.submit(func() (err error) {
		found, err = s.node.openFiles(g, generation, recovering)
		return err
	}, func(err error) {
		if g.state == opening && isNoSpace(err) {
			g.reader.stalled.Store(true)
			g.stall(err, func() { s.load(g, generation) })
			return
		}
		g.opened(found, err)
	})
}

// awaitOpen runs passes until no group is opening, but for those that wait for disk space or for a log that cannot be
// written. The executor does the work meanwhile.
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
		if g.state == opening && g.stalled == nil && !g.waitsForLog() {
			return true
		}
	}
	return false
}

// listPartitions returns the partitions that have a directory, ascending, and the topics for which that cannot be
// found out.
func (n *Node) listPartitions() (ids []protocol.GroupID, hidden []hiddenTopics, err error) {
	streams, err := n.numbersIn(n.layout.Streams())
	if err != nil {
		return nil, nil, err
	}
	for _, stream := range streams {
		topics, err := n.numbersIn(n.layout.Topics(stream))
		if err != nil {
			hidden = append(hidden, hiddenTopics{stream: stream, all: true, err: err})
			continue
		}
		for _, topic := range topics {
			parts, err := n.numbersIn(n.layout.Partitions(stream, topic))
			if err != nil {
				hidden = append(hidden, hiddenTopics{stream: stream, topic: topic, err: err})
				continue
			}
			for _, part := range parts {
				if id, err := protocol.PartitionGroup(stream, topic, part); err == nil {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids, hidden, nil
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

// removeLater removes what a crash left of a deleted partition.
func (n *Node) removeLater(dir string) {
	n.exec.Submit(new(Lane), func() {
		if err := n.fs.RemoveAll(dir); err != nil {
			n.log.Warn("remove leftover of a deleted partition", "dir", dir, "error", err)
		}
	})
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
