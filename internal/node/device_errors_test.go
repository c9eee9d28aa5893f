package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// deviceRow is a line of the table of device errors in docs/operations.md.
type deviceRow struct{ file, operation, once, lasting string }

// deviceTable reads the table that operators read: it is what is tested.
func deviceTable(t *testing.T) []deviceRow {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "| file | operation | one error | errors that stay |\n| --- | --- | --- | --- |\n")
	if !found {
		t.Fatal("docs/operations.md has no table of device errors")
	}
	var rows []deviceRow
	for line := range strings.Lines(after) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			break
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		rows = append(rows, deviceRow{cells[0], cells[1], cells[2], cells[3]})
	}
	return rows
}

var deviceOperations = map[string]vfs.OpKind{
	"create": vfs.OpCreate, "write": vfs.OpWrite, "fsync": vfs.OpSync, "fdatasync": vfs.OpDatasync, "rename": vfs.OpRename,
}

// hits tells the operations that a row is about.
func (r deviceRow) hits(op vfs.Op) bool {
	name, _, _ := strings.Cut(r.operation, ",")
	if op.Kind != deviceOperations[name] {
		return false
	}
	switch r.file {
	case ".log", ".index":
		return strings.HasSuffix(op.Path, r.file)
	case "superblock.*":
		return strings.Contains(op.Path, "/partitions/0/superblock.")
	case "wal/":
		return strings.Contains(op.Path, "/wal/")
	case "offsets/":
		return strings.Contains(op.Path, "/offsets/")
	}
	return strings.HasSuffix(op.Path, "/"+r.file)
}

func TestDeviceErrors_TheTableOfTheManual(t *testing.T) {
	rows := deviceTable(t)
	if len(rows) < 16 {
		t.Fatalf("the table has %d lines", len(rows))
	}
	for _, r := range rows {
		t.Run(r.file+" "+r.operation+"/once", func(t *testing.T) { r.run(t, r.once, false) })
		t.Run(r.file+" "+r.operation+"/lasting", func(t *testing.T) { r.run(t, r.lasting, true) })
	}
}

// deviceLife is a node with one partition that meets errors, and one beside it that must not notice.
type deviceLife struct {
	*stepRig
	id, other          protocol.GroupID
	rev                uint64
	confirmed, refused map[uint64]bool
	next               uint64
	exit               int
}

// run lets a node meet the error while it does everything there is to do, and holds it against the outcome.
func (r deviceRow) run(t *testing.T, want string, lasting bool) {
	disk := vfs.NewMem(1)
	l := &deviceLife{confirmed: map[uint64]bool{}, refused: map[uint64]bool{}}
	l.stepRig = openStepRigWith(t, disk, func(o *Options) { o.Fatal = func(code int, _ error) { l.exit = code } })
	fsync := !strings.HasSuffix(r.operation, "default")
	l.rev = l.smallTopic(fsync)
	l.id, l.other = groupID(t, 0, 0), groupID(t, 1, 0)
	otherRev := l.otherTopic()
	l.sent(l.other, otherRev, 1)
	l.put(1)
	met := 0
	disk.SetHook(func(op vfs.Op) error {
		if strings.Contains(op.Path, "/streams/1/") || !r.hits(op) || met > 0 && !lasting {
			return nil
		}
		met++
		return syscall.EIO
	})
	worst := protocol.Success
	for range 7 { // three segments, and more than one reservation
		if code := l.put(20); code != protocol.Success {
			worst = code
		}
	}
	stored := l.store()
	flushed := l.flush()
	meta := protocol.Success
	if strings.HasPrefix(r.file, "journal") {
		meta = l.tryMetadata()
	}
	if met == 0 {
		t.Fatal("the error was not met: the test shows nothing")
	}
	fence := l.n.Fenced(l.id)
	got := "nothing"
	switch {
	case l.exit != 0:
		got = fmt.Sprintf("exit %d", l.exit)
	case fence != nil:
		got = "fenced"
	case meta != protocol.Success:
		got = "metadata 58"
	case worst == protocol.CodeTransientNotAccepted:
		got = "sends 58"
	case !stored:
		got = "offsets wait"
	case flushed != protocol.Success:
		got = "flush 58"
	}
	if got != want {
		t.Fatalf("%q; the manual says %q (worst answer of a send %v, fence %v)", got, want, worst, fence)
	}
	if ids, _, code := l.poll(l.other, otherRev, 0, 0, 10); code != protocol.Success || len(ids) != 1 {
		t.Errorf("the partition beside it: %d messages, %v", len(ids), code)
	}
	if l.exit == 0 {
		l.sent(l.other, otherRev, 1)
	}
	l.afterwards(t, disk, fence != nil, fsync)
}

