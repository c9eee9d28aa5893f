package shardlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/galgolog/galgo/internal/wal"
)

// logState says what a log can do now.
type logState uint8

const (
	stateNew          logState = iota // no file of this life yet
	stateOpen                         // takes batches
	stateSealed                       // the active file is full: PrepareFile goes on to the next one
	statePoisoned                     // a sync of the active file failed: PrepareFile carries over what waits
	stateClosed                       // Close was called
	stateOutOfService                 // only a restart tells what is durable
)

// Log is the log of one shard. Append is the owner's; everything else may run beside it.
//
// Locks are taken in the order of the fields. Those that wait for the device, files and syncing, are never taken
// by Append.
type Log struct {
	logs  *Logs
	shard int
	dir   string

	reclaiming sync.Mutex // held across Reclaim: what one copies from, another must not give up

	files   sync.Mutex // held by whatever changes names: PrepareFile, Reclaim, Close
	syncing sync.Mutex // held across a sync of the active file
	write   sync.Mutex // held across one write to the tail

	synced atomic.Uint64

	// Guarded by write: what one append needs.
	heads   []byte
	vectors [][]byte
	current map[incarnationKey]*need // those of the active file

	// Guarded by files.
	next   *logFile // being activated
	rank   activation
	number uint64 // highest ever used in the directory

	mu       sync.Mutex // a leaf; guards what follows
	state    logState
	cause    error      // of stateOutOfService
	chain    []*logFile // oldest first; the last one is active unless the log is new
	spares   []spareFile
	tail     int64 // of the active file
	wantEnd  int64 // the active file should be filled up to here before the owner tries again
	appended uint64
	kept     keeper
	failures int // syncs that failed in a row
	metrics  Metrics
}

// active is the newest file. Called with mu held, in every state but stateNew.
func (l *Log) active() *logFile { return l.chain[len(l.chain)-1] }

// unusable says why the log cannot take a batch. Called with mu held.
func (l *Log) unusable() error {
	switch l.state {
	case stateOpen:
		return nil
	case stateClosed:
		return ErrClosed
	case stateOutOfService:
		return l.cause
	}
	return ErrNotReady
}

// retire takes the log out of service.
func (l *Log) retire(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != stateClosed {
		l.state, l.cause = stateOutOfService, errors.Join(ErrOutOfService, cause)
	}
	return l.cause
}

// Synced is the highest batch known to be durable.
func (l *Log) Synced() uint64 { return l.synced.Load() }

// BatchBytesMax is the largest sum of Record.Bytes that one batch may have.
func (l *Log) BatchBytesMax() int64 { return l.logs.opts.FileBytes - fileHeaderBytes }

// Metrics describes the log now.
func (l *Log) Metrics() Metrics {
	l.mu.Lock()
	m := l.metrics
	m.RetainedBytes = l.retained()
	m.Files, m.Spares = len(l.chain), len(l.spares)
	m.UnsyncedBytes, m.FailuresInARow = l.kept.bytes, l.failures
	var oldest *logFile
	if len(l.chain) > 0 {
		oldest = l.chain[0]
		m.OldestFile, m.NewestFile = oldest.header.number, l.active().header.number
		m.OldestPinnedFor = l.appended - min(l.appended, oldest.header.prevBatch)
	}
	l.mu.Unlock()
	if oldest != nil {
		l.logs.registry.mu.Lock()
		m.PinnedGroups = len(oldest.needs)
		l.logs.registry.mu.Unlock()
	}
	return m
}

// retained is what the files take, the active one up to its tail. Called with mu held.
func (l *Log) retained() int64 {
	var total int64
	for i, f := range l.chain {
		if i == len(l.chain)-1 && !f.isOld {
			total += l.tail
		} else {
			total += f.filled
		}
	}
	return total
}

// Full reports whether the log is above twice its limit: groups that Pinning names should refuse sends.
func (l *Log) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retained() > 2*l.logs.opts.RetainedBytes
}

// Close ends the log. With clean set, a synced Clean record says that nothing is missing; every group should have
// been checkpointed before. Without it nothing is synced. Every later call fails.
func (l *Log) Close(clean bool) error {
	var err error
	if clean {
		err = l.appendClean()
	}
	l.files.Lock()
	defer l.files.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.write.Lock()
	defer l.write.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == stateClosed {
		return nil
	}
	if len(l.chain) > 0 && !l.active().isOld {
		err = errors.Join(err, l.active().f.Close())
	}
	if l.next != nil {
		err = errors.Join(err, l.next.f.Close())
	}
	l.state = stateClosed
	return err
}

// appendClean writes and syncs the last record of a life.
func (l *Log) appendClean() error {
	record := []Record{{Kind: wal.KindClean}}
	for range 3 { // a full file, or one whose sync fails, is followed by another
		_, err := l.append(record)
		if err == nil {
			if _, err = l.Sync(); err == nil {
				return nil
			}
		}
		switch {
		case errors.Is(err, ErrClosed):
			return nil
		case errors.Is(err, ErrOutOfService):
			return err
		}
		if err := l.PrepareFile(); err != nil {
			return fmt.Errorf("close of %s: %w", l.dir, err)
		}
	}
	return fmt.Errorf("close of %s: %w", l.dir, ErrNotReady)
}
