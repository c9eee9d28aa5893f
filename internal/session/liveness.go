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
func (s *Server) patience() time.Duration { return s.interval() * 12 / 10 }

func (s *Server) interval() time.Duration {
	if s.o.Heartbeat > 0 {
		return s.o.Heartbeat
	}
	return heartbeatDefault
}

// depart follows a connection that closed without a logout: the client leaves its groups at once; its session
// is logged out later, so that a client which comes back with the same id keeps its fence.
func (s *Server) depart(b *binding) {
	for _, ref := range s.o.Node.View().Memberships(b.client) {
		s.o.Node.RemoveMember(metadata.RemoveMember{GroupRef: ref, Client: b.client, Session: b.session})
	}
	s.leave(b, time.Now().Add(s.patience()))
}

// leave has a session logged out at due, unless its client signs in again before.
func (s *Server) leave(b *binding, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.bound[b.client]; ss != nil {
		return // it is back already
	}
	if d, ok := s.leaving[b.client]; !ok || d.session <= b.session {
		s.leaving[b.client] = departure{b.session, due}
	}
}

// adoptRestored starts the clock of every session that the log brought back: its connection is gone. Those that
// sign in again within that time keep their memberships.
func (s *Server) adoptRestored() {
	due := time.Now().Add(s.patience())
	s.o.Node.EachSession(func(e metadata.Session) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leaving[e.Client] = departure{e.Epoch, due}
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
	t := time.NewTicker(max(s.interval()/10, 20*time.Millisecond))
	defer t.Stop()
	verify := time.Now().Add(s.interval())
	for {
		select {
		case <-s.stop:
			return
		case now := <-t.C:
			s.logoutDeparted(now)
			if s.o.Heartbeat > 0 && now.After(verify) {
				verify = now.Add(s.o.Heartbeat)
				s.evictSilent(now)
			}
		}
	}
}

// departuresMax bounds the sessions that one turn of the clock logs out, so that they fit into the pipeline of
// the metadata group beside the requests of clients.
const departuresMax = 32

// logoutDeparted ends the sessions whose client did not come back in time, oldest first.
func (s *Server) logoutDeparted(now time.Time) {
	s.mu.Lock()
	var due []binding
	for client, d := range s.leaving {
		if now.After(d.due) {
			due = append(due, binding{client: client, session: d.session})
		}
	}
	slices.SortFunc(due, func(a, b binding) int { return cmp.Compare(a.session, b.session) })
	due = due[:min(len(due), departuresMax)]
	for i := range due {
		delete(s.leaving, due[i].client)
	}
	s.mu.Unlock()
	for i := range due {
		s.metrics.departed.Inc()
		s.end(&due[i])
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
		select {
		case <-s.end(m.b):
		case <-s.stop:
			return
		}
		s.metrics.silent.Inc()
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

// farewell is a Logout that the server itself makes. One that was not accepted is tried again.
type farewell struct {
	server *Server
	b      binding
	work   node.Work
	done   chan struct{}
}

// Complete implements node.Waiter.
func (f *farewell) Complete(r *vsr.Reply) {
	if isTransient(r.Outcome) {
		f.server.leave(&f.b, time.Now().Add(time.Second))
	}
	close(f.done)
}

// Flusher implements node.Waiter.
func (f *farewell) Flusher() node.Flusher { return nil }

// end has a session logged out; the channel is closed when that is answered.
func (s *Server) end(b *binding) <-chan struct{} {
	f := &farewell{server: s, b: *b, done: make(chan struct{})}
	f.work = logoutWork(b.client, b.session, requestNumberMax)
	f.work.Request.Waiter = f
	var batch node.Batch
	batch.Add(s.o.Node, &f.work)
	s.o.Node.Submit(&batch)
	return f.done
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
