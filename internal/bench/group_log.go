package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// groupLogBytes is where the shared log of the stand-in starts over.
const groupLogBytes = 512 << 20

// groupLog is one file that many connections append to, with group commit: while one fdatasync runs, the
// batches that arrive wait for the next one, which covers them all.
type groupLog struct {
	file *os.File
	kick chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex
	end     int64
	waiters []chan error
}

func newGroupLog(dir string) (*groupLog, error) {
	f, err := anonymousFile(filepath.Join(dir, fmt.Sprintf("group-%d", os.Getpid())))
	if err != nil {
		return nil, err
	}
	g := &groupLog{file: f, kick: make(chan struct{}, 1)}
	g.done.Go(g.commit)
	return g, nil
}

// reserve claims size bytes and returns where they begin.
func (g *groupLog) reserve(size int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end+size > groupLogBytes {
		g.end = 0
	}
	off := g.end
	g.end += size
	return off
}

// wait returns when an fdatasync that began after the call has ended. done is a channel of capacity 1
// that the caller reuses.
func (g *groupLog) wait(done chan error) error {
	g.mu.Lock()
	g.waiters = append(g.waiters, done)
	g.mu.Unlock()
	select {
	case g.kick <- struct{}{}:
	default: // a wake-up is already pending
	}
	return <-done
}

func (g *groupLog) commit() {
	for range g.kick {
		g.mu.Lock()
		waiters := g.waiters
		g.waiters = nil
		g.mu.Unlock()
		if len(waiters) == 0 {
			continue
		}
		err := unix.Fdatasync(int(g.file.Fd()))
		for _, w := range waiters {
			w <- err
		}
	}
}

func (g *groupLog) close() error {
	close(g.kick)
	g.done.Wait()
	return g.file.Close()
}
