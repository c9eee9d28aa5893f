package snapshot

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

var update = flag.Bool("update", false, "rewrite golden files")

const name = "/metadata/snapshot.bin"

func framed(h Header, sections string) []byte {
	return AppendTrailer(append(AppendHeader(nil, h), sections...), 0)
}

func sample(op uint64) []byte {
	return framed(Header{Op: op, CreatedAt: 1_700_000_000_000_000 + op, ClientsTableMax: 8192}, strings.Repeat("sections", int(op)))
}

func newFS(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(1)
	if err := errors.Join(m.MkdirAll("/metadata"), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFrame_GoldenBytes(t *testing.T) {
	got := hex.EncodeToString(framed(Header{Op: 0x1112131415161718, CreatedAt: 0x2122232425262728, ClientsTableMax: 0x31323334}, "abc"))
	const file = "testdata/frame.hex"
	if *update {
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != strings.TrimSpace(string(want)) {
		t.Fatalf("got %s, want %s, %v", got, want, err)
	}
}

func TestOpen_ReadsHeaderAndSections(t *testing.T) {
	b := sample(3)
	f, err := Open("here", b)
	if err != nil {
		t.Fatal(err)
	}
	if f.Op != 3 || f.CreatedAt != 1_700_000_000_000_003 || f.ClientsTableMax != 8192 || f.Name != "here" ||
		string(f.Sections) != "sectionssectionssections" || !bytes.Equal(f.Bytes, b) ||
		f.Checksum != protocol.Uint128From64(protocol.Hash64(b[:len(b)-TrailerBytes])) {
		t.Fatalf("%+v", f)
	}
}

func TestOpen_RefusesWithAType(t *testing.T) {
	patched := func(at int, v byte) []byte {
		b := sample(2)
		b[at] = v
		return AppendTrailer(b[:len(b)-TrailerBytes], 0)
	}
	var truncated *TruncatedError
	var version *VersionError
	var decode *DecodeError
	for _, b := range [][]byte{nil, sample(0)[:HeaderBytes], AppendTrailer(nil, 0), AppendHeader(nil, Header{})} {
		if _, err := Open(name, b); !errors.As(err, &truncated) || truncated.SizeBytes != int64(len(b)) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if _, err := Open(name, patched(4, 9)); !errors.As(err, &version) || version.Found != 9 || version.Supported != Version {
		t.Errorf("another version: %v", err)
	}
	if _, err := Open(name, patched(0, 'X')); !errors.As(err, &decode) || !errors.Is(err, ErrMagic) {
		t.Errorf("another magic: %v", err)
	}
	for _, err := range []error{truncated, version, decode, &ChecksumError{File: name}} {
		if m := err.Error(); !strings.Contains(m, name) || !strings.Contains(m, "start the build") && !strings.Contains(m, "backup") {
			t.Errorf("%q does not say where or what to do", m)
		}
	}
}

// Whatever is cut off and whichever bit flips, nothing of a damaged file is handed on.
func TestRead_AnyDamageIsRefused(t *testing.T) {
	good := sample(2)
	var truncated *TruncatedError
	var checksum *ChecksumError
	for end := range good {
		m := newFS(t)
		if err := vfs.WriteFile(m, name, good[:end]); err != nil {
			t.Fatal(err)
		}
		if f, err := Read(m, name); f != nil || !errors.As(err, &truncated) && !errors.As(err, &checksum) {
			t.Fatalf("cut to %d bytes: %v", end, err)
		}
	}
	for at := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[at] ^= 1 << bit
			if f, err := Open(name, b); f != nil || !errors.As(err, &truncated) && !errors.As(err, &checksum) {
				t.Fatalf("byte %d bit %d: %v", at, bit, err)
			}
		}
	}
}

func TestRead_AbsentAndUnreadableAreTwoThings(t *testing.T) {
	m := newFS(t)
	if f, err := Read(m, name); f != nil || err != nil {
		t.Fatalf("absent: %v, %v", f, err)
	}
	if err := Write(m, name, sample(1)); err != nil {
		t.Fatal(err)
	}
	m.SetReadHook(func(string, int64, int) error { return syscall.EIO })
	if f, err := Read(m, name); f != nil || !errors.Is(err, syscall.EIO) {
		t.Fatalf("unreadable: %v, %v", f, err)
	}
}

func TestWrite_NamesTheStageThatFailed(t *testing.T) {
	for n, stage := range []Stage{StageWrite, StageWrite, StageSync, StageRename, StageDirSync} {
		m := newFS(t)
		if err := Write(m, name, sample(1)); err != nil {
			t.Fatal(err)
		}
		m.SetHook(vfs.FailAt(m.Ops()+uint64(n)+1, syscall.ENOSPC))
		err := Write(m, name, sample(2))
		var failed *WriteError
		if !errors.As(err, &failed) || failed.Stage != stage || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), stage.String()) {
			t.Fatalf("operation %d: %v, want %s", n+1, err, stage)
		}
		want := uint64(1)
		if stage == StageDirSync {
			want = 2 // renamed already: found as long as the machine lives
		}
		if f, err := Read(m, name); err != nil || f.Op != want {
			t.Fatalf("after a failed %s: %+v, %v", stage, f, err)
		}
		names, err := m.ReadDir("/metadata")
		if err != nil || len(names) != 1 {
			t.Fatalf("after a failed %s: %v, %v", stage, names, err)
		}
		if err := Write(m, name, sample(3)); err != nil {
			t.Fatal(err)
		}
		if f, err := Read(m.CrashClone(rand.New(rand.NewPCG(1, 2)), vfs.LoseUnsynced), name); err != nil || f.Op != 3 {
			t.Fatalf("written again after a failed %s: %+v, %v", stage, f, err)
		}
	}
}

func TestWrite_CrashAtEveryOperationLeavesOldOrNew(t *testing.T) {
	for n := uint64(1); ; n++ {
		m := newFS(t)
		m.SetHook(vfs.CrashAt(m.Ops() + n))
		acked := uint64(0)
		var err error
		for err == nil && acked < 3 {
			if err = Write(m, name, sample(acked+1)); err == nil {
				acked++
			}
		}
		for _, mode := range vfs.CrashModes {
			for seed := range uint64(20) {
				f, rerr := Read(m.CrashClone(rand.New(rand.NewPCG(seed, n)), mode), name)
				switch {
				case rerr != nil:
				case f == nil && acked == 0:
					continue
				case f != nil && (f.Op == acked || f.Op == acked+1):
					continue
				}
				t.Fatalf("crash at operation %d, %s, seed %d: %d were written, found %+v, %v", n, mode, seed, acked, f, rerr)
			}
		}
		if err == nil {
			return
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(sample(2))
	f.Add(sample(0)[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		if frame, err := Open("fuzz", b); err == nil && !bytes.Equal(AppendTrailer(append(bytes.Clone(b[:HeaderBytes]), frame.Sections...), 0), b) {
			t.Fatal("opened something that is not its own frame")
		}
	})
}
