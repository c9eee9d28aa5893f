package protocol_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func TestVectors_MalformedFrames(t *testing.T) {
	proveAll(t, "malformed.json", func(t *testing.T, v vector) {
		h, body := (*protocol.RequestHeader)(v.bytes), v.bytes[protocol.HeaderSize:]
		v.expect(t, fields{"total_len": len(v.bytes), "expected": verdict(h, body)})
		r := rebuildRequest(h)
		v.expectBytes(t, append(r[:], body...))
	})
}

// verdict says what a server does with a frame, in the words of the vectors.
func verdict(h *protocol.RequestHeader, body []byte) string {
	if size := h.Common().Size(); !protocol.FrameSizeOK(size, protocol.MaxFrameSizeDefault) {
		if size < protocol.HeaderSize {
			return "connection closed, no reply"
		}
		return "connection closed before the body is read"
	}
	if code := h.Check(); code != protocol.Success {
		return fmt.Sprintf("denial reply, status %d (%s), connection stays open", code, code.Info().Name)
	}
	if code := h.CheckBody(body); code != protocol.Success {
		return fmt.Sprintf("denial reply, status %d (%s)", code, code.Info().Name)
	}
	return "accepted"
}

// Whatever a header is refused for, the answer echoes the bytes at 144, 160, 168 and 176 as they came.
func TestVectors_MalformedFramesAreEchoed(t *testing.T) {
	for _, v := range vectorsOf(t, "malformed.json") {
		h := (*protocol.RequestHeader)(v.bytes)
		denial := new(protocol.ReplyHeader)
		denial.SetEcho(h, protocol.Uint128From64(7), 0, 17, protocol.CodeInvalidCommand)
		for _, part := range [][3]int{{144, 128, 16}, {160, 192, 8}, {168, 200, 8}, {176, 208, 1}} {
			if from, to, n := part[0], part[1], part[2]; string(h[from:from+n]) != string(denial[to:to+n]) {
				t.Errorf("%s: byte %d does not come back", v.Name, from)
			}
		}
		if denial.Common().Size() != protocol.HeaderSize || denial.Status() != protocol.CodeInvalidCommand || denial.Commit() != 17 {
			t.Errorf("%s: denial %x", v.Name, denial)
		}
	}
}

func TestVectors_Hashes(t *testing.T) {
	all := vectorsOf(t, "hashes.json")
	for i, v := range all {
		input, err := hex.DecodeString(v.InputHex)
		if err != nil {
			t.Fatal(err)
		}
		switch v.Algorithm {
		case "XXH32 seed 0":
			sum := protocol.Hash32(input)
			if got := fmt.Sprintf("0x%08x", sum); got != v.Digest {
				t.Errorf("hash %d: %s, want %s", i, got, v.Digest)
			}
			if note := fmt.Sprintf("decimal %d; mod 3 = %d; mod 10 = %d", sum, sum%3, sum%10); note != v.Note {
				t.Errorf("hash %d: %s, want %s", i, note, v.Note)
			}
		case "XXH3-64 seed 0":
			if got := fmt.Sprintf("0x%016x", protocol.Hash64(input)); got != v.Digest {
				t.Errorf("hash %d: %s, want %s", i, got, v.Digest)
			}
		default:
			t.Errorf("hash %d: algorithm %q", i, v.Algorithm)
		}
	}
	if len(all) != vectorFiles["hashes.json"] {
		t.Errorf("%d hashes, want %d", len(all), vectorFiles["hashes.json"])
	}
}

// The stamp of a request is the hash of its body, in the low half.
func TestVectors_StampIsTheHashOfTheBody(t *testing.T) {
	for _, v := range vectorsOf(t, "metadata.json") {
		if !strings.HasSuffix(v.Name, "_stamped") {
			continue
		}
		body := v.bytes[protocol.HeaderSize:]
		if binary.LittleEndian.Uint64(v.bytes[144:]) != protocol.Hash64(body) {
			t.Errorf("%s: stamp is not the hash", v.Name)
		}
		h := (*protocol.RequestHeader)(v.bytes)
		body[0] ^= 1
		if code := h.CheckBody(body); code != protocol.CodeInvalidFormat {
			t.Errorf("%s: changed body answers %d", v.Name, code)
		}
		return
	}
	t.Error("no stamped vector")
}
