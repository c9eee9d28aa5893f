package sim

import (
	"errors"
	"fmt"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
	"maps"
	"slices"
)

// Run lives the life of a seed. An error names what broke; the seed replays it.
func Run(seed uint64, opts Options) (Report, error) {
	w, err := New(seed, opts)
	if err == nil {
		err = w.Live()
	}
	if err != nil {
		return Report{}, fmt.Errorf("seed %d: %w", seed, err)
	}
	return w.Report, nil
}

// Live runs all lives and ends with a graceful stop and one more boot.
func (w *World) Live() error {
	for range max(w.opts.Crashes, 0) {
		if err := w.liveAndDie(); err != nil {
			return err
		}
	}
	if err := w.live(w.opts.Steps); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	return w.stopGracefully()
}

// liveAndDie works for a while, dies at some file operation, and boots on what is left.
func (w *World) liveAndDie() error {
	steps := 1 + w.rng.IntN(w.opts.Steps)
	w.dieAt(w.disk.Ops() + 1 + w.rng.Uint64N(uint64(steps)))
	err := w.live(steps)
	if err != nil && !errors.Is(err, errDied) {
		return err
	}
	return w.crashAndReopen()
}

// dieAt has the node die before mutating file operation number n.
func (w *World) dieAt(n uint64) {
	w.disk.SetHook(func(op vfs.Op) error {
		if op.Number < n {
			return nil
		}
		if w.dead == nil {
			w.dead = fmt.Errorf("crash before %s", op)
		}
		return vfs.ErrCrashed
	})
}

// live runs the workload for a number of steps or until the disk dies.
func (w *World) live(steps int) error {
	for range steps {
		switch w.rng.IntN(10) {
		case 0, 1:
			if err := w.send(); err != nil {
				return err
			}
		case 2:
			w.store()
		case 3:
			if w.rng.IntN(6) == 0 {
				if err := w.changeSomething(); err != nil {
					return err
				}
			} else if w.rng.IntN(20) == 0 {
				w.clock.Jump(int64(w.rng.IntN(7_200_000_000)) - 3_600_000_000)
			}
		default:
			w.step()
		}
		if err := w.collect(); err != nil {
			return err
		}
		if w.died() {
			return errDied
		}
	}
	return nil
}

// changeSomething has the first client change something in the metadata: that is what checkpoints are made of. A
// request that a crash cuts off is asked again in the next life; one that a full disk refuses is given up.
func (w *World) changeSomething() error {
	err := w.changeUsers()
	if errors.Is(err, protocol.CodeTransientNotAccepted) {
		w.clients[0].open = nil
		return nil
	}
	return err
}

func (w *World) changeUsers() error {
	if err := w.createUser(fmt.Sprintf("user%d", w.clients[0].request)); err != nil {
		return err
	}
	var there []string
	for _, name := range slices.Sorted(maps.Keys(w.catalog.users)) {
		if w.catalog.users[name] {
			there = append(there, name)
		}
	}
	if len(there) <= usersMax {
		return nil
	}
	return w.deleteUser(there[0])
}

// usersMax bounds what the lives of a seed make.
const usersMax = 5

// crashAndReopen drops the process and, as the seed says, what the machine had not written; then boots.
func (w *World) crashAndReopen() error {
	mode := vfs.CrashModes[w.rng.IntN(len(vfs.CrashModes))]
	if err := w.lose(w.disk.CrashClone(w.rng, mode), mode != vfs.KillOnly); err != nil {
		return err
	}
	if err := w.boot(); err != nil {
		return fmt.Errorf("after a crash (%s): %w", mode, err)
	}
	for _, c := range w.clients {
		if err := w.askAgain(c); err != nil {
			return fmt.Errorf("after a crash (%s): %w", mode, err)
		}
	}
	if mode == vfs.TearSectors || mode == vfs.TearBytes {
		w.dropFenced()
	}
	if err := w.check(); err != nil {
		return fmt.Errorf("after a crash (%s): %w", mode, err)
	}
	if len(w.partitions) < 2 {
		return w.createTopics()
	}
	return nil
}

func (w *World) countCheckpoints() {
	if w.node == nil {
		return
	}
	for _, m := range w.node.Metrics() {
		if m.Name == "galgo_metadata_checkpoints_total" {
			w.Report.Checkpoints += uint64(m.Value)
		}
	}
}

