package batch

import (
	"bytes"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

var shapes = []struct {
	name        string
	count, size int
}{{"1000x1KiB", 1000, 1024 - FrameHeaderSize}, {"1x1KiB", 1, 1024 - FrameHeaderSize}, {"200x1KiB", 200, 1024 - FrameHeaderSize}, {"1x1MiB", 1, 1 << 20}}

func BenchmarkVerify(b *testing.B) {
	for _, s := range shapes {
		rec := bytes.Clone(record(b, s.count, s.size))
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(rec)))
			b.ReportAllocs()
			for b.Loop() {
				if Verify(rec, uint32(s.count)) != protocol.Success {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkVerifier(b *testing.B) {
	for _, s := range shapes {
		rec := bytes.Clone(record(b, s.count, s.size))
		var v Verifier
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(rec)))
			b.ReportAllocs()
			for b.Loop() {
				v.Reset(len(rec), uint32(s.count))
				for rest := rec; len(rest) > 0; {
					n := min(len(rest), 256<<10)
					v.Write(rest[:n])
					rest = rest[n:]
				}
				if v.Close() != protocol.Success {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkStamp(b *testing.B) {
	for _, s := range shapes {
		rec := bytes.Clone(record(b, s.count, s.size))
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := uint64(0); b.Loop(); i++ {
				Stamp(rec, 1, i, i)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	payload := make([]byte, 1024-FrameHeaderSize)
	bld := NewBuilder()
	b.SetBytes(1000 * 1024)
	b.ReportAllocs()
	for b.Loop() {
		for i := range uint64(1000) {
			_ = bld.Add(payload, nil, protocol.Uint128{Lo: i}, i)
		}
		_, _ = bld.Build()
	}
}
