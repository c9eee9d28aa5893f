package batch

import (
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
)

// record builds a sealed batch of count messages of size payload bytes.
func record(tb interface{ Fatal(...any) }, count, size int) []byte {
	b := NewBuilder()
	rng := rand.New(rand.NewPCG(1, uint64(count*size)))
	payload := make([]byte, size)
	for i := range count {
		for j := range payload {
			payload[j] = byte(rng.Uint32())
		}
		if err := b.Add(payload, nil, protocol.Uint128{Lo: uint64(i) + 1}, 1_700_000_000_000_000+uint64(i)); err != nil {
			tb.Fatal(err)
		}
	}
	rec, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return rec
}

// drawRecord builds a batch of random shape: empty payloads, user headers, more messages than one seal
// buffer holds, origin times out of order.
func drawRecord(t *rapid.T) []byte {
	b := NewBuilder()
	count := rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(115, 300)).Draw(t, "count")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	size := rapid.SampledFrom([]int{1, 20, 300, 2000}).Draw(t, "size")
	for range count {
		payload := make([]byte, rng.IntN(size))
		headers := make([]byte, rng.IntN(4)*rng.IntN(30))
		for i := range payload {
			payload[i] = byte(rng.Uint32())
		}
		for i := range headers {
			headers[i] = byte(rng.Uint32())
		}
		id := protocol.Uint128{Lo: rng.Uint64(), Hi: rng.Uint64()}
		if err := b.Add(payload, headers, id, 1_000_000+rng.Uint64N(1<<30)); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// verifyInPieces runs the record through a Verifier, cut at the lengths that next returns.
func verifyInPieces(rec []byte, wantCount uint32, next func(left int) int) protocol.Code {
	var v Verifier
	v.Reset(len(rec), wantCount)
	for len(rec) > 0 {
		n := max(1, min(next(len(rec)), len(rec)))
		v.Write(rec[:n])
		rec = rec[n:]
	}
	return v.Close()
}
