package session

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// signInBody is a sign-in with a password, as SDKs send it.
func signInBody(version uint32, user, password string) []byte {
	return command.Login{
		LoginPrefix: command.LoginPrefix{Version: version, SDKName: []byte("test"), SDKVersion: []byte("1")},
		Username:    []byte(user), Password: []byte(password),
	}.Append(nil)
}

func TestSignIn_AnswersUserFenceAndVersions(t *testing.T) {
	r := openRig(t, setup{})
	c := r.dial()
	reply, err := c.Do(protocol.OpRegister, 0, signInBody(protocol.Version, rootName, rootName))
	c.must(err)
	got := sure(command.DecodeLoginReply(reply.Body))
	if got.UserID != 0 || got.Session == 0 || got.Version != protocol.Version || string(got.ServerVersion) != protocol.ServerVersion {
		t.Errorf("signed in as %+v", got)
	}
	h := reply.Header
	if h.Op() != got.Session || h.Commit() < got.Session || h.Client() != c.Client() || h.Request() != 0 {
		t.Errorf("header has op %d, commit %d, client %v, request %d; the fence is %d", h.Op(), h.Commit(), h.Client(), h.Request(), got.Session)
	}
}

func TestSignIn_RefusesByReason(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("sleeper", nil)
	r.root.apply(protocol.OpUpdateUser, command.UpdateUser{User: protocol.NamedID("sleeper"), Status: command.UserInactive}.Append(nil))
	good := signInBody(protocol.Version, rootName, rootName)
	token := func(text string) []byte {
		return command.LoginToken{
			LoginPrefix: command.LoginPrefix{Version: protocol.Version, SDKName: []byte("t"), SDKVersion: []byte("1")}, Token: []byte(text),
		}.Append(nil)
	}
	for _, c := range []struct {
		name string
		body []byte
		want protocol.EvictionReason
	}{
		{"empty body", nil, protocol.EvictMalformedLogin},
		{"cut inside the prefix", good[:9], protocol.EvictMalformedLogin},
		{"cut behind the prefix", good[:12], protocol.EvictMalformedLogin},
		{"older version", signInBody(protocol.VersionMin-1, rootName, rootName), protocol.EvictIncompatibleProtocol},
		{"newer minor version", signInBody(protocol.Version+1<<10, rootName, rootName), protocol.EvictIncompatibleProtocol},
		{"version before credentials", signInBody(0, rootName, "wrong password"), protocol.EvictIncompatibleProtocol},
		{"wrong password", signInBody(protocol.Version, rootName, "wrong"), protocol.EvictInvalidCredentials},
		{"unknown user", signInBody(protocol.Version, "nobody", rootName), protocol.EvictInvalidCredentials},
		{"inactive user", signInBody(protocol.Version, "sleeper", "sleeper"), protocol.EvictInvalidCredentials},
		{"short name", signInBody(protocol.Version, "ab", rootName), protocol.EvictInvalidCredentials},
		{"short password", signInBody(protocol.Version, rootName, "ab"), protocol.EvictInvalidCredentials},
		{"long password", signInBody(protocol.Version, rootName, string(bytes.Repeat([]byte("x"), 101))), protocol.EvictInvalidCredentials},
		{"empty password", signInBody(protocol.Version, rootName, ""), protocol.EvictInvalidCredentials},
		{"unknown token", token("no such token"), protocol.EvictInvalidToken},
		{"empty token", token(""), protocol.EvictInvalidToken},
		{"token with a byte behind", append(token("no such token"), 0), protocol.EvictInvalidCredentials}, // a password form
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := r.dial()
			conn.does(c.name, protocol.OpRegister, c.body, evicted(c.want))
			conn.must(conn.SignIn(rootName, rootName)) // the connection is good for another try
		})
	}
}

func TestSignIn_NewerPatchIsAccepted(t *testing.T) {
	r := openRig(t, setup{})
	c := r.dial()
	c.does("patch 5", protocol.OpRegister, signInBody(protocol.Version|5, rootName, rootName), outcome{})
}