// afterwards lets the device work again: what was not fenced goes on by itself, and a crash proves every answer.
func (l *deviceLife) afterwards(t *testing.T, disk *vfs.Mem, fenced, fsync bool) {
	t.Helper()
	disk.SetHook(nil)
	if l.exit == 0 && !fenced {
		l.advance(3 * ticksPerSecond)
		if code := l.put(1); code != protocol.Success {
			t.Errorf("a send after the device works again: %v", code)
		}
	}
	modes := []vfs.CrashMode{vfs.KillOnly}
	if fsync {
		modes = append(modes, vfs.LoseUnsynced)
	}
	for _, mode := range modes {
		after := openStepRig(t, disk.CrashClone(rand.New(rand.NewPCG(1, 0)), mode))
		if f := after.n.Fenced(l.id); f != nil {
			t.Errorf("after a crash (%s): %v", mode, f)
			continue
		}
		found := after.contents(l.id, l.rev, 0)
		for m := range l.confirmed {
			if !found[m] {
				t.Errorf("after a crash (%s): message %d was confirmed and is gone", mode, m)
			}
		}
		for m := range l.refused {
			if found[m] {
				t.Errorf("after a crash (%s): message %d was refused and is there", mode, m)
			}
		}
	}
}

func (l *deviceLife) otherTopic() uint64 {
	l.commit(protocol.OpCreateStream, command.CreateStream{Name: []byte("other")}.Append(nil))
	return l.commit(protocol.OpCreateTopicWithAssignments, command.CreateTopicReplicated{
		CreateTopic: command.CreateTopic{Stream: protocol.NumericID(1), PartitionsCount: 1, Name: []byte("t")},
		Assignments: []command.Assignment{{}},
	}.Append(nil))
}

// put sends a batch of count messages that fill a third of a segment and notes the answer.
func (l *deviceLife) put(count int) protocol.Code {
	l.t.Helper()
	first := l.next + 1
	l.next += uint64(count)
	code := l.outcome(l.send(l.id, l.rev, record(l.t, first, count, (360<<10)/count)))
	for m := first; m <= l.next; m++ {
		switch code {
		case protocol.Success:
			l.confirmed[m] = true
		case protocol.CodeTransientNotAccepted:
			l.refused[m] = true
		}
	}
	l.advance(3)
	return code
}

// store stores an offset and reports whether that was answered with success within two seconds.
func (l *deviceLife) store() bool {
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: partition.ConsumerKey{Kind: partition.KindConsumer, ID: 7}, Offset: 0}.Put(body)
	a := l.submit(Work{Group: l.id, Revision: l.rev, Request: vsr.Request{
		Client: rigClient, Operation: protocol.OpStoreConsumerOffset, Body: vsr.Body{Bytes: body},
	}})
	l.advance(2 * ticksPerSecond)
	return l.answered(a) && a.code == protocol.Success
}

// flush asks for a flush with fsync.
func (l *deviceLife) flush() protocol.Code {
	done := make(chan protocol.Code, 1)
	go func() { done <- l.n.FlushPartition(l.id, l.rev, true) }()
	for {
		select {
		case code := <-done:
			return code
		default:
			l.settle()
		}
	}
}

// tryMetadata makes a stream.
func (l *deviceLife) tryMetadata() protocol.Code {
	a := l.submit(Work{Group: protocol.MetadataGroup, Request: vsr.Request{
		Client: rigClient, Session: l.session, Request: l.request + 1, Operation: protocol.OpCreateStream,
		Body: vsr.Body{Bytes: command.CreateStream{Name: []byte("more")}.Append(nil)},
	}})
	l.advance(5)
	if !l.answered(a) {
		return protocol.CodeTransientNotAccepted
	}
	return a.code
}

