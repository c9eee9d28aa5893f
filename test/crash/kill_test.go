// Package crash kills the real server under load, again and again on one data directory, and holds what it
// serves afterwards against what its clients were told.
package crash

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
	"github.com/galgolog/galgo/test/process"
)

var (
	rounds = flag.Int("rounds", 20, "number of kills")
	seed   = flag.Uint64("kill-seed", 0, "seed of the moments of the kills; 0 draws one")
)

func TestMain(m *testing.M) { process.Main(m) }

// ledger is what clients know about one partition. Safe for concurrent use.
type ledger struct {
	mu        sync.Mutex
	confirmed map[uint64]uint64 // offset -> message
	refused   map[uint64]bool
	highest   uint64
}

func (l *ledger) confirm(base uint64, messages []uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range messages {
		offset := base + uint64(i)
		if was, taken := l.confirmed[offset]; taken {
			return fmt.Errorf("offset %d was confirmed for message %d and now for %d", offset, was, m)
		}
		if offset <= l.highest && len(l.confirmed) > 0 {
			return fmt.Errorf("offset %d was confirmed after %d", offset, l.highest)
		}
		l.confirmed[offset] = m
		l.highest = offset
	}
	return nil
}

func (l *ledger) refuse(messages []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range messages {
		l.refused[m] = true
	}
}

// producer sends batches to one partition until the server dies.
type producer struct {
	id        int
	ref       command.TopicRef
	partition uint32
	window    int // requests in flight, 1 for lockstep
	ledger    *ledger
	next      uint64
}

// run signs in, tells ready, and sends until the connection breaks. What was not answered may or may not be in
// the log.
func (p *producer) run(t testing.TB, addr string, rng *rand.Rand, ready *sync.WaitGroup) {
	conn := enter(addr, ready)
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }() // the server is gone, or the round is over
	if err := p.send(conn, rng); err != nil {
		t.Error(err)
	}
}

// send keeps up to window requests in flight until the connection breaks, which is no error.
func (p *producer) send(conn *rawclient.Conn, rng *rand.Rand) error {
	b := batch.NewBuilder()
	var waiting [][]uint64
	for {
		for len(waiting) < p.window {
			messages, record, err := p.batch(b, rng)
			if err != nil {
				return err
			}
			body := command.SendMessages{
				TopicRef: p.ref, Partitioning: protocol.Partitioning{Kind: protocol.PartitionByID, ID: p.partition}, MessagesCount: uint32(len(messages)),
			}.Append(nil)
			if conn.Send(protocol.OpSendMessages, 0, append(body, record...)) != nil {
				return nil
			}
			waiting = append(waiting, messages)
		}
		reply, err := conn.Receive()
		if _, answered := rawclient.CodeOf(err); answered {
			p.ledger.refuse(waiting[0])
		} else if err != nil {
			return nil
		} else if c, err := rawclient.ReadConfirmation(reply); err != nil || !c.Known {
			return fmt.Errorf("confirmation %+v: %w", c, err)
		} else if err := p.ledger.confirm(c.BaseOffset, waiting[0]); err != nil {
			return err
		}
		waiting = waiting[1:]
	}
}

// batch makes the next record and lists its messages.
func (p *producer) batch(b *batch.Builder, rng *rand.Rand) (messages []uint64, record []byte, err error) {
	b.Reset()
	for range 1 + rng.IntN(20) {
		p.next++
		m := uint64(p.id)<<40 | p.next
		messages = append(messages, m)
		payload := binary.LittleEndian.AppendUint64(make([]byte, rng.IntN(400)), m)
		if err := b.Add(payload, nil, protocol.Uint128From64(m), 1); err != nil {
			return nil, nil, err
		}
	}
	record, err = b.Build()
	return messages, record, err
}

