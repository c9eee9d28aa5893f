package transport

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
)

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
