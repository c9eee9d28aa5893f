package session

import (
	"fmt"
	"testing"
)

func TestKnown_OnlyTheRightPasswordOfTheSameHash(t *testing.T) {
	m := new(metrics)
	s := newSecrets(m)
	s.cost = cost{memoryKiB: 8, passes: 1}
	hash, err := s.HashPassword([]byte("right one"))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(hash, password string) bool {
		t.Helper()
		ok, err := s.verifySignIn(hash, []byte(password))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if sign(hash, "wrong one") || s.known.has(hash, []byte("wrong one")) {
		t.Fatal("a wrong password was taken or remembered")
	}
	if !sign(hash, "right one") || !s.known.has(hash, []byte("right one")) {
		t.Fatal("the right password was refused or not remembered")
	}
	if sign(hash, "wrong one") || !sign(hash, "right one") {
		t.Fatal("a remembered password changed an answer")
	}
	changed, err := s.HashPassword([]byte("right one"))
	if err != nil {
		t.Fatal(err)
	}
	if s.known.has(changed, []byte("right one")) {
		t.Fatal("another hash of the same password was known")
	}
	s.dummy()
	if sign(s.dummy(), "right one") {
		t.Fatal("the stand-in for missing users accepted a password")
	}
}

func TestKnown_IsBounded(t *testing.T) {
	k := newKnown()
	for i := range 3 * knownMax {
		k.learn(fmt.Sprint(i), []byte("p"))
		if n := len(k.byHash); n > knownMax {
			t.Fatalf("%d entries, want at most %d", n, knownMax)
		}
	}
	if !k.has(fmt.Sprint(3*knownMax-1), []byte("p")) {
		t.Fatal("the newest entry is gone")
	}
}

func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byHash)
}
