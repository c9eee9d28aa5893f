package segment

import (
	"bytes"
	"errors"
	"testing"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/vfs"
)

// FuzzRecover hands recovery a log and an index of any content: it refuses, or what it keeps is a prefix
// that can be served to its end and that a second recovery accepts.
func FuzzRecover(f *testing.F) {
	a, b := makeBatch(f, testPartition, 0, 10, 2, 20), makeBatch(f, testPartition, 2, 12, 1, 200)
	log := append(bytes.Clone(a), b...)
	f.Add(log, EncodeIndex(nil, indexOf([][]byte{a, b}, 0)))
	f.Add(log[:len(log)-7], []byte{})
	f.Add(append(bytes.Clone(a), make([]byte, 700)...), make([]byte, 48))
	f.Add(append(make([]byte, 300), a...), EncodeIndex(nil, []IndexEntry{{0, 10, 300}}))
	f.Fuzz(func(t *testing.T, log, index []byte) {
		fs := vfs.NewMem(1)
		put(t, fs, logPath(testDir, 0), log)
		put(t, fs, indexPath(testDir, 0), index)
		st, err := Recover(fs, testDir, testPartition, Options{Solo: true})
		var refusal *Refusal
		if errors.As(err, &refusal) {
			if !bytes.Equal(readAll(t, fs, logPath(testDir, 0)), log) {
				t.Fatal("refused, but changed the log")
			}
			return
		}
		must(t, err)
		info := st.Segments[0]
		if !bytes.Equal(readAll(t, fs, logPath(testDir, 0)), log[:info.Size]) {
			t.Fatalf("%+v is no prefix", info)
		}
		again := recoverSolo(t, fs).Segments[0]
		if again.Size != info.Size || again.TruncatedBytes != 0 || again.Reindexed {
			t.Fatalf("%+v, then %+v", info, again)
		}
		if info.Size == 0 {
			return
		}
		r, err := OpenReader(fs, testDir, 0, nil)
		must(t, err)
		q := Query{
			Size: info.Size, PartitionID: testPartition, From: info.End, Ceiling: info.End, MaxCount: 9, MaxBytes: 1 << 20, Validate: true,
		}
		var res Result
		if err := r.Read(buffer.New(0), &q, &res); err != nil || res.Count != 1 || res.Last != info.End {
			t.Fatalf("%+v: last message not served: %v", info, err)
		}
	})
}

// FuzzRead serves a log of any content: no panic, no read past the size, and what is served verifies.
func FuzzRead(f *testing.F) {
	a, b := makeBatch(f, testPartition, 0, 10, 4, 20), makeBatch(f, testPartition, 4, 12, 2, 30)
	log := append(bytes.Clone(a), b...)
	f.Add(log, EncodeIndex(nil, indexOf([][]byte{a, b}, 0)), uint64(3), uint64(5), uint32(2), false)
	f.Add(log, EncodeIndex(nil, []IndexEntry{{4, 12, uint64(len(a))}}), uint64(11), uint64(9), uint32(9), true)
	f.Add(log[:len(a)+3], []byte{1}, uint64(0), uint64(1)<<63, uint32(1)<<31, false)
	f.Fuzz(func(t *testing.T, log, index []byte, from, ceiling uint64, count uint32, byTime bool) {
		fs := vfs.NewMem(1)
		put(t, fs, logPath(testDir, 0), log)
		put(t, fs, indexPath(testDir, 0), index)
		r, err := OpenReader(fs, testDir, 0, nil)
		must(t, err)
		pool := buffer.New(0)
		q := Query{
			Size: int64(len(log)), PartitionID: testPartition, From: from, ByTime: byTime, Micros: from, Ceiling: ceiling,
			MaxCount: count, MaxBytes: 100_000, Validate: true,
		}
		var res Result
		var fault *Fault
		if err := r.Read(pool, &q, &res); err != nil && !errors.As(err, &fault) {
			t.Fatal(err)
		}
		if got := decode(t, res.Chunks); len(got) != int(res.Count) || res.Count > count || res.Count > 0 && res.Last > ceiling {
			t.Fatalf("%d messages, %+v", len(got), res)
		}
		res.Release()
		q.Validate = false
		_ = r.Read(pool, &q, &res)
		res.Release()
		if pool.LiveBytes() != 0 {
			t.Fatal("buffers leaked")
		}
	})
}

// FuzzDecoders holds the small codecs to their rule: what they accept, they would have written.
func FuzzDecoders(f *testing.F) {
	a, o := Anchor{1, 2, 3}.Encode(), EncodeOffset(4)
	f.Add(a[:])
	f.Add(o[:])
	f.Add(EncodeIndex(nil, []IndexEntry{{0, 5, 0}, {3, 5, 70_000}}))
	f.Add(make([]byte, 72))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, ok := DecodeAnchor(b); ok {
			if e := a.Encode(); !bytes.Equal(e[:], b) {
				t.Fatal("anchor")
			}
		}
		if v, state := DecodeOffset(b); state == OffsetChecked {
			if e := EncodeOffset(v); !bytes.Equal(e[:], b[:OffsetSize]) {
				t.Fatal("offset")
			}
		}
		entries, clean := DecodeIndex(b)
		if e := EncodeIndex(nil, entries); !bytes.HasPrefix(b, e) || clean && len(e) != len(b) {
			t.Fatal("index")
		}
	})
}