// TestKill_EveryAcknowledgedMessageIsThereAfterwards runs -rounds short lives, each ended by SIGKILL at a random
// moment under load, and reads everything after each.
func TestKill_EveryAcknowledgedMessageIsThereAfterwards(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	rng := rand.New(rand.NewPCG(*seed, 1))
	s := process.Start(t, process.Options{})
	conn := signIn(t, s)
	stream := protocol.NamedID("crash")
	must(t, "create stream", second(conn.CreateStream("crash")))
	for name, fsync := range map[string]bool{"default": false, "synced": true} {
		must(t, "create topic", second(conn.CreateTopic(stream, name, 2,
			command.BoolOption("enforce_fsync", fsync), command.U64Option("segment_size", 1<<20))))
	}
	var producers []*producer
	// Partition 0 of each topic is sent to in lockstep, partition 1 through a pipeline.
	for i, topic := range []string{"default", "default", "synced", "synced"} {
		producers = append(producers, &producer{
			id: i + 1, ref: command.TopicRef{Stream: stream, Topic: protocol.NamedID(topic)}, partition: uint32(i % 2), window: 1 + 49*(i%2),
			ledger: &ledger{confirmed: map[uint64]uint64{}, refused: map[uint64]bool{}},
		})
	}
	k := &keeper{offset: command.OffsetRef{
		Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(7)}, HasPartition: true,
		TopicRef: command.TopicRef{Stream: stream, Topic: protocol.NamedID("default")},
	}}
	must(t, "first message", second(conn.SendMessages(k.offset.TopicRef, protocol.Partitioning{Kind: protocol.PartitionByID}, first())))
	total := 0
	for round := range *rounds {
		var wg, ready sync.WaitGroup
		ready.Add(len(producers) + 1)
		wg.Go(func() { k.run(t, s.Addr(), round, &ready) })
		for _, p := range producers {
			own := rand.New(rand.NewPCG(*seed, uint64(round)<<8|uint64(p.id)))
			wg.Go(func() { p.run(t, s.Addr(), own, &ready) })
		}
		ready.Wait()
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		s.Kill()
		wg.Wait()
		s.Launch()
		reader := signIn(t, s)
		for _, p := range producers {
			total += p.verify(t, reader, round)
		}
		k.verify(t, reader)
		_ = reader.Close() // all it was for is done
		if t.Failed() {
			t.Fatalf("round %d; again: go test ./test/crash -kill-seed %d -rounds %d", round, *seed, *rounds)
		}
	}
	t.Logf("%d kills, %d messages read and compared", *rounds, total)
	for _, p := range producers {
		if len(p.ledger.confirmed) == 0 {
			t.Errorf("producer %d never had a message confirmed: the rounds prove nothing about it", p.id)
		}
	}
	if len(k.created) == 0 || k.stored == 0 {
		t.Error("no stream was created and no offset stored: the rounds prove nothing about them")
	}
}

// verify reads the messages of the partition that were added since the last full look, and every tenth round all
// of them: each confirmed one is at its offset, none stands twice, none that was refused is there.
func (p *producer) verify(t testing.TB, conn *rawclient.Conn, round int) (read int) {
	from := uint64(0)
	if round%10 != 9 && p.ledger.highest > 5000 {
		from = p.ledger.highest - 5000
	}
	found := map[uint64]uint64{}
	seen := map[uint64]uint64{}
	for next := from; ; {
		reply, err := conn.Poll(command.PollMessages{
			Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(1)}, TopicRef: p.ref,
			Partition: p.partition, HasPartition: true, Strategy: command.FromOffset, Value: next, Count: 2000,
		})
		if err != nil {
			t.Fatalf("poll %s/%d from %d: %v", p.ref.Topic, p.partition, next, err)
		}
		if reply.Count == 0 {
			break
		}
		for rest := reply.Records; len(rest) > 0; {
			record := rest[:batch.HeaderOf(rest).Length()]
			rest = rest[len(record):]
			if code := batch.VerifyStored(record); code != protocol.Success {
				t.Fatalf("offset %d: a record does not verify: %v", batch.BaseOffset(record), code)
			}
			w := batch.Walk(record)
			for f, ok := w.Next(); ok; f, ok = w.Next() {
				offset, m := batch.BaseOffset(record)+uint64(f.OffsetDelta()), f.ID().Lo
				if offset < next {
					t.Fatalf("offset %d served after %d", offset, next)
				}
				if was, twice := seen[m]; twice {
					t.Fatalf("message %d stands at offsets %d and %d", m, was, offset)
				}
				found[offset], seen[m] = m, offset
				next = offset + 1
			}
		}
	}
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	for offset, m := range p.ledger.confirmed {
		if offset >= from && found[offset] != m {
			t.Fatalf("%s/%d: offset %d was confirmed for message %d and holds %d", p.ref.Topic, p.partition, offset, m, found[offset])
		}
	}
	for m := range seen {
		if p.ledger.refused[m] {
			t.Fatalf("message %d was refused and stands at offset %d", m, seen[m])
		}
	}
	return len(found)
}

// enter signs in for a client of a round and tells ready, whether it succeeded or not. Nil means that the server died
// first.
func enter(addr string, ready *sync.WaitGroup) *rawclient.Conn {
	defer ready.Done()
	conn, err := rawclient.DialOptions(addr, rawclient.Options{Timeout: 20 * time.Second})
	if err != nil {
		return nil
	}
	if err := conn.SignIn(process.RootName, process.RootPassword); err != nil {
		_ = conn.Close() // useless now
		return nil
	}
	return conn
}

func signIn(t testing.TB, s *process.Server) *rawclient.Conn {
	t.Helper()
	conn, err := rawclient.Dial(s.Addr())
	if err == nil {
		err = conn.SignIn(process.RootName, process.RootPassword)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("sign in: %w", err))
	}
	return conn
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func second[T any](_ T, err error) error { return err }
