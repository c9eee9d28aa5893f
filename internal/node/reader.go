package node

import (
	"errors"
	"sync"
	"time"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// reconcileWait is how long a reader waits for its partition to follow the metadata.
const reconcileWait = 3 * time.Second

// viewWaiters lets readers sleep until a view is published.
type viewWaiters struct {
	mu    sync.Mutex
	moved chan struct{}
}

func (w *viewWaiters) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved == nil {
		w.moved = make(chan struct{})
	}
	return w.moved
}

// wakeWaiters tells everyone who sleeps that the view may have moved.
func (r *Reader) wakeWaiters() {
	r.waiters.mu.Lock()
	defer r.waiters.mu.Unlock()
	if r.waiters.moved != nil {
		close(r.waiters.moved)
		r.waiters.moved = nil
	}
}

// await returns the view once the partition has followed the purge of generation.
func (r *Reader) await(generation uint64) (*partition.View, bool) {
	v := r.part.View()
	if v.PurgeGeneration >= generation {
		return v, true
	}
	timeout := time.NewTimer(reconcileWait)
	defer timeout.Stop()
	for {
		moved := r.waiters.next()
		if v = r.part.View(); v.PurgeGeneration >= generation {
			return v, true
		}
		select {
		case <-moved:
		case <-timeout.C:
			return nil, false
		case <-r.node.stop:
			return nil, false
		}
	}
}

// autoCommit has the live offset of key put into the log. Polls that come while one is on its way are
// covered by it or by the next: the value is read when it is proposed.
func (r *Reader) autoCommit(key partition.ConsumerKey, user uint32) {
	if !r.part.Cursors().Claim(key) {
		return
	}
	r.shard.postControl(func(s *shard) {
		r.part.Cursors().Unclaim(key)
		if g := s.groups[r.id]; g != nil && g.reader == r {
			g.autoCommit(key, user)
		}
	})
}

func (g *group) autoCommit(key partition.ConsumerKey, user uint32) {
	offset, ok := g.part.Cursors().Get(key)
	if !ok || g.state != serving {
		return
	}
	if durable, stored := g.part.DurableOffset(key); stored && durable >= offset {
		return
	}
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: key, Offset: offset}.Put(body)
	w := &Work{Group: g.id, Revision: g.revision, Request: vsr.Request{
		Client: protocol.MaxUint128, Operation: protocol.OpStoreConsumerOffset, UserID: user, Body: vsr.Body{Bytes: body},
	}}
	w.arrived = g.shard.now.Ticks
	g.enqueue(w)
	g.shard.touch(g)
}

// ConsumerOffset returns what is stored for key, and the highest visible offset of the partition.
func (n *Node) ConsumerOffset(id protocol.GroupID, revision, purgeGeneration uint64, key partition.ConsumerKey) (
	current, stored uint64, found bool, code protocol.Code,
) {
	r := n.readers.get(id)
	if r == nil || r.revision != revision {
		return 0, 0, false, protocol.Success
	}
	if r.fence.Load() != nil {
		return 0, 0, false, protocol.CodeCannotReadPartitions
	}
	v, ok := r.await(purgeGeneration)
	if !ok || r.stalled.Load() {
		return 0, 0, false, protocol.CodeTransientNotAccepted
	}
	stored, found = r.part.Cursors().Get(key)
	return v.Current(), stored, found, protocol.Success
}

// PartitionStats are the counters of one partition. All zero when it was never used, or when it has not yet
// followed a purge that the metadata committed.
type PartitionStats struct {
	Messages      uint64
	SizeBytes     uint64
	Segments      uint32
	CurrentOffset uint64
	Seeded        bool // CurrentOffset names a message
}

