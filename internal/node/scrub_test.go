package node

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

func (s *stepRig) metric(name string) float64 {
	for _, m := range s.n.Metrics() {
		if m.Name == name {
			return m.Value
		}
	}
	s.t.Fatalf("there is no metric %s", name)
	return 0
}

// A bit rots in a sealed segment. The scrub after the next kill names partition, segment and messages; the
// partition goes on serving what is intact and takes sends; a poll of what is not is answered with an error.
func TestScrub_NamesTheDamageAndFencesNothing(t *testing.T) {
	disk := vfs.NewMem(1)
	s := openStepRig(t, disk)
	rev, id := s.smallTopic(false), groupID(t, 0, 0)
	for m := range uint64(12) {
		s.outcome(s.send(id, rev, record(t, 1+m, 1, 400<<10)))
	}
	sealed := s.n.readers.get(id).part.View().Sealed
	dir := s.n.partitionDir(id)
	disk = disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)
	if err := disk.FlipBit(path.Join(dir, segment.LogName(sealed[1].Start)), 1000, 3); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s = openStepRigWith(t, disk, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)); o.Limits.Validate = true })
	s.n.scrub()
	want := "segment=" + segment.LogName(sealed[1].Start)
	for _, w := range []string{"scrub: damage", "partition=0/0/0", want, "first_offset=3", "last_offset=3", "scrub ends: damage was found"} {
		if !strings.Contains(log.String(), w) {
			t.Errorf("the log does not say %q:\n%s", w, log.String())
		}
	}
	if s.metric("galgo_scrub_damages_total") != 1 || s.metric("galgo_scrub_pending_bytes") != 0 || s.metric("galgo_scrub_bytes_total") == 0 {
		t.Error("the metrics do not tell")
	}
	if f := s.n.Fenced(id); f != nil {
		t.Fatal(f)
	}
	if _, _, code := s.poll(id, rev, 0, 3, 1); code != protocol.CodeInvalidMessageChecksum && code != protocol.CodeInvalidBatchChecksum {
		t.Errorf("poll of the damaged message: %v", code)
	}
	if ids, _, code := s.poll(id, rev, 0, 4, 1); code != protocol.Success || len(ids) != 1 || ids[0] != 5 {
		t.Errorf("poll behind it: %v, %v", ids, code)
	}
	s.sent(id, rev, 1)
	s.close()

	// As long as the damage is there, every start tells of it, after a stop in order too.
	log.Reset()
	s = openStepRigWith(t, disk, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	if s.n.scrub(); !strings.Contains(log.String(), "first_offset=3") {
		t.Errorf("the damage is not told again:\n%s", log.String())
	}
	s.close()
}

func TestScrub_WhenItRuns(t *testing.T) {
	for _, c := range []struct {
		mode    ScrubMode
		inOrder bool
		want    bool
	}{
		{ScrubUnclean, true, false}, {ScrubUnclean, false, true}, {ScrubAlways, true, true}, {ScrubNever, false, false},
	} {
		disk := vfs.NewMem(1)
		s := openStepRig(t, disk)
		rev, id := s.smallTopic(false), groupID(t, 0, 0)
		for m := range uint64(6) {
			s.outcome(s.send(id, rev, record(t, 1+m, 1, 400<<10)))
		}
		s.n.scrub()
		if c.inOrder {
			s.close()
		} else {
			disk = disk.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.KillOnly)
		}
		s = openStepRigWith(t, disk, func(o *Options) { o.Limits.Scrub = c.mode })
		s.n.scrub()
		if ran := s.metric("galgo_scrub_bytes_total") > 0; ran != c.want {
			t.Errorf("mode %d, stopped in order %v: the scrub ran %v", c.mode, c.inOrder, ran)
		}
		s.close()
	}
}

// Segments that go away under the scrub are no damage.
func TestScrub_ForgetsWhatWasRemoved(t *testing.T) {
	s := openStepRigWith(t, vfs.NewMem(1), func(o *Options) { o.Limits.Scrub = ScrubAlways })
	rev, id := s.smallTopic(false), groupID(t, 0, 0)
	for m := range uint64(15) {
		s.outcome(s.send(id, rev, record(t, 1+m, 1, 400<<10)))
	}
	jobs, _ := s.n.scrubJobs()
	s.commit(protocol.OpTruncatePartition, command.TruncatePartition{TopicRef: topicZero, UpTo: 6}.Append(nil))
	s.advance(5)
	w := scrubber{node: s.n, total: &scrubTotal{}}
	for i := range jobs {
		if err := w.segment(&jobs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if left := len(s.n.readers.get(id).part.View().Sealed); left == len(jobs) || w.total.damages.Load() != 0 {
		t.Errorf("%d of %d segments are left, %d damages", left, len(jobs), w.total.damages.Load())
	}
	if len(s.n.coldReads) != 0 {
		t.Error("the scrub keeps its place among the readers")
	}
	s.close()
}
