package node

import (
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vfs"
)

// cadence sends 100,000 messages a second of simulated time, in batches of 200, and counts what the superblock of the
// partition costs.
type cadence struct {
	*life
	syncs   int
	seconds float64
}

func newCadence(t testing.TB, leaseMax uint64) *cadence {
	c := &cadence{life: newLife(t, 0)}
	c.limit = func(o *Limits) { o.ReservationMax = leaseMax }
	c.restart()
	c.put(0, 1)
	c.clock.ticks += 2 * claimLastsTicks
	dir := c.dir()
	c.disk.SetHook(func(op vfs.Op) error {
		// A record costs the sync of its file and of the directory. Nothing else syncs in a default topic
		// before a segment is full.
		if op.Kind == vfs.OpSync && strings.Contains(op.Path, "partitions/0/superblock") || op.Kind == vfs.OpSyncDir && op.Path == dir {
			c.syncs++
		}
		return nil
	})
	return c
}

// tick is 10 ms: 1,000 messages.
func (c *cadence) tick() {
	c.t.Helper()
	for range 5 {
		a := c.send(c.id, c.rev, record(c.t, 1, 200, 1))
		if c.settle(); !c.answered(a) || a.code != protocol.Success {
			c.t.Fatalf("answered %v, code %v", c.answered(a), a.code)
		}
	}
	c.clock.ticks++
	c.seconds += 0.01
}

// over returns the syncs a second during a number of seconds.
func (c *cadence) over(seconds float64) float64 {
	syncs, from := c.syncs, c.seconds
	for c.seconds < from+seconds {
		c.tick()
	}
	return float64(c.syncs-syncs) / (c.seconds - from)
}

// At 100,000 messages a second a block of the default size lasts 0.57 s: three to four syncs a second. The lease
// follows the rate, so that it is far fewer soon.
func TestReservation_CadenceAtAHundredThousandASecond(t *testing.T) {
	fixed := newCadence(t, 1)
	if rate := fixed.over(4 * 0.57344); rate < 3 || rate > 4 {
		t.Errorf("%.2f syncs a second with blocks of the default size", rate)
	}
	if left := fixed.group().part.ReservedLeft(); left > 65_536 {
		t.Errorf("a crash would waste %d offsets", left)
	}
	grown := newCadence(t, 0)
	first, then := grown.over(1), grown.over(20)
	if first > 4 || then > 0.6 {
		t.Errorf("%.2f syncs in the first second, %.2f a second after it, with a lease that follows", first, then)
	}
	if left := grown.group().part.ReservedLeft(); left > 16_777_216 {
		t.Errorf("a crash would waste %d offsets", left)
	}
}

func BenchmarkReservation_HundredThousandASecond(b *testing.B) {
	for name, leaseMax := range map[string]uint64{"default blocks": 1, "growing blocks": 0} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				c := newCadence(b, leaseMax)
				b.ReportMetric(c.over(1), "syncs-in-second-1")
				b.ReportMetric(c.over(10), "syncs/s-over-10s-after")
				b.ReportMetric(float64(c.group().part.ReservedLeft()), "wasted-by-a-crash")
			}
		})
	}
}
