package vfs

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shortWriter accepts between 1 and maxBytes bytes a call and is interrupted every seventh time.
type shortWriter struct {
	rng      *rand.Rand
	maxBytes int
	image    []byte
	calls    int
	failAt   int // call number that fails with EIO, 0 = none
	widest   int
}

func (s *shortWriter) pwritev(vectors []unix.Iovec, off int64) (int, error) {
	s.calls++
	if s.calls == s.failAt {
		return 0, unix.EIO
	}
	if s.calls%7 == 0 {
		return 0, unix.EINTR
	}
	s.widest = max(s.widest, len(vectors))
	budget := 1 + s.rng.IntN(s.maxBytes)
	written := 0
	for _, v := range vectors {
		b := unsafe.Slice(v.Base, v.Len)
		if len(b) > budget {
			b = b[:budget]
		}
		s.image = append(s.image[:int(off)+written], b...)
		written += len(b)
		budget -= len(b)
		if budget == 0 {
			break
		}
	}
	return written, nil
}

func oneByteBuffers(count int) (bufs [][]byte, want []byte) {
	for i := range count {
		bufs = append(bufs, []byte{byte(i * 31)})
		want = append(want, byte(i*31))
		if i%100 == 0 {
			bufs = append(bufs, nil)
		}
	}
	return bufs, want
}

func TestWriteVectors_ShortWritesContinueAtTheRightByte(t *testing.T) {
	bufs, want := oneByteBuffers(20_000)
	bufs = append(bufs, bytes.Repeat([]byte("large"), 1000))
	want = append(want, bytes.Repeat([]byte("large"), 1000)...)
	for _, maxBytes := range []int{1, 3, 1000, 1 << 20} {
		w := &shortWriter{rng: rand.New(rand.NewPCG(1, 2)), maxBytes: maxBytes}
		n, err := writeVectors(w, takeScratch(), bufs, 0)
		if n != len(want) || err != nil || !bytes.Equal(w.image, want) {
			t.Fatalf("up to %d bytes a call: wrote %d of %d, %v", maxBytes, n, len(want), err)
		}
		if w.widest > vectorsMax {
			t.Fatalf("%d vectors in one call", w.widest)
		}
	}
}

func TestWriteVectors_ReportsHowFarItCame(t *testing.T) {
	bufs, want := oneByteBuffers(3000)
	w := &shortWriter{rng: rand.New(rand.NewPCG(3, 4)), maxBytes: 300, failAt: 6}
	n, err := writeVectors(w, takeScratch(), bufs, 0)
	if !errors.Is(err, unix.EIO) || n == 0 || n != len(w.image) || !bytes.Equal(w.image, want[:n]) {
		t.Fatalf("wrote %d, image %d, %v", n, len(w.image), err)
	}
}

type fixedWriter int

func (f fixedWriter) pwritev([]unix.Iovec, int64) (int, error) { return int(f), nil }

func TestWriteVectors_ImpossibleCountsAreErrors(t *testing.T) {
	for _, count := range []fixedWriter{0, 9} {
		if _, err := writeVectors(count, takeScratch(), [][]byte{{1}, {2}}, 0); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a call that wrote %d of 2 bytes: %v", count, err)
		}
	}
}

func TestOS_WritevAtManyBuffersWithoutAllocating(t *testing.T) {
	f, err := OS.Create(filepath.Join(t.TempDir(), "v"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bufs, want := oneByteBuffers(20_000)
	allocs := testing.AllocsPerRun(5, func() {
		if n, err := f.WritevAt(bufs, 5); n != len(want) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, 5); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("content differs, %v", err)
	}
}
