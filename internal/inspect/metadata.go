package inspect

import (
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/snapshot"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// Identity is what a configuration says about the owner of a data directory.
type Identity struct {
	Cluster         protocol.Uint128
	Replica         uint8
	Replicas        uint8
	JournalSlots    int
	ClientsTableMax int
}

// group is the metadata group, and the node, as a start would have them.
type group struct {
	Identity
	rehearsal *node.MetadataRehearsal // nil: it cannot be trusted, the findings say why
	start     *node.Rehearsal         // nil: the start is refused
	diff      []vfs.Change            // what the start would write, make or remove
	fresh     bool                    // nothing was ever written
	bytes     int64
	files     int
}

// view is the metadata as of its newest operation; empty when it cannot be trusted.
func (g *group) view() *metadata.View {
	if g.rehearsal == nil {
		return &metadata.View{}
	}
	return g.rehearsal.View
}

const (
	remedyWhole  = "restore the whole data directory from a backup, never single files"
	remedyDevice = "mend the device or the permissions, then verify again"
	remedyNone   = "nothing to do"
)

// loadGroup rehearses a start on an overlay, and finds what is wrong with the metadata.
func loadGroup(o *Options, found *findings) *group {
	g := &group{}
	dir := o.Layout.Metadata()
	if o.Want != nil {
		g.Identity = *o.Want
	} else {
		g.identify(o.FS, dir)
	}
	g.fresh = !g.written(o.FS, dir)
	r, err := node.RehearseMetadata(g.options(vfs.NewOverlay(o.FS), o))
	var table *node.ClientsTableError
	if o.Want == nil && errors.As(err, &table) {
		g.ClientsTableMax = table.Stored
		r, err = node.RehearseMetadata(g.options(vfs.NewOverlay(o.FS), o))
	}
	if g.rehearsal = r; err != nil {
		g.refused(o, err, found)
	} else {
		g.rehearseStart(o, found)
	}
	g.measure(o.FS, dir)
	return g
}

// rehearseStart opens all of the directory.
func (g *group) rehearseStart(o *Options, found *findings) {
	over := vfs.NewOverlay(o.FS)
	start, err := node.Rehearse(g.options(over, o))
	var lost *node.LostMetadataError
	switch {
	case errors.As(err, &lost):
		found.add(Refuses, relative(o.Layout.Path(), lost.Dir), "holds no metadata, but there are directories of %s", many(lost.Partitions, "partition")).
			remedy(remedyWhole)
		return
	case err != nil:
		found.add(Refuses, "", "%v", err).remedy(remedyWhole)
		return
	}
	g.start = start
	if g.diff, err = over.Diff(); err != nil {
		found.add(Refuses, "", "%v", err).remedy(remedyDevice)
	}
	g.reportRepairs(o, found)
}

// options are those of a rehearsal.
func (g *group) options(fsys vfs.FS, o *Options) node.Options {
	return node.Options{
		FS: fsys, Log: slog.New(slog.DiscardHandler), Layout: o.Layout, Cluster: g.Cluster, ReplicaID: g.Replica, Replicas: g.Replicas,
		Shards: shardLogs(o), BootID: o.BootID, Incarnation: protocol.Uint128From64(1),
		Metadata: node.MetadataOptions{
			JournalSlots: g.JournalSlots, ClientsTableMax: g.ClientsTableMax, JournalEpoch: 1,
			Root: func() (string, string, error) { return "rehearsal", "", nil },
		},
		Fatal: func(int, error) {},
	}
}

// shardLogs is the number of shards that have a log, at least one.
func shardLogs(o *Options) int {
	n := 1
	for {
		if _, err := o.FS.Stat(o.Layout.WAL(n)); err != nil {
			return n
		}
		n++
	}
}

// identify finds out whose files these are: from the superblock, else from the journal.
func (g *group) identify(fsys vfs.FS, dir string) {
	g.Replicas, g.JournalSlots, g.ClientsTableMax = 1, 1, metadata.ClientsTableDefault
	for _, name := range superblock.Names() {
		if slot, written, err := superblock.ReadSlot(fsys, path.Join(dir, name)); err == nil && written {
			g.Cluster, g.Replica, g.Replicas = slot.State.Cluster, slot.State.ReplicaID, slot.State.ReplicaCount
		}
	}
	if head, err := wal.ReadJournalHead(fsys, path.Join(dir, wal.JournalName)); err == nil && g.Cluster.IsZero() {
		g.Cluster, g.Replica = head.Cluster, head.Replica
	}
	if head, _, err := wal.ReadMirror(fsys, path.Join(dir, wal.MirrorName)); err == nil && head.Slots > 0 {
		g.JournalSlots = int(head.Slots)
	}
}

// written reports whether anything of the group was ever written.
func (g *group) written(fsys vfs.FS, dir string) bool {
	for _, name := range append(metadataNames(), ".") {
		if info, err := fsys.Stat(path.Join(dir, name)); err == nil && !info.IsDir {
			return true
		}
	}
	return false
}

// metadataNames are the files of the metadata folder.
func metadataNames() []string {
	slots := superblock.Names()
	return []string{wal.JournalName, wal.MirrorName, slots[0], slots[1], snapshot.FileName}
}

// refused reports why a start refuses, and what else is wrong with the files that it did not come to.
func (g *group) refused(o *Options, err error, found *findings) {
	data, dir := o.Layout.Path(), o.Layout.Metadata()
	file, position := placeOf(dir, err)
	f := found.add(Refuses, relative(data, file), "%s", strings.TrimPrefix(cause(err), "metadata group: ")).remedy("%s", remedyFor(err))
	if position >= 0 {
		f.at(position)
	}
	findSlots(o.FS, data, dir, Refuses, found, file)
	name := path.Join(dir, wal.JournalName)
	_, stop, err := wal.Walk(o.FS, name, func(*wal.Record) bool { return true })
	switch {
	case file == name || isMissing(err):
	case err != nil:
		found.add(Refuses, relative(data, name), "%v", err).remedy(remedyWhole)
	case stop != nil && stop.Durable:
		found.add(Refuses, relative(data, name), "op %d of batch %d had been durable, now %s", stop.Op, stop.Batch, stop.Reason).
			at(stop.Position).remedy(remedyWhole)
	}
}

// remedyFor is what to do about a refusal.
func remedyFor(err error) string {
	var table *node.ClientsTableError
	var identity *superblock.IdentityError
	var owner *wal.OwnerError
	switch {
	case errors.As(err, &table):
		return "set metadata.clients_table_max back to the value that the data was created with"
	case errors.As(err, &identity), errors.As(err, &owner):
		return "use the configuration that the directory was written with: cluster.name, and the replica id"
	}
	return remedyWhole
}

// findSlots names every slot of a superblock that cannot be read by itself; said is told already.
func findSlots(fsys vfs.FS, data, dir string, c Consequence, found *findings, said string) {
	for _, name := range superblock.Names() {
		at := path.Join(dir, name)
		if _, _, err := superblock.ReadSlot(fsys, at); err != nil && at != said {
			found.add(c, relative(data, at), "%s", cause(err)).remedy(remedyWhole)
		}
	}
}

// cause is an error without the name of the file, which stands beside it.
func cause(err error) string {
	var unreadable *superblock.UnreadableError
	if errors.As(err, &unreadable) {
		err = unreadable.Cause
	}
	return err.Error()
}

// placeOf finds file and position in a refusal; -1 when there is no position.
func placeOf(dir string, err error) (string, int64) {
	var slot *superblock.UnreadableError
	var interior *wal.InteriorError
	var kind *wal.KindError
	var version *wal.VersionError
	var header *wal.HeaderError
	var owner *wal.OwnerError
	var missing *wal.MissingError
	var entry *wal.EntryError
	var truncated *snapshot.TruncatedError
	var checksum *snapshot.ChecksumError
	var format *snapshot.VersionError
	var decode *snapshot.DecodeError
	switch {
	case errors.As(err, &truncated), errors.As(err, &checksum), errors.As(err, &format), errors.As(err, &decode):
		return path.Join(dir, snapshot.FileName), -1
	case errors.As(err, &slot):
		return slot.File, -1
	case errors.As(err, &interior):
		return interior.File, interior.Position
	case errors.As(err, &entry):
		return entry.File, entry.Position
	case errors.As(err, &kind):
		return kind.File, kind.Position
	case errors.As(err, &version):
		return version.File, -1
	case errors.As(err, &header):
		return header.File, -1
	case errors.As(err, &owner):
		return owner.File, -1
	case errors.As(err, &missing):
		return missing.File, -1
	}
	return dir, -1
}

// reportRepairs tells what the start would write in the metadata folder.
func (g *group) reportRepairs(o *Options, found *findings) {
	data, dir := o.Layout.Path(), o.Layout.Metadata()
	for _, c := range g.diff {
		if g.fresh || path.Dir(c.Name) != dir {
			continue
		}
		at := relative(data, c.Name)
		switch name := path.Base(c.Name); {
		case name == wal.JournalName && c.Kind == vfs.Changed && c.After < c.Before:
			found.add(Repaired, at, "%d bytes at the end are an append that was never answered; cut off", c.Before-c.After).at(c.After).remedy(remedyNone)
		case name == wal.JournalName, name == wal.MirrorName && c.Kind == vfs.Made:
			found.add(Repaired, at, "missing or of before a crash; written anew").remedy(remedyNone)
		case name == wal.MirrorName:
			found.add(Repaired, at, "behind the journal, or of another metadata.journal_slots; brought up to date").at(c.From).remedy(remedyNone)
		case c.Kind == vfs.Removed:
			found.add(Continues, at, "leftover of an unfinished replacement, removed")
		}
	}
	if g.rehearsal.Sequence == 0 && g.rehearsal.JournalOps > 0 {
		found.add(Repaired, relative(data, dir), "the superblock is missing; %d operations are recovered from the journal", g.rehearsal.JournalOps).
			remedy("restore the whole data directory from a backup if the files were removed by hand")
	}
}

// measure counts the files of the group.
func (g *group) measure(fsys vfs.FS, dir string) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return // reported where it is opened
	}
	for _, name := range names {
		if info, err := fsys.Stat(path.Join(dir, name)); err == nil && !info.IsDir {
			g.files, g.bytes = g.files+1, g.bytes+info.SizeBytes
		}
	}
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
