package protocol_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// seedFrames adds the frames of the golden vectors.
func seedFrames(f *testing.F, add func(frame []byte)) {
	for _, file := range []string{"session.json", "metadata.json", "partition.json", "malformed.json"} {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		var doc struct{ Vectors []struct{ Hex string } }
		if err := json.Unmarshal(raw, &doc); err != nil {
			f.Fatal(err)
		}
		for _, v := range doc.Vectors {
			frame, err := hex.DecodeString(v.Hex)
			if err != nil {
				f.Fatal(err)
			}
			add(frame)
		}
	}
}

// headerIn takes the first 256 bytes, or as many as there are.
func headerIn(data []byte) (h [protocol.HeaderSize]byte) {
	copy(h[:], data)
	return h
}

// FuzzRequestHeader: a header that passes obeys the rules, and any header can be answered.
func FuzzRequestHeader(f *testing.F) {
	seedFrames(f, func(frame []byte) { f.Add(frame) })
	f.Fuzz(func(t *testing.T, frame []byte) {
		b := headerIn(frame)
		h := (*protocol.RequestHeader)(&b)
		op := h.Operation()
		if h.Check() == protocol.Success {
			unnumbered := op == protocol.OpNonReplicated || op.IsPartition()
			register := op == protocol.OpRegister
			if h.Common().Command() != protocol.CommandRequest || h.Client().IsZero() || !op.IsKnown() || op.IsInternal() ||
				register != (h.Session() == 0) && op != protocol.OpNonReplicated || !unnumbered && register != (h.Request() == 0) {
				t.Fatalf("passed: %x", b)
			}
		}
		if len(frame) > protocol.HeaderSize {
			body := frame[protocol.HeaderSize:]
			sum := h.RequestChecksum()
			fits := sum.IsZero() || sum == protocol.Uint128From64(protocol.Hash64(body))
			if (h.CheckBody(body) == protocol.Success) != fits {
				t.Fatalf("checksum %s of %x", sum, body)
			}
		}
		var r protocol.ReplyHeader
		r.SetEcho(h, h.Client(), 1, 2, protocol.CodeInvalidCommand)
		if r.Request() != h.Request() || r.Operation() != op || r.Common().Size() != protocol.HeaderSize {
			t.Fatalf("echo %x", r)
		}
	})
}

// FuzzEviction: an eviction that checks is made again from what it says.
func FuzzEviction(f *testing.F) {
	seedFrames(f, func(frame []byte) { f.Add(frame) })
	f.Fuzz(func(t *testing.T, frame []byte) {
		b := headerIn(frame)
		h := (*protocol.EvictionHeader)(&b)
		if !h.Check() {
			return
		}
		var again protocol.EvictionHeader
		again.Set(h.Client(), h.Reason())
		copy(again[:48], h[:48])
		copy(again[52:62], h[52:62])
		copy(again[144:152], h[144:152])
		if again != *h {
			t.Fatalf("%x\n%x", again, *h)
		}
	})
}

// FuzzResult: a result section that is cut off is made again in front of the same payload.
func FuzzResult(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0xf4, 3, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		code, payload, ok := protocol.CutResult(body)
		if !ok {
			return
		}
		if !bytes.HasSuffix(body, payload) {
			t.Fatalf("payload %x of %x", payload, body)
		}
		again, rest, ok := protocol.CutResult(append(protocol.AppendResult(nil, code), payload...))
		if !ok || again != code || !bytes.Equal(rest, payload) {
			t.Fatalf("code %d comes back as %d", code, again)
		}
	})
}

// FuzzPairs: a block that checks is a sequence of pairs that encode to it.
func FuzzPairs(f *testing.F) {
	f.Add([]byte{})
	f.Add(protocol.Pair{KeyKind: protocol.KindString, Key: []byte("k"), ValueKind: protocol.KindU8, Value: []byte{1}}.Append(nil))
	f.Add([]byte{2, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, block []byte) {
		var again []byte
		r := protocol.NewReader(block)
		for r.Len() > 0 && r.Err() == nil {
			if p := r.Pair(); r.Err() == nil {
				again = p.Append(again)
			}
		}
		if protocol.CheckPairs(block) != (r.Err() == nil) {
			t.Fatalf("checks %t, reads %v", protocol.CheckPairs(block), r.Err())
		}
		if r.Err() == nil && !bytes.Equal(again, block) {
			t.Fatalf("%x encodes to %x", block, again)
		}
	})
}

// FuzzReader runs any sequence of reads over any body: nothing is read twice or beyond the end, and after a
// fault nothing is read at all.
func FuzzReader(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, []byte{2, 4, 0, 0, 0, 3, 1, 0, 0, 0})
	f.Add([]byte{9}, []byte{2, 6, 'o', 'r', 'd', 'e', 'r', 's'})
	f.Add([]byte{7}, []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, reads, body []byte) {
		r := protocol.NewReader(body)
		for _, what := range reads {
			before, faulty := r.At(), r.Err() != nil
			n, encoded := readOne(&r, what)
			if r.At()+r.Len() != len(body) || r.At() < before || faulty && r.At() != before {
				t.Fatalf("read %d: from %d to %d of %d", what, before, r.At(), len(body))
			}
			if r.Err() == nil && r.At() != before+n {
				t.Fatalf("read %d: %d bytes, want %d", what, r.At()-before, n)
			}
			if r.Err() == nil && encoded != nil && !bytes.Equal(encoded, body[before:r.At()]) {
				t.Fatalf("read %d: %x encodes to %x", what, body[before:r.At()], encoded)
			}
		}
	})
}

// readOne reads a primitive and tells how long it is; encoded is nil where the encoding is not unique.
func readOne(r *protocol.Reader, what byte) (n int, encoded []byte) {
	switch what % 14 {
	case 0:
		r.U8("u8")
		return 1, nil
	case 1:
		r.U16("u16")
		return 2, nil
	case 2:
		r.U32("u32")
		return 4, nil
	case 3:
		r.U64("u64")
		return 8, nil
	case 4:
		r.U128("u128")
		return 16, nil
	case 5:
		encoded = protocol.AppendName(nil, r.Text8("text"))
	case 6:
		encoded = protocol.AppendName(nil, r.Name("name"))
	case 7:
		encoded = protocol.AppendText32(nil, r.Text32("text"))
	case 8:
		encoded = protocol.AppendText32(nil, r.Text32Raw("block"))
	case 9:
		encoded = r.Identifier("identifier").Append(nil)
	case 10:
		encoded = r.Consumer().Append(nil)
	case 11:
		encoded = r.Partitioning().Append(nil)
	case 12:
		r.OptionalPartition()
		return 5, nil
	case 13:
		encoded = r.Pair().Append(nil)
	}
	return len(encoded), encoded
}
