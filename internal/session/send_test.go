package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// sendBody is the body of a SendMessages that announces count messages.
func sendBody(ref command.TopicRef, to protocol.Partitioning, count uint32, record []byte) []byte {
	return append(command.SendMessages{TopicRef: ref, Partitioning: to, MessagesCount: count}.Append(nil), record...)
}

// edited returns a copy of b with one byte changed.
func edited(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

func TestSend_RefusesByCode(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	r.topic("s", "hollow", 0)
	r.newUser("nobody", nil)
	good := record("a", "b")
	empty := bytes.Clone(good[:batch.HeaderSize])
	binary.LittleEndian.PutUint64(empty[32:], batch.HeaderSize)
	binary.LittleEndian.PutUint32(empty[48:], 0)
	for _, c := range []struct {
		name string
		body []byte
		want protocol.Code
	}{
		{"empty body", nil, protocol.CodeInvalidCommand},
		{"no metadata section", good, protocol.CodeInvalidCommand},
		{"no batch", sendBody(ref, to(0), 2, nil), protocol.CodeInvalidCommand},
		{"cut batch", sendBody(ref, to(0), 2, good[:len(good)-1]), protocol.CodeInvalidCommand},
		{"bytes behind the batch", sendBody(ref, to(0), 2, append(bytes.Clone(good), 0)), protocol.CodeInvalidCommand},
		{"unknown stream", sendBody(at("none", "t"), to(0), 2, good), protocol.CodeStreamIdNotFound},
		{"unknown topic", sendBody(at("s", "none"), to(0), 2, good), protocol.CodeTopicIdNotFound},
		{"unknown partition", sendBody(ref, to(2), 2, good), protocol.CodePartitionNotFound},
		{"no partitions", sendBody(at("s", "hollow"), to(0), 2, good), protocol.CodePartitionNotFound},
		{"no partitions, balanced", sendBody(at("s", "hollow"), protocol.Partitioning{Kind: protocol.PartitionBalanced}, 2, good), protocol.CodePartitionNotFound},
		{"other count", sendBody(ref, to(0), 3, good), protocol.CodeInvalidMessagesCount},
		{"no messages", sendBody(ref, to(0), 0, empty), protocol.CodeInvalidMessagesCount},
		{"reserved byte of the batch", sendBody(ref, to(0), 2, edited(good, 100)), protocol.CodeInvalidReservedField},
		{"reserved byte of a message", sendBody(ref, to(0), 2, edited(good, batch.HeaderSize+40)), protocol.CodeInvalidReservedField},
		{"payload", sendBody(ref, to(0), 2, edited(good, len(good)-1)), protocol.CodeInvalidMessageChecksum},
		{"batch checksum", sendBody(ref, to(0), 2, edited(good, 40)), protocol.CodeInvalidBatchChecksum},
	} {
		r.root.does(c.name, protocol.OpSendMessages, c.body, denied(c.want))
	}
	r.as("nobody").does("no right", protocol.OpSendMessages, sendBody(ref, to(0), 2, edited(good, 40)), denied(protocol.CodeUnauthorized))
	if got := r.root.send(ref, to(0), "first"); got.BaseOffset != 0 {
		t.Errorf("a refused batch left a trace: first offset %d", got.BaseOffset)
	}
}

func TestSend_ConfirmsWhere(t *testing.T) {
	r := openRig(t, setup{})
	r.topic("other", "t", 1)
	ref := r.topic("s", "t", 3)
	for i := range uint64(3) {
		want := command.Confirmation{Stream: 1, Partition: 2, BaseOffset: 2 * i}
		if got := r.root.send(ref, to(2), "a", "b"); got != want {
			t.Errorf("confirmed %+v; want %+v", got, want)
		}
	}
	reply := sure(r.root.Do(protocol.OpSendMessages, 0, sendBody(ref, to(2), 1, record("x"))))
	h := reply.Header
	if h.Request() != r.root.NextRequest() || h.Operation() != protocol.OpSendMessages || h.Op() != h.Commit() || h.Op() == 0 || h.Timestamp() == 0 ||
		h.Client() == r.root.Client() {
		t.Errorf("request %d, %s, op %d, commit %d, client %v", h.Request(), h.Operation(), h.Op(), h.Commit(), h.Client())
	}
}

func TestSend_Partitioning(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 3)
	other := r.topic("s", "u", 2)
	balanced := protocol.Partitioning{Kind: protocol.PartitionBalanced}
	var got []uint32
	for i := range 7 {
		got = append(got, r.root.send(ref, balanced, "x").Partition)
		if i == 2 {
			r.root.does("refused", protocol.OpSendMessages, sendBody(ref, balanced, 2, record("x")), denied(protocol.CodeInvalidMessagesCount))
			got = append(got, 10+r.root.send(other, balanced, "x").Partition)
		}
	}
	if want := []uint32{0, 1, 2, 10, 0, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("balanced to %v; want %v", got, want)
	}
	// The vector of the protocol's hash: XXH32("user-123") mod 3 = 1.
	key := protocol.Partitioning{Kind: protocol.PartitionByKey, Key: []byte("user-123")}
	if p := r.root.send(ref, key, "x").Partition; p != 1 {
		t.Errorf("key sent to partition %d; want 1", p)
	}
}

