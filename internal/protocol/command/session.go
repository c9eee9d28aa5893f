package command

import "github.com/galgolog/galgo/internal/protocol"

// LoginPrefix is what every sign-in body begins with: who the client is. It is enough for the version gate.
type LoginPrefix struct {
	Version    uint32 // packed
	SDKName    []byte
	SDKVersion []byte
}

func readLoginPrefix(r *protocol.Reader) LoginPrefix {
	return LoginPrefix{r.U32("protocol version"), r.Name("sdk name"), r.Name("sdk version")}
}

func (p LoginPrefix) append(dst []byte) []byte {
	dst = le.AppendUint32(dst, p.Version)
	return protocol.AppendName(protocol.AppendName(dst, p.SDKName), p.SDKVersion)
}

// DecodeLoginPrefix reads the begin of a sign-in body.
func DecodeLoginPrefix(body []byte) (LoginPrefix, error) {
	r := protocol.NewReader(body)
	p := readLoginPrefix(&r)
	return p, r.Err()
}

// Login is a sign-in with name and password. Bytes behind it are ignored.
type Login struct {
	LoginPrefix
	Username []byte
	Password []byte // may be empty
	Context  []byte // ignored
}

// DecodeLogin reads a Login.
func DecodeLogin(body []byte) (Login, error) {
	r := protocol.NewReader(body)
	l := Login{LoginPrefix: readLoginPrefix(&r), Username: r.Name("username"), Password: r.Text8("password"), Context: r.Text32("context")}
	return l, r.Err()
}

// Append encodes l.
func (l Login) Append(dst []byte) []byte {
	dst = protocol.AppendName(protocol.AppendName(l.append(dst), l.Username), l.Password)
	return protocol.AppendText32(dst, l.Context)
}

// LoginToken is a sign-in with a personal access token. It must fill the whole body: that is what tells it
// from a Login.
type LoginToken struct {
	LoginPrefix
	Token   []byte // may be empty
	Context []byte // ignored
}

// DecodeLoginToken reads a LoginToken.
func DecodeLoginToken(body []byte) (LoginToken, error) {
	r := protocol.NewReader(body)
	l := LoginToken{LoginPrefix: readLoginPrefix(&r), Token: r.Text8("token"), Context: r.Text32("context")}
	r.End()
	return l, r.Err()
}

// Append encodes l.
func (l LoginToken) Append(dst []byte) []byte {
	return protocol.AppendText32(protocol.AppendName(l.append(dst), l.Token), l.Context)
}

// LoginReply is the payload behind the result section of a successful sign-in.
type LoginReply struct {
	UserID        uint32
	Session       uint64
	Version       uint32
	ServerVersion []byte
}

// DecodeLoginReply reads a LoginReply.
func DecodeLoginReply(payload []byte) (LoginReply, error) {
	r := protocol.NewReader(payload)
	l := LoginReply{r.U32("user"), r.U64("session"), r.U32("version"), r.Name("server version")}
	return l, r.Err()
}

// Append encodes l.
func (l LoginReply) Append(dst []byte) []byte {
	dst = le.AppendUint32(dst, l.UserID)
	dst = le.AppendUint64(dst, l.Session)
	return protocol.AppendName(le.AppendUint32(dst, l.Version), l.ServerVersion)
}
