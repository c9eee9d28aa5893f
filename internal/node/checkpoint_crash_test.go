package node

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/gatecheck"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// checkpointSeeds is the number of orders of events through which the sweep goes.
var checkpointSeeds = flag.Uint64("checkpoint-seeds", 1, "orders of events for the crash sweep of checkpoints")

// laneExecutor runs file tasks when it is told to: the first of a lane that its seed chooses.
type laneExecutor struct {
	rng   *rand.Rand
	lanes []*Lane
	tasks map[*Lane][]func()
}

func newLaneExecutor(seed uint64) *laneExecutor {
	return &laneExecutor{rng: rand.New(rand.NewPCG(seed, 5)), tasks: map[*Lane][]func(){}}
}

func (e *laneExecutor) Submit(lane *Lane, run func()) {
	if len(e.tasks[lane]) == 0 {
		e.lanes = append(e.lanes, lane)
	}
	e.tasks[lane] = append(e.tasks[lane], run)
}

func (e *laneExecutor) Help() bool {
	if len(e.lanes) == 0 {
		return false
	}
	i := e.rng.IntN(len(e.lanes))
	lane := e.lanes[i]
	run := e.tasks[lane][0]
	if e.tasks[lane] = e.tasks[lane][1:]; len(e.tasks[lane]) == 0 {
		e.lanes = slices.Delete(e.lanes, i, i+1)
	}
	run()
	return true
}

func (e *laneExecutor) Close() {
	for e.Help() {
	}
}

// metaOp is a request of the script: of one of several clients, with a number of its own.
type metaOp struct {
	client uint64
	number uint64
	op     protocol.Operation
	user   uint32
	body   []byte
}

// metaScript signs clients in, has them make and remove streams, signs one in again and one out.
func metaScript(length int) []metaOp {
	var script []metaOp
	numbers := map[uint64]uint64{}
	for _, c := range []uint64{5, 3, 9} {
		script = append(script, metaOp{client: c, op: protocol.OpRegister, user: metadata.RootUser})
	}
	for i := range length {
		client := []uint64{5, 3, 9}[i%3]
		switch {
		case i == length/2:
			script = append(script, metaOp{client: 3, op: protocol.OpRegister, user: metadata.RootUser})
		case i == length*3/4:
			script = append(script, metaOp{client: 7, op: protocol.OpRegister, user: metadata.RootUser})
		}
		numbers[client] += 1 + uint64(i%2) // gaps are allowed
		o := metaOp{client: client, number: numbers[client], op: protocol.OpCreateStream,
			body: command.CreateStream{Name: fmt.Appendf(nil, "stream-%d", i)}.Append(nil)}
		if i%5 == 4 {
			o.op, o.body = protocol.OpDeleteStream, protocol.NamedID(fmt.Sprintf("stream-%d", i-2)).Append(nil)
		}
		script = append(script, o)
	}
	return script
}

// metaLife is a node and the clients of a script, which go on with their sessions whatever node they meet.
type metaLife struct {
	n        *Node
	exec     *laneExecutor
	disk     vfs.FS
	sessions map[uint64]uint64
	replies  map[int][]byte // by position in the script
	fatal    error
}

const crashSlots = checkpointMarginMin + 12 // a checkpoint every dozen operations

// bootMeta opens a node; slots 0 is a journal that needs no checkpoint.
func bootMeta(disk vfs.FS, seed uint64, slots int, before *metaLife) (*metaLife, error) {
	l := &metaLife{disk: disk, exec: newLaneExecutor(seed), sessions: map[uint64]uint64{}, replies: map[int][]byte{}}
	if before != nil {
		l.sessions, l.replies = before.sessions, before.replies
	}
	o := stepOptions(disk)
	o.Executor, o.Clock = l.exec, &handClock{ticks: 1000}
	if o.Metadata.JournalSlots = slots; slots == 0 {
		o.Metadata.JournalSlots = 1 << 16
	}
	o.Fatal = func(code int, err error) { l.fatal = fmt.Errorf("exit %d: %w", code, err) }
	gate := gatecheck.New(o.FS, func(err error) { l.fatal = err })
	o.FS, o.Witness = gate, gate
	var err error
	if l.n, err = Open(o); err != nil {
		return nil, err
	}
	if !l.until(l.n.Bootstrapped) {
		return l, vfs.ErrCrashed
	}
	return l, nil
}

// until runs passes and tasks until done, or until nothing is left that could bring it about.
func (l *metaLife) until(done func() bool) bool {
	for !done() {
		l.n.Pass(0)
		if done() {
			break
		}
		if l.fatal != nil || !l.exec.Help() && l.n.shards[0].inbox.empty() {
			return false
		}
	}
	return true
}

