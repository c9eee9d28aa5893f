package transport

import (
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
)

const (
	smallBodyBytesMax = 16 << 10   // larger bodies get a lease of their own
	readBytesMin      = 4 << 10    // first read of a connection that was quiet
	readBytesMax      = 256 << 10  // one read, and the step of Handler.Body
	firstLeaseBytes   = 1280 << 10 // most that a claimed size alone may allocate
	batchFramesMax    = 256
	batchBytesMax     = 1 << 20
	pushedFramesMax   = 8
)

// Options configure a listener. NewHandler is needed; every zero value elsewhere means the default.
type Options struct {
	// NewHandler makes the session of a new connection, on the goroutine of that connection. Nil refuses
	// the connection.
	NewHandler func(*Conn) Handler
	// NewID names connections. Default: 1, 2, 3, ...
	NewID func() protocol.Uint128
	// Pool is the memory that bodies live in. Default: a pool of its own that keeps 64 MiB.
	Pool *buffer.Pool
	// MaxFrameBytes is the largest frame, header included (default 64 MiB).
	MaxFrameBytes int
	// QueueFrames is the number of exchanges that may be unanswered or unwritten (default 256).
	QueueFrames int
	// QueueBytes is the number of answer bytes that may wait unwritten before reading stops (default
	// 8 MiB). The answers to requests that were already read come on top, and so do headers and bodies up to
	// 128 bytes, which lie in the exchanges and are bounded with them.
	QueueBytes int64
	// QueueRequestBytes is the number of request body bytes that open exchanges may hold before reading
	// stops (default 16 MiB). One frame is always taken.
	QueueRequestBytes int64
	// MaxConnections bounds the open connections (default 65,536). Beyond it a connection is closed
	// right after it was accepted.
	MaxConnections int
	// StallTimeout closes a connection that began a frame and then sent nothing for so long (default 60 s).
	StallTimeout time.Duration
	// IdleAfter is the quiet time after which a connection gives its buffers back (default 5 s).
	IdleAfter time.Duration
	// CloseGrace bounds how long answers that are due may delay the end of a connection (default 2 s).
	CloseGrace time.Duration
	// SweepInterval is the resolution of the three times above and of LastActivity (default 500 ms).
	SweepInterval time.Duration
	// Logger receives accept failures and the end of connections that broke a rule. Default: discard.
	Logger *slog.Logger
	// Metrics is counted into. Default: counters nobody sees.
	Metrics *Metrics

	wrap func(net.Conn) net.Conn // hides the kind of a connection, so that the general path is taken
}

// Metrics counts what happens on the connections of the listeners that share it. All fields may be read
// at any time.
type Metrics struct {
	Accepted     atomic.Int64 // connections
	Refused      atomic.Int64 // connections beyond MaxConnections
	AcceptErrors atomic.Int64
	Active       atomic.Int64 // connections now
	Reads        atomic.Int64 // read calls, fruitless ones included
	EmptyReads   atomic.Int64 // read calls that found nothing
	Writes       atomic.Int64 // write calls
	BlockedWrite atomic.Int64 // times a socket was full and a writer goroutine took over
	FramesIn     atomic.Int64
	FramesOut    atomic.Int64
	BytesIn      atomic.Int64
	BytesOut     atomic.Int64
	Starved      atomic.Int64 // times reading stopped because a queue was full or the session paused it
	BadFrames    atomic.Int64 // connections closed because a size was out of range
	Stalls       atomic.Int64 // connections closed by StallTimeout
}

// Errors that end a connection, as they appear in logs, and those of Listen and Close.
var (
	ErrFrameSize    = errors.New("frame size out of range")
	ErrStalled      = errors.New("no progress inside a frame")
	ErrClosed       = errors.New("connection closed by the server")
	ErrCloseTimeout = errors.New("connections still open after the grace time")
	ErrNoHandler    = errors.New("options without NewHandler")
	errStopped      = errors.New("reading stopped")
)

func orDefault[T ~int | ~int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (o *Options) setDefaults() error {
	if o.NewHandler == nil {
		return ErrNoHandler
	}
	if o.Pool == nil {
		o.Pool = buffer.New(64 << 20)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = new(Metrics)
	}
	if o.NewID == nil {
		var sequence atomic.Uint64
		o.NewID = func() protocol.Uint128 { return protocol.Uint128From64(sequence.Add(1)) }
	}
	orDefault(&o.MaxFrameBytes, protocol.MaxFrameSizeDefault)
	orDefault(&o.QueueFrames, 256)
	orDefault(&o.QueueBytes, 8<<20)
	orDefault(&o.QueueRequestBytes, 16<<20)
	orDefault(&o.MaxConnections, 65_536)
	orDefault(&o.StallTimeout, 60*time.Second)
	orDefault(&o.IdleAfter, 5*time.Second)
	orDefault(&o.CloseGrace, 2*time.Second)
	orDefault(&o.SweepInterval, 500*time.Millisecond)
	return nil
}
