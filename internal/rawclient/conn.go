package rawclient

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
)

// Options tune a Conn. The zero value is usable.
type Options struct {
	// Client is the client id to register under; zero draws a random one.
	Client protocol.Uint128
	// Timeout bounds every read and write (a wait ends after one to two timeouts); 0 means 30 s,
	// negative no limit.
	Timeout time.Duration
	// Retry is how long Do repeats a request, unchanged, while the server answers it with a transient
	// code (57, 58); 0 hands the first such answer to the caller.
	Retry time.Duration
	// Nagle leaves the system's coalescing of small writes on; the default is TCP_NODELAY.
	Nagle bool
	// MaxFrame is the largest reply frame accepted, in bytes; 0 means 64 MiB.
	MaxFrame uint32
}

const (
	defaultTimeout = 30 * time.Second
	retryPause     = 50 * time.Millisecond
	keepOut        = 4 << 20 // a send buffer larger than this is not kept
)

// Conn is one connection to a server. See the package comment for its concurrency rule.
type Conn struct {
	nc         net.Conn
	opts       Options
	client     protocol.Uint128
	session    uint64
	number     uint64 // of the next metadata operation
	userID     uint32
	in         frameReader
	waiting    flights
	out        []byte
	writeArmed time.Time
}

// Dial connects to addr ("host:port") over TCP with default options.
func Dial(addr string) (*Conn, error) { return DialOptions(addr, Options{}) }

// DialOptions connects to addr ("host:port") over TCP.
func DialOptions(addr string, opts Options) (*Conn, error) {
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	nc, err := net.DialTimeout("tcp", addr, max(opts.Timeout, 0))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if tc, ok := nc.(*net.TCPConn); ok && opts.Nagle {
		if err := tc.SetNoDelay(false); err != nil {
			return nil, errors.Join(fmt.Errorf("connect: %w", err), nc.Close())
		}
	}
	return NewConn(nc, opts), nil
}

// NewConn speaks the protocol over nc, which it owns from now on.
func NewConn(nc net.Conn, opts Options) *Conn {
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.MaxFrame == 0 {
		opts.MaxFrame = protocol.MaxFrameSizeDefault
	}
	if opts.Client.IsZero() {
		opts.Client = RandomClient()
	}
	return &Conn{
		nc: nc, opts: opts, client: opts.Client, number: 1,
		in: newFrameReader(nc, opts.MaxFrame, opts.Timeout),
	}
}

// RandomClient draws a client id, never zero.
func RandomClient() protocol.Uint128 {
	var raw [16]byte
	if _, err := rand.Read(raw[:]); err != nil {
		panic("rawclient: no randomness: " + err.Error())
	}
	raw[6] = raw[6]&0x0f | 0x40 // version and variant of a random UUID: the value cannot be zero
	raw[8] = raw[8]&0x3f | 0x80
	return protocol.ReadUint128(raw[:])
}

// Client is the client id that requests carry.
func (c *Conn) Client() protocol.Uint128 { return c.client }

// SetClient changes the client id that the next sign-in registers.
func (c *Conn) SetClient(id protocol.Uint128) { c.client = id }

// Session is the fence of the last sign-in, 0 before it.
func (c *Conn) Session() uint64 { return c.session }

// UserID is the id of the signed-in user, 0 before sign-in.
func (c *Conn) UserID() uint32 { return c.userID }

// NextRequest is the number that the next metadata operation takes and that partition operations and
// reads repeat.
func (c *Conn) NextRequest() uint64 { return c.number }

// SetNextRequest moves the request counter, for tests of replay and of gaps.
func (c *Conn) SetNextRequest(number uint64) { c.number = number }

// NetConn gives access to the connection itself.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Close closes the connection without signing out.
func (c *Conn) Close() error { return c.nc.Close() }

// consumes reports whether op takes a request number of its own.
func consumes(op protocol.Operation) bool {
	return op.IsMetadata() || op == protocol.OpDeleteSegments || op == protocol.OpLogout
}