// idle runs everything that is on its way to its end.
func (l *metaLife) idle() {
	l.until(func() bool { return len(l.exec.lanes) == 0 && l.n.shards[0].inbox.empty() })
	l.n.Pass(0)
}

// frameAnswer is a Waiter that keeps what the client would read.
type frameAnswer struct {
	work    Work
	done    bool
	outcome vsr.Outcome
	op      uint64
	body    []byte
}

func (a *frameAnswer) Complete(r *vsr.Reply) {
	a.done, a.outcome, a.body = true, r.Outcome, bytes.Clone(r.Body)
	if r.Prepare != nil {
		a.op = r.Prepare.Op()
	} else if r.Outcome.Verdict == vsr.Replayed {
		a.body = bytes.Clone(r.Outcome.Frame[protocol.HeaderSize:])
	}
}

func (a *frameAnswer) Flusher() Flusher { return nil }

// request sends a request of the script and reports whether it was answered.
func (l *metaLife) request(o *metaOp) (*frameAnswer, bool) {
	a := &frameAnswer{}
	a.work = Work{Group: protocol.MetadataGroup, Request: vsr.Request{
		Client: protocol.Uint128From64(o.client), Session: l.sessions[o.client], Request: o.number, Operation: o.op, UserID: o.user,
		Body: vsr.Body{Bytes: o.body}, RequestChecksum: protocol.Uint128From64(o.number * 77), Waiter: a,
	}}
	var b Batch
	b.Add(l.n, &a.work)
	l.n.Submit(&b)
	return a, l.until(func() bool { return a.done })
}

// play runs the script from a position on and returns how far it came.
func (l *metaLife) play(script []metaOp, from int) (int, error) {
	for i := from; i < len(script); i++ {
		o := &script[i]
		a, answered := l.request(o)
		if !answered {
			return i, nil
		}
		if o.op == protocol.OpRegister {
			l.sessions[o.client] = a.op
		}
		code, _, ok := protocol.CutResult(a.body)
		if !ok || a.outcome.Verdict != vsr.Accepted && a.outcome.Verdict != vsr.Replayed || code != protocol.Success {
			return i, fmt.Errorf("request %d (%s of client %d): %+v, code %v", i, o.op, o.client, a.outcome, code)
		}
		l.replies[i] = a.body
	}
	return len(script), nil
}

// state is the canonical form of what the node has applied, and its newest op.
func (l *metaLife) state() (uint64, []byte) {
	s := l.n.meta.state
	return s.View().Revision, s.Snapshot(nil)
}

