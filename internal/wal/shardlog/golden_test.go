package shardlog

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares with a file of 32 bytes a line.
func golden(t *testing.T, file string, b []byte) {
	t.Helper()
	var out strings.Builder
	for at := 0; at < len(b); at += 32 {
		out.WriteString(hex.EncodeToString(b[at:min(at+32, len(b))]) + "\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != out.String() {
		t.Errorf("%s: the bytes differ:\n%s", file, out.String())
	}
}

var goldenHeader = fileHeader{
	shard: 3, cluster: testCluster, replica: 2, number: 7, epoch: 0xE0E1E2E3E4E5E6E7, life: 5, bootID: [16]byte{1, 2, 3, 15: 16},
	prevNumber: 6, prevEnd: 0x4040, unprovenLife: 4, prevBatch: 99,
}

func TestFileHeader_GoldenBytes(t *testing.T) {
	b := goldenHeader.encode()
	if len(b) != fileHeaderBytes || !bytes.Equal(b[104:4088], make([]byte, 3984)) {
		t.Fatalf("%d bytes", len(b))
	}
	golden(t, "testdata/file_header.hex", append(bytes.Clone(b[:104]), b[4088:]...))
	if h, err := decodeFileHeader("f", b); err != nil || h != goldenHeader {
		t.Fatalf("%+v, %v", h, err)
	}
	for off := range b {
		spoiled := bytes.Clone(b)
		spoiled[off] ^= 1
		if _, err := decodeFileHeader("f", spoiled); err == nil {
			t.Fatalf("byte %d may change", off)
		}
	}
}

func TestHead_GoldenBytes(t *testing.T) {
	want := head{shard: 3, newest: 7, epoch: 0xE0E1E2E3E4E5E6E7, oldest: 5, life: 6, unprovenLife: 4}
	b := want.encode()
	golden(t, "testdata/head.hex", b)
	if h, err := decodeHead("head", b); err != nil || h != want {
		t.Fatalf("%+v, %v", h, err)
	}
	for off := range b {
		spoiled := bytes.Clone(b)
		spoiled[off] ^= 1
		if _, err := decodeHead("head", spoiled); err == nil {
			t.Fatalf("byte %d may change", off)
		}
	}
}

var goldenCheckpoint = Checkpoint{
	Op: 2, Frontier: 0x1112131415161718, SegmentStart: 3, SegmentBytes: 4, Timestamp: 5, PurgeGeneration: 6, BarrierOp: 1,
	AckedHead: 8, TrustLife: 9,
	Dedup: []DedupEntry{
		{Client: protocol.Uint128{Lo: 1, Hi: 2}, User: 3, Watermark: 4, LatestCommit: 5, Window: protocol.Uint128{Lo: 6, Hi: 7}},
		{Client: protocol.Uint128{Lo: 2, Hi: 2}, User: 13, Watermark: 14, LatestCommit: 15, Window: protocol.Uint128{Lo: 16, Hi: 17}},
	},
}

// Every kind of record in one file, as Append and Close write them.
func TestRecords_GoldenBytes(t *testing.T) {
	m := newFS(t)
	o := testOptions(1)
	epoch := uint64(0xA0A1A2A3A4A5A6A7)
	o.Random = func() uint64 { return epoch }
	ls := boot(t, m, o)
	l := shard(t, ls, 0)
	c := newChain(2)
	mustAppend(t, l, c.birth())
	mustSync(t, l)
	mustAppend(t, l, c.prepares(5, 70)...)
	cp := goldenCheckpoint
	cp.Header = *c.prepares(0)[0].Header
	cp.Header.SetOp(2)
	cp.Header.Seal()
	mustAppend(t, l,
		c.control(wal.KindCheckpoint, EncodeCheckpoint(nil, &cp)),
		c.control(wal.KindTruncate, Truncate{FromOp: 2, AckedHead: 3, View: 4}.AppendTo(nil)),
		c.control(wal.KindReset, Reset{CommitOp: 1, NextOffset: 2, PurgeGeneration: 3, AckedHead: 4}.AppendTo(nil)),
		c.control(wal.KindInstalled, EncodeCheckpoint(nil, &Checkpoint{Op: 1, Frontier: 2})),
		c.control(wal.KindLost, LossMark{Reason: 5}.AppendTo(nil)),
		c.control(wal.KindAdopted, Adopted{View: 1, Op: 2, Commit: 3, AckedHead: 4}.AppendTo(nil)),
		c.control(wal.KindLocal, Local{ConsumerKind: 2, ID: 3, Offset: 4}.AppendTo(nil)),
		c.control(wal.KindLocal, Local{ConsumerKind: 1, Delete: true, ID: 3}.AppendTo(nil)),
		c.control(wal.KindAccepted, Accepted{LogView: 1, Op: 2}.AppendTo(nil)),
		c.control(wal.KindDropped, nil),
	)
	mustSync(t, l)
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	places := records(t, m, walFile(1))
	end := places[len(places)-1]
	b := content(t, m, walFile(1))
	golden(t, "testdata/records.hex", b[fileHeaderBytes:end.pos+end.head.Span()])
	golden(t, "testdata/first_head.hex", content(t, m, path.Join(shardDir, headName)))

	ls = boot(t, crash(m, 1, vfs.LoseUnsynced), testOptions(2))
	g := find(t, ls, c)
	if !g.Dropped || !g.Born || *g.Truncated != (Truncate{2, 3, 4}) || *g.Adopted != (Adopted{1, 2, 3, 4}) || *g.Accepted != (Accepted{1, 2}) {
		t.Fatalf("%+v", g)
	}
	if ls.Verdict() != (Verdict{Proven: true, Reason: "the last life ended in order", Life: 2}) {
		t.Fatalf("%+v", ls.Verdict())
	}
}

func TestCheckpoint_EncodeAndDecode(t *testing.T) {
	b := EncodeCheckpoint(nil, &goldenCheckpoint)
	if got, err := DecodeCheckpoint(b); err != nil || !reflect.DeepEqual(got, goldenCheckpoint) {
		t.Fatalf("%+v, %v", got, err)
	}
	for what, spoil := range map[string]func(b []byte) []byte{
		"short": func(b []byte) []byte { return b[:335] }, "one byte less": func(b []byte) []byte { return b[:len(b)-1] },
		"another count": func(b []byte) []byte { b[328]++; return b }, "reserved": func(b []byte) []byte { b[332] = 1; return b },
		"huge count":      func(b []byte) []byte { b[331] = 0xFF; return b },
		"unsealed header": func(b []byte) []byte { b[100] = 1; return b },
		"empty":           func(b []byte) []byte { return nil },
	} {
		if _, err := DecodeCheckpoint(spoil(bytes.Clone(b))); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}
