package acceptance

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// fresh starts a server with default options and signs in as root. Tests that call it run beside each other;
// those that measure time or memory call alone.
func fresh(t *testing.T, env ...string) (*process.Server, *drive.Client) {
	t.Helper()
	t.Parallel()
	return alone(t, env...)
}

// alone is fresh for tests that run one after the other.
func alone(t *testing.T, env ...string) (*process.Server, *drive.Client) {
	t.Helper()
	s := process.Start(t, process.Options{Env: env})
	return s, drive.Root(t, s)
}

func named(name string) protocol.Identifier  { return protocol.NamedID(name) }
func numbered(id uint32) protocol.Identifier { return protocol.NumericID(id) }

func ref(stream, topic protocol.Identifier) command.TopicRef {
	return command.TopicRef{Stream: stream, Topic: topic}
}

// do makes a replicated request and gives only its error.
func do(c *drive.Client, op protocol.Operation, body []byte) error {
	_, err := c.Do(op, 0, body)
	return err
}

// read makes a read and gives only its error.
func read(c *drive.Client, code protocol.CommandCode, body []byte) error {
	_, err := c.Read(code, body)
	return err
}

// check compares two values that must be equal.
func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v; want %v", what, got, want)
	}
}
