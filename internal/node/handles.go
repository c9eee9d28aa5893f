package node

import (
	"io/fs"
	"sync"

	"github.com/galgolog/galgo/internal/segment"
)

// handlesPerPartition bounds the files that polls keep open per partition.
const handlesPerPartition = 12

// handleCache keeps segment readers open between polls. A handle in use is closed when its last poll lets go.
type handleCache struct {
	mu    sync.Mutex
	chain uint64
	open  []*handle // most recently used last
	ended bool      // the partition was deleted: its names may soon be those of a successor's files
}

type handle struct {
	reader *segment.Reader
	refs   int
	gone   bool // no longer in the cache: closed with the last reference
}

// acquire returns a reader of the segment that begins at start, as of the given chain generation. Files of
// another generation may be other files of the same name.
func (r *Reader) acquire(chain, start uint64) (*handle, error) {
	c := &r.files
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, fs.ErrNotExist
	}
	if c.chain != chain {
		c.dropLocked(r.node, 0)
		c.chain = chain
	}
	for i, h := range c.open {
		if h.reader.Start() == start {
			copy(c.open[i:], c.open[i+1:])
			c.open[len(c.open)-1] = h
			h.refs++
			return h, nil
		}
	}
	var live *segment.Index
	if w := r.live.Load(); w != nil && w.Start() == start {
		live = w.Index()
	}
	reader, err := segment.OpenReader(r.node.fs, r.dir, start, live)
	if err != nil {
		return nil, err
	}
	r.node.openHandles.Add(1)
	keep := handlesPerPartition
	if r.node.openHandles.Load() > int64(r.node.limits.OpenHandles) {
		keep = 1
	}
	h := &handle{reader: reader, refs: 1}
	c.open = append(c.open, h)
	c.dropLocked(r.node, keep)
	return h, nil
}

// letGo ends the use of a handle.
func (r *Reader) letGo(h *handle) {
	r.files.mu.Lock()
	defer r.files.mu.Unlock()
	h.refs--
	if h.gone && h.refs == 0 {
		h.close(r.node)
	}
}

// dropLocked takes the least recently used handles out until at most keep are left.
func (c *handleCache) dropLocked(n *Node, keep int) {
	for len(c.open) > keep {
		h := c.open[0]
		c.open[0] = nil
		c.open = c.open[1:]
		h.gone = true
		if h.refs == 0 {
			h.close(n)
		}
	}
}

func (h *handle) close(n *Node) {
	n.openHandles.Add(-1)
	_ = h.reader.Close() // read only: nothing to lose
}

// forgetFiles closes every handle that no poll uses; the others follow. Unlinked files take room on the disk until
// then.
func (r *Reader) forgetFiles() {
	r.files.mu.Lock()
	defer r.files.mu.Unlock()
	r.files.dropLocked(r.node, 0)
}

// closeFiles closes every handle that no poll uses; the others follow, and none is opened any more.
func (r *Reader) closeFiles() {
	r.files.mu.Lock()
	defer r.files.mu.Unlock()
	r.files.ended = true
	r.files.dropLocked(r.node, 0)
}
