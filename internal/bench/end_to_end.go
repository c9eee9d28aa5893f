package bench

import (
	"errors"
	"time"
)

// endToEnd sends a batch, polls on a second connection until the batch is back, and sends again. Only the
// poll that brings it is recorded, with the latency from the origin time of the batch, or, in an open
// loop, from when the batch was due. Payload is counted in both directions.
type endToEnd struct {
	producer *producer
	consumer *consumer
}

func newEndToEnd(p *producer, c *consumer) *endToEnd {
	c.fromOrigin = true
	return &endToEnd{producer: p, consumer: c}
}

func (e *endToEnd) step(due time.Time) (outcome, error) {
	sent, err := e.producer.step(due)
	if err != nil {
		return outcome{}, err
	}
	if at := e.producer.last; at.Known {
		e.consumer.next = at.BaseOffset
	}
	out := sent
	for got := int64(0); got < sent.messages; {
		polled, err := e.consumer.step(time.Time{})
		if err != nil {
			return outcome{}, err
		}
		got += polled.messages
		out.end = polled.end
		if polled.messages > 0 {
			out.latency = polled.latency
			out.bytes += polled.bytes
			out.messages += polled.messages
		}
	}
	if !due.IsZero() {
		out.latency = out.end.Sub(due)
	}
	return out, nil
}

func (e *endToEnd) close() error { return errors.Join(e.producer.close(), e.consumer.close()) }
