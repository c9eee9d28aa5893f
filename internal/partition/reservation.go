package partition

import "math"

// reservation is what the superblock says about offsets. Both are exclusive ends.
type reservation struct {
	frontier uint64 // data up to here is known to exist or to have existed
	reserved uint64 // an offset up to here may have been seen by someone
	minted   bool   // this life has minted
	lease    uint64 // offsets claimed ahead; 0 is the configured number
}

// Claim is the offset part of a superblock write.
type Claim struct{ Frontier, Reserved uint64 }

func (p *Partition) solo() bool { return p.cfg.Replicas <= 1 }

// held is the next offset after the data this replica holds.
func (p *Partition) heldFrontier() uint64 {
	if !p.seeded {
		return 0
	}
	return p.committed + 1
}

// Covers reports whether count more offsets lie below the durable reservation. Groups with peers reserve
// nothing: their next offset follows from the log.
func (p *Partition) Covers(count uint64) bool {
	if !p.solo() {
		return true
	}
	base := p.MintFrontier()
	return count <= math.MaxUint64-base && base+count <= p.reserve.reserved
}

// ClaimFor is the claim that covers count more offsets and a lease beyond.
func (p *Partition) ClaimFor(count uint64) Claim {
	if count >= largeBatch {
		p.raiseLease(saturatingMul(count, batchesPerLease))
	}
	return p.claim(saturatingAdd(saturatingAdd(p.MintFrontier(), count), p.lease()))
}

// KeepClaim is what a superblock write for another reason says: nothing is lowered, nothing is claimed.
func (p *Partition) KeepClaim() Claim { return p.claim(0) }

// CollapseClaim gives the unused part of the lease back at a graceful stop, after everything committed was
// synced. It lowers the ceiling to the next offset to mint, never to the data: on a boot that consumed a
// reservation without appending the two differ.
func (p *Partition) CollapseClaim() (c Claim, needed bool) {
	f := max(p.heldFrontier(), p.reserve.frontier)
	c = Claim{f, max(p.MintFrontier(), f)}
	return c, p.solo() && p.reserve.reserved > p.MintFrontier()
}

func (p *Partition) claim(reserved uint64) Claim {
	f := max(p.heldFrontier(), p.reserve.frontier)
	if !p.solo() {
		return Claim{f, max(p.reserve.reserved, f)}
	}
	return Claim{f, max(p.reserve.reserved, reserved, f)}
}

// WantsExtension reports that less than an eighth of the lease is left and the partition mints.
func (p *Partition) WantsExtension() bool {
	if !p.solo() || !p.reserve.minted {
		return false
	}
	return p.ReservedLeft() < max(p.lease()/8, 1)
}

// ReservedLeft is the number of offsets below the durable reservation that are not minted yet.
func (p *Partition) ReservedLeft() uint64 {
	return p.reserve.reserved - min(p.reserve.reserved, p.MintFrontier())
}

// ExtensionClaim counts a lease from the next offset to mint, so that what a crash wastes is at most one.
func (p *Partition) ExtensionClaim() Claim {
	return p.claim(saturatingAdd(p.MintFrontier(), p.lease()))
}

func (p *Partition) lease() uint64 { return max(p.reserve.lease, p.cfg.lease()) }

const (
	// batchesPerLease is how many batches a lease holds at least, where batches are large.
	batchesPerLease = 1024
	// largeBatch is the number of messages from which on a batch counts as large.
	largeBatch = 256
)

// raiseLease follows the size of batches and the rate: a claim costs two syncs, which a busy device delays by
// hundreds of milliseconds, and an append that meets the ceiling waits for it. A crash wastes one lease.
func (p *Partition) raiseLease(to uint64) {
	p.reserve.lease = max(p.reserve.lease, min(to, p.cfg.leaseMax()))
}

// MintsAhead tells how many offsets are minted, at the present rate, while an extension should be under way at most.
// As many are left when it begins.
func (p *Partition) MintsAhead(minted uint64) { p.raiseLease(saturatingMul(minted, 8)) }

// ClaimTook tells how many offsets were minted while a claim was on its way to the disk, and whether the claim
// before it had lasted only shortly. The lease holds many times what is minted meanwhile, so that an extension,
// which begins when an eighth is left, comes in time; and it doubles while claims follow each other closely.
func (p *Partition) ClaimTook(minted uint64, soon bool) {
	p.raiseLease(saturatingMul(minted, 32))
	if soon {
		p.raiseLease(saturatingMul(p.lease(), 2))
	}
}

// Claimed takes over the values that a superblock write carried. They replace the known ones: only purge
// and collapse lower them, and those carry lower values.
func (p *Partition) Claimed(c Claim) { p.reserve.frontier, p.reserve.reserved = c.Frontier, c.Reserved }

func saturatingAdd(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func saturatingMul(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}
