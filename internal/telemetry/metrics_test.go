package telemetry

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestRegistry_ListsEverythingInOrder(t *testing.T) {
	r := NewRegistry()
	r.Gauge("queue_frames", "Frames that wait.", Label{"shard", "1"}).Set(-3)
	r.Counter("sends_total", "Sends.").Add(5)
	r.Gauge("queue_frames", "Frames that wait.", Label{"shard", "0"}).Add(2)
	r.GaugeFunc("answer", "Asked.", func() float64 { return 1 })
	r.GaugeFunc("answer", "Asked.", func() float64 { return 42 })
	r.Histogram("fsync_seconds", "Syncs.", 1e-9, []uint64{10, 20}).Observe(11)
	var got []string
	for _, s := range r.Samples() {
		got = append(got, identity(s))
		switch s.Name {
		case "answer":
			if s.Number != 42 {
				t.Errorf("function: %v", s.Number)
			}
		case "sends_total":
			if s.Number != 5 || s.Kind != KindCounter {
				t.Errorf("counter: %+v", s)
			}
		case "fsync_seconds":
			if !slices.Equal(s.Buckets.Counts, []uint64{0, 1, 0}) || s.Buckets.Sum != 11 || s.Scale != 1e-9 {
				t.Errorf("histogram: %+v", s)
			}
		}
	}
	want := []string{"answer", "fsync_seconds", `queue_frames,shard="0"`, `queue_frames,shard="1"`, "sends_total"}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v; want %v", got, want)
	}
}

func TestRegistry_SameNameIsTheSameMetric(t *testing.T) {
	r := NewRegistry()
	a := r.Counter("x_total", "", Label{"a", "1"}, Label{"b", "2"})
	b := r.Counter("x_total", "", Label{"b", "2"}, Label{"a", "1"})
	if a != b {
		t.Error("two counters of one name")
	}
}

func TestRegistry_RefusesWrongNames(t *testing.T) {
	r := NewRegistry()
	r.Gauge("taken", "")
	r.GaugeFunc("asked", "", func() float64 { return 0 })
	for name, wrong := range map[string]func(){
		"counter without suffix": func() { r.Counter("sends", "") },
		"gauge with suffix":      func() { r.Gauge("sends_total", "") },
		"capitals":               func() { r.Gauge("Sends", "") },
		"label":                  func() { r.Gauge("sends", "", Label{"a-b", ""}) },
		"two kinds":              func() { r.Histogram("taken", "", 1, []uint64{1}) },
		"gauge for function":     func() { r.Gauge("asked", "") },
		"function for gauge":     func() { r.GaugeFunc("taken", "", func() float64 { return 0 }) },
		"bounds":                 func() { r.Histogram("h", "", 1, []uint64{2, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			wrong()
		})
	}
}

func TestHistogram_BucketsMatchANaiveCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := ExponentialBounds(rapid.Uint64Range(1, 100).Draw(t, "first"), rapid.Float64Range(1.01, 4).Draw(t, "factor"),
			rapid.IntRange(1, 40).Draw(t, "count"))
		values := rapid.SliceOf(rapid.Uint64Range(0, 1<<40)).Draw(t, "values")
		h := newHistogram(bounds)
		want := make([]uint64, len(bounds)+1)
		var sum uint64
		for _, v := range values {
			h.Observe(v)
			sum += v
			at := slices.IndexFunc(bounds, func(bound uint64) bool { return v <= bound })
			if at < 0 {
				at = len(bounds)
			}
			want[at]++
		}
		got := h.read()
		if !slices.Equal(got.Counts, want) || got.Sum != sum || got.Count != uint64(len(values)) {
			t.Fatalf("got %+v; want %v, sum %d", got, want, sum)
		}
		if !slices.IsSorted(bounds) || len(slices.Compact(slices.Clone(bounds))) != len(bounds) {
			t.Fatalf("bounds do not ascend: %v", bounds)
		}
	})
}

func TestMetrics_UpdatesDoNotAllocate(t *testing.T) {
	r := NewRegistry()
	c, g := r.Counter("c_total", ""), r.Gauge("g", "")
	h := r.Histogram("h", "", 1, ExponentialBounds(1, 2, 30))
	if n := testing.AllocsPerRun(100, func() { c.Inc(); g.Add(1); h.Observe(77) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMetrics_ConcurrentUse(t *testing.T) {
	r := NewRegistry()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				r.Counter("c_total", "").Inc()
				r.Samples()
			}
		})
	}
	wg.Wait()
	if got := r.Samples()[0].Number; got != 8000 {
		t.Errorf("counted %v", got)
	}
}

func BenchmarkHistogram_Observe(b *testing.B) {
	h := newHistogram(ExponentialBounds(1000, 2, 30))
	b.ReportAllocs()
	for b.Loop() {
		h.Observe(123_456)
	}
}
