package config

import (
	"fmt"
	"io"
)

const (
	passwordAlphabet   = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	passwordCharsMin   = 20
	passwordCharsRange = 20
)

// RandomPassword makes a password of 20 to 39 characters for a root user that nobody gave one, from a
// source of random bytes such as crypto/rand.Reader.
func RandomPassword(random io.Reader) (string, error) {
	bytes := make([]byte, 1+passwordCharsMin+passwordCharsRange)
	if _, err := io.ReadFull(random, bytes); err != nil {
		return "", fmt.Errorf("root password: %w", err)
	}
	password := bytes[1 : 1+passwordCharsMin+int(bytes[0])%passwordCharsRange]
	for i := range password {
		password[i] = passwordAlphabet[int(password[i])%len(passwordAlphabet)] // 32 letters: no bias, and none that looks like another
	}
	return string(password), nil
}
