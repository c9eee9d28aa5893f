package batch

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

type vector struct {
	Name   string
	Hex    string
	Fields struct {
		MetadataLength int    `json:"metadata_length"`
		PartitionID    uint64 `json:"partition_id"`
		BaseOffset     uint64 `json:"base_offset"`
		BaseTimestamp  uint64 `json:"base_timestamp"`
		Messages       []struct {
			IDBytes           string `json:"id_bytes"`
			Payload           string
			Checksum          string
			OffsetDelta       uint32 `json:"offset_delta"`
			TimestampDelta    uint32 `json:"timestamp_delta"`
			UserHeadersLength int    `json:"user_headers_length"`
		}
	}
	bytes []byte
}

func goldens(t *testing.T) map[string]vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/partition.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Vectors []vector }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]vector{}
	for _, v := range doc.Vectors {
		if v.bytes, err = hex.DecodeString(v.Hex); err != nil {
			t.Fatal(err)
		}
		out[v.Name] = v
	}
	return out
}

// sent cuts the batch out of a send request frame.
func (v vector) sent() []byte {
	return bytes.Clone(v.bytes[protocol.HeaderSize+4+v.Fields.MetadataLength:])
}

// polled cuts the first record out of a poll reply frame.
func (v vector) polled() []byte { return v.bytes[protocol.HeaderSize+16:] }

func TestGolden_SentBatchesVerify(t *testing.T) {
	all := goldens(t)
	for name, count := range map[string]uint32{
		"send_messages_request": 2, "send_messages_request_balanced": 1, "send_messages_request_messages_key": 1,
	} {
		rec := all[name].sent()
		if code := Verify(rec, count); code != protocol.Success {
			t.Errorf("%s: code %d", name, code)
		}
		if code := Verify(rec, count+1); code != protocol.CodeInvalidMessagesCount {
			t.Errorf("%s with a wrong count: code %d", name, code)
		}
		if code := verifyInPieces(rec, count, func(int) int { return 1 }); code != protocol.Success {
			t.Errorf("%s byte by byte: code %d", name, code)
		}
	}
}

func TestGolden_StampGivesTheStoredRecord(t *testing.T) {
	all := goldens(t)
	stored := all["stored_batch_record"]
	rec := all["send_messages_request"].sent()
	f := stored.Fields
	hash := Stamp(rec, f.PartitionID, f.BaseOffset, f.BaseTimestamp)
	if !bytes.Equal(rec, stored.bytes) {
		t.Fatalf("stamped\n%x\nwant\n%x", rec, stored.bytes)
	}
	if hash != HeaderHash(stored.bytes) || VerifyStored(rec) != protocol.Success {
		t.Fatal("stamped record does not verify")
	}
}

func TestGolden_SliceGivesTheServedRecords(t *testing.T) {
	all := goldens(t)
	stored := all["stored_batch_record"].bytes
	var head Header
	whole := Slice(stored, Selection{From: 100, Ceiling: 101, MaxCount: 10, MaxBytes: 1 << 20}, &head)
	if !whole.Whole || !bytes.Equal(stored, all["poll_messages_reply_full_batch"].polled()) {
		t.Fatal("whole record not served verbatim")
	}
	part := Slice(stored, Selection{From: 101, Ceiling: 101, MaxCount: 10, MaxBytes: 1 << 20}, &head)
	got := append(bytes.Clone(head[:]), part.Frames...)
	if want := all["poll_messages_reply_mid_batch"].polled(); !bytes.Equal(got, want) {
		t.Fatalf("sliced\n%x\nwant\n%x", got, want)
	}
}

func TestGolden_BuilderRebuildsTheSentBatch(t *testing.T) {
	v := goldens(t)["send_messages_request"]
	want := v.sent()
	b := NewBuilder()
	w := Walk(want)
	origin := OriginTimestamp(want)
	for _, m := range v.Fields.Messages {
		f, ok := w.Next()
		if !ok || string(f.Payload()) != m.Payload || len(f.UserHeaders()) != m.UserHeadersLength ||
			f.OffsetDelta() != m.OffsetDelta || f.TimestampDelta() != m.TimestampDelta {
			t.Fatalf("frame %v of %+v", f, m)
		}
		if id, _ := hex.DecodeString(m.IDBytes); f.ID() != protocol.ReadUint128(id) {
			t.Fatalf("id %v", f.ID())
		}
		if err := b.Add(f.Payload(), f.UserHeaders(), f.ID(), origin+uint64(m.TimestampDelta)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := w.Next(); ok {
		t.Fatal("more frames than messages")
	}
	got, err := b.Build()
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("built (%v)\n%x\nwant\n%x", err, got, want)
	}
}
