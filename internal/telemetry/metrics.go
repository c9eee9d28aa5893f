package telemetry

import (
	"math"
	"slices"
	"sync/atomic"
)

// cacheLine keeps values that different processors update apart.
const cacheLine = 64

// Counter only grows. The zero value is ready; it may be updated from any goroutine.
type Counter struct {
	value atomic.Uint64
	_     [cacheLine - 8]byte
}

// Add counts n more.
func (c *Counter) Add(n uint64) { c.value.Add(n) }

// Inc counts one more.
func (c *Counter) Inc() { c.value.Add(1) }

// Value is the count so far.
func (c *Counter) Value() uint64 { return c.value.Load() }

// Gauge goes up and down. The zero value is ready; it may be updated from any goroutine.
type Gauge struct {
	value atomic.Int64
	_     [cacheLine - 8]byte
}

// Set replaces the value.
func (g *Gauge) Set(n int64) { g.value.Store(n) }

// Add changes the value by n, which may be negative.
func (g *Gauge) Add(n int64) { g.value.Add(n) }

// Value is the value now.
func (g *Gauge) Value() int64 { return g.value.Load() }

// Histogram counts observations by size. It is made by Registry.Histogram and may be updated from any
// goroutine.
type Histogram struct {
	bounds []uint64 // inclusive upper bounds, ascending; larger ones go to the last bucket
	counts []atomic.Uint64
	sum    atomic.Uint64
}

func newHistogram(bounds []uint64) *Histogram {
	return &Histogram{bounds: slices.Clone(bounds), counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts one value, in the raw unit of the histogram.
func (h *Histogram) Observe(value uint64) {
	low, high := 0, len(h.bounds)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if h.bounds[middle] < value {
			low = middle + 1
		} else {
			high = middle
		}
	}
	h.counts[low].Add(1)
	h.sum.Add(value)
}

// Buckets is the state of a histogram. The counts are read one after the other: under concurrent updates they
// belong to slightly different moments.
type Buckets struct {
	Bounds []uint64 // inclusive upper bounds; not to be changed
	Counts []uint64 // one more than bounds, not cumulative
	Count  uint64   // all observations
	Sum    uint64   // of all observed values, modulo 2^64
}

func (h *Histogram) read() Buckets {
	b := Buckets{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: h.sum.Load()}
	for i := range h.counts {
		b.Counts[i] = h.counts[i].Load()
		b.Count += b.Counts[i]
	}
	return b
}

// ExponentialBounds makes count bounds from first on, each factor times the one before it, rounded up. First
// is at least 1, factor more than 1; growth stops at the largest number.
func ExponentialBounds(first uint64, factor float64, count int) []uint64 {
	bounds := make([]uint64, 0, count)
	next := float64(first)
	for range count {
		bound := uint64(math.Ceil(min(next, math.MaxUint64/2)))
		if len(bounds) > 0 && bound <= bounds[len(bounds)-1] {
			bound = bounds[len(bounds)-1] + 1
		}
		bounds = append(bounds, bound)
		next *= factor
	}
	return bounds
}
