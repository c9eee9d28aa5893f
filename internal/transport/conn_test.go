package transport

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
)

// overStreams runs the test on the fast path and on the general one, over a plain TCP socket both times.
func overStreams(t *testing.T, test func(t *testing.T, change func(*Options))) {
	t.Run("tcp", func(t *testing.T) { test(t, func(*Options) {}) })
	t.Run("stream", func(t *testing.T) {
		test(t, func(o *Options) { o.wrap = func(nc net.Conn) net.Conn { return struct{ net.Conn }{nc} } })
	})
}

func TestConn_EchoesEverySize(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		s := serve(t, func(o *Options, _ *echo) { change(o); o.Pool = buffer.New(8 << 20) })
		nc := s.dial(t)
		for i, n := range []int{0, 1, 128, 129, 200, 201, 4000, 16 << 10, 16<<10 + 1, 300_000, 1_048_576, 5_000_000, 0} {
			body := pattern(uint64(i), n)
			go nc.Write(request(uint64(i), body))
			expect(t, nc, uint64(i), body)
		}
		nc.Close()
		<-(<-s.conns).closed
	})
}

func TestConn_ByteAtATime(t *testing.T) {
	s := serve(t, nil)
	nc := s.dial(t)
	body := pattern(9, 50)
	for _, b := range append(request(9, body), request(10, nil)...) {
		send(t, nc, []byte{b})
	}
	expect(t, nc, 9, body)
	expect(t, nc, 10, nil)
}

func TestConn_PipelinedRequestsShareReadsAndWrites(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		s := serve(t, func(o *Options, _ *echo) { change(o); o.Pool = buffer.New(8 << 20); o.QueueFrames = 100 })
		nc := s.dial(t)
		const count = 20_000
		body := pattern(1, 100)
		go func() {
			var p []byte
			for i := range count {
				if p = append(p, request(uint64(i), body)...); i%50 == 49 {
					if _, err := nc.Write(p); err != nil {
						return
					}
					p = p[:0]
				}
			}
		}()
		for i := range count {
			expect(t, nc, uint64(i), body)
		}
		e := <-s.conns
		nc.Close()
		<-e.closed
		if e.frames != count || e.readEnds > count/2 {
			t.Fatalf("%d frames in %d reads", e.frames, e.readEnds)
		}
		if w := s.metrics.Writes.Load(); w > count/2 {
			t.Fatalf("%d writes for %d answers", w, count)
		}
	})
}

func TestConn_LargeBodiesAreReportedInSteps(t *testing.T) {
	s := serve(t, func(_ *Options, e *echo) {})
	nc := s.dial(t)
	body := pattern(1, 3<<20)
	go nc.Write(request(1, body))
	expect(t, nc, 1, body)
	e := <-s.conns
	nc.Close()
	<-e.closed
	last := 0
	for _, have := range e.bodies {
		if have-last < readBytesMax && have != len(body) || have-last > 2*readBytesMax {
			t.Fatalf("step from %d to %d", last, have)
		}
		last = have
	}
	if last != len(body) {
		t.Fatalf("last report at %d of %d", last, len(body))
	}
}

func TestConn_LoneRequestCostsOneRead(t *testing.T) {
	s := serve(t, nil)
	if runtime.GOOS != "linux" {
		t.Skip("only the descriptor path knows that a socket is empty")
	}
	nc := s.dial(t)
	send(t, nc, request(0, nil))
	expect(t, nc, 0, nil)
	reads, writes := s.metrics.Reads.Load(), s.metrics.Writes.Load()
	const count = 500
	for i := range count {
		send(t, nc, request(uint64(i), []byte("ping")))
		expect(t, nc, uint64(i), []byte("ping"))
	}
	reads, writes = s.metrics.Reads.Load()-reads, s.metrics.Writes.Load()-writes
	if reads > count*11/10 || writes != count {
		t.Fatalf("%d reads and %d writes for %d requests", reads, writes, count)
	}
}

