package shardlog

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// The model holds every record that was appended, in order, and knows how many of them are synced. After a crash
// the logs must tell the state that some prefix of these records leads to, no shorter than what is synced.

// modelOp is one prepare of a group.
type modelOp struct {
	op uint64
	id protocol.Uint128
}

// modelState is what the records of one incarnation lead to.
type modelState struct {
	ops                  []modelOp
	checkpoint           int64 // -1 without one
	dropped, reset, lost bool
}

func (s *modelState) drop(keep func(op uint64) bool) {
	s.ops = slices.DeleteFunc(slices.Clone(s.ops), func(o modelOp) bool { return !keep(o.op) })
}

func (s *modelState) apply(r *Record) {
	if s.dropped {
		return
	}
	switch r.Kind {
	case wal.KindPrepare:
		o := modelOp{r.Header.Op(), r.Header.Common().Checksum()}
		if int64(o.op) <= s.checkpoint || slices.Contains(s.ops, o) {
			return
		}
		if slices.ContainsFunc(s.ops, func(p modelOp) bool { return p.op == o.op }) {
			s.drop(func(op uint64) bool { return op < o.op })
		}
		s.ops = append(slices.Clone(s.ops), o)
		slices.SortFunc(s.ops, func(a, b modelOp) int { return int(a.op) - int(b.op) })
	case wal.KindCheckpoint, wal.KindInstalled:
		c, _ := DecodeCheckpoint(r.Body)
		s.checkpoint = int64(c.Op)
		s.drop(func(op uint64) bool { return op > c.Op })
		if r.Kind == wal.KindInstalled {
			s.reset, s.lost = false, false
		}
	case wal.KindTruncate:
		from, _ := decodeTruncate(r.Body)
		s.drop(func(op uint64) bool { return op < from.FromOp })
	case wal.KindReset:
		s.ops, s.checkpoint, s.reset = nil, -1, true
	case wal.KindLost:
		s.lost = true
	case wal.KindAdopted:
		s.lost = false
	case wal.KindDropped:
		s.dropped = true
	}
}

// modelLog is one log as the model knows it.
type modelLog struct {
	records []Record // appended, in order, since the first life
	batches []uint64 // of each
	doubts  []modelDoubt
	synced  int // how many of records must survive
}

// modelDoubt is a batch whose append failed: a prefix of it may be found where it should have been, until a sync
// covers what was appended there instead.
type modelDoubt struct {
	at      int // records before it
	records []Record
}

func modelStates(records []Record) map[incarnationKey]*modelState {
	states := map[incarnationKey]*modelState{}
	for _, r := range records {
		k := incarnationKey{r.Group, r.Revision}
		if states[k] == nil {
			states[k] = &modelState{checkpoint: -1}
		}
		states[k].apply(&r)
	}
	return states
}

const modelShards = 2

// modelShard is the owner of a group; ids are even (synced) and odd (written).
func modelShard(g protocol.GroupID) int { return int(g/2) % modelShards }

