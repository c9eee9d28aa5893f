package inspect

import (
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// Row is one line of output about a file: text for people, and fields with stable JSON names for scripts. Every row
// has a field "row" that tells rows of different kinds apart.
type Row interface{ Text() string }

// Emit takes rows as they are read, so that files of any length can be shown. An error ends the walk.
type Emit func(Row) error

// hex64 is a checksum.
func hex64(v uint64) string { return fmt.Sprintf("%016x", v) }

// SlotRow is one slot of a superblock.
type SlotRow struct {
	Row     string `json:"row"` // "superblock"
	File    string `json:"file"`
	Written bool   `json:"written"`
	Newest  bool   `json:"newest"`
	Error   string `json:"error,omitempty"`

	Sequence           uint64 `json:"sequence,omitempty"`
	Parent             string `json:"parent,omitempty"`
	Trailer            string `json:"trailer,omitempty"`
	Cluster            string `json:"cluster,omitempty"`
	Replica            uint8  `json:"replica"`
	Replicas           uint8  `json:"replicas"`
	View               uint32 `json:"view"`
	LogView            uint32 `json:"log_view"`
	CommitMax          uint64 `json:"commit_max"`
	CheckpointOp       uint64 `json:"checkpoint_op"`
	CheckpointChecksum string `json:"checkpoint_checksum,omitempty"`
	OffsetFrontier     uint64 `json:"offset_frontier"`
	OffsetReserved     uint64 `json:"offset_reserved"`
}

// Text implements Row.
func (r *SlotRow) Text() string {
	switch {
	case r.Error != "":
		return fmt.Sprintf("%s: %s", r.File, r.Error)
	case !r.Written:
		return r.File + ": never written"
	}
	mark := ""
	if r.Newest {
		mark = ", the newest"
	}
	return fmt.Sprintf("%s: record %d%s\n  cluster      %s\n  replica      %d of %d\n  view         %d, log view %d\n  commit max   %d\n"+
		"  checkpoint   op %d, checksum %s\n  offsets      frontier %d, reserved %d\n  parent       %s\n  trailer      %s",
		r.File, r.Sequence, mark, r.Cluster, r.Replica, r.Replicas, r.View, r.LogView, r.CommitMax, r.CheckpointOp, r.CheckpointChecksum,
		r.OffsetFrontier, r.OffsetReserved, r.Parent, r.Trailer)
}

// DescribeSuperblock shows the slots of a superblock: both of a directory, or one file.
func DescribeSuperblock(fsys vfs.FS, name string, emit Emit) error {
	info, err := fsys.Stat(name)
	if err != nil {
		return err
	}
	files := []string{name}
	if info.IsDir {
		slots := superblock.Names()
		files = []string{path.Join(name, slots[0]), path.Join(name, slots[1])}
	}
	rows := make([]*SlotRow, len(files))
	newest := -1
	for i, file := range files {
		rows[i] = slotRow(fsys, file)
		if rows[i].Written && (newest < 0 || rows[i].Sequence > rows[newest].Sequence) {
			newest = i
		}
	}
	for i, r := range rows {
		r.Newest = i == newest && info.IsDir
		if err := emit(r); err != nil {
			return err
		}
	}
	if !info.IsDir {
		return nil
	}
	if _, _, err := superblock.Open(vfs.NewOverlay(fsys), name); err != nil {
		return emit(&TroubleRow{Row: "trouble", File: name, Problem: err.Error()})
	}
	return nil
}

func slotRow(fsys vfs.FS, file string) *SlotRow {
	r := &SlotRow{Row: "superblock", File: file}
	slot, written, err := superblock.ReadSlot(fsys, file)
	if err != nil {
		r.Error = cause(err)
		return r
	}
	s := &slot.State
	if r.Written = written; written {
		r.Sequence, r.Parent, r.Trailer = slot.Sequence, hex64(slot.Parent), hex64(slot.Trailer)
		r.Cluster, r.Replica, r.Replicas, r.View, r.LogView = s.Cluster.String(), s.ReplicaID, s.ReplicaCount, s.View, s.LogView
		r.CommitMax, r.CheckpointOp, r.CheckpointChecksum = s.CommitMax, s.CheckpointOp, s.CheckpointChecksum.String()
		r.OffsetFrontier, r.OffsetReserved = s.OffsetFrontier, s.OffsetReserved
	}
	return r
}

// TroubleRow says that something cannot be shown, or does not fit.
type TroubleRow struct {
	Row      string `json:"row"` // "trouble"
	File     string `json:"file"`
	Position *int64 `json:"position,omitempty"`
	Problem  string `json:"problem"`
}

// Text implements Row.
func (r *TroubleRow) Text() string {
	if r.Position != nil {
		return fmt.Sprintf("! byte %d: %s", *r.Position, r.Problem)
	}
	return "! " + r.Problem
}
