package node

import (
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// shard owns groups. Everything below mu is touched only by the goroutine that holds it.
type shard struct {
	node  *Node
	index int
	inbox inbox
	wake  chan struct{}

	mu         sync.Mutex // ownership
	now        vsr.Time
	taken      inboxContent
	groups     map[protocol.GroupID]*group
	lanes      map[protocol.GroupID]*Lane  // of deleted partitions whose files are still being removed
	truncating map[protocol.GroupID]*group // with a watermark of DeleteSegments
	touched    []*group
	stalled    []*group // wait for disk space
	flush      *[]Flusher
	meta       *metaGroup // shard 0 only
	metaHot    bool       // the metadata group was touched in this pass
	wal        shardWAL
	clock      clockHand
}

func newShard(n *Node, index int) *shard {
	s := &shard{node: n, index: index, wake: make(chan struct{}, 1), groups: make(map[protocol.GroupID]*group),
		lanes: make(map[protocol.GroupID]*Lane), truncating: make(map[protocol.GroupID]*group)}
	s.wal.shard = s
	return s
}

// borrowMax is the number of requests up to which the goroutine that read them runs the pass itself. With more,
// the wake-up of the shard costs less than the reading that goes on meanwhile.
const borrowMax = 16

// submit runs works in a pass of the caller when the shard is idle, and leaves them to the owner otherwise.
func (s *shard) submit(works []*Work) {
	if len(works) > borrowMax || !s.mu.TryLock() {
		s.inbox.pushWorks(works)
		s.kick()
		return
	}
	s.pass(works)
	s.release()
}

// post queues a completion or control message and sees to it that a pass comes.
func (s *shard) postCompletion(c completion) {
	s.inbox.pushCompletion(c)
	s.kick()
}

func (s *shard) postControl(c control) {
	s.inbox.pushControl(c)
	s.kick()
}

// kick wakes the goroutine of the shard. One pending wake-up covers any number of messages.
func (s *shard) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// flushLists recycles the lists of connections between passes.
var flushLists = sync.Pool{New: func() any { return new([]Flusher) }}

// release ends ownership and flushes the connections whose requests were answered. Work that came in
// meanwhile is left to the goroutine of the shard: a borrower runs only what it brought.
func (s *shard) release() {
	flush := s.flush
	s.flush = nil
	s.mu.Unlock()
	if !s.inbox.empty() {
		s.kick()
	}
	if flush == nil {
		return
	}
	for _, f := range *flush {
		f.Flush()
	}
	clear(*flush)
	*flush = (*flush)[:0]
	flushLists.Put(flush)
}

// run is the goroutine of the shard.
func (s *shard) run(stop <-chan struct{}, timer <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-s.wake:
		case <-timer:
		}
		s.mu.Lock()
		s.pass(nil)
		s.release()
	}
}

// pass does everything there is to do now. The caller holds mu.
func (s *shard) pass(own []*Work) {
	s.now = s.node.clock.Now()
	s.inbox.take(&s.taken)
	for i := range s.taken.completions {
		c := &s.taken.completions[i]
		c.done()
		if c.g != nil {
			s.touch(c.g)
		}
	}
	for _, c := range s.taken.control {
		c(s)
	}
	for _, w := range s.taken.works {
		s.accept(w)
	}
	for _, w := range own {
		s.accept(w)
	}
	s.tick()
	if s.metaHot {
		s.metaHot = false
		s.meta.run()
	}
	s.runTouched()
	for s.wal.flush() {
		s.runTouched()
	}
	s.trimTails()
}

// runTouched runs every group that has something to do.
func (s *shard) runTouched() {
	// Groups may touch others while they run; the list grows under the loop.
	for i := 0; i < len(s.touched); i++ {
		g := s.touched[i]
		g.isTouched = false
		g.run()
	}
	clear(s.touched)
	s.touched = s.touched[:0]
}

func (s *shard) touch(g *group) {
	if !g.isTouched {
		g.isTouched = true
		s.touched = append(s.touched, g)
	}
}

// answered completes w and remembers to flush it.
func (s *shard) answered(w any, r *vsr.Reply) {
	if w == nil {
		return
	}
	waiter := w.(Waiter)
	if witness := s.node.witness; witness != nil && r.Prepare != nil {
		witness.Answered(s.node.groupDir(protocol.GroupID(r.Prepare.Group())), r.Prepare, r.Body)
	}
	f := waiter.Flusher()
	waiter.Complete(r)
	if f == nil {
		return
	}
	if s.flush == nil {
		s.flush = flushLists.Get().(*[]Flusher)
	}
	if list := *s.flush; len(list) == 0 || list[len(list)-1] != f {
		*s.flush = append(list, f)
	}
}

// accept takes a request in: it joins the queue of its group, which is opened when it is the first one.
func (s *shard) accept(w *Work) {
	if s.node.closing.Load() {
		s.refuse(w, protocol.CodeTransientNotAccepted)
		return
	}
	if w.Group == protocol.MetadataGroup {
		w.arrived = s.now.Ticks
		s.meta.enqueue(w)
		return
	}
	g := s.groups[w.Group]
	if g != nil && g.revision != w.Revision {
		if g.revision > w.Revision {
			s.refuse(w, protocol.CodeTransientNotAccepted)
			return
		}
		g.retire()
		g = nil
	}
	if g == nil {
		var code protocol.Code
		if g, code = s.openGroup(w.Group, w.Revision); code != protocol.Success {
			s.refuse(w, code)
			return
		}
	}
	w.arrived = s.now.Ticks
	g.enqueue(w)
	s.touch(g)
}

// refuse answers a request that has no log position, and gives its body back.
func (s *shard) refuse(w *Work, code protocol.Code) {
	w.Request.Body.Release()
	s.answered(w.Request.Waiter, &vsr.Reply{Request: &w.Request, Outcome: vsr.Outcome{Verdict: vsr.Denied, Code: code}})
}
