package acceptance

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

// Offsets of fields inside a batch header and a message frame.
const (
	batchLengthAt, batchChecksumAt, messageCountAt, batchReservedAt = 32, 40, 48, 52
	frameHeadersAt, framePayloadAt, frameReservedAt                 = 32, 36, 40
)

// request is a send in its parts, for tests that get one of them wrong.
type request struct {
	metadata []byte // without the length in front
	length   uint32
	record   []byte
}

func newRequest(topic drive.Topic, record []byte) *request {
	whole := command.SendMessages{
		TopicRef: topic.TopicRef, Partitioning: drive.To(0), MessagesCount: batch.MessageCount(record),
	}.Append(nil)
	return &request{metadata: whole[4:], length: uint32(len(whole) - 4), record: record}
}

func (r *request) body() []byte {
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, r.length), r.metadata, r.record)
}

func (r *request) count(n uint32) { binary.LittleEndian.PutUint32(r.metadata[len(r.metadata)-4:], n) }

func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }

// reseal makes both kinds of checksum right again, so that only what the test changed is wrong.
func reseal(record []byte) {
	walk := batch.Walk(record)
	for f, ok := walk.Next(); ok; f, ok = walk.Next() {
		put64(f, 0, f.Sum())
	}
	put64(record, batchChecksumAt, batch.Seal(record))
}

func TestBatches_EveryFaultHasItsCodeAndStoresNothing(t *testing.T) {
	s, c := drive.Fresh(t)
	w := drive.Watch(t, s)
	topic := c.NewTopic("orders", "events", 1)
	const firstFrame = batch.HeaderSize
	for _, x := range []struct {
		name  string
		spoil func(r *request)
		code  protocol.Code
	}{
		{"metadata length 0", func(r *request) { r.length = 0 }, protocol.CodeInvalidCommand},
		{"metadata length one short", func(r *request) { r.length-- }, protocol.CodeInvalidCommand},
		{"metadata length one more", func(r *request) { r.length++ }, protocol.CodeInvalidCommand},
		{"metadata length of everything", func(r *request) { r.length = math.MaxUint32 }, protocol.CodeInvalidCommand},
		{"no batch", func(r *request) { r.record = nil }, protocol.CodeInvalidCommand},
		{"batch of 255 bytes", func(r *request) { r.record = r.record[:255] }, protocol.CodeInvalidCommand},
		{"batch cut by a byte", func(r *request) { r.record = r.record[:len(r.record)-1] }, protocol.CodeInvalidCommand},
		{"a byte behind the batch", func(r *request) { r.record = append(r.record, 0) }, protocol.CodeInvalidCommand},
		{"two batches", func(r *request) { r.record = append(r.record, r.record...) }, protocol.CodeInvalidCommand},
		{"batch length 0", func(r *request) { put64(r.record, batchLengthAt, 0) }, protocol.CodeInvalidCommand},
		{"batch length of the header", func(r *request) { put64(r.record, batchLengthAt, 256) }, protocol.CodeInvalidMessagesCount},
		{"batch length one more", func(r *request) { put64(r.record, batchLengthAt, uint64(len(r.record))+1) }, protocol.CodeInvalidCommand},
		{"batch length of everything", func(r *request) { put64(r.record, batchLengthAt, math.MaxUint64) }, protocol.CodeInvalidCommand},
		{"reserved byte of the batch", func(r *request) { r.record[batchReservedAt] = 1; reseal(r.record) }, protocol.CodeInvalidReservedField},
		{"last reserved byte of the batch", func(r *request) { r.record[255] = 1; reseal(r.record) }, protocol.CodeInvalidReservedField},
		{"reserved byte of a message", func(r *request) { r.record[firstFrame+frameReservedAt] = 1; reseal(r.record) }, protocol.CodeInvalidReservedField},
		{"last reserved byte of a message", func(r *request) { r.record[firstFrame+47] = 1; reseal(r.record) }, protocol.CodeInvalidReservedField},
		{"count 0", func(r *request) { put32(r.record, messageCountAt, 0); r.count(0) }, protocol.CodeInvalidMessagesCount},
		{"count one less", func(r *request) { put32(r.record, messageCountAt, 2); r.count(2); reseal(r.record) }, protocol.CodeInvalidMessagesCount},
		{"count one more", func(r *request) { put32(r.record, messageCountAt, 4); r.count(4); reseal(r.record) }, protocol.CodeInvalidMessagesCount},
		{"count in the metadata one more", func(r *request) { r.count(4) }, protocol.CodeInvalidMessagesCount},
		{"count in the metadata 0", func(r *request) { r.count(0) }, protocol.CodeInvalidMessagesCount},
		{"payload length one more", func(r *request) { grow(r.record, firstFrame+framePayloadAt, 1) }, protocol.CodeInvalidMessageChecksum},
		{"payload length of everything", func(r *request) { put32(r.record, firstFrame+framePayloadAt, math.MaxUint32) }, protocol.CodeInvalidCommand},
		{"headers length of everything", func(r *request) { put32(r.record, firstFrame+frameHeadersAt, math.MaxUint32) }, protocol.CodeInvalidCommand},
		{"checksum of a message", func(r *request) { r.record[firstFrame] ^= 1; put64(r.record, batchChecksumAt, batch.Seal(r.record)) }, protocol.CodeInvalidMessageChecksum},
		{"a bit of a payload", func(r *request) { r.record[len(r.record)-1] ^= 1 }, protocol.CodeInvalidMessageChecksum},
		{"a bit of a message id", func(r *request) { r.record[firstFrame+8] ^= 1 }, protocol.CodeInvalidMessageChecksum},
		{"batch checksum", func(r *request) { r.record[batchChecksumAt] ^= 1 }, protocol.CodeInvalidBatchChecksum},
		{"batch checksum 0", func(r *request) { put64(r.record, batchChecksumAt, 0) }, protocol.CodeInvalidBatchChecksum},
		{"origin time under another checksum", func(r *request) { r.record[24] ^= 1 }, protocol.CodeInvalidBatchChecksum},
		{"base offset under another checksum", func(r *request) { r.record[8] ^= 1 }, protocol.CodeInvalidBatchChecksum},
		{"a batch without metadata", func(r *request) { r.length, r.metadata = 0, nil }, protocol.CodeInvalidCommand},
		{"partition that does not exist", func(r *request) { put32(r.metadata, len(r.metadata)-8, 1) }, protocol.CodePartitionNotFound},
		{"partitioning of kind 0", func(r *request) { r.metadata[len(r.metadata)-10] = 0 }, protocol.CodeInvalidCommand},
		{"partitioning of kind 4", func(r *request) { r.metadata[len(r.metadata)-10] = 4 }, protocol.CodeInvalidCommand},
		{"partition id of three bytes", func(r *request) { r.metadata[len(r.metadata)-9] = 3 }, protocol.CodeInvalidCommand},
		{"stream identifier of kind 3", func(r *request) { r.metadata[0] = 3 }, protocol.CodeInvalidCommand},
		{"stream identifier of five bytes", func(r *request) { r.metadata[1] = 5 }, protocol.CodeInvalidCommand},
	} {
		t.Run(x.name, func(t *testing.T) {
			// Small ones arrive as a whole; large ones are checked while they arrive.
			for _, size := range []int{10, 40_000, 3_000_000} {
				payload := strings.Repeat("p", size)
				r := newRequest(topic, drive.Record(payload, payload[:1], payload))
				x.spoil(r)
				drive.Want(t, x.name, c.Try(protocol.OpSendMessages, r.body()), drive.Denied(x.code))
			}
		})
	}
	drive.Check(t, "messages stored", len(c.All(topic.TopicRef, 0)), 0)
	drive.Check(t, "base offset of the first good one", c.Send(topic.TopicRef, 0, "good"), 0)
	w.End(patience)
}

