package shardlog

import (
	"cmp"
	"slices"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

// groupScan is a GroupLog in the making.
type groupScan struct {
	GroupLog
	// gap is damage that the group must still chain across, crossed such that it has.
	gap, crossed *InteriorError
}

// collect takes in one intact record. Records of a group come in their order.
func (ls *Logs) collect(found *foundLog, f *logFile, pos int64, h *wal.RecordHead, payload []byte) {
	if h.Kind == wal.KindClean {
		return
	}
	k := keyOf(h)
	inc := ls.registry.incarnation(k)
	if inc.scan == nil {
		inc.scan = &groupScan{GroupLog: GroupLog{Group: k.group, Revision: k.revision}}
	}
	g := inc.scan
	if d := found.damaged; d != nil && h.Kind != wal.KindBirth && !inc.isIn(found.log) {
		g.gap = d // its earlier records here, if there were any, were in the damage
	}
	n := ls.registry.need(k, f)
	if g.Dropped {
		return
	}
	if h.Kind == wal.KindPrepare {
		header := (*protocol.PrepareHeader)(payload)
		n.raise(header.Op())
		g.prepare(EntryRef{
			Op: header.Op(), Checksum: header.Common().Checksum(), Parent: header.Parent(),
			file: f, pos: pos, bytes: h.PayloadBytes,
		})
		return
	}
	m := mark{file: f, pos: pos, batch: h.Batch, kind: h.Kind}
	m.op = g.control(h.Kind, f.header.life, payload)
	ls.registry.observe(inc, m)
}

// isIn reports whether a file of the log holds records of the incarnation.
func (i *incarnation) isIn(l *Log) bool {
	return slices.ContainsFunc(i.needs, func(n *need) bool { return n.file.log == l })
}

// suspect makes every group met in the log so far show that it chains across damage.
func (ls *Logs) suspect(found *foundLog, e *InteriorError) {
	found.damaged = e
	for _, inc := range ls.registry.incarnations {
		if inc.isIn(found.log) {
			inc.scan.gap = e
		}
	}
}

// head is the highest op of the group and its identity; the identity is zero when it is not known.
func (g *groupScan) head() (op uint64, checksum protocol.Uint128) {
	for _, e := range slices.Backward(g.Entries) {
		if !e.IsLocal() {
			return e.Op, e.Checksum
		}
	}
	if c := g.Checkpoint; c != nil && c.HasHeader() {
		return c.Op, c.Header.Common().Checksum()
	} else if c != nil {
		return c.Op, protocol.Uint128{}
	}
	return 0, protocol.Uint128{}
}

// prepare puts an op into its place. The same op again changes nothing; another one of that number replaces it
// and everything above.
func (g *groupScan) prepare(e EntryRef) {
	if c := g.Checkpoint; c != nil && e.Op <= c.Op && g.gap == nil {
		return
	}
	i, _ := slices.BinarySearchFunc(g.Entries, e.Op, func(e EntryRef, op uint64) int { return cmp.Compare(e.place, op) })
	known := i < len(g.Entries) && g.Entries[i].Op == e.Op
	if known && g.Entries[i].Checksum == e.Checksum {
		return
	}
	if g.gap != nil {
		g.chains(&e)
	}
	if known {
		g.truncate(e.Op)
		i = len(g.Entries)
	}
	if c := g.Checkpoint; c == nil || e.Op > c.Op {
		e.place = e.Op
		g.Entries = slices.Insert(g.Entries, i, e)
	}
}

// chains decides by the first prepare behind damage whether the group lost something in it.
func (g *groupScan) chains(e *EntryRef) {
	op, checksum := g.head()
	if e.Op == op && e.Checksum == checksum {
		return // it was there before the damage, too
	}
	if checksum.IsZero() || e.Op != op+1 || e.Parent != checksum {
		g.State, g.Reason = Lost, g.gap
	}
	g.gap, g.crossed = nil, g.gap
}

// hasGround reports whether the first prepare follows the checkpoint. A group that lost its checkpoint in damage may
// chain across it all the same.
func (g *groupScan) hasGround() bool {
	var ground uint64
	if g.Checkpoint != nil {
		ground = g.Checkpoint.Op
	}
	for i := range g.Entries {
		if !g.Entries[i].IsLocal() {
			return g.Entries[i].Op == ground+1
		}
	}
	return true
}

// truncate drops prepares from an op on. Local records stay, behind what is left.
func (g *groupScan) truncate(fromOp uint64) {
	g.Entries = slices.DeleteFunc(g.Entries, func(e EntryRef) bool { return !e.IsLocal() && e.Op >= fromOp })
	for i := range g.Entries {
		g.Entries[i].place = min(g.Entries[i].place, max(fromOp, 1)-1)
	}
}

// checkpoint makes c the ground that the entries stand on.
func (g *groupScan) checkpoint(c *Checkpoint) {
	g.Checkpoint = c
	g.TrustLife = max(g.TrustLife, c.TrustLife)
	g.Entries = slices.DeleteFunc(g.Entries, func(e EntryRef) bool { return e.place <= c.Op })
}

// trust notes that the records of the group are whole from this point on.
func (g *groupScan) trust(life uint64) {
	g.TrustLife = max(g.TrustLife, life)
	g.State, g.Reason, g.gap, g.crossed, g.LostMark = Intact, nil, nil, nil, false
}

// control takes in a record of another kind, whose payload is known to decode, and returns the op of its mark.
func (g *groupScan) control(kind wal.Kind, life uint64, payload []byte) (op uint64) {
	switch kind {
	case wal.KindCheckpoint, wal.KindInstalled:
		c, _ := DecodeCheckpoint(payload)
		if g.Installed = kind == wal.KindInstalled; g.Installed {
			g.Reset = nil
			g.trust(life)
		}
		g.checkpoint(&c)
		return c.Op
	case wal.KindTruncate:
		t, _ := decodeTruncate(payload)
		g.Truncated = &t
		g.truncate(t.FromOp)
		return t.FromOp
	case wal.KindReset:
		r, _ := decodeReset(payload)
		g.Reset, g.Checkpoint, g.Installed, g.Entries = &r, nil, false, nil
	case wal.KindLost:
		g.LostMark = true
	case wal.KindAdopted:
		a, _ := decodeAdopted(payload)
		g.Adopted = &a
		g.trust(life)
	case wal.KindAccepted:
		a, _ := decodeAccepted(payload)
		g.Accepted = &a
		g.trust(life)
	case wal.KindLocal:
		p, _ := decodeLocal(payload)
		place, _ := g.head()
		if n := len(g.Entries); n > 0 {
			place = max(place, g.Entries[n-1].place)
		}
		g.Entries = append(g.Entries, EntryRef{Local: &p, place: place})
	case wal.KindBirth:
		g.Born = true
		g.trust(life)
	case wal.KindDropped:
		g.Dropped, g.Entries, g.gap = true, nil, nil
	}
	return 0
}

// finishGroups settles what the end of the logs decides.
func (ls *Logs) finishGroups() {
	for _, inc := range ls.registry.incarnations {
		g := inc.scan
		if g.gap == nil && g.crossed != nil && !g.hasGround() {
			g.gap = g.crossed
		}
		if g.gap != nil {
			g.State, g.Reason = Lost, g.gap
		}
		for _, fl := range ls.found {
			if fl.broken != nil && inc.isIn(fl.log) {
				g.State, g.Reason = Broken, fl.broken
			}
		}
		for i := range g.Entries {
			if f := g.Entries[i].file; f != nil && (f.header.bootID != ls.opts.BootID || ls.opts.BootID == [16]byte{}) {
				g.Rebooted = true
			}
		}
		if n := len(g.Entries); n < cap(g.Entries)/2 {
			g.Entries = slices.Clip(slices.Clone(g.Entries))
		}
	}
}
