package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// rowsOf gathers what a description emits, and checks that every row is text and a JSON object of a named kind.
func rowsOf(t *testing.T, describe func(Emit) error) []Row {
	t.Helper()
	var out []Row
	err := describe(func(r Row) error {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var named struct{ Row string }
		if err := json.Unmarshal(b, &named); err != nil || named.Row == "" || r.Text() == "" {
			t.Errorf("%s: %v, text %q", b, err, r.Text())
		}
		out = append(out, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// of picks the rows of one kind.
func of[T Row](all []Row) (out []T) {
	for _, r := range all {
		if v, ok := r.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

func TestDescribeJournal_ShowsEveryOperation(t *testing.T) {
	clean, _ := populate(t)
	name := path.Join(layout.Metadata(), wal.JournalName)
	all := rowsOf(t, func(e Emit) error { return DescribeJournal(clean, name, JournalQuery{}, e) })
	heads, entries := of[*JournalHeadRow](all), of[*EntryRow](all)
	if len(heads) != 2 || heads[0].Cluster != testIdentity.Cluster.String() || heads[1].Slots != uint32(testIdentity.JournalSlots) ||
		heads[1].Used != len(entries) || heads[0].Epoch != heads[1].Epoch {
		t.Errorf("heads %+v", heads)
	}
	var operations []string
	for i, e := range entries {
		operations = append(operations, e.Operation)
		if e.Op != uint64(i+1) || i > 0 && e.Parent != entries[i-1].Checksum || i > 0 && e.Timestamp <= entries[i-1].Timestamp {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	want := []string{
		"Bootstrap", "Register", "CreateStream", "CreateTopicWithAssignments", "CreateTopicWithAssignments", "CreateConsumerGroup", "Register",
	}
	if !slices.Equal(operations, want) {
		t.Errorf("operations %v, want %v", operations, want)
	}
	one := of[*EntryRow](rowsOf(t, func(e Emit) error { return DescribeJournal(clean, name, JournalQuery{Op: 3, Body: true}, e) }))
	if len(one) != 1 || one[0].Op != 3 || !strings.Contains(one[0].Body, "6f7264657273") || one[0].Bytes != uint32(len(one[0].Body)/2) {
		t.Errorf("operation 3 with its body: %+v", one)
	}
	part := of[*EntryRow](rowsOf(t, func(e Emit) error { return DescribeJournal(clean, name, JournalQuery{From: 2, Limit: 3}, e) }))
	if len(part) != 3 || part[0].Op != 2 || part[0].Body != "" {
		t.Errorf("from 2, three of them: %+v", part)
	}
	if err := clean.FlipBit(name, entries[2].Position+wal.RecordHeadBytes+3, 1); err != nil {
		t.Fatal(err)
	}
	trouble := of[*TroubleRow](rowsOf(t, func(e Emit) error { return DescribeJournal(clean, name, JournalQuery{}, e) }))
	if len(trouble) != 1 || *trouble[0].Position != entries[2].Position || !strings.Contains(trouble[0].Problem, "had been synced") {
		t.Errorf("a flipped bit in operation 3: %+v", trouble)
	}
}

func TestDescribeSegment_ShowsBatchesMessagesAndDamage(t *testing.T) {
	clean, _ := populate(t)
	dir := layout.Partition(0, 0, 1)
	name := path.Join(dir, segment.LogName(0))
	batches := of[*BatchRow](rowsOf(t, func(e Emit) error { return DescribeSegment(clean, name, SegmentQuery{}, e) }))
	if len(batches) != 3 || batches[2].BaseOffset != 200 || batches[2].EndOffset != 299 || batches[0].Partition != 1 ||
		batches[1].Position != int64(batches[0].Bytes) {
		t.Fatalf("batches %+v", batches)
	}
	all := rowsOf(t, func(e Emit) error { return DescribeSegment(clean, name, SegmentQuery{From: 250, Payload: 4}, e) })
	messages := of[*MessageRow](all)
	if len(messages) != 50 || messages[0].Offset != 250 || messages[0].PayloadBytes != 500 || len(messages[0].Payload) != 8 || !messages[0].Intact {
		t.Errorf("messages from 250: %d, %+v", len(messages), messages[0])
	}
	if err := clean.FlipBit(name, messages[3].Position+100, 1); err != nil {
		t.Fatal(err)
	}
	if err := clean.FlipBit(name, batches[0].Position+400, 1); err != nil {
		t.Fatal(err)
	}
	all = rowsOf(t, func(e Emit) error { return DescribeSegment(clean, name, SegmentQuery{}, e) })
	trouble, damaged := of[*TroubleRow](all), of[*MessageRow](all)
	if len(trouble) != 2 || *trouble[0].Position != 0 || *trouble[1].Position != batches[2].Position {
		t.Fatalf("two damaged batches: %+v", trouble)
	}
	if len(damaged) != 2 || damaged[1].Offset != 253 || damaged[1].Intact {
		t.Errorf("damaged messages: %+v", damaged)
	}
}

func TestDescribeIndex_ComparesWithTheLog(t *testing.T) {
	clean, _ := populate(t)
	name := path.Join(layout.Partition(0, 0, 0), segment.IndexName(0))
	entries := of[*IndexRow](rowsOf(t, func(e Emit) error { return DescribeIndex(clean, name, 0, e) }))
	if len(entries) < 5 || entries[0].Position != 0 || entries[1].Position < segment.IndexStride {
		t.Fatalf("entries %+v", entries)
	}
	if n := len(of[*IndexRow](rowsOf(t, func(e Emit) error { return DescribeIndex(clean, name, 2, e) }))); n != 2 {
		t.Errorf("%d entries with a limit of 2", n)
	}
	if err := clean.FlipBit(name, 2*segment.IndexEntrySize+16, 0); err != nil {
		t.Fatal(err)
	}
	trouble := of[*TroubleRow](rowsOf(t, func(e Emit) error { return DescribeIndex(clean, name, 1, e) }))
	if len(trouble) != 1 || !strings.Contains(trouble[0].Problem, "the first is number 2") {
		t.Errorf("a flipped position: %+v", trouble)
	}
}

func TestDescribePartition_ShowsAllOfIt(t *testing.T) {
	clean, _ := populate(t)
	dir := layout.Partition(0, 0, 0)
	all := rowsOf(t, func(e Emit) error { return DescribePartition(clean, dir, e) })
	owner, slots := of[*OwnerRow](all), of[*SlotRow](all)
	if len(owner) != 1 || owner[0].Evidence != "sealed" || owner[0].Incarnation == 0 {
		t.Errorf("owner %+v", owner)
	}
	if len(slots) != 2 || slots[0].Newest == slots[1].Newest || slots[0].Cluster != testIdentity.Cluster.String() {
		t.Errorf("slots %+v", slots)
	}
	var messages uint64
	for _, s := range of[*SegmentRow](all) {
		messages += s.Messages
	}
	if messages != 8000 || len(of[*AnchorRow](all)) != 1 || len(of[*TroubleRow](all)) != 0 {
		t.Errorf("%d messages, %d anchors, %+v", messages, len(of[*AnchorRow](all)), of[*TroubleRow](all))
	}
	offsets := of[*OffsetRow](all)
	if len(offsets) != 2 || *offsets[0] != (OffsetRow{Row: "offset", Kind: "consumer", ID: 7, Offset: 40, State: "checked"}) ||
		offsets[1].Kind != "group" || offsets[1].Offset != 41 {
		t.Errorf("offsets %+v", offsets)
	}
	slotNames := superblock.Names()
	for name, want := range map[string]FileKind{
		dataDir: DataDirectory, dir: PartitionDirectory, layout.Metadata(): SuperblockFile, path.Join(dir, slotNames[1]): SuperblockFile,
		path.Join(dir, segment.LogName(0)): SegmentFile, path.Join(dir, segment.IndexName(0)): IndexFile, path.Join(dir, "owner"): OwnerFile,
		path.Join(layout.Metadata(), wal.JournalName): JournalFile, path.Join(dir, "offsets/consumers/7"): UnknownFile,
	} {
		if kind, err := Detect(clean, name); kind != want || err != nil {
			t.Errorf("%s is %d, %v; want %d", name, kind, err, want)
		}
	}
	if err := clean.FlipBit(path.Join(dir, slotNames[0]), 30, 0); err != nil {
		t.Fatal(err)
	}
	if trouble := of[*TroubleRow](rowsOf(t, func(e Emit) error { return DescribeSuperblock(clean, dir, e) })); len(trouble) != 1 {
		t.Errorf("a damaged slot: %+v", trouble)
	}
}

func TestDescribe_StopsWhereTheReaderDoes(t *testing.T) {
	clean, _ := populate(t)
	full := errors.New("no more")
	for _, describe := range []func(Emit) error{
		func(e Emit) error {
			return DescribeJournal(clean, path.Join(layout.Metadata(), wal.JournalName), JournalQuery{}, e)
		},
		func(e Emit) error {
			return DescribeSegment(clean, path.Join(layout.Partition(0, 0, 0), segment.LogName(0)), SegmentQuery{Messages: true}, e)
		},
		func(e Emit) error { return DescribePartition(clean, layout.Partition(0, 0, 0), e) },
	} {
		left := 4
		err := describe(func(Row) error {
			if left--; left == 0 {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || left != 0 {
			t.Errorf("%v, %d left", err, left)
		}
	}
}

func TestSurvey_ShowsWhatTheNextStartFinds(t *testing.T) {
	clean, killed := populate(t)
	for _, c := range []struct {
		fs  *vfs.Mem
		gap bool
	}{{clean, false}, {killed, true}} {
		before := image(t, c.fs, dataDir, map[string]string{})
		ov, err := Survey(Options{FS: c.fs, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		if after := image(t, c.fs, dataDir, map[string]string{}); len(after) != len(before) {
			t.Error("the survey changed files")
		}
		if ov.Cluster != testIdentity.Cluster.String() || ov.MetadataOp != 7 || len(ov.Streams) != 1 || len(ov.Streams[0].Topics) != 2 || len(ov.Problems) > 0 {
			t.Fatalf("%+v", ov)
		}
		plain, synced := ov.Streams[0].Topics[0], ov.Streams[0].Topics[1]
		if plain.Promise != "written" || synced.Promise != "synced" || plain.SegmentSize != 1<<20 || len(plain.Groups) != 1 {
			t.Errorf("topics %+v, %+v", plain, synced)
		}
		used, never := plain.Partitions[1], plain.Partitions[2]
		if never.InUse || !used.InUse || used.Segments != 2 || used.FirstOffset != 0 || used.Problem != "" || (used.NextOffset > used.OffsetFrontier) != c.gap {
			t.Errorf("partitions %+v, %+v", used, never)
		}
		var text bytes.Buffer
		if err := ov.Print(&text); err != nil || !strings.Contains(text.String(), `stream 0 "orders"`) || !strings.Contains(text.String(), "partition 2: never used") {
			t.Errorf("%v\n%s", err, text.String())
		}
	}
	if err := clean.FlipBit(path.Join(layout.Metadata(), wal.JournalName), 70, 0); err != nil {
		t.Fatal(err)
	}
	ov, err := Survey(Options{FS: clean, Layout: layout})
	if err != nil || len(ov.Problems) != 1 || ov.Problems[0].Consequence != Refuses {
		t.Errorf("a damaged journal: %+v, %v", ov, err)
	}
	if _, err := Survey(Options{FS: vfs.NewMem(1), Layout: layout}); !isMissing(err) {
		t.Errorf("no directory: %v", err)
	}
}
