package bench

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Percentiles are latencies in milliseconds.
type Percentiles struct {
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	P9999 float64 `json:"p9999"`
}

// fill sets every percentile from at, which takes a percentile from 0 to 100.
func (p *Percentiles) fill(at func(float64) float64) {
	p.P50, p.P90, p.P95 = at(50), at(90), at(95)
	p.P99, p.P999, p.P9999 = at(99), at(99.9), at(99.99)
}

// WallClock are the figures of a group of actors taken over everything they did: sums over the time from
// the common start to the last end, percentiles over all samples.
type WallClock struct {
	Seconds         float64     `json:"seconds"`
	MBPerSec        float64     `json:"mb_per_second"`
	MessagesPerSec  float64     `json:"messages_per_second"`
	SlowestMBPerSec float64     `json:"slowest_actor_mb_per_second"`
	Latency         Percentiles `json:"latency_ms"`
	MinMillis       float64     `json:"min_ms"`
	MaxMillis       float64     `json:"max_ms"`
	MeanMillis      float64     `json:"mean_ms"`
	Samples         int64       `json:"samples"`
}

// Reference are the figures of the same group computed as the reference benchmark does: the throughput of
// an actor is the mean of its smoothed buckets and that of the group the sum over actors; a percentile of
// the group is the mean of the actors' percentiles; minimum, maximum and deviation come from buckets.
type Reference struct {
	MBPerSec       float64     `json:"mb_per_second"`
	MessagesPerSec float64     `json:"messages_per_second"`
	MBPerActor     float64     `json:"mb_per_second_per_actor"`
	Latency        Percentiles `json:"latency_ms"`
	MeanMillis     float64     `json:"mean_ms"`
	MedianMillis   float64     `json:"median_ms"`
	MinMillis      float64     `json:"min_ms"`
	MaxMillis      float64     `json:"max_ms"`
	DevMillis      float64     `json:"std_dev_ms"`
}

const (
	histogramMax    = int64(10 * time.Minute) // longer latencies count as this
	histogramDigits = 3
)

func wallClock(actors []*recorder) WallClock {
	hist := hdrhistogram.New(1, histogramMax, histogramDigits)
	var out WallClock
	var bytes, messages int64
	var longest time.Duration
	out.SlowestMBPerSec = math.Inf(1)
	for _, a := range actors {
		for _, d := range a.lat {
			// A value inside the range of the histogram is never refused.
			_ = hist.RecordValue(min(max(int64(d), 1), histogramMax))
		}
		bytes += a.bytes
		messages += a.messages
		longest = max(longest, a.last)
		out.SlowestMBPerSec = min(out.SlowestMBPerSec, perSecond(float64(a.bytes)/1e6, a.last))
	}
	if math.IsInf(out.SlowestMBPerSec, 1) {
		out.SlowestMBPerSec = 0
	}
	out.Seconds = longest.Seconds()
	out.MBPerSec = perSecond(float64(bytes)/1e6, longest)
	out.MessagesPerSec = perSecond(float64(messages), longest)
	out.Samples = hist.TotalCount()
	if out.Samples > 0 {
		out.Latency.fill(func(p float64) float64 { return millis(time.Duration(hist.ValueAtQuantile(p))) })
		out.MinMillis = millis(time.Duration(hist.Min()))
		out.MaxMillis = millis(time.Duration(hist.Max()))
		out.MeanMillis = hist.Mean() / float64(time.Millisecond)
	}
	return out
}

func reference(actors []*recorder, window int) Reference {
	var out Reference
	var perActor []Percentiles
	var bucketMillis []float64
	for _, a := range actors {
		if a.batches == 0 {
			continue
		}
		out.MBPerSec += mean(smooth(a.rates(func(b bucket) int64 { return b.bytes }), window)) / 1e6
		out.MessagesPerSec += mean(smooth(a.rates(func(b bucket) int64 { return b.messages }), window))
		sorted := a.lat.sorted()
		var p Percentiles
		p.fill(func(q float64) float64 { return millis(sorted.percentile(q)) })
		perActor = append(perActor, p)
		out.MeanMillis += millis(sorted.mean())
		out.MedianMillis += millis(sorted.percentile(50))
		for _, b := range a.buckets {
			if b.batches > 0 {
				bucketMillis = append(bucketMillis, millis(b.latency)/float64(b.batches))
			}
		}
	}
	n := float64(len(perActor))
	if n == 0 {
		return Reference{}
	}
	out.MBPerActor = out.MBPerSec / n
	out.MeanMillis /= n
	out.MedianMillis /= n
	out.Latency = meanPercentiles(perActor)
	out.MinMillis, out.MaxMillis = slices.Min(bucketMillis), slices.Max(bucketMillis)
	out.DevMillis = deviation(bucketMillis)
	return out
}

// rates turns what each bucket holds into an amount per second. A bucket in which nothing ended is 0.
func (r *recorder) rates(of func(bucket) int64) []float64 {
	out := make([]float64, len(r.buckets))
	for i, b := range r.buckets {
		out[i] = perSecond(float64(of(b)), r.width)
	}
	return out
}

// smooth replaces every value by the mean of itself and the window-1 before it, or of as many as there
// are.
func smooth(values []float64, window int) []float64 {
	window = max(window, 1)
	out := make([]float64, len(values))
	sum := 0.0
	for i, v := range values {
		sum += v
		if i >= window {
			sum -= values[i-window]
		}
		out[i] = sum / float64(min(i+1, window))
	}
	return out
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation is the population standard deviation.
func deviation(values []float64) float64 {
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	if len(values) == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(len(values)))
}

func meanPercentiles(all []Percentiles) Percentiles {
	var out Percentiles
	n := float64(len(all))
	for _, p := range all {
		out.P50 += p.P50 / n
		out.P90 += p.P90 / n
		out.P95 += p.P95 / n
		out.P99 += p.P99 / n
		out.P999 += p.P999 / n
		out.P9999 += p.P9999 / n
	}
	return out
}
