package bench

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func ms(v ...float64) samples {
	out := make(samples, len(v))
	for i, x := range v {
		out[i] = time.Duration(x * float64(time.Millisecond))
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestPercentile_InterpolatesBetweenRanks(t *testing.T) {
	tests := []struct {
		in   samples
		p    float64
		want float64
	}{
		{nil, 50, 0},
		{ms(7), 0, 7}, {ms(7), 99.99, 7},
		{ms(1, 2), 50, 1.5}, {ms(1, 2), 100, 2}, {ms(1, 2), 0, 1},
		{ms(1, 2, 3, 4, 5), 50, 3}, {ms(1, 2, 3, 4, 5), 90, 4.6}, {ms(1, 2, 3, 4, 5), 95, 4.8},
		{ms(10, 10, 10, 20), 99, 19.7},
	}
	for _, tt := range tests {
		if got := millis(tt.in.percentile(tt.p)); !near(got, tt.want) {
			t.Errorf("p%v of %v: got %v, want %v", tt.p, tt.in, got, tt.want)
		}
	}
}

func TestPercentile_StaysWithinSamplesAndGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Int64Range(1, 1e12), 1, 50).Draw(t, "ns")
		s := make(samples, len(raw))
		for i, v := range raw {
			s[i] = time.Duration(v)
		}
		s = s.sorted()
		last := s[0]
		for p := 0.0; p <= 100; p += 2.5 {
			got := s.percentile(p)
			if got < last || got > s[len(s)-1] {
				t.Fatalf("p%v = %v after %v", p, got, last)
			}
			last = got
		}
	})
}

func TestMedian(t *testing.T) {
	for want, in := range map[float64][]float64{0: nil, 3: {5, 1, 3}, 2.5: {4, 1, 2, 3}, 9: {9}} {
		if got := median(in); got != want {
			t.Errorf("median of %v: got %v, want %v", in, got, want)
		}
	}
}

func TestSmooth_TrailingMean(t *testing.T) {
	got := smooth([]float64{4, 8, 0, 0, 12}, 2)
	for i, want := range []float64{4, 6, 4, 0, 6} {
		if !near(got[i], want) {
			t.Errorf("value %d: got %v, want %v", i, got[i], want)
		}
	}
	if got := smooth([]float64{1, 2, 3}, 0); got[2] != 3 {
		t.Errorf("window 0 smooths: %v", got)
	}
}

// twoActors builds two producers on 10 ms buckets. The first ends a batch of 1000 bytes every 10 ms for
// 40 ms, the second two batches of 500 bytes within its only bucket.
func twoActors() []*recorder {
	start := time.Unix(1000, 0)
	a := newRecorder(producerRole, 10*time.Millisecond, 4)
	b := newRecorder(producerRole, 10*time.Millisecond, 4)
	a.begin(start)
	b.begin(start)
	for i, d := range ms(1, 2, 3, 4) {
		a.add(start.Add(time.Duration(i)*10*time.Millisecond+5*time.Millisecond), d, 1000, 10)
	}
	b.add(start.Add(2*time.Millisecond), 2*time.Millisecond, 500, 5)
	b.add(start.Add(4*time.Millisecond), 4*time.Millisecond, 500, 5)
	return []*recorder{a, b}
}

func TestReference_SumsActorsAndAveragesPercentiles(t *testing.T) {
	got := reference(twoActors(), 20)
	// Every bucket of the first holds 1000 B in 10 ms = 0.1 MB/s; so does the one bucket of the second.
	if !near(got.MBPerSec, 0.2) || !near(got.MBPerActor, 0.1) || !near(got.MessagesPerSec, 2000) {
		t.Errorf("throughput %+v", got)
	}
	// p50 of (1,2,3,4) is 2.5, of (2,4) is 3; p90 is 3.7 and 3.8.
	if !near(got.Latency.P50, 2.75) || !near(got.Latency.P90, 3.75) || !near(got.MedianMillis, 2.75) ||
		!near(got.MeanMillis, (2.5+3)/2) {
		t.Errorf("percentiles %+v", got)
	}
	// Bucket means are 1, 2, 3, 4 and 3.
	if !near(got.MinMillis, 1) || !near(got.MaxMillis, 4) || !near(got.DevMillis, math.Sqrt(5.2/5)) {
		t.Errorf("buckets %+v", got)
	}
}

