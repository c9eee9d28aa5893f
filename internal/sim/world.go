package sim

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"

	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/vsr"
)

// Options choose the shape of a simulated life. The zero value is a usable default.
type Options struct {
	// Steps is the number of scheduling decisions; 0 means 2,000.
	Steps int
	// Crashes is the number of deaths; 0 means 4, negative none.
	Crashes int
	// Log receives the node's log; nil drops it.
	Log *slog.Logger
}

func (o *Options) fill() {
	if o.Steps == 0 {
		o.Steps = 2000
	}
	if o.Crashes == 0 {
		o.Crashes = 4
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
}

// World is one simulated node and its clients.
type World struct {
	seed  uint64
	rng   *rand.Rand
	opts  Options
	clock *Clock
	disk  *vfs.Mem
	exec  *Executor
	node  *node.Node

	client     protocol.Uint128
	session    uint64
	request    uint64
	partitions []*partitionModel
	topics     uint32 // number of topics made so far
	message    uint64 // number of the last message made
	pending    []*call
	lives      int
	dead       error // what ended the current life
	Report     Report
}

// Report counts what a life contained.
type Report struct {
	Lives, Sends, Confirmed, Refused, Polls, Stores, Kills, PowerLosses, Fenced uint64
}

// New makes the world of a seed and boots its node for the first time.
func New(seed uint64, opts Options) (*World, error) {
	opts.fill()
	w := &World{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0x9a190)), opts: opts,
		clock: &Clock{micros: 1_700_000_000_000_000}, disk: vfs.NewMem(seed),
		client: protocol.Uint128From64(0xC11E47),
	}
	if err := w.boot(); err != nil {
		return nil, err
	}
	return w, w.createTopics()
}

// boot opens the node on whatever the disk holds.
func (w *World) boot() error {
	w.exec = NewExecutor(w.rng)
	w.dead = nil
	w.lives++
	w.Report.Lives++
	n, err := node.Open(node.Options{
		FS: w.disk, Clock: w.clock, Executor: w.exec, Log: w.opts.Log, Layout: datadir.NewLayout("/data", datadir.Folders{}),
		Shards: 1 + int(w.seed%3), Incarnation: protocol.Uint128{Lo: w.rng.Uint64() | 1, Hi: w.rng.Uint64()},
		Limits: node.Limits{
			ReservationLease: 64, TailBytes: 8 << 10, TailPartitionBytes: 2 << 10, Validate: true, NoRetention: true,
			FreeSpaceMin: 1,
		},
		Metadata: node.MetadataOptions{
			JournalSlots: 1024, ClientsTableMax: 64,
			Root:         func() (string, string, error) { return "iggy", "$argon2id$simulated", nil },
			JournalEpoch: w.rng.Uint64() | 1,
		},
		Fatal: func(code int, err error) { w.dead = fmt.Errorf("exit %d: %w", code, err) },
	})
	if err != nil {
		return fmt.Errorf("life %d: open: %w", w.lives, err)
	}
	w.node = n
	if !w.settle(func() bool { return n.Bootstrapped() }) {
		return w.giveUp("bootstrap")
	}
	return w.register()
}

// register signs the workload's client in.
func (w *World) register() error {
	c := w.submitMetadata(vsr.Request{
		Operation: protocol.OpRegister, UserID: metadata.RootUser, Client: w.client,
		Body: vsr.Body{Bytes: metadata.AppendRegister(nil, w.node.MetadataCommit())},
	})
	if !w.settle(c.answered) {
		return w.giveUp("register")
	}
	if c.code != protocol.Success {
		return fmt.Errorf("register: %w", c.code)
	}
	w.session = c.op // request numbers go on: the table remembers the highest one
	return nil
}

// errDied ends a life in the middle of a step.
var errDied = errors.New("the node died")

func (w *World) giveUp(what string) error {
	if w.died() {
		return errDied
	}
	return fmt.Errorf("life %d: %s was not answered", w.lives, what)
}

// metadataCall runs one metadata operation of the client to its end.
func (w *World) metadataCall(op protocol.Operation, body []byte) (*call, error) {
	w.request++
	c := w.submitMetadata(vsr.Request{
		Operation: op, Client: w.client, Session: w.session, Request: w.request, Body: vsr.Body{Bytes: body},
	})
	if !w.settle(c.answered) {
		return c, w.giveUp(op.String())
	}
	if c.code != protocol.Success {
		return c, fmt.Errorf("%s: %w", op, c.code)
	}
	return c, nil
}

// createTopics makes two topics for the workload: one of default durability and one of synced batches. They
// are the only ones that come, so their ids count up.
func (w *World) createTopics() error {
	if w.topics == 0 {
		if _, err := w.metadataCall(protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil)); err != nil {
			return err
		}
	}
	for _, fsync := range []bool{false, true} {
		req := command.CreateTopicReplicated{CreateTopic: command.CreateTopic{
			Stream: protocol.NumericID(0), PartitionsCount: 2, Name: fmt.Appendf(nil, "t%d", w.topics),
			Options: command.AppendOptions(nil, command.BoolOption("enforce_fsync", fsync), command.U64Option("segment_size", 1<<20)),
		}}
		for p := range req.PartitionsCount {
			req.Assignments = append(req.Assignments, command.Assignment{Partition: p})
		}
		c, err := w.metadataCall(protocol.OpCreateTopicWithAssignments, req.Append(nil))
		if err != nil {
			return err
		}
		for p := range req.PartitionsCount {
			id, err := protocol.PartitionGroup(0, w.topics, p)
			if err != nil {
				return err
			}
			w.partitions = append(w.partitions, newPartitionModel(id, c.op, fsync))
		}
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
