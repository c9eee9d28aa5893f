package segment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

func TestRecover_NothingThere(t *testing.T) {
	if st := recoverSolo(t, vfs.NewMem(1)); len(st.Segments) != 0 {
		t.Fatalf("%+v", st)
	}
}

// Case IGGY-3946: a torn batch is all or nothing, zeros never count as data.
func TestRecover_TornTailAtEveryByte(t *testing.T) {
	build := func() (*vfs.Mem, *testLog) {
		fs := vfs.NewMem(1)
		log := newTestLog(t, fs, 5)
		log.append(2, 40)
		log.append(3, 10)
		must(t, log.w.Datasync())
		log.append(2, 100)
		must(t, log.w.Close())
		return fs, log
	}
	fs, log := build()
	whole := log.bytes()
	kept := int(log.ends[1])
	for cut := kept; cut <= len(whole); cut++ {
		for _, fill := range []string{"cut", "zeros"} {
			data := bytes.Clone(whole[:cut])
			if fill == "zeros" {
				data = append(data, make([]byte, len(whole)-cut)...)
			}
			put(t, fs, logPath(testDir, 5), data)
			put(t, fs, indexPath(testDir, 5), log.index())
			count := 2
			if bytes.Equal(data, whole) {
				count = 3
			}
			st := recoverSolo(t, fs)
			checkRecovered(t, fs, st, log, count)
			checkContinues(t, fs, st, log, count)
		}
	}
}

// checkContinues appends a batch behind what was recovered and recovers again.
func checkContinues(t *testing.T, fs vfs.FS, st State, log *testLog, count int) {
	t.Helper()
	info := st.Segments[len(st.Segments)-1]
	w, err := OpenWriter(fs, testDir, info.Start, info.Size)
	must(t, err)
	next := makeBatch(t, testPartition, info.End+1, 9999, 1, 33)
	must(t, w.Append([][]byte{next}, info.Size, nil))
	must(t, w.Close())
	after := recoverSolo(t, fs)
	got := readAll(t, fs, logPath(testDir, info.Start))
	want := append(bytes.Join(log.records[:count], nil), next...)
	if !bytes.Equal(got, want) || after.Segments[len(after.Segments)-1].End != info.End+1 {
		t.Fatalf("after a restart and an append: %+v", after)
	}
}

func TestRecover_IndexOfAnyKindIsRebuiltAsWritten(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	for range 40 {
		log.append(3, 4000)
	}
	must(t, log.w.Close())
	good := log.index()
	if len(good) < 4*IndexEntrySize {
		t.Fatalf("only %d bytes of index", len(good))
	}
	if live := readAll(t, fs, indexPath(testDir, 0)); !bytes.Equal(live, good) {
		t.Fatal("live index differs from the rule")
	}
	mangle := func(f func(b []byte)) []byte { b := bytes.Clone(good); f(b); return b }
	for name, index := range map[string][]byte{
		"good":              good,
		"empty":             {},
		"half an entry":     good[:len(good)-5],
		"an entry missing":  good[:len(good)-IndexEntrySize],
		"zeros appended":    append(bytes.Clone(good), make([]byte, 1000)...),
		"garbage":           bytes.Repeat([]byte{0xA5}, 500),
		"only zeros":        make([]byte, 4096),
		"far too long":      bytes.Repeat([]byte{1}, 1<<20),
		"entry past end":    IndexEntryAppend(good, IndexEntry{1 << 40, 1 << 40, 1 << 40}),
		"last offset wrong": mangle(func(b []byte) { b[len(b)-24]++ }),
		"last time wrong":   mangle(func(b []byte) { b[len(b)-16]++ }),
		"last pos wrong":    mangle(func(b []byte) { b[len(b)-8]++ }),
	} {
		put(t, fs, indexPath(testDir, 0), index)
		st := recoverSolo(t, fs)
		t.Run(name, func(t *testing.T) { checkRecovered(t, fs, st, log, len(log.records)) })
		if rebuilt := st.Segments[0].Reindexed; rebuilt == (name == "good") {
			t.Errorf("%s: reindexed %v", name, rebuilt)
		}
	}
	must(t, fs.Remove(indexPath(testDir, 0)))
	checkRecovered(t, fs, recoverSolo(t, fs), log, len(log.records))
}

func IndexEntryAppend(b []byte, e IndexEntry) []byte {
	return EncodeIndex(bytes.Clone(b), []IndexEntry{e})
}

