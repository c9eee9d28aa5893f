package inspect

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// place is a partition and what the metadata says about it.
type place struct {
	id    protocol.GroupID
	dir   string
	known metadata.Partition
	topic *metadata.Topic // nil: the metadata cannot be read, so nothing is known
}

// checkup is the examination of one partition directory.
type checkup struct {
	fsys    vfs.FS
	data    string
	options *Options
	group   *group
	place   place
	found   findings

	rehearsal *node.PartitionRehearsal // nil: the partition is fenced, or the start refused
	scrubs    []scrubbed
	files     int
	bytes     int64
	advance   func(int64)
}

func (c *checkup) rel(names ...string) string {
	return relative(c.data, path.Join(append([]string{c.place.dir}, names...)...))
}

const remedyData = "restore the whole data directory from a backup, or delete the topic if its data may be given up"

// run examines the directory: every byte of its logs first, then what a start would do with it.
func (c *checkup) run() {
	names, err := c.fsys.ReadDir(c.place.dir)
	if err != nil {
		c.found.add(Fences, c.rel(), "%v", err).remedy(remedyDevice)
		return
	}
	aside := c.foreign()
	c.scrubAll(names)
	if aside {
		return
	}
	c.rehearse()
	c.reportDamage()
	c.checkAnchors(names)
	c.checkOffsets()
	c.checkNames(names)
	c.measure(names)
}

// foreign reports whether the directory belongs to an earlier incarnation of the partition.
func (c *checkup) foreign() bool {
	owner, err := segment.ReadOwner(c.fsys, c.place.dir)
	revision := c.place.known.CreatedRevision
	if err != nil || c.place.topic == nil || owner.Evidence != segment.OwnerSealed || owner.Revision >= revision {
		return false
	}
	c.found.add(SetAside, c.rel(), "belongs to incarnation %d of the partition, the metadata knows incarnation %d: a deletion was cut short, or the metadata is of a later time; the partition begins empty", owner.Revision, revision).
		remedy("look at the directory before the start; restore the whole data directory from a backup if its data is wanted")
	return true
}

// scrubAll reads every log in full.
func (c *checkup) scrubAll(names []string) {
	_, _, id := c.place.id.Partition()
	for _, name := range names {
		kind, start := segment.KindOf(name)
		if kind != segment.LogFile {
			continue
		}
		s, err := scrub(c.fsys, c.place.dir, start, uint64(id), c.advance)
		if err != nil {
			c.found.add(Unreadable, c.rel(name), "%v", err).remedy(remedyDevice)
			continue
		}
		c.scrubs = append(c.scrubs, s)
	}
}

// rehearse asks what the start made of the directory.
func (c *checkup) rehearse() {
	if c.group.start == nil {
		c.rehearseBlind()
		return
	}
	r, err := c.group.start.Partition(c.place.id)
	if err != nil {
		c.fenced(err)
	} else {
		c.rehearsal = r
		c.reportOffsets()
	}
	c.reportRepairs(c.group.diff)
}

// rehearseBlind recovers what can be recovered without a start that got so far.
func (c *checkup) rehearseBlind() {
	_, _, id := c.place.id.Partition()
	over := vfs.NewOverlay(c.fsys)
	store, outcome, err := superblock.Open(over, c.place.dir)
	if err == nil && outcome == superblock.Present {
		state, _ := store.State()
		err = state.CheckIdentity(c.group.Cluster, c.group.Replica, c.group.Replicas)
	}
	if err == nil {
		_, err = segment.Recover(over, c.place.dir, uint64(id), segment.Options{Solo: c.group.Replicas <= 1})
	}
	if err != nil {
		c.fenced(err)
	}
	diff, err := over.Diff()
	if err != nil {
		c.found.add(Fences, c.rel(), "%v", err).remedy(remedyDevice)
	}
	c.reportRepairs(diff)
}

// fenced reports why a start fences the partition.
func (c *checkup) fenced(err error) {
	var fence *node.FenceError
	if errors.As(err, &fence) {
		err = fence.Reason
	}
	var r *segment.Refusal
	if errors.As(err, &r) {
		c.refused(r)
		return
	}
	var slot *superblock.UnreadableError
	var owner *node.OwnerError
	var identity *superblock.IdentityError
	text := strings.TrimPrefix(strings.TrimPrefix(cause(err), c.place.dir), ": ")
	switch {
	case errors.As(err, &slot):
		c.found.add(Fences, relative(c.data, slot.File), "%s", text).remedy(remedyWhole)
		findSlots(c.fsys, c.data, c.place.dir, Fences, &c.found, slot.File)
	case errors.As(err, &owner):
		c.found.add(Fences, c.rel(segment.OwnerName), "%s", owner.Reason).remedy(remedyData)
	case errors.As(err, &identity):
		c.found.add(Fences, c.rel(), "%s", text).remedy("put the directory of this cluster back")
	default:
		c.found.add(Fences, c.rel(), "%s", text).remedy(remedyWhole)
	}
}

