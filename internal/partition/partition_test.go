package partition

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

func TestSend_OffsetsContinueAndSegmentsAreCutAtTheCrossingBatch(t *testing.T) {
	s := newStory(t, Config{Options: Options{SegmentBytes: 3000}, TailMaxBytes: 1 << 20})
	for i := range uint64(10) {
		if base := s.send(2, 500); base != 2*i {
			t.Fatalf("batch %d has base %d", i, base)
		}
	}
	v := s.p.View()
	if v.Messages != 20 || v.Committed != 19 || !v.Seeded {
		t.Fatalf("view %+v", v)
	}
	// One batch is 256 + 2*(48+500) = 1352 bytes: the third one crosses 3000.
	if v.SegmentCount() != 4 || v.Segment(0).End != 5 || v.Segment(3).Start != 18 {
		t.Fatalf("segments %+v active %+v", v.Sealed, v.Active)
	}
	for i := range v.SegmentCount() {
		if seg := v.Segment(i); seg.Messages()*1352/2 != uint64(seg.Size) {
			t.Errorf("segment %d: %d messages in %d bytes", i, seg.Messages(), seg.Size)
		}
	}
}

func TestStage_PlansOneRunPerSegmentWithTheIndexStride(t *testing.T) {
	s := newStory(t, Config{Options: Options{SegmentBytes: 200 << 10}})
	var entries []*vsr.Entry
	for range 5 {
		e, code := s.entry(protocol.OpSendMessages, record(t, 1, 50<<10))
		if code != protocol.Success {
			t.Fatal(code)
		}
		entries = append(entries, e)
	}
	s.p.Stage(entries, &s.plan)
	if len(s.plan.Runs) != 2 || s.plan.Batches != 5 || s.plan.LastOp != 5 {
		t.Fatalf("plan %+v", s.plan)
	}
	first, second := s.plan.Runs[0], s.plan.Runs[1]
	if !first.Create || len(first.Records) != 4 || !second.Create || second.Start != 4 || len(second.Records) != 1 {
		t.Fatalf("runs %+v", s.plan.Runs)
	}
	// Entries at 0 and at the first batch that begins 64 KiB or more behind the last one.
	if len(first.Index) != 2 || first.Index[1].Offset != 2 || len(second.Index) != 1 || second.Index[0].Position != 0 {
		t.Fatalf("index %+v and %+v", first.Index, second.Index)
	}
}

func TestUnmint_TakesBackOffsetsAndPositions(t *testing.T) {
	s := newStory(t, Config{Options: Options{SegmentBytes: 2000}})
	s.send(1, 100)
	var entries []*vsr.Entry
	for range 3 {
		e, _ := s.entry(protocol.OpSendMessages, record(t, 1, 900))
		entries = append(entries, e)
	}
	s.p.Stage(entries, &s.plan)
	s.p.Unmint(3)
	if s.p.MintFrontier() != 2 || s.p.staged.len() != 1 {
		t.Fatalf("frontier %d, %d staged", s.p.MintFrontier(), s.p.staged.len())
	}
	s.p.Unmint(2)
	if s.p.MintFrontier() != 1 || s.p.write.pos != 256+148 || s.p.write.start != 0 {
		t.Fatalf("frontier %d, write %+v", s.p.MintFrontier(), s.p.write)
	}
	s.op = 1
	if base := s.send(1, 10); base != 1 {
		t.Fatalf("base after the unwind %d", base)
	}
}

func TestReservation_NoOffsetBeyondTheDurableCeiling(t *testing.T) {
	p := New(Config{Replicas: 1, Options: Options{SegmentBytes: 1 << 20}, ReservationLease: 100})
	s := &story{t: t, p: p, now: 1}
	if p.Covers(1) {
		t.Fatal("covered without a claim")
	}
	if _, code := s.entry(protocol.OpSendMessages, record(t, 1, 1)); code != protocol.CodeTransientNotAccepted {
		t.Fatalf("minted without a claim: code %d", code)
	}
	c := p.ClaimFor(4)
	if c.Reserved != 104 || c.Frontier != 0 {
		t.Fatalf("claim %+v", c)
	}
	p.Claimed(c)
	s.send(4, 1)
	for p.MintFrontier() < 92 {
		s.send(1, 1)
	}
	if p.WantsExtension() {
		t.Fatalf("extension with %d left", 104-p.MintFrontier())
	}
	s.send(1, 1)
	if !p.WantsExtension() || p.ExtensionClaim().Reserved != 193 {
		t.Fatalf("extension %v %+v", p.WantsExtension(), p.ExtensionClaim())
	}
	if c, needed := p.CollapseClaim(); !needed || c.Reserved != 93 || c.Frontier != 93 {
		t.Fatalf("collapse %+v %v", c, needed)
	}
}

