package partition

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

func u128(v uint64) protocol.Uint128 { return protocol.Uint128From64(v) }

func TestDedup_WindowEdges(t *testing.T) {
	var d dedupTable
	for op, request := range []uint64{1, 2, 64, 65, 100} {
		d.commit(u128(9), 1, request, uint64(op+1))
	}
	expect := func(request uint64, want Seen) {
		t.Helper()
		if got := d.seen(u128(9), 1, request); got != want {
			t.Errorf("watermark %d: request %d is %d, want %d", d.clients[0].watermark, request, got, want)
		}
	}
	expect(1, SeenCommitted)
	expect(3, SeenNever)
	expect(63, SeenNever)
	expect(64, SeenCommitted)
	expect(101, SeenNever)

	d.commit(u128(9), 1, 128, 6)
	expect(1, SeenCommitted) // 127 behind: the last bit
	expect(2, SeenCommitted)
	expect(3, SeenNever)

	d.commit(u128(9), 1, 129, 7)
	expect(1, SeenTooOld) // 128 behind
	expect(2, SeenCommitted)

	// A number that was skipped is executed inside the window, at both ends of it, and only once.
	d.commit(u128(9), 1, 3, 8)
	expect(3, SeenCommitted)
	expect(2, SeenCommitted)
	expect(4, SeenNever)

	// One that was overtaken while it was in flight leaves no trace.
	d.commit(u128(9), 1, 1, 9)
	expect(1, SeenTooOld)

	// A leap over the whole window forgets what lies below.
	for _, leap := range []uint64{128, 192, 1 << 40} {
		before := d.clients[0].watermark
		d.commit(u128(9), 1, before+leap, 10)
		expect(before, SeenTooOld)
		expect(before+leap, SeenCommitted)
		expect(before+leap-127, SeenNever)
		expect(before+leap-128, SeenTooOld)
	}
	d.commit(u128(9), 1, math.MaxUint64, 11)
	expect(math.MaxUint64, SeenCommitted)
	expect(math.MaxUint64-127, SeenNever)
	expect(1, SeenTooOld)
}

func TestDedup_AnotherUserInheritsNothing(t *testing.T) {
	var d dedupTable
	d.commit(u128(9), 1, 500, 1)
	if got := d.seen(u128(9), 2, 500); got != SeenNever {
		t.Errorf("the number of another user is %d", got)
	}
	if got := d.seen(u128(9), 2, 1); got != SeenNever {
		t.Errorf("a number below the window of another user is %d", got)
	}
	d.commit(u128(9), 2, 3, 2)
	for request, want := range map[uint64]Seen{3: SeenCommitted, 2: SeenNever, 500: SeenNever} {
		if got := d.seen(u128(9), 2, request); got != want {
			t.Errorf("request %d of the second user is %d, want %d", request, got, want)
		}
	}
	if got := d.seen(u128(9), 1, 500); got != SeenNever {
		t.Errorf("the first user was replaced and still finds its number: %d", got)
	}
	if len(d.clients) != 1 {
		t.Errorf("%d entries for one client", len(d.clients))
	}
}

func TestDedup_TheOldestCommitMakesRoom(t *testing.T) {
	var d dedupTable
	for i := range uint64(dedupClientsMax) {
		d.commit(u128(i+1), 1, 1, i+1)
	}
	// Client 1 moves up. Client 2 commits below its watermark only: that makes it no younger.
	d.commit(u128(2), 1, 3, dedupClientsMax+1)
	d.commit(u128(1), 1, 2, dedupClientsMax+2)
	for i := range uint64(dedupClientsMax - 2) {
		d.commit(u128(i+3), 1, 5, 2*dedupClientsMax+i)
	}
	d.commit(u128(2), 1, 2, 4*dedupClientsMax)
	d.commit(u128(99_999), 1, 1, 4*dedupClientsMax+1)
	if len(d.clients) != dedupClientsMax || len(d.index) != dedupClientsMax {
		t.Fatalf("%d entries, %d in the index", len(d.clients), len(d.index))
	}
	for client, want := range map[uint64]Seen{1: SeenCommitted, 2: SeenNever, 3: SeenCommitted, 99_999: SeenCommitted} {
		if got := d.seen(u128(client), 1, 1); got != want {
			t.Errorf("client %d: %d, want %d", client, got, want)
		}
	}
}