// lose ends a life: disk is what is left of it.
func (w *World) lose(disk *vfs.Mem, power bool) error {
	if power {
		w.bootID[0]++
		w.Report.PowerLosses++
	} else {
		w.Report.Kills++
	}
	w.exec.dead = true
	w.countCheckpoints()
	for _, c := range w.pending {
		if c.done {
			if err := w.answer(c); err != nil {
				return err
			}
		} else if c.messages == nil {
			c.model.maybe[c.key] = append(c.model.maybe[c.key], c.store)
		}
	}
	w.pending = nil
	w.disk = disk
	for _, m := range w.catalog.parts() {
		m.crashed(power)
	}
	return nil
}

// dropFenced takes partitions out of the workload that a power loss left with a hole in bytes that were not
// synced, and whole batches behind it. Recovery cannot tell that from rot in synced bytes and refuses to cut:
// the files stay for an operator. A topic with synced messages has the log, which tells.
func (w *World) dropFenced() {
	serving := w.partitions[:0]
	for _, m := range w.partitions {
		var refusal *segment.Refusal
		if f := w.node.Fenced(m.id); f != nil && !m.fsync && errors.As(f, &refusal) {
			w.Report.Fenced++
			continue
		}
		serving = append(serving, m)
	}
	w.partitions = serving
}

// check holds everything the node serves against what its clients know.
func (w *World) check() error {
	if !w.settle(func() bool { return w.exec.Pending() == 0 && len(w.unanswered()) == 0 }) {
		return w.giveUp("outstanding work")
	}
	if err := w.collect(); err != nil {
		return err
	}
	for _, m := range w.partitions {
		if err := w.checkPartition(m); err != nil {
			return err
		}
	}
	return w.checkCatalog()
}

func (w *World) unanswered() []*call {
	var open []*call
	for _, c := range w.pending {
		if !c.done {
			open = append(open, c)
		}
	}
	return open
}

func (w *World) checkPartition(m *partitionModel) error {
	stream, topic, part := m.id.Partition()
	st := w.node.View().StreamByID(stream)
	if st == nil || st.TopicByID(topic) == nil {
		return fmt.Errorf("acknowledged topic %d/%d is gone", stream, topic)
	}
	p, ok := st.TopicByID(topic).Partition(part)
	if !ok || p.CreatedRevision != m.revision {
		return fmt.Errorf("acknowledged partition %s is gone", m.id)
	}
	found, err := w.read(m)
	if err != nil {
		return err
	}
	if err := m.compare(found); err != nil {
		return err
	}
	if err := w.checkGaps(m, slices.Sorted(maps.Keys(found))); err != nil {
		return err
	}
	if err := w.checkFiles(m); err != nil {
		return err
	}
	return w.checkStored(m)
}

// checkStored holds the stored offsets against what clients know.
func (w *World) checkStored(m *partitionModel) error {
	for key := range m.ever {
		end, got, ok, code := w.node.ConsumerOffset(m.id, m.revision, w.generation(m), key)
		v := storedOffset{got, ok}
		if was := m.stored[key]; code != protocol.Success || !m.storedMayBe(key, v, end) {
			return fmt.Errorf("partition %s: consumer %v stored %v, reads %v of %d (code %d)", m.id, key, was, v, end, code)
		}
	}
	return nil
}

// stopGracefully closes the node and opens it again: nothing may be missing and no offset may be skipped.
func (w *World) stopGracefully() error {
	w.disk.SetHook(nil)
	next := map[protocol.GroupID]uint64{}
	for _, m := range w.partitions {
		next[m.id] = w.node.PartitionStats(m.id, m.revision, 0).Messages
	}
	if err := w.node.Close(); err != nil {
		return fmt.Errorf("graceful stop: %w", err)
	}
	w.disk = w.disk.CrashClone(w.rng, vfs.LoseUnsynced)
	if err := w.boot(); err != nil {
		return fmt.Errorf("after a graceful stop: %w", err)
	}
	if err := w.check(); err != nil {
		return fmt.Errorf("after a graceful stop: %w", err)
	}
	for _, m := range w.partitions {
		if got := w.node.PartitionStats(m.id, m.revision, 0).Messages; got != next[m.id] {
			return fmt.Errorf("partition %s: %d messages before a graceful stop, %d after", m.id, next[m.id], got)
		}
	}
	return nil
}
