package transport

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

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