func TestSignIn_EvictionOfAWrongVersionNamesTheWindow(t *testing.T) {
	r := openRig(t, setup{})
	frame := r.exchange(r.dial(), protocol.OpRegister, signInBody(7, rootName, rootName))
	e := (*protocol.EvictionHeader)(frame)
	highest, lowest := e.Versions()
	if !e.Check() || e.Reason() != protocol.EvictIncompatibleProtocol || highest != protocol.Version || lowest != protocol.VersionMin {
		t.Errorf("eviction %d with window %d to %d; valid: %v", e.Reason(), lowest, highest, e.Check())
	}
}

func TestSignIn_ByToken(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("owner", nil)
	owner := r.as("owner")
	create := func(name string, expiry uint64) string {
		body := owner.apply(protocol.OpCreatePersonalAccessToken, command.CreateToken{Name: []byte(name), ExpiryMicros: expiry}.Append(nil))
		return string(sure(command.DecodeName(body)))
	}
	lasting, short := create("lasting", 0), create("short", 1000)
	c := r.dial()
	c.must(c.SignInToken(lasting))
	if c.UserID() != owner.UserID() {
		t.Errorf("signed in as user %d; want %d", c.UserID(), owner.UserID())
	}
	time.Sleep(2 * time.Millisecond) // what short was given
	late := r.dial()
	late.wants("expired token", late.SignInToken(short), evicted(protocol.EvictInvalidToken))
	late.must(late.SignInToken(lasting))
	late.apply(protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "lasting"))
	late.must(late.Ping())
	gone := r.dial()
	gone.wants("deleted token", gone.SignInToken(lasting), evicted(protocol.EvictInvalidToken))
	other := create("other", 0)
	r.root.apply(protocol.OpUpdateUser, command.UpdateUser{User: protocol.NamedID("owner"), Status: command.UserInactive}.Append(nil))
	gone.wants("token of an inactive user", gone.SignInToken(other), evicted(protocol.EvictUserInactive))
}

func TestSignIn_AgainAsTheSameUserKeepsTheSession(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	first, id := c.Session(), c.Client()
	c.SetClient(rawclient.RandomClient())
	c.must(c.SignIn(rootName, rootName))
	if c.Session() != first {
		t.Errorf("session %d; want the one before, %d", c.Session(), first)
	}
	c.wants("wrong password", c.SignIn(rootName, "wrong"), evicted(protocol.EvictInvalidCredentials))
	c.ask(protocol.CmdMe, nil) // still signed in
	c.SetClient(id)
	c.apply(protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil))
}

func TestSignIn_AsAnotherUserEndsTheSessionBefore(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("reader", &command.Permissions{Global: command.GlobalPermissions{ReadTopics: true}})
	ref := r.topic("s", "t", 2)
	sure(r.root.CreateGroup(ref, "g"))
	group := command.GroupRef{TopicRef: ref, Group: protocol.NamedID("g")}
	c := r.as(rootName)
	c.must(c.JoinGroup(group))
	before := c.Session()
	c.must(c.SignIn("reader", "reader"))
	if c.Session() <= before || c.UserID() == 0 {
		t.Errorf("session %d of user %d after %d of root", c.Session(), c.UserID(), before)
	}
	if _, member, err := c.SyncGroup(group); err != nil || member {
		t.Errorf("still a member: %v, %v", member, err)
	}
	c.does("create a stream as reader", protocol.OpCreateStream, command.CreateStream{Name: []byte("x")}.Append(nil), rejected(protocol.CodeUnauthorized))
	if members := sure(command.DecodeGroupDetails(r.root.ask(protocol.CmdConsumerGroupGet, group.Append(nil)))).Members; len(members) != 0 {
		t.Errorf("%d members remain", len(members))
	}
}

func TestSignIn_ClientIDOfAnotherUserIsRefused(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("other", nil)
	c := r.dialAs(r.root.Client())
	c.wants("id of root", c.SignIn("other", "other"), evicted(protocol.EvictSessionError))
	r.root.ask(protocol.CmdMe, nil)
}

