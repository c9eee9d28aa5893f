package drive

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/test/process"
)

// Fresh starts a server with default options and signs in as root. Tests that call it run beside each other;
// those that measure time or memory call Alone.
func Fresh(t *testing.T, env ...string) (*process.Server, *Client) {
	t.Helper()
	t.Parallel()
	return Alone(t, env...)
}

// Alone is Fresh for tests that run one after the other.
func Alone(t *testing.T, env ...string) (*process.Server, *Client) {
	t.Helper()
	s := process.Start(t, process.Options{Env: env})
	return s, Root(t, s)
}

// Try makes a replicated request and gives only its error.
func (c *Client) Try(op protocol.Operation, body []byte) error {
	_, err := c.Do(op, 0, body)
	return err
}

// TryRead makes a read and gives only its error.
func (c *Client) TryRead(code protocol.CommandCode, body []byte) error {
	_, err := c.Read(code, body)
	return err
}

// Check compares two values that must be equal.
func Check[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v; want %v", what, got, want)
	}
}
