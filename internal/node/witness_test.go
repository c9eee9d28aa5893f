package node

import (
	"errors"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/gatecheck"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// liar is a file system that confirms syncs that it does not do.
type liar struct {
	vfs.FS
	dirs, journals bool
}

func (l *liar) SyncDir(name string) error {
	if l.dirs {
		return nil
	}
	return l.FS.SyncDir(name)
}

func (l *liar) OpenFile(name string, flags vfs.Flags) (vfs.File, error) {
	f, err := l.FS.OpenFile(name, flags)
	return &liarFile{f, l}, err
}

type liarFile struct {
	vfs.File
	liar *liar
}

func (f *liarFile) Datasync() error {
	if f.liar.journals {
		return nil
	}
	return f.File.Datasync()
}

// gated boots a node behind a gate that keeps what it refuses. lie, when it is set, stands between the two.
func gated(t *testing.T, lie *liar) (*metaLife, *gatecheck.Gate, func() []string) {
	t.Helper()
	var refused []string
	disk := vfs.NewMem(1)
	gate := gatecheck.New(disk, func(err error) {
		var early *gatecheck.EarlyError
		if !errors.As(err, &early) {
			t.Error(err)
		}
		refused = append(refused, err.Error())
	})
	l := &metaLife{exec: newLaneExecutor(1), sessions: map[uint64]uint64{}, replies: map[int][]byte{}}
	o := stepOptions(gate)
	if lie != nil {
		lie.FS = gate
		o.FS = lie
	}
	o.Executor, o.Clock, o.Witness = l.exec, &handClock{ticks: 1000}, gate
	o.Fatal = func(code int, err error) { t.Errorf("exit %d: %v", code, err) }
	var err error
	if l.n, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if !l.until(l.n.Bootstrapped) {
		t.Fatal("not bootstrapped")
	}
	return l, gate, func() []string { return refused }
}

func wantRefused(t *testing.T, refused []string, what, why string) {
	t.Helper()
	for _, r := range refused {
		if strings.Contains(r, what) && strings.Contains(r, why) {
			return
		}
	}
	t.Fatalf("refused %q, want %q because %q", refused, what, why)
}

func TestGate_NothingIsRefusedWhereNothingIsEarly(t *testing.T) {
	l, gate, refused := gated(t, nil)
	if _, err := l.play(metaScript(20), 0); err != nil {
		t.Fatal(err)
	}
	if c := gate.Checks(); len(refused()) > 0 || c.Answers < 20 {
		t.Fatalf("%+v, %q", c, refused())
	}
}

// The disk confirms what it has not done: the node believes it, the gate does not.
func TestGate_NoticesASuperblockThatIsNotDurable(t *testing.T) {
	l, _, refused := gated(t, &liar{dirs: true})
	if _, err := l.play(metaScript(0), 0); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, refused(), "answer to op 2 (Register)", "no superblock")
}

func TestGate_NoticesAJournalThatIsNotDurable(t *testing.T) {
	lie := &liar{}
	l, _, refused := gated(t, lie)
	if _, err := l.play(metaScript(0), 0); err != nil || len(refused()) > 0 {
		t.Fatal(err, refused())
	}
	lie.journals = true
	if _, answered := l.stream(1); !answered {
		t.Fatal("no answer")
	}
	wantRefused(t, refused(), "(CreateStream)", "the journal does not hold it")
}

// The node itself breaks the rule: a completion comes before its write has ended.
func TestGate_NoticesACompletionThatCameEarly(t *testing.T) {
	l, _, refused := gated(t, nil)
	if _, err := l.play(metaScript(0), 0); err != nil || len(refused()) > 0 {
		t.Fatal(err, refused())
	}
	a := &frameAnswer{}
	a.work = Work{Group: protocol.MetadataGroup, Request: vsr.Request{
		Client: protocol.Uint128From64(5), Session: l.sessions[5], Request: 1, Operation: protocol.OpCreateStream, Waiter: a,
		Body: vsr.Body{Bytes: command.CreateStream{Name: []byte("early")}.Append(nil)},
	}}
	var b Batch
	b.Add(l.n, &a.work)
	l.n.Submit(&b) // the append waits for its turn
	m := l.n.meta
	m.replica.Done(m.shard.now, vsr.Appended{Op: m.replica.Op()})
	m.shard.metaHot = true
	if l.n.Pass(0); !a.done {
		t.Fatal("no answer")
	}
	wantRefused(t, refused(), "(CreateStream)", "the journal does not hold it")
}

// The reservation is raised in memory before the superblock holds it: offsets beyond it must not be seen.
func TestGate_NoticesAReservationThatIsNotDurable(t *testing.T) {
	var refused []string
	s := openStepRigWith(t, vfs.NewMem(1), func(o *Options) {
		gate := gatecheck.New(o.FS, func(err error) { refused = append(refused, err.Error()) })
		o.FS, o.Witness = gate, gate
	})
	rev, id := s.newTopic(), groupID(t, 0, 0)
	s.sent(id, rev, 1)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	g := s.n.shards[0].groups[id]
	g.part.Claimed(partition.Claim{Frontier: 1, Reserved: 1 << 20})
	s.sent(id, rev, 500) // the superblock holds a lease of 100
	wantRefused(t, refused, "the view up to 500", "offsets are reserved up to 101")
}
