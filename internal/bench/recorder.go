package bench

import (
	"time"
)

// recorder keeps what one actor did: every latency, and sums per bucket of time. It belongs to one
// goroutine until the actor has ended.
type recorder struct {
	role     actorRole
	width    time.Duration // of a bucket
	origin   time.Time     // when measuring began
	lat      samples
	buckets  []bucket
	bytes    int64 // payload
	messages int64
	batches  int64
	repeats  int64         // batches sent again because the server had asked for it
	last     time.Duration // end of the last batch since origin
}

// bucket sums what ended within one slice of time.
type bucket struct {
	bytes, messages int64
	batches         int64
	latency         time.Duration
}

// actorRole says what an actor does; the groups of a report are made by it.
type actorRole string

const (
	producerRole          actorRole = "producers"
	consumerRole          actorRole = "consumers"
	producingConsumerRole actorRole = "producing_consumers"
)

// newRecorder expects some number of batches, which saves growing while measuring.
func newRecorder(r actorRole, width time.Duration, expected int) *recorder {
	return &recorder{role: r, width: width, lat: make(samples, 0, min(max(expected, 1024), 1<<22))}
}

// begin starts the clock; whatever was recorded before is forgotten.
func (r *recorder) begin(now time.Time) {
	*r = recorder{role: r.role, width: r.width, origin: now, lat: r.lat[:0], buckets: r.buckets[:0]}
}

// add records a batch that ended at end after latency.
func (r *recorder) add(end time.Time, latency time.Duration, bytes, messages int64) {
	at := max(end.Sub(r.origin), 0)
	r.last = max(r.last, at)
	r.lat = append(r.lat, latency)
	i := int(at / r.width)
	for len(r.buckets) <= i {
		r.buckets = append(r.buckets, bucket{})
	}
	b := &r.buckets[i]
	b.bytes += bytes
	b.messages += messages
	b.batches++
	b.latency += latency
	r.bytes += bytes
	r.messages += messages
	r.batches++
}
