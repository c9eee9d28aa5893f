package sim

import (
	"math/rand/v2"

	"github.com/galgolog/galgo/internal/node"
)

// Executor runs file tasks when it is told to: any lane may be next, within a lane the order holds.
type Executor struct {
	rng   *rand.Rand
	lanes []*node.Lane
	tasks map[*node.Lane][]func()
	// dead stops everything: the process that owned the tasks is gone.
	dead bool
}

// NewExecutor returns an executor whose choices come from rng.
func NewExecutor(rng *rand.Rand) *Executor {
	return &Executor{rng: rng, tasks: map[*node.Lane][]func(){}}
}

// Submit implements node.Executor.
func (e *Executor) Submit(lane *node.Lane, run func()) {
	if len(e.tasks[lane]) == 0 {
		e.lanes = append(e.lanes, lane)
	}
	e.tasks[lane] = append(e.tasks[lane], run)
}

// Help implements node.Executor: it runs the first task of a lane that the seed chooses.
func (e *Executor) Help() bool {
	if e.dead || len(e.lanes) == 0 {
		return false
	}
	i := e.rng.IntN(len(e.lanes))
	lane := e.lanes[i]
	run := e.tasks[lane][0]
	if rest := e.tasks[lane][1:]; len(rest) > 0 {
		e.tasks[lane] = rest
	} else {
		delete(e.tasks, lane)
		e.lanes = append(e.lanes[:i], e.lanes[i+1:]...)
	}
	run()
	return true
}

// Pending is the number of tasks that wait.
func (e *Executor) Pending() int {
	n := 0
	for _, lane := range e.lanes {
		n += len(e.tasks[lane])
	}
	return n
}

// Close implements node.Executor.
func (e *Executor) Close() {
	for e.Help() {
	}
}
