package inspect

import (
	"encoding/hex"
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// JournalQuery says which entries of a journal to show.
type JournalQuery struct {
	Op    uint64 // only this one; 0 is any
	From  uint64 // from this op on
	Limit int    // at most so many; 0 is all
	Body  bool   // with the bytes of the operation
}

// JournalHeadRow is the header of a journal or of its mirror.
type JournalHeadRow struct {
	Row       string `json:"row"` // "journal_head" or "mirror_head"
	File      string `json:"file"`
	Cluster   string `json:"cluster"`
	Replica   uint8  `json:"replica"`
	Epoch     string `json:"epoch"`
	Counter   uint64 `json:"counter"`
	Slots     uint32 `json:"slots,omitempty"`
	Used      int    `json:"slots_used,omitempty"`
	AckedHead uint64 `json:"acked_head"`
}

// Text implements Row.
func (r *JournalHeadRow) Text() string {
	text := fmt.Sprintf("%s: replica %d of cluster %s, epoch %s", r.File, r.Replica, r.Cluster, r.Epoch)
	if r.Row == "mirror_head" {
		return fmt.Sprintf("%s, %d of %d slots used, acked head %d", text, r.Used, r.Slots, r.AckedHead)
	}
	return fmt.Sprintf("%s, batches from %d", text, r.Counter+1)
}

// EntryRow is one operation of the metadata.
type EntryRow struct {
	Row       string `json:"row"` // "entry"
	Op        uint64 `json:"op"`
	View      uint32 `json:"view"`
	Operation string `json:"operation"`
	Code      uint8  `json:"operation_code"`
	Time      string `json:"time"`
	Timestamp uint64 `json:"timestamp"` // microseconds
	User      uint32 `json:"user"`
	Client    string `json:"client"`
	Request   uint64 `json:"request"`
	Commit    uint64 `json:"commit"`
	Bytes     uint32 `json:"bytes"` // of the body
	Position  int64  `json:"position"`
	Batch     uint64 `json:"batch"`
	Checksum  string `json:"checksum"`
	Parent    string `json:"parent"`
	BodySum   string `json:"checksum_body"`
	Body      string `json:"body,omitempty"` // hexadecimal
}

// Text implements Row.
func (r *EntryRow) Text() string {
	text := fmt.Sprintf("op %-6d %s  view %d  %-30s user %d  client %s  request %d  %d bytes at %d, batch %d\n         checksum %s  parent %s",
		r.Op, r.Time, r.View, r.Operation, r.User, shortClient(r.Client), r.Request, r.Bytes, r.Position, r.Batch, r.Checksum, r.Parent)
	if r.Body != "" {
		text += "\n         body " + r.Body
	}
	return text
}

// shortClient leaves out leading zeros, and names the client that is the server itself.
func shortClient(client string) string {
	if client == "ffffffffffffffffffffffffffffffff" {
		return "server"
	}
	for len(client) > 1 && client[0] == '0' {
		client = client[1:]
	}
	return client
}

// DescribeJournal shows the metadata journal: the header of the file and of its mirror, and the entries.
func DescribeJournal(fsys vfs.FS, name string, q JournalQuery, emit Emit) error {
	head, err := wal.ReadJournalHead(fsys, name)
	if err != nil {
		return err
	}
	err = emit(&JournalHeadRow{
		Row: "journal_head", File: name, Cluster: head.Cluster.String(), Replica: head.Replica, Epoch: hex64(head.Epoch), Counter: head.Counter,
	})
	if err == nil {
		err = describeMirror(fsys, path.Join(path.Dir(name), wal.MirrorName), emit)
	}
	if err != nil {
		return err
	}
	shown := 0
	var failed error
	_, stop, err := wal.Walk(fsys, name, func(r *wal.Record) bool {
		op := r.Prepare.Op()
		if q.Op != 0 && op != q.Op || op < q.From {
			return true
		}
		if q.Limit > 0 && shown == q.Limit {
			return false
		}
		shown++
		var row *EntryRow
		if row, failed = entryRow(fsys, name, r, q.Body); failed == nil {
			failed = emit(row)
		}
		return failed == nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil || stop == nil:
		return err
	}
	what := "the end of the file is no record: a torn append that was never answered, or damage: "
	if stop.Durable {
		what = "damage, a later record proves that it had been synced: "
	}
	return emit(&TroubleRow{Row: "trouble", File: name, Position: &stop.Position, Problem: fmt.Sprintf("%sbatch %d, op %d was due, %s", what, stop.Batch, stop.Op, stop.Reason)})
}

func describeMirror(fsys vfs.FS, name string, emit Emit) error {
	head, slots, err := wal.ReadMirror(fsys, name)
	if err != nil {
		return emit(&TroubleRow{Row: "trouble", File: name, Problem: err.Error()})
	}
	if head.Slots == 0 {
		return emit(&TroubleRow{Row: "trouble", File: name, Problem: name + " is missing or empty"})
	}
	return emit(&JournalHeadRow{
		Row: "mirror_head", File: name, Cluster: head.Cluster.String(), Replica: head.Replica, Epoch: hex64(head.Epoch), Counter: head.Counter,
		Slots: head.Slots, Used: len(slots), AckedHead: head.AckedHead,
	})
}

func entryRow(fsys vfs.FS, name string, r *wal.Record, body bool) (*EntryRow, error) {
	h := &r.Prepare
	c := h.Common()
	row := &EntryRow{
		Row: "entry", Op: h.Op(), View: c.View(), Operation: h.Operation().String(), Code: uint8(h.Operation()),
		Time: moment(h.Timestamp()), Timestamp: h.Timestamp(), User: h.UserID(), Client: h.Client().String(), Request: h.Request(),
		Commit: h.Commit(), Bytes: c.Size() - uint32(len(h)), Position: r.Position, Batch: r.Head.Batch,
		Checksum: c.Checksum().String(), Parent: h.Parent().String(), BodySum: c.ChecksumBody().String(),
	}
	if body {
		b, err := wal.ReadBody(fsys, name, r)
		if err != nil {
			return nil, err
		}
		row.Body = hex.EncodeToString(b)
	}
	return row, nil
}
