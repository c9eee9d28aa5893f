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
	"sync/atomic"

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

// cost is what computing one hash takes.
type cost struct {
	memoryKiB uint32
	passes    uint32
}

// signInsMax bounds the sign-ins that wait for their password to be hashed. Beyond it they are answered 58, which
// clients repeat for 30 s: about what the last in the queue may wait on a small machine.
const signInsMax = 512

// secrets implements metadata.Secrets. Hashing takes 19 MiB each, so only as many run at once as there are
// processors; the others wait. One connection waits at most once, and sign-ins are bounded by signInsMax.
type secrets struct {
	cost    cost
	slots   chan struct{}
	waiting atomic.Int64 // sign-ins that run or wait
	dummy   func() string
	known   *known
	metrics *metrics
}

func newSecrets(m *metrics) *secrets {
	s := &secrets{
		cost: cost{argonMemoryKiB, argonPasses}, slots: make(chan struct{}, max(runtime.GOMAXPROCS(0), 2)), metrics: m,
		known: newKnown(),
	}
	s.dummy = sync.OnceValue(func() string {
		nobodys := make([]byte, argonKeyBytes) // unknown to all: were it guessed, the time would tell who exists
		if _, err := rand.Read(nobodys); err != nil {
			return ""
		}
		hash, err := hashPassword(nobodys, s.cost)
		if err != nil {
			return ""
		}
		return hash
	})
	return s
}

// enter waits for a slot; leave gives it back.
func (s *secrets) enter() {
	s.metrics.hashing.Add(1)
	s.slots <- struct{}{}
}

func (s *secrets) leave() {
	<-s.slots
	s.metrics.hashing.Add(-1)
}

// HashPassword returns the Argon2id hash of a password in PHC form, with a random salt.
func HashPassword(password []byte) (string, error) {
	return hashPassword(password, cost{argonMemoryKiB, argonPasses})
}

func hashPassword(password []byte, c cost) (string, error) {
	salt := make([]byte, argonSaltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("password salt: %w", err)
	}
	key := argon2.IDKey(password, salt, c.passes, c.memoryKiB, argonLanes, argonKeyBytes)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memoryKiB, c.passes, argonLanes,
		b64.EncodeToString(salt), b64.EncodeToString(key)), nil
}

// HashPassword implements metadata.Secrets.
func (s *secrets) HashPassword(password []byte) (string, error) {
	s.enter()
	defer s.leave()
	return hashPassword(password, s.cost)
}

var (
	errHashForm    = errors.New("password hash of unknown form")
	errManySignIns = errors.New("too many sign-ins wait")
)

// VerifyPassword implements metadata.Secrets. It takes as long for a wrong password as for a right one.
func (s *secrets) VerifyPassword(hash string, password []byte) bool {
	s.enter()
	defer s.leave()
	ok, err := verify(hash, password)
	return err == nil && ok
}

// verifySignIn is VerifyPassword for a sign-in: a password that was right before is not hashed again, and a sign-in
// is turned away when too many wait.
func (s *secrets) verifySignIn(hash string, password []byte) (bool, error) {
	if s.known.has(hash, password) {
		return true, nil
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > signInsMax {
		return false, errManySignIns
	}
	ok := s.VerifyPassword(hash, password)
	if ok {
		s.known.learn(hash, password)
	}
	return ok, nil
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

// NewToken implements metadata.Secrets.
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
