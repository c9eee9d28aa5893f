package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// quickstartFlags are the choices of the tour.
type quickstartFlags struct {
	data     string
	port     uint16
	messages int
	exit     bool
}

// The tour sends messages of this size in batches of this many.
const (
	quickstartSize  = 1000
	quickstartBatch = 1000
	quickstartUser  = "iggy"
)

// newQuickstart is a server with messages in it, for whoever sees galgo for the first time.
func newQuickstart(p *program) *cobra.Command {
	f := &quickstartFlags{}
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Start a node, send and read messages, and go on serving",
		Long: "Start a node on built-in settings, create a stream and a topic, send messages, read them back, show how fast\n" +
			"that was, and go on serving until Ctrl-C. An existing stream is used again.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runQuickstart(p, f, cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&f.data, "data", "./galgo-data", "data directory")
	cmd.Flags().Uint16Var(&f.port, "port", 8090, "TCP port; the next free one is taken when it is in use")
	cmd.Flags().IntVar(&f.messages, "messages", 100_000, "number of messages to send")
	cmd.Flags().BoolVar(&f.exit, "exit", false, "stop after the tour instead of serving on")
	return cmd
}

func runQuickstart(p *program, f *quickstartFlags, out io.Writer) error {
	if f.messages < 1 {
		return &usageError{err: errors.New("--messages must be at least 1"), help: "galgo quickstart --help"}
	}
	cfg := config.Default()
	cfg.System.Path = f.data
	cfg.HTTP.Enabled, cfg.QUIC.Enabled, cfg.WebSocket.Enabled = false, false, false
	cfg.Root = config.RootUser{Given: true, Username: quickstartUser, Password: quickstartUser}
	port, err := freePort(f.port)
	if err != nil {
		return err
	}
	cfg.TCP.Address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	dir, err := datadir.Open(datadir.Options{Path: f.data})
	if err != nil {
		return err
	}
	first := dir.FirstStart()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	served := make(chan error, 1)
	go func() { served <- guarded(func() error { return p.serve(ctx, cfg, log, dir) }) }()
	if port != f.port {
		fmt.Fprintf(out, "port %d is in use, taking %d\n", f.port, port)
	}
	t := tour{out: out, addr: cfg.TCP.Address.String(), messages: f.messages}
	err = t.await(served)
	if err == nil {
		err = t.run(first, dir.Path())
	}
	if err != nil || f.exit {
		cancel()
	} else {
		fmt.Fprintf(out, "\nserving on %s until Ctrl-C\n", t.addr)
	}
	return errors.Join(err, <-served, dir.Close())
}

// freePort returns port, or the next one that nobody listens on.
func freePort(port uint16) (uint16, error) {
	for p := int(port); p <= 65_535 && p < int(port)+200; p++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(p)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, err
		}
		return uint16(p), nil
	}
	return 0, fmt.Errorf("no free port from %d on; choose another one with --port", port)
}

// tour is what quickstart shows.
type tour struct {
	out      io.Writer
	addr     string
	messages int
	conn     *rawclient.Conn
}

