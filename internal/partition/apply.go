package partition

import (
	"encoding/binary"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// heldApply is the committed operation whose jobs are not done.
type heldApply struct {
	active bool
	done   bool
	op     uint64
}

// Apply executes a committed operation. Batches that are in the segments and offsets already covered are done at
// once; a batch of a logged partition, an offset that must reach its file and a purge hand out a job and hold
// the walk.
func (p *Partition) Apply(h *protocol.PrepareHeader, body vsr.Body, reply []byte) ([]byte, vsr.ApplyStatus) {
	status := vsr.ApplyDone
	switch h.Operation() {
	case protocol.OpSendMessages:
		reply, status = p.applyBatch(h, body, reply)
	case protocol.OpStoreConsumerOffset, protocol.OpDeleteConsumerOffset:
		reply, status = p.applyOffset(h, body.Bytes, reply)
	case protocol.OpPurgeBarrier:
		status = p.applyPurge(h, body.Bytes)
	}
	if status == vsr.ApplyHeld {
		return reply, status
	}
	if h.Request() > 0 {
		p.noteNumber(h)
	}
	if p.cfg.Logged {
		p.applied = *h
	}
	return reply, status
}

func (p *Partition) applyBatch(h *protocol.PrepareHeader, body vsr.Body, reply []byte) ([]byte, vsr.ApplyStatus) {
	base := batch.BaseOffset(body.Bytes)
	switch {
	case p.staged.len() > 0 && p.staged.first().op == h.Op():
		s := p.staged.popFirst()
		p.resumed(h.Op())
		p.commitBatch(&s)
		p.tail.push(tailBatch{Base: s.base, End: s.end, Micros: s.micros, Body: body})
	case p.cfg.Logged && !p.holds(body.Bytes):
		return reply, p.hold(h.Op(), Job{Kind: JobAppend})
	}
	reply = binary.LittleEndian.AppendUint32(reply, 1)
	reply = binary.LittleEndian.AppendUint32(reply, p.cfg.Stream)
	reply = binary.LittleEndian.AppendUint32(reply, p.cfg.Topic)
	reply = binary.LittleEndian.AppendUint32(reply, p.cfg.ID)
	return binary.LittleEndian.AppendUint64(reply, base), vsr.ApplyDone
}

// commitBatch makes a staged batch part of the committed log.
func (p *Partition) commitBatch(s *stagedBatch) {
	p.growLog(s)
	p.committed, p.seeded = s.end, true
	p.messages += s.end - s.base + 1
	p.bytes += s.size
	p.dirty = true
}

// growLog adds a batch to the committed segments.
func (p *Partition) growLog(s *stagedBatch) {
	if !p.hasActive || p.active.Start != s.start {
		p.active, p.hasActive = Segment{Start: s.start}, true
	}
	seg := &p.active
	if seg.Size == 0 {
		seg.FirstMicros = s.micros
	}
	seg.Size, seg.End, seg.MaxMicros = s.pos+s.size, s.end, s.micros
	if s.seals {
		p.sealed = append(p.sealed, p.active)
		p.active = Segment{Start: s.end + 1}
	}
}

// hold asks for job and stops the commit walk at op until JobDone.
func (p *Partition) hold(op uint64, j Job) vsr.ApplyStatus {
	p.held = heldApply{active: true, op: op}
	j.Op = op
	p.jobs = append(p.jobs, j)
	return vsr.ApplyHeld
}

// resumed reports whether the job that held op is done, and clears it.
func (p *Partition) resumed(op uint64) bool {
	if p.held.active && p.held.op == op && p.held.done {
		p.held = heldApply{}
		return true
	}
	return false
}
