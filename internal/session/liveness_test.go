package session

import (
	"bytes"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/rawclient"
)

// quick is a server whose members may be silent for 0.24 s only.
func quick(o *Options) { o.Heartbeat = 200 * time.Millisecond }

// known reports whether the client table holds a client.
func (r *rig) departed() int {
	r.sessions.mu.Lock()
	defer r.sessions.mu.Unlock()
	return len(r.sessions.leaving)
}

func TestLiveness_SilentMembersAreEvictedUnasked(t *testing.T) {
	r := openRig(t, setup{session: quick})
	ref := r.topic("s", "t", 2)
	g := r.group(ref, "g")
	silent, lively, outsider := r.as(rootName), r.as(rootName), r.as(rootName)
	silent.must(silent.JoinGroup(g))
	lively.must(lively.JoinGroup(g))
	stop := make(chan struct{})
	pinged := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				pinged <- nil
				return
			case <-time.After(20 * time.Millisecond):
				if err := lively.Ping(); err != nil {
					pinged <- err
					return
				}
			}
		}
	}()
	began := time.Now()
	e := (*protocol.EvictionHeader)(r.raw(silent, nil))
	if took := time.Since(began); !e.Check() || e.Reason() != protocol.EvictStaleClient || e.Client() != silent.Client() || took < 200*time.Millisecond {
		t.Errorf("eviction %d after %v, valid %v", e.Reason(), took, e.Check())
	}
	close(stop)
	if err := <-pinged; err != nil {
		t.Error(err)
	}
	if got := len(lively.owns(g)); got != 2 {
		t.Errorf("the other member owns %d partitions", got)
	}
	silent.must(silent.Ping()) // the connection is still there
	silent.reads("read", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
	silent.must(silent.SignIn(rootName, rootName))
	outsider.ask(protocol.CmdMe, nil) // no member: may be silent
	if got := r.metric("galgo_silent_members_evicted_total"); got != 1 {
		t.Errorf("%v evictions are counted", got)
	}
}

func (r *rig) metric(name string) float64 {
	r.t.Helper()
	for _, m := range r.sessions.Metrics() {
		if m.Name == name {
			return m.Value
		}
	}
	r.t.Fatalf("no metric %s", name)
	return 0
}

func TestLiveness_OffKeepsSilentMembers(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	g := r.group(ref, "g")
	c := r.as(rootName)
	c.must(c.JoinGroup(g))
	r.sessions.logoutDeparted(time.Now().Add(time.Hour))
	c.ask(protocol.CmdMe, nil)
	_ = c.Close()
	eventually(t, "the connection is gone", func() bool { return r.departed() == 1 })
	eventually(t, "the membership is gone", func() bool { return len(r.members(g)) == 0 })
	r.sessions.logoutDeparted(time.Now().Add(heartbeatDefault))
	if r.departed() != 1 {
		t.Error("logged out before 1.2 heartbeat intervals")
	}
	r.sessions.logoutDeparted(time.Now().Add(2 * heartbeatDefault))
	if r.departed() != 0 {
		t.Error("never logged out")
	}
}

// A client that comes back in time keeps its fence's history: a retried request is recognised.
func TestDeparture_ClientThatReturnsInTime(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	g := r.group(ref, "g")
	c := r.as(rootName)
	c.must(c.JoinGroup(g))
	c.SetNextRequest(7)
	first := r.raw(c, c.AppendFrame(nil, protocol.OpCreateStream, 0, streamBody("once")))
	_ = c.Close()
	eventually(t, "the connection is gone", func() bool { return r.departed() == 1 && len(r.members(g)) == 0 })

	again := r.dialAs(c.Client())
	again.must(again.SignIn(rootName, rootName))
	if again.Session() <= c.Session() || r.departed() != 0 {
		t.Errorf("fence %d after %d, %d departed", again.Session(), c.Session(), r.departed())
	}
	again.SetNextRequest(7)
	if second := r.raw(again, again.AppendFrame(nil, protocol.OpCreateStream, 0, streamBody("once"))); !bytes.Equal(first, second) {
		t.Error("the retried request was not recognised")
	}
	again.SetNextRequest(8)
	again.must(again.JoinGroup(g)) // it has to join again
	r.sessions.logoutDeparted(time.Now().Add(time.Hour))
	again.ask(protocol.CmdMe, nil)
	wantCover(t, g, 1, again)
}

