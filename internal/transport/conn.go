package transport

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
)

// Conn is one client connection. Its exported methods are safe for concurrent use.
type Conn struct {
	hub     *hub
	nc      net.Conn
	id      protocol.Uint128
	handler Handler
	sink    sink

	// reading guards what belongs to the reading goroutine: it holds the lock while it works and lets go
	// while it waits for bytes, so that the sweep can look at connections that are quiet.
	reading  sync.Mutex
	in       frameReader
	chunk    *readChunk
	block    readBlock
	size     readSize
	handed   bool  // something was handed over since the last ReadEnd
	framesIn int64 // frames since the last ReadEnd
	maybeEOF bool  // the last read left the socket empty, but an end of stream may hide behind it
	taken    int64 // request body bytes of all exchanges so far; the reading goroutine's own

	answers   answerQueue
	token     atomic.Uint32
	batch     *writeBatch  // being written; token holder only
	unwritten atomic.Int64 // bytes of answers completed and not written, but for what exchanges hold themselves
	returned  atomic.Int64 // request body bytes of the exchanges that are not open any more

	lastRead  atomic.Int64 // clock of the hub
	paused    atomic.Bool
	draining  atomic.Bool // no further reads; close once everything due is written
	closed    atomic.Bool // nothing is read or written any more
	endOfFile atomic.Bool
	starved   atomic.Bool // the connection's goroutine waits on wake
	wake      chan struct{}
	drainNano atomic.Int64
	causeOnce sync.Once
	cause     error
}

func newConn(h *hub, nc net.Conn) *Conn {
	c := &Conn{hub: h, nc: nc, id: h.opts.NewID(), wake: make(chan struct{}, 1)}
	c.in = frameReader{sink: c, pool: h.opts.Pool, limit: h.opts.MaxFrameBytes}
	c.drainNano.Store(int64(h.opts.CloseGrace))
	c.lastRead.Store(h.clock.Load())
	c.sink = newSink(nc, h.opts.Metrics)
	return c
}

// ID is the transport id, unique within the process.
func (c *Conn) ID() protocol.Uint128 { return c.id }

// RemoteAddr is the address of the client.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// LastActivity is when bytes last arrived, as precise as Options.SweepInterval.
func (c *Conn) LastActivity() time.Time {
	return c.hub.start.Add(time.Duration(c.lastRead.Load()))
}

// Pause stops handing over frames after the current one, and soon reading, until Resume.
func (c *Conn) Pause() { c.paused.Store(true) }

// Resume undoes Pause.
func (c *Conn) Resume() {
	c.paused.Store(false)
	c.poke()
}

// Close ends the connection without waiting for answers. It returns before the connection is gone.
func (c *Conn) Close() { c.abort(ErrClosed) }

// CloseAfterFlush stops reading and ends the connection when the frames handed over so far are answered
// and written, or after Options.CloseGrace. It returns at once.
func (c *Conn) CloseAfterFlush() { c.drainWithin(c.hub.opts.CloseGrace) }

func (c *Conn) drainWithin(grace time.Duration) {
	if grace <= 0 {
		c.abort(ErrClosed)
		return
	}
	c.drainNano.Store(int64(grace))
	c.draining.Store(true)
	_ = c.nc.SetReadDeadline(longAgo)
	c.poke()
}

// longAgo as a deadline fails what waits now and what will wait.
var longAgo = time.Unix(1, 0)

// abort stops both directions. The goroutine of the connection does the rest.
func (c *Conn) abort(cause error) {
	c.causeOnce.Do(func() { c.cause = cause })
	c.closed.Store(true)
	_ = c.nc.SetDeadline(longAgo)
	c.poke()
}

func (c *Conn) stopped() bool { return c.closed.Load() || c.draining.Load() }

// poke wakes the connection's goroutine if it waits for a condition.
func (c *Conn) poke() {
	if c.starved.Load() && c.starved.Swap(false) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// await blocks the connection's goroutine until holds does, or until the timer fires.
func (c *Conn) await(holds func() bool, timeout time.Duration) bool {
	var expired <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	for {
		c.starved.Store(true)
		if holds() {
			c.starved.Store(false)
			return true
		}
		select {
		case <-c.wake:
		case <-expired:
			return holds()
		}
	}
}

// serve is the goroutine of the connection.
func (c *Conn) serve() {
	if c.handler = c.hub.opts.NewHandler(c); c.handler == nil {
		_ = c.nc.Close()
		return
	}
	cause := c.sink.readLoop(c)
	c.reading.Lock()
	c.in.drop()
	c.releaseChunk()
	c.block.drop()
	c.reading.Unlock()

	// A client that ended its half, a frame that cannot be delimited and our own wish to stop leave
	// answers that are still due.
	if errors.Is(cause, io.EOF) || errors.Is(cause, ErrFrameSize) || errors.Is(cause, errStopped) {
		c.await(c.settled, time.Duration(c.drainNano.Load()))
	}
	c.abort(cause)
	c.await(c.takeToken, 0)
	c.pump() // discards
	c.finishFlush()
	c.handler.Closed()
	c.report()
	if errors.Is(c.cause, ErrFrameSize) {
		c.linger()
	}
	_ = c.nc.Close()
}

// settled tells that every frame handed over has been answered and written, or that there is no point in
// waiting for it.
func (c *Conn) settled() bool {
	return c.closed.Load() || c.answers.open() == 0 && c.token.Load() == tokenFree && c.answers.pushed.Load() == 0
}

// linger lets the client read the last answers: a close with unread bytes would reset the connection and
// destroy what the client has not read yet.
func (c *Conn) linger() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(c.hub.opts.CloseGrace))
	_, _ = io.CopyN(io.Discard, c.nc, batchBytesMax)
}

func (c *Conn) report() {
	switch {
	case errors.Is(c.cause, ErrFrameSize):
		c.hub.opts.Metrics.BadFrames.Add(1)
	case errors.Is(c.cause, ErrStalled):
		c.hub.opts.Metrics.Stalls.Add(1)
	default:
		return
	}
	c.hub.opts.Logger.Info("connection closed", "remote", c.nc.RemoteAddr().String(), "cause", c.cause.Error())
}
