package partition

import "math"

// removalBudget is the number of segments that one pass removes at most.
const removalBudget = 16

// Retain decides what expiry and the size budget remove now and asks for it. It reports whether the budget
// of one pass was spent, so that the caller comes again soon.
func (p *Partition) Retain(nowMicros uint64) (more bool) {
	n := max(p.expired(nowMicros), p.oversized())
	if n == 0 {
		return false
	}
	return p.removeThrough(p.sealed[n-1].End)
}

// expired is the length of the leading run of sealed segments whose newest batch is too old.
func (p *Partition) expired(nowMicros uint64) int {
	age := p.cfg.Options.ExpiryMicros
	if age == 0 {
		return 0
	}
	n := 0
	for n < len(p.sealed) && p.sealed[n].MaxMicros != 0 && saturatingAdd(p.sealed[n].MaxMicros, age) <= nowMicros {
		n++
	}
	return n
}

// oversized is how many of the oldest sealed segments must go for the rest to fit the budget.
func (p *Partition) oversized() int {
	budget := p.cfg.Options.BudgetBytes
	if budget <= 0 {
		return 0
	}
	var total int64
	for i := range p.sealed {
		total += p.sealed[i].Size
	}
	n := 0
	for n < len(p.sealed) && total > budget {
		total -= p.sealed[n].Size
		n++
	}
	return n
}

// Truncate removes the sealed segments that end at or below upTo (DeleteSegments).
func (p *Partition) Truncate(upTo uint64) (more bool) { return p.removeThrough(upTo) }

// EndOfOldest returns the last offset of the count-th oldest sealed segment, clamped to what there is.
func (p *Partition) EndOfOldest(count uint32) (upTo uint64, any bool) {
	n := min(uint64(count), uint64(len(p.sealed)))
	if n == 0 {
		return 0, false
	}
	return p.sealed[n-1].End, true
}

// removeThrough takes sealed segments from the front while they end at or below upTo and no consumer still
// has to read them, and asks for their files to be unlinked. Views published from now on do not show them.
func (p *Partition) removeThrough(upTo uint64) (more bool) {
	barrier := uint64(math.MaxUint64)
	for _, offset := range p.offsets.durable { // a minimum: the order does not matter
		barrier = min(barrier, offset)
	}
	if p.cfg.Logged {
		// A replay continues the segments behind the checkpoint: those written since must not go before it.
		if p.checkpointed == 0 {
			return false
		}
		upTo = min(upTo, p.checkpointed-1)
	}
	var starts []uint64
	for len(p.sealed) > 0 && p.sealed[0].End <= min(upTo, barrier) {
		if len(starts) == removalBudget {
			more = true
			break
		}
		s := p.sealed[0]
		starts = append(starts, s.Start)
		p.messages -= s.Messages()
		p.bytes -= s.Size
		p.sealed = p.sealed[1:]
	}
	if len(starts) == 0 {
		return false
	}
	p.tail.dropBelow(p.firstRetained())
	p.generation++
	p.dirty = true
	p.jobs = append(p.jobs, Job{Kind: JobRemoveSegments, Starts: starts, First: p.firstRetained(), Chain: p.generation})
	return more
}

// firstRetained is the first offset of the oldest segment.
func (p *Partition) firstRetained() uint64 {
	if len(p.sealed) > 0 {
		return p.sealed[0].Start
	}
	return p.active.Start
}

// TruncatesNow reports whether Truncate would remove something.
func (p *Partition) TruncatesNow(upTo uint64) bool {
	return len(p.sealed) > 0 && p.sealed[0].End <= upTo && (!p.cfg.Logged || p.sealed[0].End < p.checkpointed)
}
