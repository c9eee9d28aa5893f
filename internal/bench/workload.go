package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// workload is one kind of run with all its options.
type workload struct {
	kind    string
	target  target
	load    load
	topic   topic
	streams int
	actors  int
	reuse   bool // leave existing streams alone
	window  int  // of the pipelined kind
	decode  bool // consumers look at every message
}

const (
	kindProducer  = "pinned-producer"
	kindConsumer  = "pinned-consumer"
	kindEndToEnd  = "end-to-end-producing-consumer"
	kindPipelined = "pipelined-producer"
)

// destination is partition 0 of the stream of actor i, counted from 0.
func (w workload) destination(i int) destination {
	return destination{TopicRef: command.TopicRef{
		Stream: protocol.NamedID(streamName(1 + i%w.streams)), Topic: protocol.NamedID(topicName),
	}}
}

func (w workload) check() error {
	switch {
	case w.actors < 1 || w.streams < 1:
		return errors.New("at least one stream and one actor are needed")
	case w.kind == kindProducer && w.streams != w.actors:
		return fmt.Errorf("%d streams for %d producers: the numbers must be equal", w.streams, w.actors)
	case w.streams > w.actors:
		return fmt.Errorf("%d streams for %d actors: some would be idle", w.streams, w.actors)
	case w.load.openLoop && w.load.rateBytes <= 0:
		return errors.New("an open loop needs a rate")
	case w.kind == kindPipelined && w.window < 1:
		return errors.New("the window must be at least 1")
	}
	return nil
}

// run prepares the streams, runs the workload once and reports.
func (w workload) run(ctx context.Context) (Report, error) { return w.runRested(ctx, -1) }

// runRested is run with a rest between preparing and measuring.
func (w workload) runRested(ctx context.Context, pause time.Duration) (Report, error) {
	if err := w.check(); err != nil {
		return Report{}, fmt.Errorf("%s: %w", w.kind, err)
	}
	var err error
	if w.kind == kindConsumer {
		err = w.target.require(w.streams)
	} else {
		err = w.target.prepare(w.streams, w.topic, w.reuse)
	}
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", w.kind, err)
	}
	if err := rest(ctx, pause); err != nil {
		return Report{}, err
	}
	m := &meter{pid: w.target.serverPID()}
	recs, err := w.measure(ctx, m)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", w.kind, err)
	}
	r := Report{Kind: w.kind, Params: w.params(), Groups: groupsOf(recs, w.load.smoothing)}
	return r, m.end(&r)
}

func (w workload) measure(ctx context.Context, m *meter) (recs []*recorder, err error) {
	if w.kind == kindPipelined {
		p, err := newPipelined(w.target, w.load, w.destination(0), w.window)
		if err != nil {
			return nil, err
		}
		err = p.run(ctx, m.begin)
		p.conn.Close()
		return []*recorder{p.rec}, err
	}
	members := make([]*member, w.actors)
	defer func() {
		for _, mem := range members {
			if mem != nil {
				err = errors.Join(err, mem.close())
			}
		}
	}()
	for i := range members {
		if members[i], err = w.member(i); err != nil {
			return nil, err
		}
		recs = append(recs, members[i].rec)
	}
	return recs, runMembers(ctx, members, w.load.warmup, m.begin)
}

// member makes actor i.
func (w workload) member(i int) (*member, error) {
	mem := &member{quota: w.load.quota(w.actors)}
	if w.load.rateBytes > 0 {
		mem.rateBytes = w.load.rateBytes / float64(w.actors)
		if w.load.openLoop {
			mem.interval = w.load.interval(w.actors)
		}
	}
	does := producerRole
	var err error
	switch w.kind {
	case kindConsumer:
		does = consumerRole
		mem.actor, err = w.consumer(i)
	case kindEndToEnd:
		does = producingConsumerRole
		mem.actor, err = w.endToEnd(i)
	default:
		mem.actor, err = newProducer(w.target, w.load, w.destination(i), uint64(i+1))
	}
	mem.rec = newRecorder(does, w.load.sampling, w.load.expected(w.actors))
	if err != nil {
		return nil, err
	}
	return mem, nil
}

func (w workload) consumer(i int) (*consumer, error) {
	c, err := newConsumer(w.target, w.destination(i), uint32(w.load.batchMessages.max))
	if err != nil {
		return nil, err
	}
	c.decode, c.backoff = w.decode, w.load.pollBackoff
	return c, nil
}

func (w workload) endToEnd(i int) (*endToEnd, error) {
	p, err := newProducer(w.target, w.load, w.destination(i), uint64(i+1))
	if err != nil {
		return nil, err
	}
	c, err := w.consumer(i)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return newEndToEnd(p, c), nil
}

func (w workload) params() map[string]any {
	out := map[string]any{
		"server_address": w.target.address, "streams": w.streams, "actors": w.actors,
		"message_size":       []int{w.load.messageBytes.min, w.load.messageBytes.max},
		"messages_per_batch": []int{w.load.batchMessages.min, w.load.batchMessages.max},
		"message_batches":    w.load.batches, "total_data": w.load.totalBytes,
		"duration_seconds": w.load.duration.Seconds(), "rate_limit": w.load.rateBytes,
		"open_loop": w.load.openLoop, "warmup_seconds": w.load.warmup.Seconds(),
		"enforce_fsync": w.topic.enforceFsync,
	}
	if w.kind == kindPipelined {
		out["window"] = w.window
	}
	return out
}