func TestRestore_MintsFromTheCeilingAndShowsOnlyData(t *testing.T) {
	cases := []struct {
		name               string
		r                  Recovered
		mint, committed    uint64
		seeded, replant    bool
		clamped, forgotten int
	}{
		{"never written", Recovered{}, 0, 0, false, false, 0, 0},
		{"crash with data", Recovered{Segments: []Segment{{End: 3, Size: 10}}, Claim: Claim{0, 65540}}, 65540, 3, true, true, 0, 0},
		{"crash before any data", Recovered{Segments: []Segment{{}}, Claim: Claim{0, 65537}}, 65537, 0, false, true, 0, 0},
		{"second crash behind a planted segment", Recovered{
			Segments: []Segment{{End: 3, Size: 10}, {Start: 65540}}, Claim: Claim{0, 65540}}, 65540, 3, true, false, 0, 0},
		{"second crash without any data", Recovered{Segments: []Segment{{Start: 65537}}, Claim: Claim{0, 65537}}, 65537, 0, false, false, 0, 0},
		{"graceful stop", Recovered{Segments: []Segment{{End: 9, Size: 10}}, Claim: Claim{10, 10}}, 10, 9, true, false, 0, 0},
		{"all data expired", Recovered{Segments: []Segment{{Start: 50}}, Claim: Claim{0, 60}}, 60, 49, true, true, 0, 0},
		{"offset above the end", Recovered{Segments: []Segment{{End: 3, Size: 10}}, Claim: Claim{4, 4},
			Offsets: map[ConsumerKey]uint64{{KindConsumer, 1}: 9}}, 4, 3, true, false, 1, 0},
		{"offset without data", Recovered{Offsets: map[ConsumerKey]uint64{{KindConsumer, 1}: 0}}, 0, 0, false, false, 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := New(Config{Replicas: 1})
			out := p.Restore(c.r)
			committed, seeded := p.Committed()
			if p.MintFrontier() != c.mint || seeded != c.seeded || seeded && committed != c.committed ||
				out.Replant != c.replant || out.ClampedOffsets != c.clamped || out.DroppedOffsets != c.forgotten {
				t.Fatalf("mint %d committed %d %v out %+v", p.MintFrontier(), committed, seeded, out)
			}
			if got, ok := p.Cursors().Get(ConsumerKey{KindConsumer, 1}); ok && got > committed {
				t.Fatalf("stored offset %d above %d", got, committed)
			}
		})
	}
}

func TestOffsets_RulesOfStoreDeleteAndAutoCommit(t *testing.T) {
	s := newStory(t, Config{})
	key := ConsumerKey{KindConsumer, 7}
	me := protocol.Uint128From64(5)
	store := func(v uint64) protocol.Code {
		return s.offset(protocol.OpStoreConsumerOffset, me, OffsetOp{key, v})
	}
	if code := store(0); code != protocol.CodeInvalidOffset {
		t.Fatalf("store in an empty partition: %d", code)
	}
	s.send(10, 1)
	if code := store(10); code != protocol.CodeInvalidOffset {
		t.Fatalf("store past the end: %d", code)
	}
	if code := s.offset(protocol.OpDeleteConsumerOffset, me, OffsetOp{Key: key}); code != protocol.CodeConsumerOffsetNotFound {
		t.Fatalf("delete of nothing: %d", code)
	}
	for _, v := range []uint64{9, 4} { // an explicit store may go back
		if code := store(v); code != protocol.Success {
			t.Fatal(code)
		}
		if got, _ := s.p.Cursors().Get(key); got != v {
			t.Fatalf("stored %d, read %d", v, got)
		}
	}
	s.offset(protocol.OpStoreConsumerOffset, protocol.MaxUint128, OffsetOp{key, 2})
	if got, _ := s.p.Cursors().Get(key); got != 4 {
		t.Fatalf("an auto-commit moved the offset back to %d", got)
	}
	s.offset(protocol.OpStoreConsumerOffset, protocol.MaxUint128, OffsetOp{key, 6})
	if got, _ := s.p.DurableOffset(key); got != 6 {
		t.Fatalf("durable %d", got)
	}
	if code := s.offset(protocol.OpDeleteConsumerOffset, me, OffsetOp{Key: key}); code != protocol.Success {
		t.Fatal(code)
	}
	if _, ok := s.p.Cursors().Get(key); ok || s.p.offsets.counts[KindConsumer] != 0 {
		t.Fatal("offset survived its deletion")
	}
}

