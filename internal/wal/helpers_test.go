package wal

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

const (
	dir     = "/metadata"
	walFile = dir + "/journal.wal"
	mirFile = dir + "/journal.mirror"
	epoch   = 0xE0E1E2E3E4E5E6E7
)

var cluster = protocol.Uint128{Lo: 0x0706050403020100, Hi: 0x0f0e0d0c0b0a0908}

func options(slots int) Options {
	return Options{Cluster: cluster, Replica: 1, Slots: slots, Epoch: epoch}
}

func newFS(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(1)
	if err := errors.Join(m.MkdirAll(dir), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t testing.TB, m vfs.FS) (*Journal, Recovered) {
	t.Helper()
	j, rec, err := Open(m, dir, options(8))
	if err != nil {
		t.Fatal(err)
	}
	return j, rec
}

// chain makes entries that follow each other. salt makes chains differ.
type chain struct {
	op     uint64
	parent protocol.Uint128
	salt   byte
}

func (c *chain) next(bodyBytes int) Entry {
	c.op++
	body := make([]byte, bodyBytes)
	for i := range body {
		body[i] = byte(i)*7 + byte(c.op) + c.salt
	}
	h := new(protocol.PrepareHeader)
	p := h.Common()
	p.SetChecksumBody(protocol.Uint128From64(xxh3.Hash(body)))
	p.SetCluster(cluster)
	p.SetSize(uint32(protocol.HeaderSize + bodyBytes))
	p.SetView(3)
	p.SetCommand(protocol.CommandPrepare)
	h.SetParent(c.parent)
	h.SetClient(protocol.Uint128{Lo: 5, Hi: uint64(c.salt)})
	h.SetOp(c.op)
	h.SetTimestamp(1000 + c.op)
	h.SetOperation(protocol.OpCreateStream)
	h.SetGroup(uint64(protocol.MetadataGroup))
	h.Seal()
	c.parent = p.Checksum()
	return Entry{Header: h, Body: body}
}

func (c *chain) batch(bodies ...int) []Entry {
	var entries []Entry
	for _, b := range bodies {
		entries = append(entries, c.next(b))
	}
	return entries
}

func mustAppend(t testing.TB, j *Journal, batches ...[]Entry) {
	t.Helper()
	for _, b := range batches {
		if err := j.AppendBatch(b); err != nil {
			t.Fatal(err)
		}
	}
}

func ops(headers []protocol.PrepareHeader) []uint64 {
	var out []uint64
	for i := range headers {
		out = append(out, headers[i].Op())
	}
	return out
}

func wantOps(t testing.TB, headers []protocol.PrepareHeader, want ...uint64) {
	t.Helper()
	if got := ops(headers); !slices.Equal(got, want) {
		t.Fatalf("ops %v, want %v", got, want)
	}
}

func content(t testing.TB, m vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(m, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t testing.TB, m vfs.FS, name string, b []byte) {
	t.Helper()
	if err := vfs.WriteFile(m, name, b); err != nil {
		t.Fatal(err)
	}
}

// forgetMirror empties all slots, so that only the records can prove anything.
func forgetMirror(t testing.TB, m vfs.FS) {
	t.Helper()
	b := content(t, m, mirFile)
	clear(b[mirrorSlotsOff:])
	put(t, m, mirFile, b)
}

func rngOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

func copyOf(m *vfs.Mem) *vfs.Mem { return m.CrashClone(rngOf(0), vfs.KillOnly) }

// chainAfter returns a chain that goes on behind an entry of the journal.
func chainAfter(t testing.TB, j *Journal, op uint64) *chain {
	t.Helper()
	h, _, err := j.Read(op)
	if err != nil {
		t.Fatal(err)
	}
	return &chain{op: op, parent: h.Common().Checksum()}
}
