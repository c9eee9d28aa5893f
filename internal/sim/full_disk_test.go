package sim

import (
	"flag"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

var fullStride = flag.Uint64("full-stride", 7, "take every so many-th file operation of a life as the one at which the disk is full; 1 takes all")

// takesRoom tells the operations that a full disk fails. The mirror of the journal is written to its full length
// when it is made, and in place afterwards.
func takesRoom(op vfs.Op) bool {
	switch op.Kind {
	case vfs.OpCreate, vfs.OpMkdir, vfs.OpPreallocate, vfs.OpRename:
		return true
	case vfs.OpWrite:
		return !strings.HasSuffix(op.Path, "journal.mirror")
	}
	return false
}

// The disk is full at every file operation of a life in turn, for that operation alone and for a while. Nobody
// dies, nothing is fenced, what was acknowledged is there and what was refused is not, and when there is room
// again the node takes sends without a restart. Then it crashes, and all of that still holds.
func TestSim_AFullDiskAtEveryOperation(t *testing.T) {
	lives, met := 0, 0
	for _, lasts := range []uint64{1, 30} {
		for seed := uint64(1); seed <= 3; seed++ {
			for n, more := uint64(1), true; more; n += *fullStride {
				hit, reached, err := fullDiskLife(seed, n, lasts)
				if err != nil {
					t.Fatalf("seed %d, full from operation %d on for %d operations: %v", seed, n, lasts, err)
				}
				lives++
				if more = reached; hit {
					met++
				}
			}
		}
	}
	t.Logf("%d lives, %d met a full disk", lives, met)
	if met < 100 {
		t.Errorf("only %d lives met a full disk", met)
	}
}

func fullDiskLife(seed, n, lasts uint64) (hit, reached bool, err error) {
	w, err := New(seed, Options{Steps: 250, Crashes: -1})
	if err != nil {
		return false, false, err
	}
	from := w.disk.Ops() + n
	w.disk.SetHook(func(op vfs.Op) error {
		if op.Number < from || op.Number >= from+lasts || !takesRoom(op) {
			return nil
		}
		hit = true
		return syscall.ENOSPC
	})
	if err := w.live(250); err != nil {
		return hit, true, fmt.Errorf("while full: %w", err)
	}
	w.disk.SetHook(nil)
	reached = w.disk.Ops() >= from
	if err := w.resume(); err != nil {
		return hit, true, fmt.Errorf("with room again: %w", err)
	}
	if err := w.check(); err != nil {
		return hit, true, fmt.Errorf("with room again: %w", err)
	}
	if err := w.crashAndReopen(); err != nil {
		return hit, true, err
	}
	return hit, reached, w.stopGracefully()
}

// resume waits until every partition takes sends.
func (w *World) resume() error {
	w.clock.Advance(200)
	for _, m := range w.partitions {
		took := false
		for range 20 {
			w.clock.Advance(20)
			for range 50 {
				w.step()
			}
			c, err := w.sendSome(m)
			if err != nil {
				return err
			}
			if !w.settle(c.answered) {
				return w.giveUp("send to " + m.id.String())
			}
			if err := w.collect(); err != nil {
				return err
			}
			if took = c.code == protocol.Success; took {
				break
			}
		}
		if !took {
			return fmt.Errorf("partition %s takes no sends: %v", m.id, w.node.Fenced(m.id))
		}
	}
	return nil
}
