package partition

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// logStory drives a logged Partition: what was proposed is in the log, what was committed is applied in runs.
type logStory struct {
	*story
	log  []*vsr.Entry
	done int // entries applied
}

func newLogStory(t testing.TB, cfg Config) *logStory {
	cfg.Logged = true
	return &logStory{story: newStory(t, cfg)}
}

func (s *logStory) propose(op protocol.Operation, client protocol.Uint128, request uint64, body vsr.Body) protocol.Code {
	e, code := s.entry(op, body)
	if code == protocol.Success {
		e.Header.SetClient(client)
		e.Header.SetRequest(request)
		s.log = append(s.log, e)
	}
	return code
}

// commit applies n more entries of the log.
func (s *logStory) commit(n int) {
	s.t.Helper()
	end := min(s.done+n, len(s.log))
	s.p.AppendDone(uint64(end))
	for s.done < end {
		e := s.log[s.done]
		if _, status := s.p.Apply(&e.Header, e.Body, nil); status == vsr.ApplyDone {
			s.done++
			continue
		}
		for _, j := range s.p.TakeJobs() {
			if j.Kind == JobAppend {
				s.p.Stage(s.log[s.done:end], &s.plan)
			}
			if !s.p.JobDone(&j, nil) {
				s.t.Fatal("the walk does not go on after the job")
			}
		}
	}
	s.p.Publish()
}

func (s *logStory) store(client protocol.Uint128, o OffsetOp) protocol.Code {
	body := make([]byte, OffsetOpSize)
	o.Put(body)
	return s.propose(protocol.OpStoreConsumerOffset, client, 0, vsr.Body{Bytes: body})
}

func TestLogged_BatchesAreVisibleAndInSegmentsOnlyWhenCommitted(t *testing.T) {
	s := newLogStory(t, Config{Options: Options{SegmentBytes: 1000}, TailMaxBytes: 1 << 20})
	for range 5 {
		s.propose(protocol.OpSendMessages, u128(1), 0, record(t, 2, 200))
	}
	if _, seeded := s.p.Committed(); seeded || s.p.write.exists {
		t.Fatal("something reached the segments before the commit")
	}
	s.commit(2)
	// A batch is 256 + 2*(48+200) = 752 bytes: every second one crosses 1000.
	if v := s.p.View(); v.Messages != 4 || v.SegmentCount() != 2 {
		t.Fatalf("%d messages in %d segments", v.Messages, v.SegmentCount())
	}
	s.commit(3)
	if v := s.p.View(); v.Messages != 10 || v.SegmentCount() != 3 || v.Segment(0).End != 3 {
		t.Fatalf("%d messages in %d segments", v.Messages, v.SegmentCount())
	}
}

func TestLogged_AFailedSegmentWriteIsPlannedAgainAtTheSamePlace(t *testing.T) {
	s := newLogStory(t, Config{Options: Options{SegmentBytes: 1000}})
	for range 3 {
		s.propose(protocol.OpSendMessages, u128(1), 0, record(t, 1, 400))
	}
	s.p.AppendDone(3)
	if _, status := s.p.Apply(&s.log[0].Header, s.log[0].Body, nil); status != vsr.ApplyHeld {
		t.Fatal("applied before it was written")
	}
	job := s.p.TakeJobs()[0]
	var first []Run
	for range 3 {
		s.p.Stage(s.log, &s.plan)
		runs := make([]Run, len(s.plan.Runs))
		for i, r := range s.plan.Runs {
			runs[i] = Run{Create: r.Create, Start: r.Start, Position: r.Position, Bytes: r.Bytes}
		}
		if first == nil {
			first = runs
		}
		if !reflect.DeepEqual(first, runs) {
			t.Fatalf("first plan %+v, then %+v", first, runs)
		}
		s.p.Unstage()
		s.p.Retry(job)
		job = s.p.TakeJobs()[0]
	}
	s.p.Stage(s.log, &s.plan)
	s.p.JobDone(&job, nil)
	s.commit(3)
	if v := s.p.View(); v.Messages != 3 || v.SegmentCount() != 2 {
		t.Fatalf("%d messages in %d segments", v.Messages, v.SegmentCount())
	}
}

func TestLogged_WhatAPurgeFollowsIsNotLaidOutBeforeIt(t *testing.T) {
	s := newLogStory(t, Config{Revision: 3})
	s.propose(protocol.OpSendMessages, u128(1), 0, record(t, 1, 10))
	body := make([]byte, PurgeBodySize)
	PurgeBody{Generation: 1, MetadataOp: 9, Revision: 3}.Put(body)
	s.propose(protocol.OpPurgeBarrier, protocol.MaxUint128, 0, vsr.Body{Bytes: body})
	s.propose(protocol.OpSendMessages, u128(1), 0, record(t, 1, 10))
	s.p.Stage(s.log, &s.plan)
	if s.plan.Batches != 1 || s.plan.LastOp != 1 {
		t.Fatalf("plan %+v", s.plan)
	}
}

func TestLogged_RetentionStaysBelowTheCheckpoint(t *testing.T) {
	s := newLogStory(t, Config{Options: Options{SegmentBytes: 1000, BudgetBytes: 1}})
	for range 4 {
		s.propose(protocol.OpSendMessages, u128(1), 0, record(t, 1, 1000))
	}
	s.commit(2)
	if s.p.Retain(1); len(s.p.TakeJobs()) != 0 {
		t.Fatal("a segment was removed that no checkpoint covers")
	}
	c := s.p.Checkpoint()
	if c.Op != 2 || c.Frontier != 2 || c.SegmentStart != 2 || c.SegmentSize != 0 {
		t.Fatalf("checkpoint %+v", c)
	}
	s.commit(2)
	s.p.Checkpointed(&c)
	s.p.Retain(1)
	jobs := s.p.TakeJobs()
	if len(jobs) != 1 || !reflect.DeepEqual(jobs[0].Starts, []uint64{0, 1}) {
		t.Fatalf("jobs %+v", jobs)
	}
}

