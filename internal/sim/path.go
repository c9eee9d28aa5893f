package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/galgolog/galgo/internal/vfs"
)

// Path is a short script whose every file operation is a place to crash at.
type Path struct {
	Name string
	Options
	// Clients is the number of sessions, 0 means one.
	Clients int
	// Setup makes what was there before. It is not swept. Nil is a node that was never started.
	Setup func(w *World) error
	// End is how the life of the setup ends.
	End Ending
	// Cold has the boot before Run swept, too.
	Cold bool
	// Run is swept as a whole, or from the place where it calls mark.
	Run func(w *World) error
	// Marks tells that Run calls mark itself.
	Marks bool
}

// Ending is how a life ends that is not swept.
type Ending uint8

// Endings.
const (
	Graceful Ending = iota
	Killed
	PowerLost
)

// base runs the setup of p and returns the world as it is with the node down.
func (p *Path) base(seed uint64) (*World, error) {
	opts := p.Options
	if opts.JournalSlots == 0 {
		opts.JournalSlots = 128 // every boot reads the mirror, whose length follows
	}
	opts.LogFileBytes = large + 32<<10
	w := newWorld(seed, opts)
	for i := 1; i < p.Clients; i++ {
		w.clients = append(w.clients, newClient(0xC11E47+uint64(i)))
	}
	if p.Setup == nil {
		return w, nil
	}
	if err := w.boot(); err != nil {
		return nil, err
	}
	if err := p.Setup(w); err != nil {
		return nil, err
	}
	switch p.End {
	case Killed:
		return w, w.lose(w.disk.CrashClone(w.rng, vfs.KillOnly), false)
	case PowerLost:
		return w, w.lose(w.disk.CrashClone(w.rng, vfs.LoseUnsynced), true)
	}
	if err := w.drain(); err != nil {
		return nil, err
	}
	if err := w.node.Close(); err != nil {
		return nil, fmt.Errorf("graceful stop of the setup: %w", err)
	}
	return w, w.lose(w.disk.CrashClone(w.rng, vfs.KillOnly), false)
}

// clone returns a world of its own whose node is down.
func (w *World) clone() *World {
	c := *w
	c.rng = rand.New(rand.NewPCG(w.seed, 0x5eed))
	clock := *w.clock
	c.clock = &clock
	c.disk = w.disk.CrashClone(c.rng, vfs.KillOnly)
	c.exec, c.node, c.pending, c.partitions = nil, nil, nil, nil
	c.catalog = w.catalog.clone()
	c.clients = nil
	for _, cl := range w.clients {
		c.clients = append(c.clients, cl.clone())
	}
	return &c
}

// play runs the script of p from the node being down.
func (p *Path) play(w *World) error {
	if p.Cold {
		w.mark()
	}
	if err := w.boot(); err != nil {
		return err
	}
	w.idle(2)
	if w.died() {
		return errDied
	}
	if err := w.noteBlocks(); err != nil {
		return err
	}
	if !p.Marks {
		w.mark()
	}
	if err := p.Run(w); err != nil {
		return err
	}
	return w.drain()
}

// drain lets the node finish everything that was asked of it.
func (w *World) drain() error {
	if !w.settle(func() bool { return w.exec.Pending() == 0 && len(w.unanswered()) == 0 }) {
		return w.giveUp("outstanding work")
	}
	return w.collect()
}

// idle lets a number of ticks pass, five at a time, and the node do what it does meanwhile.
func (w *World) idle(ticks int) {
	for ; ticks > 0 && !w.died(); ticks -= 5 {
		w.clock.Advance(5)
		for again := true; again && !w.died(); {
			for i := range w.node.Shards() {
				w.node.Pass(i)
			}
			again = w.exec.Help()
		}
	}
}

// run crashes a node at p and follows it through its next lives.
func (p *Path) run(base *World, at Point) (Fences, error) {
	w := base.clone()
	w.fences = Fences{}
	w.planCrash(at)
	err := p.play(w)
	switch {
	case err != nil && !errors.Is(err, errDied):
		return nil, err
	case w.exit != nil:
		return nil, fmt.Errorf("the node gave up: %w", w.exit)
	case w.crash.hit == nil:
		return nil, fmt.Errorf("operation %d was not reached: the script is not deterministic", at.Op)
	}
	if err := w.reopen(); err != nil {
		return nil, fmt.Errorf("after the crash: %w", err)
	}
	if err := w.dieAgain(); err != nil {
		return nil, err
	}
	if w.rng.IntN(4) > 0 {
		return w.fences, nil
	}
	return w.fences, w.endWell()
}

