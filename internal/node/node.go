package node

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal/shardlog"
)

// Options are the parts and limits of a node. FS, Clock, Executor, Log and Layout are needed.
type Options struct {
	FS       vfs.FS
	Clock    Clock
	Executor Executor
	Log      *slog.Logger
	Pool     *buffer.Pool
	// Layout is the data directory.
	Layout datadir.Layout
	// Shards is the number of shards; 0 means one.
	Shards int
	// Cluster, ReplicaID and Replicas identify the node. Replicas 0 means 1.
	Cluster   protocol.Uint128
	ReplicaID uint8
	Replicas  uint8
	// Incarnation is random per boot.
	Incarnation protocol.Uint128
	// BootID names the boot of the machine, zero when it is not known: after another one, what no sync has
	// covered may be gone.
	BootID [16]byte
	// Random draws numbers that no client can predict; nil: from the system.
	Random   func() uint64
	Limits   Limits
	Metadata MetadataOptions
	// Fatal is called once when the metadata group cannot go on; the process then exits with the code.
	Fatal func(code int, err error)
	// Witness is shown what leaves the node; nil in production.
	Witness Witness
}

// Limits are the bounds of a node; zero values mean the defaults named here.
type Limits struct {
	PrepareDepth       int    // prepares in flight per group, 32
	TailBytes          int64  // recent batches in memory, node, 64 MiB
	TailPartitionBytes int64  // the same, one partition, 4 MiB
	MaxFrameBytes      int    // 64 MiB
	FreeSpaceMin       uint64 // below so many free bytes sends are refused; 0 never refuses
	ReservationLease   uint64 // 65,536
	ReservationMax     uint64 // what the lease grows to with rate and size of batches, 16,777,216
	ColdReads          int    // reads that wait for the device at once, 8
	RebalanceTicks     uint64 // hand-over of a partition within a group at the latest, 30 s
	RetentionTicks     uint64 // between two runs of the cleaner, 60 s; 0 with NoRetention set: never
	NoRetention        bool
	OpenHandles        int   // files kept open for polls, 512
	WALFileBytes       int64 // size of a file of a shard log, 128 MiB
	WALRetainedBytes   int64 // of a shard log; above it, groups are checkpointed, at twice that their sends refused, 512 MiB
	Validate           bool  // verify the checksums of what polls read from files
	Scrub              ScrubMode
	ScrubRate          int64 // bytes a second at most, 0 for what the device gives
}

func (l *Limits) fill() {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.TailBytes, 64<<20)
	def(&l.TailPartitionBytes, 4<<20)
	def(&l.WALFileBytes, 128<<20)
	def(&l.WALRetainedBytes, 4*l.WALFileBytes)
	if l.MaxFrameBytes == 0 {
		l.MaxFrameBytes = protocol.MaxFrameSizeDefault
	}
	if l.ColdReads == 0 {
		l.ColdReads = 8
	}
	if l.RebalanceTicks == 0 {
		l.RebalanceTicks = 30 * ticksPerSecond
	}
	if l.RetentionTicks == 0 {
		l.RetentionTicks = 60 * ticksPerSecond
	}
	if l.OpenHandles == 0 {
		l.OpenHandles = 512
	}
}

// Node is one running server without its doors. Methods are safe for concurrent use.
type Node struct {
	fs          vfs.FS
	clock       Clock
	exec        Executor
	log         *slog.Logger
	pool        *buffer.Pool
	layout      datadir.Layout
	cluster     protocol.Uint128
	replicaID   uint8
	replicas    uint8
	incarnation protocol.Uint128
	limits      Limits
	metrics     *metrics
	fatal       func(code int, err error)
	witness     Witness

	shards   []*shard
	readers  readerTable
	meta     *metaGroup
	observer SessionObserver

	logs *shardlog.Logs // of all shards
	// recovering is the number of partitions that have to read the logs yet, and one for a start under way.
	recovering atomic.Int32
	bootID     [16]byte
	random     func() uint64

	tailBytes      atomic.Int64
	logCheckpoints atomic.Int32 // of partitions, that sync files now
	openHandles    atomic.Int64
	space          space
	dirs           durableDirs
	// stoppedInOrder tells how the life before ended; scrubbed that the scrub of this one is done.
	stoppedInOrder bool
	scrubbed       atomic.Bool
	coldReads      chan struct{}

	stop    chan struct{}
	stopped sync.WaitGroup
	closing atomic.Bool
}

