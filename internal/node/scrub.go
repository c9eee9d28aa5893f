package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galgolog/galgo/internal/partition"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// ScrubMode says when sealed segments are read through in the background after a start. Recovery itself reads only
// the ends of segments.
type ScrubMode uint8

// Scrub modes.
const (
	ScrubUnclean ScrubMode = iota // when the life before did not stop in order
	ScrubAlways
	ScrubNever
)

// scrubber verifies sealed segments after a start. It repairs nothing and fences nothing: what is intact goes on
// being served, and a poll of what is not is answered with an error with or without the scrub.
type scrubber struct {
	node    *Node
	reading bool // holds one of the places for readers of the device, which polls share
	total   *scrubTotal
	appends uint64
	slow    uint64
	begun   time.Time // of the chunk before
	bytes   int64
}

// scrubWorkers read at once: one alone leaves the device idle while it hashes.
const scrubWorkers = 2

// scrubTotal is what all workers have done. Safe for concurrent use.
type scrubTotal struct {
	started time.Time
	next    atomic.Int64 // job
	bytes   atomic.Int64
	damages atomic.Uint64
	told    atomic.Int64 // lines of progress
}

// scrubJob is one sealed segment that is to be read.
type scrubJob struct {
	reader *Reader
	seg    segment.Info
}

var errStopped = errors.New("the node stops")

// scrub runs once, on goroutines of its own.
func (n *Node) scrub() {
	jobs, total := n.scrubJobs()
	if len(jobs) == 0 {
		n.scrubbed.Store(true)
		return
	}
	t := &scrubTotal{started: time.Now()}
	n.metrics.scrubPending.Store(uint64(total))
	n.log.Info("scrub begins: sealed segments are verified in the background", "segments", len(jobs), "bytes", total)
	errs := make([]error, scrubWorkers)
	var workers sync.WaitGroup
	for w := range scrubWorkers {
		workers.Go(func() {
			s := &scrubber{node: n, total: t}
			for i := t.next.Add(1) - 1; i < int64(len(jobs)) && errs[w] == nil; i = t.next.Add(1) - 1 {
				errs[w] = s.segment(&jobs[i])
			}
		})
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		n.log.Info("scrub ended before its end", "bytes", t.bytes.Load(), "of", total, "reason", errStopped)
		return
	}
	n.metrics.scrubPending.Store(0)
	damages := t.damages.Load()
	n.scrubbed.Store(damages == 0) // or the next start tells again
	tell, message := n.log.Info, "scrub ends: all of it is intact"
	if damages > 0 {
		tell, message = n.log.Error, "scrub ends: damage was found, see above"
	}
	tell(message, "bytes", t.bytes.Load(), "damages", damages, "took", time.Since(t.started).Round(time.Millisecond).String())
}

// scrubJobs lists what to read, by partition and offset.
func (n *Node) scrubJobs() (jobs []scrubJob, total int64) {
	if n.limits.Scrub == ScrubNever || n.limits.Scrub == ScrubUnclean && n.stoppedInOrder {
		return nil, 0
	}
	for _, r := range n.readers.all() {
		if r.fence.Load() != nil {
			continue
		}
		v := r.part.View()
		for i := range v.Sealed {
			if s := &v.Sealed[i]; s.Size > 0 {
				jobs = append(jobs, scrubJob{r, segment.Info{Start: s.Start, End: s.End, Size: s.Size}})
				total += s.Size
			}
		}
	}
	return jobs, total
}

// segment reads one segment. Only a stop is an error.
func (s *scrubber) segment(j *scrubJob) error {
	_, _, part := j.reader.id.Partition()
	var found []*segment.Damage
	err := segment.Scrub(s.node.fs, j.reader.dir, j.seg, uint64(part), s.pace, func(d *segment.Damage) { found = append(found, d) })
	s.release()
	switch {
	case errors.Is(err, errStopped):
		return err
	case errors.Is(err, fs.ErrNotExist) && !j.still():
		return nil // removed meanwhile
	case err != nil:
		found = append(found, &segment.Damage{Start: j.seg.Start, Next: j.seg.Size, First: j.seg.Start, Last: j.seg.End, Err: err})
	}
	if len(found) == 0 || !j.still() {
		return nil
	}
	for _, d := range found {
		s.node.metrics.scrubDamages.Inc()
		if s.total.damages.Add(1) <= scrubDamagesTold {
			s.node.log.Error("scrub: damage", "partition", j.reader.id.String(), "segment", segment.LogName(d.Start), "byte", d.Position,
				"next_byte", d.Next, "first_offset", d.First, "last_offset", d.Last, "error", d.Err)
		}
	}
	return nil
}

