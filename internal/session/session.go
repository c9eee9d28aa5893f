package session

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/transport"
)

// binding is who signed in on a connection.
type binding struct {
	client  protocol.Uint128
	session uint64 // fence
	user    uint32
}

// session implements transport.Handler. Fields without a remark belong to the goroutine of the connection.
type session struct {
	server *Server
	conn   *transport.Conn

	binding atomic.Pointer[binding] // nil before sign-in; written under Server.mu only
	evict   atomic.Uint32           // reason that answers the next request, 0 for none; set under Server.mu

	// answered is the newest metadata operation that this session was answered at. What it asks for next is
	// looked at with a view that holds it.
	answered uint64

	batch    node.Batch
	gathered int            // requests in batch
	open     sync.WaitGroup // requests that shards have not answered
	poll     node.PollResult
	out      []byte // scratch for small answers
	arriving arriving
	route    route
}

// fall ends the session of a connection from outside. With a reason an eviction answers the next request,
// whatever it is. The caller holds Server.mu.
func (s *session) fall(reason protocol.EvictionReason) {
	// In this order: whoever finds no binding must find the reason.
	if reason != 0 {
		s.evict.Store(uint32(reason))
	}
	s.binding.Store(nil)
}

// ReadEnd implements transport.Handler.
func (s *session) ReadEnd() { s.submit() }

// gather adds a request to those that the next submit hands to shards.
func (s *session) gather(p *pending) {
	s.gathered++
	s.batch.Add(s.server.o.Node, &p.work)
}

func (s *session) submit() {
	if s.gathered > 0 {
		s.open.Add(s.gathered)
		s.gathered = 0
		s.server.o.Node.Submit(&s.batch)
	}
}

// settle waits until every request that was handed to a shard is answered.
func (s *session) settle() {
	s.submit()
	s.open.Wait()
}

// Closed implements transport.Handler.
func (s *session) Closed() {
	s.server.mu.Lock()
	delete(s.server.conns, s)
	s.server.mu.Unlock()
	if b := s.binding.Load(); b != nil && s.server.unbind(b.client, s) {
		s.server.depart(b)
	}
}

// Frame implements transport.Handler.
func (s *session) Frame(x *transport.Exchange) {
	s.frameOf(x)
	s.arriving.x = nil // its memory may come again with another frame
}

func (s *session) frameOf(x *transport.Exchange) {
	h := &x.Header
	if code := h.Check(); code != protocol.Success {
		s.deny(x, code)
		return
	}
	if code := h.CheckBody(x.Body.Bytes); code != protocol.Success {
		s.deny(x, code)
		return
	}
	b := s.binding.Load()
	if b == nil {
		if reason := protocol.EvictionReason(s.evict.Swap(0)); reason != 0 {
			s.sendEviction(x, reason)
			return
		}
	}
	switch op := h.Operation(); {
	case op == protocol.OpRegister:
		s.settle()
		s.register(x, b)
	case b == nil:
		s.anonymous(x)
	case op.IsPartition():
		s.partition(x, b)
	default:
		s.settle()
		s.serve(x, b)
	}
}

// serve handles what waits for everything before it.
func (s *session) serve(x *transport.Exchange, b *binding) {
	switch x.Header.Operation() {
	case protocol.OpNonReplicated:
		s.read(x, b)
	case protocol.OpLogout:
		s.logout(x, b)
	default:
		s.metadata(x, b)
	}
}

// viewWait is how long a request waits for this node to apply what the session was answered at, and viewPoll
// how often it looks. On the node that answered nothing ever waits: views are published before replies leave.
const (
	viewWait = 3 * time.Second
	viewPoll = time.Millisecond
)

// view returns the metadata as applied, once it holds the operation that this session was answered at; false
// when that takes too long.
func (s *session) view() (*metadata.View, bool) {
	v := s.server.o.Node.View()
	if v.Revision >= s.answered {
		return v, true
	}
	for until := time.Now().Add(viewWait); time.Now().Before(until); time.Sleep(viewPoll) {
		if v = s.server.o.Node.View(); v.Revision >= s.answered {
			return v, true
		}
	}
	return v, false
}

// anonymous handles a request on a connection that has not signed in: ping is served, a logout is done
// already, everything else has no session.
func (s *session) anonymous(x *transport.Exchange) {
	h := &x.Header
	switch op := h.Operation(); {
	case op == protocol.OpLogout:
		x.Reply().SetEcho(h, h.Client(), h.Session(), 0, protocol.Success)
		x.Done()
	case op != protocol.OpNonReplicated:
		s.sendEviction(x, protocol.EvictNoSession)
	default:
		switch code := protocol.CommandCode(h.CommandCode()); code {
		case protocol.CmdPing:
			s.answer(x, nil)
		case protocol.CmdUserLogin, protocol.CmdPersonalAccessTokenLogin:
			s.sendEviction(x, protocol.EvictMalformedLogin)
		default:
			s.deny(x, protocol.CodeUnauthenticated)
		}
	}
}

// deny answers before any group was asked. A connection that is not signed in learns no commit point.
func (s *session) deny(x *transport.Exchange, code protocol.Code) {
	s.server.metrics.denials.Inc()
	h := &x.Header
	commit := s.server.o.Node.MetadataCommit()
	switch {
	case s.binding.Load() == nil:
		x.Reply().SetEcho(h, s.conn.ID(), 0, 0, code)
	case h.Operation() == protocol.OpNonReplicated:
		x.Reply().SetEcho(h, h.Client(), h.Session(), commit, code)
	default:
		x.Reply().SetEcho(h, s.conn.ID(), 0, commit, code)
	}
	x.Done()
}

// frame answers with a result section that was not committed.
func (s *session) frame(x *transport.Exchange, code protocol.Code) {
	commit := s.server.o.Node.MetadataCommit()
	client := x.Header.Client()
	if b := s.binding.Load(); b != nil {
		client = b.client
	}
	x.Reply().SetEcho(&x.Header, client, commit, commit, protocol.Success)
	s.out = protocol.AppendResult(s.out[:0], code)
	x.SetBody(s.out)
	x.Done()
}

// answer answers a read.
func (s *session) answer(x *transport.Exchange, body []byte) {
	x.Reply().SetEcho(&x.Header, x.Header.Client(), x.Header.Session(), s.server.o.Node.MetadataCommit(), protocol.Success)
	x.SetBody(body)
	x.Done()
}

func (s *session) sendEviction(x *transport.Exchange, reason protocol.EvictionReason) {
	s.server.metrics.evictions.Inc()
	var e protocol.EvictionHeader
	e.Set(x.Header.Client(), reason) // never zero: the header was checked
	copy(x.Reply()[:], e[:])
	x.SetBody(nil)
	x.Done()
}
