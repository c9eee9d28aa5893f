package rawclient

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

var loginPrefix = command.LoginPrefix{
	Version: protocol.Version, SDKName: []byte("galgo-raw"), SDKVersion: []byte(protocol.ProductVersion),
}

// SignIn registers the client id of the connection under a user.
func (c *Conn) SignIn(user, password string) error {
	return c.register(command.Login{
		LoginPrefix: loginPrefix, Username: []byte(user), Password: []byte(password),
	}.Append(nil))
}

// SignInToken registers the client id of the connection under the owner of a personal access token.
func (c *Conn) SignInToken(token string) error {
	return c.register(command.LoginToken{LoginPrefix: loginPrefix, Token: []byte(token)}.Append(nil))
}

func (c *Conn) register(body []byte) error {
	reply, err := c.Do(protocol.OpRegister, 0, body)
	if err != nil {
		return err
	}
	l, err := command.DecodeLoginReply(reply.Body)
	if err != nil {
		return err
	}
	if l.Session == 0 {
		return breach("sign-in answered without a session")
	}
	c.session, c.userID, c.number = l.Session, l.UserID, 1
	return nil
}

// SignOut ends the session. The connection stays open.
func (c *Conn) SignOut() error {
	if _, err := c.Do(protocol.OpLogout, 0, nil); err != nil {
		return err
	}
	c.session, c.userID = 0, 0
	return nil
}
