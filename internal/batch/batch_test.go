package batch

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
)

func TestVerify_EveryFaultHasItsCode(t *testing.T) {
	reseal := func(r []byte) { (*Header)(r).setChecksum(Seal(r)) }
	second := HeaderSize + FrameHeaderSize + 100
	cases := []struct {
		name   string
		mutate func(r []byte) []byte
		code   protocol.Code
	}{
		{"untouched", func(r []byte) []byte { return r }, protocol.Success},
		{"empty", func([]byte) []byte { return nil }, 3},
		{"half a header", func(r []byte) []byte { return r[:255] }, 3},
		{"header only", func(r []byte) []byte { return r[:256] }, 3},
		{"cut short", func(r []byte) []byte { return r[:len(r)-1] }, 3},
		{"one byte too many", func(r []byte) []byte { return append(r, 0) }, 3},
		{"length below a header", func(r []byte) []byte { (*Header)(r).setLength(255); return r }, 3},
		{"length beyond memory", func(r []byte) []byte { (*Header)(r).setLength(1 << 63); return r }, 3},
		{"reserved byte of the batch", func(r []byte) []byte { r[52] = 1; reseal(r); return r }, 4101},
		{"last reserved byte", func(r []byte) []byte { r[255] = 1; reseal(r); return r }, 4101},
		{"reserved byte of a frame", func(r []byte) []byte { r[HeaderSize+47] = 1; return r }, 4101},
		{"count 0", func(r []byte) []byte { (*Header)(r).setMessageCount(0); reseal(r); return r }, 4009},
		{"count too small", func(r []byte) []byte { (*Header)(r).setMessageCount(2); reseal(r); return r }, 4009},
		{"count too large", func(r []byte) []byte { (*Header)(r).setMessageCount(4); reseal(r); return r }, 4009},
		{"count beyond room", func(r []byte) []byte { (*Header)(r).setMessageCount(1 << 31); return r }, 4009},
		{"payload length past the end", func(r []byte) []byte { le.PutUint32(r[second+36:], 1<<32-1); return r }, 3},
		{"payload length off by one", func(r []byte) []byte { le.PutUint32(r[second+36:], 101); return r }, 4027},
		{"payload bit", func(r []byte) []byte { r[second+60] ^= 1; return r }, 4027},
		{"frame checksum bit", func(r []byte) []byte { r[second] ^= 1; return r }, 4027},
		{"batch checksum bit", func(r []byte) []byte { r[40] ^= 1; return r }, 4039},
		{"base offset bit", func(r []byte) []byte { r[8] ^= 1; return r }, 4039},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := c.mutate(bytes.Clone(record(t, 3, 100)))
			if code := Verify(r, 3); code != c.code {
				t.Fatalf("Verify: %d, want %d", code, c.code)
			}
			if code := verifyInPieces(r, 3, func(int) int { return 7 }); code != c.code {
				t.Fatalf("Verifier: %d, want %d", code, c.code)
			}
			layout := CheckLayout(r)
			if c.code == 3 || c.code == 4101 {
				if layout != c.code {
					t.Fatalf("CheckLayout: %d, want %d", layout, c.code)
				}
			}
			if c.code == protocol.Success && layout != protocol.Success {
				t.Fatalf("CheckLayout: %d", layout)
			}
		})
	}
	if code := Verify(record(t, 3, 100), 0); code != protocol.CodeInvalidMessagesCount {
		t.Fatalf("a request that counts 0 messages: %d", code)
	}
}

func TestVerify_EverySingleBitFlipIsDetected(t *testing.T) {
	rec := bytes.Clone(record(t, 4, 60))
	Stamp(rec, 9, 1234, 5678)
	for bit := range len(rec) * 8 {
		rec[bit/8] ^= 1 << (bit % 8)
		code := VerifyStored(rec)
		if code == protocol.Success {
			t.Fatalf("bit %d: undetected", bit)
		}
		if in := verifyInPieces(rec, MessageCount(rec), func(int) int { return 100 }); in != code {
			t.Fatalf("bit %d: Verifier %d, Verify %d", bit, in, code)
		}
		rec[bit/8] ^= 1 << (bit % 8)
	}
}