// PartitionStats returns the counters of a partition without entering its shard.
func (n *Node) PartitionStats(id protocol.GroupID, revision, purgeGeneration uint64) PartitionStats {
	r := n.readers.get(id)
	if r == nil || r.revision != revision {
		return PartitionStats{Segments: 1}
	}
	v := r.part.View()
	if v.PurgeGeneration < purgeGeneration {
		return PartitionStats{Segments: 1}
	}
	return PartitionStats{
		Messages: v.Messages, SizeBytes: uint64(v.Bytes), Segments: uint32(max(v.SegmentCount(), 1)),
		CurrentOffset: v.Current(), Seeded: v.Seeded,
	}
}

// PendingHandOver reports whether messages of the partition were served to the group of key and not yet
// committed by it.
func (n *Node) PendingHandOver(id protocol.GroupID, revision uint64, group uint32) bool {
	r := n.readers.get(id)
	if r == nil || r.revision != revision {
		return false
	}
	key := partition.ConsumerKey{Kind: partition.KindGroup, ID: group}
	polled, any := r.part.Cursors().Polled(key)
	if !any {
		return false
	}
	stored, ok := r.part.Cursors().Get(key)
	return !ok || stored < polled
}

// ask runs f under the ownership of the shard of a group and waits for it.
func (n *Node) ask(id protocol.GroupID, f func(s *shard)) bool {
	done := make(chan struct{})
	n.shards[n.shardIndex(id)].postControl(func(s *shard) {
		f(s)
		close(done)
	})
	timeout := time.NewTimer(reconcileWait)
	defer timeout.Stop()
	select {
	case <-done:
		return true
	case <-timeout.C:
	case <-n.stop:
	}
	return false
}

// ResolveSegments returns the last offset of the count-th oldest sealed segment of a partition, 0 when there
// is nothing to delete.
func (n *Node) ResolveSegments(id protocol.GroupID, revision uint64, count uint32) (uint64, bool, protocol.Code) {
	// Set by the shard, maybe after this call gave up.
	upTo, any, code := uint64(0), false, protocol.Success
	ok := n.ask(id, func(s *shard) {
		g := s.groups[id]
		switch {
		case g == nil || g.revision != revision:
		case g.state == fenced:
			code = protocol.CodeCannotReadPartitions
		case g.state != serving:
			code = protocol.CodeTransientNotAccepted
		default:
			upTo, any = g.part.EndOfOldest(count)
		}
	})
	if !ok {
		return 0, false, protocol.CodeTransientNotAccepted
	}
	return upTo, any, code
}

// FlushPartition syncs what is written of a partition when fsync is set; committed messages are in the page
// cache already. It waits for the device.
func (n *Node) FlushPartition(id protocol.GroupID, revision uint64, fsync bool) protocol.Code {
	code := protocol.Success
	synced := make(chan error, 1)
	ok := n.ask(id, func(s *shard) {
		g := s.groups[id]
		switch {
		case g == nil || g.revision != revision || g.state == retired:
			synced <- nil
		case g.state == fenced:
			code = protocol.CodeCannotReadPartitions
			synced <- nil
		case g.state != serving, fsync && g.appends.takingBack:
			code = protocol.CodeTransientNotAccepted
			synced <- nil
		case fsync && g.files.lost != nil:
			// What a failed sync should have covered may be gone, whatever a later one says.
			synced <- g.files.lost
		case !fsync, g.block.purging: // a purge syncs what it leaves, and has the files
			synced <- nil
		default:
			set := g.files.held()
			g.submit(set.run, func(err error) {
				if set.lost && g.logged == nil { // otherwise the next checkpoint writes it anew
					g.files.lost = errors.Join(g.files.lost, err)
				}
				synced <- err
			})
		}
	})
	if !ok {
		return protocol.CodeTransientNotAccepted
	}
	select {
	case err := <-synced:
		if err != nil {
			n.log.Error("flush", "partition", id.String(), "error", err)
			return protocol.CodeTransientNotAccepted
		}
	case <-n.stop:
		return protocol.CodeTransientNotAccepted
	}
	return code
}

// Fenced returns why a partition is stopped, or nil when it is not.
func (n *Node) Fenced(id protocol.GroupID) *FenceError {
	if r := n.readers.get(id); r != nil {
		return r.fence.Load()
	}
	return nil
}