// grow adds to a 32-bit field.
func grow(b []byte, at int, n uint32) { put32(b, at, binary.LittleEndian.Uint32(b[at:])+n) }

// What a producer may write as it likes: it is stored, or overwritten where the server decides.
func TestBatches_WhatIsNotChecked(t *testing.T) {
	_, c := drive.Fresh(t)
	topic := c.NewTopic("orders", "events", 1)
	for name, change := range map[string]func(record []byte){
		"as it is":                   func([]byte) {},
		"partition id, stamped":      func(r []byte) { put64(r, 0, 99) },
		"base offset, stamped":       func(r []byte) { put64(r, 8, math.MaxUint64) },
		"append time, stamped":       func(r []byte) { put64(r, 16, math.MaxUint64) },
		"origin time of the future":  func(r []byte) { put64(r, 24, math.MaxUint64/2) },
		"user headers that are none": func(r []byte) { put32(r, 256+framePayloadAt, 1); put32(r, 256+frameHeadersAt, 2) },
		"the same id twice":          func(r []byte) { copy(r[256+8:256+24], r[256+51+8:]) },
	} {
		record := drive.Record("abc", "def")
		change(record)
		reseal(record)
		before := len(c.All(topic.TopicRef, 0))
		drive.Check(t, name+": base offset", c.SendRecord(topic.TopicRef, 0, record), uint64(before))
		if got := drive.Offsets(c.All(topic.TopicRef, 0)); !slices.Equal(got, drive.Span(0, uint64(before)+1)) {
			t.Errorf("%s: offsets %v", name, got)
		}
	}
}
