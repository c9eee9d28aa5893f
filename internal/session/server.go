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

// Options are what a Server needs.
type Options struct {
	Node *node.Node
	Log  *slog.Logger
	// TokensMax is the number of personal access tokens that a user may have.
	TokensMax int
	// Heartbeat is the interval of liveness; 0 keeps members whatever they do.
	Heartbeat time.Duration
	// TokenCleaner is how often expired tokens are removed; 0 leaves them.
	TokenCleaner time.Duration
	// MaxFrameBytes bounds a poll reply.
	MaxFrameBytes int
	// Roster answers command 12, with the port that Bound was told.
	Roster func(tcp uint16) command.ClusterMetadata
	// Archive collects one section of a diagnostic archive; nil: none is offered.
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

	mu       sync.Mutex
	conns    map[*session]struct{}
	bound    map[protocol.Uint128]*session // by client id
	leaving  map[protocol.Uint128]departure
	balanced sync.Map // topicKey -> *atomic.Uint32
}

// departure is a client whose connection closed without a logout.
type departure struct {
	session uint64
	due     time.Time
}

type topicKey struct{ stream, topic uint32 }

// New returns a server of sessions.
func New(o Options) (*Server, error) {
	s := &Server{
		o: o, secrets: newSecrets(), started: time.Now(), stop: make(chan struct{}),
		conns: map[*session]struct{}{}, bound: map[protocol.Uint128]*session{}, leaving: map[protocol.Uint128]departure{},
	}
	o.Node.Observe(s)
	s.adoptRestored()
	if o.Heartbeat > 0 {
		s.done.Go(s.watch)
	}
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

// bind makes ss the connection of a client id. An older connection of that id falls back to not signed in.
func (s *Server) bind(client protocol.Uint128, ss *session, b *binding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.bound[client]; old != nil && old != ss {
		old.fall(protocol.EvictNoSession, false)
	}
	s.bound[client] = ss
	delete(s.leaving, client)
	ss.binding.Store(b)
	ss.evict.Store(0)
}

// unbind takes ss out of the clients, if it still is the connection of that id.
func (s *Server) unbind(client protocol.Uint128, ss *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound[client] != ss {
		return false
	}
	delete(s.bound, client)
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
		if b := ss.binding.Load(); b != nil && b.session == e.Session {
			ss.fall(e.Reason, !e.Rebound)
			delete(s.bound, e.Client)
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

// PartitionStats implements metadata.PartitionStats.
func (s *Server) PartitionStats(stream, topic, partition uint32) metadata.Stats {
	id, err := protocol.PartitionGroup(stream, topic, partition)
	if err != nil {
		return metadata.Stats{}
	}
	st := s.o.Node.View().StreamByID(stream)
	if st == nil || st.TopicByID(topic) == nil {
		return metadata.Stats{}
	}
	p, ok := st.TopicByID(topic).Partition(partition)
	if !ok {
		return metadata.Stats{}
	}
	n := s.o.Node.PartitionStats(id, p.CreatedRevision, p.PurgeGeneration)
	return metadata.Stats{
		SegmentsCount: n.Segments, CurrentOffset: n.CurrentOffset, SizeBytes: n.SizeBytes, MessagesCount: n.Messages,
	}
}

// InFlight implements metadata.Partitions.
func (s *Server) InFlight(group metadata.GroupRef) []uint32 {
	view := s.o.Node.View()
	st := view.StreamByID(group.Stream)
	if st == nil || st.TopicByID(group.Topic) == nil {
		return nil
	}
	t := st.TopicByID(group.Topic)
	var busy []uint32
	for i := range t.PartitionsCount() {
		p, _ := t.Partition(i)
		id, err := protocol.PartitionGroup(group.Stream, group.Topic, i)
		if err == nil && s.o.Node.PendingHandOver(id, p.CreatedRevision, group.Group) {
			busy = append(busy, i)
		}
	}
	return busy
}

// SealedUpTo implements metadata.Partitions.
func (s *Server) SealedUpTo(stream, topic, partition, count uint32) (uint64, protocol.Code) {
	id, err := protocol.PartitionGroup(stream, topic, partition)
	if err != nil {
		return 0, protocol.CodePartitionNotFound
	}
	st := s.o.Node.View().StreamByID(stream)
	if st == nil || st.TopicByID(topic) == nil {
		return 0, protocol.Success
	}
	p, _ := st.TopicByID(topic).Partition(partition)
	upTo, _, code := s.o.Node.ResolveSegments(id, p.CreatedRevision, count)
	return upTo, code
}
