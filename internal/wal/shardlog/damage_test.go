package shardlog

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// specimen is a data directory of two lives with recycled files, and all that was ever appended to it.
type specimen struct {
	fs    *vfs.Mem
	files []string                    // everything below the directory of the logs
	known map[protocol.Uint128]uint64 // identity of every prepare to its op
	want  map[protocol.GroupID]GroupLog
}

func newSpecimen(t testing.TB) *specimen {
	s := &specimen{known: map[protocol.Uint128]uint64{}}
	m := newFS(t)
	groups := []*chain{newChain(2), newChain(3), newChain(4)}
	prepare := func(c *chain, bodyBytes int) Record {
		r := c.prepare(bodyBytes)
		s.known[r.Header.Common().Checksum()] = r.Header.Op()
		return r
	}
	for life := range 2 {
		o := testOptions(uint64(life) + 1)
		o.FileBytes, o.RetainedBytes = 16<<10, 32<<10
		ls := boot(t, m, o)
		ls.Replayed()
		l := shard(t, ls, 0)
		for _, c := range groups {
			if life == 0 {
				mustAppend(t, l, c.birth())
			}
		}
		for i := range 40 {
			mustAppend(t, l, prepare(groups[i%3], 20*i), prepare(groups[(i+1)%3], 300))
			if i%8 == 0 {
				mustAppend(t, l, groups[0].checkpoint(groups[0].op, 1), groups[1].checkpoint(groups[1].op-1, 1))
				mustSync(t, l)
			}
			if i == 20 {
				mustAppend(t, l, groups[2].checkpoint(groups[2].op, 1))
				mustSync(t, l)
				if err := l.Reclaim(); err != nil {
					t.Fatal(err)
				}
			}
		}
		mustSync(t, l)
		mustAppend(t, l, groups[0].control(wal.KindLocal, Local{ConsumerKind: 1}.AppendTo(nil))) // says that the rest is synced
		m = crash(m, 1, vfs.KillOnly)
	}
	s.fs = m
	names, err := m.ReadDir(shardDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		s.files = append(s.files, path.Join(shardDir, n))
	}
	ls, err := Scan(crash(m, 1, vfs.KillOnly), walDir, testOptions(9))
	if err != nil || len(ls.Damage()) > 0 {
		t.Fatal(err, ls.Damage())
	}
	s.want = map[protocol.GroupID]GroupLog{}
	for _, g := range ls.Groups() {
		s.want[g.Group] = g
	}
	if len(s.want) != len(groups) {
		t.Fatalf("%d groups", len(s.want))
	}
	return s
}

// judge scans what became of the specimen: nothing foreign is replayed, and what was synced is there or its
// absence is told.
func (s *specimen) judge(m *vfs.Mem) error {
	ls, err := Scan(m, walDir, testOptions(9))
	var version *VersionError
	var kind *KindError
	if errors.As(err, &version) || errors.As(err, &kind) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, g := range ls.Groups() {
		if _, known := s.want[g.Group]; !known {
			return fmt.Errorf("group %d was never there", g.Group)
		}
		for i := range g.Entries {
			e := &g.Entries[i]
			if e.IsLocal() {
				continue
			}
			if op, known := s.known[e.Checksum]; !known || op != e.Op {
				return fmt.Errorf("group %d: op %d was never appended", g.Group, e.Op)
			}
			if _, _, err := ls.Read(*e, nil); err != nil {
				return err
			}
		}
	}
	for id, want := range s.want {
		g, found := ls.Find(id, want.Revision)
		isTold := !found && len(ls.Damage()) > 0 || found && g.State != Intact
		if isTold {
			continue
		}
		ground := uint64(0) // an older checkpoint than the one that is gone is as good when all ops above it are there
		if g.Checkpoint != nil {
			ground = g.Checkpoint.Op
		}
		last := slices.Max(append(ops(want), want.Checkpoint.Op))
		if !found || ground > want.Checkpoint.Op || !slices.Equal(ops(g), upTo(ground+1, last)) {
			return fmt.Errorf("group %d lost something and nobody says so: ops %v, want %v; damage %v", id, ops(g), ops(want), ls.Damage())
		}
	}
	// Beginning on it must work, and the life after it finds nothing worse.
	if err := ls.Begin(); err != nil {
		return err
	}
	ls.Replayed()
	l, err := ls.Shard(0)
	if err == nil {
		_, err = l.Append([]Record{newChain(8).birth()})
	}
	if err == nil {
		_, err = l.Sync()
	}
	return err
}

func TestDamage_OneBitAnywhere(t *testing.T) {
	s := newSpecimen(t)
	rng := rngOf(4)
	last := s.files[len(s.files)-1]
	for _, name := range s.files {
		size := int64(len(content(t, s.fs, name)))
		for range 250 {
			pos, bit := rng.Int64N(size), uint(rng.IntN(8))
			m := crash(s.fs, 1, vfs.KillOnly)
			if err := m.FlipBit(name, pos, bit); err != nil {
				t.Fatal(err)
			}
			if err := s.judge(m); err != nil {
				t.Fatalf("bit %d of byte %d of %s (the last file is %s): %v", bit, pos, name, last, err)
			}
		}
	}
}

// Every byte of one synced record in the middle, and of the head, once.
func TestDamage_EveryByteOfARecord(t *testing.T) {
	s := newSpecimen(t)
	name := ""
	for _, n := range s.files {
		if path.Ext(n) == walSuffix && len(records(t, s.fs, n)) > 6 {
			name = n
			break
		}
	}
	r := records(t, s.fs, name)[3]
	for pos := r.pos; pos < r.pos+r.head.Span(); pos++ {
		m := crash(s.fs, 1, vfs.KillOnly)
		spoil(t, m, name, pos)
		if err := s.judge(m); err != nil {
			t.Fatalf("byte %d of the record: %v", pos-r.pos, err)
		}
	}
}

