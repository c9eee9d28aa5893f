package node

import (
	"errors"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/wal"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// Close stops the node: everything committed is synced, the logs of the shards are told so and end with the word
// that nothing is missing, the unused part of every reservation is given back, files are closed. The doors must
// be shut first. It returns what went wrong; the data is as safe as a crash would leave it.
func (n *Node) Close() error {
	if n.closing.Swap(true) {
		return nil
	}
	close(n.stop)
	n.stopped.Wait()
	var closing []*closingGroup
	for _, s := range n.shards {
		s.quiesce()
		closing = append(closing, s.stopGroups()...)
	}
	err := n.eachLane(closing, (*closingGroup).sync)
	for _, s := range n.shards {
		err = errors.Join(err, s.wal.checkpointAll(closing))
	}
	logged := n.logs.Close(err == nil)
	for _, c := range closing {
		c.collapse = c.collapse && (c.g.logged == nil || logged == nil)
	}
	err = errors.Join(err, logged, n.eachLane(closing, (*closingGroup).giveBack))
	n.exec.Close()
	for i := range n.shards {
		n.Pass(i)
	}
	n.exec.Close()
	if err = errors.Join(err, n.meta.journal.Close()); err == nil {
		n.leaveStopMark()
	}
	return err
}

// quiesce runs passes until the log of the shard is done with what was appended: what a sync was to confirm is
// confirmed. It gives up on a log that fails.
func (s *shard) quiesce() {
	for {
		s.mu.Lock()
		s.pass(nil)
		busy := s.wal.busy()
		s.release()
		if !busy {
			return
		}
		if !s.node.exec.Help() {
			<-s.wake
		}
	}
}

// busy reports whether something of the log is under way that will end.
func (w *shardWAL) busy() bool {
	if w.syncing || w.preparing || w.reclaiming || w.opening {
		return true
	}
	return w.failures == 0 && w.log != nil && (w.inSync.len() > 0 || len(w.records) > 0)
}

// closingGroup is a group on its way out.
type closingGroup struct {
	g        *group
	block    superblock.State
	collapse bool
	mark     partition.Checkpoint
	err      error
}

// stopGroups ends what the groups of the shard serve and returns those that did.
func (s *shard) stopGroups() []*closingGroup {
	s.mu.Lock()
	defer s.release()
	var closing []*closingGroup
	for _, g := range s.groupList() {
		if g.state != serving {
			continue
		}
		g.state = retired
		claim, collapse := g.part.CollapseClaim()
		c := &closingGroup{g: g, block: g.superblockState(claim)}
		c.collapse = collapse && !g.block.purging // a purge under way gives everything back
		if g.logged != nil {
			c.mark = g.part.Checkpoint()
		}
		g.drop(protocol.CodeTransientNotAccepted)
		closing = append(closing, c)
	}
	return closing
}

// sync makes everything that was written durable.
func (c *closingGroup) sync() error {
	set := c.g.files.toSync()
	set.dirDirty = true
	if c.g.logged != nil {
		c.err = set.rewrite()
	}
	c.err = errors.Join(c.err, c.g.files.lost, set.run())
	if c.err == nil {
		c.err = c.g.syncOffsets(c.g.part.OffsetKeys())
	}
	if c.err == nil && c.g.logged != nil {
		c.err = c.g.syncOffsets(c.g.logged.takeOffsets())
	}
	return c.err
}

// giveBack collapses the reservation and closes the files.
func (c *closingGroup) giveBack() error {
	var err error
	if c.err == nil && c.collapse {
		err = c.g.block.store.Write(c.block)
	}
	return errors.Join(err, c.g.files.close())
}

// eachLane runs step for every group on its lane, in parallel across groups, and waits.
func (n *Node) eachLane(closing []*closingGroup, step func(*closingGroup) error) error {
	errs := make(chan error, len(closing))
	for _, c := range closing {
		n.exec.Submit(c.g.lane, func() { errs <- step(c) })
	}
	var err error
	for waiting := len(closing); waiting > 0; {
		select {
		case e := <-errs:
			err = errors.Join(err, e)
			waiting--
		default:
			if !n.exec.Help() {
				err = errors.Join(err, <-errs)
				waiting--
			}
		}
	}
	return err
}

// checkpointAll tells the log that the files of its groups are durable. Nothing else runs any more.
func (w *shardWAL) checkpointAll(closing []*closingGroup) error {
	if w.log == nil || w.failures > 0 {
		return nil
	}
	for _, c := range closing {
		l := c.g.logged
		if l == nil || c.g.shard != w.shard || c.err != nil || c.mark.Op == l.checkpoint.op {
			continue
		}
		payload := shardlog.EncodeCheckpoint(nil, c.g.checkpointRecord(c.mark, c.g.part.Dedup(nil)))
		w.add(c.g, wal.KindCheckpoint, payload, true, func(error) {})
	}
	for len(w.records) > 0 {
		n := w.fit()
		_, err := w.log.Append(w.records[:n])
		switch {
		case err == nil:
			w.drop(n)
		case errors.Is(err, shardlog.ErrNotReady):
			err = w.log.PrepareFile()
		case errors.Is(err, shardlog.ErrUnsynced):
			_, err = w.log.Sync()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// syncOffsets makes the stored offsets of keys durable, also those that are gone.
func (g *group) syncOffsets(keys []partition.ConsumerKey) error {
	var ids [3][]uint32
	for _, key := range keys {
		ids[key.Kind] = append(ids[key.Kind], key.ID)
	}
	for _, kind := range []partition.ConsumerKind{partition.KindConsumer, partition.KindGroup} {
		if len(ids[kind]) == 0 {
			continue
		}
		if err := segment.SyncOffsets(g.shard.node.fs, g.dir, segment.OffsetKind(kind), ids[kind]); err != nil {
			return err
		}
	}
	return nil
}
