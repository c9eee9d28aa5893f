package session

import (
	"sync"
	"sync/atomic"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
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

	binding atomic.Pointer[binding] // nil before sign-in; taken away by others when the session ends
	evict   atomic.Uint32           // reason that answers the next request, 0 for none

	batch node.Batch
	open  sync.WaitGroup // requests that shards have not answered
	poll  node.PollResult
	out   []byte // scratch for small answers

	// The large send whose body is arriving.
	arriving struct {
		x        *transport.Exchange
		verifier batch.Verifier
		head     command.SendMessages
		fed      int
		code     protocol.Code
		state    arrival
	}
}

type arrival uint8

const (
	unseen   arrival = iota // nothing looked at
	verified                // the verifier runs or has run
	other                   // not a send
)

// fall ends the session of a connection from outside. With owed set the eviction answers the next request,
// whatever it is.
func (s *session) fall(reason protocol.EvictionReason, owed bool) {
	s.binding.Store(nil)
	if owed {
		s.evict.Store(uint32(reason))
	}
}

// ReadEnd implements transport.Handler.
func (s *session) ReadEnd() { s.submit() }

func (s *session) submit() {
	if !s.batch.Empty() {
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
		s.binding.Store(nil)
		s.server.depart(b)
	}
}

// Frame implements transport.Handler.
func (s *session) Frame(x *transport.Exchange) {
	h := &x.Header
	if code := h.Check(); code != protocol.Success {
		s.settle()
		s.deny(x, code)
		return
	}
	if code := h.CheckBody(x.Body.Bytes); code != protocol.Success {
		s.settle()
		s.deny(x, code)
		return
	}
	if reason := protocol.EvictionReason(s.evict.Swap(0)); reason != 0 {
		s.settle()
		s.sendEviction(x, reason)
		return
	}
	b := s.binding.Load()
	op := h.Operation()
	switch {
	case op == protocol.OpRegister:
		s.settle()
		s.register(x, b)
	case b == nil:
		s.settle()
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

// anonymous handles a request on a connection that has not signed in: ping is served, a logout is done
// already, everything else has no session.
func (s *session) anonymous(x *transport.Exchange) {
	switch op := x.Header.Operation(); {
	case op == protocol.OpLogout:
		x.Reply.SetEcho(&x.Header, s.conn.ID(), 0, 0, protocol.Success)
		x.Done()
	case op != protocol.OpNonReplicated:
		s.sendEviction(x, protocol.EvictNoSession)
	default:
		switch code := protocol.CommandCode(x.Header.CommandCode()); code {
		case protocol.CmdPing:
			x.Reply.SetEcho(&x.Header, x.Header.Client(), x.Header.Session(), s.server.o.Node.MetadataCommit(), protocol.Success)
			x.Done()
		case protocol.CmdUserLogin, protocol.CmdPersonalAccessTokenLogin:
			s.sendEviction(x, protocol.EvictMalformedLogin)
		default:
			s.deny(x, protocol.CodeUnauthenticated)
		}
	}
}

// deny answers before any group was asked.
func (s *session) deny(x *transport.Exchange, code protocol.Code) {
	h := &x.Header
	b := s.binding.Load()
	switch {
	case b == nil:
		x.Reply.SetEcho(h, s.conn.ID(), 0, 0, code)
	case h.Operation() == protocol.OpNonReplicated:
		x.Reply.SetEcho(h, h.Client(), h.Session(), s.server.o.Node.MetadataCommit(), code)
	default:
		x.Reply.SetEcho(h, s.conn.ID(), 0, s.server.o.Node.MetadataCommit(), code)
	}
	x.Done()
}

// frame answers with a result section that was not committed.
func (s *session) frame(x *transport.Exchange, code protocol.Code) {
	commit := s.server.o.Node.MetadataCommit()
	x.Reply.SetEcho(&x.Header, x.Header.Client(), commit, commit, protocol.Success)
	s.out = protocol.AppendResult(s.out[:0], code)
	x.SetBody(s.out)
	x.Done()
}

// answer answers a read.
func (s *session) answer(x *transport.Exchange, body []byte) {
	x.Reply.SetEcho(&x.Header, x.Header.Client(), x.Header.Session(), s.server.o.Node.MetadataCommit(), protocol.Success)
	x.SetBody(body)
	x.Done()
}

func (s *session) sendEviction(x *transport.Exchange, reason protocol.EvictionReason) {
	client := x.Header.Client()
	if client.IsZero() {
		client = s.conn.ID()
	}
	var e protocol.EvictionHeader
	e.Set(client, reason)
	copy(x.Reply[:], e[:])
	x.Done()
}