func TestRecover_EverySingleBitOfRotIsRefusedOrCutOff(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 3)
	for i := range 4 {
		log.append(1+i%2, 20)
	}
	must(t, log.w.Close())
	whole := log.bytes()
	for bit := range len(whole) * 8 {
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		put(t, fs, logPath(testDir, 3), data)
		must(t, fs.Remove(indexPath(testDir, 3)))
		hit := slices.IndexFunc(log.ends, func(end int64) bool { return int64(bit/8) < end })
		st, err := Recover(fs, testDir, testPartition, Options{})
		if hit == len(log.records)-1 {
			must(t, err)
			checkRecovered(t, fs, st, log, hit)
			continue
		}
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != InteriorDamage || refusal.Next != log.ends[hit] {
			t.Fatalf("bit %d in record %d: %v, %+v", bit, hit, err, st)
		}
		if got := readAll(t, fs, logPath(testDir, 3)); !bytes.Equal(got, data) {
			t.Fatalf("bit %d: refused, but the log was changed", bit)
		}
		put(t, fs, indexPath(testDir, 3), nil)
	}
}

func TestRecover_RefusesWhatDoesNotContinue(t *testing.T) {
	a := makeBatch(t, testPartition, 0, 10, 2, 50)
	for name, c := range map[string]struct {
		second []byte
		kind   RefusalKind
	}{
		"offset too high":   {makeBatch(t, testPartition, 3, 20, 1, 50), Discontinuity},
		"offset repeated":   {makeBatch(t, testPartition, 1, 20, 1, 50), Discontinuity},
		"another partition": {makeBatch(t, testPartition+1, 2, 20, 1, 50), ForeignBatch},
	} {
		fs := vfs.NewMem(1)
		put(t, fs, logPath(testDir, 0), append(bytes.Clone(a), c.second...))
		_, err := Recover(fs, testDir, testPartition, Options{Solo: true})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != c.kind || refusal.Position != int64(len(a)) || refusal.Dir != testDir {
			t.Errorf("%s: %v", name, err)
		}
	}
	fs := vfs.NewMem(1)
	put(t, fs, logPath(testDir, 1), a)
	var refusal *Refusal
	if _, err := Recover(fs, testDir, testPartition, Options{}); !errors.As(err, &refusal) || refusal.Kind != Discontinuity {
		t.Errorf("log under a wrong name: %v", err)
	}
}

// A torn batch may carry whole records in its payload: they are no data of the partition.
func TestRecover_RecordInsideAPayloadIsNotData(t *testing.T) {
	inner := makeBatch(t, testPartition, 500, 77, 2, 20)
	b := batch.NewBuilder()
	must(t, b.Add(inner, nil, protocol.Uint128{}, 5))
	must(t, b.Add(make([]byte, 3000), nil, protocol.Uint128{}, 5))
	outer, err := b.Build()
	must(t, err)
	batch.Stamp(outer, testPartition, 0, 9)
	for _, cut := range []int{len(outer) - 1, len(outer) - 2900, 400 + len(inner)} {
		fs := vfs.NewMem(1)
		put(t, fs, logPath(testDir, 0), outer[:cut])
		if st := recoverSolo(t, fs); st.Segments[0].Size != 0 {
			t.Fatalf("cut at %d: %+v", cut, st)
		}
	}
}

