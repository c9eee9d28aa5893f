package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/session"
	"github.com/galgolog/galgo/internal/telemetry"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vfs"
)

// Build says what this program can do, for the checks of the configuration.
var Build = config.Build{}

// idleBufferBytes bounds the message memory that waits for reuse when the configuration names no smaller pool.
const idleBufferBytes = 64 << 20

// Server is a running server.
type Server struct {
	log      *slog.Logger
	cfg      *config.Config
	node     *node.Node
	sessions *session.Server
	listener *transport.Listener
	fatal    chan error
}

// ExitError ends the process with a status of its own, without the usual clean-up: the state in memory can no
// longer be trusted to agree with the disk.
type ExitError struct {
	Status int
	Cause  error
}

func (e *ExitError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// ExitStatus is the exit code of the process.
func (e *ExitError) ExitStatus() int { return e.Status }

// Serve runs a server until ctx is done, then drains and returns. It has the form that the command line wants.
func Serve(ctx context.Context, cfg *config.Config, log *slog.Logger, dir *datadir.Dir) error {
	s, err := Start(cfg, log, dir)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return s.Close()
	case err := <-s.fatal:
		return err
	}
}

// ErrNoReplication says that a configuration asks for peers.
var ErrNoReplication = errors.New("cluster.nodes names more than one node, and this version does not replicate between nodes; " +
	"set cluster.enabled = false or leave one node in the roster")

// Start recovers the data directory and opens the doors. The directory must stay open until Close returned.
func Start(cfg *config.Config, log *slog.Logger, dir *datadir.Dir) (*Server, error) {
	if cfg.Cluster.Enabled && len(cfg.Cluster.Nodes) > 1 {
		return nil, ErrNoReplication
	}
	s := &Server{log: log, cfg: cfg, fatal: make(chan error, 1)}
	pool := buffer.New(poolBytes(cfg))
	o, err := s.nodeOptions(dir, pool)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if s.node, err = node.Open(o); err != nil {
		return nil, err
	}
	log.Info("recovered", "partitions", s.node.Partitions(), "metadata_op", s.node.MetadataCommit(), "took", time.Since(started).Round(time.Millisecond).String())
	written, synced := s.node.View().Promises()
	log.Info("durability of topics", "default", metadata.StandardPromise().Words(), "enforce_fsync", metadata.PromiseSynced.Words(),
		"topics_written", written, "topics_synced", synced)
	s.node.Start()
	if err := s.node.AwaitBootstrap(); err != nil {
		return nil, errors.Join(err, s.node.Close())
	}
	if err := s.listen(pool, dir); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	debug.FreeOSMemory() // recovery and the first password hash leave tens of megabytes behind
	return s, nil
}

var scrubModes = map[string]node.ScrubMode{"unclean": node.ScrubUnclean, "always": node.ScrubAlways, "never": node.ScrubNever}

