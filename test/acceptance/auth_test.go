package acceptance

import (
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// Every command that is no sign-in, and the operation under which it travels.
var (
	reads = []protocol.CommandCode{
		protocol.CmdStats, protocol.CmdSnapshot, protocol.CmdClusterMetadata, protocol.CmdOptionsDescribe, protocol.CmdMe,
		protocol.CmdClientGet, protocol.CmdClientList, protocol.CmdUserGet, protocol.CmdUserList, protocol.CmdPersonalAccessTokenList,
		protocol.CmdMessagePoll, protocol.CmdMessageFlushUnsavedBuffer, protocol.CmdConsumerOffsetGet, protocol.CmdStreamGet,
		protocol.CmdStreamList, protocol.CmdTopicGet, protocol.CmdTopicList, protocol.CmdConsumerGroupGet,
		protocol.CmdConsumerGroupList, protocol.CmdConsumerGroupSync,
	}
	writes = []protocol.Operation{
		protocol.OpCreateStream, protocol.OpUpdateStream, protocol.OpDeleteStream, protocol.OpPurgeStream, protocol.OpCreateTopic,
		protocol.OpUpdateTopic, protocol.OpDeleteTopic, protocol.OpPurgeTopic, protocol.OpCreatePartitions,
		protocol.OpDeletePartitions, protocol.OpDeleteSegments, protocol.OpCreateConsumerGroup, protocol.OpDeleteConsumerGroup,
		protocol.OpCreateUser, protocol.OpUpdateUser, protocol.OpDeleteUser, protocol.OpChangePassword, protocol.OpUpdatePermissions,
		protocol.OpCreatePersonalAccessToken, protocol.OpDeletePersonalAccessToken, protocol.OpJoinConsumerGroup,
		protocol.OpLeaveConsumerGroup, protocol.OpSendMessages, protocol.OpStoreConsumerOffset, protocol.OpDeleteConsumerOffset,
	}
)

// replicated builds a request whose header is valid although nobody has signed in.
func replicated(c *drive.Client, op protocol.Operation, body []byte) []byte {
	frame := c.AppendFrame(nil, op, 0, body)
	h := (*protocol.RequestHeader)(frame)
	h.SetSession(max(h.Session(), 1))
	h.SetRequest(max(h.Request(), 1))
	return frame
}

func TestSignIn_NothingButPingBeforeIt(t *testing.T) {
	s, _ := drive.Fresh(t)
	c := drive.Dial(t, s)
	c.Must(c.Ping())
	for _, code := range reads {
		drive.Want(t, code.String(), c.TryRead(code, nil), drive.Denied(protocol.CodeUnauthenticated))
	}
	for _, op := range writes {
		_, err := c.Exchange(replicated(c, op, nil))
		drive.Want(t, op.String(), err, drive.Evicted(protocol.EvictNoSession))
	}
	reply, err := c.Read(protocol.CmdStats, nil)
	drive.Want(t, "stats", err, drive.Denied(protocol.CodeUnauthenticated))
	drive.Check(t, "commit shown to a stranger", reply.Header.Commit(), 0)
	_, err = c.Exchange(replicated(c, protocol.OpLogout, nil))
	drive.Want(t, "logout of a stranger", err, drive.OK)
	c.Must(c.SignIn(process.RootName, process.RootPassword))
	c.Must(c.TryRead(protocol.CmdStats, nil))
	drive.Check(t, "user", c.UserID(), 0)
}

func TestSignIn_Refusals(t *testing.T) {
	s, _ := drive.Fresh(t)
	prefix := command.LoginPrefix{Version: protocol.Version, SDKName: []byte("test"), SDKVersion: []byte("1")}
	old, newer, patch := prefix, prefix, prefix
	old.Version, newer.Version, patch.Version = 10<<10, 12<<10, protocol.Version+7
	login := func(p command.LoginPrefix, user, password string) []byte {
		return command.Login{LoginPrefix: p, Username: []byte(user), Password: []byte(password)}.Append(nil)
	}
	token := func(text string) []byte {
		return command.LoginToken{LoginPrefix: prefix, Token: []byte(text)}.Append(nil)
	}
	for _, c := range []struct {
		name string
		body []byte
		want drive.Answer
	}{
		{"wrong password", login(prefix, process.RootName, "wrong password"), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"unknown user", login(prefix, "nobody", "some password"), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"empty password", login(prefix, process.RootName, ""), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"password of two bytes", login(prefix, process.RootName, "ab"), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"password of 101 bytes", login(prefix, process.RootName, strings.Repeat("x", 101)), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"name of two bytes", login(prefix, "ig", process.RootPassword), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"name of 51 bytes", login(prefix, strings.Repeat("x", 51), process.RootPassword), drive.Evicted(protocol.EvictInvalidCredentials)},
		{"unknown token", token("never issued"), drive.Evicted(protocol.EvictInvalidToken)},
		{"older protocol", login(old, process.RootName, process.RootPassword), drive.Evicted(protocol.EvictIncompatibleProtocol)},
		{"newer protocol", login(newer, process.RootName, process.RootPassword), drive.Evicted(protocol.EvictIncompatibleProtocol)},
		{"empty body", nil, drive.Evicted(protocol.EvictMalformedLogin)},
		{"half a prefix", login(prefix, process.RootName, process.RootPassword)[:6], drive.Evicted(protocol.EvictMalformedLogin)},
		{"cut in the name", login(prefix, process.RootName, process.RootPassword)[:13], drive.Evicted(protocol.EvictMalformedLogin)},
		{"newer patch", login(patch, process.RootName, process.RootPassword), drive.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := drive.Dial(t, s)
			drive.Want(t, "sign-in", conn.Try(protocol.OpRegister, c.body), c.want)
			conn.Must(conn.SignIn(process.RootName, process.RootPassword))
			conn.Must(conn.TryRead(protocol.CmdStreamList, nil))
		})
	}
}

