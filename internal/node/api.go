package node

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// Waiter receives the answer to a request. Request.Waiter of every request given to a node implements it.
type Waiter interface {
	// Complete takes the answer. It runs under the ownership of a shard: it encodes and returns, it never
	// blocks or writes to a socket. r aliases memory that is gone when Complete returns.
	Complete(r *vsr.Reply)
	// Flusher is what sends the answer, asked for before Complete: the same one for all waiters of a
	// connection, or nil where there is nothing to send.
	Flusher() Flusher
}

// Flusher sends what was completed. Its dynamic type is comparable.
type Flusher interface {
	// Flush runs after ownership was released, once for a run of waiters that were completed in one pass.
	Flush()
}

// Work is one request for a partition group. It belongs to the node from Submit until its waiter was
// completed; the caller embeds it in something that lives as long.
type Work struct {
	Group    protocol.GroupID
	Revision uint64 // incarnation that the caller resolved
	Request  vsr.Request
	Messages uint32 // number of messages of a SendMessages batch
	// Local asks for an offset operation to be applied on this node only (acknowledgement level NoAck).
	Local bool

	arrived uint64 // tick
	next    *Work
}

// Batch gathers the requests of one socket read, to be submitted together. The zero value is empty.
type Batch struct {
	byShard [][]*Work
}

// Add appends w to the batch.
func (b *Batch) Add(n *Node, w *Work) {
	if len(b.byShard) != len(n.shards) {
		b.byShard = make([][]*Work, len(n.shards))
	}
	i := n.shardIndex(w.Group)
	b.byShard[i] = append(b.byShard[i], w)
}

// Submit hands the batch over and empties it. Requests of one batch for one group keep their order. Where the
// owning shard is idle, the caller's goroutine runs the pass before Submit returns.
func (n *Node) Submit(b *Batch) {
	for i, works := range b.byShard {
		if len(works) == 0 {
			continue
		}
		n.shards[i].submit(works)
		clear(works)
		b.byShard[i] = works[:0]
	}
}