// world is a node whose life the model follows.
type world struct {
	t      testing.TB
	rng    *rand.Rand
	fs     *vfs.Mem
	opts   Options
	ls     *Logs
	logs   [modelShards]*Log
	model  [modelShards]modelLog
	chains []*chain
	state  map[protocol.GroupID]*modelState // of the living incarnation, all records counted
	note   string                           // for failures
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{t: t, rng: rngOf(seed), fs: vfs.NewMem(seed), opts: testOptions(seed), note: fmt.Sprintf("seed %d", seed)}
	w.opts.FileBytes, w.opts.RetainedBytes = 16<<10, 32<<10
	if err := errors.Join(w.fs.MkdirAll("/data"), w.fs.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	for g := range 6 {
		w.chains = append(w.chains, newChain(protocol.GroupID(g+2)))
	}
	return w
}

// boot starts the node and checks what it finds; a crash on the way is an error.
func (w *world) boot() error {
	ls, err := Scan(w.fs, walDir, w.opts)
	if err != nil {
		return err
	}
	w.ls = ls
	w.check()
	if err := ls.Begin(); err != nil {
		return err
	}
	ls.Replayed()
	for n := range w.logs {
		if w.logs[n], err = ls.Shard(n); err != nil {
			return err
		}
	}
	return nil
}

// check compares what the scan found with the model and makes the model forget what a crash took.
func (w *world) check() {
	w.t.Helper()
	for _, d := range w.ls.Damage() {
		if _, torn := d.(*TornTail); !torn {
			w.t.Fatalf("%s: damage: %v", w.note, d)
		}
	}
	for n := range w.model {
		m := &w.model[n]
		found, why := w.explain(n)
		if found == nil {
			w.t.Fatalf("%s: log %d: %d records, %d of them synced: no prefix explains what is there; %v",
				w.note, n, len(m.records), m.synced, why)
		}
		m.records = found
		m.batches = make([]uint64, len(found)) // of what is synced nobody asks
		m.doubts, m.synced = nil, len(found)
	}
	w.follow()
}

// explain finds the records that lead to what the scan found.
func (w *world) explain(n int) (records []Record, why error) {
	m := &w.model[n]
	for k := len(m.records); k >= m.synced; k-- {
		err := w.matches(n, modelStates(m.records[:k]))
		if err == nil {
			return append([]Record{}, m.records[:k]...), nil
		}
		why = errors.Join(why, fmt.Errorf("%d records: %w", k, err))
	}
	for _, d := range m.doubts {
		for j := 1; j <= len(d.records) && d.at >= m.synced; j++ {
			records := slices.Concat(m.records[:d.at], d.records[:j])
			if w.matches(n, modelStates(records)) == nil {
				return records, nil
			}
		}
	}
	return nil, why
}

// matches compares the groups of one log with the states that the model has for them.
func (w *world) matches(n int, states map[incarnationKey]*modelState) error {
	for _, g := range w.ls.Groups() {
		if modelShard(g.Group) == n && states[incarnationKey{g.Group, g.Revision}] == nil {
			return fmt.Errorf("group %d of revision %d was found", g.Group, g.Revision)
		}
	}
	for k, s := range states {
		g, ok := w.ls.Find(k.group, k.revision)
		switch {
		case s.dropped:
			if ok && !g.Dropped {
				return fmt.Errorf("dropped group %d lives", k.group)
			}
			continue
		case !ok:
			return fmt.Errorf("group %d has no record", k.group)
		case g.State != Intact || g.Dropped:
			return fmt.Errorf("group %d: state %d, dropped %v: %w", k.group, g.State, g.Dropped, g.Reason)
		case (g.Reset != nil) != s.reset || g.LostMark != s.lost:
			return fmt.Errorf("group %d: reset %v, lost %v", k.group, g.Reset != nil, g.LostMark)
		case (g.Checkpoint != nil) != (s.checkpoint >= 0) || g.Checkpoint != nil && int64(g.Checkpoint.Op) != s.checkpoint:
			return fmt.Errorf("group %d: checkpoint %+v, want %d", k.group, g.Checkpoint, s.checkpoint)
		}
		var found []modelOp
		for i := range g.Entries {
			if e := &g.Entries[i]; !e.IsLocal() {
				found = append(found, modelOp{e.Op, e.Checksum})
				if _, _, err := w.ls.Read(*e, nil); err != nil {
					return err
				}
			}
		}
		if !slices.Equal(found, s.ops) {
			return fmt.Errorf("group %d, checkpoint %d: ops %v, want %v", k.group, s.checkpoint, found, s.ops)
		}
	}
	return nil
}

// follow brings the chains of the groups to where the model is.
func (w *world) follow() {
	w.state = map[protocol.GroupID]*modelState{}
	for n := range w.model {
		for k, s := range modelStates(w.model[n].records) {
			c := w.chain(k.group)
			if k.revision < c.revision {
				continue
			}
			w.state[k.group], c.revision = s, k.revision
			c.op, c.parent = uint64(max(s.checkpoint, 0)), protocol.Uint128{}
			if i := len(s.ops); i > 0 {
				c.op, c.parent = s.ops[i-1].op, s.ops[i-1].id
			}
		}
	}
}

func (w *world) chain(g protocol.GroupID) *chain { return w.chains[g-2] }

// append hands a batch to the log of the group and notes what came of it.
func (w *world) append(n int, records []Record) error {
	l, m := w.logs[n], &w.model[n]
	for {
		batch, err := l.Append(records)
		switch {
		case err == nil:
			for _, r := range records {
				m.records, m.batches = append(m.records, r), append(m.batches, batch)
			}
			for i := range records {
				w.apply(&records[i])
			}
			return nil
		case errors.Is(err, ErrNotReady):
			if err := w.prepareFile(l); err != nil {
				return err
			}
		case errors.Is(err, ErrUnsynced):
			return err
		default:
			m.doubts = append(m.doubts, modelDoubt{len(m.records), records})
			w.follow() // the chains had gone ahead
			return err
		}
	}
}

// prepareFile repeats what a failing medium interrupts.
func (w *world) prepareFile(l *Log) error {
	for {
		err := l.PrepareFile()
		if err == nil || errors.Is(err, vfs.ErrCrashed) || errors.Is(err, ErrOutOfService) {
			return err
		}
	}
}

func (w *world) apply(r *Record) {
	s := w.state[r.Group]
	if s == nil || r.Kind == wal.KindBirth {
		s = &modelState{checkpoint: -1}
		w.state[r.Group] = s
	}
	s.apply(r)
}

// act does one random thing.
func (w *world) act() error {
	n := w.rng.IntN(modelShards)
	l := w.logs[n]
	defer w.noteSynced()
	switch p := w.rng.IntN(100); {
	case p < 55:
		return w.append(n, w.batch(n))
	case p < 75:
		_, err := l.Sync()
		if err != nil && !errors.Is(err, vfs.ErrCrashed) && !errors.Is(err, ErrOutOfService) {
			return w.prepareFile(l)
		}
		return err
	case p < 85:
		if l.WantsFile() {
			return w.prepareFile(l)
		}
		return nil
	default:
		err := l.Reclaim()
		if err != nil && !errors.Is(err, vfs.ErrCrashed) && l.WantsFile() {
			return w.prepareFile(l)
		}
		return err
	}
}

func (w *world) noteSynced() {
	for n := range w.model {
		if w.logs[n] == nil {
			continue
		}
		m := &w.model[n]
		for m.synced < len(m.records) && m.batches[m.synced] <= w.logs[n].Synced() {
			m.synced++
		}
	}
}

// batch makes records of groups of a shard that follow what the model knows.
func (w *world) batch(n int) []Record {
	var records []Record
	states := map[protocol.GroupID]modelState{}
	for range 1 + w.rng.IntN(3) {
		c := w.chains[w.rng.IntN(len(w.chains))]
		if modelShard(c.group) != n {
			continue
		}
		s, known := states[c.group]
		if !known && w.state[c.group] != nil {
			s, known = *w.state[c.group], true
		}
		var r Record
		if !known || s.dropped {
			c.revision++
			c.op, c.parent = 0, protocol.Uint128{}
			r, s = c.birth(), modelState{checkpoint: -1}
		} else {
			r = w.record(c, &s)
		}
		s.apply(&r)
		states[c.group] = s
		records = append(records, r)
	}
	if len(records) == 0 {
		return w.batch(n)
	}
	return records
}

// record makes one that may follow.
func (w *world) record(c *chain, s *modelState) Record {
	if s.reset { // nothing but the end of the install
		c.op, c.parent = c.op+uint64(w.rng.IntN(5)), protocol.Uint128{}
		return c.control(wal.KindInstalled, EncodeCheckpoint(nil, &Checkpoint{Op: c.op}))
	}
	switch p := w.rng.IntN(100); {
	case p < 15:
		low := uint64(max(s.checkpoint, 0))
		return c.checkpoint(low+w.rng.Uint64N(c.op-low+1), 1)
	case p < 20 && len(s.ops) > 0:
		o := s.ops[w.rng.IntN(len(s.ops))]
		c.op, c.parent, c.salt = o.op-1, protocol.Uint128{Lo: 1}, c.salt+1
		return c.control(wal.KindTruncate, Truncate{FromOp: o.op, View: 4}.AppendTo(nil))
	case p < 23:
		return c.control(wal.KindReset, Reset{CommitOp: c.op}.AppendTo(nil))
	case p < 26:
		return c.control(wal.KindLost, LossMark{Reason: 1}.AppendTo(nil))
	case p < 29:
		return c.control(wal.KindAdopted, Adopted{View: 4, Op: c.op}.AppendTo(nil))
	case p < 31:
		return c.control(wal.KindDropped, nil)
	case p < 35:
		return c.control(wal.KindLocal, Local{ConsumerKind: 1, ID: 5, Offset: c.op}.AppendTo(nil))
	}
	c.salt++
	return c.prepare(w.rng.IntN(900))
}

// crash takes power away, or only the process, and puts what is left in the place of the file system.
func (w *world) crash() {
	mode := vfs.CrashModes[w.rng.IntN(len(vfs.CrashModes))]
	w.noteSynced()
	w.fs = w.fs.CrashClone(w.rng, mode)
	w.logs = [modelShards]*Log{}
	w.opts.BootID[0]++
	w.note += fmt.Sprintf(", %s", mode)
}

// life runs one life of the node: random actions until it crashes, is killed or stops in order.
func (w *world) life(actions int, hook vfs.Hook) {
	w.fs.SetHook(hook)
	err := w.boot()
	if err != nil { // the next one tries again
		w.crash()
		return
	}
	for i := 0; err == nil && i < actions; i++ {
		err = w.act()
		if err != nil && !errors.Is(err, vfs.ErrCrashed) {
			err = nil // of the medium: the log lives on
		}
	}
	if err != nil && !errors.Is(err, vfs.ErrCrashed) {
		w.t.Fatalf("%s: %v", w.note, err)
	}
	if err == nil && w.rng.IntN(3) == 0 && w.ls.Close(true) == nil {
		w.noteSynced()
	}
	w.crash()
}

// -shardlog.seeds runs more lives, -shardlog.first begins with another seed.
var (
	seedCount = flag.Uint64("shardlog.seeds", 150, "seeds of the model test")
	seedFirst = flag.Uint64("shardlog.first", 0, "first seed of the model test")
)

func TestModel_RandomLives(t *testing.T) {
	for seed := range *seedCount {
		runLives(t, *seedFirst+seed)
	}
}

// runLives runs the lives of one seed: crashes at random operations, failing syncs and writes.
func runLives(t testing.TB, seed uint64) {
	w := newWorld(t, seed)
	for range 6 {
		at := w.fs.Ops() + 1 + w.rng.Uint64N(400)
		faults := w.rng.IntN(3) == 0
		w.life(20+w.rng.IntN(150), func(op vfs.Op) error {
			switch {
			case op.Number == at:
				return vfs.ErrCrashed
			case faults && op.Kind == vfs.OpDatasync && w.rng.IntN(12) == 0:
				return errors.New("medium error")
			case faults && op.Kind == vfs.OpWrite && w.rng.IntN(40) == 0:
				return errors.New("medium error")
			}
			return nil
		})
	}
	w.fs.SetHook(nil)
	if err := w.boot(); err != nil {
		t.Fatalf("%s: %v", w.note, err)
	}
}
