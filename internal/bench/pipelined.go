package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/galgolog/galgo/internal/rawclient"
)

// pipelined sends batches on one connection with a window of them in flight: one goroutine writes as many
// as the window allows in one call, another receives the confirmations.
type pipelined struct {
	conn    *rawclient.Conn
	frame   *rawclient.BatchFrame
	bytes   int64  // payload of one batch
	block   []byte // group copies of the frame, back to back
	window  int
	rec     *recorder
	quota   quota
	credits chan int
	sentAt  []time.Time // ring of window; written before the frame is sent, read when its reply is there
	sent    int64
}

const (
	// sendGroup is how many frames are written in one call at most; large enough to pay for the call,
	// small enough that the block stays in cache.
	sendGroup      = 128
	sendGroupBytes = 256 << 10
)

func newPipelined(t target, l load, to destination, window int) (*pipelined, error) {
	if !l.messageBytes.fixed() || !l.batchMessages.fixed() {
		return nil, errors.New("pipelined: sizes must be fixed")
	}
	base, err := newProducer(t, l, to, 1)
	if err != nil {
		return nil, err
	}
	p := &pipelined{conn: base.conn, frame: base.frame, bytes: base.bytes, window: window,
		quota: l.quota(1), rec: newRecorder(producerRole, l.sampling, l.expected(1)),
		credits: make(chan int, window), sentAt: make([]time.Time, window)}
	p.conn.Stamp(p.frame)
	size := len(p.frame.Bytes())
	for range min(window, sendGroup, max(1, sendGroupBytes/size)) {
		p.block = append(p.block, p.frame.Bytes()...)
	}
	return p, nil
}

// run works until the quota is reached and every frame sent is confirmed.
func (p *pipelined) run(ctx context.Context, started func()) error {
	defer context.AfterFunc(ctx, func() { p.conn.Close() })()
	started()
	p.rec.begin(time.Now())
	p.credits <- p.window
	stop, done := make(chan struct{}), make(chan struct{})
	var sendErr error
	go func() {
		defer close(done)
		if sendErr = p.sendAll(stop); sendErr != nil {
			p.conn.Close() // frees the receiver
		}
	}()
	err := p.receiveAll()
	close(stop)
	if err == nil {
		err = p.drain(done)
	}
	if err != nil {
		p.conn.Close() // frees a sender that is blocked in a write
	}
	<-done
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if stated := new(rawclient.Error); errors.As(err, &stated) {
		return err // the send error is only the echo of the connection being closed
	}
	return errors.Join(sendErr, err)
}

// sendAll writes frames whenever the window has room, until stop is closed.
func (p *pipelined) sendAll(stop <-chan struct{}) error {
	size := len(p.frame.Bytes())
	group := len(p.block) / size
	for {
		room := 0
		select {
		case <-stop:
			return nil
		case room = <-p.credits:
		}
		for room > 0 {
			n := min(room, group)
			if err := p.sendGroup(n, size); err != nil {
				return err
			}
			room -= n
		}
	}
}

func (p *pipelined) sendGroup(n, size int) error {
	now := time.Now()
	p.frame.Refresh(uint64(now.UnixMicro()))
	at, part := p.frame.SealedPart()
	for i := range n {
		copy(p.block[i*size+at:], part)
		p.sentAt[p.sent%int64(p.window)] = now
		p.sent++
	}
	return p.conn.SendFrames(p.block[:n*size], n)
}

// receiveAll takes answers and gives back their room, until the quota is reached. All frames are alike: one that
// the server could not take is sent again by whoever takes its room. That ends the run only when the server
// takes none for retryLimit.
func (p *pipelined) receiveAll() error {
	taken := time.Now()
	for seen := int64(0); ; {
		n := 0
		var now time.Time
		for n == 0 || p.conn.Ready() {
			err := p.receive()
			if n == 0 {
				now = time.Now()
			}
			switch {
			case err == nil:
				taken = now
				p.rec.add(now, now.Sub(p.sentAt[seen%int64(p.window)]), p.bytes, int64(p.frame.Messages()))
			case busy(err) && now.Sub(taken) < retryLimit:
				p.rec.repeats++
				time.Sleep(retryPause)
			default:
				return err
			}
			seen++
			n++
		}
		if p.quota.reached(p.rec, now.Sub(p.rec.origin)) {
			return nil
		}
		p.credits <- n // never blocks: no more than window credits exist
	}
}

func (p *pipelined) receive() error {
	reply, err := p.conn.Receive()
	if err != nil {
		return fmt.Errorf("pipelined: %w", err)
	}
	_, err = rawclient.ReadConfirmation(reply)
	return err
}

// drain takes the confirmations that are still due after the sender was told to stop. It goes on receiving
// while the sender finishes, because the server may stop reading when nobody takes its answers.
func (p *pipelined) drain(done <-chan struct{}) error {
	for {
		if p.conn.InFlight() > 0 {
			if err := p.receive(); err != nil && !busy(err) {
				return err
			}
			continue
		}
		select {
		case <-done:
			if p.conn.InFlight() == 0 {
				return nil
			}
		case <-time.After(time.Millisecond):
		}
	}
}