func TestDamage_MissingFiles(t *testing.T) {
	s := newSpecimen(t)
	for _, name := range s.files {
		m := crash(s.fs, 1, vfs.KillOnly)
		if err := m.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := s.judge(m); err != nil {
			t.Fatalf("without %s: %v", name, err)
		}
		if path.Ext(name) == ".spare" || path.Base(name) == "head.tmp" {
			continue
		}
		m = crash(s.fs, 1, vfs.KillOnly)
		_ = m.Remove(name)
		ls, err := Scan(m, walDir, testOptions(9))
		if err != nil || len(damageOf[*BrokenError](ls)) != 1 || ls.Verdict().Proven {
			t.Fatalf("without %s: %v, %v", name, ls.Damage(), err)
		}
		for _, g := range ls.Groups() {
			if g.State != Broken || !errors.As(g.Reason, new(*BrokenError)) {
				t.Fatalf("without %s: %+v", name, g)
			}
		}
		// The broken log is set aside whole, and the shard has a new one.
		if err := ls.Begin(); err != nil {
			t.Fatal(err)
		}
		names, err := m.ReadDir(walDir)
		if err != nil || !slices.Equal(names, []string{"shard-0", "shard-0.broken-3"}) {
			t.Fatalf("without %s: %v, %v", name, names, err)
		}
	}
}

func TestDamage_ForeignFiles(t *testing.T) {
	s := newSpecimen(t)
	for what, o := range map[string]func(o *Options){
		"cluster": func(o *Options) { o.Cluster.Lo++ }, "replica": func(o *Options) { o.Replica++ },
	} {
		opts := testOptions(9)
		o(&opts)
		ls, err := Scan(crash(s.fs, 1, vfs.KillOnly), walDir, opts)
		if err != nil || len(damageOf[*BrokenError](ls)) != 1 {
			t.Fatalf("%s: %v, %v", what, ls.Damage(), err)
		}
	}
	m := crash(s.fs, 1, vfs.KillOnly)
	if err := m.Rename(shardDir, walDir+"/shard-1"); err != nil {
		t.Fatal(err)
	}
	if ls, err := Scan(m, walDir, testOptions(9)); err != nil || len(damageOf[*BrokenError](ls)) != 1 {
		t.Fatalf("another shard: %v, %v", ls.Damage(), err)
	}
}

func TestScan_RefusesNewerFormats(t *testing.T) {
	m := newFS(t)
	l, a, _ := twoGroups(t, m)
	head, file := content(t, m, path.Join(shardDir, headName)), content(t, m, walFile(1))
	reseal := func(b []byte, hashed int) { le.PutUint64(b[hashed:], xxh3.Hash(b[:hashed])) }
	for what, c := range map[string]struct {
		name   string
		b      []byte
		hashed int
	}{"head": {path.Join(shardDir, headName), head, 56}, "file": {walFile(1), file, fileHeaderBytes - 8}} {
		m := crash(m, 1, vfs.KillOnly)
		b := slices.Clone(c.b)
		b[4] = 2
		reseal(b, c.hashed)
		rewrite(t, m, c.name, b)
		var version *VersionError
		if _, err := Scan(m, walDir, testOptions(2)); !errors.As(err, &version) || version.Found != 2 || version.Supported != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustAppend(t, l, a.control(wal.KindLocal, Local{}.AppendTo(nil)))
	places := records(t, m, walFile(1))
	at := places[len(places)-1].pos
	b := content(t, m, walFile(1))
	b[at+4] = 13
	le.PutUint64(b[at+56:], xxh3.Hash(append(slices.Clone(b[at:at+56]), b[at+64:at+80]...)))
	rewrite(t, m, walFile(1), b)
	var kind *KindError
	if _, err := Scan(m, walDir, testOptions(2)); !errors.As(err, &kind) || kind.Found != 13 || kind.Position != at {
		t.Errorf("kind: %v", err)
	}
}

// FuzzScan writes bytes anywhere into the files of the specimen.
func FuzzScan(f *testing.F) {
	s := newSpecimen(f)
	f.Add(uint8(0), uint32(0), []byte("GWHD"))
	f.Add(uint8(1), uint32(4096), []byte("GWRC"))
	for i, name := range s.files {
		b := content(f, s.fs, name)
		f.Add(uint8(i+1), uint32(len(b)/2)&^63, b[len(b)/2&^63:][:min(64, len(b)/2)]) // a record head moved to another place
		f.Add(uint8(i), uint32(len(b)/3), []byte{0xFF})
	}
	f.Fuzz(func(t *testing.T, file uint8, pos uint32, b []byte) {
		m := crash(s.fs, 1, vfs.KillOnly)
		name := s.files[int(file)%len(s.files)]
		old := content(t, m, name)
		at := int(pos) % len(old)
		copy(old[at:], b)
		rewrite(t, m, name, old)
		ls, err := Scan(m, walDir, testOptions(9))
		if err != nil {
			return
		}
		for _, g := range ls.Groups() {
			for _, e := range g.Entries {
				if op, known := s.known[e.Checksum]; !e.IsLocal() && (!known || op != e.Op) {
					t.Fatalf("group %d: op %d was never appended", g.Group, e.Op)
				}
			}
		}
		if err := ls.Begin(); err != nil {
			t.Fatal(err)
		}
	})
}
