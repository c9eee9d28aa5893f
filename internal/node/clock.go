package node

import (
	"time"

	"github.com/galgolog/galgo/internal/vsr"
)

// Clock tells the time. The real one is SystemClock; the simulator brings its own.
type Clock interface {
	// Now returns wall microseconds and monotonic ticks of 10 ms.
	Now() vsr.Time
}

// tickMicros is the length of a tick.
const tickMicros = 10_000

// ticksPerSecond converts seconds to ticks.
const ticksPerSecond = 100

type systemClock struct{ start time.Time }

// SystemClock returns the clock of the operating system. Ticks count from the call.
func SystemClock() Clock { return systemClock{time.Now()} }

func (c systemClock) Now() vsr.Time {
	now := time.Now()
	return vsr.Time{
		Micros: uint64(now.UnixMicro()),
		Ticks:  uint64(now.Sub(c.start).Microseconds()) / tickMicros,
	}
}
