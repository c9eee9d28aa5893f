package bench

import (
	"math"
	"slices"
	"time"
)

// samples are raw latencies in the order they were taken.
type samples []time.Duration

// percentile interpolates linearly between the two nearest ranks of sorted samples, as the reference
// benchmark does. p is in percent, 0 to 100; no samples give 0.
func (s samples) percentile(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	rank := p / 100 * float64(len(s)-1)
	low := int(math.Floor(rank))
	if low >= len(s)-1 {
		return s[len(s)-1]
	}
	part := rank - float64(low)
	return s[low] + time.Duration(math.Round(part*float64(s[low+1]-s[low])))
}

func (s samples) sorted() samples {
	out := slices.Clone(s)
	slices.Sort(out)
	return out
}

func (s samples) mean() time.Duration {
	if len(s) == 0 {
		return 0
	}
	var sum float64
	for _, d := range s {
		sum += float64(d)
	}
	return time.Duration(math.Round(sum / float64(len(s))))
}

// median of values; the mean of the middle two for an even number, 0 for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}

// millis is d in milliseconds.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// perSecond is n per second of d; 0 when no time passed.
func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}

// perGB is the seconds of d for each 10^9 of bytes; 0 for no bytes.
func perGB(d time.Duration, bytes int64) float64 {
	if bytes <= 0 {
		return 0
	}
	return d.Seconds() / (float64(bytes) / 1e9)
}

// seconds is s seconds as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