func TestReference_EmptyBucketsCountAsZero(t *testing.T) {
	start := time.Unix(1000, 0)
	r := newRecorder(consumerRole, 10*time.Millisecond, 1)
	r.begin(start)
	r.add(start.Add(35*time.Millisecond), time.Millisecond, 4000, 1)
	if got := reference([]*recorder{r}, 1); !near(got.MBPerSec, 0.1) {
		t.Errorf("got %v MB/s, want 4000 B over four buckets of 10 ms", got.MBPerSec)
	}
}

func TestWallClock_CountsOverCommonTime(t *testing.T) {
	got := wallClock(twoActors())
	if !near(got.Seconds, 0.035) || !near(got.MBPerSec, 5000/0.035/1e6) || !near(got.MessagesPerSec, 50/0.035) {
		t.Errorf("throughput %+v", got)
	}
	// The slowest actor is the first: 4000 B in 35 ms; the second took 4 ms for 1000 B.
	if !near(got.SlowestMBPerSec, 4000/0.035/1e6) || got.Samples != 6 {
		t.Errorf("slowest %v, samples %d", got.SlowestMBPerSec, got.Samples)
	}
	for name, pair := range map[string][2]float64{
		"p50": {got.Latency.P50, 2}, "p99": {got.Latency.P99, 4}, "min": {got.MinMillis, 1}, "max": {got.MaxMillis, 4},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.001*pair[1] {
			t.Errorf("%s: got %v, want %v within the precision of the histogram", name, pair[0], pair[1])
		}
	}
}

func TestFigures_NothingRecorded(t *testing.T) {
	idle := newRecorder(producerRole, time.Millisecond, 0)
	if got := wallClock([]*recorder{idle}); got != (WallClock{}) {
		t.Errorf("wall clock %+v", got)
	}
	if got := reference([]*recorder{idle}, 20); got != (Reference{}) {
		t.Errorf("reference %+v", got)
	}
}

func TestRecorder_BeginForgetsWarmUp(t *testing.T) {
	r := newRecorder(producerRole, time.Millisecond, 0)
	r.begin(time.Unix(1, 0))
	r.add(time.Unix(2, 0), time.Second, 10, 1)
	r.begin(time.Unix(3, 0))
	r.add(time.Unix(3, 500), 500, 20, 2)
	if r.bytes != 20 || r.messages != 2 || r.batches != 1 || len(r.lat) != 1 || len(r.buckets) != 1 ||
		r.buckets[0] != (bucket{20, 2, 1, 500}) {
		t.Errorf("%+v", r)
	}
}

func TestRowResult_Figures(t *testing.T) {
	r := row{Name: "x", batch: 1_000_000}
	got := newRowResult(r, ms(3, 1, 2, 4), 2*time.Second, time.Second, 500*time.Millisecond)
	want := RowResult{Row: "x", MBPerSec: 2, PerSec: 2, ServerPerGB: 250, ClientPerGB: 125, P50Millis: 2.5,
		P99Millis: 3.97, P999Millis: 3.997, Batches: 4}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRowMedians_PerRowInOrder(t *testing.T) {
	got := rowMedians([]RowResult{
		{Row: "b", MBPerSec: 3}, {Row: "a", MBPerSec: 1}, {Row: "b", MBPerSec: 1}, {Row: "b", MBPerSec: 2},
	})
	if len(got) != 2 || got[0].Row != "b" || got[0].MBPerSec != 2 || got[1].MBPerSec != 1 {
		t.Errorf("%+v", got)
	}
}
