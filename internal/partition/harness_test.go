package partition

import (
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// story drives a Partition as a group would: mint, stage, confirm, apply.
type story struct {
	t    testing.TB
	p    *Partition
	op   uint64
	now  uint64
	plan AppendPlan
}

func newStory(t testing.TB, cfg Config) *story {
	if cfg.Options.SegmentBytes == 0 {
		cfg.Options.SegmentBytes = 1 << 20
	}
	s := &story{t: t, p: New(cfg), now: 1_000}
	s.p.Claimed(s.p.ClaimFor(1 << 20))
	return s
}

// record builds a batch of count messages of size bytes.
func record(t testing.TB, count, size int) vsr.Body {
	t.Helper()
	b := batch.NewBuilder()
	for i := range count {
		if err := b.Add(make([]byte, size), nil, protocol.Uint128From64(uint64(i+1)), 7); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return vsr.Body{Bytes: raw, Lease: buffer.Wrap(raw)}
}

func (s *story) entry(op protocol.Operation, body vsr.Body) (*vsr.Entry, protocol.Code) {
	e := &vsr.Entry{Body: body}
	e.Header.SetOp(s.op + 1)
	e.Header.SetOperation(op)
	e.Header.SetTimestamp(s.now)
	if _, code := s.p.Mint(&e.Header, body); code != protocol.Success {
		return nil, code
	}
	s.op++
	s.now += 10
	return e, protocol.Success
}

// send runs one batch through and returns its base offset.
func (s *story) send(count, size int) uint64 {
	s.t.Helper()
	e, code := s.entry(protocol.OpSendMessages, record(s.t, count, size))
	if code != protocol.Success {
		s.t.Fatalf("mint: code %d", code)
	}
	s.p.Stage([]*vsr.Entry{e}, &s.plan)
	s.p.AppendDone(s.op)
	reply, status := s.p.Apply(&e.Header, e.Body, nil)
	if status != vsr.ApplyDone || len(reply) != 24 {
		s.t.Fatalf("apply: status %d, %d bytes", status, len(reply))
	}
	s.p.Publish()
	return batch.BaseOffset(e.Body.Bytes)
}

// offset runs an offset operation through, its job included.
func (s *story) offset(op protocol.Operation, client protocol.Uint128, o OffsetOp) protocol.Code {
	s.t.Helper()
	body := make([]byte, OffsetOpSize)
	o.Put(body)
	e, code := s.entry(op, vsr.Body{Bytes: body})
	if code != protocol.Success {
		return code
	}
	e.Header.SetClient(client)
	if _, status := s.p.Apply(&e.Header, e.Body, nil); status == vsr.ApplyHeld {
		for _, j := range s.p.TakeJobs() {
			if !s.p.JobDone(&j, nil) {
				s.t.Fatal("the walk does not go on after the job")
			}
		}
		if _, status = s.p.Apply(&e.Header, e.Body, nil); status != vsr.ApplyDone {
			s.t.Fatal("held twice")
		}
	}
	return protocol.Success
}