func TestConn_UndelimitableFrameClosesAfterDueAnswers(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		for _, size := range []uint32{0, 255, 100_001, 1 << 31, ^uint32(0)} {
			held := new(heldBack)
			s := serve(t, func(o *Options, e *echo) {
				change(o)
				o.MaxFrameBytes = 100_000
				if e != nil {
					e.hold = held.keep
				}
			})
			nc := s.dial(t)
			p := append(request(1, []byte("due")), putSize(request(2, nil), size)...)
			send(t, nc, append(p, make([]byte, 10_000)...))
			eventually(t, "first request handed over", func() bool { return held.len() == 1 })
			x := held.take()[0]
			c := x.Conn()
			answer(x)
			c.Flush()
			expect(t, nc, 1, []byte("due"))
			expectEOF(t, nc)
			nc.Close()
			<-(<-s.conns).closed
			if held.len() != 0 || s.metrics.BadFrames.Load() != 1 {
				t.Fatalf("size %d: handed over, or counted %d times", size, s.metrics.BadFrames.Load())
			}
		}
	})
}

func TestConn_BitFlippedHeadersNeverHurt(t *testing.T) {
	s := serve(t, func(o *Options, _ *echo) { o.MaxFrameBytes = 4096; o.Pool = buffer.New(1 << 20) })
	body := pattern(3, 64)
	for bit := 0; bit < protocol.HeaderSize*8; bit += 5 {
		frame := request(3, body)
		frame[bit/8] ^= 1 << (bit % 8)
		size := uint32(frame[48]) | uint32(frame[49])<<8 | uint32(frame[50])<<16 | uint32(frame[51])<<24
		nc := s.dial(t)
		send(t, nc, frame)
		if size == uint32(len(frame)) { // still delimited: an answer comes, and the connection goes on
			if _, got := readAnswer(t, nc); !bytes.Equal(got, body) {
				t.Fatalf("bit %d: other body", bit)
			}
			send(t, nc, request(4, nil))
			expect(t, nc, 4, nil)
		} else if size < protocol.HeaderSize || size > 4096 {
			expectEOF(t, nc)
		}
		nc.Close()
	}
}

func TestConn_OutOfOrderAnswersLeaveInOrder(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		work, quit := make(chan *Exchange, 1000), make(chan struct{})
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			o.Pool = buffer.New(8 << 20)
			o.QueueFrames = 37
			if e != nil {
				e.hold = func(x *Exchange) bool { work <- x; return true }
			}
		})
		var workers sync.WaitGroup
		for w := range 4 {
			workers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(w), 1))
				var mine []*Exchange
				finish := func() {
					random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
					for _, x := range mine {
						c := x.Conn()
						answer(x)
						if random.IntN(3) > 0 {
							defer c.Flush()
						} else {
							c.Flush()
						}
					}
					mine = mine[:0]
				}
				for {
					select {
					case x := <-work:
						mine = append(mine, x)
						if len(mine) > random.IntN(12) {
							finish()
						}
						continue
					default:
						finish()
					}
					select {
					case x := <-work:
						mine = append(mine, x)
					case <-quit:
						return
					}
				}
			})
		}
		var clients sync.WaitGroup
		for k := range 3 {
			nc := s.dial(t)
			const count = 3000
			sizes := []int{0, 3, 150, 500, 9000, 20_000}
			clients.Go(func() {
				for i := range count {
					if _, err := nc.Write(request(uint64(i), pattern(uint64(i), sizes[(i*7+k)%6]))); err != nil {
						t.Error(err)
						return
					}
				}
			})
			clients.Go(func() {
				for i := range count {
					expect(t, nc, uint64(i), pattern(uint64(i), sizes[(i*7+k)%6]))
				}
			})
		}
		clients.Wait()
		close(quit)
		workers.Wait()
	})
}

