package batch

import (
	"bytes"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func FuzzVerify(f *testing.F) {
	f.Add(bytes.Clone(record(f, 1, 0)), uint32(1), uint8(13), uint64(0), uint32(1))
	f.Add(bytes.Clone(record(f, 3, 50)), uint32(3), uint8(200), uint64(1), uint32(2))
	stamped := bytes.Clone(record(f, 140, 3))
	Stamp(stamped, 1, 1<<40, 5)
	f.Add(stamped, uint32(140), uint8(49), uint64(1<<40+7), uint32(100))
	f.Add(make([]byte, 600), uint32(0), uint8(0), uint64(0), uint32(0))
	f.Fuzz(func(t *testing.T, rec []byte, count uint32, piece uint8, from uint64, take uint32) {
		want := Verify(rec, count)
		if got := verifyInPieces(rec, count, func(int) int { return int(piece) + 1 }); got != want {
			t.Fatalf("Verifier %d, Verify %d", got, want)
		}
		layout := CheckLayout(rec)
		if want == protocol.Success && layout != protocol.Success {
			t.Fatalf("verified, layout %d", layout)
		}
		n := 0
		for w := Walk(rec); ; n++ {
			if _, ok := w.Next(); !ok {
				break
			}
		}
		if layout != protocol.Success {
			if len(rec) >= HeaderSize {
				var head Header
				Slice(rec, Selection{From: from, Ceiling: ^uint64(0), MaxCount: take, MaxBytes: 4096}, &head)
			}
			return
		}
		if uint32(n) != MessageCount(rec) {
			t.Fatalf("walked %d of %d", n, MessageCount(rec))
		}
		var head Header
		cut := Slice(rec, Selection{From: from, Ceiling: ^uint64(0), MaxCount: take, MaxBytes: 1 << 30}, &head)
		if want == protocol.Success && cut.Count > 0 && !cut.Whole {
			if code := Verify(append(head[:], cut.Frames...), cut.Count); code != protocol.Success {
				t.Fatalf("slice of a verified record: %d", code)
			}
		}
	})
}
