package bench

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// limiter is a token bucket of payload bytes: it holds one second's worth at most, starts empty, and is
// charged after a batch has completed. So a stall is followed by a burst that makes up for it, and the
// waits are in no latency; for latencies use openLoop.
type limiter struct {
	rate   float64 // bytes per second
	tokens float64 // negative: owed
	last   time.Time
}

func newLimiter(bytesPerSecond float64, now time.Time) *limiter {
	return &limiter{rate: bytesPerSecond, last: now}
}

// charge takes bytes at now and returns how long to wait until they are covered.
func (l *limiter) charge(now time.Time, bytes int64) time.Duration {
	l.tokens = min(l.tokens+l.rate*now.Sub(l.last).Seconds(), l.rate) - float64(bytes)
	l.last = now
	if l.tokens >= 0 {
		return 0
	}
	return time.Duration(-l.tokens / l.rate * float64(time.Second))
}

// openLoop is a schedule: step i is due at start + i*interval, whatever became of the steps before.
type openLoop struct {
	start    time.Time
	interval time.Duration
	next     int64
}

// due returns when the next step should begin, and moves on.
func (o *openLoop) due() time.Time {
	at := o.start.Add(time.Duration(o.next) * o.interval)
	o.next++
	return at
}

// spinTime is what sleepUntil waits actively, to hide the wake-up of the thread.
const spinTime = 60 * time.Microsecond

// sleepUntil returns at the given time, late by a few microseconds. The runtime's own timers may be late
// by a millisecond on an idle process, which an open loop would charge to the server; so the thread
// itself sleeps, with the kernel's timer slack off.
func sleepUntil(at time.Time) {
	if left := time.Until(at) - spinTime; left > 0 {
		// Both calls are best effort: the loop below keeps the time in any case.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
		ts := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&ts, nil)
	}
	for time.Until(at) > 0 {
		runtime.Gosched()
	}
}
