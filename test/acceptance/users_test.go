package acceptance

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// readFull takes raw bytes off a connection.
func readFull(t *testing.T, c *drive.Client, into []byte) {
	t.Helper()
	c.Must(c.NetConn().SetReadDeadline(time.Now().Add(10 * time.Second)))
	if _, err := io.ReadFull(c.NetConn(), into); err != nil {
		t.Fatal(err)
	}
}

func userBody(name, password string, p *command.Permissions) []byte {
	return command.CreateUser{
		Username: []byte(name), Password: []byte(password), Status: command.UserActive, Permissions: p,
	}.Append(nil)
}

// newUser creates a user that must not exist and returns the id.
func newUser(c *drive.Client, name, password string, p *command.Permissions) uint32 {
	d, err := command.DecodeUserDetails(c.Apply(protocol.OpCreateUser, userBody(name, password, p)))
	c.Must(err)
	return d.ID
}

// user looks a user up; false when there is none.
func user(c *drive.Client, id protocol.Identifier) (command.UserDetails, bool) {
	body := c.Ask(protocol.CmdUserGet, id.Append(nil))
	if len(body) == 0 {
		return command.UserDetails{}, false
	}
	d, err := command.DecodeUserDetails(body)
	c.Must(err)
	return d, true
}

func passwordBody(id protocol.Identifier, current, next string) []byte {
	return command.ChangePassword{User: id, Current: []byte(current), New: []byte(next)}.Append(nil)
}

func TestUsers_LifeCycle(t *testing.T) {
	s, root := drive.Fresh(t)
	id := newUser(root, "alice", "first password", nil)
	drive.Check(t, "first free user id", id, 1)
	drive.Want(t, "same name", root.Try(protocol.OpCreateUser, userBody("alice", "password", nil)), drive.Rejected(protocol.CodeUserAlreadyExists))
	all, err := command.DecodeUsers(root.Ask(protocol.CmdUserList, nil))
	root.Must(err)
	if len(all) != 2 || string(all[0].Username) != process.RootName || string(all[1].Username) != "alice" || all[0].CreatedAt != 1 {
		t.Errorf("users %+v; want root, created at 1, and alice", all)
	}
	byID, _ := user(root, numbered(id))
	byName, found := user(root, named("alice"))
	if !found || byID.ID != byName.ID || byName.Permissions != nil {
		t.Errorf("by id %+v, by name %+v", byID, byName)
	}
	if _, found := user(root, named("bob")); found {
		t.Error("a user that never was is found")
	}
	drive.As(t, s, "alice", "first password")

	rename := command.UpdateUser{User: numbered(id), Username: []byte("alicia"), Status: command.UserInactive}.Append(nil)
	root.Apply(protocol.OpUpdateUser, rename)
	drive.Want(t, "sign-in of an inactive user", drive.Dial(t, s).SignIn("alicia", "first password"), drive.Evicted(protocol.EvictInvalidCredentials))
	root.Apply(protocol.OpUpdateUser, command.UpdateUser{User: named("alicia"), Status: command.UserActive}.Append(nil))
	drive.As(t, s, "alicia", "first password")
	drive.Want(t, "sign-in under the old name", drive.Dial(t, s).SignIn("alice", "first password"), drive.Evicted(protocol.EvictInvalidCredentials))

	drive.Want(t, "wrong current password", root.Try(protocol.OpChangePassword, passwordBody(named("alicia"), "wrong one", "second password")),
		drive.Rejected(protocol.CodeInvalidCredentials))
	root.Apply(protocol.OpChangePassword, passwordBody(named("alicia"), "first password", "second password"))
	drive.Want(t, "old password", drive.Dial(t, s).SignIn("alicia", "first password"), drive.Evicted(protocol.EvictInvalidCredentials))
	drive.As(t, s, "alicia", "second password")

	granted := &command.Permissions{Global: command.GlobalPermissions{ReadStreams: true}}
	root.Apply(protocol.OpUpdatePermissions, command.UpdatePermissions{User: numbered(id), Permissions: granted}.Append(nil))
	if d, _ := user(root, numbered(id)); d.Permissions == nil || !d.Permissions.Global.ReadStreams {
		t.Errorf("permissions %+v are not those that were set", d.Permissions)
	}
	root.Apply(protocol.OpDeleteUser, numbered(id).Append(nil))
	if _, found := user(root, named("alicia")); found {
		t.Error("a deleted user is found")
	}
	drive.Check(t, "id of the next user", newUser(root, "bob", "bobs password", nil), 1)
}