func TestPurge_EmptiesEverythingAndStartsAtZero(t *testing.T) {
	s := newStory(t, Config{Revision: 3, TailMaxBytes: 1 << 20, Options: Options{SegmentBytes: 1000}})
	for range 5 {
		s.send(3, 200)
	}
	s.offset(protocol.OpStoreConsumerOffset, protocol.Uint128From64(1), OffsetOp{ConsumerKey{KindGroup, 1}, 2})
	before := s.p.View()
	if !s.p.WantsPurge(1) {
		t.Fatal("purge not wanted")
	}
	body := make([]byte, PurgeBodySize)
	PurgeBody{Generation: 1, MetadataOp: 77, Revision: 3}.Put(body)
	e, code := s.entry(protocol.OpPurgeBarrier, vsr.Body{Bytes: body})
	if code != protocol.Success {
		t.Fatal(code)
	}
	s.p.PurgeProposed(1)
	if _, status := s.p.Apply(&e.Header, e.Body, nil); status != vsr.ApplyHeld {
		t.Fatal("a purge that does not wait for its files")
	}
	s.p.Publish()
	if v := s.p.View(); v.Chain == before.Chain || v.Seeded || v.Messages != 0 || v.PurgeGeneration != 0 {
		t.Fatalf("while purging: %+v", v)
	}
	j := s.p.TakeJobs()[0]
	s.p.Claimed(Claim{})
	s.p.JobDone(&j, nil)
	if _, status := s.p.Apply(&e.Header, e.Body, nil); status != vsr.ApplyDone {
		t.Fatal("held after its job")
	}
	s.p.Publish()
	v := s.p.View()
	if v.PurgeGeneration != 1 || v.SegmentCount() != 1 || s.p.WantsPurge(1) || len(s.p.OffsetKeys()) != 0 || s.p.TailBytes() != 0 {
		t.Fatalf("after the purge: %+v", v)
	}
	s.p.Claimed(s.p.ClaimFor(1 << 16))
	if base := s.send(1, 1); base != 0 {
		t.Fatalf("first offset after the purge %d", base)
	}
}

func TestRetention_ExpirySizeAndConsumerBarrier(t *testing.T) {
	build := func(o Options) *story {
		o.SegmentBytes = 1000
		s := newStory(t, Config{Options: o})
		for range 40 { // one message a batch, segments of two
			s.send(1, 500)
		}
		return s
	}
	t.Run("expiry", func(t *testing.T) {
		s := build(Options{ExpiryMicros: 100})
		edge := s.p.View().Sealed[4].MaxMicros + 100
		if s.p.Retain(edge) || s.p.View().FirstOffset() != 0 {
			t.Fatal("more to do, or published too early")
		}
		s.p.Publish()
		if got := s.p.View().FirstOffset(); got != 10 {
			t.Fatalf("first offset %d", got)
		}
		if jobs := s.p.TakeJobs(); len(jobs) != 1 || len(jobs[0].Starts) != 5 || jobs[0].Starts[0] != 0 {
			t.Fatalf("jobs %+v", jobs)
		}
		if v := s.p.View(); v.Messages != 30 || v.Committed != 39 {
			t.Fatalf("counters %+v", v)
		}
	})
	t.Run("budget of one pass", func(t *testing.T) {
		s := build(Options{BudgetBytes: 1})
		if !s.p.Retain(0) || len(s.p.TakeJobs()[0].Starts) != removalBudget {
			t.Fatal("the budget of a pass was not spent")
		}
		if s.p.Retain(0) {
			t.Fatal("still more to do")
		}
		s.p.Publish()
		if v := s.p.View(); len(v.Sealed) != 0 || v.Committed != 39 {
			t.Fatalf("view %+v", v)
		}
	})
	t.Run("consumer barrier", func(t *testing.T) {
		s := build(Options{BudgetBytes: 1})
		s.offset(protocol.OpStoreConsumerOffset, protocol.Uint128From64(1), OffsetOp{ConsumerKey{KindConsumer, 1}, 4})
		s.p.Retain(0)
		s.p.Publish()
		if got := s.p.View().FirstOffset(); got != 4 {
			t.Fatalf("first offset %d: a consumer that stored 4 has not seen 5", got)
		}
	})
	t.Run("active bytes are not counted", func(t *testing.T) {
		s := newStory(t, Config{Options: Options{SegmentBytes: 1000, BudgetBytes: 10_000}})
		s.send(1, 500)
		s.send(1, 500) // a segment larger than it should be, inside the floor of the budget
		s.send(1, 600) // active
		s.p.SetOptions(Options{SegmentBytes: 1000, BudgetBytes: s.p.View().Sealed[0].Size})
		if s.p.Retain(0); len(s.p.TakeJobs()) != 0 {
			t.Fatal("the newest sealed segment was removed")
		}
		s.p.SetOptions(Options{SegmentBytes: 1000, BudgetBytes: s.p.View().Sealed[0].Size - 1})
		if s.p.Retain(0); len(s.p.TakeJobs()) != 1 {
			t.Fatal("what does not fit the budget was kept")
		}
	})
	t.Run("never the active one, however old", func(t *testing.T) {
		s := newStory(t, Config{Options: Options{SegmentBytes: 1000, ExpiryMicros: 1}})
		s.send(1, 100)
		if s.p.Retain(1 << 60); len(s.p.TakeJobs()) != 0 {
			t.Fatal("the active segment was removed")
		}
	})
	t.Run("more than there are", func(t *testing.T) {
		s := build(Options{})
		if upTo, ok := s.p.EndOfOldest(1 << 30); !ok || upTo != 39 {
			t.Fatalf("the oldest of too many ends at %d %v", upTo, ok)
		}
		if _, ok := s.p.EndOfOldest(0); ok {
			t.Fatal("none of them ends somewhere")
		}
	})
	t.Run("delete segments", func(t *testing.T) {
		s := build(Options{})
		upTo, ok := s.p.EndOfOldest(3)
		if !ok || upTo != 5 {
			t.Fatalf("third oldest ends at %d", upTo)
		}
		s.p.Truncate(upTo)
		s.p.Publish()
		if got := s.p.View().FirstOffset(); got != 6 {
			t.Fatalf("first offset %d", got)
		}
	})
}

