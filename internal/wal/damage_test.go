package wal

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// three batches: ops 1, then 2 and 3, then 4.
func threeBatches(t testing.TB) (*vfs.Mem, *Journal, []int64) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(30), c.batch(0, 70), c.batch(9))
	starts := []int64{fileHeaderBytes}
	for _, body := range []int64{30, 0, 70, 9} {
		starts = append(starts, starts[len(starts)-1]+RecordSpan(256+body))
	}
	if starts[4] != j.SizeBytes() {
		t.Fatalf("records at %v, file of %d bytes", starts, j.SizeBytes())
	}
	return m, j, starts
}

// openFlipped opens a copy with one bit of the journal inverted.
func openFlipped(t *testing.T, m *vfs.Mem, at int64, bit uint) (Recovered, error) {
	t.Helper()
	c := copyOf(m)
	if err := c.FlipBit(walFile, at, bit); err != nil {
		t.Fatal(err)
	}
	before, mirror, count := content(t, c, walFile), content(t, c, mirFile), c.Ops()
	_, rec, err := Open(c, dir, options(8))
	if err != nil && (c.Ops() != count || !bytes.Equal(before, content(t, c, walFile)) || !bytes.Equal(mirror, content(t, c, mirFile))) {
		t.Fatalf("bit %d of byte %d: a refused journal was changed", bit, at)
	}
	return rec, err
}

func TestOpen_AnyFlippedBitOfADurableRecordIsRefused(t *testing.T) {
	m, _, starts := threeBatches(t)
	forgotten := copyOf(m)
	forgetMirror(t, forgotten)
	check := func(m *vfs.Mem, record int, identified bool) {
		t.Helper()
		for at := starts[record]; at < starts[record+1]; at++ {
			for bit := range uint(8) {
				_, err := openFlipped(t, m, at, bit)
				var damaged *InteriorError
				if !errors.As(err, &damaged) || damaged.File != walFile || damaged.Position != starts[record] ||
					damaged.Op != uint64(record+1) || damaged.Batch != []uint64{1, 2, 2, 3}[record] {
					t.Fatalf("record %d, byte %d, bit %d: %v", record, at-starts[record], bit, err)
				}
				if identified && (!damaged.Identified || damaged.Operation != protocol.OpCreateStream) {
					t.Fatalf("record %d, byte %d, bit %d: not identified: %v", record, at-starts[record], bit, err)
				}
			}
		}
	}
	for record := range 4 {
		check(m, record, true) // the mirror knows all of them, the last batch included
	}
	for record := range 3 {
		check(forgotten, record, false) // a later record proves that the batch was synced
	}
}

func TestOpen_AnyFlippedBitOfATornTailIsCut(t *testing.T) {
	m, _, starts := threeBatches(t)
	forgetMirror(t, m) // as if power had failed before the fsync of the last batch returned
	for at := starts[3]; at < starts[4]; at++ {
		for bit := range uint(8) {
			rec, err := openFlipped(t, m, at, bit)
			if err != nil || rec.Cut == nil || rec.Cut.Position != starts[3] || rec.Cut.Batch != 3 || rec.Cut.Bytes != starts[4]-starts[3] {
				t.Fatalf("byte %d, bit %d: %+v, %v", at-starts[3], bit, rec.Cut, err)
			}
			wantOps(t, rec.Headers, 1, 2, 3)
		}
	}
}

func TestOpen_EveryShorterFileIsATornTailOrRefused(t *testing.T) {
	m, _, starts := threeBatches(t)
	for size := starts[4] - 1; size >= fileHeaderBytes; size-- {
		c := copyOf(m)
		put(t, c, walFile, content(t, m, walFile)[:size])
		var damaged *InteriorError
		if _, _, err := Open(c, dir, options(8)); !errors.As(err, &damaged) {
			t.Fatalf("%d bytes left, mirror intact: %v", size, err)
		}
		forgetMirror(t, c)
		_, rec, err := Open(c, dir, options(8))
		if err != nil {
			t.Fatalf("%d bytes left: %v", size, err)
		}
		whole := 0
		for whole < 4 && starts[whole+1] <= size {
			whole++
		}
		wantOps(t, rec.Headers, []uint64{1, 2, 3, 4}[:whole]...)
		if got := content(t, c, walFile); int64(len(got)) != starts[whole] {
			t.Fatalf("%d bytes left: cut to %d", size, len(got))
		}
	}
}

