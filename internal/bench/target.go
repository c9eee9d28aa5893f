package bench

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/internal/units"
)

// target is the server that a workload runs against.
type target struct {
	address  string
	user     string
	password string
	nagle    bool
	// pid is the server's process; 0 looks for the owner of the port when the server is on this machine,
	// negative does not.
	pid int
}

const (
	topicName  = "topic-1"
	retryLimit = 30 * time.Second // for transient answers: as long as a client of the protocol would wait
	retryPause = time.Millisecond // before a batch is sent again
)

func streamName(i int) string { return "bench-stream-" + strconv.Itoa(i) }

func (t target) connect() (*rawclient.Conn, error) {
	c, err := rawclient.DialOptions(t.address, rawclient.Options{Nagle: t.nagle, Retry: retryLimit})
	if err != nil {
		return nil, err
	}
	if err := c.SignIn(t.user, t.password); err != nil {
		return nil, errors.Join(fmt.Errorf("sign in: %w", err), c.Close())
	}
	return c, nil
}

// serverPID returns the process to watch, or 0 when there is none that can be watched.
func (t target) serverPID() int {
	if t.pid != 0 {
		return max(t.pid, 0)
	}
	host, port, err := net.SplitHostPort(t.address)
	if err != nil {
		return 0
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	pid, err := listenerPID(number)
	if err != nil {
		return 0
	}
	return pid
}

// topic describes what is created for a workload.
type topic struct {
	partitions   uint32
	enforceFsync bool
	maxSize      uint64 // bytes; 0: the server's default, which is no limit
	expiry       units.Expiry
}

// options are the pairs of the creation. What has no value is left to the server.
func (tp topic) options() []protocol.Pair {
	var pairs []protocol.Pair
	if tp.enforceFsync {
		pairs = append(pairs, command.BoolOption("enforce_fsync", true))
	}
	if tp.maxSize > 0 {
		pairs = append(pairs, command.U64Option("max_topic_size", tp.maxSize))
	}
	switch tp.expiry.Kind {
	case units.ExpiryNever:
		pairs = append(pairs, command.U64Option("message_expiry", math.MaxUint64))
	case units.ExpiryAfter:
		pairs = append(pairs, command.U64Option("message_expiry", uint64(tp.expiry.After.Microseconds())))
	}
	return pairs
}

// prepare creates streams 1 to count with one topic each. Existing ones are deleted first, or left alone
// when they are to be reused.
func (t target) prepare(count int, tp topic, reuse bool) (err error) {
	c, err := t.connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for i := 1; i <= count; i++ {
		name := streamName(i)
		_, found, err := c.GetStream(protocol.NamedID(name))
		if err != nil {
			return fmt.Errorf("look up %s: %w", name, err)
		}
		if found && reuse {
			continue
		}
		if found {
			if err := c.DeleteStream(protocol.NamedID(name)); err != nil {
				return fmt.Errorf("delete %s: %w", name, err)
			}
		}
		if err := createStream(c, name, tp); err != nil {
			return err
		}
	}
	return nil
}

func createStream(c *rawclient.Conn, name string, tp topic) error {
	if _, err := c.CreateStream(name); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	_, err := c.CreateTopic(protocol.NamedID(name), topicName, tp.partitions, tp.options()...)
	if err != nil {
		return fmt.Errorf("create %s in %s: %w", topicName, name, err)
	}
	return nil
}

// require fails when one of the streams 1 to count is missing.
func (t target) require(count int) (err error) {
	c, err := t.connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for i := 1; i <= count; i++ {
		_, found, err := c.GetStream(protocol.NamedID(streamName(i)))
		if err != nil {
			return fmt.Errorf("look up %s: %w", streamName(i), err)
		}
		if !found {
			return fmt.Errorf("%s does not exist; run a producer with as many streams first", streamName(i))
		}
	}
	return nil
}

// busy reports whether the server asks to send the same request again.
func busy(err error) bool {
	code, ok := rawclient.CodeOf(err)
	return ok && (code == protocol.CodeTransientNotAccepted || code == protocol.CodeTransientNotCommitted)
}