// await connects and signs in as soon as the server listens.
func (t *tour) await(served chan error) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		conn, err := rawclient.Dial(t.addr)
		if err == nil {
			t.conn = conn
			return t.signIn()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server did not come up: %w", err)
		}
		select {
		case err := <-served:
			served <- nil
			return fmt.Errorf("the server ended: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (t *tour) signIn() error {
	if err := t.conn.SignIn(quickstartUser, quickstartUser); err != nil {
		return fmt.Errorf("sign in as %s: %w (was the password of this data directory changed? choose another --data)", quickstartUser, err)
	}
	return nil
}

func (t *tour) run(first bool, data string) error {
	defer func() { _ = t.conn.Close() }() // the tour is over either way
	fmt.Fprintf(t.out, "galgo %s\n  address      %s\n  user         %s / %s\n  data         %s\n", protocol.ProductVersion, t.addr,
		quickstartUser, quickstartUser, filepath.Clean(data))
	if !first {
		fmt.Fprintln(t.out, "  the data directory exists: its messages stay")
	}
	ref, err := t.topic()
	if err != nil {
		return err
	}
	from, err := t.produce(ref)
	if err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	if err := t.consume(ref, from); err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	fmt.Fprintf(t.out, "\nAny client of the Iggy protocol 0.11 can connect now, for example:\n  stream %q, topic %q, partition 0\n", "quickstart", "events")
	return nil
}

// topic creates the stream and the topic of the tour, or takes those of an earlier one.
func (t *tour) topic() (command.TopicRef, error) {
	ref := command.TopicRef{Stream: protocol.NamedID("quickstart"), Topic: protocol.NamedID("events")}
	if _, err := t.conn.CreateStream("quickstart"); err != nil && !hasCode(err, protocol.CodeStreamNameAlreadyExists) {
		return ref, fmt.Errorf("create stream: %w", err)
	}
	if _, err := t.conn.CreateTopic(ref.Stream, "events", 1); err != nil && !hasCode(err, protocol.CodeTopicNameAlreadyExists) {
		return ref, fmt.Errorf("create topic: %w", err)
	}
	return ref, nil
}

func hasCode(err error, code protocol.Code) bool {
	got, ok := rawclient.CodeOf(err)
	return ok && got == code
}

// produce sends the messages and returns the offset of the first one.
func (t *tour) produce(ref command.TopicRef) (from uint64, err error) {
	b := batch.NewBuilder()
	payload := make([]byte, quickstartSize)
	copy(payload, "hello from galgo ")
	meter := newMeter(t.out, "sent", t.messages)
	for sent := 0; sent < t.messages; {
		b.Reset()
		n := min(quickstartBatch, t.messages-sent)
		now := uint64(time.Now().UnixMicro())
		for i := range n {
			if err := b.Add(payload, nil, protocol.Uint128From64(uint64(sent+i+1)), now); err != nil {
				return 0, err
			}
		}
		record, err := b.Build()
		if err != nil {
			return 0, err
		}
		c, err := t.conn.SendMessages(ref, protocol.Partitioning{Kind: protocol.PartitionByID}, record)
		if err != nil {
			return 0, err
		}
		if sent == 0 {
			from = c.BaseOffset
		}
		sent += n
		meter.at(sent)
	}
	meter.end()
	return from, nil
}

// consume reads the messages back and checks that none is missing.
func (t *tour) consume(ref command.TopicRef, from uint64) error {
	meter := newMeter(t.out, "read", t.messages)
	for got := 0; got < t.messages; {
		reply, err := t.conn.Poll(command.PollMessages{
			Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(1)}, TopicRef: ref, HasPartition: true,
			Strategy: command.FromOffset, Value: from + uint64(got), Count: quickstartBatch,
		})
		if err != nil {
			return err
		}
		if reply.Count == 0 {
			return fmt.Errorf("only %d of %d messages came back", got, t.messages)
		}
		got += int(reply.Count)
		meter.at(min(got, t.messages))
	}
	meter.end()
	return nil
}

// meter shows progress and speed on one line.
type meter struct {
	out   io.Writer
	verb  string
	total int
	done  int
	start time.Time
	shown time.Time
	line  bool // the output is a terminal: the line is drawn over
}

func newMeter(out io.Writer, verb string, total int) *meter {
	f, isFile := out.(*os.File)
	m := &meter{out: out, verb: verb, total: total, start: time.Now()}
	if isFile {
		info, err := f.Stat()
		m.line = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return m
}

func (m *meter) at(done int) {
	m.done = done
	if m.line && time.Since(m.shown) > 100*time.Millisecond {
		m.shown = time.Now()
		fmt.Fprint(m.out, "\r"+m.text())
	}
}

func (m *meter) end() {
	if m.line {
		fmt.Fprint(m.out, "\r")
	}
	fmt.Fprintln(m.out, m.text())
}

func (m *meter) text() string {
	seconds := max(time.Since(m.start).Seconds(), 1e-9)
	return fmt.Sprintf("  %-5s %9d of %d messages of %d bytes, %8.0f a second, %7.1f MB/s", m.verb, m.done, m.total, quickstartSize,
		float64(m.done)/seconds, float64(m.done)*quickstartSize/1e6/seconds)
}