func TestSend_LargeBatchesAreVerifiedWhileTheyArrive(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	big := func(seed byte, size int) string { return string(bytes.Repeat([]byte{seed, 1, 2, 3, 5, 7, 11}, size/7)) }
	sizes := []int{17 << 10, 300 << 10, 3 << 20}
	for i, size := range sizes {
		payload := big(byte(i), size)
		if base := r.root.send(ref, to(0), payload, "small").BaseOffset; base != uint64(2*i) {
			t.Errorf("%d bytes at offset %d", size, base)
		}
		rec := record(payload)
		for _, bad := range []struct {
			name string
			rec  []byte
			want protocol.Code
		}{
			{"last byte", edited(rec, len(rec)-1), protocol.CodeInvalidMessageChecksum},
			{"middle byte", edited(rec, len(rec)/2), protocol.CodeInvalidMessageChecksum},
			{"batch checksum", edited(rec, 40), protocol.CodeInvalidBatchChecksum},
			{"cut", rec[:len(rec)-1], protocol.CodeInvalidCommand},
		} {
			r.root.does(fmt.Sprint(size, " ", bad.name), protocol.OpSendMessages, sendBody(ref, to(0), 1, bad.rec), denied(bad.want))
		}
		p := fromFirst(ref, 0)
		p.Strategy, p.Value, p.Count = command.FromOffset, uint64(2*i), 2
		if got := payloads(sure(r.root.Poll(p)).Records); len(got) != 2 || got[0] != payload {
			t.Errorf("%d bytes do not come back", size)
		}
	}
}

// A frame that was refused must not leave what was found out about its body to the next one, which may come in
// the same memory.
func TestSend_VerdictOfARefusedFrameDoesNotOutliveIt(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	large := record(string(bytes.Repeat([]byte("x"), 100<<10)))
	for _, refusal := range []struct {
		name string
		make func() []byte
	}{
		{"checksum", func() []byte {
			f := r.root.AppendFrame(nil, protocol.OpSendMessages, 0, sendBody(ref, to(0), 1, large))
			(*protocol.RequestHeader)(f).SetRequestChecksum(protocol.Uint128From64(1))
			return f
		}},
		{"unknown topic", func() []byte {
			return r.root.AppendFrame(nil, protocol.OpSendMessages, 0, sendBody(at("s", "none"), to(0), 1, large))
		}},
		{"bad header", func() []byte {
			f := r.root.AppendFrame(nil, protocol.OpSendMessages, 0, sendBody(ref, to(0), 1, large))
			(*protocol.RequestHeader)(f).SetClient(protocol.Uint128{})
			return f
		}},
	} {
		for _, next := range []struct {
			name string
			rec  []byte
			want outcome
		}{
			{"damaged large one", edited(large, len(large)/2), denied(protocol.CodeInvalidMessageChecksum)},
			{"good large one", large, outcome{}},
			{"damaged small one", edited(record("abc"), batch.HeaderSize+50), denied(protocol.CodeInvalidMessageChecksum)},
			{"good small one", record("abc"), outcome{}},
		} {
			f := refusal.make()
			if h := (*protocol.ReplyHeader)(r.raw(r.root, f)); h.Status() == protocol.Success {
				t.Fatalf("%s was accepted", refusal.name)
			}
			r.root.does(refusal.name+", then a "+next.name, protocol.OpSendMessages, sendBody(ref, to(0), 1, next.rec), next.want)
		}
	}
}