// Replaying the log from a checkpoint, over segments and offset files that may be ahead of it, gives the state
// that was there, and gives it again when it is done twice.
func TestLogged_ReplayRestoresTheState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Config{Replicas: 1, Options: Options{SegmentBytes: 2000}}
		s := newLogStory(t, cfg)
		var at Checkpoint
		var dedup []DedupEntry
		stored := map[ConsumerKey]uint64{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			key := ConsumerKey{KindConsumer, rapid.Uint32Range(1, 3).Draw(rt, "key")}
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				request := rapid.Uint64Range(0, 50).Draw(rt, "request")
				s.propose(protocol.OpSendMessages, u128(uint64(key.ID)), request, record(t, 1+int(key.ID), 100))
			case 2:
				client := u128(5)
				if rapid.Bool().Draw(rt, "auto") {
					client = protocol.MaxUint128
				}
				s.store(client, OffsetOp{key, rapid.Uint64Range(0, 20).Draw(rt, "offset")})
			case 3:
				s.commit(rapid.IntRange(1, 5).Draw(rt, "commit"))
			case 4:
				at, dedup = s.p.Checkpoint(), s.p.Dedup(nil)
				clear(stored)
				for k, v := range s.p.offsets.durable {
					stored[k] = v
				}
			}
		}
		s.commit(len(s.log))
		for range 2 {
			again := replay(rt, s, cfg, at, dedup, stored)
			compareLogged(rt, s, again)
			again = replay(rt, s, cfg, at, dedup, s.p.offsets.durable) // files ahead of the log
			compareLogged(rt, s, again)
		}
	})
}

// replay boots a partition on the segments as they were at a checkpoint or, as often, as they are now.
func replay(rt *rapid.T, s *logStory, cfg Config, at Checkpoint, dedup []DedupEntry, stored map[ConsumerKey]uint64) *logStory {
	segments := append([]Segment(nil), s.p.sealed...)
	if s.p.hasActive {
		segments = append(segments, s.p.active)
	}
	again := newLogStory(s.t, cfg)
	again.p = New(again.p.Config())
	if rapid.Bool().Draw(rt, "power") {
		segments = segmentsAt(segments, s, at)
	}
	again.p.Load(Recovered{Segments: segments, Offsets: stored, Checkpoint: at, Dedup: dedup})
	next, known := again.p.NextRecovered()
	if want := at.Frontier; known && next < want {
		rt.Fatalf("recovery goes on at %d, the checkpoint at %d", next, want)
	}
	again.log, again.done = s.log, int(at.Op)
	again.commit(len(s.log))
	again.p.Settle(Claim{0, s.p.MintFrontier()})
	return again
}

// segmentsAt cuts segments back to where they were at the checkpoint.
func segmentsAt(segments []Segment, s *logStory, at Checkpoint) []Segment {
	kept := segments[:0]
	for _, g := range segments {
		if g.Start > at.SegmentStart || at.Frontier == 0 {
			break
		}
		if g.Start == at.SegmentStart && at.SegmentSize == 0 {
			g = Segment{Start: g.Start}
		} else if g.Start == at.SegmentStart {
			g.Size, g.Indexed = at.SegmentSize, at.SegmentSize > 0
			g.End, g.MaxMicros, g.LastIndex = at.Frontier-1, 0, 0
			for _, e := range s.log {
				if e.Header.Operation() == protocol.OpSendMessages && batch.BaseOffset(e.Body.Bytes) < at.Frontier {
					g.MaxMicros = e.Header.Timestamp()
				}
			}
		}
		kept = append(kept, g)
	}
	return kept
}

func compareLogged(rt *rapid.T, want, got *logStory) {
	w, g := want.p.View(), got.p.View()
	if w.Messages != g.Messages || w.Bytes != g.Bytes || w.Seeded != g.Seeded || w.Committed != g.Committed ||
		w.SegmentCount() != g.SegmentCount() || want.p.MintFrontier() != got.p.MintFrontier() {
		rt.Fatalf("%d messages up to %d in %d segments, next %d; now %d up to %d in %d, next %d", w.Messages, w.Committed,
			w.SegmentCount(), want.p.MintFrontier(), g.Messages, g.Committed, g.SegmentCount(), got.p.MintFrontier())
	}
	for i := range w.SegmentCount() {
		a, b := *w.Segment(i), *g.Segment(i)
		a.LastIndex, b.LastIndex, a.Indexed, b.Indexed = 0, 0, false, false
		if a != b {
			rt.Fatalf("segment %d was %+v, is %+v", i, a, b)
		}
	}
	if !reflect.DeepEqual(want.p.offsets.durable, got.p.offsets.durable) {
		rt.Fatalf("stored offsets were %v, are %v", want.p.offsets.durable, got.p.offsets.durable)
	}
	if !reflect.DeepEqual(want.p.Dedup(nil), got.p.Dedup(nil)) {
		rt.Fatalf("request numbers were %+v, are %+v", want.p.Dedup(nil), got.p.Dedup(nil))
	}
}
