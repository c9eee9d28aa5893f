package command

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func forEachSample(t *testing.T, f func(t *testing.T, d decoder, body []byte)) {
	for name, d := range decoders {
		t.Run(name, func(t *testing.T) {
			if len(d.samples) == 0 {
				t.Fatal("no samples")
			}
			for _, body := range d.samples {
				f(t, d, body)
			}
		})
	}
}

func TestDecoders_RoundTrip(t *testing.T) {
	forEachSample(t, func(t *testing.T, d decoder, body []byte) {
		again, err := d.decode(body)
		if err != nil {
			t.Fatalf("%x: %v", body, err)
		}
		if !bytes.Equal(again, body) {
			t.Errorf("%x comes back as\n%x", body, again)
		}
	})
}

// A body that lost its end is refused, unless it is one that may end earlier; then it decodes to what is left.
func TestDecoders_CutShort(t *testing.T) {
	forEachSample(t, func(t *testing.T, d decoder, body []byte) {
		for n := range body {
			again, err := d.decode(body[:n])
			var fault *protocol.DecodeError
			switch {
			case err != nil && !errors.As(err, &fault):
				t.Errorf("%d of %d bytes: %v is no *DecodeError", n, len(body), err)
			case err == nil && d.ending != open:
				t.Errorf("%d of %d bytes decode to %x", n, len(body), again)
			case err == nil && !bytes.Equal(again, body[:n]):
				t.Errorf("%x comes back as\n%x", body[:n], again)
			}
		}
	})
}

func TestDecoders_BytesBehind(t *testing.T) {
	forEachSample(t, func(t *testing.T, d decoder, body []byte) {
		again, err := d.decode(append(bytes.Clone(body), 0))
		switch d.ending {
		case exact:
			if err == nil {
				t.Errorf("%x and a byte decodes", body)
			}
		case delimited:
			if err != nil || !bytes.Equal(again, body) {
				t.Errorf("%x and a byte: %x, %v", body, again, err)
			}
		}
	})
}

// hostile are bodies that claim more than they hold, among them every count of the samples' bodies.
func hostile(body []byte) [][]byte {
	all := [][]byte{body, bytes.Repeat([]byte{0xff}, 64), bytes.Repeat([]byte{1}, 4096), make([]byte, 4096)}
	for at := 0; at+4 <= len(body); at++ {
		changed := bytes.Clone(body)
		copy(changed[at:], []byte{0xff, 0xff, 0xff, 0xff})
		all = append(all, changed, changed[:at+4])
	}
	return all
}

// What decoding takes from the heap is bounded by what is there, not by what a count claims.
func TestDecoders_MemoryIsBoundByTheBody(t *testing.T) {
	for name, d := range decoders {
		for _, body := range d.samples {
			for _, h := range hostile(body) {
				if used, limit := heap(func() { _, _ = d.decode(h) }), memoryLimit(len(h)); used > limit {
					t.Errorf("%s: %d bytes for a body of %d, limit %d: %x", name, used, len(h), limit, h)
				}
			}
		}
	}
}

// memoryLimit is generous to small bodies and to the growth of slices, and far below any claimed count: the
// worst record takes 8 bytes of a body and becomes 32, or 104 with a list that is encoded again.
func memoryLimit(bodyLen int) uint64 { return 16<<10 + 96*uint64(bodyLen) }

// heap measures what f allocates; the smallest of three runs, because others allocate too.
func heap(f func()) uint64 {
	smallest := ^uint64(0)
	var before, after runtime.MemStats
	for range 3 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		smallest = min(smallest, after.TotalAlloc-before.TotalAlloc)
	}
	return smallest
}

// Decoding does not copy: what a body names is the body.
func TestDecode_NamesAliasTheBody(t *testing.T) {
	body := CreateTopic{protocol.NamedID("orders"), 1, []byte("events"), options}.Append(nil)
	c, err := DecodeCreateTopic(body)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'x'
	}
	if string(c.Stream.Name()) != "xxxxxx" || string(c.Name) != "xxxxxx" || c.Options[0] != 'x' {
		t.Error("a copy was made")
	}
	if cap(c.Name) != len(c.Name) {
		t.Error("appending to a name would write into the body")
	}
}