func TestVerify_OneMessage(t *testing.T) {
	one := bytes.Clone(record(t, 1, 60))
	if want := sealAll((*Header)(one), one); Seal(one) != want {
		t.Fatalf("sealed %x, want %x", Seal(one), want)
	}
	agree := func(rec []byte, want protocol.Code) {
		t.Helper()
		got, pieces := Verify(rec, 1), verifyInPieces(rec, 1, func(int) int { return 100 })
		if got != want || pieces != want {
			t.Fatalf("Verify %d, Verifier %d, want %d", got, pieces, want)
		}
	}
	agree(one, protocol.Success)
	for bit := range len(one) * 8 {
		one[bit/8] ^= 1 << (bit % 8)
		if code := Verify(one, 1); code == protocol.Success || code != verifyInPieces(one, 1, func(int) int { return 100 }) {
			t.Fatalf("bit %d: %d", bit, code)
		}
		one[bit/8] ^= 1 << (bit % 8)
	}

	two := bytes.Clone(record(t, 2, 60))
	(*Header)(two).setMessageCount(1)
	(*Header)(two).setChecksum(Seal(two))
	agree(two, protocol.CodeInvalidMessagesCount)
	second := HeaderSize + FrameHeaderSize + 60
	le.PutUint32(two[second+36:], 61)
	agree(two, protocol.CodeInvalidCommand)
	two[HeaderSize+FrameHeaderSize] ^= 1 // the first fault counts
	agree(two, protocol.CodeInvalidMessageChecksum)
	short := two[:second+FrameHeaderSize-1]
	(*Header)(short).setLength(uint64(len(short)))
	short[HeaderSize+FrameHeaderSize] ^= 1
	agree(short, protocol.CodeInvalidCommand)
}

func TestStamp_KeepsVerifyingAndTouchesOnlyTheHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		before := bytes.Clone(rec)
		count := MessageCount(rec)
		if code := Verify(rec, count); code != protocol.Success {
			t.Fatalf("built record: code %d", code)
		}
		part, off, at := rapid.Uint64().Draw(t, "p"), rapid.Uint64().Draw(t, "o"), rapid.Uint64().Draw(t, "t")
		hash := Stamp(rec, part, off, at)
		if code := Verify(rec, count); code != protocol.Success || hash != HeaderHash(rec) {
			t.Fatalf("stamped record: code %d", code)
		}
		if PartitionID(rec) != part || BaseOffset(rec) != off || BaseTimestamp(rec) != at {
			t.Fatal("stamp not readable")
		}
		if !bytes.Equal(rec[HeaderSize:], before[HeaderSize:]) || OriginTimestamp(rec) != OriginTimestamp(before) {
			t.Fatal("stamp touched what belongs to the producer")
		}
	})
}

func TestVerifier_AgreesWithVerifyHoweverTheBytesArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		count := MessageCount(rec)
		for range rapid.IntRange(0, 2).Draw(t, "faults") {
			rec[rapid.IntRange(0, len(rec)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		}
		rec = rec[:len(rec)-rapid.SampledFrom([]int{0, 0, 0, 1, 50}).Draw(t, "cut")]
		want := Verify(rec, count)
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 3, 47, 48, 49, 255, 256, 257, 1000, 4096, 1 << 20}), 1, 8).Draw(t, "sizes")
		i := 0
		got := verifyInPieces(rec, count, func(int) int { i++; return sizes[i%len(sizes)] })
		if got != want {
			t.Fatalf("Verifier %d, Verify %d", got, want)
		}
		if want == protocol.Success && CheckLayout(rec) != protocol.Success {
			t.Fatal("verified, but the layout is refused")
		}
	})
}

func TestSlice_PartsConcatenateToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawRecord(t)
		base := rapid.Uint64Range(0, 1<<60).Draw(t, "base")
		Stamp(rec, 3, base, 99)
		end := EndOffset(rec)
		ceiling := base + rapid.Uint64Range(0, end-base+3).Draw(t, "ceiling")
		var frames []byte
		var head Header
		for next := base; next <= min(ceiling, end); {
			want := Selection{
				From: next, Ceiling: ceiling, MaxBytes: rapid.SampledFrom([]int{5000, 1 << 20}).Draw(t, "bytes"),
				MaxCount: rapid.Uint32Range(1, 60).Draw(t, "count"),
			}
			cut := Slice(rec, want, &head)
			checkCut(t, rec, want, cut, &head)
			frames = append(frames, cut.Frames...)
			next = cut.Last + 1
		}
		var want []byte
		w := Walk(rec)
		for range min(ceiling, end) - base + 1 {
			f, _ := w.Next()
			want = append(want, f...)
		}
		if !bytes.Equal(frames, want) {
			t.Fatalf("%d bytes of frames, want %d", len(frames), len(want))
		}
	})
}

func checkCut(t *rapid.T, rec []byte, want Selection, cut Cut, head *Header) {
	if cut.Count == 0 || cut.Count > want.MaxCount || cut.First != want.From || cut.Last > want.Ceiling ||
		!bytes.Equal(rec[cut.At:cut.At+len(cut.Frames)], cut.Frames) || HeaderSize+len(cut.Frames) > want.MaxBytes || cut.Last != cut.First+uint64(cut.Count)-1 {
		t.Fatalf("cut %+v of %+v", cut, want)
	}
	if cut.Whole {
		if cut.Count != MessageCount(rec) {
			t.Fatal("whole without all messages")
		}
		return
	}
	part := append(bytes.Clone(head[:]), cut.Frames...)
	if code := Verify(part, cut.Count); code != protocol.Success {
		t.Fatalf("part does not verify: %d", code)
	}
	if BaseOffset(part) != BaseOffset(rec) || PartitionID(part) != 3 || BaseTimestamp(part) != 99 {
		t.Fatal("part lost the stamp")
	}
}

