package inspect

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

func flip(at int64) func(testing.TB, *vfs.Mem, string) {
	return func(t testing.TB, m *vfs.Mem, name string) {
		t.Helper()
		if at < 0 {
			info, err := m.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.FlipBit(name, info.SizeBytes+at, 3); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := m.FlipBit(name, at, 3); err != nil {
			t.Fatal(err)
		}
	}
}

func cut(bytes int) func(testing.TB, *vfs.Mem, string) {
	return func(t testing.TB, m *vfs.Mem, name string) {
		put(t, m, name, func(b []byte) []byte { return b[:max(len(b)-bytes, 0)] })
	}
}

func grow(bytes int) func(testing.TB, *vfs.Mem, string) {
	return func(t testing.TB, m *vfs.Mem, name string) {
		put(t, m, name, func(b []byte) []byte { return append(b, strings.Repeat("x", bytes)...) })
	}
}

func remove(t testing.TB, m *vfs.Mem, name string) { mustRemove(t, m, name) }

// empty cuts a file to nothing.
func empty(t testing.TB, m *vfs.Mem, name string) {
	put(t, m, name, func([]byte) []byte { return nil })
}

// appear makes a file.
func appear(t testing.TB, m *vfs.Mem, name string) {
	if err := vfs.WriteFile(m, name, []byte("leftover")); err != nil {
		t.Fatal(err)
	}
}

// row is one damage to one file and what has to come of it.
type row struct {
	file   string
	name   string
	damage func(testing.TB, *vfs.Mem, string)
	want   Consequence // of a finding that names the file or its directory; 0: any verdict, as long as both agree
}

// removeAll takes a folder away.
func removeAll(t testing.TB, m *vfs.Mem, name string) {
	if err := m.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// damages is the table: every kind of file, flipped, cut, grown, removed.
func damages(clean *vfs.Mem, t testing.TB) []row {
	part := layout.Partition(0, 0, 0)
	starts := logStarts(t, clean, part)
	first, middle, last := starts[0], starts[len(starts)/2], starts[len(starts)-1]
	in := func(name string) string { return path.Join(part, name) }
	meta := func(name string) string { return path.Join(layout.Metadata(), name) }
	slots := superblock.Names()
	rows := []row{
		{meta(slots[0]), "flip", flip(40), Refuses},
		{meta(slots[0]), "cut", cut(5), Refuses},
		{meta(wal.JournalName), "flip the header", flip(9), Refuses},
		{meta(wal.JournalName), "flip the first record", flip(64 + 10), Refuses},
		{meta(wal.JournalName), "flip a body", flip(64 + 64 + 256 + 3), Refuses},
		{meta(wal.JournalName), "flip the end", flip(-100), Refuses},
		{meta(wal.JournalName), "cut the end", cut(128), Refuses},
		{meta(wal.JournalName), "grow", grow(64), Repaired},
		{meta(wal.JournalName), "empty", empty, Refuses},
		{meta(wal.JournalName), "remove", remove, Refuses},
		{meta(wal.JournalName) + ".tmp", "leftover", appear, Continues},
		{meta(wal.MirrorName), "flip one header", flip(9), 0},
		{meta(wal.MirrorName), "flip a slot", flip(128 + 256 + 20), 0},
		{meta(wal.MirrorName), "cut", cut(100), Refuses},
		{meta(wal.MirrorName), "remove", remove, Refuses},
		{layout.Metadata(), "remove", removeAll, Refuses},
		{path.Join(layout.Partitions(0, 0), "17"), "of a deleted partition", func(t testing.TB, m *vfs.Mem, name string) {
			if err := m.MkdirAll(name); err != nil {
				t.Fatal(err)
			}
			appear(t, m, path.Join(name, segment.LogName(0)))
		}, Deletes},
		{path.Join(layout.Partitions(0, 0), "17.deleted.3"), "on its way out", func(t testing.TB, m *vfs.Mem, name string) {
			if err := m.MkdirAll(name); err != nil {
				t.Fatal(err)
			}
			appear(t, m, path.Join(name, segment.LogName(0)))
		}, Continues},
		{meta("notes.txt"), "stranger", appear, Ignored},
		{in(slots[0]), "flip", flip(95), Fences},
		{in(slots[1]), "flip", flip(3), Fences},
		{in(slots[1]), "cut", cut(1), Fences},
		{in(slots[0]), "remove", remove, Fences},
		{in(slots[1]), "remove", remove, Fences},
		{in("purge.gen"), "flip the generation", flip(0), Repaired},
		{in("purge.gen"), "flip the incarnation", flip(12), Repaired},
		{in("purge.gen"), "cut", cut(3), Repaired},
		{in("purge.gen"), "remove", remove, Repaired},
		{in("owner"), "flip the incarnation", flip(12), Repaired},
		{in("owner"), "flip the checksum", flip(36), Repaired},
		{in("owner"), "cut", cut(3), Repaired},
		{in("owner"), "remove", remove, Repaired},
		{in("owner"), "of an earlier incarnation", func(t testing.TB, m *vfs.Mem, name string) {
			if err := segment.WriteOwner(m, path.Dir(name), segment.Owner{Revision: 1}); err != nil {
				t.Fatal(err)
			}
		}, SetAside},
		{in("offsets/consumers/7"), "flip", flip(2), Discarded},
		{in("offsets/consumers/7"), "cut to nothing", empty, Discarded},
		{in("offsets/consumers/7"), "cut in the checksum", cut(4), Ignored},
		{in("offsets/consumers/7"), "remove", remove, 0},
		{in("offsets/consumers/7.tmp"), "leftover", appear, Ignored},
		{in("offsets/groups/9"), "of a deleted group", func(t testing.TB, m *vfs.Mem, name string) {
			b := segment.EncodeOffset(5)
			if err := vfs.WriteFile(m, name, b[:]); err != nil {
				t.Fatal(err)
			}
		}, Continues},
		{in("stranger"), "stranger", appear, Ignored},
		{in("x.log"), "stranger", appear, Tolerated},
		{in(segment.IndexStagingName(first)), "leftover", appear, Continues},
		{in(segment.IndexName(99)), "orphan", appear, Discarded},
		{in(segment.AnchorName(1 << 40)), "orphan", appear, Continues},
		{in(segment.LogName(first)), "remove", remove, Fences},
		{in(segment.LogName(middle)), "remove", remove, 0},
		{in(segment.LogName(last)), "remove", remove, Fences},
		{in(segment.LogName(first)), "empty", empty, Fences},
		{in(segment.LogName(first)), "cut", cut(10), Fences},
		{in(segment.LogName(last)), "cut", cut(10), Fences},
		{in(segment.LogName(last)), "grow", grow(1000), Repaired},
		{in(segment.LogName(first)), "flip a payload", flip(100_000), Unreadable},
		{in(segment.LogName(first)), "flip the first header", flip(8), Unreadable},
		{in(segment.LogName(first)), "flip the last batch", flip(-300), Fences},
		{in(segment.LogName(last)), "flip the last batch", flip(-300), Fences},
		{in(segment.LogName(last)), "flip the first batch", flip(3000), 0},
	}
	for _, start := range []uint64{first, last} {
		if info, err := clean.Stat(in(segment.IndexName(start))); err != nil || info.SizeBytes < 2*segment.IndexEntrySize {
			continue // after a kill the newest entries were not written
		}
		rows = append(rows,
			row{in(segment.IndexName(start)), "remove", remove, Repaired},
			row{in(segment.IndexName(start)), "empty", empty, 0},
			row{in(segment.IndexName(start)), "cut", cut(7), 0},
			row{in(segment.IndexName(start)), "cut an entry", cut(24), 0},
			row{in(segment.IndexName(start)), "flip an offset", flip(24), 0},
			row{in(segment.IndexName(start)), "flip the last position", flip(-7), 0},
			row{in(segment.IndexName(start)), "grow", grow(24), Repaired},
		)
	}
	if anchor := anchorOf(t, clean, part); anchor != "" {
		rows = append(rows, row{anchor, "flip", flip(20), 0}, row{anchor, "remove", remove, 0}, row{anchor, "cut", cut(3), 0})
	}
	synced := layout.Partition(0, 1, 0)
	return append(rows,
		row{path.Join(synced, segment.LogName(0)), "cut an acknowledged batch", cut(30_000), Fences},
		row{path.Join(synced, segment.LogName(0)), "flip", flip(400), 0},
	)
}

func logStarts(t testing.TB, fsys vfs.FS, dir string) (starts []uint64) {
	t.Helper()
	names, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if kind, start := segment.KindOf(name); kind == segment.LogFile {
			starts = append(starts, start)
		}
	}
	if len(starts) < 3 {
		t.Fatalf("%s has only the segments %v", dir, starts)
	}
	return starts
}

func anchorOf(t testing.TB, fsys vfs.FS, dir string) string {
	t.Helper()
	names, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if kind, _ := segment.KindOf(name); kind == segment.AnchorFile {
			return path.Join(dir, name)
		}
	}
	t.Fatal("no anchor")
	return ""
}

