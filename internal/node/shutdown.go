package node

import (
	"errors"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
)

// Close stops the node: everything committed is synced, the unused part of every reservation is given back,
// files are closed. The doors must be shut first. It returns what went wrong; the data is as safe as a
// crash would leave it.
func (n *Node) Close() error {
	if n.closing.Swap(true) {
		return nil
	}
	close(n.stop)
	n.stopped.Wait()
	var err error
	for _, s := range n.shards {
		err = errors.Join(err, s.close())
	}
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

// close syncs and closes the groups of a shard, in parallel across groups.
func (s *shard) close() error {
	s.mu.Lock()
	s.pass(nil)
	groups := s.groupList()
	s.release()
	errs := make(chan error, len(groups))
	waiting := 0
	s.mu.Lock()
	for _, g := range groups {
		if g.state != serving {
			continue
		}
		waiting++
		g.state = retired
		claim, collapse := g.part.CollapseClaim()
		collapse = collapse && !g.block.purging // a purge under way gives everything back
		block := g.superblockState(claim)
		g.drop(protocol.CodeTransientNotAccepted)
		s.node.exec.Submit(g.lane, func() {
			set := g.files.toSync()
			set.dirDirty = true
			err := errors.Join(g.files.lost, set.run())
			if err == nil {
				err = g.syncOffsets()
			}
			if err == nil && collapse {
				err = g.block.store.Write(block)
			}
			errs <- errors.Join(err, g.files.close())
		})
	}
	s.release()
	var err error
	for waiting > 0 {
		select {
		case e := <-errs:
			err = errors.Join(err, e)
			waiting--
		default:
			if !s.node.exec.Help() {
				err = errors.Join(err, <-errs)
				waiting--
			}
		}
	}
	return err
}

// syncOffsets makes the stored consumer offsets durable.
func (g *group) syncOffsets() error {
	var ids [3][]uint32
	for _, key := range g.part.OffsetKeys() {
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
