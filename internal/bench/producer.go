package bench

import (
	"errors"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/rawclient"
)

// destination is the partition that an actor works on.
type destination struct {
	command.TopicRef
	partition uint32
}

func (d destination) partitioning() protocol.Partitioning {
	return protocol.Partitioning{Kind: protocol.PartitionByID, ID: d.partition}
}

// producer sends one batch after the other on its own connection, one in flight.
type producer struct {
	conn    *rawclient.Conn
	maker   *recordMaker
	to      destination
	frame   *rawclient.BatchFrame
	bytes   int64 // payload of frame
	rebuild bool  // sizes vary: every batch is a new one
	last    rawclient.Confirmation
}

func newProducer(t target, l load, to destination, seed uint64) (*producer, error) {
	conn, err := t.connect()
	if err != nil {
		return nil, err
	}
	p := &producer{conn: conn, maker: newRecordMaker(l, seed), to: to}
	p.rebuild = !l.messageBytes.fixed() || !l.batchMessages.fixed()
	if err := p.build(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return p, nil
}

func (p *producer) build() error {
	record, bytes, err := p.maker.build(uint64(time.Now().UnixMicro()))
	if err != nil {
		return err
	}
	p.frame, err = p.conn.NewBatchFrame(p.to.TopicRef, p.to.partitioning(), record)
	p.bytes = bytes
	return err
}

func (p *producer) step(due time.Time) (outcome, error) {
	if p.rebuild {
		if err := p.build(); err != nil {
			return outcome{}, err
		}
	}
	start := time.Now()
	p.frame.Refresh(uint64(start.UnixMicro()))
	repeats, err := p.send(start)
	if err != nil {
		return outcome{}, err
	}
	if !due.IsZero() {
		start = due
	}
	end := time.Now()
	return outcome{end: end, latency: end.Sub(start), bytes: p.bytes, messages: int64(p.frame.Messages()), repeats: repeats}, nil
}

// send repeats a batch that the server did not take for up to retryLimit, and tells how often.
func (p *producer) send(start time.Time) (repeats int64, err error) {
	for ; ; repeats++ {
		p.last, err = p.conn.SendBatch(p.frame)
		if err == nil || !busy(err) || time.Since(start) > retryLimit {
			return repeats, err
		}
		time.Sleep(retryPause)
	}
}

func (p *producer) close() error { return p.conn.Close() }