// clone copies a directory into a file system of its own.
func clone(m *vfs.Mem) *vfs.Mem { return m.CrashClone(rand.New(rand.NewPCG(3, 3)), vfs.KillOnly) }

// check runs verify and checks that it changed nothing.
func check(t testing.TB, m *vfs.Mem, want *Identity) *verification {
	t.Helper()
	before := image(t, m, dataDir, map[string]string{})
	v, err := verify(Options{FS: m, Layout: layout, Want: want, BootID: machine, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	after := image(t, m, dataDir, map[string]string{})
	if len(before) != len(after) {
		t.Errorf("verify changed the files: %d, then %d", len(before), len(after))
	}
	for name, content := range before {
		if after[name] != content {
			t.Errorf("verify changed %s", name)
		}
	}
	return v
}

// agree compares what verify says about a directory with what a start makes of it.
func agree(t testing.TB, v *verification, b *boot, whole map[string][]uint64) {
	t.Helper()
	by := map[Consequence][]Finding{}
	for _, f := range v.report.Findings {
		by[f.Consequence] = append(by[f.Consequence], f)
	}
	if (len(by[Refuses]) > 0) != (b.refused != nil) {
		t.Errorf("verify says %v; the start: %v", by[Refuses], b.refused)
	}
	if b.refused != nil {
		// Leftovers go, the mark of a stop in order is forgotten, and what is missing as a whole is begun.
		harmless := func(name string) bool {
			return strings.HasSuffix(name, ".tmp") || name == layout.StopMark() || v.group.fresh && isBelow(name, layout.Metadata())
		}
		if changed := slices.DeleteFunc(b.changed, harmless); len(changed) > 0 {
			t.Errorf("the refused start changed %v", changed)
		}
		return
	}
	for dir, reason := range b.fenced {
		if !names(by[Fences], dir) {
			t.Errorf("%s is fenced, verify does not say so: %v", dir, reason)
		}
	}
	for _, f := range by[Fences] {
		if !slices.ContainsFunc(keys(b.fenced), func(dir string) bool { return isBelow(path.Join(dataDir, f.Path), dir) }) {
			t.Errorf("not fenced: %+v", f)
		}
	}
	for dir, ids := range whole {
		if b.fenced[dir] != nil {
			continue
		}
		lost := missing(ids, b.messages[dir])
		told := names(by[Unreadable], dir) || names(by[Repaired], dir) || names(by[SetAside], dir) || names(by[Deletes], dir) || names(by[Tolerated], dir) || names(by[Discarded], dir)
		if (lost > 0 || b.failed[dir] != 0) && !told {
			t.Errorf("%s lost %d messages (%v) and nobody says so", dir, lost, b.failed[dir])
		}
		if names(by[Unreadable], dir) && lost == 0 {
			t.Errorf("%s serves all its messages", dir)
		}
	}
	compareChanges(t, v.group.diff, b.changed)
	if v.report.Errors+v.report.Warnings == 0 && len(b.warnings) > 0 {
		t.Errorf("verify is content, the start warns: %q", b.warnings)
	}
}

func keys(m map[string]error) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// names reports whether a finding is about something below dir.
func names(found []Finding, dir string) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return isBelow(path.Join(dataDir, f.Path), dir) })
}

