package inspect

import (
	"path"
	"strconv"
	"strings"

	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
)

// reportRepairs tells what of a rehearsal concerns the directory.
func (c *checkup) reportRepairs(diff []vfs.Change) {
	for i := range diff {
		if isBelow(diff[i].Name, c.place.dir) && diff[i].Name != c.place.dir {
			c.reportChange(&diff[i])
		}
	}
}

func (c *checkup) reportChange(ch *vfs.Change) {
	name := relative(c.place.dir, ch.Name)
	kind, start := segment.KindOf(name)
	switch {
	case kind == segment.LogFile && ch.Kind == vfs.Changed && ch.From < ch.After:
		c.takeFrom(start, ch.From)
		c.found.add(Repaired, c.rel(name), "written anew from the shard log").at(ch.From).remedy(remedyNone)
	case kind == segment.LogFile && ch.Kind == vfs.Changed:
		c.take(start, ch.After)
		c.found.add(Repaired, c.rel(name), "torn end: %d bytes are an append that did not finish; cut off", ch.Before-ch.After).
			at(ch.After).remedy(remedyNone)
	case kind == segment.IndexFile && ch.Kind == vfs.Made && !c.planted(start):
		c.found.add(Repaired, c.rel(name), "missing; written anew from the log").remedy(remedyNone)
	case kind == segment.IndexFile && ch.Kind == vfs.Changed && ch.From >= ch.Before:
		c.found.add(Continues, c.rel(name), "behind its log, as after a kill; completed")
	case kind == segment.IndexFile && ch.Kind == vfs.Changed:
		c.found.add(Repaired, c.rel(name), "does not fit its log; written anew").at(ch.From).remedy(remedyNone)
	case kind == segment.OwnerFile && ch.Kind != vfs.Removed:
		c.reportOwner(name)
	case ch.Kind == vfs.Removed && strings.HasPrefix(name, "offsets/"):
		c.found.add(Continues, c.rel(name), "stored offset of a consumer group that was deleted; removed")
	case ch.Kind == vfs.Removed && (kind == segment.IndexFile || kind == segment.AnchorFile && start < c.dataEnd()):
		c.found.add(Discarded, c.rel(name), "its log is gone; removed").
			remedy("nothing if the segment was just removed by retention or a purge; else restore the whole data directory from a backup")
	case ch.Kind == vfs.Removed:
		c.found.add(Continues, c.rel(name), "leftover of unfinished work; removed")
	}
}

// reportOwner tells that a record of whose the directory is would be written.
func (c *checkup) reportOwner(name string) {
	if len(c.scrubs) == 0 {
		c.found.add(Continues, c.rel(name), "the first use of the partition did not finish; claimed again")
		return
	}
	if owner, err := segment.ReadOwner(c.fsys, c.place.dir); err == nil && owner.Evidence == segment.OwnerSealed && !owner.Stale {
		c.found.add(Continues, c.rel(name), "written anew: nothing is left of what was below the next offset")
		return
	}
	c.found.add(Repaired, c.rel(name), "missing, damaged or behind the other record of the owner; written anew").remedy(remedyNone)
}

// planted reports whether the rehearsal planted the segment.
func (c *checkup) planted(start uint64) bool {
	_, err := c.fsys.Stat(path.Join(c.place.dir, segment.LogName(start)))
	return isMissing(err)
}

// reportDamage tells what the scrub met and a start would not notice.
func (c *checkup) reportDamage() {
	for i := range c.scrubs {
		s := &c.scrubs[i]
		name := segment.LogName(s.start)
		for j := range s.damages {
			d := &s.damages[j]
			if d.tail && c.rehearsal == nil && i == len(c.scrubs)-1 {
				c.found.add(Repaired, c.rel(name), "torn end: %s", d.describe()).at(d.position).remedy("see to the other findings of this partition first")
				continue
			}
			c.found.add(Unreadable, c.rel(name), "%s; polls of them fail", d.describe()).at(d.position).remedy(remedyData)
		}
		if s.more > 0 {
			c.found.add(Unreadable, c.rel(name), "%d more damaged places", s.more).remedy(remedyData)
		}
		if s.indexBad > 0 && !c.indexRepaired(s.start) {
			c.found.add(Tolerated, c.rel(segment.IndexName(s.start)),
				"%d entries point at no batch, the first is number %d; readers check what they use and search further", s.indexBad, s.indexFirst).
				at(s.indexFirst * segment.IndexEntrySize).remedy("stop the server and remove the file; the next start writes it anew")
		}
	}
}

