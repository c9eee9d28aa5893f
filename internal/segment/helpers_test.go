package segment

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

const (
	testDir       = "p"
	testPartition = uint64(7)
)

// makeBatch returns a stamped record of count messages with payloads of size bytes.
func makeBatch(tb testing.TB, partition, base, micros uint64, count, size int) []byte {
	tb.Helper()
	b := batch.NewBuilder()
	rng := rand.NewChaCha8([32]byte{byte(base), byte(base >> 8), byte(size)})
	payload := make([]byte, size)
	for i := range count {
		_, _ = rng.Read(payload)
		if err := b.Add(payload, nil, protocol.Uint128{Lo: base + uint64(i)}, micros); err != nil {
			tb.Fatal(err)
		}
	}
	rec, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	batch.Stamp(rec, partition, base, micros)
	return rec
}

// testLog writes a chain of batches the way the live path does and remembers what it wrote.
type testLog struct {
	tb      testing.TB
	fs      vfs.FS
	w       *Writer
	stride  stride
	start   uint64
	next    uint64
	micros  uint64
	records [][]byte
	ends    []int64 // position behind each record
}

func newTestLog(tb testing.TB, fs vfs.FS, start uint64) *testLog {
	tb.Helper()
	must(tb, fs.MkdirAll(testDir))
	w, err := Create(fs, testDir, start, CreateOptions{SyncDir: true})
	must(tb, err)
	return &testLog{tb: tb, fs: fs, w: w, start: start, next: start, micros: 1000}
}

// make returns the next batch without writing it.
func (l *testLog) make(count, size int) []byte {
	l.micros += 10
	return makeBatch(l.tb, testPartition, l.next, l.micros, count, size)
}

// add appends batches in one write.
func (l *testLog) add(records ...[]byte) error {
	pos, s := l.size(), l.stride
	var entries []IndexEntry
	for _, r := range records {
		if s.take(pos) {
			entries = append(entries, IndexEntry{batch.BaseOffset(r), batch.BaseTimestamp(r), uint64(pos)})
		}
		pos += int64(len(r))
	}
	if err := l.w.Append(records, l.size(), entries); err != nil {
		return err
	}
	l.stride = s
	for _, r := range records {
		l.records = append(l.records, bytes.Clone(r))
		l.ends = append(l.ends, l.size()+int64(len(r)))
		l.next = batch.EndOffset(r) + 1
	}
	return nil
}

// append makes and appends one batch.
func (l *testLog) append(count, size int) {
	l.tb.Helper()
	must(l.tb, l.add(l.make(count, size)))
}

func (l *testLog) size() int64 {
	if len(l.ends) == 0 {
		return 0
	}
	return l.ends[len(l.ends)-1]
}

func (l *testLog) bytes() []byte { return bytes.Join(l.records, nil) }

// index is what the index file of the whole log must hold.
func (l *testLog) index() []byte { return EncodeIndex(nil, indexOf(l.records, l.start)) }

func indexOf(records [][]byte, _ uint64) []IndexEntry {
	var s stride
	var out []IndexEntry
	pos := int64(0)
	for _, r := range records {
		if s.take(pos) {
			out = append(out, IndexEntry{batch.BaseOffset(r), batch.BaseTimestamp(r), uint64(pos)})
		}
		pos += int64(len(r))
	}
	return out
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func readAll(tb testing.TB, fs vfs.FS, name string) []byte {
	tb.Helper()
	b, err := vfs.ReadFile(fs, name, 1<<30)
	must(tb, err)
	return b
}

// put replaces a file, durably.
func put(tb testing.TB, fs vfs.FS, name string, data []byte) {
	tb.Helper()
	must(tb, fs.MkdirAll(testDir))
	must(tb, writeSynced(fs, name, data))
	must(tb, fs.SyncDir(testDir))
}

func recoverSolo(tb testing.TB, fs vfs.FS) State {
	tb.Helper()
	st, err := Recover(fs, testDir, testPartition, Options{Solo: true})
	must(tb, err)
	return st
}

// checkRecovered tests that what Recover returns is the first count records of log, on disk as well, that
// the index is the one a rebuild gives, and that a second recovery finds nothing to do.
func checkRecovered(tb testing.TB, fs vfs.FS, st State, log *testLog, count int) {
	tb.Helper()
	want := bytes.Join(log.records[:count], nil)
	info := st.Segments[len(st.Segments)-1]
	if info.Size != int64(len(want)) || !bytes.Equal(readAll(tb, fs, logPath(testDir, log.start)), want) {
		tb.Fatalf("recovered %d bytes, want %d (%d records)", info.Size, len(want), count)
	}
	if count > 0 {
		first, last := log.records[0], log.records[count-1]
		if info.End != batch.EndOffset(last) || info.First != batch.BaseTimestamp(first) ||
			info.Last != batch.BaseTimestamp(last) || info.Max != info.Last {
			tb.Fatalf("recovered %+v", info)
		}
	}
	index := indexOf(log.records[:count], log.start)
	if got := readAll(tb, fs, indexPath(testDir, log.start)); !bytes.Equal(got, EncodeIndex(nil, index)) {
		tb.Fatalf("index of %d bytes, want %d entries", len(got), len(index))
	}
	if info.Indexed != (len(index) > 0) || info.Indexed && info.LastIndexed != int64(index[len(index)-1].Position) {
		tb.Fatalf("last index entry: %+v", info)
	}
	again := recoverSolo(tb, fs)
	last := again.Segments[len(again.Segments)-1]
	if last.TruncatedBytes != 0 || last.Reindexed || len(again.Swept) != 0 || last.Size != info.Size || last.End != info.End {
		tb.Fatalf("second recovery: %+v after %+v", last, info)
	}
}
