package sim

import (
	"fmt"
	"runtime"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
)

// flush asks for what was written to m to be synced, as an administrator would. The node waits for that on a
// goroutine of its own; the world only waits for it at points where nothing else can happen, so that a seed gives the
// same life.
func (w *World) flush(m *partitionModel) error {
	if err := w.drain(); err != nil {
		return err
	}
	answer := make(chan protocol.Code, 1)
	go func() { answer <- w.node.FlushPartition(m.id, m.revision, true) }()
	work := func() {
		for i := range w.node.Shards() {
			w.node.Pass(i)
		}
		runtime.Gosched()
	}
	deadline := time.Now().Add(time.Minute)
	for w.exec.Pending() == 0 && len(answer) == 0 && time.Now().Before(deadline) {
		work()
	}
	for len(answer) == 0 && time.Now().Before(deadline) { // also when the node has died: the goroutine must end
		w.exec.Help()
		work()
	}
	if w.died() {
		return errDied
	}
	if len(answer) == 0 {
		return fmt.Errorf("partition %s: a flush was not answered", m.id)
	}
	if code := <-answer; code != protocol.Success {
		return fmt.Errorf("flush of %s: %w", m.id, code)
	}
	for offset := range m.known {
		m.synced = max(m.synced, offset+1)
	}
	return nil
}
