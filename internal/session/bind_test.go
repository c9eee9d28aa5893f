package session

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// sessionOf returns the session of a signed-in connection.
func (r *rig) sessionOf(c *client) *session {
	r.sessions.mu.Lock()
	defer r.sessions.mu.Unlock()
	return r.sessions.bound[c.Client()]
}

// The answer to a sign-in reaches its connection a little after it was committed. What ended the session in
// between was told when nobody was bound yet.
func TestBind_OfASessionThatEndedOnTheWay(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*rig)
		want outcome
	}{
		{"deleted", func(r *rig) { r.root.apply(protocol.OpDeleteUser, named("bob")) }, evicted(protocol.EvictNoSession)},
		{"deleted and made anew under the same id", func(r *rig) {
			r.root.apply(protocol.OpDeleteUser, named("bob"))
			r.newUser("eve", nil)
		}, evicted(protocol.EvictNoSession)},
		{"deactivated", func(r *rig) {
			r.root.apply(protocol.OpUpdateUser, command.UpdateUser{User: protocol.NamedID("bob"), Status: command.UserInactive}.Append(nil))
		}, evicted(protocol.EvictUserInactive)},
		{"nothing happened", func(r *rig) {}, outcome{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := openRig(t, setup{})
			r.newUser("bob", nil)
			bob := r.as("bob")
			ss := r.sessionOf(bob)
			b := ss.binding.Load()
			r.sessions.unbind(b.client, ss) // as if the answer were still on its way
			c.end(r)
			r.sessions.bind(ss, b)
			bob.wants("next request", bob.Ping(), c.want)
			if c.want != (outcome{}) {
				bob.reads("the one after", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
			} else {
				bob.ask(protocol.CmdMe, nil)
			}
		})
	}
}

func TestBind_AnOlderFenceDoesNotReplaceANewerOne(t *testing.T) {
	r := openRig(t, setup{})
	older := r.as(rootName)
	ss := r.sessionOf(older)
	b := ss.binding.Load()
	newer := r.dialAs(older.Client())
	newer.must(newer.SignIn(rootName, rootName))
	r.sessions.bind(ss, b)
	newer.ask(protocol.CmdMe, nil)
	older.reads("older fence", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
	_ = newer.Close()
	eventually(t, "the newer connection is gone", func() bool { return r.departed() == 1 })
	r.sessions.bind(ss, b)
	older.reads("older fence of a client that left", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
}
