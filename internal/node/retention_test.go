package node

import (
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func TestNode_TheCleanerRemovesExpiredSegmentsByItself(t *testing.T) {
	r := openRig(t, t.TempDir(), func(o *Options) { o.Limits.RetentionTicks = 10 })
	defer r.close()
	rev := r.topic(0, 1, command.U64Option("segment_size", 1<<20), command.U64Option("message_expiry", 200_000))
	id := groupID(t, 0, 0)
	for i := range uint64(5) {
		if a := r.send(id, rev, record(t, i, 10, 50_000)).wait(t); a.code != protocol.Success {
			t.Fatal(a.code)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if ids, _, _ := r.poll(id, rev, 0, 0, 1); len(ids) == 1 && ids[0] != 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("expired segments are still served: %+v", r.n.PartitionStats(id, rev, 0))
		}
	}
}
