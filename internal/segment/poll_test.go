package segment

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// message is what a client sees of one served message.
type message struct {
	offset  uint64
	micros  uint64
	payload string
}

// decode reads served bytes as a client does: record by record, every one verified.
func decode(t interface{ Fatalf(string, ...any) }, chunks []Chunk) []message {
	var out []message
	for _, c := range chunks {
		for b := c.Bytes; len(b) > 0; {
			h := batch.HeaderOf(b)
			if h == nil || h.Length() > uint64(len(b)) {
				t.Fatalf("chunk of %d bytes does not divide into records", len(c.Bytes))
			}
			rec := b[:h.Length()]
			if code := batch.VerifyStored(rec); code != protocol.Success {
				t.Fatalf("served record does not verify: %d", code)
			}
			w := batch.Walk(rec)
			for f, ok := w.Next(); ok; f, ok = w.Next() {
				out = append(out, message{h.BaseOffset() + uint64(f.OffsetDelta()), h.BaseTimestamp(), string(f.Payload())})
			}
			b = b[h.Length():]
		}
	}
	return out
}

// naive answers a query from the records in memory.
func naive(records [][]byte, q *Query) []message {
	all := decode(panics{}, []Chunk{{Bytes: bytes.Join(records, nil)}})
	var out []message
	for _, m := range all {
		in := m.offset >= q.From
		if q.ByTime {
			in = m.micros >= q.Micros
		}
		if in && m.offset <= q.Ceiling && uint32(len(out)) < q.MaxCount {
			out = append(out, m)
		}
	}
	return out
}

type panics struct{}

func (panics) Fatalf(string, ...any) { panic("broken test data") }

