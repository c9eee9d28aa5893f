package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Listener accepts TCP connections and owns them.
type Listener struct {
	ln  net.Listener
	hub *hub
}

// hub owns the connections of one listener, whatever their transport.
type hub struct {
	opts    Options
	start   time.Time
	clock   atomic.Int64   // nanoseconds since start, advanced by the sweep
	running sync.WaitGroup // every goroutine but the sweep
	done    chan struct{}
	swept   chan struct{}

	mu      sync.Mutex
	conns   map[*Conn]struct{}
	closing bool
}

func newHub(o Options) (*hub, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	h := &hub{opts: o, start: time.Now(), conns: make(map[*Conn]struct{}), done: make(chan struct{}), swept: make(chan struct{})}
	go h.sweep()
	return h, nil
}

// Listen binds addr ("host:port", port 0 chooses one) and starts to accept. SO_REUSEADDR and TCP_NODELAY
// are set, keepalive is off.
func Listen(addr string, o Options) (*Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false)
	ln, err := config.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("transport listen: %w", err)
	}
	h, err := newHub(o)
	if err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("transport listen %s: %w", addr, err)
	}
	l := &Listener{ln: ln, hub: h}
	h.running.Add(1)
	go l.accept()
	return l, nil
}

// Addr is the bound address.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Connections is the number of open connections.
func (l *Listener) Connections() int { return l.hub.count() }

// Close stops accepting and reading at once, lets the requests that were handed over be answered, and
// ends every connection within grace; zero or less ends them without waiting. It returns when all
// goroutines are gone, or ErrCloseTimeout when a handler still has not returned a second after that.
func (l *Listener) Close(grace time.Duration) error {
	err := l.ln.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, l.hub.close(grace))
}

// accept takes connections until the listener is closed. Other errors (no descriptors left, a client that
// gave up) pass: it waits a little, longer each time, and goes on.
func (l *Listener) accept() {
	defer l.hub.running.Done()
	const delayMin, delayMax = 5 * time.Millisecond, time.Second
	delay := delayMin
	for {
		nc, err := l.ln.Accept()
		if err == nil {
			delay = delayMin
			l.hub.adopt(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		l.hub.opts.Metrics.AcceptErrors.Add(1)
		l.hub.opts.Logger.Warn("accept", "error", err.Error(), "retry_after", delay.String())
		select {
		case <-time.After(delay):
		case <-l.hub.done:
			return
		}
		delay = min(delay*2, delayMax)
	}
}

// adopt starts serving nc, or closes it when there is no room.
func (h *hub) adopt(nc net.Conn) {
	m := h.opts.Metrics
	h.mu.Lock()
	if h.closing || len(h.conns) >= h.opts.MaxConnections {
		h.mu.Unlock()
		m.Refused.Add(1)
		_ = nc.Close()
		return
	}
	if h.opts.wrap != nil {
		nc = h.opts.wrap(nc)
	}
	c := newConn(h, nc)
	h.conns[c] = struct{}{}
	h.running.Add(1)
	h.mu.Unlock()
	m.Accepted.Add(1)
	m.Active.Add(1)
	go func() {
		defer h.running.Done()
		c.serve()
		h.mu.Lock()
		delete(h.conns, c)
		h.mu.Unlock()
		m.Active.Add(-1)
	}()
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

func (h *hub) each(do func(*Conn)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		do(c)
	}
}

func (h *hub) close(grace time.Duration) error {
	h.mu.Lock()
	again := h.closing
	h.closing = true
	h.mu.Unlock()
	if again {
		return nil
	}
	close(h.done)
	<-h.swept
	h.each(func(c *Conn) { c.drainWithin(grace) })
	gone := make(chan struct{})
	go func() {
		h.running.Wait()
		close(gone)
	}()
	if grace > 0 && within(gone, grace) {
		return nil
	}
	h.each(func(c *Conn) { c.abort(ErrClosed) })
	if !within(gone, time.Second) {
		return ErrCloseTimeout
	}
	return nil
}

func within(gone <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-gone:
		return true
	case <-t.C:
		return false
	}
}

// sweep advances the clock and looks at every connection that waits for bytes.
func (h *hub) sweep() {
	defer close(h.swept)
	tick := time.NewTicker(h.opts.SweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.clock.Store(int64(time.Since(h.start)))
			h.each((*Conn).sweep)
		case <-h.done:
			return
		}
	}
}

// sweep closes a connection that stalls inside a frame, finds an end of stream that was not reported, and
// takes the buffers from one that is quiet. It skips a connection whose goroutine is at work.
func (c *Conn) sweep() {
	if !c.reading.TryLock() {
		return
	}
	defer c.reading.Unlock()
	quiet := c.hub.clock.Load() - c.lastRead.Load()
	if quiet >= int64(c.hub.opts.SweepInterval) {
		c.findEOF()
	}
	switch {
	case c.in.midFrame():
		if quiet >= int64(c.hub.opts.StallTimeout) {
			c.abort(ErrStalled)
		}
	case quiet >= int64(c.hub.opts.IdleAfter):
		c.in.slab.drop()
		c.block.drop()
		c.answers.trim()
		c.size = readSize{}
	}
}
