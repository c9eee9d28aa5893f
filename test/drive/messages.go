package drive

import (
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// Message is one message as a poll returned it.
type Message struct {
	Offset, AppendMicros, OriginMicros uint64
	ID                                 protocol.Uint128
	Payload, Headers                   string
}

// To addresses a partition by number.
func To(partition uint32) protocol.Partitioning {
	return protocol.Partitioning{Kind: protocol.PartitionByID, ID: partition}
}

// Record builds a batch record of payloads, as a producer sends it.
func Record(payloads ...string) []byte {
	b := batch.NewBuilder()
	now := uint64(time.Now().UnixMicro())
	for i, p := range payloads {
		if err := b.Add([]byte(p), nil, protocol.Uint128From64(uint64(i)+1), now); err != nil {
			panic(err)
		}
	}
	record, err := b.Build()
	if err != nil {
		panic(err)
	}
	return record
}

// Payloads makes n payloads "prefix-0", "prefix-1" and so on.
func Payloads(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return all
}

// Send sends payloads as one batch that must be confirmed and returns the offset of the first.
func (c *Client) Send(ref command.TopicRef, partition uint32, payloads ...string) uint64 {
	c.t.Helper()
	return c.SendRecord(ref, partition, Record(payloads...))
}

// SendRecord sends a record that must be confirmed with its place and returns the offset of its first message.
func (c *Client) SendRecord(ref command.TopicRef, partition uint32, record []byte) uint64 {
	c.t.Helper()
	got, err := c.SendMessages(ref, To(partition), record)
	c.Must(err)
	if !got.Known || got.Partition != partition {
		c.t.Fatalf("confirmation %+v for a send to partition %d", got, partition)
	}
	return got.BaseOffset
}

// Poll builds a poll of a partition by consumer 1.
func Poll(ref command.TopicRef, partition uint32, from command.StrategyKind, value uint64, count uint32) command.PollMessages {
	return command.PollMessages{
		Consumer: Consumer(1), TopicRef: ref, Partition: partition, HasPartition: true, Strategy: from, Value: value, Count: count,
	}
}

// Fetch polls and returns the answer and its messages, whose every checksum is verified.
func (c *Client) Fetch(p command.PollMessages) (command.PollReply, []Message) {
	c.t.Helper()
	reply, err := c.Conn.Poll(p)
	c.Must(err)
	messages, err := Decode(reply)
	c.Must(err)
	if uint32(len(messages)) > p.Count {
		c.t.Fatalf("%d messages in answer to a poll for %d", len(messages), p.Count)
	}
	return reply.PollReply, messages
}

// All reads a partition from its first message to its end.
func (c *Client) All(ref command.TopicRef, partition uint32) []Message {
	c.t.Helper()
	var all []Message
	for next := uint64(0); ; {
		_, got := c.Fetch(Poll(ref, partition, command.FromOffset, next, 1000))
		if len(got) == 0 {
			return all
		}
		for _, m := range got {
			if m.Offset < next {
				c.t.Fatalf("offset %d answers a poll from %d", m.Offset, next)
			}
			next = m.Offset + 1
		}
		all = append(all, got...)
	}
}

// Decode reads the messages of a poll. It refuses records that fail a checksum, offsets that do not increase
// and a count that is not the number of messages.
func Decode(reply rawclient.PollReply) ([]Message, error) {
	var all []Message
	for rest := reply.Records; len(rest) > 0; {
		if len(rest) < batch.HeaderSize {
			return nil, fmt.Errorf("poll: %d bytes behind the last record", len(rest))
		}
		length := batch.HeaderOf(rest).Length()
		if length < batch.HeaderSize || length > uint64(len(rest)) {
			return nil, fmt.Errorf("poll: record of %d bytes in %d", length, len(rest))
		}
		record := rest[:length]
		rest = rest[length:]
		if code := batch.VerifyStored(record); code != protocol.Success {
			return nil, fmt.Errorf("poll: record at offset %d: %w", batch.BaseOffset(record), code)
		}
		if got := batch.PartitionID(record); got != uint64(reply.Partition) {
			return nil, fmt.Errorf("poll: record of partition %d in a poll of %d", got, reply.Partition)
		}
		frames := batch.Walk(record)
		for f, ok := frames.Next(); ok; f, ok = frames.Next() {
			m := Message{
				Offset: batch.BaseOffset(record) + uint64(f.OffsetDelta()), AppendMicros: batch.BaseTimestamp(record),
				OriginMicros: batch.OriginTimestamp(record) + uint64(f.TimestampDelta()), ID: f.ID(),
				Payload: string(f.Payload()), Headers: string(f.UserHeaders()),
			}
			if n := len(all); n > 0 && all[n-1].Offset >= m.Offset {
				return nil, fmt.Errorf("poll: offset %d follows %d", m.Offset, all[n-1].Offset)
			}
			all = append(all, m)
		}
	}
	if uint32(len(all)) != reply.Count {
		return nil, fmt.Errorf("poll: %d messages and a count of %d", len(all), reply.Count)
	}
	return all, nil
}

// Bodies returns the payloads of messages.
func Bodies(messages []Message) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.Payload
	}
	return all
}

// Offsets returns the offsets of messages.
func Offsets(messages []Message) []uint64 {
	all := make([]uint64, len(messages))
	for i, m := range messages {
		all[i] = m.Offset
	}
	return all
}

// Span lists the offsets from first to last.
func Span(first, last uint64) []uint64 {
	var all []uint64
	for o := first; o <= last; o++ {
		all = append(all, o)
	}
	return all
}
