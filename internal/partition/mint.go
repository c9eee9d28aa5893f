package partition

import (
	"math"

	"github.com/zeebo/xxh3"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// Mint gives a new operation what it needs before it has an identity: offsets and a stamp for a batch, the
// range checks for an offset operation. The record of a batch was verified at the door; the bodies are not
// read again. The checksum returned for a batch is that of its stamped header, which binds the bodies
// through the batch checksum.
func (p *Partition) Mint(h *protocol.PrepareHeader, body vsr.Body) (protocol.Uint128, protocol.Code) {
	switch h.Operation() {
	case protocol.OpSendMessages:
		return p.mintBatch(h, body)
	case protocol.OpStoreConsumerOffset, protocol.OpDeleteConsumerOffset:
		if code := p.admitOffset(h, body.Bytes); code != protocol.Success {
			return protocol.Uint128{}, code
		}
	case protocol.OpPurgeBarrier:
		if _, ok := DecodePurge(body.Bytes); !ok {
			return protocol.Uint128{}, protocol.CodeInvalidCommand
		}
	default:
		return protocol.Uint128{}, protocol.CodeInvalidCommand
	}
	return protocol.Uint128From64(xxh3.Hash(body.Bytes)), protocol.Success
}

func (p *Partition) mintBatch(h *protocol.PrepareHeader, body vsr.Body) (protocol.Uint128, protocol.Code) {
	count := uint64(batch.MessageCount(body.Bytes))
	base := p.MintFrontier()
	if count == 0 {
		return protocol.Uint128{}, protocol.CodeInvalidMessagesCount
	}
	if p.live && p.appended == math.MaxUint64 || base > math.MaxUint64-count {
		return protocol.Uint128{}, protocol.CodeCannotAppendMessage
	}
	end := base + count - 1
	if !p.Covers(count) {
		// The host asks Covers before it proposes; reaching this line would hand out an offset that a
		// crash could hand out again.
		return protocol.Uint128{}, protocol.CodeTransientNotAccepted
	}
	hash := batch.Stamp(body.Bytes, uint64(p.cfg.ID), base, h.Timestamp())
	p.minted.push(mint{op: h.Op(), appended: p.appended, live: p.live})
	p.appended, p.live = end, true
	p.reserve.minted = true
	return protocol.Uint128From64(hash), protocol.Success
}

// Unmint takes back every mint from op on, and what Stage had planned for it.
func (p *Partition) Unmint(op uint64) {
	for p.staged.len() > 0 && p.staged.last().op >= op {
		p.write = p.staged.popLast().before
	}
	for p.minted.len() > 0 && p.minted.last().op >= op {
		m := p.minted.popLast()
		p.appended, p.live = m.appended, m.live
	}
}
