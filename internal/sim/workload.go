package sim

import (
	"fmt"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

func (w *World) pickPartition() *partitionModel { return w.partitions[w.rng.IntN(len(w.partitions))] }

// send submits a batch of messages that nobody sent before to one of the partitions.
func (w *World) send() error {
	_, err := w.sendSome(w.pickPartition())
	return err
}

// sendSome submits a small batch.
func (w *World) sendSome(m *partitionModel) (*call, error) {
	sizes := make([]int, 1+w.rng.IntN(4))
	for i := range sizes {
		sizes[i] = 1 + w.rng.IntN(300)
	}
	return w.sendBatch(m, sizes)
}

// sendTo submits one batch, of messages of the given sizes.
func (w *World) sendTo(m *partitionModel, sizes ...int) error {
	_, err := w.sendBatch(m, sizes)
	return err
}

func (w *World) sendBatch(m *partitionModel, sizes []int) (*call, error) {
	b := batch.NewBuilder()
	c := &call{model: m}
	for _, size := range sizes {
		w.message++
		c.messages = append(c.messages, w.message)
		m.sent[w.message] = true
		if err := b.Add(make([]byte, size), nil, protocol.Uint128From64(w.message), w.clock.micros); err != nil {
			return nil, err
		}
	}
	record, err := b.Build()
	if err != nil {
		return nil, err
	}
	lease := buffer.Wrap(append([]byte(nil), record...))
	c.work = node.Work{Group: m.id, Revision: m.revision, Messages: uint32(len(c.messages)), Request: vsr.Request{
		Client: w.clients[0].id, Operation: protocol.OpSendMessages, Body: vsr.Body{Bytes: lease.Bytes, Lease: lease},
	}}
	w.Report.Sends++
	w.pending = append(w.pending, c)
	w.submit(c)
	return c, nil
}

// store submits a consumer offset that the partition may or may not hold.
func (w *World) store() {
	m := w.pickPartition()
	offset := m.highest
	if m.highest > 0 {
		offset = w.rng.Uint64N(m.highest + 1)
	}
	w.storeOffset(m, partition.ConsumerKey{Kind: partition.KindConsumer, ID: uint32(1 + w.rng.IntN(3))}, storedOffset{offset, true})
}

// storeOffset submits a store of a consumer offset, or its deletion when v is not set.
func (w *World) storeOffset(m *partitionModel, key partition.ConsumerKey, v storedOffset) {
	c := &call{model: m, key: key, store: v}
	m.storing(key, v)
	body := make([]byte, partition.OffsetOpSize)
	partition.OffsetOp{Key: key, Offset: v.offset}.Put(body)
	op := protocol.OpStoreConsumerOffset
	if !v.set {
		op = protocol.OpDeleteConsumerOffset
	}
	c.work = node.Work{Group: m.id, Revision: m.revision, Request: vsr.Request{
		Client: w.clients[0].id, Operation: op, Body: vsr.Body{Bytes: body},
	}}
	w.Report.Stores++
	w.pending = append(w.pending, c)
	w.submit(c)
}

// collect looks at the answers that have come.
func (w *World) collect() error {
	if w.early != nil {
		return w.early
	}
	waiting := w.pending[:0]
	for _, c := range w.pending {
		if !c.done {
			waiting = append(waiting, c)
			continue
		}
		if err := w.answer(c); err != nil {
			return err
		}
	}
	clear(w.pending[len(waiting):])
	w.pending = waiting
	return nil
}

func (w *World) answer(c *call) error {
	if c.messages == nil {
		if c.code == protocol.Success {
			c.model.confirmStored(c.key, c.store)
		}
		return nil
	}
	if c.code != protocol.Success {
		w.Report.Refused++
		for _, msg := range c.messages {
			c.model.refused[msg] = true
		}
		return nil
	}
	w.Report.Confirmed++
	return c.model.confirm(c.base, c.messages)
}

// read polls the whole log of a partition and returns its messages by offset.
func (w *World) read(m *partitionModel) (map[uint64]uint64, error) {
	found := map[uint64]uint64{}
	from := uint64(0)
	for {
		var out node.PollResult
		code := w.node.Poll(&node.PollRequest{
			Group: m.id, Revision: m.revision, PurgeGeneration: w.generation(m), MaxBytes: 1 + w.rng.IntN(4000),
			Query: partition.Query{Strategy: partition.FromOffset, Value: from, Count: uint32(1 + w.rng.IntN(50))},
		}, &out)
		w.Report.Polls++
		if code != protocol.Success {
			return nil, fmt.Errorf("partition %s: poll from %d: %w", m.id, from, code)
		}
		if out.Count == 0 {
			out.Release()
			return found, nil
		}
		last, err := takeMessages(m, &out, from, found)
		out.Release()
		if err != nil {
			return nil, err
		}
		from = last + 1
	}
}

// generation is the purge of a partition that its readers wait for.
func (w *World) generation(m *partitionModel) uint64 {
	stream, topic, part := m.id.Partition()
	st := w.node.View().StreamByID(stream)
	if st == nil || st.TopicByID(topic) == nil {
		return 0
	}
	p, _ := st.TopicByID(topic).Partition(part)
	return p.PurgeGeneration
}

// takeMessages adds the messages of a poll, whose records must verify and whose offsets must ascend.
func takeMessages(m *partitionModel, out *node.PollResult, from uint64, found map[uint64]uint64) (last uint64, err error) {
	var raw []byte
	for _, c := range out.Chunks {
		raw = append(raw, c.Bytes...)
	}
	count, next := uint32(0), from
	for len(raw) > 0 {
		record := raw[:batch.HeaderOf(raw).Length()]
		raw = raw[len(record):]
		if code := batch.VerifyStored(record); code != protocol.Success {
			return 0, fmt.Errorf("partition %s: poll from %d served a bad record: %w", m.id, from, code)
		}
		walk := batch.Walk(record)
		for f, ok := walk.Next(); ok; f, ok = walk.Next() {
			offset := batch.BaseOffset(record) + uint64(f.OffsetDelta())
			if offset < next {
				return 0, fmt.Errorf("partition %s: poll from %d served offset %d after %d", m.id, from, offset, next)
			}
			found[offset], next, last = f.ID().Lo, offset+1, offset
			count++
		}
	}
	if count != out.Count || last != out.Last {
		return 0, fmt.Errorf("partition %s: poll from %d says %d up to %d and serves %d up to %d", m.id, from, out.Count, out.Last, count, last)
	}
	return last, nil
}