func TestOpen_HeaderDamage(t *testing.T) {
	m, _, _ := threeBatches(t)
	for at := range int64(fileHeaderBytes) {
		_, err := openFlipped(t, m, at, uint(at))
		var header *HeaderError
		if !errors.As(err, &header) || header.File != walFile {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	both := copyOf(m)
	for head := range int64(mirrorHeads) {
		if err := both.FlipBit(mirFile, head*fileHeaderBytes+9, 0); err != nil {
			t.Fatal(err)
		}
	}
	var header *HeaderError
	if _, _, err := Open(both, dir, options(8)); !errors.As(err, &header) || header.File != mirFile {
		t.Fatalf("both mirror heads: %v", err)
	}
	for _, size := range []int{1, 64, 128, 128 + 8*256 - 1, 128 + 8*256 + 1} {
		c := copyOf(m)
		put(t, c, mirFile, append(content(t, m, mirFile), 0)[:size])
		if _, _, err := Open(c, dir, options(8)); !errors.As(err, &header) || header.File != mirFile {
			t.Fatalf("mirror of %d bytes: %v", size, err)
		}
	}
}

func TestOpen_RotInTheMirrorIsRepaired(t *testing.T) {
	m, _, _ := threeBatches(t)
	want := content(t, m, mirFile)
	for at := int64(0); at < int64(len(want)); at++ {
		c := copyOf(m)
		if err := c.FlipBit(mirFile, at, uint(at)); err != nil {
			t.Fatal(err)
		}
		_, rec := open(t, c)
		wantOps(t, rec.Headers, 1, 2, 3, 4)
		if at >= mirrorSlotsOff+256 && at < mirrorSlotsOff+5*256 && !bytes.Equal(content(t, c, mirFile), want) {
			// the view is outside the identity: a slot with another one is as good
			if view := (at - mirrorSlotsOff) % 256; view < 52 || view >= 56 {
				t.Fatalf("byte %d of the mirror was not repaired", at)
			}
		}
	}
}

func reseal(b []byte) []byte {
	le.PutUint64(b[fileHashOff:], xxh3.Hash(b[:fileHashOff]))
	return b
}

func TestOpen_RefusesOtherVersionsAndOwners(t *testing.T) {
	for _, file := range []string{walFile, mirFile} {
		for _, version := range []uint16{0, 2} {
			m, _, _ := threeBatches(t)
			b := content(t, m, file)
			le.PutUint16(b[4:], version)
			reseal(b[:fileHeaderBytes])
			put(t, m, file, b)
			_, _, err := Open(m, dir, options(8))
			var other *VersionError
			if !errors.As(err, &other) || other.File != file || other.Found != version || other.Supported != 1 {
				t.Errorf("%s version %d: %v", file, version, err)
			}
		}
		for name, edit := range map[string]func(o *Options){
			"cluster": func(o *Options) { o.Cluster.Lo++ }, "replica": func(o *Options) { o.Replica++ },
		} {
			m, _, _ := threeBatches(t)
			other := options(8)
			edit(&other)
			var owner *OwnerError
			if _, _, err := Open(m, dir, other); !errors.As(err, &owner) || owner.File != mirFile {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	m, _, _ := threeBatches(t)
	b := content(t, m, walFile)
	b[24] = 9
	reseal(b[:fileHeaderBytes])
	put(t, m, walFile, b)
	var owner *OwnerError
	if _, _, err := Open(m, dir, options(8)); !errors.As(err, &owner) || owner.File != walFile || owner.Replica != 9 {
		t.Errorf("journal of another replica: %v", err)
	}
}

func TestOpen_RefusesAnIntactRecordOfAnotherKind(t *testing.T) {
	for _, kind := range []Kind{KindBirth, 13} {
		m, j, starts := threeBatches(t)
		head := RecordHead{Kind: kind, First: true, Last: true, Epoch: j.header.epoch, Batch: 4, Synced: 3, Group: uint64(protocol.MetadataGroup)}
		b := make([]byte, RecordHeadBytes)
		head.Encode(b, nil)
		put(t, m, walFile, append(content(t, m, walFile), b...))
		var foreign *KindError
		if _, _, err := Open(m, dir, options(8)); !errors.As(err, &foreign) || foreign.Found != kind || foreign.Position != starts[4] {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestOpen_MissingFiles(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(m *vfs.Mem) error
		file  string
		op    uint64
	}{
		"journal removed": {func(m *vfs.Mem) error { return m.Remove(walFile) }, walFile, 4},
		"journal empty":   {func(m *vfs.Mem) error { return vfs.WriteFile(m, walFile, nil) }, walFile, 4},
		"journal stump":   {func(m *vfs.Mem) error { return vfs.WriteFile(m, walFile, make([]byte, 63)) }, walFile, 4},
		"mirror removed":  {func(m *vfs.Mem) error { return m.Remove(mirFile) }, mirFile, 0},
		"mirror empty":    {func(m *vfs.Mem) error { return vfs.WriteFile(m, mirFile, nil) }, mirFile, 0},
		"journal, acked head": {func(m *vfs.Mem) error {
			j, _, err := Open(m, dir, options(8))
			return errors.Join(err, j.SetAckedHead(4), j.Drain(4), m.Remove(walFile))
		}, walFile, 4},
	} {
		m, _, _ := threeBatches(t)
		if err := c.spoil(m); err != nil {
			t.Fatal(name, err)
		}
		var missing *MissingError
		if _, _, err := Open(m, dir, options(8)); !errors.As(err, &missing) || missing.File != c.file || missing.Op != c.op {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_StartsFromWhatAnInterruptedCreationLeft(t *testing.T) {
	for name, spoil := range map[string]func(m *vfs.Mem) error{
		"nothing":       func(m *vfs.Mem) error { return errors.Join(m.Remove(walFile), m.Remove(mirFile)) },
		"mirror only":   func(m *vfs.Mem) error { return m.Remove(walFile) },
		"header only":   func(m *vfs.Mem) error { return nil },
		"no mirror":     func(m *vfs.Mem) error { return m.Remove(mirFile) },
		"empty journal": func(m *vfs.Mem) error { return vfs.WriteFile(m, walFile, nil) },
		"short journal": func(m *vfs.Mem) error { return vfs.WriteFile(m, walFile, []byte("GWAL")) },
		"both empty": func(m *vfs.Mem) error {
			return errors.Join(vfs.WriteFile(m, walFile, nil), vfs.WriteFile(m, mirFile, nil))
		},
		"leftover files": func(m *vfs.Mem) error {
			return errors.Join(vfs.WriteFile(m, walFile+".tmp", []byte("x")), vfs.WriteFile(m, mirFile+".tmp", nil))
		},
	} {
		m := newFS(t)
		open(t, m)
		if err := spoil(m); err != nil {
			t.Fatal(name, err)
		}
		j, _, err := Open(m, dir, options(8))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mustAppend(t, j, (&chain{}).batch(3))
		names, err := m.ReadDir(dir)
		if err != nil || len(names) != 2 {
			t.Errorf("%s: left %v, %v", name, names, err)
		}
		_, rec := open(t, m.CrashClone(rngOf(1), vfs.LoseUnsynced))
		wantOps(t, rec.Headers, 1)
	}
}

// torn returns a file system whose journal ends in a batch that never became durable: its first record is
// overwritten with zeros, the rest is there.
func torn(t *testing.T, m *vfs.Mem, j *Journal, entries []Entry) *vfs.Mem {
	t.Helper()
	at := j.SizeBytes()
	m.SetHook(vfs.CrashAt(m.Ops() + 2)) // the write happens, its fsync does not
	if err := j.AppendBatch(entries); !errors.Is(err, vfs.ErrCrashed) {
		t.Fatal(err)
	}
	c := copyOf(m)
	b := content(t, c, walFile)
	clear(b[at:][:RecordSpan(int64(entries[0].Header.Common().Size()))])
	put(t, c, walFile, b)
	return c
}

func TestOpen_RecordsOfTheSameBatchProveNothing(t *testing.T) {
	m, j, starts := threeBatches(t)
	c := chainAfter(t, j, 4)
	after := torn(t, m, j, c.batch(10, 20, 30))
	_, rec := open(t, after)
	wantOps(t, rec.Headers, 1, 2, 3, 4)
	if rec.Cut == nil || rec.Cut.Position != starts[4] {
		t.Fatalf("cut %+v", rec.Cut)
	}
}

// A batch loses its end, the next start goes on, and the batch that follows is torn, too: its later records
// must not prove that the first torn batch had been durable.
func TestOpen_TornTwiceInARow(t *testing.T) {
	m, j, _ := threeBatches(t)
	c := chainAfter(t, j, 4)
	entries := c.batch(10, 20, 30)
	kept := chain{op: 5, parent: entries[0].Header.Common().Checksum(), salt: 3}
	end := j.SizeBytes() + RecordSpan(256+10)
	m.SetHook(vfs.CrashAt(m.Ops() + 2))
	if err := j.AppendBatch(entries); !errors.Is(err, vfs.ErrCrashed) {
		t.Fatal(err)
	}
	m = copyOf(m)
	put(t, m, walFile, content(t, m, walFile)[:end+100])
	j, rec := open(t, m)
	wantOps(t, rec.Headers, 1, 2, 3, 4, 5)
	again := torn(t, m, j, kept.batch(40, 50))
	j, rec = open(t, again)
	wantOps(t, rec.Headers, 1, 2, 3, 4, 5)
	kept = chain{op: 5, parent: entries[0].Header.Common().Checksum(), salt: 4}
	mustAppend(t, j, kept.batch(1, 2), kept.batch(3))
	_, rec = open(t, again)
	wantOps(t, rec.Headers, 1, 2, 3, 4, 5, 6, 7, 8)
	forgetMirror(t, again)
	if err := again.FlipBit(walFile, end+100, 0); err != nil {
		t.Fatal(err)
	}
	var damaged *InteriorError
	if _, _, err := Open(again, dir, options(8)); !errors.As(err, &damaged) || damaged.Op != 6 {
		t.Fatalf("damage in the batch that went on: %v", err)
	}
}

// What a client put into a message must not make a node unbootable.
func TestOpen_FakeRecordsInsideATornEntry(t *testing.T) {
	m, j, starts := threeBatches(t)
	file := content(t, m, walFile)
	forged := make([]byte, 0, 4096)
	fake := func(e uint64) {
		entry := (&chain{op: 50}).next(0)
		head := RecordHead{Kind: KindPrepare, First: true, Last: true, Epoch: e, Batch: 1 << 40, Synced: 1<<40 - 1,
			Group: uint64(protocol.MetadataGroup), PayloadBytes: protocol.HeaderSize}
		b := make([]byte, RecordHeadBytes)
		head.Encode(b, entry.Header[:])
		forged = append(append(forged, b...), entry.Header[:]...)
	}
	fake(epoch + 1) // a perfect record, but nobody outside knows the epoch
	fake(0)
	forged = append(forged, file[starts[0]:starts[4]]...) // a copy of this very journal, older batches only
	wrong := bytes.Clone(file[starts[3]:starts[4]])       // right epoch, high claim, wrong hash
	le.PutUint64(wrong[24:], 1<<40)
	forged = append(forged, wrong...)
	c := chainAfter(t, j, 4)
	e := c.next(len(forged))
	copy(e.Body, forged)
	e.Header.Common().SetChecksumBody(protocol.Uint128From64(xxh3.Hash(e.Body)))
	e.Header.Seal()
	after := torn(t, m, j, []Entry{e})
	_, rec := open(t, after)
	wantOps(t, rec.Headers, 1, 2, 3, 4)
	if rec.Cut == nil || rec.Cut.Position != starts[4] {
		t.Fatalf("cut %+v", rec.Cut)
	}
}

func TestOpen_ReadErrorIsNotDamage(t *testing.T) {
	m, _, _ := threeBatches(t)
	for _, from := range []int64{0, 1} { // the header, the records
		m.SetReadHook(func(path string, off int64, n int) error {
			if path == walFile && off >= from {
				return syscall.EIO
			}
			return nil
		})
		_, _, err := Open(m, dir, options(8))
		var damaged *InteriorError
		if !errors.Is(err, syscall.EIO) || errors.As(err, &damaged) {
			t.Errorf("read error: %v", err)
		}
	}
	m.SetReadHook(nil)
	open(t, m)
}

func TestErrors_SayWhatAnOperatorNeeds(t *testing.T) {
	m, _, starts := threeBatches(t)
	_, err := openFlipped(t, m, starts[1]+70, 0)
	for _, part := range []string{walFile, "byte 448", "op 2 (CreateStream)", "batch 2"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
}

// With forge set the input gets valid hashes wherever something looks like a header or a record, so that
// the decisions behind the hashes are reached.
func FuzzOpen(f *testing.F) {
	m, _, starts := threeBatches(f)
	wal, mirror := content(f, m, walFile), content(f, m, mirFile)
	for _, forge := range []bool{false, true} {
		f.Add(wal, mirror, forge)
		f.Add(wal[:starts[2]+100], mirror[:mirrorSlotsOff], forge)
		f.Add(wal[:fileHeaderBytes], []byte{}, forge)
		f.Add([]byte{}, mirror, forge)
		f.Add(append(bytes.Clone(wal), wal[fileHeaderBytes:]...), mirror, forge)
		f.Add(append(bytes.Clone(wal[:starts[1]]), wal[starts[3]:]...), mirror[:mirrorSlotsOff+8*256], forge)
	}
	f.Fuzz(func(t *testing.T, wal, mirror []byte, forge bool) {
		wal, mirror = bytes.Clone(wal), bytes.Clone(mirror)
		if forge {
			forgeHashes(wal, mirror)
		}
		m := newFS(t)
		put(t, m, walFile, wal)
		put(t, m, mirFile, mirror)
		j, rec, err := Open(m, dir, options(8))
		if err != nil {
			if !bytes.Equal(content(t, m, walFile), wal) {
				t.Fatal("a refused journal was changed")
			}
			return
		}
		for i := range rec.Headers {
			if _, _, err := j.Read(rec.Headers[i].Op()); err != nil {
				t.Fatal(err)
			}
		}
		if err := verify(copyOf(m), modelOf(rec)); err != nil {
			t.Fatal(err)
		}
	})
}

func forgeHashes(wal, mirror []byte) {
	for _, file := range [][]byte{wal, mirror, mirror[min(fileHeaderBytes, len(mirror)):]} {
		if len(file) >= fileHeaderBytes {
			reseal(file[:fileHeaderBytes])
		}
	}
	if len(wal) < fileHeaderBytes {
		return
	}
	for at := fileHeaderBytes; at+recordHashed+8 <= len(wal); at += RecordAlign {
		b := wal[at:]
		if le.Uint32(b) == recordMagic {
			copy(b[8:16], wal[32:40])
			le.PutUint64(b[recordHashOff:], recordHash(b, b[RecordHeadBytes:][:protocol.HeaderSize]))
		}
	}
}

func modelOf(rec Recovered) *model {
	m := newModel()
	m.ack = []uint64{rec.AckedHead}
	for i := range rec.Headers {
		m.must[rec.Headers[i].Op()] = rec.Headers[i].Common().Checksum()
	}
	return m
}