func TestSignIn_LegacyCodesAreMalformedLogins(t *testing.T) {
	s, root := drive.Fresh(t)
	for _, c := range []*drive.Client{drive.Dial(t, s), root} {
		for _, code := range []protocol.CommandCode{protocol.CmdUserLogin, protocol.CmdPersonalAccessTokenLogin} {
			drive.Want(t, code.String(), c.TryRead(code, []byte("x")), drive.Evicted(protocol.EvictMalformedLogin))
		}
	}
	for _, code := range []protocol.CommandCode{protocol.CmdUserLogout, protocol.CmdUserLoginRegister, protocol.CmdUserLoginRegisterWithPat} {
		drive.Want(t, code.String()+" as a read", root.TryRead(code, nil), drive.Denied(protocol.CodeInvalidCommand))
	}
}

func TestSignIn_VersionWindowIsInTheEviction(t *testing.T) {
	s, _ := drive.Fresh(t)
	c := drive.Dial(t, s)
	body := command.Login{
		LoginPrefix: command.LoginPrefix{Version: 7 << 10, SDKName: []byte("test"), SDKVersion: []byte("1")},
		Username:    []byte(process.RootName), Password: []byte(process.RootPassword),
	}.Append(nil)
	c.Must(c.SendFrame(c.AppendFrame(nil, protocol.OpRegister, 0, body)))
	var frame protocol.EvictionHeader
	readFull(t, c, frame[:])
	highest, lowest := frame.Versions()
	drive.Check(t, "highest version", highest, protocol.Version)
	drive.Check(t, "lowest version", lowest, protocol.VersionMin)
}

func TestSignIn_AgainOnABoundConnection(t *testing.T) {
	s, root := drive.Fresh(t)
	newUser(root, "alice", "alice password", nil)
	c := drive.Root(t, s)
	first := c.Session()
	c.Must(c.SignIn(process.RootName, process.RootPassword))
	drive.Check(t, "session of the same user", c.Session(), first)
	drive.Want(t, "bad credentials", c.SignIn("alice", "not hers at all"), drive.Evicted(protocol.EvictInvalidCredentials))
	c.Must(c.TryRead(protocol.CmdUserList, nil))
	c.Must(c.SignIn("alice", "alice password"))
	if c.Session() <= first {
		t.Errorf("session %d of another user is not above %d", c.Session(), first)
	}
	drive.Want(t, "users for alice", c.TryRead(protocol.CmdUserList, nil), drive.Denied(protocol.CodeUnauthorized))
}

func TestSignOut_LeavesTheConnectionUsable(t *testing.T) {
	s, _ := drive.Fresh(t)
	c := drive.Root(t, s)
	before := c.Session()
	c.Must(c.SignOut())
	drive.Want(t, "read after logout", c.TryRead(protocol.CmdStreamList, nil), drive.Denied(protocol.CodeUnauthenticated))
	c.Must(c.Ping())
	c.Must(c.SignIn(process.RootName, process.RootPassword))
	if c.Session() <= before {
		t.Errorf("session %d after %d; fences must increase", c.Session(), before)
	}
	c.NewStream("after")
}

func TestSignIn_AClientIDBelongsToTheNewestConnection(t *testing.T) {
	s, root := drive.Fresh(t)
	newUser(root, "alice", "alice password", nil)
	older := drive.Root(t, s)
	newer := drive.DialOptions(t, s, rawclient.Options{Client: older.Client()})
	newer.Must(newer.SignIn(process.RootName, process.RootPassword))
	drive.Want(t, "read of the older", older.TryRead(protocol.CmdStreamList, nil), drive.Denied(protocol.CodeUnauthenticated))
	drive.Want(t, "write of the older", older.Try(protocol.OpCreateStream, command.CreateStream{Name: []byte("x")}.Append(nil)),
		drive.Evicted(protocol.EvictNoSession))
	newer.NewStream("newer")
	thief := drive.DialOptions(t, s, rawclient.Options{Client: newer.Client()})
	drive.Want(t, "sign-in under the client id of another user", thief.SignIn("alice", "alice password"),
		drive.Evicted(protocol.EvictSessionError))
	newer.NewStream("still")
}