// missing counts the ids of want that have does not hold.
func missing(want, have []uint64) int {
	there := map[uint64]bool{}
	for _, id := range have {
		there[id] = true
	}
	n := 0
	for _, id := range want {
		if !there[id] {
			n++
		}
	}
	return n
}

// compareChanges demands that verify has foreseen exactly the files that the start changed. What it names may be a
// directory. A start may already claim offsets, which is a new record in a superblock.
func compareChanges(t testing.TB, diff []vfs.Change, changed []string) {
	t.Helper()
	var foreseen []string
	for _, c := range diff {
		if !strings.HasPrefix(path.Base(c.Name), "superblock.") {
			foreseen = append(foreseen, c.Name)
		}
	}
	for _, name := range changed {
		if strings.HasPrefix(path.Base(name), "superblock.") {
			continue
		}
		if !slices.ContainsFunc(foreseen, func(dir string) bool { return isBelow(name, dir) }) {
			t.Errorf("the start changed %s, verify did not foresee it", name)
		}
	}
	for _, name := range foreseen {
		if !slices.ContainsFunc(changed, func(file string) bool { return isBelow(file, name) }) {
			t.Errorf("verify foresaw a change of %s, the start made none", name)
		}
	}
}

// Verify and the start of a node must say the same about every damage.
func TestVerify_AgreesWithTheStart(t *testing.T) {
	clean, killed := populate(t)
	agreeOn(t, "stopped", clean, damages(clean, t), true)
	agreeOn(t, "killed", killed, damages(killed, t), false)
}

