package drive

import (
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/process"
)

// Limits of a patient client: how long it repeats a request that is answered as transient, and how long it
// waits for an answer.
const (
	retryLimit = 10 * time.Second
	waitLimit  = 20 * time.Second
)

// Client is a connection of a test. It belongs to one goroutine, which must be that of the test.
type Client struct {
	*rawclient.Conn
	t       testing.TB
	builder *batch.Builder
}

// Dial connects without signing in. The connection is closed with the test.
func Dial(t testing.TB, s *process.Server) *Client {
	t.Helper()
	return DialOptions(t, s, rawclient.Options{})
}

// DialOptions is Dial with options; their zero values are those of a patient client.
func DialOptions(t testing.TB, s *process.Server, opts rawclient.Options) *Client {
	t.Helper()
	if opts.Timeout == 0 {
		opts.Timeout = waitLimit
	}
	if opts.Retry == 0 {
		opts.Retry = retryLimit
	}
	conn, err := rawclient.DialOptions(s.Addr(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Client{Conn: conn, t: t, builder: batch.NewBuilder()}
}

// Root is a new connection that is signed in as the root user.
func Root(t testing.TB, s *process.Server) *Client {
	t.Helper()
	return As(t, s, process.RootName, process.RootPassword)
}

// As is a new connection that is signed in as a user.
func As(t testing.TB, s *process.Server, user, password string) *Client {
	t.Helper()
	c := Dial(t, s)
	c.Must(c.SignIn(user, password))
	return c
}

// Must fails the test on an error.
func (c *Client) Must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Apply makes a replicated request that must succeed and returns a copy of its payload.
func (c *Client) Apply(op protocol.Operation, body []byte) []byte {
	c.t.Helper()
	reply, err := c.Do(op, 0, body)
	c.Must(err)
	return append([]byte(nil), reply.Body...)
}

// Ask makes a read that must succeed and returns a copy of its payload.
func (c *Client) Ask(code protocol.CommandCode, body []byte) []byte {
	c.t.Helper()
	reply, err := c.Read(code, body)
	c.Must(err)
	return append([]byte(nil), reply.Body...)
}

// Topic is a topic of a test.
type Topic struct {
	command.TopicRef
	StreamID, ID uint32
	Partitions   uint32
}

// NewStream creates a stream and returns its numeric identifier.
func (c *Client) NewStream(name string) protocol.Identifier {
	c.t.Helper()
	d, err := c.CreateStream(name)
	c.Must(err)
	return protocol.NumericID(d.ID)
}

// NewTopic creates a topic in a stream, which is made when it does not exist.
func (c *Client) NewTopic(stream, topic string, partitions uint32, options ...protocol.Pair) Topic {
	c.t.Helper()
	st, found, err := c.GetStream(protocol.NamedID(stream))
	c.Must(err)
	id := st.ID
	if !found {
		id = c.NewStream(stream).ID()
	}
	d, err := c.CreateTopic(protocol.NumericID(id), topic, partitions, options...)
	c.Must(err)
	return Topic{
		TopicRef: command.TopicRef{Stream: protocol.NumericID(id), Topic: protocol.NumericID(d.ID)},
		StreamID: id, ID: d.ID, Partitions: partitions,
	}
}

// Details looks up a topic that must exist.
func (c *Client) Details(ref command.TopicRef) command.TopicDetails {
	c.t.Helper()
	d, found, err := c.GetTopic(ref)
	c.Must(err)
	if !found {
		c.t.Fatal("the topic is gone")
	}
	return d
}

// Stats reads the statistics of the server.
func (c *Client) Stats() command.Stats {
	c.t.Helper()
	s, err := command.DecodeStats(c.Ask(protocol.CmdStats, nil))
	c.Must(err)
	return s
}

// Consumer names a single consumer by number.
func Consumer(id uint32) protocol.Consumer {
	return protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(id)}
}

// Group names a consumer group as a consumer.
func Group(id protocol.Identifier) protocol.Consumer {
	return protocol.Consumer{Kind: protocol.ConsumerGroup, ID: id}
}

// OffsetOf names the stored offset of a consumer in a partition.
func OffsetOf(who protocol.Consumer, ref command.TopicRef, partition uint32) command.OffsetRef {
	return command.OffsetRef{Consumer: who, TopicRef: ref, Partition: partition, HasPartition: true}
}

// Stored reads a stored offset; false when there is none.
func (c *Client) Stored(who protocol.Consumer, ref command.TopicRef, partition uint32) (uint64, bool) {
	c.t.Helper()
	o, found, err := c.GetOffset(OffsetOf(who, ref, partition))
	c.Must(err)
	return o.Stored, found
}
