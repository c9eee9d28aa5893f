package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
)

// span is a range of sizes, both ends included.
type span struct{ min, max int }

// parseSpan reads "n" or "min..max".
func parseSpan(text string) (span, error) {
	low, high, ranged := strings.Cut(text, "..")
	var s span
	var err error
	if s.min, err = strconv.Atoi(low); err != nil {
		return span{}, fmt.Errorf("%q is neither a number nor min..max", text)
	}
	s.max = s.min
	if ranged {
		if s.max, err = strconv.Atoi(high); err != nil {
			return span{}, fmt.Errorf("%q is neither a number nor min..max", text)
		}
	}
	if s.min < 1 || s.max < s.min {
		return span{}, fmt.Errorf("%q is not a range of positive numbers", text)
	}
	return s, nil
}

func (s span) fixed() bool  { return s.min == s.max }
func (s span) average() int { return (s.min + s.max) / 2 }
func (s span) draw(r *rand.Rand) int {
	if s.fixed() {
		return s.min
	}
	return s.min + r.IntN(s.max-s.min+1)
}

// load says how much every actor of a workload does and how fast.
type load struct {
	messageBytes  span
	batchMessages span
	batches       int           // per actor
	totalBytes    int64         // payload over all actors; when set it replaces batches
	duration      time.Duration // when set it replaces both
	rateBytes     float64       // payload per second over all actors; 0: as fast as it goes
	openLoop      bool          // with a rate: latency counts from when a batch was due
	warmup        time.Duration
	sampling      time.Duration // width of a bucket
	smoothing     int           // buckets of the moving average
	pollBackoff   time.Duration // rest after an empty poll; 0 polls again at once
}

// quota is what one of a number of actors does before it stops; the zero value never stops.
type quota struct {
	batches  int64
	bytes    int64
	duration time.Duration
}

func (l load) quota(actors int) quota {
	switch {
	case l.duration > 0:
		return quota{duration: l.duration}
	case l.totalBytes > 0:
		return quota{bytes: max(1, l.totalBytes/int64(actors))}
	}
	return quota{batches: int64(l.batches)}
}

// reached reports whether an actor that has done this much stops.
func (q quota) reached(r *recorder, elapsed time.Duration) bool {
	return q.batches > 0 && r.batches >= q.batches || q.bytes > 0 && r.bytes >= q.bytes ||
		q.duration > 0 && elapsed >= q.duration
}

// expected is about how many batches an actor will record; 0 when time decides.
func (l load) expected(actors int) int {
	q := l.quota(actors)
	if q.bytes > 0 {
		return int(q.bytes / int64(max(1, l.messageBytes.average()*l.batchMessages.average())))
	}
	return int(q.batches)
}

// interval is the time between the batches of one of a number of actors in an open loop.
func (l load) interval(actors int) time.Duration {
	bytes := float64(l.messageBytes.average() * l.batchMessages.average())
	return time.Duration(bytes / (l.rateBytes / float64(actors)) * float64(time.Second))
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// recordMaker builds batches of one payload buffer, as the reference benchmark does: random alphanumeric
// bytes, drawn once.
type recordMaker struct {
	load    load
	random  *rand.Rand
	payload []byte
	builder *batch.Builder
	nextID  uint64
}

func newRecordMaker(l load, seed uint64) *recordMaker {
	m := &recordMaker{load: l, random: rand.New(rand.NewPCG(seed, 1)), builder: batch.NewBuilder()}
	m.payload = make([]byte, l.messageBytes.max)
	for i := range m.payload {
		m.payload[i] = alphanumeric[m.random.IntN(len(alphanumeric))]
	}
	return m
}

// build makes a batch. It aliases the builder until the next call. The second result is its payload.
func (m *recordMaker) build(originMicros uint64) ([]byte, int64, error) {
	count := m.load.batchMessages.draw(m.random)
	var bytes int64
	for range count {
		size := m.load.messageBytes.draw(m.random)
		m.nextID++
		id := protocol.Uint128{Lo: m.nextID, Hi: m.random.Uint64()}
		if err := m.builder.Add(m.payload[:size], nil, id, originMicros); err != nil {
			return nil, 0, err
		}
		bytes += int64(size)
	}
	record, err := m.builder.Build()
	return record, bytes, err
}
