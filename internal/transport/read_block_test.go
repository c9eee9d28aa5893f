package transport

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
)

// Bodies that stay where they were read must not change while later reads land, and must give the memory back.
func TestConn_BodiesStayWhereTheyWereRead(t *testing.T) {
	const count, held = 6000, 200
	length := func(i int) int { return 200 + i*37%2500 }
	pool := buffer.New(8 << 20)
	var keep []*Exchange
	var changed, inPlace int
	answerKept := func() {
		for _, x := range keep {
			number := x.Header.Request()
			if !bytes.Equal(x.Body.Bytes, pattern(number, length(int(number)))) {
				changed++
			}
			if len(x.Body.Lease.Bytes) == readBlockBytes {
				inPlace++
			}
			answer(x)
		}
		keep = keep[:0]
	}
	s := serve(t, func(o *Options, e *echo) {
		o.Pool, o.IdleAfter = pool, 50*time.Millisecond
		if e != nil {
			e.hold = func(x *Exchange) bool {
				if keep = append(keep, x); len(keep) == held || x.Header.Request() == count-1 {
					answerKept()
				}
				return true
			}
		}
	})
	nc := s.dial(t)
	go func() {
		var p []byte
		for i := range count {
			if p = append(p, request(uint64(i), pattern(uint64(i), length(i)))...); len(p) >= 1<<20 || i == count-1 {
				if _, err := nc.Write(p); err != nil {
					return
				}
				p = p[:0]
			}
		}
	}()
	for i := range count {
		expect(t, nc, uint64(i), pattern(uint64(i), length(i)))
	}
	eventually(t, "memory of a quiet connection given back", func() bool { return pool.LiveBytes() == 0 })
	if changed > 0 {
		t.Errorf("%d bodies changed while they were held", changed)
	}
	if runtime.GOOS == "linux" && inPlace < count/10 {
		t.Errorf("%d of %d bodies stayed where they were read", inPlace, count)
	}
}

func TestReadBlock_GivesNoByteTwice(t *testing.T) {
	pool := buffer.New(1 << 20)
	var b readBlock
	owner := map[*byte]bool{}
	for _, n := range []int{readBytesMax, 1, 100_000, 200_000, readBytesMax, 5} {
		p := b.room(pool)
		if len(p) < readBlockLeft || len(p) > readBytesMax {
			t.Fatalf("room for %d bytes", len(p))
		}
		if b.landed(make([]byte, 1)) != nil {
			t.Fatal("took note of bytes that lie elsewhere")
		}
		p = p[:min(n, len(p))]
		lease := b.landed(p)
		if lease == nil || owner[&p[0]] {
			t.Fatalf("read of %d bytes: lease %v, given out before: %v", n, lease, owner[&p[0]])
		}
		lease.Retain() // a body: the memory cannot come again
		for i := range p {
			owner[&p[i]] = true
		}
		if b.landed(p) != nil {
			t.Fatal("the same bytes landed twice")
		}
	}
	b.drop()
}
