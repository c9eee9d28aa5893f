package partition

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

const (
	// dedupClientsMax bounds the clients that are remembered. The one whose watermark is the oldest commit
	// makes room: its retries are executed again.
	dedupClientsMax = 4096
	// dedupWindow is the number of request numbers, counted down from the watermark, whose fate is known.
	dedupWindow = 128
)

// Seen says what the committed log of a partition knows about the number of a request.
type Seen uint8

// Answers of Partition.Seen.
const (
	// SeenNever: not committed, as far as anybody remembers. The request is executed.
	SeenNever Seen = iota
	// SeenCommitted: committed before. The request is answered with success and not executed again.
	SeenCommitted
	// SeenTooOld: below the window. Whether it was committed is not known any more.
	SeenTooOld
)

// dedupClient is what is remembered of one client that numbers its requests.
type dedupClient struct {
	client       protocol.Uint128
	window       protocol.Uint128 // bit i: request watermark-i was committed
	watermark    uint64           // highest committed request number
	latestCommit uint64           // op of that request
	user         uint32           // another user of the same client id inherits nothing
	older, newer int32            // neighbours by latestCommit, noNeighbour at the ends
}

const noNeighbour = -1

// dedupTable recognises committed requests that are sent again. It is part of the replicated state: a
// function of the operations applied, in their order. Clients are listed by latestCommit, which only grows
// at the newer end. The zero value is empty and holds no memory.
//
// The table lives in memory. Where the segment is the log there is nothing to rebuild it from: a solo
// partition starts with an empty one after a restart, and a request that was committed before it is then
// executed again. A group that replays its log gets it back by applying.
type dedupTable struct {
	index          map[protocol.Uint128]int32
	clients        []dedupClient
	oldest, newest int32 // meaningless while clients is empty
	limit          int   // 0 means dedupClientsMax
}

// Seen looks a request up by client, user and number. Requests that are not numbered were never seen.
// Requests in flight are not known here: the log knows them.
func (p *Partition) Seen(req *vsr.Request) Seen {
	if !isNumbered(req.Client, req.Request) {
		return SeenNever
	}
	return p.dedup.seen(req.Client, req.UserID, req.Request)
}

// isNumbered reports whether a request counts for the table: number 0 says nothing, and operations of the
// server itself are nobody's retries.
func isNumbered(client protocol.Uint128, request uint64) bool {
	return request > 0 && !client.IsZero() && client != protocol.MaxUint128
}

// noteNumber remembers the number of an operation that was applied.
func (p *Partition) noteNumber(h *protocol.PrepareHeader) {
	if isNumbered(h.Client(), h.Request()) {
		p.dedup.commit(h.Client(), h.UserID(), h.Request(), h.Op())
	}
}

func (t *dedupTable) seen(client protocol.Uint128, user uint32, request uint64) Seen {
	i, ok := t.index[client]
	if !ok {
		return SeenNever
	}
	c := &t.clients[i]
	if c.user != user || request > c.watermark {
		return SeenNever
	}
	switch behind := c.watermark - request; {
	case behind >= dedupWindow:
		return SeenTooOld
	case hasBit(c.window, behind):
		return SeenCommitted
	}
	return SeenNever
}

// commit records that request was applied at op, which is above the op of every earlier call. A number that
// was overtaken by the whole window while it was in flight leaves no trace.
func (t *dedupTable) commit(client protocol.Uint128, user uint32, request, op uint64) {
	i, ok := t.index[client]
	if !ok {
		i = t.claim(client)
	}
	c := &t.clients[i]
	if c.user != user {
		c.user, c.watermark, c.window = user, 0, protocol.Uint128{}
	}
	if request > c.watermark {
		c.window = withBit(shiftLeft(c.window, request-c.watermark), 0)
		c.watermark, c.latestCommit = request, op
		t.makeNewest(i)
		return
	}
	if behind := c.watermark - request; behind < dedupWindow {
		c.window = withBit(c.window, behind)
	}
}

// claim returns an empty entry for a client that has none: a new one, or that of the oldest client.
func (t *dedupTable) claim(client protocol.Uint128) int32 {
	limit := t.limit
	if limit == 0 {
		limit = dedupClientsMax
	}
	if t.index == nil {
		t.index = make(map[protocol.Uint128]int32)
	}
	n := int32(len(t.clients))
	if int(n) == limit {
		i := t.oldest
		c := &t.clients[i]
		delete(t.index, c.client)
		t.index[client] = i
		*c = dedupClient{client: client, older: c.older, newer: c.newer}
		return i
	}
	c := dedupClient{client: client, older: noNeighbour, newer: noNeighbour}
	if n == 0 {
		t.oldest = 0
	} else {
		c.older = t.newest
		t.clients[t.newest].newer = n
	}
	t.newest = n
	t.clients = append(t.clients, c)
	t.index[client] = n
	return n
}

// makeNewest moves entry i to the newer end of the list.
func (t *dedupTable) makeNewest(i int32) {
	if i == t.newest {
		return
	}
	c := &t.clients[i]
	if c.older == noNeighbour {
		t.oldest = c.newer
	} else {
		t.clients[c.older].newer = c.newer
	}
	t.clients[c.newer].older = c.older
	c.older, c.newer = t.newest, noNeighbour
	t.clients[t.newest].newer = i
	t.newest = i
}

// clear forgets every client: what they had committed is gone, and a retry must not be taken for it.
func (t *dedupTable) clear() { *t = dedupTable{limit: t.limit} }

// shiftLeft moves the bits of v up by n; those that pass bit 127 are lost.
func shiftLeft(v protocol.Uint128, n uint64) protocol.Uint128 {
	if n >= 64 {
		return protocol.Uint128{Hi: v.Lo << (n - 64)}
	}
	return protocol.Uint128{Lo: v.Lo << n, Hi: v.Hi<<n | v.Lo>>(64-n)}
}

// withBit returns v with bit i set; i is below 128.
func withBit(v protocol.Uint128, i uint64) protocol.Uint128 {
	if i < 64 {
		v.Lo |= 1 << i
	} else {
		v.Hi |= 1 << (i - 64)
	}
	return v
}

// hasBit reports whether bit i of v is set; i is below 128.
func hasBit(v protocol.Uint128, i uint64) bool {
	if i < 64 {
		return v.Lo>>i&1 != 0
	}
	return v.Hi>>(i-64)&1 != 0
}