func TestDedup_SteadyClientsAllocateNothing(t *testing.T) {
	d := dedupTable{limit: 64}
	op := uint64(0)
	round := func() {
		for c := range uint64(100) { // more than there is room for
			op++
			d.commit(u128(c+1), 1, op, op)
			d.seen(u128(c+1), 1, op)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// naiveNumbers remembers every number that was committed, as long as its client is remembered.
type naiveNumbers struct {
	limit   int
	clients map[uint64]*naiveClient
}

type naiveClient struct {
	user              uint32
	highest, latestOp uint64
	committed         map[uint64]bool
}

func (n *naiveNumbers) seen(client uint64, user uint32, request uint64) Seen {
	c := n.clients[client]
	switch {
	case c == nil || c.user != user || request > c.highest:
		return SeenNever
	case c.highest-request >= 128:
		return SeenTooOld
	case c.committed[request]:
		return SeenCommitted
	}
	return SeenNever
}

func (n *naiveNumbers) commit(client uint64, user uint32, request, op uint64) {
	c := n.clients[client]
	if c == nil {
		if len(n.clients) == n.limit {
			oldest, at := uint64(0), uint64(math.MaxUint64)
			for id, other := range n.clients {
				if other.latestOp < at {
					oldest, at = id, other.latestOp
				}
			}
			delete(n.clients, oldest)
		}
		c = &naiveClient{user: user, committed: map[uint64]bool{}}
		n.clients[client] = c
	}
	if c.user != user {
		*c = naiveClient{user: user, committed: map[uint64]bool{}}
	}
	c.committed[request] = true
	if request > c.highest {
		c.highest, c.latestOp = request, op
	}
}

func TestDedup_AgreesWithANaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 3
		d := dedupTable{limit: limit}
		model := naiveNumbers{limit: limit, clients: map[uint64]*naiveClient{}}
		top := uint64(0)
		for op := uint64(1); op <= uint64(rapid.IntRange(1, 150).Draw(t, "ops")); op++ {
			client := rapid.Uint64Range(1, 5).Draw(t, "client")
			user := rapid.SampledFrom([]uint32{1, 1, 1, 2}).Draw(t, "user")
			request := max(1, rapid.Uint64Range(top-min(top, 135), top+5).Draw(t, "request"))
			if rapid.IntRange(0, 30).Draw(t, "leap") == 0 {
				request += rapid.Uint64Range(120, 300).Draw(t, "by")
			}
			top = max(top, request)
			if rapid.IntRange(0, 80).Draw(t, "purge") == 0 {
				d.clear()
				clear(model.clients)
			}
			d.commit(u128(client), user, request, op)
			model.commit(client, user, request, op)
			for c := range uint64(6) {
				for _, u := range []uint32{1, 2} {
					for n := top - min(top-1, 140); n <= top+1; n++ {
						if got, want := d.seen(u128(c), u, n), model.seen(c, u, n); got != want {
							t.Fatalf("op %d: client %d user %d request %d is %d, want %d", op, c, u, n, got, want)
						}
					}
				}
			}
		}
	})
}

// flight is a numbered send between its admission and its commit.
type flight struct {
	entry   *vsr.Entry
	client  uint64
	request uint64
}

// retries drives a partition as its group would, for clients that send numbers again until they know.
type retries struct {
	t       *rapid.T
	s       *story
	flying  []flight
	applied map[[2]uint64]int // (client, number): appends
}

func (r *retries) request(client, number uint64) *vsr.Request {
	return &vsr.Request{Client: u128(client), UserID: 1, Request: number, Operation: protocol.OpSendMessages}
}