// reference plays the script on a node that never checkpoints nor crashes: the state at every op, and the
// replies.
func reference(t *testing.T, script []metaOp) (states map[uint64][]byte, replies map[int][]byte) {
	t.Helper()
	l, err := bootMeta(vfs.NewMem(1), 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	states = map[uint64][]byte{}
	op, state := l.state()
	states[op] = state
	for i := range script {
		if _, err := l.play(script[:i+1], i); err != nil {
			t.Fatal(err)
		}
		op, state := l.state()
		states[op] = state
	}
	if l.n.metrics.checkpoints.Load() > 0 {
		t.Fatal("the reference has checkpoints")
	}
	return states, l.replies
}

// checkpointRow names the phase in which a crash before the operation falls. The rows are those of the table in
// docs/formats.md.
func checkpointRow(op vfs.Op, draining bool) string {
	name := op.Path[strings.LastIndexByte(op.Path, '/')+1:]
	switch {
	case strings.HasPrefix(name, "snapshot.bin"):
		return "during the snapshot, before its rename"
	case strings.HasPrefix(name, "superblock."):
		return "during the superblock"
	case draining && (name == "journal.wal.tmp" && op.Kind == vfs.OpRename || name == "journal.mirror"):
		return "during the drain, around its rename"
	case draining && name == "journal.wal.tmp":
		return "during the drain, before its rename"
	}
	return ""
}

// TestFault_Row21_CrashInEveryPhaseOfACheckpoint crashes a node before every file operation of a life with
// checkpoints, with every fate of what was not synced. The next start must come to the state that a node without
// crash or checkpoint had at the same op, client table included, and at least to what was acknowledged. Then the
// clients go on in their sessions, the one that got no answer with a retry: in the end the state must be, byte for
// byte, the one in which everything was executed once. At the end of that the machine loses power once more.
func TestFault_Row21_CrashInEveryPhaseOfACheckpoint(t *testing.T) {
	script := metaScript(34)
	states, replies := reference(t, script)
	rows := map[string]int{}
	defer func() { t.Logf("crash points by row: %v", rows) }()
	for seed := range *checkpointSeeds {
		after := "" // what the operation before did
		for n := uint64(1); ; n++ {
			disk := vfs.NewMem(seed)
			var at vfs.Op
			files, draining := 0, false // journal files made; the first is that of the first start
			disk.SetHook(func(op vfs.Op) error {
				if strings.HasSuffix(op.Path, "journal.wal.tmp") && op.Kind == vfs.OpCreate {
					files++
					draining = files > 1
				}
				if op.Number == n {
					at = op
					return vfs.ErrCrashed
				}
				draining = draining && !strings.HasSuffix(op.NewPath, "journal.wal")
				return nil
			})
			done := 0
			l, err := bootMeta(disk, seed, crashSlots, nil)
			if err == nil {
				if done, err = l.play(script, 0); err != nil {
					t.Fatalf("seed %d, operation %d: %v", seed, n, err)
				}
			}
			if at.Number == 0 {
				if l.n.metrics.checkpoints.Load() < 2 {
					t.Fatalf("seed %d: %d checkpoints in a life of %d operations", seed, l.n.metrics.checkpoints.Load(), n)
				}
				break
			}
			row := checkpointRow(at, draining)
			if at.Kind == vfs.OpSyncDir && after != "" {
				row = after + ", renamed and the directory not synced"
			}
			if after = ""; at.Kind == vfs.OpRename {
				after = strings.TrimSuffix(at.NewPath[strings.LastIndexByte(at.NewPath, '/')+1:], ".wal")
			}
			rows[row]++
			fates := map[string]*vfs.Mem{}
			for _, mode := range vfs.CrashModes {
				fates[mode.String()] = disk.CrashClone(rand.New(rand.NewPCG(seed, n)), mode)
			}
			disk.Restart()
			fates["killed, then power lost"] = disk
			for fate, found := range fates {
				if err := goesOn(found, script, done, l, seed, states, replies); err != nil {
					t.Fatalf("seed %d, crash before %s (%s), %s: %v", seed, at, row, fate, err)
				}
			}
		}
	}
	for _, row := range []string{
		"during the snapshot, before its rename", "snapshot.bin, renamed and the directory not synced", "during the superblock",
		"superblock.a, renamed and the directory not synced", "superblock.b, renamed and the directory not synced",
		"during the drain, before its rename", "during the drain, around its rename", "journal, renamed and the directory not synced",
	} {
		if rows[row] == 0 {
			t.Errorf("no crash %s", row)
		}
	}
}

// goesOn boots on what a crash left and plays the script to its end.
func goesOn(found *vfs.Mem, script []metaOp, done int, before *metaLife, seed uint64, states map[uint64][]byte, replies map[int][]byte) error {
	clients := &metaLife{sessions: map[uint64]uint64{}, replies: map[int][]byte{}}
	if before != nil {
		for i := range done {
			clients.replies[i] = before.replies[i]
		}
		for c, s := range before.sessions {
			clients.sessions[c] = s
		}
	}
	l, err := bootMeta(found, seed+7, crashSlots, clients)
	if err != nil {
		return err
	}
	op, state := l.state()
	if want, ok := states[op]; !ok || !bytes.Equal(state, want) {
		return fmt.Errorf("op %d is not the state that it was", op)
	}
	if acked := uint64(done) + 1; op < acked { // the bootstrap is op 1
		return fmt.Errorf("op %d was acknowledged, the node is at op %d", acked, op)
	}
	if done < len(script) && op > uint64(done)+1 && script[done].op == protocol.OpRegister {
		// A Register that was executed and not answered is repeated as another one, which the
		// reference has not, and the session before it is fenced.
		return nil
	}
	if done > 0 && script[done-1].op != protocol.OpRegister { // a late retry gets the same answer again
		a, answered := l.request(&script[done-1])
		if !answered || a.outcome.Verdict != vsr.Replayed || !bytes.Equal(a.body, replies[done-1]) {
			return fmt.Errorf("retry of request %d, which was answered: %+v", done-1, a.outcome)
		}
	}
	if to, err := l.play(script, done); err != nil || to != len(script) {
		return fmt.Errorf("went on from request %d to %d: %w", done, to, err)
	}
	for i := range script {
		if !bytes.Equal(l.replies[i], replies[i]) {
			return fmt.Errorf("request %d has another reply", i)
		}
	}
	l.idle()
	again, err := bootMeta(found.CrashClone(rand.New(rand.NewPCG(seed, 1)), vfs.LoseUnsynced), seed, crashSlots, nil)
	if err != nil {
		return fmt.Errorf("after the last loss of power: %w", err)
	}
	for _, l := range []*metaLife{l, again} {
		if op, state := l.state(); !bytes.Equal(state, states[uint64(len(script))+1]) {
			return fmt.Errorf("at the end of the script the state of op %d is another", op)
		}
	}
	return nil
}
