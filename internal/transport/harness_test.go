package transport

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every request with its own body and request number, when and how the test wants.
type echo struct {
	conn     *Conn
	hold     func(x *Exchange) bool // true: the test answers x itself
	late     []*Exchange            // answered at ReadEnd
	frames   int
	readEnds int
	bodies   []int
	closed   chan struct{}
}

func (e *echo) Body(x *Exchange, have int) { e.bodies = append(e.bodies, have) }

func (e *echo) Frame(x *Exchange) {
	e.frames++
	if e.hold != nil && e.hold(x) {
		return
	}
	e.late = append(e.late, x)
}

func (e *echo) ReadEnd() {
	e.readEnds++
	for i, x := range e.late {
		answer(x)
		e.late[i] = nil
	}
	e.late = e.late[:0]
}

func (e *echo) Closed() { close(e.closed) }

// answer completes x with an echo of its body.
func answer(x *Exchange) {
	*x.Reply() = protocol.ReplyHeader{}
	x.Reply().Common().SetCommand(protocol.CommandReply)
	x.Reply().SetRequest(x.Header.Request())
	if len(x.Body.Bytes) <= 200 {
		x.SetBody(x.Body.Bytes)
	} else {
		b := x.TakeBody()
		half := len(b.Bytes) / 2
		b.Retain()
		x.AppendPiece(b.Bytes[:half], b.Lease)
		x.AppendPiece(b.Bytes[half:], b.Lease)
	}
	x.Done()
}

// server is a listener whose handlers the test can reach.
type server struct {
	*Listener
	metrics *Metrics
	conns   chan *echo
}

func serve(t testing.TB, change func(o *Options, e *echo)) *server {
	t.Helper()
	s := &server{metrics: new(Metrics), conns: make(chan *echo, 10_000)}
	o := Options{Metrics: s.metrics, SweepInterval: 10 * time.Millisecond}
	if change != nil {
		change(&o, nil)
	}
	o.NewHandler = func(c *Conn) Handler {
		e := &echo{conn: c, closed: make(chan struct{})}
		if change != nil {
			change(new(Options), e)
		}
		s.conns <- e
		return e
	}
	l, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = l
	t.Cleanup(func() {
		if err := l.Close(time.Second); err != nil {
			t.Error(err)
		}
		if o.Pool != nil && o.Pool.LiveBytes() != 0 {
			t.Errorf("%d bytes still leased after close", o.Pool.LiveBytes())
		}
	})
	return s
}

func (s *server) dial(t testing.TB) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	return nc
}

// request builds one frame.
func request(number uint64, body []byte) []byte {
	var h protocol.RequestHeader
	h.Common().SetCommand(protocol.CommandRequest)
	h.Common().SetSize(uint32(protocol.HeaderSize + len(body)))
	h.SetRequest(number)
	return append(h[:], body...)
}

// pattern is a body whose every byte tells its place.
func pattern(number uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(uint64(i)*7 + number*13 + uint64(i)>>8)
	}
	return b
}

// expect reads one answer and checks number and body.
func expect(t testing.TB, r io.Reader, number uint64, body []byte) {
	t.Helper()
	h, got := readAnswer(t, r)
	if h.Request() != number || !bytes.Equal(got, body) {
		t.Fatalf("answer to %d with %d bytes, want %d with %d bytes (equal: %v)",
			h.Request(), len(got), number, len(body), bytes.Equal(got, body))
	}
}

func readAnswer(t testing.TB, r io.Reader) (h protocol.ReplyHeader, body []byte) {
	t.Helper()
	if _, err := io.ReadFull(r, h[:]); err != nil {
		t.Fatalf("answer header: %v", err)
	}
	body = make([]byte, int(h.Common().Size())-protocol.HeaderSize)
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatalf("answer body: %v", err)
	}
	return h, body
}

func expectEOF(t testing.TB, r io.Reader) {
	t.Helper()
	if n, err := io.Copy(io.Discard, r); n != 0 {
		t.Fatalf("%d surplus bytes, then %v", n, err)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("connection stays open")
	}
}

func send(t testing.TB, w io.Writer, p []byte) {
	t.Helper()
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// heldBack collects exchanges that a test answers later.
type heldBack struct {
	mu sync.Mutex
	xs []*Exchange
}

func (h *heldBack) keep(x *Exchange) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.xs = append(h.xs, x)
	return true
}

func (h *heldBack) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.xs)
}

func (h *heldBack) take() []*Exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	xs := h.xs
	h.xs = nil
	return xs
}

func putSize(frame []byte, size uint32) []byte {
	binary.LittleEndian.PutUint32(frame[48:], size)
	return frame
}