func TestDeparture_ClientThatDoesNotReturn(t *testing.T) {
	r := openRig(t, setup{session: quick})
	c := r.as(rootName)
	c.SetNextRequest(7)
	c.does("create", protocol.OpCreateStream, streamBody("once"), outcome{})
	_ = c.Close()
	eventually(t, "the session is logged out", func() bool { return r.metric("galgo_clients_logged_out_total") == 1 })
	again := r.dialAs(c.Client())
	again.must(again.SignIn(rootName, rootName))
	again.SetNextRequest(7)
	again.does("retry", protocol.OpCreateStream, streamBody("once"), rejected(protocol.CodeStreamNameAlreadyExists)) // executed anew
	r.newUser("other", nil)
	_ = again.Close()
	eventually(t, "the session is logged out", func() bool { return r.metric("galgo_clients_logged_out_total") == 2 })
	other := r.dialAs(c.Client())
	eventually(t, "the id is free for another user", func() bool { return other.SignIn("other", "other") == nil })
}

func TestDeparture_ManyClientsAreLoggedOutInTurns(t *testing.T) {
	r := openRig(t, setup{})
	const n = departuresMax + 8
	for range n {
		c := r.as(rootName)
		_ = c.Close()
	}
	eventually(t, "all connections are gone", func() bool { return r.departed() == n })
	late := time.Now().Add(time.Hour)
	r.sessions.logoutDeparted(late)
	if got := r.departed(); got != n-departuresMax {
		t.Errorf("%d remain after a turn", got)
	}
	r.sessions.logoutDeparted(late)
	if got := r.departed(); got != 0 {
		t.Errorf("%d remain after two turns", got)
	}
}

func TestRestart_MembersThatReturnKeepTheirPlace(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	g := r.group(ref, "g")
	stays, goes := r.as(rootName), r.as(rootName)
	stays.must(stays.JoinGroup(g))
	goes.must(goes.JoinGroup(g))
	// A crash: nobody sees the connections close before the files are opened again.
	r.sessions.mu.Lock()
	clear(r.sessions.bound)
	r.sessions.mu.Unlock()
	r.restart()
	if got := len(r.members(g)); got != 2 {
		t.Fatalf("%d members came back", got)
	}
	again := r.dialAs(stays.Client())
	again.must(again.SignIn(rootName, rootName))
	if got := len(again.owns(g)); got != 1 {
		t.Errorf("owns %d partitions after its return", got)
	}
	r.sessions.logoutDeparted(time.Now().Add(time.Hour))
	eventually(t, "who did not return is removed", func() bool { return len(r.members(g)) == 1 })
	wantCover(t, g, 2, again)
}

func TestTokenCleaner_RemovesWhatExpired(t *testing.T) {
	r := openRig(t, setup{session: func(o *Options) { o.TokenCleaner = 10 * time.Millisecond }})
	r.root.apply(protocol.OpCreatePersonalAccessToken, tokenBody("short", 1000))
	r.root.apply(protocol.OpCreatePersonalAccessToken, tokenBody("long", 3_600_000_000))
	eventually(t, "the expired one is gone", func() bool {
		return bytes.Count(r.root.ask(protocol.CmdPersonalAccessTokenList, nil), []byte("short")) == 0
	})
	if !bytes.Contains(r.root.ask(protocol.CmdPersonalAccessTokenList, nil), []byte("long")) {
		t.Error("the other one is gone too")
	}
}

func TestClose_WithRequestsInFlight(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	c := r.dialAs(rawclient.RandomClient())
	c.must(c.SignIn(rootName, rootName))
	var block []byte
	for range 100 {
		block = c.AppendFrame(block, protocol.OpSendMessages, 0, sendBody(ref, to(0), 1, record("x")))
	}
	c.must(c.SendFrames(block, 100))
	_ = c.Close()
	r.close()
}
