package partition

// Recovered is what boot found in the directory of a partition.
type Recovered struct {
	Segments []Segment // ascending; the last one is the active one
	// Claim is what the superblock says about offsets, zero when it was never written.
	Claim   Claim
	Offsets map[ConsumerKey]uint64
	// PurgeGeneration is the applied generation of this incarnation.
	PurgeGeneration uint64
	// Checkpoint and Dedup are those of the log, zero and nil where there is none.
	Checkpoint Checkpoint
	Dedup      []DedupEntry
}

// Restored tells what Restore changed.
type Restored struct {
	// ClampedOffsets is the number of stored offsets above the end of the data; DroppedOffsets of those in
	// a partition without any message. Clamped lists what must be rewritten.
	ClampedOffsets, DroppedOffsets int
	// Replant asks for an empty segment at MintFrontier before anything is appended: the last segment ends
	// below it.
	Replant bool
}

// Restore takes over what boot found, once, before any other call: Load, then Settle.
func (p *Partition) Restore(r Recovered) Restored {
	p.Load(r)
	return p.Settle(r.Claim)
}

// Load takes over the files, before any other call. What the log holds above the checkpoint may then be applied:
// batches that the segments hold are not counted again, the others are written.
func (p *Partition) Load(r Recovered) {
	p.empty() // of an attempt that could not be ended
	p.minted, p.staged, p.held, p.jobs = queue[mint]{}, queue[stagedBatch]{}, heldApply{}, nil
	p.takeSegments(r.Segments)
	p.purge = purgeState{applied: r.PurgeGeneration, proposed: r.PurgeGeneration, barrier: r.Checkpoint.BarrierOp}
	p.applied, p.checkpointed = r.Checkpoint.Header, r.Checkpoint.Frontier
	p.dedup.load(r.Dedup)
	for key, v := range r.Offsets {
		p.offsets.durable[key] = v
		p.noteKey(p.cursors.store(key, v), key)
	}
}

// NextRecovered is the offset that the next batch of a replay has, as far as the files tell. Known is false while
// nothing tells it.
func (p *Partition) NextRecovered() (next uint64, known bool) {
	if p.hasActive && p.active.Size == 0 {
		return p.active.Start, true // behind an authorised gap, perhaps
	}
	return p.heldFrontier(), p.seeded
}

// Settle ends the recovery, after Load and replay. Real data wins over the recorded frontier, and minting begins
// at the recorded ceiling: what lies between may have been seen.
func (p *Partition) Settle(claim Claim) Restored {
	p.appended, p.live = p.committed, p.seeded
	if !p.seeded && p.hasActive && p.active.Start > 0 && !p.plantedByReservation(claim) {
		p.committed, p.seeded = p.active.Start-1, true
		p.appended, p.live = p.committed, true
	}
	p.reserve = reservation{frontier: claim.Frontier, reserved: claim.Reserved}
	p.restoreFrontier()
	out := p.clampOffsets()
	out.Replant = p.live && p.solo() && p.needsReplant()
	p.dirty = true
	p.Publish()
	return out
}

// Segments returns the chain of segments, the active one last.
func (p *Partition) Segments() []Segment {
	chain := append([]Segment(nil), p.sealed...)
	if p.hasActive {
		active := p.active
		active.LastIndex, active.Indexed = p.write.lastIdx, p.write.indexed
		chain = append(chain, active)
	}
	return chain
}

// takeSegments makes found the log. The last segment is the active one.
func (p *Partition) takeSegments(found []Segment) {
	p.sealed, p.active, p.hasActive, p.messages, p.bytes = nil, Segment{}, false, 0, 0
	for i, s := range found {
		p.messages += s.Messages()
		p.bytes += s.Size
		if s.Size > 0 {
			p.committed, p.seeded = s.End, true
		}
		if i < len(found)-1 {
			p.sealed = append(p.sealed, s)
			continue
		}
		p.active, p.hasActive = s, true
		p.write = writeCursor{exists: true, start: s.Start, pos: s.Size, lastIdx: s.LastIndex, indexed: s.Indexed}
	}
}

// plantedByReservation reports whether the only, empty segment stands where a reservation ended and no data
// is known up to there: its name then says nothing about what was committed.
func (p *Partition) plantedByReservation(c Claim) bool {
	return p.solo() && p.active.Start == c.Reserved && c.Frontier < c.Reserved
}

func (p *Partition) restoreFrontier() {
	if f := p.reserve.frontier; f > 0 && (!p.seeded || p.committed < f-1) {
		p.committed, p.seeded = f-1, true
	}
	point := p.reserve.frontier
	if p.solo() {
		point = max(point, p.reserve.reserved)
		if p.hasActive {
			point = max(point, p.active.Start) // its name says that what is below may have been given out
		}
	}
	if point > 0 && (!p.live || p.appended < point-1) {
		p.appended, p.live = point-1, true
	}
}

// needsReplant reports whether the next offset does not continue the last segment.
func (p *Partition) needsReplant() bool {
	next := p.MintFrontier()
	if !p.hasActive {
		return next > 0
	}
	if p.active.Size == 0 {
		return p.active.Start != next
	}
	return p.active.End+1 != next
}

// Replanted tells that the host made the chain end at MintFrontier: an empty last segment was removed or the
// last one sealed behind an anchor, and an empty one planted. chain is what is there now.
func (p *Partition) Replanted(chain []Segment) {
	committed, seeded := p.committed, p.seeded
	p.takeSegments(chain)
	p.committed, p.seeded = committed, seeded
	p.generation++
	p.dirty = true
	p.Publish()
}

// clampOffsets lowers stored offsets above the end: a value that points past the data would make its consumer
// skip what comes next.
func (p *Partition) clampOffsets() (out Restored) {
	for key, v := range p.offsets.durable {
		switch {
		case !p.seeded:
			out.DroppedOffsets++
			delete(p.offsets.durable, key)
			if p.cursors.remove(key) {
				p.offsets.counts[key.Kind]--
			}
		case v > p.committed:
			out.ClampedOffsets++
			p.offsets.durable[key] = p.committed
			p.cursors.store(key, p.committed)
		}
	}
	return out
}

// Cursors returns the table of live consumer offsets. Safe for any goroutine.
func (p *Partition) Cursors() *Cursors { return &p.cursors }