func TestUsers_Refusals(t *testing.T) {
	_, root := drive.Fresh(t)
	newUser(root, "alice", "password", nil)
	none := command.UpdatePermissions{User: numbered(0)}.Append(nil)
	for _, c := range []struct {
		name string
		op   protocol.Operation
		body []byte
		want drive.Answer
	}{
		{"name of 2 bytes", protocol.OpCreateUser, userBody("ab", "password", nil), drive.Rejected(protocol.CodeInvalidUsername)},
		{"name of 3 bytes", protocol.OpCreateUser, userBody("abc", "password", nil), drive.OK},
		{"name of 50 bytes", protocol.OpCreateUser, userBody(strings.Repeat("n", 50), "password", nil), drive.OK},
		{"name of 51 bytes", protocol.OpCreateUser, userBody(strings.Repeat("n", 51), "password", nil), drive.Rejected(protocol.CodeInvalidUsername)},
		{"password of 2 bytes", protocol.OpCreateUser, userBody("carol", "pw", nil), drive.Rejected(protocol.CodeInvalidPassword)},
		{"password of 3 bytes", protocol.OpCreateUser, userBody("carol", "pwd", nil), drive.OK},
		{"password of 100 bytes", protocol.OpCreateUser, userBody("carola", strings.Repeat("p", 100), nil), drive.OK},
		{"password of 101 bytes", protocol.OpCreateUser, userBody("caroline", strings.Repeat("p", 101), nil), drive.Rejected(protocol.CodeInvalidPassword)},
		{"unknown status", protocol.OpCreateUser, command.CreateUser{Username: []byte("dave"), Password: []byte("password"), Status: 9}.Append(nil),
			drive.Denied(protocol.CodeInvalidCommand)},
		{"option", protocol.OpCreateUser, append(userBody("dave", "password", nil), command.AppendOptions(nil, command.StringOption("colour", "red"))...),
			drive.Denied(protocol.CodeUnsupportedOptionKey)},
		{"update of nobody", protocol.OpUpdateUser, command.UpdateUser{User: named("nobody"), Status: command.UserActive}.Append(nil), drive.Rejected(protocol.CodeResourceNotFound)},
		{"rename to a taken name", protocol.OpUpdateUser, command.UpdateUser{User: named("alice"), Username: []byte(process.RootName)}.Append(nil),
			drive.Rejected(protocol.CodeUserAlreadyExists)},
		{"rename to the own name", protocol.OpUpdateUser, command.UpdateUser{User: named("alice"), Username: []byte("alice")}.Append(nil), drive.OK},
		{"delete of nobody", protocol.OpDeleteUser, named("nobody").Append(nil), drive.Rejected(protocol.CodeResourceNotFound)},
		{"delete of root", protocol.OpDeleteUser, numbered(0).Append(nil), drive.Rejected(protocol.CodeCannotDeleteUser)},
		{"permissions of root", protocol.OpUpdatePermissions, none, drive.Rejected(protocol.CodeCannotChangePermissions)},
		{"permissions of nobody", protocol.OpUpdatePermissions, command.UpdatePermissions{User: named("nobody")}.Append(nil), drive.Rejected(protocol.CodeResourceNotFound)},
		{"password of nobody", protocol.OpChangePassword, passwordBody(named("nobody"), "password", "password"), drive.Rejected(protocol.CodeResourceNotFound)},
		{"new password of 2 bytes", protocol.OpChangePassword, passwordBody(named("alice"), "password", "pw"), drive.Rejected(protocol.CodeInvalidPassword)},
	} {
		t.Run(c.name, func(t *testing.T) { drive.Want(t, c.name, root.Try(c.op, c.body), c.want) })
	}
}

func TestUsers_RootIsOutOfReachOfAUserManager(t *testing.T) {
	s, root := drive.Fresh(t)
	newUser(root, "manager", "password", &command.Permissions{Global: command.GlobalPermissions{ManageUsers: true}})
	manager := drive.As(t, s, "manager", "password")
	drive.Want(t, "delete root", manager.Try(protocol.OpDeleteUser, numbered(0).Append(nil)), drive.Rejected(protocol.CodeCannotDeleteUser))
	drive.Want(t, "permissions of root", manager.Try(protocol.OpUpdatePermissions, command.UpdatePermissions{User: numbered(0)}.Append(nil)),
		drive.Rejected(protocol.CodeCannotChangePermissions))
	root.NewStream("root still rules")
}

// Sessions that somebody else ends: the eviction takes the place of the next answer, whatever was asked.
func TestUsers_SessionsEndedByAnAdministrator(t *testing.T) {
	s, root := drive.Fresh(t)
	const password = "some password"
	inactive := command.UpdateUser{User: named("victim"), Status: command.UserInactive}.Append(nil)
	for _, c := range []struct {
		name   string
		op     protocol.Operation
		body   []byte
		reason protocol.EvictionReason
	}{
		{"deleted", protocol.OpDeleteUser, named("victim").Append(nil), protocol.EvictNoSession},
		{"deactivated", protocol.OpUpdateUser, inactive, protocol.EvictUserInactive},
		{"password changed", protocol.OpChangePassword, passwordBody(named("victim"), password, "other password"), protocol.EvictNoSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			newUser(root, "victim", password, &command.Permissions{Global: command.GlobalPermissions{ReadStreams: true}})
			victim := drive.As(t, s, "victim", password)
			victim.Must(victim.TryRead(protocol.CmdStreamList, nil))
			root.Apply(c.op, c.body)
			drive.Want(t, "next request", victim.Ping(), drive.Evicted(c.reason))
			victim.Must(victim.Ping())
			drive.Want(t, "read after it", victim.TryRead(protocol.CmdStreamList, nil), drive.Denied(protocol.CodeUnauthenticated))
			if c.op != protocol.OpDeleteUser {
				root.Apply(protocol.OpDeleteUser, named("victim").Append(nil))
			}
		})
	}
	t.Run("own password change", func(t *testing.T) {
		newUser(root, "victim", password, nil)
		own := drive.As(t, s, "victim", password)
		own.Apply(protocol.OpChangePassword, passwordBody(named("victim"), password, "other password"))
		own.Must(own.TryRead(protocol.CmdMe, nil))
	})
}