func TestView_SelectionsAgreeWithANaiveScan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newStory(t, Config{TailMaxBytes: 4000, Options: Options{SegmentBytes: int64(rapid.IntRange(500, 3000).Draw(r, "segment"))}})
		type msg struct{ offset, micros uint64 }
		var all []msg
		for range rapid.IntRange(1, 20).Draw(r, "batches") {
			n := rapid.IntRange(1, 4).Draw(r, "count")
			at := s.now
			base := s.send(n, 100)
			for i := range uint64(n) {
				all = append(all, msg{base + i, at})
			}
		}
		v := s.p.View()
		offset := rapid.Uint64Range(0, uint64(len(all))+3).Draw(r, "offset")
		if i := v.SegmentFor(offset); i < v.SegmentCount() {
			seg := v.Segment(i)
			if offset < seg.Start || offset > seg.End {
				r.Fatalf("offset %d looked for in [%d,%d]", offset, seg.Start, seg.End)
			}
		} else if offset <= v.Committed {
			r.Fatalf("offset %d not found, committed %d", offset, v.Committed)
		}
		micros := rapid.Uint64Range(990, s.now+10).Draw(r, "micros")
		want := len(all)
		for i, m := range all {
			if m.micros >= micros {
				want = i
				break
			}
		}
		if i := v.SegmentForTime(micros); want < len(all) && (v.Segment(i).Start > all[want].offset || v.Segment(i).End < all[want].offset) {
			r.Fatalf("time %d: message %d not in segment %d", micros, all[want].offset, i)
		}
		count := uint32(rapid.IntRange(1, 30).Draw(r, "n"))
		sel := v.Resolve(Query{Strategy: FromLast, Count: count}, 0, false)
		if left := uint64(len(all)) - sel.Offset; left != min(uint64(count), uint64(len(all))) {
			r.Fatalf("last %d begins at %d of %d", count, sel.Offset, len(all))
		}
	})
}

func TestResolve_Strategies(t *testing.T) {
	s := newStory(t, Config{})
	if sel := s.p.View().Resolve(Query{Strategy: FromFirst, Count: 1}, 0, false); !sel.Empty {
		t.Fatal("an empty partition serves something")
	}
	s.send(10, 1)
	v := s.p.View()
	cases := []struct {
		q       Query
		next    uint64
		has     bool
		empty   bool
		offset  uint64
		ceiling uint64
	}{
		{Query{Strategy: FromOffset, Value: 3, Count: 1}, 0, false, false, 3, 9},
		{Query{Strategy: FromOffset, Value: 10, Count: 1}, 0, false, true, 10, 9},
		{Query{Strategy: FromOffset, Value: 3}, 0, false, true, 0, 9},
		{Query{Strategy: FromNext, Count: 1}, 0, false, false, 0, 9},
		{Query{Strategy: FromNext, Count: 1}, 0, true, false, 1, 9},
		{Query{Strategy: FromNext, Count: 1}, 9, true, true, 0, 9},
		{Query{Strategy: FromLast, Count: 4}, 0, false, false, 6, 9},
		{Query{Strategy: FromLast, Count: 40}, 0, false, false, 0, 9},
	}
	for i, c := range cases {
		sel := v.Resolve(c.q, c.next, c.has)
		if sel.Empty != c.empty || !sel.Empty && (sel.Offset != c.offset || sel.Ceiling != c.ceiling) {
			t.Errorf("case %d: %+v", i, sel)
		}
	}
}