// nodeOptions translates the configuration.
func (s *Server) nodeOptions(dir *datadir.Dir, pool *buffer.Pool) (node.Options, error) {
	cfg := s.cfg
	shards, err := cfg.System.Sharding.CPUAllocation.Shards(runtime.GOMAXPROCS(0))
	if err != nil {
		return node.Options{}, err
	}
	incarnation := random128()
	incarnation.Lo |= 1
	ticks := func(d time.Duration) uint64 { return max(uint64(d/(10*time.Millisecond)), 1) }
	return node.Options{
		FS: vfs.OS, Clock: node.SystemClock(), Executor: node.NewExecutor(), Log: telemetry.Thread(s.log, "shard-0"),
		Pool: pool, Layout: dir.Layout, Shards: shards, Cluster: protocol.ClusterID(cfg.Cluster.Name),
		ReplicaID: uint8(cfg.ReplicaID), Replicas: 1, Incarnation: incarnation,
		BootID: vfs.BootID(),
		Limits: node.Limits{
			PrepareDepth: cfg.Partition.PrepareQueueDepth, MaxFrameBytes: int(cfg.MessageBus.MaxMessageSize),
			FreeSpaceMin: freeSpaceMin(cfg, dir.Path()), ReservationLease: uint64(cfg.Partition.OffsetReservationLease),
			RebalanceTicks: ticks(cfg.ConsumerGroup.RebalancingTimeout), RetentionTicks: ticks(cfg.DataMaintenance.CleanerInterval),
			NoRetention: !cfg.DataMaintenance.CleanerEnabled, Validate: cfg.System.ValidateChecksum,
			Scrub: scrubModes[cfg.System.Scrub.AtStart], ScrubRate: int64(min(cfg.System.Scrub.MaxRate, math.MaxInt64)),
			WALFileBytes: int64(cfg.WAL.FileSize), WALRetainedBytes: int64(cfg.WAL.RetainedBytes),
		},
		Metadata: node.MetadataOptions{
			JournalSlots: cfg.Metadata.JournalSlots, ClientsTableMax: cfg.Metadata.ClientsTableMax,
			PrepareDepth: cfg.Metadata.PrepareQueueDepth, JournalEpoch: random64(),
			SuperblockFailuresMax: superblockFailuresMax(cfg.Cluster.SuperblockWedgedFatalTimeout),
			Root:                  func() (string, string, error) { return rootUser(cfg, s.log) },
		},
		Fatal: func(code int, err error) {
			select {
			case s.fatal <- &ExitError{Status: code, Cause: err}:
			default:
			}
		},
	}, nil
}

// superblockFailuresMax translates how long a superblock may be unwritable: a failed write is repeated every
// second. No time is for ever.
func superblockFailuresMax(d time.Duration) int {
	if d == 0 {
		return -1
	}
	return max(int(d/time.Second), 1)
}

// listen opens the doors and tells where they are.
func (s *Server) listen(pool *buffer.Pool, dir *datadir.Dir) error {
	cfg := s.cfg
	want := cfg.Listen()
	var err error
	s.sessions, err = session.New(sessionOptions(cfg, s.node, s.log, dir))
	if err != nil {
		return err
	}
	bound := config.Sockets{}
	if want.TCP.IsValid() {
		s.listener, err = transport.Listen(want.TCP.String(), transport.Options{
			NewHandler: s.sessions.NewHandler, NewID: s.sessions.NewID, Pool: pool,
			MaxFrameBytes: int(cfg.MessageBus.MaxMessageSize), QueueFrames: cfg.MessageBus.PeerQueueCapacity,
			CloseGrace: cfg.MessageBus.CloseGrace, Logger: s.log,
		})
		if err != nil {
			return fmt.Errorf("tcp.address %s: %w", want.TCP, err)
		}
		bound.TCP = addrPort(s.listener)
	}
	s.sessions.Bound(bound.TCP.Port())
	if err := dir.WriteRuntime(cfg.WithBound(bound).TOML()); err != nil {
		return err
	}
	s.log.Info("server client listeners started", "tcp", bound.TCP.String())
	return nil
}

func addrPort(l *transport.Listener) netip.AddrPort {
	a, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return netip.AddrPort{}
	}
	return a
}

// Close shuts the doors, lets what was read be answered, syncs everything and stops.
func (s *Server) Close() error {
	var err error
	if s.listener != nil {
		err = s.listener.Close(s.cfg.MessageBus.CloseGrace)
		if errors.Is(err, transport.ErrCloseTimeout) {
			s.log.Warn("connections were cut off at the end of the grace", "grace", s.cfg.MessageBus.CloseGrace.String())
			err = nil
		}
	}
	if s.sessions != nil {
		s.sessions.Close()
	}
	return errors.Join(err, s.node.Close())
}

func poolBytes(cfg *config.Config) int64 {
	if !cfg.System.MemoryPool.Enabled {
		return 0
	}
	return min(int64(cfg.System.MemoryPool.Size), idleBufferBytes)
}
