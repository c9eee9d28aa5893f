package sim

import "github.com/galgolog/galgo/internal/vsr"

// Clock is a clock that moves when it is told to.
type Clock struct {
	micros, ticks uint64
}

// Now implements node.Clock.
func (c *Clock) Now() vsr.Time { return vsr.Time{Micros: c.micros, Ticks: c.ticks} }

// Advance moves the clock by a number of ticks of 10 ms.
func (c *Clock) Advance(ticks uint64) {
	c.ticks += ticks
	c.micros += ticks * 10_000
}

// Jump moves the wall clock alone, as an administrator or NTP would.
func (c *Clock) Jump(micros int64) { c.micros = uint64(int64(c.micros) + micros) }
