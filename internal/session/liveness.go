package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// patience is how long a silent member or a closed connection is waited for.
func (s *Server) patience() time.Duration { return s.o.Heartbeat * 12 / 10 }

// depart follows a connection that closed without a logout: the client leaves its groups at once; its session
// is logged out later, so that a client which comes back with the same id keeps its fence.
func (s *Server) depart(b *binding) {
	for _, ref := range s.o.Node.View().Memberships(b.client) {
		s.o.Node.RemoveMember(metadata.RemoveMember{GroupRef: ref, Client: b.client, Session: b.session})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving[b.client] = departure{b.session, time.Now().Add(s.patience())}
}

// adoptRestored starts the clock of every session that the log brought back: its connection is gone.
func (s *Server) adoptRestored() {
	s.o.Node.EachSession(func(e metadata.Session) {
		s.leaving[e.Client] = departure{e.Epoch, time.Now().Add(s.patience())}
	})
}

// watchTokens runs the cleaner of access tokens.
func (s *Server) watchTokens() {
	t := time.NewTicker(s.o.TokenCleaner)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-t.C:
			s.cleanTokens(now)
		}
	}
}

// watch runs the clocks of liveness.
func (s *Server) watch() {
	t := time.NewTicker(max(s.o.Heartbeat/10, 20*time.Millisecond))
	defer t.Stop()
	verify := time.Now().Add(s.o.Heartbeat)
	for {
		select {
		case <-s.stop:
			return
		case now := <-t.C:
			s.logoutDeparted(now)
			if now.After(verify) {
				verify = now.Add(s.o.Heartbeat)
				s.evictSilent(now)
			}
		}
	}
}

// logoutDeparted ends the sessions whose client did not come back in time.
func (s *Server) logoutDeparted(now time.Time) {
	s.mu.Lock()
	var due []binding
	for client, d := range s.leaving {
		if now.After(d.due) {
			due = append(due, binding{client: client, session: d.session})
			delete(s.leaving, client)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(due, func(a, b binding) int { return cmp.Compare(a.session, b.session) })
	for i := range due {
		s.submitLogout(&due[i])
	}
}

// evictSilent ends the sessions of group members that sent nothing for too long.
func (s *Server) evictSilent(now time.Time) {
	view := s.o.Node.View()
	type silentMember struct {
		ss *session
		b  *binding
	}
	var silent []silentMember
	s.each(func(ss *session) {
		b := ss.binding.Load()
		if b == nil || now.Sub(ss.conn.LastActivity()) < s.patience() || len(view.Memberships(b.client)) == 0 {
			return
		}
		silent = append(silent, silentMember{ss, b})
	})
	for _, m := range silent {
		if !s.unbind(m.b.client, m.ss) {
			continue
		}
		m.ss.binding.Store(nil)
		<-s.submitLogout(m.b)
		var e protocol.EvictionHeader
		e.Set(m.b.client, protocol.EvictStaleClient)
		m.ss.conn.Push(e.Common())
		m.ss.conn.Flush()
		s.o.Log.Info("silent group member evicted", "client", m.b.client.String())
	}
}

// logoutWork is a Logout guarded by the fence that it ends.
func logoutWork(client protocol.Uint128, session, request uint64) node.Work {
	return node.Work{Group: protocol.MetadataGroup, Request: vsr.Request{
		Client: client, Session: session, Request: request, Operation: protocol.OpLogout,
		Body: vsr.Body{Bytes: metadata.AppendLogout(nil, session)},
	}}
}

// over is the waiter of an operation of which only the end matters.
type over chan struct{}

// Complete implements node.Waiter.
func (o over) Complete(*vsr.Reply) { close(o) }

// Flush implements node.Waiter.
func (o over) Flush() {}

// submitLogout ends a session; the channel is closed when that is answered.
func (s *Server) submitLogout(b *binding) <-chan struct{} {
	done := make(over)
	w := logoutWork(b.client, b.session, ^uint64(0))
	w.Request.Waiter = done
	var batch node.Batch
	batch.Add(s.o.Node, &w)
	s.o.Node.Submit(&batch)
	return done
}

// cleanTokens removes the tokens that have expired. Each removal is guarded in the log: one that was made anew
// meanwhile stays.
func (s *Server) cleanTokens(now time.Time) {
	micros := uint64(now.UnixMicro())
	for u := range s.o.Node.View().Users() {
		for t := range u.Tokens() {
			if t.IsExpired(micros) {
				s.o.Node.DeleteExpiredToken(u.ID, t.Name)
			}
		}
	}
}
