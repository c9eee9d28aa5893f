package transport

import (
	"fmt"
	"io"
	"testing"
)

// silent answers every request with an empty body at the end of its read.
type silent struct{ late []*Exchange }

func (s *silent) Body(*Exchange, int) {}
func (s *silent) Frame(x *Exchange)   { s.late = append(s.late, x) }
func (s *silent) Closed()             {}
func (s *silent) ReadEnd() {
	for _, x := range s.late {
		x.Done()
	}
	s.late = s.late[:0]
}

func benchServer(b *testing.B) *Listener {
	l, err := Listen("127.0.0.1:0", Options{NewHandler: func(*Conn) Handler { return new(silent) }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close(0) })
	return l
}

func BenchmarkLoneRequest(b *testing.B) {
	for _, body := range []int{0, 1024, 250_000, 1_048_576} {
		b.Run(fmt.Sprint(body), func(b *testing.B) {
			nc := (&server{Listener: benchServer(b)}).dial(b)
			frame, back := request(1, pattern(1, body)), make([]byte, 256)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := nc.Write(frame); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(nc, back); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPipelined(b *testing.B) {
	for _, body := range []int{0, 1024} {
		b.Run(fmt.Sprint(body), func(b *testing.B) {
			nc := (&server{Listener: benchServer(b)}).dial(b)
			const burst = 100
			var frames []byte
			for i := range burst {
				frames = append(frames, request(uint64(i), pattern(1, body))...)
			}
			b.SetBytes(int64(256 + body))
			b.ReportAllocs()
			done := make(chan error, 1)
			go func() {
				_, err := io.CopyN(io.Discard, nc, int64(256*((b.N+burst-1)/burst)*burst))
				done <- err
			}()
			for i := 0; i < b.N; i += burst {
				if _, err := nc.Write(frames); err != nil {
					b.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
