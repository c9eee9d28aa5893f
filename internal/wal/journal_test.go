package wal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, file string, b []byte) {
	t.Helper()
	var lines strings.Builder
	for at := 0; at < len(b); at += 32 {
		lines.WriteString(hex.EncodeToString(b[at:min(at+32, len(b))]) + "\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if lines.String() != string(want) {
		t.Errorf("%s differs:\n%s", file, lines.String())
	}
}

func TestJournal_GoldenBytes(t *testing.T) {
	m := newFS(t)
	j, _, err := Open(m, dir, options(4))
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{}
	mustAppend(t, j, c.batch(5), c.batch(0, 70))
	if err := j.SetAckedHead(2); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/journal.hex", content(t, m, walFile))
	golden(t, "testdata/mirror.hex", content(t, m, mirFile))
}

func TestRecordHead_GoldenBytes(t *testing.T) {
	var all []byte
	for kind := KindPrepare; kind <= KindAccepted; kind++ {
		payload := make([]byte, fixedPayload[kind])
		switch kind {
		case KindPrepare:
			payload = make([]byte, protocol.HeaderSize)
		case KindCheckpoint, KindInstalled:
			payload = make([]byte, CheckpointMinBytes+DedupEntryBytes)
		}
		for i := range payload {
			payload[i] = byte(i) + byte(kind)
		}
		h := RecordHead{
			Kind: kind, First: kind%2 == 0, Last: kind%3 == 0, Epoch: epoch, Batch: 9, Synced: 8,
			Group: 0x1112131415161718, Revision: 0x2122232425262728, PayloadBytes: uint32(len(payload)),
		}
		b := make([]byte, RecordHeadBytes)
		h.Encode(b, payload)
		got, err := DecodeRecordHead(b, epoch)
		if err != nil || got != h || !VerifyRecordHash(b, payload) {
			t.Errorf("kind %d: %+v, %v", kind, got, err)
		}
		if len(payload) > 0 {
			payload[0] ^= 1
			if VerifyRecordHash(b, payload) {
				t.Errorf("kind %d: the hash does not cover the payload", kind)
			}
		}
		all = append(all, b...)
	}
	golden(t, "testdata/record_heads.hex", all)
}

func TestDecodeRecordHead_Refuses(t *testing.T) {
	h := RecordHead{Kind: KindBirth, Epoch: epoch, Batch: 1}
	good := make([]byte, RecordHeadBytes)
	h.Encode(good, nil)
	for name, edit := range map[string]func(b []byte){
		"magic": func(b []byte) { b[0]++ }, "epoch": func(b []byte) { b[8]++ }, "flag": func(b []byte) { b[5] = 4 },
		"reserved": func(b []byte) { b[6] = 1 }, "reserved end": func(b []byte) { b[55] = 1 }, "kind 0": func(b []byte) { b[4] = 0 },
		"kind 13": func(b []byte) { b[4] = 13 }, "payload": func(b []byte) { b[48] = 1 }, "synced": func(b []byte) { b[24] = 1 },
	} {
		b := bytes.Clone(good)
		edit(b)
		if _, err := DecodeRecordHead(b, epoch); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := DecodeRecordHead(good[:63], epoch); err == nil {
		t.Error("short head accepted")
	}
	var kind *KindError
	good[4] = 200
	if _, err := DecodeRecordHead(good, epoch); !errors.As(err, &kind) || kind.Found != 200 {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestJournal_ReturnsWhatWasAppended(t *testing.T) {
	m := newFS(t)
	j, rec := open(t, m)
	if !rec.Fresh || len(rec.Headers) != 0 {
		t.Fatalf("fresh journal: %+v", rec)
	}
	j.cover(10) // of eighteen ops
	c := &chain{}
	var all []Entry
	for _, b := range [][]Entry{c.batch(0), c.batch(1, 63, 64, 65), c.batch(300_000), c.batch(5, 5, 5, 5, 5, 5, 5, 5, 5, 5)} {
		mustAppend(t, j, b)
		all = append(all, b...)
	}
	check := func(j *Journal) {
		t.Helper()
		for _, e := range all {
			h, body, err := j.Read(e.Header.Op())
			if err != nil || h != *e.Header || !bytes.Equal(body, e.Body) {
				t.Fatalf("op %d: %v", e.Header.Op(), err)
			}
		}
	}
	check(j)
	if _, _, err := j.Read(99); !errors.Is(err, ErrNotFound) {
		t.Errorf("missing op: %v", err)
	}
	if j.Len() != len(all) || j.SizeBytes() != int64(len(content(t, m, walFile))) {
		t.Errorf("%d ops, %d bytes", j.Len(), j.SizeBytes())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.AppendBatch(c.batch(1)); !errors.Is(err, ErrPoisoned) {
		t.Errorf("append after close: %v", err)
	}
	j, rec = open(t, m)
	if rec.Fresh || rec.Cut != nil || len(rec.Headers) != len(all) {
		t.Fatalf("reopened: %+v", rec)
	}
	for i, e := range all {
		if rec.Headers[i] != *e.Header {
			t.Errorf("header %d differs", i)
		}
	}
	check(j)
}

func TestJournal_WorksOnTheSystem(t *testing.T) {
	at := t.TempDir()
	c := &chain{}
	for range 3 {
		j, _, err := Open(vfs.OS, at, options(100))
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, j, c.batch(10, 2000), c.batch(0))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	j, rec, err := Open(vfs.OS, at, options(100))
	if err != nil || len(rec.Headers) != 9 {
		t.Fatalf("%v, %v", ops(rec.Headers), err)
	}
	if err := errors.Join(j.TruncateFrom(8), j.Drain(2), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, rec, err = Open(vfs.OS, at, options(100)); err != nil {
		t.Fatal(err)
	}
	wantOps(t, rec.Headers, 3, 4, 5, 6, 7)
}

func TestAppendBatch_RefusesWhatWouldNotOpenAgain(t *testing.T) {
	m := newFS(t)
	o := options(8)
	o.MaxEntryBytes = 400
	j, _, err := Open(m, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{}
	mustAppend(t, j, c.batch(10))
	edited := func(edit func(e *Entry)) []Entry {
		d := *c
		e := d.next(20)
		edit(&e)
		return []Entry{e}
	}
	reseal := func(edit func(h *protocol.PrepareHeader)) func(e *Entry) {
		return func(e *Entry) { edit(e.Header); e.Header.Seal() }
	}
	wrongParent := &chain{op: 1, parent: protocol.Uint128{Lo: 1}}
	d := *c
	for name, b := range map[string][]Entry{
		"identity":            edited(func(e *Entry) { e.Header.SetTimestamp(1) }),
		"body":                edited(func(e *Entry) { e.Body[3]++ }),
		"body length":         edited(func(e *Entry) { e.Body = e.Body[:19] }),
		"command":             edited(reseal(func(h *protocol.PrepareHeader) { h.Common().SetCommand(protocol.CommandPrepareOk) })),
		"op 0":                edited(reseal(func(h *protocol.PrepareHeader) { h.SetOp(0) })),
		"partition operation": edited(reseal(func(h *protocol.PrepareHeader) { h.SetOperation(protocol.OpSendMessages) })),
		"entry limit":         d.batch(10, 145),
		"parent":              wrongParent.batch(1),
		"parent in the batch": {d.next(1), (&chain{op: d.op, parent: protocol.Uint128{Lo: 1}}).next(1)},
	} {
		ops := m.Ops()
		if err := j.AppendBatch(b); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if m.Ops() != ops {
			t.Errorf("%s: touched the disk", name)
		}
	}
	mustAppend(t, j, nil, c.batch(144))
}

func TestJournal_GapsAndSupersededEntries(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	a := &chain{}
	first := a.batch(1, 2)
	skipped := a.batch(3)
	above := a.batch(4, 5)
	mustAppend(t, j, first, above) // a hole at op 3
	other := &chain{op: 4, parent: a.parent, salt: 9}
	replaced := other.batch(50) // op 5 again, with another identity
	mustAppend(t, j, replaced)
	_, rec := open(t, copyOf(m))
	wantOps(t, rec.Headers, 1, 2, 4, 5)
	if rec.Headers[3] != *replaced[0].Header {
		t.Error("the later entry did not win")
	}
	mustAppend(t, j, skipped) // repaired
	j, rec = open(t, copyOf(m))
	wantOps(t, rec.Headers, 1, 2, 3, 4, 5)
	if h, body, err := j.Read(5); err != nil || h != *replaced[0].Header || !bytes.Equal(body, replaced[0].Body) {
		t.Errorf("read the superseded entry: %v", err)
	}
}

func TestTruncateFrom_InPlaceAndByRewrite(t *testing.T) {
	for name, c := range map[string]struct {
		layout []int // ops in file order, one batch each
		from   uint64
		want   []uint64
	}{
		"tail":                   {[]int{1, 2, 3, 4}, 3, []uint64{1, 2}},
		"everything":             {[]int{1, 2, 3, 4}, 1, nil},
		"nothing":                {[]int{1, 2}, 3, []uint64{1, 2}},
		"lower entries behind":   {[]int{1, 4, 5, 2, 3}, 4, []uint64{1, 2, 3}},
		"lower entries between":  {[]int{5, 1, 6, 2}, 2, []uint64{1}},
		"a hole at the boundary": {[]int{1, 2, 5, 6}, 4, []uint64{1, 2}},
	} {
		m := newFS(t)
		j, _ := open(t, m)
		all := (&chain{}).batch(1, 2, 3, 4, 5, 6)
		for _, op := range c.layout {
			mustAppend(t, j, all[op-1:op])
		}
		if err := j.TruncateFrom(c.from); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, rec := open(t, m.CrashClone(rngOf(1), vfs.LoseUnsynced))
		if j.Len() != len(c.want) {
			t.Errorf("%s: %d ops in the index", name, j.Len())
		}
		t.Log(name)
		wantOps(t, rec.Headers, c.want...)
		d := &chain{op: c.from - 1, salt: 7}
		if len(c.want) > 0 {
			d.parent = all[c.want[len(c.want)-1]-1].Header.Common().Checksum()
		}
		mustAppend(t, j, d.batch(9, 9))
		_, rec = open(t, m.CrashClone(rngOf(2), vfs.LoseUnsynced))
		wantOps(t, rec.Headers, append(c.want, c.from, c.from+1)...)
	}
}

func TestTruncateFrom_InTheMiddleOfABatch(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(1), c.batch(1, 1, 1))
	keep := *c
	if err := j.TruncateFrom(3); err != nil {
		t.Fatal(err)
	}
	h, _, err := j.Read(2)
	if err != nil {
		t.Fatal(err)
	}
	keep = chain{op: 2, parent: h.Common().Checksum(), salt: 4}
	mustAppend(t, j, keep.batch(6), keep.batch(7))
	_, rec := open(t, m)
	wantOps(t, rec.Headers, 1, 2, 3, 4)
}

func TestDrain_KeepsWhatIsAboveAndGoesOn(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(1, 2, 3), c.batch(4), c.batch(5, 6))
	before := j.header.epoch
	if err := j.Drain(4); err != nil {
		t.Fatal(err)
	}
	if j.header.epoch == before {
		t.Error("the new file has the old epoch")
	}
	mustAppend(t, j, c.batch(7))
	for _, have := range []*Journal{j, func() *Journal { j, _ := open(t, m); return j }()} {
		if _, _, err := have.Read(4); !errors.Is(err, ErrNotFound) {
			t.Errorf("op 4: %v", err)
		}
		for op := uint64(5); op <= 7; op++ {
			if _, _, err := have.Read(op); err != nil {
				t.Errorf("op %d: %v", op, err)
			}
		}
	}
	j, _ = open(t, m)
	if err := j.Drain(100); err != nil {
		t.Fatal(err)
	}
	_, rec := open(t, m)
	if rec.Fresh || len(rec.Headers) != 0 || len(content(t, m, walFile)) != fileHeaderBytes {
		t.Errorf("drained whole: %+v", rec)
	}
	if ops := m.Ops(); j.Drain(100) != nil || m.Ops() != ops {
		t.Error("draining nothing touched the disk")
	}
}

func TestDrain_OfEntriesThatDoNotChain(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	a := &chain{}
	mustAppend(t, j, a.batch(1, 1, 1, 1))
	b := &chain{op: 2, salt: 1}
	mustAppend(t, j, b.batch(9)) // op 3 superseded; op 4 still names the old one as parent
	if err := j.Drain(1); err != nil {
		t.Fatal(err)
	}
	_, rec := open(t, m)
	wantOps(t, rec.Headers, 2, 3, 4)
}

func TestDrain_BesideAppendsAndReads(t *testing.T) {
	m := newFS(t)
	j, _, err := Open(m, dir, options(256))
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{}
	mustAppend(t, j, c.batch(100, 100))
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			if err := j.AppendBatch(c.batch(100, 0)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for op := uint64(2); op < 60; op += 3 {
			if err := j.Drain(op); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for op := uint64(1); op < 200; op++ {
			if _, _, err := j.Read(op); err != nil && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	if err := j.Drain(150); err != nil {
		t.Fatal(err)
	}
	_, rec, err := Open(m.CrashClone(rngOf(1), vfs.LoseUnsynced), dir, options(256))
	if err != nil || len(rec.Headers) != 202-150 || rec.Headers[0].Op() != 151 {
		t.Fatalf("%v, %v", ops(rec.Headers), err)
	}
}

// A slot belongs to one op until a snapshot covers it. The refusal comes before anything is written.
func TestAppendBatch_RefusesAnOpWithoutASlot(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(1, 1, 1, 1, 1), c.batch(1, 1, 1))
	last := *c
	ops := m.Ops()
	var full *FullError
	if err := j.AppendBatch(c.batch(1)); !errors.As(err, &full) || full.Op != 9 || full.SnapshotOp != 0 || full.Slots != 8 {
		t.Fatalf("ninth op of eight slots: %v", err)
	}
	if m.Ops() != ops || errors.Is(full, ErrPoisoned) {
		t.Fatal("the refused append touched the disk")
	}
	if err := j.Drain(2); err != nil || j.SnapshotOp() != 2 {
		t.Fatalf("%v, snapshot op %d", err, j.SnapshotOp())
	}
	mixed := last.batch(1, 1, 1) // the last of the three has no slot: none is written
	if err := j.AppendBatch(mixed); !errors.As(err, &full) || full.Op != 11 {
		t.Fatalf("a batch with one op too many: %v", err)
	}
	mustAppend(t, j, mixed[:2])
	if err := j.TruncateFrom(10); err != nil || j.SnapshotOp() != 2 {
		t.Fatalf("%v: a truncation moved the snapshot op to %d", err, j.SnapshotOp())
	}
	_, rec := open(t, m.CrashClone(rngOf(1), vfs.LoseUnsynced))
	wantOps(t, rec.Headers, 3, 4, 5, 6, 7, 8, 9)
}

// A start takes the snapshot op from the snapshot. What the journal still holds of the ops below does not count,
// and its slots may be taken over; the drain that follows must not take the proof of the new owners away.
func TestOpen_EntriesBelowTheSnapshotHoldNoSlots(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(1, 1, 1, 1, 1, 1, 1, 1))
	o := options(8)
	o.SnapshotOp = 8
	j, rec, err := Open(m, dir, o)
	if err != nil || len(rec.Headers) != 8 {
		t.Fatal(rec.Headers, err)
	}
	mustAppend(t, j, c.batch(5, 5, 5))
	if err := j.Drain(7); err != nil || j.SnapshotOp() != 8 {
		t.Fatalf("%v, snapshot op %d", err, j.SnapshotOp())
	}
	_, rec = open(t, copyOf(m))
	wantOps(t, rec.Headers, 8, 9, 10, 11)
	f, err := m.OpenFile(walFile, vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(fileHeaderBytes); err != nil { // only the mirror knows of them now
		t.Fatal(err)
	}
	var damaged *InteriorError
	if _, _, err := Open(m, dir, o); !errors.As(err, &damaged) || damaged.Op != 8 {
		t.Fatalf("journal emptied: %v", err)
	}
	b := content(t, m, mirFile)
	for _, op := range []uint64{9, 10, 11} {
		if h := protocol.PrepareHeader(b[slotOffset(op, 8):][:protocol.HeaderSize]); h.Op() != op {
			t.Errorf("slot of op %d holds op %d", op, h.Op())
		}
	}
}

func TestOpen_MustExistRefusesToBeginAnew(t *testing.T) {
	m := newFS(t)
	o := options(8)
	o.MustExist = true
	for range 2 { // the first refusal must not make the second start succeed
		ops := m.Ops()
		if _, _, err := Open(m, dir, o); !errors.Is(err, ErrAbsent) {
			t.Fatal(err)
		}
		if names, err := m.ReadDir(dir); err != nil || len(names) != 0 {
			t.Fatalf("%d operations left %v, %v", m.Ops()-ops, names, err)
		}
	}
	j, _ := open(t, m)
	mustAppend(t, j, (&chain{}).batch(1))
	if _, rec, err := Open(m, dir, o); err != nil || len(rec.Headers) != 1 {
		t.Fatal(rec.Headers, err)
	}
}

func TestRead_NoticesRot(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(40))
	for _, at := range []int64{fileHeaderBytes + RecordHeadBytes + 200, fileHeaderBytes + RecordHeadBytes + 256 + 39} {
		if err := m.FlipBit(walFile, at, 1); err != nil {
			t.Fatal(err)
		}
		var damaged *EntryError
		if _, _, err := j.Read(1); !errors.As(err, &damaged) || damaged.Op != 1 || damaged.Position != fileHeaderBytes {
			t.Errorf("byte %d: %v", at, err)
		}
		if err := m.FlipBit(walFile, at, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := j.Read(1); err != nil {
		t.Error(err)
	}
}

func TestOptions_AreChecked(t *testing.T) {
	for name, o := range map[string]Options{
		"no slots": {Epoch: 1}, "too many slots": {Epoch: 1, Slots: SlotsMax + 1}, "no epoch": {Slots: 1},
		"entry limit": {Epoch: 1, Slots: 1, MaxEntryBytes: EntryMaxBytes + 1},
	} {
		if _, _, err := Open(newFS(t), dir, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, _, err := Open(vfs.NewMem(1), dir, options(1)); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestAckedHead_IsDurableAndSurvivesRotOfOneHead(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	for _, op := range []uint64{5, 9, 7, 7} {
		if err := j.SetAckedHead(op); err != nil {
			t.Fatal(err)
		}
		for head := range int64(mirrorHeads) {
			c := m.CrashClone(rngOf(op), vfs.LoseUnsynced)
			if err := c.FlipBit(mirFile, head*fileHeaderBytes+50, 0); err != nil {
				t.Fatal(err)
			}
			if _, rec := open(t, c); rec.AckedHead != op {
				t.Errorf("acked head %d with head %d damaged, want %d", rec.AckedHead, head, op)
			}
		}
	}
	if j.AckedHead() != 7 {
		t.Errorf("acked head %d", j.AckedHead())
	}
}

func TestMirror_ChangedNumberOfSlots(t *testing.T) {
	m := newFS(t)
	j, _ := open(t, m)
	c := &chain{}
	mustAppend(t, j, c.batch(1, 1, 1, 1, 1))
	if err := j.SetAckedHead(4); err != nil {
		t.Fatal(err)
	}
	for _, slots := range []int{3, 50, 1} {
		j, rec, err := Open(m, dir, options(slots))
		if err != nil || len(rec.Headers) != int(c.op) || rec.AckedHead != 4 {
			t.Fatalf("%d slots: %v, %v", slots, ops(rec.Headers), err)
		}
		if int64(len(content(t, m, mirFile))) != mirrorBytes(uint32(slots)) {
			t.Fatalf("%d slots: mirror of %d bytes", slots, len(content(t, m, mirFile)))
		}
		err = j.AppendBatch(c.batch(2)) // op 6, 7, 8
		var full *FullError
		if slots == 50 && err != nil || slots < 50 && !errors.As(err, &full) {
			t.Fatalf("%d slots: %v", slots, err)
		}
		if err != nil {
			*c = *chainAfter(t, j, c.op-1)
		}
	}
}

func BenchmarkAppendBatch(b *testing.B) {
	j, _, err := Open(vfs.OS, b.TempDir(), options(1024))
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	c := &chain{}
	entry := c.batch(200)
	b.ReportAllocs()
	for b.Loop() {
		h := entry[0].Header
		h.SetParent(protocol.Uint128{})
		h.SetOp(1) // the same op again: no parent is asked for, the index does not grow
		h.Seal()
		if err := j.AppendBatch(entry); err != nil {
			b.Fatal(err)
		}
	}
}