func TestConn_SlowReaderIsBoundedAndAlone(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		const queueBytes, bodyBytes = 256 << 10, 64 << 10
		pool := buffer.New(1 << 20)
		s := serve(t, func(o *Options, _ *echo) { change(o); o.Pool = pool; o.QueueBytes = queueBytes })
		slow, quick := s.dial(t), s.dial(t)
		const count = 400
		go func() {
			for i := range count {
				if _, err := slow.Write(request(uint64(i), pattern(uint64(i), bodyBytes))); err != nil {
					return
				}
			}
		}()
		eventually(t, "slow connection starved", func() bool {
			return s.metrics.Starved.Load() > 0 || s.metrics.BlockedWrite.Load() > 0 && pool.LiveBytes() > queueBytes
		})
		for i := range 50 {
			send(t, quick, request(uint64(i), []byte("quick")))
			expect(t, quick, uint64(i), []byte("quick"))
			if live := pool.LiveBytes(); live > queueBytes+4*readBytesMax+4*bodyBytes {
				t.Fatalf("%d bytes leased for a client that does not read", live)
			}
			time.Sleep(time.Millisecond)
		}
		for i := range count {
			expect(t, slow, uint64(i), pattern(uint64(i), bodyBytes))
		}
	})
}

func TestConn_QueueFramesStopsReading(t *testing.T) {
	held := new(heldBack)
	s := serve(t, func(o *Options, e *echo) {
		o.QueueFrames = 8
		if e != nil {
			e.hold = held.keep
		}
	})
	nc := s.dial(t)
	var p []byte
	for i := range 100 {
		p = append(p, request(uint64(i), nil)...)
	}
	send(t, nc, p)
	for answered := 0; answered < 100; {
		want := min(8, 100-answered)
		eventually(t, "queue filled", func() bool { return held.len() == want })
		time.Sleep(2 * time.Millisecond)
		xs := held.take()
		if len(xs) != want {
			t.Fatalf("%d open exchanges", len(xs))
		}
		c := xs[0].Conn()
		for _, x := range xs {
			answer(x)
		}
		c.Flush()
		for range xs {
			expect(t, nc, uint64(answered), nil)
			answered++
		}
	}
}

func TestConn_QueueRequestBytesStopsReading(t *testing.T) {
	held := new(heldBack)
	s := serve(t, func(o *Options, e *echo) {
		o.QueueRequestBytes = 100_000
		if e != nil {
			e.hold = held.keep
		}
	})
	nc := s.dial(t)
	body := pattern(0, 60_000)
	go func() {
		for i := range 4 {
			if _, err := nc.Write(request(uint64(i), body)); err != nil {
				return
			}
		}
	}()
	for i := range uint64(2) {
		eventually(t, "two bodies held", func() bool { return held.len() == 2 })
		time.Sleep(5 * time.Millisecond)
		for _, x := range held.take() {
			c := x.Conn()
			answer(x)
			c.Flush()
		}
		expect(t, nc, 2*i, body)
		expect(t, nc, 2*i+1, body)
	}
}

func TestConn_PauseHoldsFramesUntilResume(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		var seen atomic.Int32
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			if e != nil {
				e.hold = func(x *Exchange) bool {
					if seen.Add(1) == 3 {
						x.Conn().Pause()
					}
					return false
				}
			}
		})
		nc := s.dial(t)
		var p []byte
		for i := range 10 {
			p = append(p, request(uint64(i), []byte{byte(i)})...)
		}
		send(t, nc, p)
		for i := range 3 { // what came before the pause is answered
			expect(t, nc, uint64(i), []byte{byte(i)})
		}
		time.Sleep(20 * time.Millisecond)
		if seen.Load() != 3 {
			t.Fatalf("%d frames during the pause", seen.Load())
		}
		(<-s.conns).conn.Resume()
		for i := 3; i < 10; i++ {
			expect(t, nc, uint64(i), []byte{byte(i)})
		}
	})
}

