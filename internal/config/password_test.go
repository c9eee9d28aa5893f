package config

import (
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRandomPassword(t *testing.T) {
	seen, lengths := map[string]bool{}, map[int]bool{}
	for range 2000 {
		p, err := RandomPassword(rand.Reader)
		if err != nil || len(p) < 20 || len(p) > 39 || strings.Trim(p, passwordAlphabet) != "" || seen[p] {
			t.Fatalf("%q, %v", p, err)
		}
		seen[p], lengths[len(p)] = true, true
	}
	if len(lengths) != 20 {
		t.Errorf("lengths: %v", lengths)
	}
	if _, err := RandomPassword(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short source: %v", err)
	}
}
