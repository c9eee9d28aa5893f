package transport

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
)

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
