package segment

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/galgolog/galgo/internal/vfs"
)

func TestNames(t *testing.T) {
	if LogName(65537) != "00000000000000065537.log" || IndexName(0) != "00000000000000000000.index" ||
		AnchorName(1<<64-1) != "18446744073709551615.anchor" || LogStagingName(4096) != "00000000000000004096.log.staging" {
		t.Fatal("names changed")
	}
	for _, s := range []string{"", "1", "0000000000000000000x", "18446744073709551616", "+0000000000000000001", "000000000000000000001"} {
		if _, ok := parseStem(s); ok {
			t.Errorf("%q taken for a start", s)
		}
	}
}

func TestGolden_FileFormats(t *testing.T) {
	owner := Owner{Revision: 5, Generation: 3, First: 70}.Encode()
	anchor := Anchor{PlantedStart: 65540, SealedStart: 0, SealedEnd: 3}.Encode()
	offset := EncodeOffset(9)
	entry := EncodeIndex(nil, []IndexEntry{{1, 2, 3}})
	for name, c := range map[string]struct {
		got  []byte
		want string // what the layout alone decides; checksums are tested below
	}{
		"anchor": {anchor[:32], "4947475941" + "4e4348" + "0400010000000000" + "0000000000000000" + "0300000000000000"},
		"owner":  {owner[:32], "474f574e" + "0100" + "0000" + "0500000000000000" + "0300000000000000" + "4600000000000000"},
		"offset": {offset[:8], "0900000000000000"},
		"index":  {entry, "0100000000000000" + "0200000000000000" + "0300000000000000"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAnchor_OnlyTheExactBytesCount(t *testing.T) {
	a := Anchor{PlantedStart: 100, SealedStart: 50, SealedEnd: 70}
	b := a.Encode()
	if got, ok := DecodeAnchor(b[:]); !ok || got != a {
		t.Fatalf("%+v %v", got, ok)
	}
	for i := range b {
		c := b
		c[i] ^= 0x10
		if _, ok := DecodeAnchor(c[:]); ok {
			t.Errorf("byte %d flipped unnoticed", i)
		}
	}
	fs := vfs.NewMem(1)
	for _, content := range [][]byte{nil, b[:39], append(b[:], 0), make([]byte, 5000)} {
		put(t, fs, anchorPath(testDir, 100), content)
		if _, ok, err := ReadAnchor(fs, testDir, 100); ok || err != nil {
			t.Errorf("%d bytes: %v %v", len(content), ok, err)
		}
	}
	must(t, WriteAnchor(fs, testDir, a))
	if got, ok, err := ReadAnchor(fs, testDir, 100); !ok || err != nil || got != a {
		t.Fatalf("%+v %v %v", got, ok, err)
	}
	boom := errors.New("bad sector")
	fs.SetReadHook(func(string, int64, int) error { return boom })
	if _, _, err := ReadAnchor(fs, testDir, 100); !errors.Is(err, boom) {
		t.Fatalf("read error told as %v", err)
	}
}

func TestOwner_RecordsOfTwoFiles(t *testing.T) {
	fs := vfs.NewMem(1)
	own, purge := path.Join(testDir, OwnerName), path.Join(testDir, PurgeName)
	want := Owner{Revision: 5, Generation: 3, First: 70}
	check := func(what string, evidence OwnerEvidence, o Owner, stale bool) {
		t.Helper()
		found, err := ReadOwner(fs, testDir)
		if err != nil || found != (OwnerFound{o, evidence, stale}) {
			t.Fatalf("%s: %+v, %v", what, found, err)
		}
	}
	check("nothing", OwnerUnknown, Owner{}, false)
	must(t, fs.MkdirAll(testDir))
	must(t, WriteOwner(fs, testDir, want))
	check("both", OwnerSealed, want, false)
	golden := readAll(t, fs, purge)
	if hex.EncodeToString(golden) != "03000000000000000500000000000000" {
		t.Fatalf("purge.gen holds %x", golden)
	}
	put(t, fs, purge, golden[:15])
	check("short purge.gen", OwnerSealed, want, true)
	must(t, fs.Remove(purge))
	check("no purge.gen", OwnerSealed, want, true)
	must(t, WriteOwner(fs, testDir, want))
	check("both again", OwnerSealed, want, false)
	sealed := readAll(t, fs, own)
	for bit := range 8 * OwnerSize {
		bad := bytes.Clone(sealed)
		bad[bit/8] ^= 1 << (bit % 8)
		put(t, fs, own, bad)
		check("rotted owner", OwnerUnsealed, Owner{Revision: 5, Generation: 3}, true)
	}
	for n := range OwnerSize {
		put(t, fs, own, sealed[:n])
		check("short owner", OwnerUnsealed, Owner{Revision: 5, Generation: 3}, true)
	}
	put(t, fs, own, append(bytes.Clone(sealed), 0))
	check("long owner", OwnerUnsealed, Owner{Revision: 5, Generation: 3}, true)
	must(t, fs.Remove(own))
	must(t, fs.Remove(purge))
	check("neither", OwnerUnknown, Owner{}, false)
	must(t, ClaimDirectory(fs, testDir, want))
	check("claimed", OwnerSealed, want, false)
	boom := errors.New("bad sector")
	fs.SetReadHook(func(string, int64, int) error { return boom })
	if _, err := ReadOwner(fs, testDir); !errors.Is(err, boom) {
		t.Fatalf("read error told as %v", err)
	}
}

func TestOwner_OldOrNewAfterACrash(t *testing.T) {
	fs := vfs.NewMem(1)
	must(t, fs.MkdirAll(testDir))
	must(t, fs.SyncDir("."))
	old, next := Owner{Revision: 5, Generation: 3}, Owner{Revision: 5, Generation: 4}
	must(t, WriteOwner(fs, testDir, old))
	forEachCrash(t, fs, func(fs vfs.FS) error { return WriteOwner(fs, testDir, next) },
		func(name string, fs *vfs.Mem) {
			found, err := ReadOwner(fs, testDir)
			if err != nil || found.Evidence != OwnerSealed || found.Owner != old && found.Owner != next {
				t.Fatalf("%s: %+v, %v", name, found, err)
			}
		})
}

func TestOffsetFile_DecodesByLength(t *testing.T) {
	b := EncodeOffset(77)
	bad := b
	bad[3] ^= 1
	for _, c := range []struct {
		name  string
		bytes []byte
		value uint64
		state OffsetState
	}{
		{"empty", nil, 0, OffsetTorn},
		{"7 bytes", b[:7], 0, OffsetTorn},
		{"bare", b[:8], 77, OffsetUnchecked},
		{"15 bytes", b[:15], 77, OffsetUnchecked},
		{"whole", b[:], 77, OffsetChecked},
		{"longer", append(b[:], 9), 77, OffsetChecked},
		{"changed", bad[:], 0, OffsetCorrupt},
	} {
		if v, s := DecodeOffset(c.bytes); v != c.value || s != c.state {
			t.Errorf("%s: %d %d", c.name, v, s)
		}
	}
}

func TestOffsetFiles_StoreLoadRemove(t *testing.T) {
	fs := vfs.NewMem(1)
	must(t, WriteOffset(fs, testDir, ConsumerOffset, 9, 100))
	must(t, WriteOffset(fs, testDir, ConsumerOffset, 9, 50)) // may go back
	must(t, WriteOffset(fs, testDir, ConsumerOffset, 1<<32-1, 7))
	must(t, WriteOffset(fs, testDir, GroupOffset, 9, 3))
	d := OffsetDir(testDir, ConsumerOffset)
	for _, name := range []string{"9.tmp", "readme", "4294967296", "007"} {
		must(t, writeSynced(fs, d+"/"+name, nil))
	}
	got, err := LoadOffsets(fs, testDir, ConsumerOffset)
	must(t, err)
	if len(got) != 2 || got[0] != (StoredOffset{ID: 1<<32 - 1, Value: 7, State: OffsetChecked}) ||
		got[1] != (StoredOffset{ID: 9, Value: 50, State: OffsetChecked}) {
		t.Fatalf("%+v", got)
	}
	must(t, RemoveOffset(fs, testDir, ConsumerOffset, 9))
	must(t, RemoveOffset(fs, testDir, ConsumerOffset, 9))
	must(t, RemoveOffsets(fs, testDir, ConsumerOffset))
	names, err := fs.ReadDir(d)
	must(t, err)
	if len(names) != 3 {
		t.Fatalf("left %v", names)
	}
	if got, err = LoadOffsets(fs, testDir, GroupOffset); err != nil || len(got) != 1 || got[0].Value != 3 {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestOffsetFiles_SyncedValueSurvivesLaterOnesMayTear(t *testing.T) {
	for _, mode := range vfs.CrashModes {
		for seed := range uint64(30) {
			fs := vfs.NewMem(seed)
			must(t, fs.MkdirAll(testDir))
			must(t, fs.SyncDir("."))
			must(t, WriteOffset(fs, testDir, GroupOffset, 1, 10))
			must(t, SyncOffsets(fs, testDir, GroupOffset, []uint32{1, 2}))
			must(t, WriteOffset(fs, testDir, GroupOffset, 2, 20))
			c := fs.CrashClone(rand.New(rand.NewPCG(seed, 1)), mode)
			got, err := LoadOffsets(c, testDir, GroupOffset)
			must(t, err)
			if len(got) == 0 || got[0] != (StoredOffset{ID: 1, Value: 10, State: OffsetChecked}) {
				t.Fatalf("%v, seed %d: %+v", mode, seed, got)
			}
			for _, o := range got[1:] {
				if o.State == OffsetChecked && o.Value != 20 {
					t.Fatalf("%v, seed %d: %+v", mode, seed, o)
				}
			}
		}
	}
}

func TestIndex_DecodeKeepsOrderOrNothing(t *testing.T) {
	good := []IndexEntry{{0, 5, 0}, {3, 5, 70_000}, {9, 6, 140_000}}
	b := EncodeIndex(nil, good)
	if got, clean := DecodeIndex(b); !clean || len(got) != 3 || !bytes.Equal(EncodeIndex(nil, got), b) {
		t.Fatalf("%v %v", got, clean)
	}
	if got, clean := DecodeIndex(b[:len(b)-1]); clean || len(got) != 2 {
		t.Fatalf("partial entry: %v %v", got, clean)
	}
	if got, clean := DecodeIndex(append(bytes.Clone(b), make([]byte, 100)...)); clean || len(got) != 3 {
		t.Fatalf("zeros behind: %v %v", got, clean)
	}
	for _, bad := range [][]IndexEntry{
		{{1, 5, 0}, {1, 5, 9}}, {{1, 5, 0}, {2, 4, 9}}, {{1, 5, 9}, {2, 5, 9}}, {{1, 5, 0}, {2, 5, 1 << 63}},
	} {
		if got, clean := DecodeIndex(EncodeIndex(nil, bad)); clean || len(got) != 0 {
			t.Errorf("%v accepted as %v", bad, got)
		}
	}
}

func TestOffsetDir(t *testing.T) {
	for kind, want := range map[OffsetKind]string{ConsumerOffset: "p/offsets/consumers", GroupOffset: "p/offsets/groups"} {
		if got := OffsetDir("p", kind); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}