// reopen boots the node on what the crash left and looks at everything.
func (w *World) reopen() error {
	mode := w.crash.Mode
	image := w.freeze()
	if err := w.lose(image, mode != vfs.KillOnly); err != nil {
		return err
	}
	if err := w.checkBlocks(image); err != nil {
		return err
	}
	w.crash = nil
	if err := w.boot(); err != nil {
		return err
	}
	for _, c := range w.clients {
		if err := w.askAgain(c); err != nil {
			return err
		}
	}
	if err := w.judgeFences(mode); err != nil {
		return err
	}
	w.idle(120)
	return w.inspect()
}

// inspect holds everything that the node serves and that is on its disk against what clients know.
func (w *World) inspect() error {
	if err := w.drain(); err != nil {
		return err
	}
	for _, m := range w.parts() {
		if err := w.checkPartition(m); err != nil {
			return err
		}
	}
	if err := w.checkCatalog(); err != nil {
		return err
	}
	if err := w.checkLeftovers(); err != nil {
		return err
	}
	return w.noteBlocks()
}

// parts lists the partitions that clients know of and that are served.
func (w *World) parts() []*partitionModel {
	return slices.DeleteFunc(w.catalog.parts(), func(m *partitionModel) bool { return m.fenced })
}

// dieAgain goes on working and crashes once more, somewhere.
func (w *World) dieAgain() error {
	second := Point{
		Op: 1 + w.rng.Uint64N(50), Moment: Moment(w.rng.IntN(len(momentNames))), Seed: w.rng.Uint64(),
		Mode: vfs.CrashModes[w.rng.IntN(len(vfs.CrashModes))],
	}
	w.planCrash(second)
	w.mark()
	err := w.goOn()
	if err != nil && !errors.Is(err, errDied) {
		return fmt.Errorf("going on: %w", err)
	}
	if w.exit != nil {
		return fmt.Errorf("going on: the node gave up: %w", w.exit)
	}
	if err := w.reopen(); err != nil {
		return fmt.Errorf("after a second crash (%s operation %d, %s): %w", second.Moment, second.Op, second.Mode, err)
	}
	return nil
}

// goOn does a little of everything.
func (w *World) goOn() error {
	if len(w.catalog.topics) == 0 {
		if err := w.createStream("later"); err != nil {
			return err
		}
		if err := w.createTopic("later", "later", topicOptions{fsync: true}); err != nil {
			return err
		}
	}
	for round := range 2 {
		for _, m := range w.parts() {
			if err := w.sendTo(m, 100, 50); err != nil {
				return err
			}
		}
		if err := w.drain(); err != nil {
			return err
		}
		for _, m := range w.parts() {
			w.storeOffset(m, consumer(7), storedOffset{m.highest, true})
		}
		if err := w.createUser(fmt.Sprintf("user%d-%d", w.lives, round)); err != nil {
			return err
		}
		if err := w.drain(); err != nil {
			return err
		}
	}
	return nil
}

// endWell stops the node gracefully: nothing is missing afterwards and no offset is skipped.
func (w *World) endWell() error {
	for _, m := range w.parts() {
		if err := w.sendTo(m, 10); err != nil {
			return err
		}
	}
	if err := w.drain(); err != nil {
		return err
	}
	if err := w.node.Close(); err != nil {
		return fmt.Errorf("graceful stop: %w", err)
	}
	if err := w.lose(w.disk.CrashClone(w.rng, vfs.LoseUnsynced), false); err != nil {
		return err
	}
	if err := w.boot(); err != nil {
		return fmt.Errorf("after a graceful stop: %w", err)
	}
	w.idle(120)
	if err := w.inspect(); err != nil {
		return fmt.Errorf("after a graceful stop: %w", err)
	}
	for _, m := range w.parts() {
		was := m.highest
		if err := w.sendTo(m, 10); err != nil {
			return err
		}
		if err := w.drain(); err != nil {
			return err
		}
		if m.highest != was+1 {
			return fmt.Errorf("partition %s: offset %d follows %d across a graceful stop", m.id, m.highest, was)
		}
	}
	return nil
}
