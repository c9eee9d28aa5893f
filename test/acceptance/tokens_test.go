package acceptance

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

func tokenBody(name string, expiryMicros uint64) []byte {
	return command.CreateToken{Name: []byte(name), ExpiryMicros: expiryMicros}.Append(nil)
}

// newToken creates a token and returns its secret.
func newToken(t *testing.T, c *drive.Client, name string, expiryMicros uint64) string {
	t.Helper()
	text, err := command.DecodeName(c.Apply(protocol.OpCreatePersonalAccessToken, tokenBody(name, expiryMicros)))
	c.Must(err)
	drive.Check(t, "length of the secret", len(text), 68)
	return string(text)
}

func tokens(c *drive.Client) []string {
	all, err := command.DecodeTokens(c.Ask(protocol.CmdPersonalAccessTokenList, nil))
	c.Must(err)
	names := []string{}
	for _, token := range all {
		names = append(names, fmt.Sprintf("%s/%v", token.Name, token.ExpiresAt > 0))
	}
	return names
}

func TestTokens_AreManagedByTheirOwnerAlone(t *testing.T) {
	s, root := drive.Fresh(t)
	newUser(root, "alice", "password", nil)
	newUser(root, "bob", "password", nil)
	alice, bob := drive.As(t, s, "alice", "password"), drive.As(t, s, "bob", "password")
	secret := newToken(t, alice, "zulu", 0)
	newToken(t, alice, "alpha", math.MaxUint64)
	newToken(t, alice, "mike", uint64(time.Hour.Microseconds()))
	newToken(t, bob, "zulu", 0)
	drive.Check(t, "tokens of alice", strings.Join(tokens(alice), " "), "alpha/false mike/true zulu/false")
	drive.Check(t, "tokens of bob", strings.Join(tokens(bob), " "), "zulu/false")
	drive.Check(t, "tokens of root", len(tokens(root)), 0)

	drive.Want(t, "name taken", alice.Try(protocol.OpCreatePersonalAccessToken, tokenBody("zulu", 0)), drive.Rejected(protocol.CodePersonalAccessTokenAlreadyExists))
	drive.Want(t, "empty name", alice.Try(protocol.OpCreatePersonalAccessToken, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0}), drive.Denied(protocol.CodeInvalidCommand))
	newToken(t, alice, strings.Repeat("n", 255), 0)
	drive.Want(t, "delete of an unknown token", alice.Try(protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "none")),
		drive.Rejected(protocol.CodeResourceNotFound))

	other := drive.Dial(t, s)
	other.Must(other.SignInToken(secret))
	drive.Check(t, "user of the token", other.UserID(), alice.UserID())
	drive.Want(t, "what alice may not", other.TryRead(protocol.CmdStats, nil), drive.Denied(protocol.CodeUnauthorized))
	alice.Apply(protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "zulu"))
	drive.Want(t, "sign-in with a deleted token", drive.Dial(t, s).SignInToken(secret), drive.Evicted(protocol.EvictInvalidToken))
	other.Must(other.TryRead(protocol.CmdMe, nil))
}

func TestTokens_ExpireAndHaveALimit(t *testing.T) {
	s, root := drive.Fresh(t, "IGGY_PERSONAL_ACCESS_TOKEN_MAX_TOKENS_PER_USER=3", "IGGY_PERSONAL_ACCESS_TOKEN_CLEANER_INTERVAL=200ms")
	short := newToken(t, root, "short", uint64((50 * time.Millisecond).Microseconds()))
	time.Sleep(60 * time.Millisecond)
	drive.Want(t, "sign-in with an expired token", drive.Dial(t, s).SignInToken(short), drive.Evicted(protocol.EvictInvalidToken))
	s.Eventually(10*time.Second, "the expired token is cleaned up", func() bool { return len(tokens(root)) == 0 })
	for i := range 3 {
		newToken(t, root, fmt.Sprint("token ", i), 0)
	}
	drive.Want(t, "one too many", root.Try(protocol.OpCreatePersonalAccessToken, tokenBody("fourth", 0)), drive.Denied(protocol.CodePersonalAccessTokensLimitReached))
	drive.Want(t, "a taken name at the limit", root.Try(protocol.OpCreatePersonalAccessToken, tokenBody("token 0", 0)), drive.Denied(protocol.CodePersonalAccessTokensLimitReached))
	newUser(root, "alice", "password", nil)
	drive.Want(t, "life that wraps around", drive.As(t, s, "alice", "password").Try(protocol.OpCreatePersonalAccessToken, tokenBody("x", math.MaxUint64-1)),
		drive.Rejected(protocol.CodeInvalidPersonalAccessTokenExpiry))
}

func TestTokens_AReplayedCreateDoesNotTellTheSecretAgain(t *testing.T) {
	_, root := drive.Fresh(t)
	frame := root.AppendFrame(nil, protocol.OpCreatePersonalAccessToken, 0, tokenBody("once", 0))
	_, err := root.Exchange(frame)
	root.Must(err)
	_, err = root.Exchange(frame)
	drive.Want(t, "replay", err, drive.Rejected(protocol.CodePersonalAccessTokenAlreadyExists))
}

func TestSecrets_AreInNoFile(t *testing.T) {
	s, root := drive.Fresh(t)
	const password = "correct-horse-battery-staple"
	newUser(root, "alice", password, nil)
	alice := drive.As(t, s, "alice", password)
	secret := newToken(t, alice, "mine", 0)
	alice.Apply(protocol.OpChangePassword, passwordBody(named("alice"), password, "tr0ub4dor-and-three"))
	drive.Want(t, "wrong password", drive.Dial(t, s).SignIn("alice", "wrong-password-typed"), drive.Evicted(protocol.EvictInvalidCredentials))
	s.Restart()
	drive.As(t, s, "alice", "tr0ub4dor-and-three")
	s.Stop()
	files := s.Files()
	if len(files) < 3 {
		t.Fatalf("the data directory has %d files", len(files))
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{password, secret, "tr0ub4dor-and-three", "wrong-password-typed", process.RootPassword} {
			if bytes.Contains(raw, []byte(text)) {
				t.Errorf("%s contains %q", path, text)
			}
		}
	}
}