// send offers a number the way a primary does: known numbers are answered, those in flight refused.
func (r *retries) send(client, number uint64) {
	key := [2]uint64{client, number}
	switch r.s.p.Seen(r.request(client, number)) {
	case SeenCommitted:
		if r.applied[key] != 1 {
			r.t.Fatalf("client %d, number %d: success for %d appends", client, number, r.applied[key])
		}
		return
	case SeenTooOld:
		if number+128 > r.highest(client) {
			r.t.Fatalf("client %d, number %d: too old below %d", client, number, r.highest(client))
		}
		return
	}
	for _, f := range r.flying {
		if f.client == client && f.request == number {
			return
		}
	}
	e := &vsr.Entry{Body: record(r.s.t, 1, 10)}
	e.Header.SetOp(r.s.op + 1)
	e.Header.SetOperation(protocol.OpSendMessages)
	e.Header.SetClient(u128(client))
	e.Header.SetUserID(1)
	e.Header.SetRequest(number)
	if _, code := r.s.p.Mint(&e.Header, e.Body); code != protocol.Success {
		r.t.Fatalf("mint: %v", code)
	}
	r.s.op++
	r.s.p.Stage([]*vsr.Entry{e}, &r.s.plan)
	r.flying = append(r.flying, flight{e, client, number})
}

func (r *retries) highest(client uint64) (highest uint64) {
	for key := range r.applied {
		if key[0] == client {
			highest = max(highest, key[1])
		}
	}
	return highest
}

// commit applies the oldest send in flight.
func (r *retries) commit() {
	f := r.flying[0]
	r.flying = r.flying[1:]
	r.s.p.AppendDone(f.entry.Header.Op())
	if _, status := r.s.p.Apply(&f.entry.Header, f.entry.Body, nil); status != vsr.ApplyDone {
		r.t.Fatal("held")
	}
	key := [2]uint64{f.client, f.request}
	if r.applied[key]++; r.applied[key] > 1 {
		r.t.Fatalf("client %d: number %d was appended twice", f.client, f.request)
	}
	if f.request+128 > r.highest(f.client) && r.s.p.Seen(r.request(f.client, f.request)) != SeenCommitted {
		r.t.Fatalf("client %d: number %d was committed and is not known", f.client, f.request)
	}
}

// fail takes the sends from the i-th in flight on back, as after a failed append.
func (r *retries) fail(i int) {
	op := r.flying[i].entry.Header.Op()
	r.s.p.Unmint(op)
	r.s.op = op - 1
	r.flying = r.flying[:i]
}

func TestDedup_NoNumberIsAppendedTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &retries{t: rt, s: newStory(t, Config{}), applied: map[[2]uint64]int{}}
		next := map[uint64]uint64{}
		for range rapid.IntRange(20, 250).Draw(rt, "steps") {
			client := rapid.Uint64Range(1, 3).Draw(rt, "client")
			switch what := rapid.IntRange(0, 9).Draw(rt, "what"); {
			case what < 3:
				next[client] += rapid.SampledFrom([]uint64{1, 1, 1, 1, 2, 60}).Draw(rt, "gap")
				r.send(client, next[client])
			case what < 6 && next[client] > 0:
				r.send(client, next[client]-rapid.Uint64Range(0, min(next[client]-1, 140)).Draw(rt, "back"))
			case what < 9 && len(r.flying) > 0:
				r.commit()
			case len(r.flying) > 0:
				r.fail(rapid.IntRange(0, len(r.flying)-1).Draw(rt, "failed"))
			}
		}
		for len(r.flying) > 0 {
			r.commit()
		}
		if p := r.s.p; p.messages != uint64(len(r.applied)) {
			rt.Fatalf("%d messages for %d numbers", p.messages, len(r.applied))
		}
	})
}