// The decoders on the path of every message take nothing from the heap, whichever way things are named.
func TestDecode_HotPathDoesNotAllocate(t *testing.T) {
	numeric, named := byNumber, byName
	byKey := protocol.Partitioning{Kind: protocol.PartitionByKey, Key: []byte("user-123")}
	byID := protocol.Partitioning{Kind: protocol.PartitionByID, ID: 3}
	sent := [][]byte{
		SendMessages{TopicRef: numeric, Partitioning: byID, MessagesCount: 1}.Append(nil),
		SendMessages{TopicRef: named, Partitioning: byKey, MessagesCount: 1}.Append(nil),
	}
	consumers := []protocol.Consumer{single.Consumer, {Kind: protocol.ConsumerSingle, ID: protocol.NamedID("reader")}, group.Consumer}
	for _, body := range sent {
		free(t, "DecodeSendMessages", func() bool { _, err := DecodeSendMessages(body); return err == nil })
	}
	for _, c := range consumers {
		for _, ref := range []TopicRef{numeric, named} {
			poll := PollMessages{Consumer: c, TopicRef: ref, Strategy: FromNext, Count: 10}.Append(nil)
			free(t, "DecodePollMessages", func() bool { _, err := DecodePollMessages(poll); return err == nil })
			store := StoreOffset{OffsetRef{c, ref, 1, true}, 1, protocol.AckQuorum}.Append(nil)
			free(t, "DecodeStoreOffset", func() bool { _, err := DecodeStoreOffset(store); return err == nil })
			remove := DeleteOffset{OffsetRef{c, ref, 1, true}, protocol.AckQuorum}.Append(nil)
			free(t, "DecodeDeleteOffset", func() bool { _, err := DecodeDeleteOffset(remove); return err == nil })
		}
	}
	buffer := make([]byte, 0, 1024)
	free(t, "SendMessages.Append", func() bool {
		return len(SendMessages{TopicRef: named, Partitioning: byKey}.Append(buffer)) > 0
	})
	free(t, "AppendConfirmations", func() bool {
		return len(AppendConfirmations(buffer, Confirmation{1, 2, 3, 4})) == 24
	})
	free(t, "PollReply", func() bool { PollReply{1, 2, 3}.Put(buffer[:PollReplySize]); return true })
}

func free(t *testing.T, what string, f func() bool) {
	t.Helper()
	ok := true
	if n := testing.AllocsPerRun(100, func() { ok = ok && f() }); n != 0 || !ok {
		t.Errorf("%s: %v allocations, decodes: %t", what, n, ok)
	}
}

// goldenBodies are the bodies of the golden vectors.
func goldenBodies(t testing.TB) [][]byte {
	t.Helper()
	raw, err := os.ReadFile("../testdata/commands.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Vectors []struct{ Hex string } }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, v := range doc.Vectors {
		b, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// Whatever decodes at all decodes to something that encodes to the same, however wrong the decoder is for
// the body, and to no more bytes than there were.
func TestDecoders_AnyBody(t *testing.T) {
	bodies := goldenBodies(t)
	for _, d := range decoders {
		bodies = append(bodies, d.samples...)
	}
	for name, d := range decoders {
		for _, body := range bodies {
			checkStable(t, name, d, body)
		}
	}
}

func checkStable(t *testing.T, name string, d decoder, body []byte) {
	t.Helper()
	kept := bytes.Clone(body)
	first, err := d.decode(body)
	if !bytes.Equal(body, kept) {
		t.Fatalf("%s writes into the body", name)
	}
	if err != nil {
		if first != nil {
			t.Fatalf("%s: %x beside %v", name, first, err)
		}
		return
	}
	second, err := d.decode(slices.Clip(first))
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%s: %x encodes to\n%x, then (%v)\n%x", name, body, first, err, second)
	}
	if len(first) > len(body) {
		t.Fatalf("%s: %d bytes encode to %d:\n%x\n%x", name, len(body), len(first), body, first)
	}
}
