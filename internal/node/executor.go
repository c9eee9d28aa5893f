package node

import "sync"

// Executor runs file tasks away from shards. Tasks of one lane run one after the other in the order of
// Submit, lanes run in parallel. The simulator brings one that runs a task when its seed says so.
type Executor interface {
	// Submit queues run; it never blocks. A lane is created by its first use.
	Submit(lane *Lane, run func())
	// Help runs one task on the caller's goroutine, when tasks have no goroutines of their own, and reports
	// whether it did.
	Help() bool
	// Close waits for what was submitted and stops.
	Close()
}

// Lane is an ordered queue of tasks, typically the files of one group. The zero value is ready.
type Lane struct {
	mu      sync.Mutex
	queue   []func()
	running bool
}

// take returns the next task, or nil when the lane is done and has left the pool.
func (l *Lane) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.running, l.queue = false, nil
		return nil
	}
	run := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return run
}

// workerLimit bounds the goroutines that wait for the device at once. Sixteen concurrent syncs are where
// this class of device stops gaining; lanes beyond that wait their turn.
const workerLimit = 16

type pool struct {
	mu     sync.Mutex
	ready  []*Lane
	active int
	idle   sync.Cond
}

// NewExecutor returns the executor of a running server.
func NewExecutor() Executor {
	p := &pool{}
	p.idle.L = &p.mu
	return p
}

func (p *pool) Submit(lane *Lane, run func()) {
	lane.mu.Lock()
	lane.queue = append(lane.queue, run)
	start := !lane.running
	lane.running = true
	lane.mu.Unlock()
	if !start {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active == workerLimit {
		p.ready = append(p.ready, lane)
		return
	}
	p.active++
	go p.work(lane)
}

// work drains lanes until none is ready.
func (p *pool) work(lane *Lane) {
	for lane != nil {
		if run := lane.take(); run != nil {
			run()
			continue
		}
		lane = p.nextLane()
	}
}

func (p *pool) nextLane() *Lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ready) == 0 {
		p.active--
		if p.active == 0 {
			p.idle.Broadcast()
		}
		return nil
	}
	l := p.ready[0]
	p.ready = p.ready[1:]
	return l
}

func (p *pool) Help() bool { return false }

func (p *pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.active > 0 {
		p.idle.Wait()
	}
}
