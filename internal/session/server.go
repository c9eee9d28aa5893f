package session

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
)

// heartbeatDefault is the interval of liveness that counts where none is configured.
const heartbeatDefault = 30 * time.Second

// Options are what a Server needs. Node and Log must be set.
type Options struct {
	Node *node.Node
	Log  *slog.Logger
	// TokensMax is the number of personal access tokens that a user may have.
	TokensMax int
	// Heartbeat is the interval of liveness: a group member that is silent for 1.2 of it is evicted. 0 keeps
	// members whatever they do; clients whose connection closed are then logged out as with the default of 30 s.
	Heartbeat time.Duration
	// TokenCleaner is how often expired tokens are removed; 0 leaves them.
	TokenCleaner time.Duration
	// MaxFrameBytes bounds the replies to polls and to command 11; 0 means 64 MiB.
	MaxFrameBytes int
	// Roster answers command 12, with the port that Bound was told. Nil: a node that names no address.
	Roster func(tcp uint16) command.ClusterMetadata
	// Archive collects one section of a diagnostic archive; nil: every section is left out.
	Archive func(section byte) (name string, content []byte, err error)
	// DataPath is where the data directory is, for its free space in statistics.
	DataPath string
}

// Server knows the sessions of all connections.
type Server struct {
	o       Options
	secrets *secrets
	started time.Time
	stop    chan struct{}
	done    sync.WaitGroup
	tcpPort atomic.Uint32
	nextID  atomic.Uint64
	archive sync.Mutex
	usage   usageProbe
	rounds  roundRobin
	metrics metrics

	// mu guards what follows, for a few lines at a time. It may be taken under the ownership of a shard, so
	// nothing that waits for a shard may be called under it.
	mu      sync.Mutex
	conns   map[*session]struct{}          // as many as the doors let in
	bound   map[protocol.Uint128]*session  // by client id; no more than conns
	leaving map[protocol.Uint128]departure // no more than the client table holds
}

// departure is a client whose connection closed without a logout.
type departure struct {
	session uint64
	due     time.Time
}

// New returns a server of sessions.
func New(o Options) (*Server, error) {
	if o.MaxFrameBytes <= 0 {
		o.MaxFrameBytes = protocol.MaxFrameSizeDefault
	}
	if o.Roster == nil {
		o.Roster = func(tcp uint16) command.ClusterMetadata {
			return command.ClusterMetadata{Name: "single-node", Nodes: []command.ClusterNode{{Name: "iggy-node", TCP: tcp}}}
		}
	}
	s := &Server{
		o: o, started: time.Now(), stop: make(chan struct{}),
		conns: map[*session]struct{}{}, bound: map[protocol.Uint128]*session{}, leaving: map[protocol.Uint128]departure{},
	}
	s.secrets = newSecrets(&s.metrics)
	o.Node.Observe(s)
	s.adoptRestored()
	s.done.Go(s.watch)
	if o.TokenCleaner > 0 {
		s.done.Go(s.watchTokens)
	}
	return s, nil
}

// Bound tells the port of the TCP door, for the roster.
func (s *Server) Bound(tcp uint16) { s.tcpPort.Store(uint32(tcp)) }

// NewID names a connection: a running number below 2^112.
func (s *Server) NewID() protocol.Uint128 { return protocol.Uint128From64(s.nextID.Add(1)) }

// NewHandler makes the session of a connection.
func (s *Server) NewHandler(c *transport.Conn) transport.Handler {
	ss := &session{server: s, conn: c}
	s.mu.Lock()
	s.conns[ss] = struct{}{}
	s.mu.Unlock()
	return ss
}

// Close stops the clocks. The listeners must be closed before.
func (s *Server) Close() {
	close(s.stop)
	s.done.Wait()
}

// bind makes ss the connection of a client id. An older connection of that id falls back to not signed in. When
// the session was ended or replaced while its answer was on the way, it is ss that falls back.
func (s *Server) bind(ss *session, b *binding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone, newer := s.leaving[b.client]; newer && gone.session > b.session {
		return
	}
	if old := s.bound[b.client]; old != nil && old != ss {
		if other := old.binding.Load(); other != nil && other.session > b.session {
			return
		}
		old.fall(0)
	}
	delete(s.leaving, b.client)
	// What ends a session is in the view before SessionsEnded is told, so one of the two sees it.
	u := s.o.Node.View().UserByID(b.user)
	switch {
	case u == nil, u.SessionsRevision > b.session && u.Status == metadata.UserActive:
		delete(s.bound, b.client)
		ss.fall(protocol.EvictNoSession)
	case u.SessionsRevision > b.session:
		delete(s.bound, b.client)
		ss.fall(protocol.EvictUserInactive)
	default:
		s.bound[b.client] = ss
		ss.evict.Store(0)
		ss.binding.Store(b)
	}
}

// unbind takes ss out of the clients, if it still is the connection of that id.
func (s *Server) unbind(client protocol.Uint128, ss *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound[client] != ss {
		return false
	}
	delete(s.bound, client)
	ss.fall(0)
	return true
}

// SessionsEnded implements node.SessionObserver: the eviction takes the place of the next answer.
func (s *Server) SessionsEnded(ended []metadata.EndedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range ended {
		if d, ok := s.leaving[e.Client]; ok && d.session == e.Session {
			delete(s.leaving, e.Client)
		}
		ss := s.bound[e.Client]
		if ss == nil || e.Reason == 0 {
			continue
		}
		b := ss.binding.Load()
		if b == nil || b.session != e.Session {
			continue
		}
		delete(s.bound, e.Client)
		if e.Rebound {
			ss.fall(0)
		} else {
			ss.fall(e.Reason)
		}
	}
}

// each calls f for every connection.
func (s *Server) each(f func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss := range s.conns {
		f(ss)
	}
}