// AppendFrame appends the frame of a request to dst, numbered as its operation wants, and advances the
// counter where the operation consumes a number. code matters for NonReplicated only.
func (c *Conn) AppendFrame(dst []byte, op protocol.Operation, code protocol.CommandCode, body []byte) []byte {
	start := len(dst)
	var h protocol.RequestHeader
	h.Common().SetSize(uint32(protocol.HeaderSize + len(body)))
	h.Common().SetCommand(protocol.CommandRequest)
	h.SetClient(c.client)
	h.SetOperation(op)
	if op != protocol.OpRegister {
		h.SetRequest(c.number)
		h.SetSession(c.session)
	}
	if op == protocol.OpNonReplicated {
		h.SetCommandCode(uint32(code))
	}
	if consumes(op) {
		c.number++
	}
	dst = append(dst, h[:]...)
	dst = append(dst, body...)
	return dst[:start+protocol.HeaderSize+len(body)]
}

// SendFrame writes one whole frame as it is and expects one reply for it.
func (c *Conn) SendFrame(frame []byte) error { return c.SendFrames(frame, 1) }

// SendFrames writes block, which holds count whole frames of one operation and request number, in one
// call, and expects count replies. Nothing is allocated.
func (c *Conn) SendFrames(block []byte, count int) error {
	if len(block) < protocol.HeaderSize || count < 1 {
		return fmt.Errorf("send: %d frames in %d bytes", count, len(block))
	}
	h := (*protocol.RequestHeader)(block)
	// The turn is queued before the bytes leave, because another goroutine may receive the reply.
	c.waiting.push(h.Operation(), h.Request(), count)
	if err := c.armWrite(); err != nil {
		return err
	}
	if _, err := c.nc.Write(block); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// armWrite renews the write deadline as frameReader.arm does the read deadline.
func (c *Conn) armWrite() error {
	if c.opts.Timeout <= 0 {
		return nil
	}
	now := time.Now()
	if c.writeArmed.Sub(now) >= c.opts.Timeout {
		return nil
	}
	c.writeArmed = now.Add(2 * c.opts.Timeout)
	if err := c.nc.SetWriteDeadline(c.writeArmed); err != nil {
		return fmt.Errorf("send: set deadline: %w", err)
	}
	return nil
}

// Send writes a request and returns without waiting for its reply.
func (c *Conn) Send(op protocol.Operation, code protocol.CommandCode, body []byte) error {
	c.out = c.AppendFrame(c.out[:0], op, code, body)
	err := c.SendFrame(c.out)
	if cap(c.out) > keepOut {
		c.out = nil
	}
	return err
}

// Receive waits for the reply to the oldest request without one. An *Error comes with its Reply.
func (c *Conn) Receive() (Reply, error) {
	frame, err := c.in.next()
	if err != nil {
		if err == io.EOF && c.waiting.waiting() > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Reply{}, err
	}
	f, ok := c.waiting.pop()
	if !ok {
		return Reply{}, breach("frame that answers no request")
	}
	return decodeReply(frame, f)
}

// Ready reports whether Receive would return without reading from the connection.
func (c *Conn) Ready() bool { return c.in.ready() }

// InFlight is the number of requests without a reply.
func (c *Conn) InFlight() int { return c.waiting.waiting() }

// Exchange writes one whole frame as it is and waits for its reply.
func (c *Conn) Exchange(frame []byte) (Reply, error) {
	if err := c.SendFrame(frame); err != nil {
		return Reply{}, err
	}
	return c.Receive()
}

// Do sends a request and waits for its reply, repeating it as Options.Retry says. It must not be used
// while requests are in flight.
func (c *Conn) Do(op protocol.Operation, code protocol.CommandCode, body []byte) (Reply, error) {
	frame := c.AppendFrame(c.out[:0], op, code, body)
	if cap(frame) <= keepOut {
		c.out = frame
	}
	reply, err := c.Exchange(frame)
	if c.opts.Retry <= 0 {
		return reply, err
	}
	for giveUp := time.Now().Add(c.opts.Retry); isTransient(err) && time.Now().Before(giveUp); {
		time.Sleep(retryPause)
		reply, err = c.Exchange(frame)
	}
	return reply, err
}

func isTransient(err error) bool {
	code, ok := CodeOf(err)
	return ok && (code == protocol.CodeTransientNotCommitted || code == protocol.CodeTransientNotAccepted)
}

// Read sends a NonReplicated request with a command code and waits for its reply.
func (c *Conn) Read(code protocol.CommandCode, body []byte) (Reply, error) {
	return c.Do(protocol.OpNonReplicated, code, body)
}