// A removal of segments that failed while a purge was on its way is not tried again: the purge removes them, and
// their names are used anew.
func TestRetry_ARemovalFromBeforeAPurgeIsDropped(t *testing.T) {
	s := newStory(t, Config{Revision: 3, Options: Options{SegmentBytes: 1000}})
	for range 3 {
		s.send(3, 300)
	}
	s.p.Truncate(2)
	jobs := s.p.TakeJobs()
	if len(jobs) != 1 || jobs[0].Kind != JobRemoveSegments || jobs[0].Starts[0] != 0 {
		t.Fatalf("jobs %+v", jobs)
	}
	removal := jobs[0]
	s.p.Retry(removal)
	if jobs = s.p.TakeJobs(); len(jobs) != 1 {
		t.Fatalf("retried: %+v", jobs)
	}
	body := make([]byte, PurgeBodySize)
	PurgeBody{Generation: 1, MetadataOp: 77, Revision: 3}.Put(body)
	e, code := s.entry(protocol.OpPurgeBarrier, vsr.Body{Bytes: body})
	if code != protocol.Success {
		t.Fatal(code)
	}
	if _, status := s.p.Apply(&e.Header, e.Body, nil); status != vsr.ApplyHeld {
		t.Fatal("a purge that does not wait for its files")
	}
	s.p.Retry(removal)
	if jobs = s.p.TakeJobs(); len(jobs) != 1 || jobs[0].Kind != JobPurge {
		t.Fatalf("behind the purge: %+v", jobs)
	}
}

// The first poll of a consumer that a purge overtakes leaves no offset behind: messages that come after the purge
// would be skipped.
func TestCursors_APollFromBeforeAClearRaisesNothing(t *testing.T) {
	var c Cursors
	key := ConsumerKey{KindConsumer, 1}
	epoch := c.Epoch(key)
	c.clear()
	c.RaiseIn(key, epoch, 500)
	if offset, set := c.Get(key); set {
		t.Fatalf("offset %d", offset)
	}
	c.RaiseIn(key, c.Epoch(key), 3)
	if offset, set := c.Get(key); !set || offset != 3 {
		t.Fatalf("offset %d, %v", offset, set)
	}
}

// However the lease grows, what a crash wastes is at most one block as it is at that moment, a block is never larger
// than its limit, and no claim lowers the ceiling.
func TestReservation_ACrashWastesAtMostOneBlock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := New(Config{Replicas: 1, ReservationLease: rapid.Uint64Range(1, 100_000).Draw(rt, "lease")})
		rt.Repeat(map[string]func(*rapid.T){
			"mint": func(rt *rapid.T) {
				count := rapid.Uint64Range(1, 5_000).Draw(rt, "count")
				if !p.Covers(count) {
					c, lease := p.ClaimFor(count), p.lease()
					if c.Reserved > p.MintFrontier()+count+lease || c.Reserved < p.reserve.reserved {
						rt.Fatalf("claim of %d at %d with a lease of %d", c.Reserved, p.MintFrontier(), lease)
					}
					p.Claimed(c)
				}
				p.appended, p.live = p.MintFrontier()+count-1, true
				p.reserve.minted = true
			},
			"extend": func(rt *rapid.T) {
				c := p.ExtensionClaim()
				if c.Reserved > max(p.reserve.reserved, p.MintFrontier()+p.lease()) || c.Reserved < p.reserve.reserved {
					rt.Fatalf("extension to %d at %d with a lease of %d", c.Reserved, p.MintFrontier(), p.lease())
				}
				p.Claimed(c)
				p.ClaimTook(rapid.Uint64Range(0, 100_000).Draw(rt, "minted"), rapid.Bool().Draw(rt, "soon"))
			},
			"": func(rt *rapid.T) {
				if left := p.ReservedLeft(); left > p.lease() || left > defaultLeaseMax {
					rt.Fatalf("a crash wastes %d offsets, the block is %d", left, p.lease())
				}
			},
		})
	})
}