// indexRepaired reports whether a finding about the index of the segment was made already.
func (c *checkup) indexRepaired(start uint64) bool {
	name := c.rel(segment.IndexName(start))
	for _, f := range c.found {
		if f.Path == name && f.Consequence == Repaired {
			return true
		}
	}
	return false
}

// checkAnchors looks at every anchor: one that does not decode matters where there is a gap, which recovery finds.
func (c *checkup) checkAnchors(names []string) {
	for _, name := range names {
		kind, start := segment.KindOf(name)
		if kind != segment.AnchorFile {
			continue
		}
		a, ok, err := segment.ReadAnchor(c.fsys, c.place.dir, start)
		switch {
		case err != nil:
			c.found.add(Tolerated, c.rel(name), "%v", err).remedy("mend the device, then verify again")
		case !ok && c.rehearsal != nil:
			c.found.add(Tolerated, c.rel(name), "damaged; the segment needs none at present").remedy("keep an eye on the device")
		case !ok:
			c.found.add(Tolerated, c.rel(name), "damaged: the gap in front of its segment is not allowed any more").remedy(remedyWhole)
		case a.PlantedStart != start:
			c.found.add(Tolerated, c.rel(name), "names segment %d", a.PlantedStart).remedy(remedyWhole)
		}
	}
}

var offsetKinds = [...]segment.OffsetKind{segment.ConsumerOffset, segment.GroupOffset}

// checkOffsets reads the stored consumer offsets.
func (c *checkup) checkOffsets() {
	for _, kind := range offsetKinds {
		stored, err := segment.LoadOffsets(c.fsys, c.place.dir, kind)
		if err != nil {
			if c.rehearsal != nil {
				c.found.add(Tolerated, relative(c.data, segment.OffsetDir(c.place.dir, kind)), "%v", err).remedy(remedyDevice)
			}
			continue // or it is why the partition is fenced
		}
		for i := range stored {
			c.checkOffset(kind, &stored[i])
		}
	}
}

func (c *checkup) checkOffset(kind segment.OffsetKind, o *segment.StoredOffset) {
	file := relative(c.data, path.Join(segment.OffsetDir(c.place.dir, kind), strconv.FormatUint(uint64(o.ID), 10)))
	const lost = "store the offset again; until then the consumer starts over"
	switch {
	case o.Err != nil:
		c.found.add(Discarded, file, "%v", o.Err).remedy(lost)
		return
	case o.State == segment.OffsetTorn:
		c.found.add(Discarded, file, "torn: the stored offset is not whole").remedy(lost)
		return
	case o.State == segment.OffsetCorrupt:
		c.found.add(Discarded, file, "checksum does not fit").remedy(lost)
		return
	case o.State == segment.OffsetUnchecked:
		c.found.add(Ignored, file, "has no checksum; the value %d is taken", o.Value)
	}
	if c.rehearsal == nil {
		return
	}
	if end := c.committedEnd(); o.Value >= end && end > 0 {
		c.found.add(Tolerated, file, "offset %d is above the end of the data; the server takes %d", o.Value, end-1).
			remedy("nothing after a loss of power, which takes the end of a default topic")
	}
}

// committedEnd is the offset behind the last one that the partition counts as committed.
func (c *checkup) committedEnd() uint64 {
	return max(c.dataEnd(), c.rehearsal.Superblock.OffsetFrontier)
}

// checkNames tells which names in the directory nobody knows.
func (c *checkup) checkNames(names []string) {
	slots := superblock.Names()
	for _, name := range names {
		kind, _ := segment.KindOf(name)
		switch {
		case kind != segment.OtherFile, name == slots[0], name == slots[1], name == "offsets":
		case strings.HasSuffix(name, ".tmp"):
			c.found.add(Ignored, c.rel(name), "leftover of an unfinished replacement; the next one overwrites it")
		case path.Ext(name) == ".log":
			c.found.add(Tolerated, c.rel(name), "the name is not that of a segment; the server leaves it alone").
				remedy("move it away, or give it the name back that it had")
		default:
			c.found.add(Ignored, c.rel(name), "unknown file").remedy("remove it if nobody misses it")
		}
	}
	for _, kind := range offsetKinds {
		dir := segment.OffsetDir(c.place.dir, kind)
		ids, err := c.fsys.ReadDir(dir)
		if err != nil {
			continue // missing, or reported
		}
		for _, id := range ids {
			if _, err := strconv.ParseUint(id, 10, 32); err != nil {
				c.found.add(Ignored, relative(c.data, path.Join(dir, id)), "no stored offset; leftover of an unfinished replacement or a foreign file")
			}
		}
	}
}
