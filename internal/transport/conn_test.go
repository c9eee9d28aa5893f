package transport

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
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