func TestSend_NumberedRequestsAreStoredOnce(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	c := r.as(rootName)
	numberedFrame := func(number uint64, numbered bool) []byte {
		f := c.AppendFrame(nil, protocol.OpSendMessages, 0, sendBody(ref, to(0), 1, record("x")))
		(*protocol.RequestHeader)(f).SetRequest(number)
		(*protocol.RequestHeader)(f).SetNumbered(numbered)
		return f
	}
	for _, s := range []struct {
		number   uint64
		numbered bool
		stored   uint64 // messages in the partition afterwards
		body     int
	}{
		{1, true, 1, 24}, {1, true, 1, 4}, {1, false, 2, 24}, {1, false, 3, 24}, {0, true, 4, 24}, {0, true, 5, 24}, {2, true, 6, 24}, {1, true, 6, 4},
	} {
		frame := r.raw(c, numberedFrame(s.number, s.numbered))
		h := (*protocol.ReplyHeader)(frame)
		if h.Status() != protocol.Success || h.Request() != s.number || len(frame)-protocol.HeaderSize != s.body {
			t.Errorf("%+v: status %d, number %d, %d bytes", s, h.Status(), h.Request(), len(frame)-protocol.HeaderSize)
		}
		if got := sure(r.root.Poll(fromFirst(ref, 0))).Count; uint64(got) != s.stored {
			t.Errorf("%+v: %d messages", s, got)
		}
	}
}

// TestPipeline_SeesItsOwnWrites sends everything at once on one connection: each request must act on what those
// before it did, and the answers come in order.
func TestPipeline_SeesItsOwnWrites(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	ref := at("s", "t")
	offset := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}
	poll := fromFirst(ref, 0)
	var block []byte
	send := func(op protocol.Operation, code protocol.CommandCode, body []byte) {
		block = c.AppendFrame(block, op, code, body)
	}
	const rounds = 4
	for range rounds {
		send(protocol.OpCreateStream, 0, streamBody("s"))
		send(protocol.OpCreateTopic, 0, topicBody("s", "t", 2))
		for i := range 10 {
			send(protocol.OpSendMessages, 0, sendBody(ref, to(uint32(i%2)), 1, record("x")))
		}
		send(protocol.OpNonReplicated, protocol.CmdMessagePoll, poll.Append(nil))
		send(protocol.OpStoreConsumerOffset, 0, command.StoreOffset{OffsetRef: offset, Offset: 3, Ack: protocol.AckQuorum}.Append(nil))
		send(protocol.OpNonReplicated, protocol.CmdConsumerOffsetGet, offset.Append(nil))
		send(protocol.OpSendMessages, 0, sendBody(at("s", "none"), to(0), 1, record("x")))
		send(protocol.OpPurgeTopic, 0, ref.Append(nil))
		send(protocol.OpSendMessages, 0, sendBody(ref, to(0), 1, record("y")))
		send(protocol.OpNonReplicated, protocol.CmdMessagePoll, poll.Append(nil))
		send(protocol.OpDeleteStream, 0, named("s"))
	}
	if _, err := c.NetConn().Write(block); err != nil {
		t.Fatal(err)
	}
	next := func() []byte { return r.raw(c, nil) }
	body := func(want protocol.Operation) []byte {
		t.Helper()
		f := next()
		h := (*protocol.ReplyHeader)(f)
		if h.Status() != protocol.Success || h.Operation() != want {
			t.Fatalf("%s answered with status %d; want %s", h.Operation(), h.Status(), want)
		}
		return f[protocol.HeaderSize:]
	}
	for range rounds {
		body(protocol.OpCreateStream)
		body(protocol.OpCreateTopicWithAssignments)
		for i := range uint64(10) {
			if got := sure(command.DecodeConfirmations(body(protocol.OpSendMessages))); got[0].BaseOffset != i/2 {
				t.Errorf("send %d at offset %d", i, got[0].BaseOffset)
			}
		}
		if head, _, err := command.DecodePollReply(body(protocol.OpNonReplicated)); err != nil || head.Count != 5 {
			t.Errorf("poll behind five sends: %d messages, %v", head.Count, err)
		}
		body(protocol.OpStoreConsumerOffset)
		if got, found, err := command.DecodeOffsetReply(body(protocol.OpNonReplicated)); err != nil || !found || got.Stored != 3 || got.CurrentOffset != 4 {
			t.Errorf("offset behind its store: %+v, %v, %v", got, found, err)
		}
		if h := (*protocol.ReplyHeader)(next()); h.Status() != protocol.CodeTopicIdNotFound {
			t.Errorf("send to no topic: status %d", h.Status())
		}
		body(protocol.OpPurgeTopic)
		if got := sure(command.DecodeConfirmations(body(protocol.OpSendMessages))); got[0].BaseOffset != 0 {
			t.Errorf("send behind a purge at offset %d", got[0].BaseOffset)
		}
		head, records, err := command.DecodePollReply(body(protocol.OpNonReplicated))
		if err != nil || !slices.Equal(payloads(records), []string{"y"}) {
			t.Errorf("poll behind a purge: %d messages, %v", head.Count, err)
		}
		body(protocol.OpDeleteStream)
	}
}

