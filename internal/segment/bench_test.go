package segment

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/vfs"
)

// fill writes batches of count messages of 1 KiB until the log holds size bytes.
func fill(b *testing.B, dir string, size int64, count int) (w *Writer, records int) {
	w, err := Create(vfs.OS, dir, 0, CreateOptions{})
	must(b, err)
	rec := makeBatch(b, testPartition, 0, 1, count, 976)
	var s stride
	for pos := int64(0); pos < size; pos += int64(len(rec)) {
		base := uint64(records * count)
		batch.Stamp(rec, testPartition, base, uint64(records))
		var entries []IndexEntry
		if s.take(pos) {
			entries = []IndexEntry{{base, uint64(records), uint64(pos)}}
		}
		must(b, w.Append([][]byte{rec}, pos, entries))
		records++
	}
	return w, records
}

func BenchmarkAppend(b *testing.B) {
	for _, count := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%dx1KiB", count), func(b *testing.B) {
			w, err := Create(vfs.OS, b.TempDir(), 0, CreateOptions{})
			must(b, err)
			defer w.Close()
			rec := [][]byte{makeBatch(b, testPartition, 0, 1, count, 976)}
			entries := make([]IndexEntry, 1)
			var s stride
			pos := int64(0)
			b.SetBytes(int64(len(rec[0])))
			b.ReportAllocs()
			for b.Loop() {
				if pos > 1<<28 {
					pos, s = 0, stride{}
				}
				n := 0
				if s.take(pos) {
					entries[0], n = IndexEntry{uint64(pos), 1, uint64(pos)}, 1
				}
				must(b, w.Append(rec, pos, entries[:n]))
				pos += int64(len(rec[0]))
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct{ perBatch, perPoll int }{{1000, 1000}, {1000, 500}, {10, 1000}, {1, 1}} {
		b.Run(fmt.Sprintf("batch%d_poll%d", c.perBatch, c.perPoll), func(b *testing.B) {
			dir := b.TempDir()
			w, records := fill(b, dir, 64<<20, c.perBatch)
			defer w.Close()
			r, err := OpenReader(vfs.OS, dir, 0, w.Index())
			must(b, err)
			defer r.Close()
			pool := buffer.New(64 << 20)
			messages := uint64(records * c.perBatch)
			q := Query{
				Size: w.Size(), PartitionID: testPartition, Ceiling: messages, MaxCount: uint32(c.perPoll), MaxBytes: 1 << 26, Validate: true,
			}
			rng := rand.New(rand.NewPCG(1, 1))
			var res Result
			b.SetBytes(int64(c.perPoll) * 1024)
			b.ReportAllocs()
			for b.Loop() {
				q.From = rng.Uint64N(messages/uint64(c.perPoll)) * uint64(c.perPoll)
				must(b, r.Read(pool, &q, &res))
				if res.Count == 0 {
					b.Fatal("nothing served")
				}
				res.Release()
			}
		})
	}
}

func BenchmarkRecover(b *testing.B) {
	for name, clean := range map[string]bool{"clean": true, "killed": false} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			w, _ := fill(b, dir, 256<<20, 10)
			if clean {
				must(b, w.Close())
			} else {
				must(b, w.closeFiles()) // what the index had not flushed is gone
			}
			for b.Loop() {
				st, err := Recover(vfs.OS, dir, testPartition, Options{})
				must(b, err)
				if len(st.Segments) != 1 {
					b.Fatal(st)
				}
			}
		})
	}
}
