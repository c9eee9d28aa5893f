package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// consumer polls one partition by offset from its start, one poll in flight, and keeps the next offset
// itself.
type consumer struct {
	conn *rawclient.Conn
	poll *rawclient.PollFrame
	next uint64
	// fromOrigin counts latency from the origin timestamp of the first message of a reply instead of from
	// the poll.
	fromOrigin bool
	// decode verifies the checksums of everything received and looks at every message, as a client that
	// hands out messages has to.
	decode  bool
	backoff time.Duration
}

// consumerID is under which number consumers poll; they store no offsets.
const consumerID = 1

// errDecode is what a poll reply that breaks its layout is refused with.
var errDecode = errors.New("poll reply does not hold what it says")

func newConsumer(t target, from destination, count uint32) (*consumer, error) {
	conn, err := t.connect()
	if err != nil {
		return nil, err
	}
	poll := conn.NewPollFrame(command.PollMessages{
		Consumer:  protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(consumerID)},
		TopicRef:  from.TopicRef,
		Partition: from.partition, HasPartition: true,
		Strategy: command.FromOffset, Count: count,
	})
	return &consumer{conn: conn, poll: poll}, nil
}

func (c *consumer) step(due time.Time) (outcome, error) {
	start := time.Now()
	c.poll.SetOffset(c.next)
	reply, err := c.conn.PollFrame(c.poll)
	if err != nil {
		return outcome{}, err
	}
	end := time.Now()
	if reply.Count == 0 {
		if c.backoff > 0 {
			time.Sleep(c.backoff)
		}
		return outcome{end: end}, nil
	}
	seen, err := readRecords(reply.Records, c.decode)
	if err != nil {
		return outcome{}, err
	}
	if seen.messages != int64(reply.Count) {
		return outcome{}, fmt.Errorf("%w: %d messages announced, %d there", errDecode, reply.Count, seen.messages)
	}
	c.next = seen.next
	out := outcome{end: end, latency: end.Sub(start), bytes: seen.bytes, messages: seen.messages}
	switch {
	case c.fromOrigin:
		out.latency = max(end.Sub(time.UnixMicro(int64(seen.origin))), 0)
	case !due.IsZero():
		out.latency = end.Sub(due)
	}
	return out, nil
}

func (c *consumer) close() error { return c.conn.Close() }

// seenRecords is what a poll reply held.
type seenRecords struct {
	messages int64
	bytes    int64  // payload, user headers included
	next     uint64 // offset after the last message
	origin   uint64 // origin time of the first message, in microseconds
}

// readRecords walks the records of a poll reply: by their headers alone, or through every message. A
// record cut out of a larger one keeps the offsets of its messages in their frames, so the first frame
// tells where it begins.
func readRecords(records []byte, decode bool) (seenRecords, error) {
	var seen seenRecords
	for len(records) > 0 {
		if len(records) < batch.HeaderSize+batch.FrameHeaderSize {
			return seen, fmt.Errorf("%w: %d bytes left", errDecode, len(records))
		}
		h := batch.HeaderOf(records)
		length, count := h.Length(), int64(h.MessageCount())
		if length > uint64(len(records)) || h.Check() != protocol.Success {
			return seen, fmt.Errorf("%w: record of %d bytes and %d messages in %d bytes", errDecode, length, count, len(records))
		}
		record := records[:length]
		records = records[length:]
		first := batch.Frame(record[batch.HeaderSize:])
		if seen.messages == 0 {
			seen.origin = h.OriginTimestamp() + uint64(first.TimestampDelta())
		}
		seen.messages += count
		seen.bytes += int64(length) - batch.HeaderSize - count*batch.FrameHeaderSize
		seen.next = h.BaseOffset() + uint64(first.OffsetDelta()) + uint64(count)
		if decode {
			if err := decodeRecord(record, uint32(count)); err != nil {
				return seen, err
			}
		}
	}
	return seen, nil
}

func decodeRecord(record []byte, count uint32) error {
	if code := batch.Verify(record, count); code != protocol.Success {
		return fmt.Errorf("%w: record refused with code %d", errDecode, uint32(code))
	}
	for w := batch.Walk(record); ; {
		f, ok := w.Next()
		if !ok {
			return nil
		}
		_, _ = f.Payload(), f.UserHeaders()
	}
}