func TestConn_PushedFrameTravelsBetweenAnswers(t *testing.T) {
	s := serve(t, nil)
	nc := s.dial(t)
	send(t, nc, request(1, nil))
	expect(t, nc, 1, nil)
	c := (<-s.conns).conn
	var h protocol.Header
	h.SetCommand(protocol.CommandEviction)
	if !c.Push(&h) {
		t.Fatal("push refused")
	}
	c.Flush()
	got, body := readAnswer(t, nc)
	if got.Common().Command() != protocol.CommandEviction || len(body) != 0 {
		t.Fatalf("command %d with %d body bytes", got.Common().Command(), len(body))
	}
	send(t, nc, request(2, nil))
	expect(t, nc, 2, nil)
}

func TestConn_HalfCloseIsFoundAndDueAnswersLeave(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		held := new(heldBack)
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			if e != nil {
				e.hold = held.keep
			}
		})
		for range 20 {
			nc := s.dial(t).(*net.TCPConn)
			send(t, nc, request(1, []byte("last")))
			_ = nc.CloseWrite()
			e := <-s.conns
			eventually(t, "request handed over", func() bool { return held.len() == 1 })
			answer(held.take()[0])
			e.conn.Flush()
			expect(t, nc, 1, []byte("last"))
			expectEOF(t, nc)
			<-e.closed
			nc.Close()
		}
	})
}

func TestConn_AnswersAfterCloseAreHarmless(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		held := new(heldBack)
		pool := buffer.New(1 << 20)
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			o.Pool = pool
			o.CloseGrace = 20 * time.Millisecond
			if e != nil {
				e.hold = held.keep
			}
		})
		nc := s.dial(t)
		for i := range 5 {
			send(t, nc, request(uint64(i), pattern(1, 20_000)))
		}
		eventually(t, "handed over", func() bool { return held.len() == 5 })
		nc.Close()
		<-(<-s.conns).closed
		xs := held.take()
		for i := len(xs) - 1; i >= 0; i-- {
			answer(xs[i])
		}
		eventually(t, "leases given back", func() bool { return pool.LiveBytes() == 0 })
	})
}

func TestConn_StallInsideAFrameCloses(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		s := serve(t, func(o *Options, _ *echo) { change(o); o.StallTimeout = 150 * time.Millisecond })
		frame := request(1, pattern(1, 30_000))
		for _, cut := range []int{1, 255, 256, 300, len(frame) - 1} {
			nc := s.dial(t)
			send(t, nc, frame[:cut])
			expectEOF(t, nc)
		}
		if n := s.metrics.Stalls.Load(); n != 5 {
			t.Fatalf("%d stalls counted", n)
		}
		// Slow progress and silence between frames are no stall.
		nc := s.dial(t)
		frame = request(2, []byte("drip"))
		for len(frame) > 0 {
			n := min(20, len(frame))
			send(t, nc, frame[:n])
			frame = frame[n:]
			time.Sleep(20 * time.Millisecond)
		}
		expect(t, nc, 2, []byte("drip"))
		time.Sleep(300 * time.Millisecond)
		send(t, nc, request(3, nil))
		expect(t, nc, 3, nil)
	})
}

func TestConn_PauseIsNoStall(t *testing.T) {
	s := serve(t, func(o *Options, _ *echo) { o.StallTimeout = 60 * time.Millisecond })
	nc := s.dial(t)
	send(t, nc, request(1, nil))
	expect(t, nc, 1, nil)
	c := (<-s.conns).conn
	c.Pause()
	frame := request(2, pattern(2, 1000))
	send(t, nc, frame[:700])
	time.Sleep(150 * time.Millisecond)
	c.Resume()
	send(t, nc, frame[700:])
	expect(t, nc, 2, pattern(2, 1000))
}

