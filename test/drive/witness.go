package drive

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/process"
)

// Witness is a client that sends and polls beside a test, every few milliseconds, and fails it when the server
// answers wrong, late or not at all: what one client does must not be noticed by another.
type Witness struct {
	t       testing.TB
	conn    *rawclient.Conn
	stop    chan struct{}
	done    sync.WaitGroup
	slowest time.Duration
	rounds  int
	err     error
}

// Watch starts a witness. It needs a topic of its own, which it creates. The test ends it with End.
func Watch(t testing.TB, s *process.Server) *Witness {
	t.Helper()
	c := Root(t, s)
	topic := c.NewTopic("witness", "witness", 1)
	w := &Witness{t: t, conn: c.Conn, stop: make(chan struct{})}
	w.done.Go(func() { w.err = w.run(topic.TopicRef) })
	return w
}

func (w *Witness) run(ref command.TopicRef) error {
	for {
		select {
		case <-w.stop:
			return nil
		case <-time.After(3 * time.Millisecond):
		}
		began := time.Now()
		payload := fmt.Sprint("witness ", w.rounds)
		got, err := w.conn.SendMessages(ref, To(0), Record(payload))
		if err != nil {
			return fmt.Errorf("send %d: %w", w.rounds, err)
		}
		if !got.Known || got.BaseOffset != uint64(w.rounds) {
			return fmt.Errorf("send %d is confirmed as %+v", w.rounds, got)
		}
		reply, err := w.conn.Poll(Poll(ref, 0, command.FromLast, 0, 1))
		if err != nil {
			return fmt.Errorf("poll %d: %w", w.rounds, err)
		}
		messages, err := Decode(reply)
		if err != nil {
			return err
		}
		if len(messages) != 1 || messages[0].Payload != payload {
			return fmt.Errorf("poll %d returns %v", w.rounds, Bodies(messages))
		}
		w.slowest = max(w.slowest, time.Since(began))
		w.rounds++
	}
}

// End stops the witness and demands that it saw nothing, and nothing later than the limit.
func (w *Witness) End(limit time.Duration) {
	w.t.Helper()
	close(w.stop)
	w.done.Wait()
	if w.err != nil {
		w.t.Errorf("another client noticed: %v", w.err)
	}
	if w.slowest > limit {
		w.t.Errorf("another client waited %v for a send and a poll; the limit is %v", w.slowest, limit)
	}
	if w.rounds == 0 {
		w.t.Error("the witness did nothing")
	}
}