func TestRecover_ChainRules(t *testing.T) {
	type seg struct {
		start uint64
		count int // messages; 0 = empty
	}
	anchor := func(planted, start, end uint64) *Anchor { return &Anchor{planted, start, end} }
	for _, c := range []struct {
		name   string
		segs   []seg
		anchor *Anchor
		solo   bool
		want   RefusalKind // 0 = accepted
	}{
		{"continuous", []seg{{0, 3}, {3, 2}, {5, 1}}, nil, false, 0},
		{"empty last", []seg{{0, 3}, {3, 0}}, nil, false, 0},
		{"only an empty one", []seg{{9, 0}}, nil, false, 0},
		{"front removed", []seg{{3, 2}, {5, 1}}, nil, false, 0},
		{"hole", []seg{{0, 3}, {4, 1}}, nil, true, Hole},
		{"anchored gap", []seg{{0, 3}, {9, 1}}, anchor(9, 0, 2), true, 0},
		{"anchored gap to an empty one", []seg{{0, 3}, {9, 0}}, anchor(9, 0, 2), true, 0},
		{"anchored gap with replicas", []seg{{0, 3}, {9, 1}}, anchor(9, 0, 2), false, Hole},
		{"anchor names another start", []seg{{0, 3}, {9, 1}}, anchor(9, 1, 2), true, Hole},
		{"anchor names another end", []seg{{0, 3}, {9, 1}}, anchor(9, 0, 1), true, Hole},
		{"overlap", []seg{{0, 3}, {2, 1}}, nil, true, Overlap},
		{"empty inside", []seg{{0, 3}, {3, 0}, {4, 1}}, nil, true, EmptyInside},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem(1)
			for _, s := range c.segs {
				var data []byte
				if s.count > 0 {
					data = makeBatch(t, testPartition, s.start, 10+s.start, s.count, 10)
				}
				put(t, fs, logPath(testDir, s.start), data)
			}
			if c.anchor != nil {
				must(t, WriteAnchor(fs, testDir, *c.anchor))
			}
			st, err := Recover(fs, testDir, testPartition, Options{Solo: c.solo})
			var refusal *Refusal
			switch {
			case c.want == 0 && err != nil:
				t.Fatal(err)
			case c.want == 0 && len(st.Segments) != len(c.segs):
				t.Fatalf("%+v", st)
			case c.want != 0 && (!errors.As(err, &refusal) || refusal.Kind != c.want):
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestRecover_SweepsLeftoversAndNothingElse(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	log.append(1, 10)
	must(t, log.w.Close())
	swept := []string{
		LogStagingName(4096), IndexStagingName(4096), AnchorName(9) + stagingSuffix, IndexName(7), AnchorName(8),
	}
	kept := []string{"superblock.a", "superblock.b.tmp", "purge.gen", "notes.txt", "12.log", "x.log", "99999999999999999999.log"}
	for _, name := range slices.Concat(swept, kept) {
		put(t, fs, testDir+"/"+name, []byte("x"))
	}
	st := recoverSolo(t, fs)
	slices.Sort(swept)
	if !slices.Equal(st.Swept, swept) || !slices.Equal(st.Foreign, []string{"12.log", "99999999999999999999.log", "x.log"}) {
		t.Fatalf("swept %v, foreign %v", st.Swept, st.Foreign)
	}
	names, err := fs.ReadDir(testDir)
	must(t, err)
	for _, name := range kept {
		if !slices.Contains(names, name) {
			t.Errorf("%s is gone", name)
		}
	}
	if len(names) != len(kept)+2 {
		t.Errorf("left: %v", names)
	}
}

func TestRecover_ReadErrorsAreNoVerdict(t *testing.T) {
	fs := vfs.NewMem(1)
	log := newTestLog(t, fs, 0)
	log.append(2, 100)
	log.append(2, 100)
	must(t, log.w.Close())
	boom := errors.New("bad sector")
	for _, suffix := range []string{logSuffix, indexSuffix} {
		fs.SetReadHook(func(path string, _ int64, _ int) error {
			if bytes.HasSuffix([]byte(path), []byte(suffix)) {
				return boom
			}
			return nil
		})
		var refusal *Refusal
		_, err := Recover(fs, testDir, testPartition, Options{})
		if !errors.Is(err, boom) || errors.As(err, &refusal) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	fs.SetReadHook(nil)
	checkRecovered(t, fs, recoverSolo(t, fs), log, 2)
}

// Case RMQ-RA170: every kind of file, left empty or as its temporary only.
func TestRecover_EmptyFilesDoNotBlockStart(t *testing.T) {
	for _, name := range []string{
		LogName(2), IndexName(0), IndexName(2), AnchorName(2), AnchorName(0), LogStagingName(2), AnchorName(2) + stagingSuffix,
	} {
		fs := vfs.NewMem(1)
		log := newTestLog(t, fs, 0)
		log.append(2, 10)
		must(t, log.w.Close())
		put(t, fs, testDir+"/"+name, nil)
		st := recoverSolo(t, fs)
		if st.Segments[0].Size != log.size() || st.Segments[0].End != 1 {
			t.Errorf("%s: %+v", name, st)
		}
		if again := recoverSolo(t, fs); len(again.Swept) != 0 || again.Segments[0].Reindexed {
			t.Errorf("%s, second start: %+v", name, again)
		}
	}
}

func TestRecover_BatchLargerThanItsBuffer(t *testing.T) {
	for _, damage := range []int{-1, 10, 100_000, 2_500_000} {
		t.Run(fmt.Sprint(damage), func(t *testing.T) {
			fs := vfs.NewMem(1)
			log := newTestLog(t, fs, 0)
			log.append(2, 10)
			log.append(3, 1_000_000)
			log.append(1, 3_000_000)
			must(t, log.w.Close())
			must(t, fs.Remove(indexPath(testDir, 0)))
			data := log.bytes()
			if damage < 0 {
				checkRecovered(t, fs, recoverSolo(t, fs), log, 3)
				put(t, fs, logPath(testDir, 0), data[:len(data)-1_500_000])
				checkRecovered(t, fs, recoverSolo(t, fs), log, 2)
				return
			}
			data[int(log.ends[0])+damage] ^= 4
			put(t, fs, logPath(testDir, 0), data)
			var refusal *Refusal
			_, err := Recover(fs, testDir, testPartition, Options{})
			if !errors.As(err, &refusal) || refusal.Kind != InteriorDamage || refusal.Next != log.ends[1] {
				t.Fatal(err)
			}
		})
	}
}
