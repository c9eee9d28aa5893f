package buffer

import (
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestClassOf_WastesAtMostAQuarterAndIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1<<maxClassShift).Draw(t, "size")
		idx, classBytes := classOf(size)
		if idx < 0 || idx >= classCount || classBytes < size {
			t.Fatalf("classOf(%d) = %d, %d", size, idx, classBytes)
		}
		if size > 1<<minClassShift && classBytes-size > classBytes/4 {
			t.Fatalf("classOf(%d) wastes %d of %d", size, classBytes-size, classBytes)
		}
		if again, bytes := classOf(classBytes); again != idx || bytes != classBytes {
			t.Fatalf("class of its own size: %d,%d want %d,%d", again, bytes, idx, classBytes)
		}
	})
}

func TestPool_ReusesBlocksUpToTheIdleLimit(t *testing.T) {
	p := New(2048)
	a, b, c := p.Get(1000), p.Get(1000), p.Get(1000)
	if p.LiveBytes() != 3*1024 {
		t.Fatalf("live bytes %d", p.LiveBytes())
	}
	a.Release()
	b.Release()
	c.Release()
	if p.IdleBytes() != 2048 || p.LiveBytes() != 0 {
		t.Fatalf("idle %d live %d, want 2048 and 0", p.IdleBytes(), p.LiveBytes())
	}
	if d := p.Get(1024); len(d.Bytes) != 1024 || p.IdleBytes() != 1024 {
		t.Fatalf("block not reused: idle %d", p.IdleBytes())
	}
	if huge := p.Get(1<<maxClassShift + 1); len(huge.Bytes) != 1<<maxClassShift+1 {
		t.Fatal("oversized request not served")
	}
}

func TestLease_TryRetainFailsAfterTheLastRelease(t *testing.T) {
	p := New(1 << 20)
	l := p.Get(512)
	if !l.TryRetain() {
		t.Fatal("live lease refused")
	}
	l.Release()
	l.Release()
	if l.TryRetain() {
		t.Fatal("dead lease retained")
	}
	defer func() {
		if recover() == nil {
			t.Fatal("double release went unnoticed")
		}
	}()
	l.Release()
}

func TestLease_ReadersRaceTheLastRelease(t *testing.T) {
	p := New(1 << 20)
	for range 200 {
		l := p.Get(4096)
		for i := range l.Bytes {
			l.Bytes[i] = 7
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if !l.TryRetain() {
					return
				}
				for _, b := range l.Bytes {
					if b != 7 {
						t.Error("a retained block changed")
						break
					}
				}
				l.Release()
			})
		}
		l.Release()
		wg.Wait()
	}
}

func BenchmarkGetRelease(b *testing.B) {
	p := New(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		p.Get(1 << 20).Release()
	}
}