// numbered runs an operation of a client through, with the job that holds it.
func (s *story) numbered(op protocol.Operation, client protocol.Uint128, number uint64, body vsr.Body, held func()) {
	s.t.Helper()
	e, code := s.entry(op, body)
	if code != protocol.Success {
		s.t.Fatalf("mint: %v", code)
	}
	e.Header.SetClient(client)
	e.Header.SetUserID(1)
	e.Header.SetRequest(number)
	s.p.Stage([]*vsr.Entry{e}, &s.plan)
	s.p.AppendDone(s.op)
	_, status := s.p.Apply(&e.Header, body, nil)
	if status == vsr.ApplyDone {
		return
	}
	held()
	for _, j := range s.p.TakeJobs() {
		if !s.p.JobDone(&j, nil) {
			s.t.Fatal("the walk does not go on after the job")
		}
	}
	if _, status = s.p.Apply(&e.Header, body, nil); status != vsr.ApplyDone {
		s.t.Fatal("held twice")
	}
}

func (s *story) seen(client protocol.Uint128, number uint64) Seen {
	return s.p.Seen(&vsr.Request{Client: client, UserID: 1, Request: number})
}

func TestDedup_SendsAndOffsetsShareTheNumbersOfAPartition(t *testing.T) {
	s := newStory(t, Config{})
	client := protocol.Uint128{Lo: 1, Hi: 5}
	s.numbered(protocol.OpSendMessages, client, 1, record(t, 2, 10), nil)
	body := make([]byte, OffsetOpSize)
	OffsetOp{Key: ConsumerKey{KindConsumer, 3}, Offset: 1}.Put(body)
	wasHeld := false
	s.numbered(protocol.OpStoreConsumerOffset, client, 2, vsr.Body{Bytes: body}, func() {
		wasHeld = true
		if s.seen(client, 2) != SeenNever {
			t.Error("an operation whose file is not written counts as committed")
		}
	})
	if !wasHeld || s.seen(client, 1) != SeenCommitted || s.seen(client, 2) != SeenCommitted || s.seen(client, 3) != SeenNever {
		t.Errorf("held %v, numbers %d %d %d", wasHeld, s.seen(client, 1), s.seen(client, 2), s.seen(client, 3))
	}
	if s.seen(protocol.Uint128{Lo: 1}, 1) != SeenNever {
		t.Error("half a client id is enough")
	}
}

func TestDedup_OnlyNumberedRequestsOfClientsLeaveATrace(t *testing.T) {
	s := newStory(t, Config{})
	s.numbered(protocol.OpSendMessages, u128(1), 0, record(t, 1, 10), nil)
	s.numbered(protocol.OpSendMessages, protocol.MaxUint128, 4, record(t, 1, 10), nil)
	s.numbered(protocol.OpSendMessages, protocol.Uint128{}, 4, record(t, 1, 10), nil)
	if s.p.dedup.index != nil || s.p.dedup.clients != nil {
		t.Fatalf("table %+v", s.p.dedup)
	}
	for _, client := range []protocol.Uint128{u128(1), protocol.MaxUint128, {}} {
		if s.seen(client, 0) != SeenNever || s.seen(client, 4) != SeenNever {
			t.Errorf("client %v was seen", client)
		}
	}
}

func TestDedup_APurgeForgetsEveryNumber(t *testing.T) {
	s := newStory(t, Config{})
	for n := range uint64(200) {
		s.numbered(protocol.OpSendMessages, u128(1), n+1, record(t, 1, 10), nil)
	}
	if s.seen(u128(1), 200) != SeenCommitted || s.seen(u128(1), 5) != SeenTooOld {
		t.Fatal("not recorded")
	}
	body := make([]byte, PurgeBodySize)
	PurgeBody{Generation: 1}.Put(body)
	s.numbered(protocol.OpPurgeBarrier, protocol.MaxUint128, 0, vsr.Body{Bytes: body}, func() {})
	for _, n := range []uint64{5, 73, 200} {
		if got := s.seen(u128(1), n); got != SeenNever {
			t.Errorf("number %d after the purge: %d", n, got)
		}
	}
}
