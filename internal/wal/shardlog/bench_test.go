package shardlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/galgolog/galgo/internal/vfs"
)

// realLog opens a log on a real disk, below GALGO_BENCH_DIR or the temporary folder.
func realLog(t testing.TB, fileBytes int64) *Log {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv("GALGO_BENCH_DIR"), "shardlog")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := Options{Cluster: testCluster, FileBytes: fileBytes, RetainedBytes: 4 * fileBytes, Random: rand.Uint64}
	ls, err := Scan(vfs.OS, filepath.Join(dir, "wal"), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := ls.Begin(); err != nil {
		t.Fatal(err)
	}
	ls.Replayed()
	l := shard(t, ls, 0)
	t.Cleanup(func() { _ = ls.Close(false) })
	return l
}

func TestLog_AppendAllocatesNothingPerRecord(t *testing.T) {
	l := realLog(t, 64<<20)
	l.wantEnd = l.logs.opts.FileBytes
	if err := l.PrepareFile(); err != nil {
		t.Fatal(err)
	}
	a, b, c := newChain(2), newChain(3), newChain(5)
	batch := append(a.prepares(64, 1024), b.prepare(64))
	batch = append(batch, c.control(8, Local{ConsumerKind: 1, ID: 7, Offset: 9}.AppendTo(nil)))
	n := 0
	allocs := testing.AllocsPerRun(2000, func() {
		if _, err := l.Append(batch); err != nil {
			t.Fatal(err)
		}
		if n++; n%100 == 0 {
			if _, err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}

// The figure is one append, or one append and its sync; the log reclaims beside it.
func BenchmarkLog(b *testing.B) {
	for _, sync := range []bool{false, true} {
		for _, bodyBytes := range []int{64, 1 << 10, 1 << 20} {
			name := fmt.Sprintf("append/%d", bodyBytes)
			if sync {
				name = fmt.Sprintf("append+sync/%d", bodyBytes)
			}
			b.Run(name, func(b *testing.B) {
				l := realLog(b, 128<<20)
				c := newChain(3)
				c.group = 2
				record := c.prepares(bodyBytes)
				record[0].Sync = sync
				done := c.checkpoint(1, 1)
				b.SetBytes(record[0].Bytes())
				b.ReportAllocs()
				for b.Loop() {
					_, err := l.Append(record)
					if errors.Is(err, ErrNotReady) {
						if err = l.PrepareFile(); err == nil {
							_, err = l.Append(append(record, done))
						}
						if err == nil {
							err = l.Reclaim()
						}
					}
					if err == nil && sync {
						_, err = l.Sync()
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