func equalMessages(a, b []message) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func checkResult(t interface{ Fatalf(string, ...any) }, res *Result, want []message) {
	got := decode(t, res.Chunks)
	if !equalMessages(got, want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	total := 0
	for _, c := range res.Chunks {
		total += len(c.Bytes)
	}
	if int(res.Count) != len(want) || res.Bytes != total {
		t.Fatalf("result counts %d messages, %d bytes; holds %d, %d", res.Count, res.Bytes, len(want), total)
	}
	if len(want) > 0 && (res.First != want[0].offset || res.Last != want[len(want)-1].offset) {
		t.Fatalf("first %d last %d", res.First, res.Last)
	}
}

func TestRead_AnswersLikeANaiveScanWhateverTheIndexSays(t *testing.T) {
	pool := buffer.New(1 << 24)
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem(1)
		log := newTestLog(t, fs, rapid.Uint64Range(0, 1000).Draw(rt, "start"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		for range rapid.IntRange(1, 60).Draw(rt, "batches") {
			size := []int{1, 100, 2000, 70_000}[rng.IntN(4)]
			if rng.IntN(40) == 0 {
				size = 1_200_000
			}
			log.append(1+rng.IntN(5), size/(1+rng.IntN(5)))
			log.micros += rng.Uint64N(3)
		}
		must(t, log.w.Close())
		mangleIndex(rt, rng, fs, log)
		var live *Index
		if rapid.Bool().Draw(rt, "live") {
			live = log.w.Index()
		}
		r, err := OpenReader(fs, testDir, log.start, live)
		must(t, err)
		for range 8 {
			q := drawQuery(rt, log)
			var res Result
			if err := r.Read(pool, &q, &res); err != nil {
				rt.Fatalf("%+v: %v", q, err)
			}
			want := naive(log.records, &q)
			if q.MaxBytes < 1<<30 {
				want = want[:min(len(want), int(res.Count))]
				if res.Bytes > q.MaxBytes && res.Count > 1 || len(want) == 0 && res.Count > 0 {
					rt.Fatalf("%d bytes over a bound of %d", res.Bytes, q.MaxBytes)
				}
			}
			checkResult(rt, &res, want)
			res.Release()
		}
		must(t, r.Close())
		if n := pool.LiveBytes(); n != 0 {
			rt.Fatalf("%d bytes still under lease", n)
		}
	})
}

func mangleIndex(rt *rapid.T, rng *rand.Rand, fs *vfs.Mem, log *testLog) {
	b := log.index()
	switch rapid.SampledFrom([]string{"good", "missing", "dense", "sparse", "rotten", "garbage", "large"}).Draw(rt, "index") {
	case "missing":
		must(rt2tb{}, fs.Remove(indexPath(testDir, log.start)))
		return
	case "dense":
		var entries []IndexEntry
		pos := int64(0)
		for _, r := range log.records {
			entries = append(entries, IndexEntry{batch.BaseOffset(r), batch.BaseTimestamp(r), uint64(pos)})
			pos += int64(len(r))
		}
		b = EncodeIndex(nil, entries)
	case "sparse":
		b = b[len(b)-IndexEntrySize:]
	case "rotten":
		b[rng.IntN(len(b))] ^= byte(1 << rng.IntN(8))
	case "garbage":
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
	case "large": // too long to be held: searched in its file
		entries := indexOf(log.records, log.start)
		for uint64(len(entries)) <= indexResidentMax/IndexEntrySize {
			e := entries[len(entries)-1]
			entries = append(entries, IndexEntry{e.Offset + 1e9, e.Timestamp + 1e9, e.Position + 1e9})
		}
		b = EncodeIndex(nil, entries)
	}
	f, err := fs.Create(indexPath(testDir, log.start))
	must(rt2tb{}, err)
	if _, err := f.WriteAt(b, 0); err != nil {
		panic(err)
	}
	must(rt2tb{}, f.Close())
}

// rt2tb lets must be used where only a rapid.T is at hand.
type rt2tb struct{ testing.TB }

func (rt2tb) Helper()           {}
func (rt2tb) Fatal(args ...any) { panic(args) }

func drawQuery(rt *rapid.T, log *testLog) Query {
	last := log.next - 1
	q := Query{
		Size: log.size(), PartitionID: testPartition, Validate: rapid.Bool().Draw(rt, "validate"),
		Ceiling:  rapid.SampledFrom([]uint64{last, last, (log.start + last) / 2, math.MaxUint64}).Draw(rt, "ceiling"),
		MaxCount: rapid.SampledFrom([]uint32{1, 2, 7, 50, math.MaxUint32}).Draw(rt, "count"),
		MaxBytes: rapid.SampledFrom([]int{1 << 30, 1 << 30, 1, 5000, 3_000_000}).Draw(rt, "bytes"),
	}
	if rapid.Bool().Draw(rt, "by time") {
		q.ByTime, q.Micros = true, rapid.Uint64Range(900, log.micros+20).Draw(rt, "micros")
	} else {
		q.From = rapid.Uint64Range(0, last+2).Draw(rt, "from")
	}
	return q
}

// Case KOP-334: a time between two messages finds the later one.
func TestRead_TimestampLookupIsACeiling(t *testing.T) {
	fs := vfs.NewMem(1)
	must(t, fs.MkdirAll(testDir))
	times := []uint64{2, 4, 6, 8, 8}
	var starts []uint64
	var sizes []int64
	for i := range times { // a segment each, so that every border is crossed; then all in one
		rec := makeBatch(t, testPartition, uint64(i), times[i], 1, 10)
		put(t, fs, logPath(testDir, uint64(i)), rec)
		starts, sizes = append(starts, uint64(i)), append(sizes, int64(len(rec)))
	}
	one := vfs.NewMem(1)
	var all []byte
	for i := range times {
		all = append(all, makeBatch(t, testPartition, uint64(i), times[i], 1, 10)...)
	}
	put(t, one, logPath(testDir, 0), all)
	pool := buffer.New(1 << 20)
	for micros, want := range map[uint64]int{1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 8: 3, 9: -1} {
		q := Query{PartitionID: testPartition, ByTime: true, Micros: micros, Ceiling: 4, MaxCount: 1, MaxBytes: 1 << 20}
		var split, whole Result
		for i, start := range starts {
			r, err := OpenReader(fs, testDir, start, nil)
			must(t, err)
			q.Size = sizes[i]
			must(t, r.Read(pool, &q, &split))
		}
		r, err := OpenReader(one, testDir, 0, nil)
		must(t, err)
		q.Size = int64(len(all))
		must(t, r.Read(pool, &q, &whole))
		for name, res := range map[string]*Result{"split": &split, "whole": &whole} {
			got := -1
			if res.Count > 0 {
				got = int(res.First)
			}
			if got != want {
				t.Errorf("%s: time %d: offset %d, want %d", name, micros, got, want)
			}
		}
	}
}

func TestRead_ServesWhatLiesInFrontOfAFault(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	for range 3 {
		log.append(2, 200)
	}
	must(t, log.w.Close())
	second := log.ends[0]
	frame := second + batch.HeaderSize
	for _, c := range []struct {
		name     string
		at       int64
		code     protocol.Code
		validate bool
	}{
		{"payload", frame + 60, 4027, true},
		{"batch checksum", second + 40, 4039, true},
		{"length", second + 33, 4011, false},
		{"offset", second + 8, 4011, false},
		{"partition", second, 4011, false},
		{"reserved", second + 100, 4011, false},
		{"frame length", frame + 39, 4011, false},
	} {
		data := bytes.Clone(log.bytes())
		data[c.at] ^= 0x40
		put(t, fs, logPath(testDir, 0), data)
		r, err := OpenReader(fs, testDir, 0, nil)
		must(t, err)
		pool := buffer.New(1 << 20)
		q := Query{
			Size: log.size(), PartitionID: testPartition, Ceiling: 99, MaxCount: 99, MaxBytes: 1 << 20, Validate: c.validate,
		}
		var res Result
		var fault *Fault
		if err := r.Read(pool, &q, &res); !errors.As(err, &fault) || fault.Code != c.code || fault.Position != second {
			t.Errorf("%s: %v", c.name, err)
		}
		checkResult(t, &res, naive(log.records[:1], &q))
		res.Release()
		q.From = 2
		if err := r.Read(pool, &q, &res); !errors.As(err, &fault) || fault.Code != c.code || res.Count != 0 {
			t.Errorf("%s, from the fault on: %v, %d messages", c.name, err, res.Count)
		}
		if pool.LiveBytes() != 0 {
			t.Errorf("%s: buffers leaked", c.name)
		}
	}
	var fault *Fault
	fs.SetReadHook(func(string, int64, int) error { return errors.New("bad sector") })
	r, err := OpenReader(fs, testDir, 0, nil)
	must(t, err)
	q := Query{Size: log.size(), PartitionID: testPartition, Ceiling: 99, MaxCount: 99, MaxBytes: 1 << 20}
	var res Result
	if err := r.Read(buffer.New(0), &q, &res); !errors.As(err, &fault) || fault.Code != 4011 {
		t.Errorf("unreadable: %v", err)
	}
}

func TestRead_SegmentAfterSegmentFillsOneResult(t *testing.T) {
	fs := vfs.NewMem(1)
	first := newTestLog(t, fs, 0)
	first.append(3, 50)
	first.append(3, 50)
	second := newTestLog(t, fs, 100) // behind a gap
	second.append(3, 50)
	must(t, first.w.Close())
	must(t, second.w.Close())
	pool := buffer.New(1 << 20)
	all := append(append([][]byte{}, first.records...), second.records...)
	for count := range uint32(11) {
		q := Query{PartitionID: testPartition, From: 2, Ceiling: 102, MaxCount: count, MaxBytes: 1 << 20, Validate: true}
		var res Result
		for _, log := range []*testLog{first, second} {
			r, err := OpenReader(fs, testDir, log.start, nil)
			must(t, err)
			q.Size = log.size()
			must(t, r.Read(pool, &q, &res))
		}
		checkResult(t, &res, naive(all, &q))
		if res.Full != (count <= 7) {
			t.Errorf("count %d: full %v", count, res.Full)
		}
	}
}

func TestRead_WholeBatchIsOneReadAndOneChunk(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	for range 5 {
		log.append(1000, 1024)
	}
	must(t, log.w.FlushIndex())
	r, err := OpenReader(fs, testDir, 0, log.w.Index())
	must(t, err)
	reads, bytesRead := 0, 0
	fs.SetReadHook(func(_ string, _ int64, n int) error { reads++; bytesRead += n; return nil })
	pool := buffer.New(1 << 24)
	q := Query{
		Size: log.size(), PartitionID: testPartition, From: 2000, Ceiling: 4999, MaxCount: 1000, MaxBytes: 1 << 26, Validate: true,
	}
	var res Result
	must(t, r.Read(pool, &q, &res))
	checkResult(t, &res, naive(log.records, &q))
	if reads != 1 || bytesRead != len(log.records[2]) || len(res.Chunks) != 1 {
		t.Fatalf("%d reads, %d bytes, %d chunks", reads, bytesRead, len(res.Chunks))
	}
	res.Release()
	allocs := testing.AllocsPerRun(50, func() {
		if err := r.Read(pool, &q, &res); err != nil || res.Count != 1000 {
			t.Fatal(err)
		}
		res.Release()
	})
	if allocs > 3 {
		t.Errorf("%v allocations for one batch", allocs)
	}
}