// refused reports what recovery must not repair.
func (c *checkup) refused(r *segment.Refusal) {
	f := c.found.add(Fences, c.rel(segment.LogName(r.Start)), "%s", r.Kind.String()).remedy(remedyData)
	switch r.Kind {
	case segment.InteriorDamage:
		f.at(r.Position)
		if d, ok := c.take(r.Start, r.Position); ok {
			f.Problem += ": " + d.describe()
		} else {
			f.Problem += fmt.Sprintf(": the bytes are no batch, data goes on at byte %d", r.Next)
		}
	case segment.Discontinuity, segment.ForeignBatch:
		f.at(r.Position).Problem += fmt.Sprintf(": expected %d, found %d", r.Expected, r.Found)
		c.take(r.Start, r.Position)
	case segment.Hole:
		f.Problem += fmt.Sprintf(": offsets from %d to %d are missing and no anchor allows it", r.Expected, r.Found-1)
	case segment.Overlap:
		f.Problem += fmt.Sprintf(": it begins at %d, the one before goes on up to %d", r.Found, r.Expected)
	case segment.HeadMissing:
		f.Problem += fmt.Sprintf(": it begins at %d, nothing was removed on purpose at or above %d", r.Found, r.Expected)
	case segment.EndMissing:
		f.Problem += fmt.Sprintf(": it ends before %d, data up to %d was on the device", r.Found, r.Expected)
	}
}

// take finds a damage of the scrub and removes it from what is still to be told.
func (c *checkup) take(start uint64, position int64) (damage, bool) {
	for i := range c.scrubs {
		s := &c.scrubs[i]
		for j, d := range s.damages {
			if s.start == start && d.position == position {
				s.damages = append(s.damages[:j:j], s.damages[j+1:]...)
				return d, true
			}
		}
	}
	return damage{}, false
}

// takeFrom removes every damage of a segment that reaches behind position: the start writes anew what is there.
func (c *checkup) takeFrom(start uint64, position int64) {
	for i := range c.scrubs {
		if s := &c.scrubs[i]; s.start == start {
			s.damages = slices.DeleteFunc(s.damages, func(d damage) bool { return d.next > position })
		}
	}
}

func (d *damage) describe() string {
	switch {
	case d.what != "":
		return d.what
	case d.tail:
		return fmt.Sprintf("the %d bytes at the end are no batch", d.next-d.position)
	}
	text := fmt.Sprintf("%d bytes are no batch, data goes on at byte %d", d.next-d.position, d.next)
	if d.resumes > d.expected {
		text += fmt.Sprintf("; offsets %d to %d are lost", d.expected, d.resumes-1)
	}
	return text
}

// reportOffsets tells where offsets go on, and what of the log is missing that the superblock knows of.
func (c *checkup) reportOffsets() {
	end, block := c.dataEnd(), &c.rehearsal.Superblock
	if c.rehearsal.WantsPurge {
		var messages uint64
		for i := range c.scrubs {
			messages += c.scrubs[i].messages
		}
		c.found.add(Deletes, c.rel(), "purge %d of the topic is not recorded here: the next start purges %d messages", c.place.known.PurgeGeneration, messages).
			remedy("nothing if the topic was purged just before the stop; else keep a copy of the directory before the start")
		return
	}
	if block.OffsetFrontier > end {
		what := fmt.Sprintf("the superblock knows of messages up to offset %d, the logs end before %d", block.OffsetFrontier-1, end)
		if c.place.topic.Options.EnforceFsync() {
			c.found.add(Unreadable, c.rel(), "%s, on a topic whose messages are synced before they are acknowledged", what).
				remedy("restore the whole data directory from a backup: files were removed, or the device lost what it had confirmed")
		} else {
			c.found.add(Tolerated, c.rel(), "%s", what).
				remedy("nothing after a loss of power, which this topic allows; else restore the whole data directory from a backup")
		}
	}
	if next := c.rehearsal.NextOffset; next > end {
		c.found.add(Continues, c.rel(), "offsets go on at %d, behind a gap of %d that were reserved or handed out when the server did not stop in order", next, next-end)
	}
}

// dataEnd is the offset behind the last message, or where an empty last segment begins.
func (c *checkup) dataEnd() uint64 {
	if len(c.scrubs) == 0 {
		return 0
	}
	last := &c.scrubs[len(c.scrubs)-1]
	if last.batches == 0 {
		return last.start
	}
	return last.end + 1
}

// measure counts files and bytes of the directory.
func (c *checkup) measure(names []string) {
	for _, name := range names {
		c.count(path.Join(c.place.dir, name))
	}
	for _, kind := range offsetKinds {
		dir := segment.OffsetDir(c.place.dir, kind)
		ids, err := c.fsys.ReadDir(dir)
		if err != nil {
			continue // missing, or reported
		}
		for _, id := range ids {
			c.count(path.Join(dir, id))
		}
	}
}

func (c *checkup) count(name string) {
	info, err := c.fsys.Stat(name)
	if err == nil && !info.IsDir {
		c.files, c.bytes = c.files+1, c.bytes+info.SizeBytes
	}
}
