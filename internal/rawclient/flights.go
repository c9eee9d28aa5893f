package rawclient

import (
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
)

// flight is a run of count requests in a row that expect the same kind of reply.
type flight struct {
	op      protocol.Operation
	request uint64
	count   int
}

// flights is the queue of requests that wait for their reply, oldest first. Runs of equal requests share
// one entry. One goroutine may push while another pops.
type flights struct {
	mu    sync.Mutex
	runs  []flight // ring
	head  int
	used  int
	total int
}

func (q *flights) push(op protocol.Operation, request uint64, count int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total += count
	if q.used > 0 {
		last := &q.runs[(q.head+q.used-1)%len(q.runs)]
		if last.op == op && last.request == request {
			last.count += count
			return
		}
	}
	if q.used == len(q.runs) {
		grown := make([]flight, max(8, 2*len(q.runs)))
		for i := range q.used {
			grown[i] = q.runs[(q.head+i)%len(q.runs)]
		}
		q.runs, q.head = grown, 0
	}
	q.runs[(q.head+q.used)%len(q.runs)] = flight{op, request, count}
	q.used++
}

// pop takes the oldest request, or returns false when none waits.
func (q *flights) pop() (flight, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used == 0 {
		return flight{}, false
	}
	run := &q.runs[q.head]
	first := *run
	run.count--
	q.total--
	if run.count == 0 {
		q.head = (q.head + 1) % len(q.runs)
		q.used--
	}
	return first, true
}

// waiting is the number of requests without a reply.
func (q *flights) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}
