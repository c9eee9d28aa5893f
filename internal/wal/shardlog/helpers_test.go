package shardlog

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

const walDir = "/data/wal"

var testCluster = protocol.Uint128{Lo: 0x0706050403020100, Hi: 0x0f0e0d0c0b0a0908}

// testOptions are those of small files, with epochs from a seed.
func testOptions(seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 77))
	return Options{
		Cluster: testCluster, Replica: 1, FileBytes: 32 << 10, RetainedBytes: 64 << 10, BootID: [16]byte{1}, Random: rng.Uint64,
	}
}

func newFS(t testing.TB) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem(1)
	if err := errors.Join(m.MkdirAll("/data"), m.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	return m
}

// boot scans and begins a life.
func boot(t testing.TB, fs vfs.FS, o Options) *Logs {
	t.Helper()
	ls, err := Scan(fs, walDir, o)
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	if err := ls.Begin(); err != nil {
		t.Fatalf("begin: %v", err)
	}
	return ls
}

func shard(t testing.TB, ls *Logs, n int) *Log {
	t.Helper()
	l, err := ls.Shard(n)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// chain makes prepares of one group that follow each other.
type chain struct {
	group    protocol.GroupID
	revision uint64
	op       uint64
	parent   protocol.Uint128
	salt     byte
}

func newChain(group protocol.GroupID) *chain { return &chain{group: group, revision: 7} }

func (c *chain) prepare(bodyBytes int) Record {
	c.op++
	body := make([]byte, bodyBytes)
	for i := range body {
		body[i] = byte(i)*7 + byte(c.op) + c.salt
	}
	h := new(protocol.PrepareHeader)
	p := h.Common()
	p.SetChecksumBody(protocol.Uint128From64(xxh3.Hash(body)))
	p.SetCluster(testCluster)
	p.SetSize(uint32(protocol.HeaderSize + bodyBytes))
	p.SetView(3)
	p.SetCommand(protocol.CommandPrepare)
	h.SetParent(c.parent)
	h.SetClient(protocol.Uint128{Lo: 5, Hi: uint64(c.salt)})
	h.SetOp(c.op)
	h.SetTimestamp(1000 + c.op)
	h.SetOperation(protocol.OpStoreConsumerOffset)
	h.SetGroup(uint64(c.group))
	h.Seal()
	c.parent = p.Checksum()
	return Record{Kind: wal.KindPrepare, Group: c.group, Revision: c.revision, Header: h, Body: body, Sync: c.group%2 == 0}
}

func (c *chain) prepares(bodies ...int) []Record {
	var records []Record
	for _, b := range bodies {
		records = append(records, c.prepare(b))
	}
	return records
}

func (c *chain) control(kind wal.Kind, payload []byte) Record {
	return Record{Kind: kind, Group: c.group, Revision: c.revision, Body: payload, Sync: c.group%2 == 0}
}

// checkpoint says that everything up to op is durable elsewhere. A header is put in when op is the newest.
func (c *chain) checkpoint(op, trust uint64) Record {
	return c.control(wal.KindCheckpoint, EncodeCheckpoint(nil, &Checkpoint{Op: op, Frontier: op * 10, TrustLife: trust}))
}

func (c *chain) birth() Record { return c.control(wal.KindBirth, nil) }

// mustAppend appends a batch, running PrepareFile where the log asks for it.
func mustAppend(t testing.TB, l *Log, records ...Record) uint64 {
	t.Helper()
	for range 10 {
		batch, err := l.Append(records)
		if err == nil {
			return batch
		}
		if !errors.Is(err, ErrNotReady) {
			t.Fatal(err)
		}
		if err := l.PrepareFile(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the log does not become ready")
	return 0
}

func mustSync(t testing.TB, l *Log) {
	t.Helper()
	if _, err := l.Sync(); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB, ls *Logs, c *chain) GroupLog {
	t.Helper()
	g, ok := ls.Find(c.group, c.revision)
	if !ok {
		t.Fatalf("group %s is in no log; damage: %v", c.group, ls.Damage())
	}
	return g
}

// ops lists the ops of the prepares of a group.
func ops(g GroupLog) []uint64 {
	var out []uint64
	for i := range g.Entries {
		if !g.Entries[i].IsLocal() {
			out = append(out, g.Entries[i].Op)
		}
	}
	return out
}

func upTo(from, to uint64) []uint64 {
	var out []uint64
	for op := from; op <= to; op++ {
		out = append(out, op)
	}
	return out
}

func rngOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

// crash is what the next boot finds after power was lost, or only the process.
func crash(m *vfs.Mem, seed uint64, mode vfs.CrashMode) *vfs.Mem {
	return m.CrashClone(rngOf(seed), mode)
}

func content(t testing.TB, m vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(m, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rewrite replaces the content of a file, whatever it means.
func rewrite(t testing.TB, m vfs.FS, name string, b []byte) {
	t.Helper()
	if err := vfs.WriteFile(m, name, b); err != nil {
		t.Fatal(err)
	}
}
