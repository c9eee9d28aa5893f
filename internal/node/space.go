package node

import (
	"errors"
	"sync/atomic"
	"syscall"
)

// space is what the node knows about the volume of its data. Safe for concurrent use.
type space struct {
	low  atomic.Bool  // sends are refused
	room atomic.Int64 // bytes that may be written before free space must be looked at again
}

// isNoSpace tells a full disk, or a full quota, from a broken one.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// takesSend reports whether there is room for a send of so many bytes. It is asked before offsets are minted. What
// sends write is counted between two looks at the volume, so that a fast producer cannot run through the reserve
// below the watermark within the second that the next look takes.
func (n *Node) takesSend(sizeBytes int) bool {
	if n.space.low.Load() {
		return false
	}
	if n.limits.FreeSpaceMin == 0 || n.space.room.Add(-int64(sizeBytes)) >= 0 {
		return true
	}
	n.checkFreeSpace()
	return !n.space.low.Load()
}

// hasRoomFor reports whether so many bytes can be reserved without touching the watermark.
func (n *Node) hasRoomFor(sizeBytes int64) bool {
	return n.limits.FreeSpaceMin == 0 || n.space.room.Load() > sizeBytes
}

// noteDiskError stops taking sends when the disk is full; the watermark check lets them in again.
func (n *Node) noteDiskError(err error) {
	if isNoSpace(err) && !n.space.low.Swap(true) {
		n.log.Error("disk full: sends are refused until space is free again")
	}
}

// checkFreeSpace refuses sends below the watermark and admits them above it.
func (n *Node) checkFreeSpace() {
	free, err := n.fs.FreeBytes(n.layout.Path())
	if err != nil {
		return
	}
	n.space.room.Store(int64(min(free, 1<<62)) - int64(min(n.limits.FreeSpaceMin, 1<<62)))
	low := free < n.limits.FreeSpaceMin
	if n.space.low.Swap(low) == low {
		return
	}
	if low {
		n.log.Warn("free space below the watermark: sends are refused", "free_bytes", free, "watermark_bytes", n.limits.FreeSpaceMin)
	} else {
		n.log.Info("free space is back: sends are accepted", "free_bytes", free)
	}
}

// stall has again called once a second until it does not stall any more: the disk is full, which is no reason to give
// a partition up.
func (g *group) stall(err error, again func()) {
	n := g.shard.node
	n.noteDiskError(err)
	n.log.Warn("partition waits for disk space", "partition", g.id.String(), "error", err)
	g.stalled = again
	g.shard.stalled = append(g.shard.stalled, g)
}

// retryStalled goes on with what waited for disk space.
func (s *shard) retryStalled() {
	stalled := s.stalled
	s.stalled = nil
	for _, g := range stalled {
		again := g.stalled
		g.stalled = nil
		if g.state == opening || g.state == serving {
			again()
		}
	}
}