func TestPipeline_ManyConnectionsKeepTheirOrder(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 4)
	const clients, each = 8, 200
	done := make(chan error, clients)
	for id := range clients {
		c := r.as(rootName)
		go func() {
			var block []byte
			for i := range each {
				block = c.AppendFrame(block, protocol.OpSendMessages, 0, sendBody(ref, to(uint32(i%4)), 1, record(fmt.Sprintf("%d/%d", id, i))))
			}
			err := c.SendFrames(block, each)
			last := [4]int64{-1, -1, -1, -1}
			for i := 0; i < each && err == nil; i++ {
				reply, e := c.Receive()
				if err = e; err == nil {
					got := sure(command.DecodeConfirmations(reply.Body))[0]
					if got.Partition != uint32(i%4) || int64(got.BaseOffset) <= last[i%4] {
						err = fmt.Errorf("send %d confirmed at %+v after %d", i, got, last[i%4])
					}
					last[i%4] = int64(got.BaseOffset)
				}
			}
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for p := range uint32(4) {
		next := map[string]int{}
		for _, text := range payloads(sure(r.root.Poll(fromFirst(ref, p))).Records) {
			var id string
			var i int
			if _, err := fmt.Sscanf(text, "%1s/%d", &id, &i); err != nil {
				t.Fatal(err)
			}
			if want := next[id]*4 + int(p); i != want {
				t.Fatalf("partition %d: client %s has %d where %d belongs", p, id, i, want)
			}
			next[id]++
		}
	}
}

// A topic that is created anew begins at its first partition, wherever the deleted one of the same ids was.
func TestSend_ARecreatedTopicBeginsItsOwnRound(t *testing.T) {
	r := openRig(t, setup{})
	balanced := protocol.Partitioning{Kind: protocol.PartitionBalanced}
	for life := range 3 {
		ref := r.topic("s", "t", 3)
		for i := range 4 + life { // not a multiple of the partitions
			if got := r.root.send(ref, balanced, "x"); got.Partition != uint32(i%3) {
				t.Fatalf("life %d: batch %d went to partition %d", life, i, got.Partition)
			}
		}
		r.root.apply(protocol.OpDeleteTopic, ref.Append(nil))
	}
}