// scrubDamagesTold bounds the lines of one scrub; the metric counts all of them.
const scrubDamagesTold = 100

// still reports whether the segment is part of the partition as it was listed.
func (j *scrubJob) still() bool {
	if j.reader.node.readers.get(j.reader.id) != j.reader {
		return false
	}
	v := j.reader.part.View()
	return slices.ContainsFunc(v.Sealed, func(s partition.Segment) bool {
		return s.Start == j.seg.Start && s.Size == j.seg.Size && s.End == j.seg.End
	})
}

// pace lets the next bytes be read: one read at a time among those of polls, within the configured rate, and half
// as fast or slower while the node works for clients.
func (s *scrubber) pace(bytes int64) error {
	n := s.node
	s.release()
	pause := s.politeness()
	if limit := n.limits.ScrubRate; limit > 0 {
		due := time.Duration(float64(s.bytes) * scrubWorkers / float64(limit) * float64(time.Second))
		pause = max(pause, due-time.Since(s.total.started))
	}
	if err := s.sleep(pause); err != nil {
		return err
	}
	told := s.total.told.Load()
	if time.Since(s.total.started) >= time.Duration(told+1)*scrubTellsEvery && s.total.told.CompareAndSwap(told, told+1) {
		n.log.Info("scrub goes on", "bytes", s.total.bytes.Load(), "left_bytes", n.metrics.scrubPending.Load(), "damages", s.total.damages.Load())
	}
	select {
	case n.coldReads <- struct{}{}:
	case <-n.stop:
		return errStopped
	}
	s.reading = true
	s.begun = time.Now()
	s.bytes += bytes
	s.total.bytes.Add(bytes)
	n.metrics.scrubBytes.Add(uint64(bytes))
	n.metrics.scrubPending.Add(-uint64(bytes))
	return nil
}

const (
	scrubTellsEvery = 10 * time.Second
	scrubPauseMax   = time.Second
	// scrubSlowPause is how many times as long as a read took the scrub pauses when an append was slow meanwhile.
	scrubSlowPause = 8
)

// politeness is the pause that the work of the node asks for.
func (s *scrubber) politeness() time.Duration {
	m := s.node.metrics
	appends, slow := m.appends.Load(), m.slowAppends.Load()
	busy, slowed := appends != s.appends, slow != s.slow
	s.appends, s.slow = appends, slow
	if s.begun.IsZero() {
		return 0
	}
	took := time.Since(s.begun)
	switch {
	case slowed:
		return min(took*scrubSlowPause, scrubPauseMax)
	case busy:
		return min(took, scrubPauseMax)
	}
	return 0
}

func (s *scrubber) sleep(d time.Duration) error {
	select {
	case <-s.node.stop:
		return errStopped
	default:
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.node.stop:
		return errStopped
	}
}

// release gives the place among the readers back.
func (s *scrubber) release() {
	if s.reading {
		s.reading = false
		<-s.node.coldReads
	}
}

// all returns the readers of all partitions in use, ascending by id.
func (t *readerTable) all() []*Reader {
	var list []*Reader
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.RLock()
		for _, r := range s.readers {
			list = append(list, r)
		}
		s.mu.RUnlock()
	}
	slices.SortFunc(list, func(a, b *Reader) int { return cmp.Compare(a.id, b.id) })
	return list
}

// takeStopMark reports whether the life before stopped in order with everything verified, and forgets it: a crash
// from now on must not find the mark.
func (n *Node) takeStopMark() (inOrder bool, err error) {
	err = n.fs.Remove(n.layout.StopMark())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = n.fs.SyncDir(n.layout.Path())
	}
	if err != nil {
		return false, fmt.Errorf("stop mark: %w", err)
	}
	return true, nil
}

// leaveStopMark tells the next life that this one stopped in order, unless there is still something to verify.
// Without the mark the next life reads more than it needs to.
func (n *Node) leaveStopMark() {
	if !n.scrubbed.Load() && !n.stoppedInOrder {
		return
	}
	if err := vfs.WriteFile(n.fs, n.layout.StopMark(), []byte("stopped in order\n")); err != nil {
		n.log.Warn("stop mark", "error", err)
	}
}
