package sim

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/gatecheck"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// Options choose the shape of a simulated life. The zero value is a usable default.
type Options struct {
	// Steps is the number of scheduling decisions; 0 means 2,000.
	Steps int
	// Crashes is the number of deaths; 0 means 4, negative none.
	Crashes int
	// Log receives the node's log; nil drops it.
	Log *slog.Logger
	// Retention has the cleaner run every second.
	Retention bool
	// LogFileBytes is the size of a file of a shard log; 0 means 32 KiB, which random lives fill.
	LogFileBytes int64
	// MaxFrameBytes is the limit of a frame, 0 for the usual one.
	MaxFrameBytes int
	// JournalSlots is the room of the metadata journal, 0 for so little that a dozen operations bring a
	// checkpoint.
	JournalSlots int
	// Disk puts something between the node and its file system, to see what a broken one does.
	Disk func(vfs.FS) vfs.FS
}

func (o *Options) fill() {
	if o.Steps == 0 {
		o.Steps = 2000
	}
	if o.Crashes == 0 {
		o.Crashes = 4
	}
	if o.JournalSlots == 0 {
		o.JournalSlots = checkpointSlots
	}
	if o.LogFileBytes == 0 {
		o.LogFileBytes = 32 << 10
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// World is one simulated node and its clients.
type World struct {
	seed   uint64
	rng    *rand.Rand
	opts   Options
	clock  *Clock
	bootID [16]byte // of the machine; a loss of power changes it
	disk   *vfs.Mem
	exec   *Executor
	node   *node.Node

	clients    []*client
	catalog    catalog
	revision   uint64            // highest metadata op that a client was told of
	partitions []*partitionModel // that the random workload goes to
	topics     int               // number of topics that the random workload has made
	message    uint64            // number of the last message made
	pending    []*call
	lives      int
	dead       error // what ended the current life
	exit       error // why the node itself gave up
	early      error // something left the node before what it depends on was durable
	crash      *crash
	blocks     map[string]blockMark // superblocks as the node last left them
	fences     Fences
	aside      int // directories set aside for good
	Report     Report
}

// Report counts what a life contained.
type Report struct {
	Lives, Sends, Confirmed, Refused, Polls, Stores, Kills, PowerLosses, Fenced, Checkpoints uint64
}

// New makes the world of a seed and boots its node for the first time.
func New(seed uint64, opts Options) (*World, error) {
	w := newWorld(seed, opts)
	if err := w.boot(); err != nil {
		return nil, err
	}
	return w, w.createTopics()
}

func newWorld(seed uint64, opts Options) *World {
	opts.fill()
	return &World{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0x9a190)), opts: opts,
		clock: &Clock{micros: 1_700_000_000_000_000}, disk: vfs.NewMem(seed), bootID: [16]byte{1},
		clients: []*client{newClient(0xC11E47)}, catalog: newCatalog(),
	}
}

// boot opens the node on whatever the disk holds and signs every client in.
func (w *World) boot() error {
	w.exec = NewExecutor(w.rng)
	w.dead = nil
	w.lives++
	w.Report.Lives++
	n, err := node.Open(w.nodeOptions())
	if w.died() {
		return errDied
	}
	if err != nil {
		return fmt.Errorf("life %d: open: %w", w.lives, err)
	}
	w.node = n
	if !w.settle(func() bool { return n.Bootstrapped() }) {
		return w.giveUp("bootstrap")
	}
	for _, c := range w.clients {
		if err := w.signIn(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) nodeOptions() node.Options {
	var disk vfs.FS = w.disk
	if w.opts.Disk != nil {
		disk = w.opts.Disk(disk)
	}
	gate := gatecheck.New(disk, func(err error) {
		if w.early == nil {
			w.early = err
		}
	})
	if w.opts.Disk != nil { // it is there to be broken: what notices is what the clients see
		gate = gatecheck.New(disk, func(error) {})
	}
	return node.Options{
		FS: gate, Witness: gate, Clock: w.clock, Executor: w.exec, Log: w.opts.Log, Layout: w.layout(),
		Shards: 1 + int(w.seed%3), Incarnation: protocol.Uint128{Lo: w.rng.Uint64() | 1, Hi: w.rng.Uint64()},
		BootID: w.bootID, Random: func() uint64 { return w.rng.Uint64() | 1 },
		Limits: node.Limits{
			ReservationLease: 64, TailBytes: 8 << 10, TailPartitionBytes: 2 << 10, Validate: true,
			WALFileBytes: w.opts.LogFileBytes, WALRetainedBytes: 3 * w.opts.LogFileBytes,
			FreeSpaceMin: 1, NoRetention: !w.opts.Retention, RetentionTicks: retentionTicks, MaxFrameBytes: w.opts.MaxFrameBytes,
		},
		Metadata: node.MetadataOptions{
			JournalSlots: w.opts.JournalSlots, ClientsTableMax: 64,
			Root:         func() (string, string, error) { return "iggy", "$argon2id$simulated", nil },
			JournalEpoch: w.rng.Uint64() | 1,
		},
		Fatal: func(code int, err error) {
			if w.dead == nil {
				w.exit = fmt.Errorf("exit %d: %w", code, err)
				w.dead = w.exit
			}
		},
	}
}

// retentionTicks is the time between two runs of the cleaner, where there is one.
const retentionTicks = 100

func (w *World) layout() datadir.Layout { return datadir.NewLayout("/data", datadir.Folders{}) }

// errDied ends a life in the middle of a step.
var errDied = errors.New("the node died")

func (w *World) giveUp(what string) error {
	if w.died() {
		return fmt.Errorf("%w: %w", errDied, w.dead)
	}
	return fmt.Errorf("life %d: %s was not answered", w.lives, what)
}

// createTopics makes two topics for the random workload: one of default durability and one of synced batches.
func (w *World) createTopics() error {
	if w.topics == 0 {
		if err := w.createStream("s"); err != nil {
			return err
		}
	}
	for _, fsync := range []bool{false, true} {
		name := fmt.Sprintf("t%d", w.topics)
		if err := w.createTopic("s", name, topicOptions{fsync: fsync, partitions: 2}); err != nil {
			return err
		}
		w.partitions = append(w.partitions, w.topic("s", name).parts...)
		w.topics++
	}
	return nil
}

// step does one thing that may happen in the node: a pass of a shard, a file task, or time.
func (w *World) step() {
	switch w.rng.IntN(8) {
	case 0:
		w.clock.Advance(1 + uint64(w.rng.IntN(3)))
	case 1, 2, 3:
		w.exec.Help()
	default:
		w.node.Pass(w.rng.IntN(w.node.Shards()))
	}
}

// settleSteps bounds how long something may take.
const settleSteps = 20_000

// settle lets the node run until done, its death, or the bound.
func (w *World) settle(done func() bool) bool {
	for range settleSteps {
		if done() {
			return true
		}
		if w.died() {
			return false
		}
		w.step()
	}
	return done()
}

func (w *World) died() bool { return w.dead != nil }