func TestConn_CloseIsImmediateAndCloseAfterFlushIsNot(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		held := new(heldBack)
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			if e != nil {
				e.hold = held.keep
			}
		})
		nc := s.dial(t)
		send(t, nc, request(1, nil))
		e := <-s.conns
		eventually(t, "handed over", func() bool { return held.len() == 1 })
		e.conn.CloseAfterFlush()
		send(t, nc, request(2, nil)) // not read any more
		time.Sleep(10 * time.Millisecond)
		answer(held.take()[0])
		e.conn.Flush()
		expect(t, nc, 1, nil)
		<-e.closed

		nc = s.dial(t)
		send(t, nc, request(1, nil))
		e = <-s.conns
		eventually(t, "handed over", func() bool { return held.len() == 1 })
		e.conn.Close()
		<-e.closed
		expectEOF(t, nc)
		answer(held.take()[0])
	})
}

func TestListener_CloseFlushesWithinGrace(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		held := new(heldBack)
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			if e != nil {
				e.hold = held.keep
			}
		})
		idle, busy := s.dial(t), s.dial(t)
		send(t, busy, request(1, []byte("due")))
		eventually(t, "handed over", func() bool { return held.len() == 1 && s.Connections() == 2 })
		closed := make(chan error, 1)
		go func() { closed <- s.Listener.Close(5 * time.Second) }()
		expectEOF(t, idle)
		if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
			t.Fatal("still accepting")
		}
		x := held.take()[0]
		c := x.Conn()
		answer(x)
		c.Flush()
		expect(t, busy, 1, []byte("due"))
		expectEOF(t, busy)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	})
}