func TestSignIn_NewerConnectionTakesTheClientID(t *testing.T) {
	r := openRig(t, setup{})
	old := r.as(rootName)
	newer := r.dialAs(old.Client())
	newer.must(newer.SignIn(rootName, rootName))
	if newer.Session() <= old.Session() {
		t.Errorf("fence %d after %d", newer.Session(), old.Session())
	}
	old.must(old.Ping())
	old.reads("older connection, read", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
	old.does("older connection, write", protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil), evicted(protocol.EvictNoSession))
	newer.apply(protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil))
	_ = old.Close()
	newer.ask(protocol.CmdMe, nil) // the end of the older connection is nothing to the newer one
}

func TestSignIn_OfOneClientFromManyConnectionsLeavesOneHolder(t *testing.T) {
	r := openRig(t, setup{})
	id := rawclient.RandomClient()
	clients := make([]*client, 8)
	var all sync.WaitGroup
	for i := range clients {
		clients[i] = r.dialAs(id)
		all.Go(func() {
			for {
				err := clients[i].SignIn(rootName, rootName)
				if code, ok := rawclient.CodeOf(err); ok && code == protocol.CodeTransientNotCommitted {
					continue // another one is in flight
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	all.Wait()
	var newest *client
	for _, c := range clients {
		if newest == nil || c.Session() > newest.Session() {
			newest = c
		}
	}
	for _, c := range clients {
		want := denied(protocol.CodeUnauthenticated)
		if c == newest {
			want = outcome{}
		}
		c.reads("me", protocol.CmdMe, nil, want)
	}
}

func TestSignIn_IsTurnedAwayWhileTooManyWait(t *testing.T) {
	r := openRig(t, setup{})
	r.sessions.secrets.known.forget()
	r.sessions.secrets.waiting.Store(signInsMax)
	c := r.dial()
	c.wants("crowded", c.SignIn(rootName, rootName), rejected(protocol.CodeTransientNotAccepted))
	c.wants("crowded, wrong password", c.SignIn(rootName, "wrong"), rejected(protocol.CodeTransientNotAccepted))
	c.wants("too short to be hashed", c.SignIn(rootName, "x"), evicted(protocol.EvictInvalidCredentials))
	r.sessions.secrets.waiting.Store(0)
	c.must(c.SignIn(rootName, rootName))
	r.sessions.secrets.waiting.Store(signInsMax)
	known := r.dial() // a flood of wrong passwords does not keep out who was here before
	known.must(known.SignIn(rootName, rootName))
}

func TestSignOut_EndsTheSessionAndKeepsTheConnection(t *testing.T) {
	r := openRig(t, setup{})
	c := r.dial()
	c.does("not signed in", protocol.OpLogout, nil, denied(protocol.CodeInvalidCommand)) // session 0 is a bad header
	c.must(c.SignIn(rootName, rootName))
	session := c.Session()
	reply, err := c.Do(protocol.OpLogout, 0, nil)
	c.must(err)
	if h := reply.Header; h.Op() != session || h.Commit() <= session || len(reply.Body) != 0 || h.Client() != c.Client() {
		t.Errorf("op %d, commit %d, body %d bytes after session %d", h.Op(), h.Commit(), len(reply.Body), session)
	}
	c.does("again", protocol.OpLogout, nil, outcome{}) // done already
	c.reads("read", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
	c.does("write", protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil), evicted(protocol.EvictNoSession))
	c.must(c.SignIn(rootName, rootName))
	if c.Session() <= session {
		t.Errorf("fence %d after %d", c.Session(), session)
	}
}

func TestSignOut_UnderAUsedNumberIsRefused(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	c.apply(protocol.OpCreateStream, command.CreateStream{Name: []byte("s")}.Append(nil))
	c.SetNextRequest(1)
	c.does("number of the stream", protocol.OpLogout, nil, denied(protocol.CodeInvalidCommand))
	c.ask(protocol.CmdMe, nil)
}
