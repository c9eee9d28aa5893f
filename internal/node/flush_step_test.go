package node

import (
	"syscall"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
)

// flushing asks for an explicit flush, which waits for the device, and hands it to the lane of the partition.
func (l *life) flushing() (code <-chan protocol.Code) {
	l.t.Helper()
	answer := make(chan protocol.Code, 1)
	go func() { answer <- l.n.FlushPartition(l.id, l.rev, true) }()
	for deadline := time.Now().Add(10 * time.Second); l.n.shards[0].inbox.empty(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatal("the flush did not come")
		}
	}
	l.n.Pass(0)
	return answer
}

// outcomes notes what became of sends of one message, two, and so on, the last that were made, and returns the
// messages that were refused.
func (l *life) outcomes(sends []*answer) (refused map[uint64]bool, failures int) {
	l.t.Helper()
	refused = map[uint64]bool{}
	id := l.next
	for i := range sends {
		id -= uint64(i + 1)
	}
	for i, a := range sends {
		if !l.answered(a) {
			l.t.Fatalf("send %d was not answered", i)
		}
		for n := range uint64(i + 1) {
			if a.code == protocol.Success {
				l.acked[a.base+n] = id
			} else {
				refused[id] = true
			}
			id++
		}
		if a.code != protocol.Success {
			failures++
		}
	}
	return refused, failures
}

// An explicit flush of an enforce_fsync topic fails while appends are on their way to the device: the kernel may have
// dropped what either of them covered. What was confirmed before stays, what is confirmed afterwards is on the device,
// and what was refused is never found, whichever of the two met the error.
func TestFlush_AFailedOneTakesAppendsInFlightWithIt(t *testing.T) {
	for _, flushFirst := range []bool{true, false} {
		for failing := 1; failing <= 3; failing++ {
			for _, mode := range vfs.CrashModes {
				l := newLife(t, rowLease, command.BoolOption("enforce_fsync", true))
				l.put(0, 2)
				syncs := 0
				l.disk.SetHook(func(op vfs.Op) error {
					if onPath(vfs.OpDatasync, ".log")(op) {
						if syncs++; syncs == failing {
							return syscall.EIO
						}
					}
					return nil
				})
				var flush <-chan protocol.Code
				var sends []*answer
				send := func(count int) {
					sends = append(sends, l.send(l.id, l.rev, record(t, l.next, count, 100)))
					l.next += uint64(count)
					l.n.Pass(0)
				}
				if flushFirst {
					flush = l.flushing()
				}
				send(1)
				if !flushFirst {
					flush = l.flushing()
				}
				send(2) // covered by the next sync
				l.settle()
				flushed := <-flush
				if syncs < failing {
					l.disk.SetHook(nil)
					l.close()
					continue
				}
				refused, failures := l.outcomes(sends)
				if flushed == protocol.Success && failures == 0 {
					t.Fatalf("flush first %v, sync %d failed and nobody was told", flushFirst, failing)
				}
				if base, code := l.try(1, 10); code != protocol.Success || l.acked[base] == 0 {
					t.Fatalf("after the error: offset %d, code %v", base, code)
				}
				want := l.acked
				l.crash(mode)
				found, code := l.dump()
				if code != protocol.Success {
					t.Fatal(code)
				}
				for offset, id := range want {
					if found[offset] != id {
						t.Fatalf("flush first %v, sync %d, %s: offset %d holds message %d, %d was confirmed there",
							flushFirst, failing, mode, offset, found[offset], id)
					}
				}
				for offset, id := range found {
					if refused[id] || want[offset] != id {
						t.Fatalf("flush first %v, sync %d, %s: message %d at offset %d was refused", flushFirst, failing, mode, id, offset)
					}
				}
			}
		}
	}
}
