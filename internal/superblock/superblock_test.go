package superblock

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

var update = flag.Bool("update", false, "rewrite golden files")

const dir = "/group"

func sample(view uint32) State {
	return State{
		Cluster:   protocol.Uint128{Lo: 0x0706050403020100, Hi: 0x0f0e0d0c0b0a0908},
		ReplicaID: 2, ReplicaCount: 3, View: view, LogView: view - 1, CommitMax: 0x1122334455667788,
		CheckpointOp: 0x2122232425262728, CheckpointChecksum: protocol.Uint128{Lo: 0x3132333435363738},
		OffsetFrontier: 0x4142434445464748, OffsetReserved: 0x5152535455565758,
	}
}

func newFS(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(1)
	if err := errors.Join(m.MkdirAll(dir), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return m
}

// written returns a file system with the given number of records written.
func written(t testing.TB, records int) *vfs.Mem {
	t.Helper()
	m := newFS(t)
	s, outcome, err := Open(m, dir)
	if outcome != Empty || err != nil {
		t.Fatal(outcome, err)
	}
	for i := range records {
		if err := s.Write(sample(uint32(i + 1))); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func readSlot(t testing.TB, m vfs.FS, slot int) []byte {
	t.Helper()
	b, err := vfs.ReadFile(m, dir+"/"+slotNames[slot], recordMaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func putSlot(t testing.TB, m vfs.FS, slot int, b []byte) {
	t.Helper()
	if err := vfs.WriteFile(m, dir+"/"+slotNames[slot], b); err != nil {
		t.Fatal(err)
	}
}

func seal(b []byte) []byte {
	return le.AppendUint64(bytes.Clone(b), xxh3.Hash(b))
}

func TestRecord_GoldenBytes(t *testing.T) {
	m := written(t, 2)
	for slot, file := range []string{"testdata/record_1.hex", "testdata/record_2.hex"} {
		got := hex.EncodeToString(readSlot(t, m, slot))
		if *update {
			if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.TrimSpace(string(want)) {
			t.Errorf("%s:\n got %s\nwant %s", file, got, want)
		}
	}
}

// The record that the description of the format gives as its example.
func TestRecord_ReferenceVector(t *testing.T) {
	r := record{sequence: 1, state: State{
		Cluster: protocol.Uint128From64(1), ReplicaID: 2, ReplicaCount: 3, View: 7, LogView: 5, CommitMax: 9,
		CheckpointOp: 4, CheckpointChecksum: protocol.Uint128From64(0xabcd),
	}}
	if b := r.encode(); len(b) != 110 || r.trailer != 0xa671228e6c3ff116 || le.Uint64(b[102:]) != r.trailer {
		t.Fatalf("%d bytes, trailer %#x", len(b), r.trailer)
	}
}

func TestRecord_NamesItsParent(t *testing.T) {
	m := written(t, 3)
	parent := uint64(0)
	for i, slot := range []int{1, 0} { // records 2 and 3
		b := readSlot(t, m, slot)
		if i > 0 && le.Uint64(b[16:]) != parent || le.Uint64(b[8:]) != uint64(2+i) {
			t.Fatalf("record %d: sequence %d, parent %#x, want %#x", 2+i, le.Uint64(b[8:]), le.Uint64(b[16:]), parent)
		}
		parent = le.Uint64(b[102:])
	}
}

// lateDir is a file system whose directory syncs do not happen.
type lateDir struct{ *vfs.Mem }

func (lateDir) SyncDir(string) error { return nil }

// A process dies before the sync of the directory. The next one reads the new record, and acts upon it: it
// must not be gone after a loss of power.
func TestOpen_WhatIsPresentIsDurable(t *testing.T) {
	for records := range 3 {
		m := written(t, records)
		s, _, err := Open(lateDir{m}, dir)
		if err == nil {
			err = s.Write(sample(9))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, outcome, err := Open(m, dir); outcome != Present || err != nil {
			t.Fatal(outcome, err)
		}
		s, _, err = Open(m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced), dir)
		if state, _ := s.State(); err != nil || state != sample(9) {
			t.Fatalf("%d records before: after a loss of power view %d, %v", records, state.View, err)
		}
	}
	m := written(t, 2)
	m.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncDir {
			return syscall.EIO
		}
		return nil
	})
	if _, outcome, err := Open(m, dir); outcome != Unreadable || !errors.Is(err, syscall.EIO) {
		t.Fatalf("a directory that cannot be synced: %s, %v", outcome, err)
	}
}

func TestOpen_NewestOfTwoSlots(t *testing.T) {
	for records := 1; records <= 5; records++ {
		m := written(t, records)
		s, outcome, err := Open(m, dir)
		state, ok := s.State()
		if outcome != Present || err != nil || !ok || state != sample(uint32(records)) || s.Sequence() != uint64(records) {
			t.Errorf("after %d records: %s, %v, %+v", records, outcome, err, state)
		}
	}
}

func TestOpen_AbsentSlots(t *testing.T) {
	m := vfs.NewMem(1)
	if s, outcome, err := Open(m, dir); outcome != Empty || err != nil || s.Sequence() != 0 {
		t.Fatalf("missing directory: %s, %v", outcome, err)
	}
	m = newFS(t)
	putSlot(t, m, 0, nil)
	if _, outcome, err := Open(m, dir); outcome != Empty || err != nil {
		t.Fatalf("zero-length slot: %s, %v", outcome, err)
	}
	m = written(t, 1)
	s, outcome, err := Open(m, dir)
	if outcome != Present || err != nil || s.Sequence() != 1 {
		t.Fatalf("the first record alone: %s, %v", outcome, err)
	}
	putSlot(t, m, 1, readSlot(t, m, 0))
	if s, outcome, err := Open(m, dir); outcome != Present || err != nil || s.newestSlot != 0 {
		t.Fatalf("a tie: %s, %v", outcome, err)
	}
}

// What stood beside a record that was not the first may have been the newest: going on with the other would move
// the record backwards.
func TestOpen_ALostSlotBesideALaterRecordIsNotAbsence(t *testing.T) {
	for records := 2; records <= 5; records++ {
		for slot, name := range slotNames {
			for _, how := range []string{"removed", "emptied"} {
				m := written(t, records)
				err := m.Remove(path.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if how == "emptied" {
					putSlot(t, m, slot, nil)
				}
				s, outcome, err := Open(m, dir)
				if records == 2 && slot == 1 && how == "removed" {
					if outcome != Present { // nothing tells it from a store with one record
						t.Fatalf("the second record removed: %s, %v", outcome, err)
					}
					continue
				}
				var lost *LostSlotError
				if outcome != Unreadable || !errors.As(err, &lost) {
					t.Fatalf("%d records, %s %s: %s, %v", records, name, how, outcome, err)
				}
				if err := s.Write(sample(9)); !errors.As(err, &lost) {
					t.Fatalf("write beside a lost slot: %v", err)
				}
			}
		}
	}
}

func TestOpen_SlotsOfDifferentHistories(t *testing.T) {
	old := readSlot(t, written(t, 2), 1)
	m := written(t, 5)
	putSlot(t, m, 1, old)
	_, outcome, err := Open(m, dir)
	var chain *ChainError
	if outcome != Unreadable || !errors.As(err, &chain) || chain.SequenceA != 5 || chain.SequenceB != 2 {
		t.Fatalf("%s, %v", outcome, err)
	}
}

func TestOpen_RefusesOtherFormats(t *testing.T) {
	good := readSlot(t, written(t, 1), 0)
	body := good[:len(good)-trailerBytes]
	patched := func(edit func(b []byte) []byte) []byte { return seal(edit(bytes.Clone(body))) }
	resized := func(payload int) []byte {
		return patched(func(b []byte) []byte {
			b = append(b, make([]byte, 100)...)[:payloadOffset+payload]
			le.PutUint32(b[24:], uint32(payload))
			return b
		})
	}
	version := func(v uint16, b []byte) []byte {
		b = bytes.Clone(b[:len(b)-trailerBytes])
		le.PutUint16(b[4:], v)
		return seal(b)
	}
	for name, c := range map[string]struct {
		slot []byte
		want string // a part of the message
	}{
		"older version":          {version(1, resized(66)), "version 1, this build reads version 2"},
		"newer version":          {version(3, resized(80)), "version 3, this build reads version 2"},
		"shorter payload":        {resized(66), "66 bytes, this build (record version 2) reads 74"},
		"longer payload":         {resized(82), "82 bytes, this build (record version 2) reads 74"},
		"log view above view":    {patched(func(b []byte) []byte { le.PutUint32(b[payloadOffset+22:], 2); return b }), "log view 2 is above view 1"},
		"reserved field":         {patched(func(b []byte) []byte { b[6] = 1; return b }), "reserved"},
		"sequence 0":             {patched(func(b []byte) []byte { le.PutUint64(b[8:], 0); return b }), "sequence"},
		"length field too large": {patched(func(b []byte) []byte { le.PutUint32(b[24:], 1<<31); return b }), "payload length"},
		"one byte":               {good[:1], "too few"},
		"longer than any record": {make([]byte, recordMaxBytes+1), "more than 4132 bytes"},
		"unsealed other version": {append(version(9, good)[:100], make([]byte, 10)...), "version field is 9, this build reads 2"},
	} {
		m := written(t, 2)
		putSlot(t, m, 0, c.slot)
		s, outcome, err := Open(m, dir)
		var unreadable *UnreadableError
		if outcome != Unreadable || !errors.As(err, &unreadable) || unreadable.File != dir+"/superblock.a" {
			t.Errorf("%s: %s, %v", name, outcome, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: message %q", name, err)
		}
		if _, ok := s.State(); ok {
			t.Errorf("%s: served a state", name)
		}
	}
}

func TestOpen_ReportsTheVersionBeforeDamage(t *testing.T) {
	for versionSlot := range 2 {
		m := written(t, 2)
		b := readSlot(t, m, versionSlot)[:recordBytes-trailerBytes]
		le.PutUint16(b[4:], 7)
		putSlot(t, m, versionSlot, seal(b))
		putSlot(t, m, 1-versionSlot, []byte("garbage"))
		_, outcome, err := Open(m, dir)
		var version *VersionError
		if outcome != Unreadable || !errors.As(err, &version) || version.Found != 7 || version.Supported != 2 {
			t.Errorf("slot %d: %s, %v", versionSlot, outcome, err)
		}
	}
}

func TestOpen_RotOfAnySingleByteRefusesReadsAndWrites(t *testing.T) {
	for slot := range 2 {
		for at := range int64(recordBytes) {
			m := written(t, 2)
			name := dir + "/" + slotNames[slot]
			if err := m.FlipBit(name, at, uint(at)); err != nil {
				t.Fatal(err)
			}
			before := readSlot(t, m, slot)
			s, outcome, err := Open(m, dir)
			var unreadable *UnreadableError
			if outcome != Unreadable || !errors.As(err, &unreadable) || unreadable.File != name {
				t.Fatalf("slot %d byte %d: %s, %v", slot, at, outcome, err)
			}
			ops := m.Ops()
			if err := s.Write(sample(9)); !errors.As(err, &unreadable) {
				t.Fatalf("slot %d byte %d: write answered %v", slot, at, err)
			}
			if m.Ops() != ops || !bytes.Equal(before, readSlot(t, m, slot)) {
				t.Fatalf("slot %d byte %d: the evidence was touched", slot, at)
			}
		}
	}
}

func TestOpen_ReadErrorIsNotAbsence(t *testing.T) {
	m := written(t, 1)
	m.SetReadHook(func(string, int64, int) error { return syscall.EIO })
	s, outcome, err := Open(m, dir)
	if outcome != Unreadable || !errors.Is(err, syscall.EIO) {
		t.Fatalf("%s, %v", outcome, err)
	}
	m.SetReadHook(nil)
	if err := s.Write(sample(2)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("write after it: %v", err)
	}
}

func TestWrite_CrashAtEveryOperationLeavesOldOrNew(t *testing.T) {
	const records = 4
	for n := uint64(1); ; n++ {
		m := newFS(t)
		m.SetHook(vfs.CrashAt(m.Ops() + n))
		s, _, err := Open(m, dir)
		acked := uint32(0)
		for err == nil && acked < records {
			if err = s.Write(sample(acked + 1)); err == nil {
				acked++
			}
		}
		for _, mode := range vfs.CrashModes {
			for seed := range uint64(20) {
				checkAfterCrash(t, m.CrashClone(rand.New(rand.NewPCG(seed, n)), mode), acked, acked+1)
				if t.Failed() {
					t.Fatalf("crash at operation %d, %s, seed %d, %d records acknowledged", n, mode, seed, acked)
				}
			}
		}
		if err == nil {
			return
		}
	}
}

// checkAfterCrash wants the old or the new record, and a store that goes on from there.
func checkAfterCrash(t *testing.T, m *vfs.Mem, oldView, newView uint32) {
	t.Helper()
	s, outcome, err := Open(m, dir)
	if err != nil {
		t.Errorf("%s, %v", outcome, err)
		return
	}
	state, ok := s.State()
	if ok != (outcome == Present) || state.View != oldView && state.View != newView {
		t.Errorf("%s, view %d", outcome, state.View)
	}
	if outcome == Empty && oldView > 0 {
		t.Error("lost an acknowledged record")
	}
	next := sample(newView + 1)
	if err := s.Write(next); err != nil {
		t.Errorf("write after recovery: %v", err)
	}
	s, outcome, err = Open(m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.LoseUnsynced), dir)
	if got, _ := s.State(); outcome != Present || got != next {
		t.Errorf("reopened after that write: %s, %v, %+v", outcome, err, got)
	}
}

func TestWrite_FailureAtEveryOperationLeavesEverythingAsItWas(t *testing.T) {
	for records := range 3 {
		for n := uint64(1); n <= 5; n++ { // create or truncate, write, fsync, rename, fsync directory
			m := written(t, records)
			s, _, err := Open(m, dir)
			if err != nil {
				t.Fatal(err)
			}
			before, had := s.State()
			m.SetHook(vfs.FailAt(m.Ops()+n, syscall.ENOSPC))
			if err := s.Write(sample(50)); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%d records, operation %d: %v", records, n, err)
			}
			if state, ok := s.State(); state != before || ok != had || s.Sequence() != uint64(records) {
				t.Fatalf("%d records, operation %d: advanced to %+v", records, n, state)
			}
			if n < 5 {
				reopened, _, err := Open(m, dir)
				if state, _ := reopened.State(); err != nil || state != before {
					t.Fatalf("%d records, operation %d: reopened as %+v, %v", records, n, state, err)
				}
			}
			if err := s.Write(sample(60)); err != nil {
				t.Fatal(err)
			}
			reopened, _, err := Open(m.CrashClone(rand.New(rand.NewPCG(n, 1)), vfs.LoseUnsynced), dir)
			if state, _ := reopened.State(); err != nil || state != sample(60) {
				t.Fatalf("%d records, operation %d: after the next write %+v, %v", records, n, state, err)
			}
		}
	}
}

func TestWrite_RefusesWhatMustNotBecomeDurable(t *testing.T) {
	m := written(t, 3)
	s, _, _ := Open(m, dir)
	ops := m.Ops()
	var logView *LogViewError
	if err := s.Write(State{View: 9, LogView: 10}); !errors.As(err, &logView) {
		t.Errorf("log view above view: %v", err)
	}
	var regression *RegressionError
	if err := s.Write(sample(2)); !errors.As(err, &regression) || regression.DurableView != 3 {
		t.Errorf("view taken back: %v", err)
	}
	if err := s.Write(State{View: 9, LogView: 1}); !errors.As(err, &regression) {
		t.Errorf("log view taken back: %v", err)
	}
	if m.Ops() != ops {
		t.Error("a refused write touched the disk")
	}
	if err := m.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(sample(4)); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("directory gone: %v", err)
	}
}

func TestState_RoundTripAndIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := func(name string) uint64 { return rapid.Uint64().Draw(t, name) }
		want := State{
			Cluster: protocol.Uint128{Lo: u("lo"), Hi: u("hi")}, ReplicaID: rapid.Byte().Draw(t, "id"), ReplicaCount: rapid.Byte().Draw(t, "count"),
			View: rapid.Uint32().Draw(t, "view"), CommitMax: u("commit"), CheckpointOp: u("op"),
			CheckpointChecksum: protocol.Uint128{Lo: u("clo"), Hi: u("chi")}, OffsetFrontier: u("frontier"), OffsetReserved: u("reserved"),
		}
		want.LogView = rapid.Uint32Max(want.View).Draw(t, "logView")
		r := record{sequence: max(u("sequence"), 1), parent: u("parent"), state: want}
		got, err := decodeRecord(r.encode())
		if err != nil || got != r {
			t.Fatalf("%+v, %v", got, err)
		}
	})
	s := sample(1)
	if err := s.CheckIdentity(s.Cluster, 2, 3); err != nil {
		t.Error(err)
	}
	for field, err := range map[string]error{
		"cluster": s.CheckIdentity(protocol.Uint128{}, 2, 3), "replica id": s.CheckIdentity(s.Cluster, 1, 3),
		"replica count": s.CheckIdentity(s.Cluster, 2, 5),
	} {
		var identity *IdentityError
		if !errors.As(err, &identity) || identity.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	good := readSlot(f, written(f, 1), 0)
	f.Add(good)
	f.Add(good[:40])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err == nil && !bytes.Equal(r.encode(), b) {
			t.Fatal("decoded something that does not encode to itself")
		}
	})
}
