package telemetry

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Label is a constant dimension of a metric, such as the shard. Values come from small fixed sets.
type Label struct{ Name, Value string }

// Kind tells the metrics apart.
type Kind uint8

// The kinds of metric.
const (
	KindCounter Kind = iota + 1
	KindGauge
	KindHistogram
)

// Sample is one metric at one moment. Number is the value of a counter or gauge; Buckets belong to a
// histogram. Raw values times Scale are in the unit that the name says.
type Sample struct {
	Name    string
	Help    string
	Labels  []Label
	Kind    Kind
	Scale   float64
	Number  float64
	Buckets Buckets
}

// Registry holds the metrics of a server. Metrics are made while the server is put together; names are
// constants of the program, so that a wrong one is a programming error and panics. It is safe for use from
// any goroutine.
type Registry struct {
	mu      sync.Mutex
	metrics []*metric
	byID    map[string]*metric
}

type metric struct {
	sample Sample // without values
	value  any
	read   func(*Sample)
}

// asked marks a gauge whose value is a function.
type asked struct{}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{byID: map[string]*metric{}} }

// Counter makes a counter, or gives the one of that name and labels. The name ends in _total.
func (r *Registry) Counter(name, help string, labels ...Label) *Counter {
	m := r.register(Sample{Name: name, Help: help, Labels: labels, Kind: KindCounter, Scale: 1}, func(m *metric) {
		c := &Counter{}
		m.value, m.read = c, func(s *Sample) { s.Number = float64(c.Value()) }
	})
	return mustBe[*Counter](m)
}

// Gauge makes a gauge, or gives the one of that name and labels.
func (r *Registry) Gauge(name, help string, labels ...Label) *Gauge {
	m := r.register(Sample{Name: name, Help: help, Labels: labels, Kind: KindGauge, Scale: 1}, func(m *metric) {
		g := &Gauge{}
		m.value, m.read = g, func(s *Sample) { s.Number = float64(g.Value()) }
	})
	return mustBe[*Gauge](m)
}

// GaugeFunc adds a gauge whose value is asked for whenever the registry is listed. Read must be quick and
// safe for use from any goroutine. A second function of the same name and labels replaces the first.
func (r *Registry) GaugeFunc(name, help string, read func() float64, labels ...Label) {
	ask := func(s *Sample) { s.Number = read() }
	m := r.register(Sample{Name: name, Help: help, Labels: labels, Kind: KindGauge, Scale: 1}, func(m *metric) {
		m.value, m.read = asked{}, ask
	})
	mustBe[asked](m)
	r.mu.Lock()
	defer r.mu.Unlock()
	m.read = ask
}

// Histogram makes a histogram, or gives the one of that name and labels. Observations and bounds are whole
// numbers of a raw unit; scale turns one into the unit of the name (1e-9 for nanoseconds in a _seconds metric).
func (r *Registry) Histogram(name, help string, scale float64, bounds []uint64, labels ...Label) *Histogram {
	m := r.register(Sample{Name: name, Help: help, Labels: labels, Kind: KindHistogram, Scale: scale}, func(m *metric) {
		if len(bounds) == 0 || !slices.IsSorted(bounds) || len(slices.Compact(slices.Clone(bounds))) != len(bounds) {
			panic("telemetry: bounds of " + name + " do not ascend")
		}
		h := newHistogram(bounds)
		m.value, m.read = h, func(s *Sample) { s.Buckets = h.read() }
	})
	return mustBe[*Histogram](m)
}

// Samples lists every metric, by name and labels.
func (r *Registry) Samples() []Sample {
	r.mu.Lock()
	metrics := slices.Clone(r.metrics)
	reads := make([]func(*Sample), len(metrics))
	for i, m := range metrics {
		reads[i] = m.read
	}
	r.mu.Unlock()
	samples := make([]Sample, len(metrics))
	for i, m := range metrics {
		samples[i] = m.sample
		reads[i](&samples[i])
	}
	return samples
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (r *Registry) register(s Sample, fill func(*metric)) *metric {
	s.Labels = slices.Clone(s.Labels)
	slices.SortFunc(s.Labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	id := identity(s)
	if !nameForm.MatchString(s.Name) || s.Kind == KindCounter != strings.HasSuffix(s.Name, "_total") {
		panic("telemetry: metric name " + s.Name + " breaks the rules")
	}
	for _, label := range s.Labels {
		if !nameForm.MatchString(label.Name) {
			panic("telemetry: label name " + label.Name + " breaks the rules")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.byID[id]; known != nil {
		if known.sample.Kind != s.Kind {
			panic(fmt.Sprintf("telemetry: metric %s has two kinds", id))
		}
		return known
	}
	m := &metric{sample: s}
	fill(m)
	r.byID[id] = m
	at, _ := slices.BinarySearchFunc(r.metrics, id, func(m *metric, id string) int {
		return cmp.Compare(identity(m.sample), id)
	})
	r.metrics = slices.Insert(r.metrics, at, m)
	return m
}

// identity is the name with its labels; it sorts the metrics of one name together.
func identity(s Sample) string {
	id := s.Name
	for _, label := range s.Labels {
		id += fmt.Sprintf(",%s=%q", label.Name, label.Value)
	}
	return id
}

// mustBe guards against one name for a gauge and a gauge function.
func mustBe[T any](m *metric) T {
	value, ok := m.value.(T)
	if !ok {
		panic("telemetry: metric " + m.sample.Name + " was made in another way before")
	}
	return value
}
