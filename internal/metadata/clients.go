package metadata

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// ringSize is the number of replies kept for each client.
const ringSize = 5

// slotsMax is the absolute ceiling of the client table.
const slotsMax = 1 << 16

// client is one entry of the client table.
type client struct {
	id    protocol.Uint128
	slot  int
	epoch uint64 // op of the latest Register: the fence
	user  uint32 // acting user
	// watermark is the highest committed request number; checksum is that of its request, 0 = unstamped.
	watermark uint64
	checksum  protocol.Uint128
	ring      [][]byte // up to ringSize reply frames, oldest first; a frame never changes
	latest    uint64   // op of the newest reply: the eviction key
	captures  uint64   // of the table, when this entry was made: an older one is shared with a capture
	// neighbours in the order of latest; the first is evicted next
	older, newer *client
}

// clientTable holds the sessions of a cluster: slots in a fixed number, an index, and the order of
// eviction. All of it changes only with committed operations, so every replica holds the same.
type clientTable struct {
	capacity       int
	slots          []*client
	used           []uint64 // bitmap over slots
	count          int
	captures       uint64
	index          map[protocol.Uint128]*client // for look-ups only
	oldest, newest *client
}

func newClientTable(capacity int) clientTable {
	return clientTable{capacity: capacity, index: map[protocol.Uint128]*client{}}
}

func (t *clientTable) full() bool { return t.count >= t.capacity }

// add puts a client into the lowest free slot. The table must not be full.
func (t *clientTable) add(id protocol.Uint128) *client {
	slot := 0
	for slot>>6 < len(t.used) && t.used[slot>>6] == ^uint64(0) {
		slot += 64
	}
	if slot>>6 < len(t.used) {
		slot += bits.TrailingZeros64(^t.used[slot>>6])
	}
	return t.place(id, slot)
}

// place puts a client into a free slot, as the newest.
func (t *clientTable) place(id protocol.Uint128, slot int) *client {
	for len(t.slots) <= slot {
		t.slots = append(t.slots, nil)
	}
	for len(t.used)*64 <= slot {
		t.used = append(t.used, 0)
	}
	c := &client{id: id, slot: slot, captures: t.captures}
	t.slots[slot] = c
	t.used[slot>>6] |= 1 << (slot & 63)
	t.index[id] = c
	t.count++
	t.append(c)
	return c
}

// capture returns the slots as they are. Entries stay as they are, too, links aside: whoever changes one
// calls own first.
func (t *clientTable) capture() []*client {
	t.captures++
	return slices.Clone(t.slots)
}

// own returns the entry of c in a form that no capture shares.
func (t *clientTable) own(c *client) *client {
	if c.captures == t.captures {
		return c
	}
	own := *c
	own.captures, own.ring = t.captures, slices.Clone(c.ring)
	t.slots[c.slot], t.index[c.id] = &own, &own
	if own.older != nil {
		own.older.newer = &own
	} else {
		t.oldest = &own
	}
	if own.newer != nil {
		own.newer.older = &own
	} else {
		t.newest = &own
	}
	return &own
}

func (t *clientTable) remove(c *client) {
	t.unlink(c)
	t.slots[c.slot] = nil
	t.used[c.slot>>6] &^= 1 << (c.slot & 63)
	delete(t.index, c.id)
	t.count--
}

func (t *clientTable) append(c *client) {
	c.older, c.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = c
	} else {
		t.oldest = c
	}
	t.newest = c
}

func (t *clientTable) unlink(c *client) {
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		t.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		t.newest = c.older
	}
	c.older, c.newer = nil, nil
}

// touch makes c the newest: op is that of its newest reply.
func (t *clientTable) touch(c *client, op uint64) {
	c.latest = op
	if t.newest != c {
		t.unlink(c)
		t.append(c)
	}
}

// check classifies a request that is not a Register. The fence comes before the number: a holder that was
// replaced is turned away even when its number looks like a duplicate.
func (t *clientTable) check(req *vsr.Request) vsr.Outcome {
	c := t.index[req.Client]
	if c == nil || req.Session != c.epoch {
		if req.Operation == protocol.OpLogout && (c == nil || req.Session < c.epoch) {
			return vsr.Outcome{} // commits without effect: the session is gone already
		}
		return vsr.Outcome{Verdict: vsr.Evicted, Evict: protocol.EvictNoSession}
	}
	if req.Request > c.watermark {
		req.UserID = c.user
		return vsr.Outcome{}
	}
	if req.Request == c.watermark && conflict(req.RequestChecksum, c.checksum) {
		return vsr.Outcome{Verdict: vsr.Denied, Code: protocol.CodeInvalidCommand}
	}
	for _, frame := range c.ring {
		h := replyHeader(frame)
		if h.Request() != req.Request || h.Operation() == protocol.OpRegister {
			continue
		}
		switch {
		case conflict(req.RequestChecksum, h.RequestChecksum()):
			return vsr.Outcome{Verdict: vsr.Denied, Code: protocol.CodeInvalidCommand}
		case h.Operation() == protocol.OpCreatePersonalAccessToken && succeeded(frame):
			return vsr.Outcome{Verdict: vsr.Framed, Code: protocol.CodePersonalAccessTokenAlreadyExists}
		}
		return vsr.Outcome{Verdict: vsr.Replayed, Frame: frame}
	}
	return vsr.Outcome{Verdict: vsr.Framed, Code: protocol.CodeRequestAlreadyApplied}
}

// record keeps the reply to a committed operation of c.
func (t *clientTable) record(c *client, h *protocol.PrepareHeader, frame []byte) {
	if h.Op() < c.latest {
		return
	}
	c = t.own(c)
	frame = append([]byte(nil), frame...)
	switch request := h.Request(); {
	case h.Operation() == protocol.OpRegister:
		c.dropRegister()
	case request < c.watermark:
		return
	case request == c.watermark && c.replace(request, frame):
		t.touch(c, h.Op())
		return
	default:
		c.watermark, c.checksum = request, h.RequestChecksum()
	}
	if len(c.ring) == ringSize {
		c.ring = append(c.ring[:0], c.ring[1:]...)
	}
	c.ring = append(c.ring, frame)
	t.touch(c, h.Op())
}

// dropRegister removes the reply to the Register before.
func (c *client) dropRegister() {
	for i, frame := range c.ring {
		if replyHeader(frame).Operation() == protocol.OpRegister {
			c.ring = append(c.ring[:i], c.ring[i+1:]...)
			return
		}
	}
}

// replace puts frame in the place of the reply with that number, and reports whether there was one.
func (c *client) replace(request uint64, frame []byte) bool {
	for i, old := range c.ring {
		h := replyHeader(old)
		if h.Request() == request && h.Operation() != protocol.OpRegister {
			c.ring[i] = frame
			return true
		}
	}
	return false
}

// conflict reports whether two request checksums prove that the requests differ. 0 proves nothing.
func conflict(a, b protocol.Uint128) bool { return !a.IsZero() && !b.IsZero() && a != b }

func replyHeader(frame []byte) *protocol.ReplyHeader { return (*protocol.ReplyHeader)(frame) }

// succeeded reports whether the result section of a reply frame is the empty one.
func succeeded(frame []byte) bool {
	body := frame[protocol.HeaderSize:]
	return len(body) >= 4 && binary.LittleEndian.Uint32(body) == 0
}
