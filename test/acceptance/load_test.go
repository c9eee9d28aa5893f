package acceptance

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// ping is a whole frame that needs no sign-in.
func ping(client uint64) []byte {
	frame := header(protocol.HeaderSize)
	(*protocol.RequestHeader)(frame).SetClient(protocol.Uint128From64(client))
	return frame
}

// bounded demands that the server never used more memory than a limit.
func bounded(t *testing.T, s *process.Server, limit uint64) {
	t.Helper()
	peak := s.PeakResidentBytes()
	t.Logf("peak memory %d MiB", peak>>20)
	if os.Getenv(process.RaceVariable) == "1" {
		return // the race detector takes memory of its own
	}
	if peak > limit {
		t.Errorf("the server used %d MiB of memory; the limit is %d MiB", peak>>20, limit>>20)
	}
}

func TestLoad_ClaimedLengthsCostNothing(t *testing.T) {
	s, _ := drive.Alone(t)
	w := drive.Watch(t, s)
	for range 200 {
		conn := raw(t, s)
		if _, err := conn.Write(header(protocol.MaxFrameSizeDefault)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond)
	w.End(patience)
	bounded(t, s, 300*mib)
}

func TestLoad_AClientOfOneByteAtATimeIsServed(t *testing.T) {
	s, _ := drive.Alone(t)
	w := drive.Watch(t, s)
	began := time.Now()
	var slow sync.WaitGroup
	failed := make(chan error, 50)
	for i := range cap(failed) {
		conn := raw(t, s)
		slow.Go(func() {
			for _, b := range ping(uint64(i) + 1) {
				if _, err := conn.Write([]byte{b}); err != nil {
					failed <- err
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			var h protocol.ReplyHeader
			for at := range h { // and reads as slowly
				if _, err := io.ReadFull(conn, h[at:at+1]); err != nil {
					failed <- err
					return
				}
			}
			if h.Status() != protocol.Success {
				failed <- h.Status()
			}
		})
	}
	slow.Wait()
	close(failed)
	for err := range failed {
		t.Errorf("a slow client: %v", err)
	}
	t.Logf("served after %v", time.Since(began))
	w.End(patience)
}

// A client that asks for much and reads nothing holds up itself alone, and gets everything once it reads.
func TestLoad_ASlowReaderHoldsUpItselfAlone(t *testing.T) {
	s, c := drive.Alone(t)
	topic := c.NewTopic("orders", "events", 1)
	payload := strings.Repeat("p", 100_000)
	for range 20 {
		c.Send(topic.TopicRef, 0, slices.Repeat([]string{payload}, 10)...)
	}
	w := drive.Watch(t, s)
	slow := drive.Root(t, s)
	const polls = 1000
	frame := slow.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdMessagePoll, drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 10).Append(nil))
	written := make(chan error, 1)
	go func() {
		_, err := slow.NetConn().Write(slices.Repeat(frame, polls))
		written <- err
	}()
	time.Sleep(2 * time.Second)
	bounded(t, s, 500*mib)
	for n := range polls {
		_ = slow.NetConn().SetReadDeadline(time.Now().Add(patience))
		var h protocol.ReplyHeader
		if _, err := io.ReadFull(slow.NetConn(), h[:]); err != nil {
			t.Fatalf("answer %d: %v", n, err)
		}
		size := int64(h.Common().Size()) - protocol.HeaderSize
		if h.Status() != protocol.Success || size < 1_000_000 {
			t.Fatalf("answer %d: status %d, %d bytes", n, h.Status(), size)
		}
		if _, err := io.CopyN(io.Discard, slow.NetConn(), size); err != nil {
			t.Fatalf("answer %d: %v", n, err)
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	w.End(patience)
	bounded(t, s, 500*mib)
}

func TestLoad_FiveThousandConnections(t *testing.T) {
	s, c := drive.Alone(t)
	w := drive.Watch(t, s)
	before := s.OpenFiles()
	const total = 5000
	conns := make([]*net.TCPConn, total)
	for i := range conns {
		conns[i] = raw(t, s)
	}
	for round := range 2 {
		for i, conn := range conns {
			if _, err := conn.Write(ping(uint64(i) + 1)); err != nil {
				t.Fatalf("round %d, connection %d: %v", round, i, err)
			}
		}
		for i, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			var h protocol.ReplyHeader
			if _, err := io.ReadFull(conn, h[:]); err != nil || h.Status() != protocol.Success {
				t.Fatalf("round %d, connection %d: %v, status %d", round, i, err, h.Status())
			}
		}
	}
	drive.Check(t, "clients counted", c.Stats().Clients, total+2)
	w.End(patience)
	bounded(t, s, 400*mib)
	for _, conn := range conns {
		_ = conn.Close()
	}
	s.Eventually(20*time.Second, fmt.Sprintf("the descriptors of closed connections are free, %d as before", before),
		func() bool { return s.OpenFiles() <= before+8 })
	s.Eventually(10*time.Second, "closed connections are not counted", func() bool { return c.Stats().Clients == 2 })
}

// Far more sends than every queue holds, on several connections that only then begin to read: each is answered
// in order, and what was confirmed is there once.
func TestLoad_PipelinesBeyondEveryQueue(t *testing.T) {
	s, c := drive.Alone(t)
	topic := c.NewTopic("orders", "events", 2)
	w := drive.Watch(t, s)
	const producers, each = 4, 5000
	type sent struct {
		err  error
		base []uint64 // by request, MaxUint64 where it was refused
	}
	results := make([]sent, producers)
	var all sync.WaitGroup
	for n := range producers {
		conn := drive.Root(t, s)
		all.Go(func() { results[n].base, results[n].err = pipeline(conn.Conn, topic.TopicRef, uint32(n%2), n, each) })
	}
	all.Wait()
	refused := 0
	for p := range uint32(2) {
		at := map[uint64]string{}
		for _, m := range c.All(topic.TopicRef, p) {
			at[m.Offset] = m.Payload
		}
		confirmed := 0
		for n := int(p); n < producers; n += 2 {
			c.Must(results[n].err)
			highest := uint64(0)
			for i, base := range results[n].base {
				if base == math.MaxUint64 {
					refused++
					continue
				}
				confirmed++
				if want := fmt.Sprint(n, " ", i); at[base] != want {
					t.Fatalf("partition %d offset %d holds %q; it was confirmed for %q", p, base, at[base], want)
				}
				if i > 0 && base < highest {
					t.Errorf("request %d of a connection is stored at %d, before an earlier one at %d", i, base, highest)
				}
				highest = base
			}
		}
		drive.Check(t, "messages", len(at), confirmed)
	}
	t.Logf("%d of %d sends were refused as transient", refused, producers*each)
	w.End(2 * patience)
	bounded(t, s, 600*mib)
}

// pipeline writes all its sends without waiting, begins to read after a while, and returns where each was stored.
func pipeline(c *rawclient.Conn, ref command.TopicRef, partition uint32, producer, count int) ([]uint64, error) {
	written := make(chan error, 1)
	go func() {
		for i := range count {
			record := drive.Record(fmt.Sprint(producer, " ", i))
			body := append(command.SendMessages{TopicRef: ref, Partitioning: drive.To(partition), MessagesCount: 1}.Append(nil), record...)
			if err := c.Send(protocol.OpSendMessages, 0, body); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	time.Sleep(500 * time.Millisecond)
	base := make([]uint64, count)
	for i := range count {
		reply, err := c.Receive()
		if code, ok := rawclient.CodeOf(err); ok && code == protocol.CodeTransientNotAccepted {
			base[i] = math.MaxUint64
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("answer %d: %w", i, err)
		}
		base[i] = binary.LittleEndian.Uint64(reply.Body[16:])
	}
	return base, <-written
}

// Metadata operations of many clients at once, more than the pipeline and its queue hold, and of one client that
// does not wait.
func TestLoad_MetadataBeyondEveryQueue(t *testing.T) {
	s, c := drive.Alone(t)
	w := drive.Watch(t, s)
	const clients, each = 100, 20
	errs := make([]error, clients)
	var all sync.WaitGroup
	for n := range clients {
		conn := drive.Root(t, s)
		all.Go(func() {
			for i := range each {
				if _, err := conn.CreateStream(fmt.Sprint(n, " ", i)); err != nil {
					errs[n] = err
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		c.Must(err)
	}
	eager := drive.Root(t, s)
	for i := range 300 {
		eager.Must(eager.Conn.Send(protocol.OpCreateStream, 0, streamBody(fmt.Sprint("eager ", i))))
	}
	for range 300 {
		_, err := eager.Receive()
		if code, ok := rawclient.CodeOf(err); err != nil && (!ok || !code.Info().Retriable) {
			t.Fatal(err)
		}
	}
	// One of them is that of the witness.
	if got := len(streams(c)); got < clients*each+2 || got > clients*each+301 {
		t.Errorf("%d streams", got)
	}
	w.End(2 * patience)
}

// Connections that vanish in the middle of everything leave nothing behind.
func TestLoad_ConnectionsThatVanishLeaveNothing(t *testing.T) {
	s, c := drive.Alone(t)
	topic := c.NewTopic("orders", "events", 1)
	before := s.OpenFiles()
	w := drive.Watch(t, s)
	record := drive.Record(slices.Repeat([]string{strings.Repeat("v", 1000)}, 50)...)
	body := append(command.SendMessages{TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: 50}.Append(nil), record...)
	for i := range 60 {
		conn := drive.Root(t, s)
		frame := conn.AppendFrame(nil, protocol.OpSendMessages, 0, body)
		_, err := conn.NetConn().Write(append(slices.Repeat(frame, 10), frame[:len(frame)*i/60]...))
		conn.Must(err)
		tcp := conn.NetConn().(*net.TCPConn)
		if i%2 == 0 {
			conn.Must(tcp.SetLinger(0))
		}
		conn.Must(tcp.Close())
	}
	s.Eventually(20*time.Second, "their descriptors are free", func() bool { return s.OpenFiles() <= before+8 })
	s.Eventually(10*time.Second, "they are not counted", func() bool { return c.Stats().Clients == 2 })
	w.End(patience)
	if got := len(c.All(topic.TopicRef, 0)); got%50 != 0 || got > 60*10*50 {
		t.Errorf("%d messages; want whole batches", got)
	}
}