// agreeOn runs the rows on one directory. exact demands the consequence that a row names.
func agreeOn(t *testing.T, base string, fs *vfs.Mem, rows []row, exact bool) {
	whole := observe(t, clone(fs)).messages
	for _, r := range rows {
		rel := strings.TrimPrefix(r.file, dataDir+"/")
		t.Run(fmt.Sprintf("%s/%s/%s", base, strings.ReplaceAll(rel, "/", "."), r.name), func(t *testing.T) {
			m := clone(fs)
			r.damage(t, m, r.file)
			v := check(t, m, &testIdentity)
			b := observe(t, clone(m))
			agree(t, v, b, whole)
			if exact && r.want != 0 && !expected(v.report.Findings, r.file, r.want) {
				t.Errorf("want %s about %s", r.want, r.file)
			}
			if t.Failed() {
				for _, f := range v.report.Findings {
					t.Logf("%s %s %s: %s", f.Severity, f.Consequence, f.Path, f.Problem)
				}
				t.Logf("start: refused %v, fenced %v, changed %v, warnings %q, failed %v", b.refused, b.fenced, b.changed, b.warnings, b.failed)
			}
		})
	}
}

// What a kill leaves of a synced partition is served as it is; after another boot of the machine a start writes it anew
// from the shard log, rot included. Verify knows which of the two it is.
func TestVerify_AgreesOnRotThatTheShardLogStillHolds(t *testing.T) {
	mem := vfs.NewMem(1)
	r := start(t, mem)
	r.metadata(protocol.OpCreateStream, command.CreateStream{Name: []byte("orders")}.Append(nil))
	r.topic("synced", 1, true)
	r.send(group3(0, 0, 0), 3)
	killed := mem.CrashClone(rand.New(rand.NewPCG(1, 2)), vfs.KillOnly)
	r.stop()
	log := path.Join(layout.Partition(0, 0, 0), segment.LogName(0))
	rot := []row{{name: "rot", file: log, damage: flip(70_000)}}
	agreeOn(t, "same boot", killed, rot, false)
	defer func(was [16]byte) { machine = was }(machine)
	machine[0]++
	agreeOn(t, "another boot", killed, rot, false)
	if err := killed.FlipBit(log, 70_000, 3); err != nil {
		t.Fatal(err)
	}
	if v := check(t, killed, &testIdentity); v.report.Errors > 0 || !expected(v.report.Findings, log, Repaired) {
		t.Errorf("%+v", v.report.Findings)
	}
}

