package session

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"sync"

	"github.com/zeebo/blake3"
)

// knownMax bounds the passwords that are remembered. At the bound all are forgotten and learnt again.
const knownMax = 4096

// known remembers, in memory alone and for the life of the process, which passwords were right, so that a client
// that connects often pays for Argon2 once. An entry is found by the stored hash, which carries a random salt: a
// changed password, a deleted user or another user with the same password never meets it. What is kept is a keyed
// hash under a key that no file holds. A wrong password is never answered from here: it costs the whole hash, so
// guessing is as slow as ever.
type known struct {
	key [32]byte

	mu     sync.Mutex
	byHash map[string][32]byte
}

func newKnown() *known {
	k := &known{byHash: map[string][32]byte{}}
	if _, err := rand.Read(k.key[:]); err != nil {
		panic(fmt.Sprintf("random key: %v", err)) // crypto/rand does not fail on supported systems
	}
	return k
}

func (k *known) digest(password []byte) (sum [32]byte) {
	h, err := blake3.NewKeyed(k.key[:])
	if err != nil {
		panic(fmt.Sprintf("blake3: %v", err)) // only for a key of another length
	}
	_, _ = h.Write(password)
	h.Sum(sum[:0])
	return sum
}

// has reports whether password is known to be right for a stored hash. False says nothing about the password.
func (k *known) has(hash string, password []byte) bool {
	k.mu.Lock()
	want, ok := k.byHash[hash]
	k.mu.Unlock()
	if !ok {
		return false
	}
	got := k.digest(password)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// learn remembers that password was right for a stored hash.
func (k *known) learn(hash string, password []byte) {
	sum := k.digest(password)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byHash) >= knownMax {
		clear(k.byHash)
	}
	k.byHash[hash] = sum
}
