package transport

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
)

// heapAndStacks is what connections cost in memory of the process.
func heapAndStacks() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func TestMemory_IdleConnectionsAreCheap(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's shadow is not what is measured")
	}
	const count = 5000
	overStreams(t, func(t *testing.T, change func(*Options)) {
		s := serve(t, func(o *Options, _ *echo) {
			change(o)
			o.IdleAfter = 50 * time.Millisecond
			o.Pool = buffer.New(1 << 20)
		})
		clients := make([]net.Conn, count)
		empty := heapAndStacks()
		for i := range clients {
			clients[i] = s.dial(t)
		}
		eventually(t, "all accepted", func() bool { return s.Connections() == count })
		fresh := heapAndStacks() - empty
		// Every connection works once: with a small body, and some with a large one.
		for i, nc := range clients {
			body := pattern(uint64(i), 500)
			if i%100 == 0 {
				body = pattern(uint64(i), 100_000)
			}
			send(t, nc, request(uint64(i), body))
			expect(t, nc, uint64(i), body)
		}
		time.Sleep(200 * time.Millisecond)
		used := heapAndStacks() - empty
		t.Logf("bytes per idle connection, both ends of it: fresh %d, after use %d", fresh/count, used/count)
		if used/count > 24<<10 {
			t.Fatalf("an idle connection costs %d bytes", used/count)
		}
	})
}

func TestMemory_SmallRequestsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := serve(t, nil)
	nc := s.dial(t)
	for _, c := range []struct {
		name  string
		body  int
		most  float64
		times int
	}{
		{"no body", 0, 0.05, 4000}, {"100 bytes", 100, 0.05, 4000}, {"1 KiB", 1024, 0.05, 4000}, {"1 MB", 1_048_576, 3, 200},
	} {
		frame := request(1, pattern(1, c.body))
		back := make([]byte, len(frame))
		round := func() {
			if _, err := nc.Write(frame); err != nil {
				t.Fatal(err)
			}
			for have := 0; have < len(back); {
				n, err := nc.Read(back[have:])
				if err != nil {
					t.Fatal(err)
				}
				have += n
			}
		}
		for range c.times / 2 {
			round()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range c.times {
			round()
		}
		runtime.ReadMemStats(&after)
		perRequest := float64(after.Mallocs-before.Mallocs) / float64(c.times)
		t.Logf("%s: %.3f allocations per request", c.name, perRequest)
		if perRequest > c.most {
			t.Errorf("%s: %.3f allocations per request, at most %.2f", c.name, perRequest, c.most)
		}
	}
}
