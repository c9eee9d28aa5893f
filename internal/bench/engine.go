package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// outcome is one step of an actor. messages 0 means that nothing is to be recorded, as for an empty poll.
type outcome struct {
	end      time.Time
	latency  time.Duration
	bytes    int64
	messages int64
	repeats  int64 // times that the batch was sent again
}

// actor is one client of a workload. step does one batch; due is when it should have begun in an open
// loop, and zero in a closed one.
type actor interface {
	step(due time.Time) (outcome, error)
	close() error
}

// member is an actor with what drives it.
type member struct {
	actor
	rec   *recorder
	quota quota
	// rateBytes and interval limit it: the first in a closed loop, the second in an open one. 0: neither.
	rateBytes float64
	interval  time.Duration
}

// runMembers warms every member up, starts them together and lets each work until its quota is reached.
// started is called at the common start. The first error ends all.
func runMembers(ctx context.Context, members []*member, warmup time.Duration, started func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(members))
	gate := make(chan struct{})
	var origin time.Time
	var warm, done sync.WaitGroup
	warm.Add(len(members))
	for i, m := range members {
		done.Go(func() {
			err := m.warmUp(ctx, warmup)
			warm.Done()
			<-gate
			if err == nil {
				err = m.work(ctx, origin)
			}
			if err != nil {
				errs[i] = fmt.Errorf("actor %d: %w", i+1, err)
				cancel()
			}
		})
	}
	warm.Wait()
	started()
	origin = time.Now()
	close(gate)
	done.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

func (m *member) warmUp(ctx context.Context, d time.Duration) error {
	for start := time.Now(); time.Since(start) < d; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := m.step(time.Time{}); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	return nil
}

func (m *member) work(ctx context.Context, origin time.Time) error {
	m.rec.begin(origin)
	var limit *limiter
	if m.rateBytes > 0 && m.interval == 0 {
		limit = newLimiter(m.rateBytes, origin)
	}
	schedule := openLoop{start: origin, interval: m.interval}
	now := origin
	for !m.quota.reached(m.rec, now.Sub(origin)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		var due time.Time
		if m.interval > 0 {
			due = schedule.due()
			sleepUntil(due)
		}
		out, err := m.step(due)
		if err != nil {
			return err
		}
		now = out.end
		m.rec.repeats += out.repeats
		if out.messages == 0 {
			continue
		}
		m.rec.add(out.end, out.latency, out.bytes, out.messages)
		if limit != nil {
			if wait := limit.charge(out.end, out.bytes); wait > 0 {
				time.Sleep(wait)
			}
		}
	}
	return nil
}
