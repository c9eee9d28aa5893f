package inspect

import (
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// OffsetRow is one stored consumer offset.
type OffsetRow struct {
	Row    string `json:"row"` // "offset"
	Kind   string `json:"kind"`
	ID     uint32 `json:"id"`
	Offset uint64 `json:"offset"`
	State  string `json:"state"` // checked, unchecked, torn, corrupt, unreadable
	Error  string `json:"error,omitempty"`
}

// Text implements Row.
func (r *OffsetRow) Text() string {
	if r.State == "checked" || r.State == "unchecked" {
		return fmt.Sprintf("%-8s %-10d offset %d (%s)", r.Kind, r.ID, r.Offset, r.State)
	}
	return fmt.Sprintf("%-8s %-10d %s %s", r.Kind, r.ID, r.State, r.Error)
}

var offsetStates = map[segment.OffsetState]string{
	segment.OffsetTorn: "torn", segment.OffsetChecked: "checked", segment.OffsetUnchecked: "unchecked", segment.OffsetCorrupt: "corrupt",
}

// DescribeOffsets shows the stored consumer offsets of a partition directory.
func DescribeOffsets(fsys vfs.FS, dir string, emit Emit) error {
	for _, kind := range offsetKinds {
		stored, err := segment.LoadOffsets(fsys, dir, kind)
		if err != nil {
			return err
		}
		for _, o := range stored {
			r := &OffsetRow{Row: "offset", Kind: "consumer", ID: o.ID, Offset: o.Value, State: offsetStates[o.State]}
			if kind == segment.GroupOffset {
				r.Kind = "group"
			}
			if o.Err != nil {
				r.State, r.Error = "unreadable", o.Err.Error()
			}
			if err := emit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// OwnerRow tells whose a partition directory is.
type OwnerRow struct {
	Row         string `json:"row"` // "owner"
	Dir         string `json:"dir"`
	Evidence    string `json:"evidence"` // sealed, unsealed, unknown
	Stale       bool   `json:"stale"`    // one of the two files is missing, damaged or behind
	Incarnation uint64 `json:"created_revision"`
	Generation  uint64 `json:"purge_generation"`
	First       uint64 `json:"first_retained_offset"`
}

// Text implements Row.
func (r *OwnerRow) Text() string {
	text := fmt.Sprintf("owner: incarnation %d, %d purges applied, removal has reached offset %d (%s)", r.Incarnation, r.Generation, r.First, r.Evidence)
	if r.Stale {
		text += "; owner and purge.gen differ, or one of them is damaged"
	}
	return text
}

// AnchorRow is an anchor.
type AnchorRow struct {
	Row     string `json:"row"` // "anchor"
	File    string `json:"file"`
	Valid   bool   `json:"valid"`
	Planted uint64 `json:"planted_start"`
	Sealed  uint64 `json:"sealed_start"`
	End     uint64 `json:"sealed_end"`
}

// Text implements Row.
func (r *AnchorRow) Text() string {
	if !r.Valid {
		return r.File + ": no anchor, or a damaged one"
	}
	return fmt.Sprintf("anchor: segment %d may follow segment %d, which ends with offset %d", r.Planted, r.Sealed, r.End)
}

// SegmentRow is one segment, read to the last byte.
type SegmentRow struct {
	Row          string `json:"row"` // "segment"
	File         string `json:"file"`
	Start        uint64 `json:"start"`
	End          uint64 `json:"end"` // last offset, counts with messages
	Bytes        int64  `json:"bytes"`
	Batches      int64  `json:"batches"`
	Messages     uint64 `json:"messages"`
	First        uint64 `json:"first_timestamp"` // microseconds
	Last         uint64 `json:"last_timestamp"`
	Damages      int    `json:"damages"`
	IndexEntries int    `json:"index_entries"`
	IndexBad     int    `json:"index_entries_bad"`
}

// Text implements Row.
func (r *SegmentRow) Text() string {
	text := fmt.Sprintf("segment %020d: empty", r.Start)
	if r.Messages > 0 {
		text = fmt.Sprintf("segment %020d: offsets %d..%d, %s in %s, %s, %s to %s, %d index entries", r.Start, r.Start, r.End,
			many(r.Messages, "message"), many(r.Batches, "batch"), size(r.Bytes), moment(r.First), moment(r.Last), r.IndexEntries)
	}
	if r.Damages > 0 {
		text += fmt.Sprintf(", %d DAMAGED", r.Damages)
	}
	if r.IndexBad > 0 {
		text += fmt.Sprintf(", %d index entries point at no batch", r.IndexBad)
	}
	return text
}

// DescribePartition shows everything in a partition directory: owner, superblock, segments, anchors, offsets.
func DescribePartition(fsys vfs.FS, dir string, emit Emit) error {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	if err := describeOwner(fsys, dir, emit); err != nil {
		return err
	}
	if err := DescribeSuperblock(fsys, dir, emit); err != nil {
		return err
	}
	for _, name := range names {
		kind, start := segment.KindOf(name)
		switch kind {
		case segment.AnchorFile:
			err = describeAnchor(fsys, dir, start, emit)
		case segment.LogFile:
			err = describeLog(fsys, dir, start, emit)
		}
		if err != nil {
			return err
		}
	}
	return DescribeOffsets(fsys, dir, emit)
}

func describeOwner(fsys vfs.FS, dir string, emit Emit) error {
	owner, err := segment.ReadOwner(fsys, dir)
	if err != nil {
		return emit(&TroubleRow{Row: "trouble", File: dir, Problem: err.Error()})
	}
	evidence := [...]string{segment.OwnerUnknown: "unknown", segment.OwnerUnsealed: "unsealed", segment.OwnerSealed: "sealed"}
	return emit(&OwnerRow{"owner", dir, evidence[owner.Evidence], owner.Stale, owner.Revision, owner.Generation, owner.First})
}

func describeAnchor(fsys vfs.FS, dir string, start uint64, emit Emit) error {
	a, ok, err := segment.ReadAnchor(fsys, dir, start)
	if err != nil {
		return err
	}
	return emit(&AnchorRow{"anchor", path.Join(dir, segment.AnchorName(start)), ok, a.PlantedStart, a.SealedStart, a.SealedEnd})
}

func describeLog(fsys vfs.FS, dir string, start uint64, emit Emit) error {
	log := path.Join(dir, segment.LogName(start))
	partition, err := partitionOf(fsys, log)
	if err != nil {
		return err
	}
	s, err := scrub(fsys, dir, start, partition, func(int64) {})
	if err != nil {
		return err
	}
	r := &SegmentRow{
		Row: "segment", File: log, Start: start, End: s.end, Bytes: s.size, Batches: s.batches, Messages: s.messages, First: s.first, Last: s.last,
		Damages: len(s.damages) + s.more, IndexEntries: s.indexed, IndexBad: s.indexBad,
	}
	if err := emit(r); err != nil {
		return err
	}
	for i := range s.damages {
		d := &s.damages[i]
		if err := emit(&TroubleRow{Row: "trouble", File: log, Position: &d.position, Problem: d.describe()}); err != nil {
			return err
		}
	}
	return nil
}

// SnapshotRow is a snapshot of the metadata.
type SnapshotRow struct {
	Row             string           `json:"row"` // "snapshot"
	File            string           `json:"file"`
	Op              uint64           `json:"op"`
	Time            string           `json:"time"`
	Timestamp       uint64           `json:"timestamp"` // of the operation, microseconds
	ClientsTableMax uint32           `json:"clients_table_max"`
	Bytes           int              `json:"bytes"`
	Checksum        string           `json:"checksum"`
	Users           int              `json:"users"`
	Sessions        int              `json:"sessions"`
	Streams         []StreamOverview `json:"streams"`
}

// Text implements Row.
func (r *SnapshotRow) Text() string {
	topics, partitions := 0, 0
	for _, s := range r.Streams {
		topics += len(s.Topics)
		for _, t := range s.Topics {
			partitions += len(t.Partitions)
		}
	}
	return fmt.Sprintf("%s: metadata after op %d of %s, %s, checksum %s, client table of %d\n  %s, %s, %s, %s, %s", r.File, r.Op, r.Time,
		size(int64(r.Bytes)), r.Checksum, r.ClientsTableMax, many(r.Users, "user"), many(r.Sessions, "session"), many(len(r.Streams), "stream"),
		many(topics, "topic"), many(partitions, "partition"))
}

// DescribeSnapshot shows a snapshot of the metadata.
func DescribeSnapshot(fsys vfs.FS, name string, emit Emit) error {
	frame, err := snapshot.Read(fsys, name)
	if err != nil {
		return err
	}
	if frame == nil {
		return emit(&TroubleRow{Row: "trouble", File: name, Problem: name + " is not there: no checkpoint was written yet"})
	}
	state, err := metadata.RestoreFrame(frame)
	if err != nil {
		return err
	}
	view := state.View()
	return emit(&SnapshotRow{
		Row: "snapshot", File: name, Op: frame.Op, Time: moment(frame.CreatedAt), Timestamp: frame.CreatedAt, ClientsTableMax: frame.ClientsTableMax,
		Bytes: len(frame.Bytes), Checksum: frame.Checksum.String(), Users: view.UsersCount(), Sessions: state.SessionsCount(),
		Streams: streamsOf(view, func(uint32, uint32, uint32, *PartitionOverview) {}),
	})
}

// FileKind tells what a path is.
type FileKind uint8

// Kinds of paths.
const (
	UnknownFile FileKind = iota
	DataDirectory
	PartitionDirectory
	SuperblockFile
	JournalFile
	SnapshotFile
	SegmentFile
	IndexFile
	AnchorFile
	OwnerFile
)

// Detect tells what a path is, by its name and by what lies in it.
func Detect(fsys vfs.FS, name string) (FileKind, error) {
	info, err := fsys.Stat(name)
	if err != nil {
		return UnknownFile, err
	}
	has := func(child string) bool {
		_, err := fsys.Stat(path.Join(name, child))
		return err == nil
	}
	slots := superblock.Names()
	if info.IsDir {
		switch {
		case has("metadata") || has("streams"):
			return DataDirectory, nil
		case has(segment.OwnerName) || has(segment.PurgeName):
			return PartitionDirectory, nil
		case has(slots[0]) || has(slots[1]):
			return SuperblockFile, nil
		}
		return UnknownFile, nil
	}
	switch base := path.Base(name); {
	case base == slots[0] || base == slots[1]:
		return SuperblockFile, nil
	case base == wal.JournalName || base == wal.MirrorName:
		return JournalFile, nil
	case base == snapshot.FileName:
		return SnapshotFile, nil
	}
	kind, _ := segment.KindOf(path.Base(name))
	return map[segment.FileKind]FileKind{
		segment.LogFile: SegmentFile, segment.IndexFile: IndexFile, segment.AnchorFile: AnchorFile, segment.OwnerFile: OwnerFile,
	}[kind], nil
}

// DescribeFile shows a file of a partition directory that has no subcommand of its own.
func DescribeFile(fsys vfs.FS, name string, kind FileKind, emit Emit) error {
	if kind == OwnerFile {
		return describeOwner(fsys, path.Dir(name), emit)
	}
	_, start := segment.KindOf(path.Base(name))
	return describeAnchor(fsys, path.Dir(name), start, emit)
}
