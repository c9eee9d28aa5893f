package protocol_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func sendMessages(body []byte) (fields, []byte, error) {
	s, err := command.DecodeSendMessages(body)
	if err != nil {
		return nil, nil, err
	}
	record := body[s.BatchAt:]
	if code := batch.Verify(record, s.MessagesCount); code != protocol.Success {
		return nil, nil, code
	}
	h := batch.HeaderOf(record)
	f := recordFields(record)
	f["batch_partition_id"] = h.PartitionID()
	f.add(fields{
		"metadata_length": s.BatchAt - 4, "batch_offset_in_body": s.BatchAt, "messages_count": s.MessagesCount,
		"stream_id": idValue(s.Stream), "topic_id": idValue(s.Topic), "partitioning_kind": s.Partitioning.Kind,
		"partition_id": s.Partitioning.ID, "partitioning_key": string(s.Partitioning.Key),
	})
	again, err := buildRecord(record)
	return f, append(s.Append(nil), again...), err
}

func recordFields(record []byte) fields {
	h := batch.HeaderOf(record)
	var messages []any
	for w := batch.Walk(record); ; {
		m, ok := w.Next()
		if !ok {
			break
		}
		var id [16]byte
		m.ID().Put(id[:])
		one := fields{
			"checksum": fmt.Sprintf("0x%016x", m.Checksum()), "id_bytes": hex.EncodeToString(id[:]),
			"offset_delta": m.OffsetDelta(), "timestamp_delta": m.TimestampDelta(), "payload": string(m.Payload()),
			"payload_length": len(m.Payload()), "user_headers_length": len(m.UserHeaders()),
		}
		if len(m.UserHeaders()) > 0 {
			one["user_headers"] = hex.EncodeToString(m.UserHeaders())
		}
		messages = append(messages, one)
	}
	return fields{
		"base_offset": h.BaseOffset(), "base_timestamp": h.BaseTimestamp(), "origin_timestamp": h.OriginTimestamp(),
		"batch_checksum": fmt.Sprintf("0x%016x", h.Checksum()), "batch_length": h.Length(), "message_count": h.MessageCount(),
		"messages": messages, "partition_id": h.PartitionID(),
	}
}

// buildRecord makes the batch of a producer from the messages of a record.
func buildRecord(record []byte) ([]byte, error) {
	b := batch.NewBuilder()
	for w := batch.Walk(record); ; {
		m, ok := w.Next()
		if !ok {
			return b.Build()
		}
		if !protocol.CheckPairs(m.UserHeaders()) {
			return nil, fmt.Errorf("user headers are no pairs")
		}
		at := batch.OriginTimestamp(record) + uint64(m.TimestampDelta())
		if err := b.Add(m.Payload(), m.UserHeaders(), m.ID(), at); err != nil {
			return nil, err
		}
	}
}

// proveRecord proves a record as it is stored: built by the producer, then stamped.
func proveRecord(t *testing.T, v vector) {
	if code := batch.VerifyStored(v.bytes); code != protocol.Success {
		t.Fatal(code)
	}
	v.expect(t, recordFields(v.bytes).add(fields{"total_len": len(v.bytes)}))
	again, err := buildRecord(v.bytes)
	if err != nil {
		t.Fatal(err)
	}
	h := batch.HeaderOf(v.bytes)
	batch.Stamp(again, h.PartitionID(), h.BaseOffset(), h.BaseTimestamp())
	v.expectBytes(t, again)
}

func confirmations(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeConfirmations(payload)
	var list []any
	for _, c := range all {
		list = append(list, fields{"StreamId": c.Stream, "TopicId": c.Topic, "PartitionId": c.Partition, "BaseOffset": c.BaseOffset})
	}
	return fields{"confirmations": list, "confirmations_count": len(all)}, command.AppendConfirmations(nil, all...), err
}

func pollMessages(body []byte) (fields, []byte, error) {
	p, err := command.DecodePollMessages(body)
	f := consumerFields(p.Consumer, p.Partition, p.HasPartition).add(topicFields(p.TopicRef)).add(fields{
		"strategy_kind": p.Strategy, "strategy_value": p.Value, "count": p.Count, "auto_commit": number(p.AutoCommit),
	})
	return f, p.Append(nil), err
}

// pollReply decodes the answer to a poll, and makes it again by cutting the stored record of the vectors
// the way a server does.
func pollReply(payload []byte) (fields, []byte, error) {
	p, records, err := command.DecodePollReply(payload)
	if err != nil {
		return nil, nil, err
	}
	f := fields{"partition_id": p.Partition, "current_offset": p.CurrentOffset, "messages_count": p.Count, "messages": nil}
	again := make([]byte, command.PollReplySize)
	p.Put(again)
	if len(records) == 0 {
		return f, again, nil
	}
	if code := batch.VerifyStored(records); code != protocol.Success {
		return nil, nil, code
	}
	h := batch.HeaderOf(records)
	f.add(fields{
		"sliced_base_offset": h.BaseOffset(), "sliced_batch_length": h.Length(), "sliced_message_count": h.MessageCount(),
		"sliced_batch_checksum": fmt.Sprintf("0x%016x", h.Checksum()),
	})
	var messages []any
	first, some := uint64(0), false
	for w := batch.Walk(records); ; {
		m, ok := w.Next()
		if !ok {
			break
		}
		offset := h.BaseOffset() + uint64(m.OffsetDelta())
		if !some {
			first, some = offset, true
		}
		messages = append(messages, fields{
			"offset": offset, "timestamp": h.BaseTimestamp(), "origin_timestamp": h.OriginTimestamp() + uint64(m.TimestampDelta()),
			"payload": string(m.Payload()), "user_headers_length": len(m.UserHeaders()),
		})
	}
	f["messages"] = messages
	stored, err := storedRecord()
	if err != nil {
		return nil, nil, err
	}
	var head batch.Header
	cut := batch.Slice(stored, batch.Selection{From: first, Ceiling: p.CurrentOffset, MaxCount: p.Count, MaxBytes: 1 << 20}, &head)
	if cut.Whole {
		return f, append(again, stored...), nil
	}
	return f, append(append(again, head[:]...), cut.Frames...), nil
}

// storedRecord is the record that the poll replies of the vectors are cut from.
func storedRecord() ([]byte, error) {
	raw, err := os.ReadFile("testdata/partition.json")
	if err != nil {
		return nil, err
	}
	var doc struct{ Vectors []struct{ Name, Hex string } }
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	for _, v := range doc.Vectors {
		if v.Name == "stored_batch_record" {
			return hex.DecodeString(v.Hex)
		}
	}
	return nil, fmt.Errorf("no stored record among the vectors")
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
