package command

import "github.com/galgolog/galgo/internal/protocol"

// UserStatus is the status of a user on the wire.
type UserStatus uint8

// User statuses; no other value decodes.
const (
	UserActive   UserStatus = 1
	UserInactive UserStatus = 2
)

func readStatus(r *protocol.Reader) UserStatus {
	s := UserStatus(r.U8("status"))
	if s != UserActive && s != UserInactive {
		r.Fail("status")
	}
	return s
}

// CreateUser is the body of command 33. In its replicated form Password holds the hash, and nothing when the
// password was refused.
type CreateUser struct {
	Username    []byte
	Password    []byte
	Status      UserStatus
	Permissions *Permissions // nil: none
	Options     []byte
}

// DecodeCreateUser reads a CreateUser.
func DecodeCreateUser(body []byte) (CreateUser, error) {
	r := protocol.NewReader(body)
	c := CreateUser{Username: r.Name("username"), Password: r.Text8("password"), Status: readStatus(&r)}
	c.Permissions = readOptionalPermissions(&r)
	c.Options = readOptions(&r)
	return c, r.Err()
}

// Append encodes c.
func (c CreateUser) Append(dst []byte) []byte {
	dst = protocol.AppendName(protocol.AppendName(dst, c.Username), c.Password)
	return append(appendOptionalPermissions(append(dst, byte(c.Status)), c.Permissions), c.Options...)
}

// UpdateUser is the body of command 35. Username is nil when the name is to stay, Status 0 when the status is.
type UpdateUser struct {
	User     protocol.Identifier
	Username []byte
	Status   UserStatus
	Options  []byte
}

// DecodeUpdateUser reads an UpdateUser.
func DecodeUpdateUser(body []byte) (UpdateUser, error) {
	r := protocol.NewReader(body)
	u := UpdateUser{User: r.Identifier("user")}
	if r.U8("name flag") == 1 {
		u.Username = r.Name("username")
	}
	if r.U8("status flag") == 1 {
		u.Status = readStatus(&r)
	}
	u.Options = readOptions(&r)
	return u, r.Err()
}

// Append encodes u.
func (u UpdateUser) Append(dst []byte) []byte {
	dst = u.User.Append(dst)
	if u.Username != nil {
		dst = protocol.AppendName(append(dst, 1), u.Username)
	} else {
		dst = append(dst, 0)
	}
	if u.Status != 0 {
		dst = append(dst, 1, byte(u.Status))
	} else {
		dst = append(dst, 0)
	}
	return append(dst, u.Options...)
}

// UpdatePermissions is the body of command 36. Nil removes all permissions.
type UpdatePermissions struct {
	User        protocol.Identifier
	Permissions *Permissions
}

// DecodeUpdatePermissions reads an UpdatePermissions.
func DecodeUpdatePermissions(body []byte) (UpdatePermissions, error) {
	r := protocol.NewReader(body)
	u := UpdatePermissions{User: r.Identifier("user")}
	u.Permissions = readOptionalPermissions(&r)
	return u, r.Err()
}

// Append encodes u.
func (u UpdatePermissions) Append(dst []byte) []byte {
	return appendOptionalPermissions(u.User.Append(dst), u.Permissions)
}

// ChangePassword is the body of command 37. In its replicated form Current is empty and New is the hash.
type ChangePassword struct {
	User         protocol.Identifier
	Current, New []byte
}

// DecodeChangePassword reads a ChangePassword.
func DecodeChangePassword(body []byte) (ChangePassword, error) {
	r := protocol.NewReader(body)
	c := ChangePassword{r.Identifier("user"), r.Text8("current password"), r.Text8("new password")}
	return c, r.Err()
}

// Append encodes c.
func (c ChangePassword) Append(dst []byte) []byte {
	return protocol.AppendName(protocol.AppendName(c.User.Append(dst), c.Current), c.New)
}

// UserHeader describes a user in replies.
type UserHeader struct {
	ID        uint32
	CreatedAt uint64
	Status    UserStatus
	Username  []byte
	Options   []byte
}

// Append encodes u.
func (u UserHeader) Append(dst []byte) []byte {
	dst = append(le.AppendUint64(le.AppendUint32(dst, u.ID), u.CreatedAt), byte(u.Status))
	return protocol.AppendText32(protocol.AppendName(dst, u.Username), u.Options)
}

func readUserHeader(r *protocol.Reader) UserHeader {
	return UserHeader{
		ID: r.U32("id"), CreatedAt: r.U64("created at"), Status: UserStatus(r.U8("status")),
		Username: r.Name("username"), Options: r.Text32Raw("options"),
	}
}

// UserDetails is a user with the permissions.
type UserDetails struct {
	UserHeader
	Permissions *Permissions // nil: none
}

// noPermissionsSize is the length of the end of the details of a user without permissions: the flag, and
// three more zero bytes that clients read as the rest of an empty length.
const noPermissionsSize = 4

// Append encodes u. A user without permissions ends in four zero bytes.
func (u UserDetails) Append(dst []byte) []byte {
	dst = u.UserHeader.Append(dst)
	if u.Permissions == nil {
		return append(dst, make([]byte, noPermissionsSize)...)
	}
	return appendOptionalPermissions(dst, u.Permissions)
}

// DecodeUserDetails reads the reply to get and create user.
func DecodeUserDetails(payload []byte) (UserDetails, error) {
	r := protocol.NewReader(payload)
	u := UserDetails{UserHeader: readUserHeader(&r)}
	if u.Permissions = readOptionalPermissions(&r); u.Permissions == nil {
		r.Bytes(noPermissionsSize-1, "end of a user without permissions")
	}
	return u, r.Err()
}

// DecodeUsers reads the reply to get users.
func DecodeUsers(payload []byte) ([]UserHeader, error) {
	r := protocol.NewReader(payload)
	var all []UserHeader
	for r.Len() > 0 && r.Err() == nil {
		all = append(all, readUserHeader(&r))
	}
	return all, r.Err()
}
