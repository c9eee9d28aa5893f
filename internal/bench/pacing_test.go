package bench

import (
	"testing"
	"time"
)

func TestLimiter_StartsEmptyAndBurstsOneSecond(t *testing.T) {
	now := time.Unix(100, 0)
	l := newLimiter(1000, now)
	steps := []struct {
		after time.Duration
		bytes int64
		wait  time.Duration
	}{
		{0, 500, 500 * time.Millisecond},                      // empty at the start
		{500 * time.Millisecond, 500, 500 * time.Millisecond}, // just paid off
		{1500 * time.Millisecond, 1000, 0},                    // a full second saved
		{time.Hour, 1000, 0},                                  // never more than one second's worth
		{0, 1, time.Millisecond},
	}
	for i, s := range steps {
		now = now.Add(s.after)
		if got := l.charge(now, s.bytes); got != s.wait {
			t.Errorf("step %d: wait %v, want %v", i, got, s.wait)
		}
	}
}

func TestOpenLoop_ScheduleIgnoresDelays(t *testing.T) {
	start := time.Unix(100, 0)
	o := openLoop{start: start, interval: 500 * time.Microsecond}
	for i := range 5 {
		if got := o.due(); got != start.Add(time.Duration(i)*500*time.Microsecond) {
			t.Errorf("step %d due at %v", i, got)
		}
	}
}

func TestSleepUntil_NeverEarly(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 20 * time.Microsecond, 2 * time.Millisecond} {
		at := time.Now().Add(d)
		sleepUntil(at)
		if time.Now().Before(at) {
			t.Errorf("%v: woke early", d)
		}
	}
}
