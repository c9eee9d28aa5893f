package batch

import (
	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/protocol"
)

// Stamp writes what the primary of a partition decides about a batch into its header, seals it again and
// returns the XXH3-64 of the stamped header, which binds the whole record. Of every frame only the stored
// checksum is read. The record must have passed Verify.
func Stamp(record []byte, partitionID, baseOffset, baseTimestamp uint64) uint64 {
	h := (*Header)(record)
	h.setPartitionID(partitionID)
	h.setBaseOffset(baseOffset)
	h.setBaseTimestamp(baseTimestamp)
	h.setChecksum(Seal(record))
	return xxh3.Hash(h[:])
}

// Seal computes the batch checksum of a record from its header and the stored checksums of its frames.
func Seal(record []byte) uint64 {
	h := (*Header)(record)
	if h.MessageCount() == 1 && len(record) >= HeaderSize+FrameHeaderSize {
		return sealLone(h, Frame(record[HeaderSize:]).Checksum())
	}
	return sealAll(h, record)
}

func sealAll(h *Header, record []byte) uint64 {
	var seal sealer
	seal.begin(h)
	for rest := record[HeaderSize:]; len(rest) > 0; {
		length, code := nextFrame(rest)
		if code != protocol.Success {
			break
		}
		seal.add(Frame(rest).Checksum())
		rest = rest[length:]
	}
	return seal.sum()
}

// HeaderHash is the XXH3-64 of the header of record: what Stamp returned when it was stamped.
func HeaderHash(record []byte) uint64 { return xxh3.Hash(record[:HeaderSize]) }
