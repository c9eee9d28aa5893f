package session

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/zeebo/blake3"
	"golang.org/x/crypto/argon2"
)

// Parameters of the password hash, Argon2id. They are written into every hash; older hashes keep theirs.
const (
	argonMemoryKiB = 19 * 1024
	argonPasses    = 2
	argonLanes     = 1
	argonSaltBytes = 16
	argonKeyBytes  = 32
	// Bounds of what a stored hash may ask for.
	argonMemoryMaxKiB = 1 << 20
	argonPassesMax    = 64
)

// secrets implements metadata.Secrets. Hashing takes 19 MiB each, so only a few run at once; the others wait.
type secrets struct {
	slots chan struct{}
	dummy func() string
}

func newSecrets() *secrets {
	s := &secrets{slots: make(chan struct{}, max(runtime.GOMAXPROCS(0), 2))}
	s.dummy = sync.OnceValue(func() string {
		hash, err := HashPassword([]byte("no such user"))
		if err != nil {
			return ""
		}
		return hash
	})
	return s
}

// HashPassword returns the Argon2id hash of a password in PHC form, with a random salt.
func HashPassword(password []byte) (string, error) {
	salt := make([]byte, argonSaltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("password salt: %w", err)
	}
	key := argon2.IDKey(password, salt, argonPasses, argonMemoryKiB, argonLanes, argonKeyBytes)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKiB, argonPasses, argonLanes,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

func (s *secrets) HashPassword(password []byte) (string, error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	return HashPassword(password)
}

var errHashForm = errors.New("password hash of unknown form")

// VerifyPassword takes as long for a wrong password as for a right one.
func (s *secrets) VerifyPassword(hash string, password []byte) bool {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	ok, err := verify(hash, password)
	return err == nil && ok
}

func verify(hash string, password []byte) (bool, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errHashForm
	}
	var version, memory, passes, lanes int
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errHashForm
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil {
		return false, errHashForm
	}
	if memory < 8 || memory > argonMemoryMaxKiB || passes < 1 || passes > argonPassesMax || lanes < 1 || lanes > 255 {
		return false, errHashForm
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, errHashForm
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) == 0 || len(want) > 128 {
		return false, errHashForm
	}
	got := argon2.IDKey(password, salt, uint32(passes), uint32(memory), uint8(lanes), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// tokenBytes is how much randomness a token carries.
const tokenBytes = 50

func (s *secrets) NewToken() (text, hash string, err error) {
	raw := make([]byte, tokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", "", fmt.Errorf("token: %w", err)
	}
	text = base64.StdEncoding.EncodeToString(raw)
	return text, hashToken([]byte(text)), nil
}

func hashToken(text []byte) string {
	sum := blake3.Sum256(text)
	return hex.EncodeToString(sum[:])
}