func TestListener_CloseCutsWhatDoesNotEnd(t *testing.T) {
	held := new(heldBack)
	s := serve(t, func(o *Options, e *echo) {
		if e != nil {
			e.hold = held.keep
		}
	})
	nc := s.dial(t)
	send(t, nc, request(1, nil))
	eventually(t, "handed over", func() bool { return held.len() == 1 })
	began := time.Now()
	if err := s.Listener.Close(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 900*time.Millisecond {
		t.Fatalf("close took %v", took)
	}
	expectEOF(t, nc)
}

func TestListener_RefusesBeyondMaxConnections(t *testing.T) {
	s := serve(t, func(o *Options, _ *echo) { o.MaxConnections = 2 })
	a, b := s.dial(t), s.dial(t)
	eventually(t, "two connections", func() bool { return s.Connections() == 2 })
	c := s.dial(t)
	expectEOF(t, c)
	if s.metrics.Refused.Load() != 1 {
		t.Fatal("refusal not counted")
	}
	a.Close()
	eventually(t, "one gone", func() bool { return s.Connections() == 1 })
	d := s.dial(t)
	for i, nc := range []net.Conn{b, d} {
		send(t, nc, request(uint64(i), nil))
		expect(t, nc, uint64(i), nil)
	}
}

// brokenListener fails to accept until it is closed.
type brokenListener struct {
	net.Listener
	calls  atomic.Int32
	closed chan struct{}
}

func (b *brokenListener) Accept() (net.Conn, error) {
	select {
	case <-b.closed:
		return nil, net.ErrClosed
	default:
		b.calls.Add(1)
		return nil, errors.New("no descriptors left")
	}
}

func (b *brokenListener) Close() error { close(b.closed); return nil }

func TestListener_AcceptErrorsBackOff(t *testing.T) {
	h, err := newHub(Options{NewHandler: func(*Conn) Handler { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	broken := &brokenListener{closed: make(chan struct{})}
	l := &Listener{ln: broken, hub: h}
	h.running.Add(1)
	go l.accept()
	time.Sleep(60 * time.Millisecond)
	if n := broken.calls.Load(); n < 2 || n > 6 {
		t.Fatalf("%d attempts in 60 ms", n)
	}
	if err := l.Close(time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestConn_OverAPipe(t *testing.T) {
	e := &echo{closed: make(chan struct{})}
	h, err := newHub(Options{NewHandler: func(*Conn) Handler { return e }})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	h.adopt(theirs)
	go func() {
		for i := range 50 {
			_, _ = ours.Write(request(uint64(i), pattern(uint64(i), i*i*40)))
		}
	}()
	for i := range 50 {
		expect(t, ours, uint64(i), pattern(uint64(i), i*i*40))
	}
	ours.Close()
	<-e.closed
	if err := h.close(time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Fatalf("after close: %v", err)
	}
}

// An end of stream that arrives together with bytes raises one edge with them. When those bytes are read
// short of the buffer nothing will wake the connection again, so the sweep has to find the end.
func TestConn_EndOfStreamBehindBytesIsFound(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		entered, leave := make(chan struct{}), make(chan struct{})
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			if e != nil {
				e.hold = func(x *Exchange) bool {
					if x.Header.Request() == 1 {
						close(entered)
						<-leave
					}
					return false
				}
			}
		})
		nc := s.dial(t).(*net.TCPConn)
		send(t, nc, request(1, nil))
		<-entered
		send(t, nc, request(2, nil))
		_ = nc.CloseWrite()
		time.Sleep(20 * time.Millisecond) // let the poller see both at once
		close(leave)
		expect(t, nc, 1, nil)
		expect(t, nc, 2, nil)
		expectEOF(t, nc)
		<-(<-s.conns).closed
	})
}

func TestConn_EndsAtAnyMomentLeakNothing(t *testing.T) {
	overStreams(t, func(t *testing.T, change func(*Options)) {
		pool := buffer.New(4 << 20)
		work := make(chan *Exchange, 10_000)
		s := serve(t, func(o *Options, e *echo) {
			change(o)
			o.Pool = pool
			o.CloseGrace = 50 * time.Millisecond
			o.IdleAfter = 10 * time.Millisecond
			if e != nil {
				e.hold = func(x *Exchange) bool {
					if x.Header.Request()%3 == 0 {
						return false
					}
					work <- x
					return true
				}
			}
		})
		quit := make(chan struct{})
		var workers, clients sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				for {
					select {
					case x := <-work:
						c := x.Conn()
						answer(x)
						c.Flush()
					case <-quit:
						return
					}
				}
			})
		}
		for k := range 60 {
			nc := s.dial(t)
			e := <-s.conns
			random := rand.New(rand.NewPCG(uint64(k), 2))
			delay := time.Duration(random.IntN(8000)) * time.Microsecond
			clients.Go(func() {
				go io.Copy(io.Discard, nc)
				for i := range 100 {
					if _, err := nc.Write(request(uint64(i), pattern(0, random.IntN(40_000)))); err != nil {
						break
					}
				}
				nc.Close()
			})
			clients.Go(func() {
				time.Sleep(delay)
				switch k % 4 {
				case 0:
					e.conn.Close()
				case 1:
					e.conn.CloseAfterFlush()
				case 2:
					nc.Close()
				}
				<-e.closed
			})
		}
		clients.Wait()
		eventually(t, "work done", func() bool { return len(work) == 0 })
		close(quit)
		workers.Wait()
		eventually(t, "leases given back", func() bool { return pool.LiveBytes() == 0 && s.Connections() == 0 })
	})
}

// With nothing to read, only Flush can send an answer: two that meet must not each leave it to the other.
func TestConn_MeetingFlushesLoseNoAnswer(t *testing.T) {
	work, quit := make(chan *Exchange, 16), make(chan struct{})
	s := serve(t, func(_ *Options, e *echo) {
		if e != nil {
			e.hold = func(x *Exchange) bool { work <- x; return true }
		}
	})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(quit)
	for range 3 {
		workers.Go(func() {
			for {
				select {
				case x := <-work:
					c := x.Conn()
					answer(x)
					c.Flush()
				case <-quit:
					return
				}
			}
		})
	}
	nc := s.dial(t)
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	frames := bytes.Repeat(request(7, nil), 6)
	for range 5000 {
		send(t, nc, frames)
		if _, err := io.CopyN(io.Discard, nc, int64(len(frames))); err != nil {
			t.Fatalf("answer lost: %v", err)
		}
	}
}
