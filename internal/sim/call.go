package sim

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// call is a request of the workload. It is the node's Waiter.
type call struct {
	world    *World
	work     node.Work
	messages []uint64 // of a send
	model    *partitionModel
	store    storedOffset // of an offset operation
	key      partition.ConsumerKey

	done bool
	code protocol.Code
	op   uint64
	base uint64
	// replayed tells that the answer is the kept reply to an earlier attempt.
	replayed bool
}

func (c *call) answered() bool { return c.done }

// Complete implements node.Waiter.
func (c *call) Complete(r *vsr.Reply) {
	if c.world.died() {
		return // the process was gone before it could answer
	}
	c.done = true
	if r.Prepare == nil {
		c.refusal(&r.Outcome)
		return
	}
	c.op = r.Prepare.Op()
	switch op := r.Prepare.Operation(); {
	case op == protocol.OpSendMessages:
		c.base = binary.LittleEndian.Uint64(r.Body[16:])
	case op.IsResultFramed() || op == protocol.OpRegister:
		c.code, _, _ = protocol.CutResult(r.Body)
	}
}

// Flusher implements node.Waiter.
func (c *call) Flusher() node.Flusher { return nil }

// refusal takes an answer that has no log position of its own: a refusal, or the kept reply to an earlier attempt.
func (c *call) refusal(o *vsr.Outcome) {
	c.code = o.Code
	switch o.Verdict {
	case vsr.Evicted:
		c.code = protocol.CodeUnauthenticated
	case vsr.Replayed:
		c.replayed = true
		c.op = (*protocol.ReplyHeader)(o.Frame).Op()
		c.code, _, _ = protocol.CutResult(o.Frame[protocol.HeaderSize:])
	}
}

func (w *World) submit(c *call) {
	c.world, c.work.Request.Waiter = w, c
	var b node.Batch
	b.Add(w.node, &c.work)
	w.node.Submit(&b)
}

func (w *World) submitMetadata(req vsr.Request) *call {
	c := &call{}
	c.work = node.Work{Group: protocol.MetadataGroup, Request: req}
	w.submit(c)
	return c
}
