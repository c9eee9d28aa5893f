package session

import (
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/internal/transport"
	"github.com/galgolog/galgo/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cheap is what a password hash costs in tests.
var cheap = cost{memoryKiB: 8, passes: 1}

// Names of the users of a rig. Their passwords are their names.
const rootName = "root-user"

// rig is a whole server in the test: a node in memory, sessions, and a door on the loopback.
type rig struct {
	t        testing.TB
	fs       *vfs.Mem
	node     *node.Node
	sessions *Server
	door     *transport.Listener
	setup    setup
	root     *client
}

// setup changes what a rig is made of.
type setup struct {
	session   func(*Options)
	node      func(*node.Options)
	transport func(*transport.Options)
}

func openRig(t testing.TB, s setup) *rig {
	t.Helper()
	r := &rig{t: t, fs: vfs.NewMem(1), setup: s}
	r.open()
	t.Cleanup(r.close)
	return r
}

var epoch atomic.Uint64

func (r *rig) open() {
	r.t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	n := node.Options{
		FS: r.fs, Clock: node.SystemClock(), Executor: node.NewExecutor(), Log: quiet, Layout: datadir.NewLayout("data", datadir.Folders{}), Shards: 2,
		Incarnation: protocol.Uint128From64(epoch.Add(2) | 1), Limits: node.Limits{Validate: true, FreeSpaceMin: 1},
		Metadata: node.MetadataOptions{
			JournalSlots: 4096, ClientsTableMax: 64, JournalEpoch: epoch.Add(2) | 1,
			Root: func() (name, hash string, err error) {
				hash, err = hashPassword([]byte(rootName), cheap)
				return rootName, hash, err
			},
		},
		Fatal: func(code int, err error) { r.t.Errorf("fatal %d: %v", code, err) },
	}
	if r.setup.node != nil {
		r.setup.node(&n)
	}
	var err error
	if r.node, err = node.Open(n); err != nil {
		r.t.Fatal(err)
	}
	r.node.Start()
	if err := r.node.AwaitBootstrap(); err != nil {
		r.t.Fatal(err)
	}
	o := Options{Node: r.node, Log: quiet, TokensMax: 3}
	if r.setup.session != nil {
		r.setup.session(&o)
	}
	if r.sessions, err = New(o); err != nil {
		r.t.Fatal(err)
	}
	r.sessions.secrets.cost = cheap
	door := transport.Options{NewHandler: r.sessions.NewHandler, NewID: r.sessions.NewID, SweepInterval: 5 * time.Millisecond}
	if r.setup.transport != nil {
		r.setup.transport(&door)
	}
	if r.door, err = transport.Listen("127.0.0.1:0", door); err != nil {
		r.t.Fatal(err)
	}
	r.root = r.as(rootName)
}

func (r *rig) close() {
	r.t.Helper()
	if r.door == nil {
		return
	}
	if err := r.door.Close(0); err != nil {
		r.t.Error(err)
	}
	r.sessions.Close()
	if err := r.node.Close(); err != nil {
		r.t.Error(err)
	}
	r.door = nil
}

// within is the same server in a part of the test.
func (r *rig) within(t testing.TB) *rig {
	part := *r
	part.t = t
	return &part
}

// restart closes everything and opens it again on the same files.
func (r *rig) restart() {
	r.t.Helper()
	r.close()
	r.open()
}

// client is a connection of a test.
type client struct {
	*rawclient.Conn
	t testing.TB
}

func (r *rig) dial() *client { return r.dialAs(protocol.Uint128{}) }

// dialAs connects; with an id that is not zero it will sign in as that client.
func (r *rig) dialAs(id protocol.Uint128) *client {
	r.t.Helper()
	c, err := rawclient.DialOptions(r.door.Addr().String(), rawclient.Options{Client: id, Timeout: 20 * time.Second})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return &client{c, r.t}
}

// as connects and signs in as a user whose password is its name.
func (r *rig) as(user string) *client {
	r.t.Helper()
	c := r.dial()
	c.must(c.SignIn(user, user))
	return c
}

func (c *client) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// apply makes a replicated request that must succeed and returns a copy of its payload.
func (c *client) apply(op protocol.Operation, body []byte) []byte {
	c.t.Helper()
	reply, err := c.Do(op, 0, body)
	c.must(err)
	return append([]byte(nil), reply.Body...)
}

// ask makes a read that must succeed and returns a copy of its payload.
func (c *client) ask(code protocol.CommandCode, body []byte) []byte {
	c.t.Helper()
	reply, err := c.Read(code, body)
	c.must(err)
	return append([]byte(nil), reply.Body...)
}

// outcome is what a request came to: the zero value is success.
type outcome struct {
	Channel rawclient.Channel
	Code    protocol.Code
	Reason  protocol.EvictionReason
}

func denied(code protocol.Code) outcome { return outcome{Channel: rawclient.ChannelDenial, Code: code} }
func rejected(code protocol.Code) outcome {
	return outcome{Channel: rawclient.ChannelResult, Code: code}
}
func evicted(reason protocol.EvictionReason) outcome {
	return outcome{Channel: rawclient.ChannelEviction, Reason: reason}
}

// outcomeOf reads what the server stated; anything else fails the test.
func outcomeOf(t testing.TB, err error) outcome {
	t.Helper()
	if err == nil {
		return outcome{}
	}
	e, ok := err.(*rawclient.Error)
	if !ok {
		t.Fatalf("no answer of the server: %v", err)
	}
	return outcome{e.Channel, e.Code, e.Reason}
}

func (c *client) wants(what string, err error, want outcome) {
	c.t.Helper()
	if got := outcomeOf(c.t, err); got != want {
		c.t.Errorf("%s: answered %+v; want %+v", what, got, want)
	}
}

// does sends a replicated request and compares what it comes to.
func (c *client) does(what string, op protocol.Operation, body []byte, want outcome) {
	c.t.Helper()
	_, err := c.Do(op, 0, body)
	c.wants(what, err, want)
}

// reads sends a read and compares what it comes to.
func (c *client) reads(what string, code protocol.CommandCode, body []byte, want outcome) {
	c.t.Helper()
	_, err := c.Read(code, body)
	c.wants(what, err, want)
}

// newUser creates an active user whose password is its name.
func (r *rig) newUser(name string, p *command.Permissions) uint32 {
	r.t.Helper()
	body := r.root.apply(protocol.OpCreateUser, command.CreateUser{
		Username: []byte(name), Password: []byte(name), Status: command.UserActive, Permissions: p,
	}.Append(nil))
	return sure(command.DecodeUserDetails(body)).ID
}

// sure unwraps what cannot fail in a test that goes well.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// topic creates a topic in a stream that is made when it does not exist.
func (r *rig) topic(stream, name string, partitions uint32, options ...protocol.Pair) command.TopicRef {
	r.t.Helper()
	id := protocol.NamedID(stream)
	if _, found, err := r.root.GetStream(id); err != nil {
		r.t.Fatal(err)
	} else if !found {
		sure(r.root.CreateStream(stream))
	}
	sure(r.root.CreateTopic(id, name, partitions, options...))
	return command.TopicRef{Stream: id, Topic: protocol.NamedID(name)}
}

func to(partition uint32) protocol.Partitioning {
	return protocol.Partitioning{Kind: protocol.PartitionByID, ID: partition}
}

// record builds a batch of payloads as a producer sends it.
func record(payloads ...string) []byte {
	b := batch.NewBuilder()
	for i, p := range payloads {
		if err := b.Add([]byte(p), nil, protocol.Uint128From64(uint64(i)+1), 1_700_000_000_000_000); err != nil {
			panic(err)
		}
	}
	return sure(b.Build())
}

// send sends one batch that must be confirmed and returns where.
func (c *client) send(ref command.TopicRef, to protocol.Partitioning, payloads ...string) command.Confirmation {
	c.t.Helper()
	got, err := c.SendMessages(ref, to, record(payloads...))
	c.must(err)
	if !got.Known {
		c.t.Fatal("confirmed without a place")
	}
	return got.Confirmation
}

func consumer(id uint32) protocol.Consumer {
	return protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(id)}
}

func inGroup(name string) protocol.Consumer {
	return protocol.Consumer{Kind: protocol.ConsumerGroup, ID: protocol.NamedID(name)}
}

// fromFirst is a poll of everything in a partition.
func fromFirst(ref command.TopicRef, partition uint32) command.PollMessages {
	return command.PollMessages{
		Consumer: consumer(1), TopicRef: ref, Partition: partition, HasPartition: true, Strategy: command.FromFirst, Count: 1 << 20,
	}
}

// payloads returns the payloads of records.
func payloads(records []byte) []string {
	var all []string
	for len(records) > 0 {
		rec := records[:batch.HeaderOf(records).Length()]
		records = records[len(rec):]
		w := batch.Walk(rec)
		for f, ok := w.Next(); ok; f, ok = w.Next() {
			all = append(all, string(f.Payload()))
		}
	}
	return all
}

// eventually repeats a check until it holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s: not within ten seconds", what)
		}
	}
}