func TestSlice_NothingToTake(t *testing.T) {
	rec := bytes.Clone(record(t, 3, 100))
	Stamp(rec, 1, 10, 1)
	var head Header
	for name, want := range map[string]Selection{
		"behind the end":     {From: 13, Ceiling: 99, MaxCount: 1, MaxBytes: 1 << 20},
		"ceiling before it":  {From: 0, Ceiling: 9, MaxCount: 1, MaxBytes: 1 << 20},
		"ceiling below from": {From: 12, Ceiling: 11, MaxCount: 1, MaxBytes: 1 << 20},
		"no messages wanted": {From: 10, Ceiling: 12, MaxBytes: 1 << 20},
		"no room for one":    {From: 10, Ceiling: 12, MaxCount: 1, MaxBytes: HeaderSize + 100},
	} {
		if cut := Slice(rec, want, &head); cut.Count != 0 || cut.Full != (name == "no room for one") {
			t.Errorf("%s: %+v", name, cut)
		}
	}
}

func TestSlice_AtLeastOneIgnoresTheBoundOnce(t *testing.T) {
	rec := bytes.Clone(record(t, 3, 100))
	Stamp(rec, 1, 10, 1)
	var head Header
	cut := Slice(rec, Selection{From: 11, Ceiling: 12, MaxCount: 2, MaxBytes: 10, AtLeastOne: true}, &head)
	if cut.Count != 1 || cut.First != 11 || !cut.Full {
		t.Fatalf("%+v", cut)
	}
}

func TestSlice_HeaderMayReplaceSkippedBytes(t *testing.T) {
	want := bytes.Clone(record(t, 5, 10))
	Stamp(want, 1, 10, 1)
	sel := Selection{From: 12, Ceiling: 13, MaxCount: 9, MaxBytes: 1 << 20}
	var head Header
	cut := Slice(want, sel, &head)
	apart := append(bytes.Clone(head[:]), cut.Frames...)

	rec := bytes.Clone(want)
	at := 2 * (FrameHeaderSize + 10)
	inside := Slice(rec, sel, (*Header)(rec[at:]))
	if got := rec[at : at+HeaderSize+len(inside.Frames)]; !bytes.Equal(got, apart) {
		t.Fatalf("in place\n%x\nwant\n%x", got, apart)
	}
}

func TestBuilder_Refusals(t *testing.T) {
	b := NewBuilder()
	if _, err := b.Build(); !errors.Is(err, ErrEmpty) {
		t.Fatalf("empty: %v", err)
	}
	_ = b.Add([]byte("a"), nil, protocol.Uint128{}, 0)
	_ = b.Add([]byte("b"), nil, protocol.Uint128{}, 1<<32)
	if _, err := b.Build(); !errors.Is(err, ErrOriginSpread) {
		t.Fatalf("spread: %v", err)
	}
	if b.Len() != 0 || b.Size() != 0 {
		t.Fatal("a refused batch stays in the builder")
	}
	_ = b.Add([]byte("b"), nil, protocol.Uint128{}, 7)
	if rec, err := b.Build(); err != nil || Verify(rec, 1) != protocol.Success {
		t.Fatalf("reuse: %v", err)
	}
}

func TestHotPath_DoesNotAllocate(t *testing.T) {
	rec := bytes.Clone(record(t, 1000, 1000))
	var v Verifier
	var head Header
	b := NewBuilder()
	payload := make([]byte, 100)
	for name, f := range map[string]func(){
		"Verify":      func() { Verify(rec, 1000) },
		"CheckLayout": func() { CheckLayout(rec) },
		"Stamp":       func() { Stamp(rec, 1, 2, 3) },
		"Slice":       func() { Slice(rec, Selection{From: 100, Ceiling: 900, MaxCount: 800, MaxBytes: 1 << 20}, &head) },
		"Verifier":    func() { v.Reset(len(rec), 1000); v.Write(rec[:5000]); v.Write(rec[5000:]); v.Close() },
		"Walk": func() {
			for w := Walk(rec); ; {
				if _, ok := w.Next(); !ok {
					break
				}
			}
		},
		"Builder": func() {
			for range 500 {
				_ = b.Add(payload, nil, protocol.Uint128{}, 1)
			}
			_, _ = b.Build()
		},
	} {
		if n := testing.AllocsPerRun(20, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