func newNode(o Options) *Node {
	o.Limits.fill()
	n := &Node{
		fs: o.FS, clock: o.Clock, exec: o.Executor, log: o.Log, pool: o.Pool, layout: o.Layout,
		cluster: o.Cluster, replicaID: o.ReplicaID, replicas: max(o.Replicas, 1), incarnation: o.Incarnation, bootID: o.BootID, random: o.Random,
		limits: o.Limits, metrics: newMetrics(), fatal: o.Fatal, witness: o.Witness,
		coldReads: make(chan struct{}, o.Limits.ColdReads), stop: make(chan struct{}),
	}
	if n.random == nil {
		n.random = randomEpoch
	}
	if n.pool == nil {
		n.pool = buffer.New(128 << 20)
	}
	for i := range max(o.Shards, 1) {
		n.shards = append(n.shards, newShard(n, i))
	}
	n.readers.init()
	return n
}

func randomEpoch() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:]) | 1
}

// Start runs the goroutines of the shards. A node under a simulator is not started: the simulator calls Pass.
func (n *Node) Start() {
	for _, s := range n.shards {
		timer := make(chan struct{}, 1)
		n.stopped.Go(func() { s.run(n.stop, timer) })
		n.stopped.Go(func() { s.runTimer(n.stop, timer) })
		s.kick() // what recovery left to do must not wait for a timer
	}
	n.stopped.Go(n.scrub)
}

// Pass runs one pass of shard i on the caller's goroutine. It is for a scheduler that owns all of them.
func (n *Node) Pass(i int) {
	s := n.shards[i]
	s.mu.Lock()
	s.pass(nil)
	s.release()
}

// Shards is the number of shards.
func (n *Node) Shards() int { return len(n.shards) }

// shardIndex places a group: the metadata group on shard 0, a partition by the hash of its id.
func (n *Node) shardIndex(id protocol.GroupID) int {
	if id == protocol.MetadataGroup || len(n.shards) == 1 {
		return 0
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(id))
	return int(xxh3.Hash(b[:]) % uint64(len(n.shards)))
}

// readerTable finds the reader of a partition that was used since boot. Striped, because polls of all
// connections look here.
type readerTable struct {
	stripes [64]struct {
		mu      sync.RWMutex
		readers map[protocol.GroupID]*Reader
	}
}

func (t *readerTable) init() {
	for i := range t.stripes {
		t.stripes[i].readers = make(map[protocol.GroupID]*Reader)
	}
}

func (t *readerTable) stripe(id protocol.GroupID) int {
	return int((uint64(id) ^ uint64(id)>>32*0x9E3779B1) % uint64(len(t.stripes)))
}

func (t *readerTable) get(id protocol.GroupID) *Reader {
	s := &t.stripes[t.stripe(id)]
	s.mu.RLock()
	r := s.readers[id]
	s.mu.RUnlock()
	return r
}

func (t *readerTable) put(id protocol.GroupID, r *Reader) {
	s := &t.stripes[t.stripe(id)]
	s.mu.Lock()
	s.readers[id] = r
	s.mu.Unlock()
}

// remove takes r out unless another incarnation has replaced it.
func (t *readerTable) remove(id protocol.GroupID, r *Reader) {
	s := &t.stripes[t.stripe(id)]
	s.mu.Lock()
	if s.readers[id] == r {
		delete(s.readers, id)
	}
	s.mu.Unlock()
}