// A poll that meets an error is answered with it; the partition goes on, and so does the poll once the device does.
func TestDeviceErrors_OfAPoll(t *testing.T) {
	disk := vfs.NewMem(1)
	var log bytes.Buffer
	s := openStepRigWith(t, disk, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	rev, id := s.smallTopic(false), groupID(t, 0, 0)
	for m := range uint64(15) {
		s.outcome(s.send(id, rev, record(t, 1+m, 1, 400<<10)))
	}
	disk.SetReadHook(func(path string, off int64, _ int) error {
		if strings.HasSuffix(path, ".log") && off > 0 {
			return syscall.EIO
		}
		return nil
	})
	if ids, _, code := s.poll(id, rev, 0, 2, 1); code != protocol.CodeCannotReadMessage || len(ids) > 0 {
		t.Errorf("poll of what cannot be read: %v, %v", ids, code)
	}
	for range 50 { // a consumer that does not give up
		s.poll(id, rev, 0, 2, 1)
	}
	if s.metric("galgo_poll_faults_total") != 51 || s.n.Fenced(id) != nil {
		t.Errorf("fence %v", s.n.Fenced(id))
	}
	if lines := strings.Count(log.String(), "msg=poll"); lines != 1 {
		t.Errorf("%d lines in the log, want 1", lines)
	}
	s.sent(id, rev, 1)
	disk.SetReadHook(nil)
	if ids, _, code := s.poll(id, rev, 0, 2, 1); code != protocol.Success || len(ids) != 1 {
		t.Errorf("poll when the device works again: %v, %v", ids, code)
	}
	s.close()
}

// blindFS cannot list one directory.
type blindFS struct {
	*vfs.Mem
	dir string
}

func (b blindFS) ReadDir(name string) ([]string, error) {
	if name == b.dir {
		return nil, &os.PathError{Op: "readdir", Path: name, Err: syscall.EIO}
	}
	return b.Mem.ReadDir(name)
}

// What cannot be read at a start fences the partition it belongs to, with the reason in the log's words, and no other
// one; files of the metadata refuse the start.
func TestDeviceErrors_OfAStart(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRig(t, disk)
	l := &deviceLife{stepRig: s, confirmed: map[uint64]bool{}, refused: map[uint64]bool{}, id: groupID(t, 0, 0), other: groupID(t, 1, 0)}
	l.rev = l.smallTopic(false)
	otherRev := l.otherTopic()
	l.sent(l.other, otherRev, 1)
	for range 5 {
		l.put(1)
	}
	l.store()
	dir := s.n.partitionDir(l.id)
	s.close()
	boot := func(fsys vfs.FS) (*Node, error) {
		return Open(Options{
			FS: fsys, Clock: s.clock, Executor: s.exec, Log: discardLog(), Layout: s.n.layout, Incarnation: protocol.Uint128From64(2),
			Metadata: MetadataOptions{JournalSlots: 1024, ClientsTableMax: 64, JournalEpoch: 2},
			Fatal:    func(code int, err error) { t.Errorf("fatal %d: %v", code, err) },
		})
	}
	fences := func(what string, n *Node) {
		t.Helper()
		if f := n.Fenced(l.id); f == nil || !strings.Contains(f.Error(), "input/output error") {
			t.Errorf("%s: fence %v", what, f)
		}
		if f := n.Fenced(l.other); f != nil {
			t.Errorf("%s: the partition beside it: %v", what, f)
		}
		after := &stepRig{rig: rig{t: t, n: n}, exec: s.exec, clock: s.clock, disk: disk}
		if ids, _, code := after.poll(l.other, otherRev, 0, 0, 10); code != protocol.Success || len(ids) != 1 {
			t.Errorf("%s: the partition beside it serves %d messages, %v", what, len(ids), code)
		}
		if _, _, code := after.poll(l.id, l.rev, 0, 0, 10); code != protocol.CodeCannotReadPartitions {
			t.Errorf("%s: poll %v", what, code)
		}
		if code := after.outcome(after.send(l.id, l.rev, record(t, 1, 1, 10))); code != protocol.CodeCannotReadPartitions {
			t.Errorf("%s: send %v", what, code)
		}
		if after.metric("galgo_partitions_fenced_total") != 1 || after.metric("galgo_partitions_fenced_device_total") != 1 {
			t.Errorf("%s: the metric does not tell", what)
		}
		after.close()
	}
	for _, name := range []string{".log", ".index", "superblock.a", "superblock.b", "owner", "purge.gen"} {
		disk.SetReadHook(func(path string, _ int64, _ int) error {
			if strings.HasPrefix(path, dir) && strings.HasSuffix(path, name) {
				return syscall.EIO
			}
			return nil
		})
		n, err := boot(disk)
		if err != nil {
			t.Fatalf("%s: the node refuses: %v", name, err)
		}
		fences(name, n)
	}
	disk.SetReadHook(nil)
	for _, blind := range []string{s.n.layout.Topics(0), s.n.layout.Partitions(0, 0), dir} {
		n, err := boot(blindFS{disk, blind})
		if err != nil {
			t.Fatalf("%s: the node refuses: %v", blind, err)
		}
		fences(blind, n)
	}
	for _, name := range []string{"journal.wal", "journal.mirror", "metadata/superblock.a"} {
		disk.SetReadHook(func(path string, _ int64, _ int) error {
			if strings.HasSuffix(path, name) {
				return syscall.EIO
			}
			return nil
		})
		if n, err := boot(disk); err == nil {
			t.Errorf("%s: the node starts", name)
			_ = n.Close()
		}
	}
}