// The same for a metadata group that has made a checkpoint: snapshot, superblock and journal vouch for each other.
func TestVerify_AgreesOnSnapshots(t *testing.T) {
	slots := testIdentity.JournalSlots
	testIdentity.JournalSlots = 96 // a checkpoint every thirty operations
	t.Cleanup(func() { testIdentity.JournalSlots = slots })
	mem := vfs.NewMem(1)
	r := start(t, mem)
	for i := range 50 {
		r.metadata(protocol.OpCreateStream, command.CreateStream{Name: fmt.Appendf(nil, "s%d", i)}.Append(nil))
	}
	meta := func(name string) string { return path.Join(layout.Metadata(), name) }
	for deadline := time.Now().Add(20 * time.Second); !drained(t, mem, meta(wal.JournalName)); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no checkpoint within 20 s")
		}
	}
	r.stop()
	if v := check(t, mem, &testIdentity); v.report.Errors+v.report.Warnings+v.report.Notes > 0 || v.report.Streams != 50 {
		t.Errorf("after a checkpoint and a stop: %+v", v.report)
	}
	all := of[*SnapshotRow](rowsOf(t, func(e Emit) error { return DescribeSnapshot(mem, meta(snapshot.FileName), e) }))
	if len(all) != 1 || all[0].Op < 30 || len(all[0].Streams) == 0 || all[0].Users != 1 {
		t.Fatalf("snapshot %+v", all)
	}
	slotNames := superblock.Names()
	agreeOn(t, "checkpoint", mem, []row{
		{meta(snapshot.FileName), "flip", flip(100), Refuses},
		{meta(snapshot.FileName), "flip the trailer", flip(-3), Refuses},
		{meta(snapshot.FileName), "cut", cut(7), Refuses},
		{meta(snapshot.FileName), "empty", empty, Refuses},
		{meta(snapshot.FileName), "remove", remove, Refuses},
		{meta(snapshot.FileName) + ".tmp", "leftover", appear, 0},
		{meta(slotNames[0]), "flip", flip(60), Refuses},
		{meta(slotNames[1]), "flip", flip(60), Refuses},
		{meta(slotNames[0]), "remove", remove, Refuses},
		{meta(wal.JournalName), "remove", remove, Refuses},
		{meta(wal.JournalName), "flip the first record", flip(70), Refuses},
		{meta(wal.JournalName), "flip the end", flip(-100), Refuses},
		{meta(wal.MirrorName), "remove", remove, Refuses},
	}, true)
}

// drained reports whether a checkpoint has come to its end: the journal no longer begins with the first operation.
func drained(t testing.TB, fsys vfs.FS, name string) bool {
	t.Helper()
	first := uint64(0)
	if _, _, err := wal.Walk(fsys, name, func(r *wal.Record) bool {
		first = r.Prepare.Op()
		return false
	}); err != nil {
		t.Fatal(err)
	}
	return first > 1
}

// expected reports whether a finding with that consequence names the file, or its directory.
func expected(found []Finding, file string, want Consequence) bool {
	return slices.ContainsFunc(found, func(f Finding) bool {
		at := path.Join(dataDir, f.Path)
		return f.Consequence == want && (at == file || at == path.Dir(file) || path.Dir(at) == path.Dir(file))
	})
}

func TestVerify_OrdinaryLivesAreNoErrors(t *testing.T) {
	clean, killed := populate(t)
	v := check(t, clean, &testIdentity)
	if r := v.report; r.Errors+r.Warnings+r.Notes > 0 {
		t.Errorf("a directory after a stop in order: %+v", r.Findings)
	}
	b := observe(t, clone(clean))
	agree(t, v, b, b.messages)
	v = check(t, killed, &testIdentity)
	if r := v.report; r.Errors+r.Warnings > 0 || r.Notes == 0 {
		t.Errorf("a directory after a kill: %+v", r.Findings)
	}
	b = observe(t, clone(killed))
	agree(t, v, b, b.messages)
	if v := check(t, clean, nil); v.report.Errors+v.report.Warnings+v.report.Notes > 0 {
		t.Errorf("without a configuration: %+v", v.report.Findings)
	}
}
