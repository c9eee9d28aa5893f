package partition

import (
	"sync/atomic"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// Partition is the state of one partition on its owner. Only View, Cursors and Fenced may be called by
// others.
type Partition struct {
	cfg Config

	// Committed state: what readers see, besides the tail.
	sealed    []Segment // shared with views: elements are written once
	active    Segment
	hasActive bool
	committed uint64
	seeded    bool // committed names a real offset
	messages  uint64
	bytes     int64

	// Append state: runs ahead of the committed one.
	appended uint64
	live     bool // appended names a real offset
	write    writeCursor
	minted   queue[mint]
	staged   queue[stagedBatch]

	offsets    offsetTable
	cursors    Cursors
	dedup      dedupTable
	tail       tail
	reserve    reservation
	purge      purgeState
	held       heldApply
	jobs       []Job
	generation uint64

	applied      protocol.PrepareHeader // of the newest applied operation; kept by logged partitions
	checkpointed uint64                 // next offset at the newest checkpoint; kept by logged partitions

	dirty bool // the published view is behind
	view  atomic.Pointer[View]
}

// Segment is one segment of the log, as committed. End and the timestamps mean nothing while Size is 0.
type Segment struct {
	Start, End  uint64 // first and last offset
	Size        int64
	FirstMicros uint64 // append time of the first batch
	MaxMicros   uint64 // append time of the last batch
	// LastIndex is the position of the last index entry, Indexed that there is one. Known at boot only.
	LastIndex int64
	Indexed   bool
}

// Messages is the number of messages in the segment.
func (s *Segment) Messages() uint64 {
	if s.Size == 0 {
		return 0
	}
	return s.End - s.Start + 1
}

// writeCursor is where the next batch goes. exists is false until a first segment was planned.
type writeCursor struct {
	exists  bool
	start   uint64
	pos     int64
	lastIdx int64
	indexed bool
}

// mint is one operation between Mint and the confirmation of its append.
type mint struct {
	op       uint64
	appended uint64 // before the mint
	live     bool
}

// stagedBatch is one batch between Stage and Apply.
type stagedBatch struct {
	op        uint64
	base, end uint64
	micros    uint64
	start     uint64 // segment
	pos       int64
	size      int64
	before    writeCursor // to go back to when the append fails
	after     writeCursor
	seals     bool // the segment is full with this batch
}

// New returns a partition that was never written. Recovered state is added with Restore.
func New(cfg Config) *Partition {
	p := &Partition{cfg: cfg, dirty: true}
	p.offsets.init()
	p.tail.maxBytes = cfg.TailMaxBytes
	p.Publish()
	return p
}

// Config returns the configuration in force.
func (p *Partition) Config() Config { return p.cfg }

// SetOptions takes over changed topic options. Segments that exist keep their size.
func (p *Partition) SetOptions(o Options) { p.cfg.Options = o }

// Committed returns the highest offset that readers may see; false when there is none.
func (p *Partition) Committed() (uint64, bool) { return p.committed, p.seeded }

// MintFrontier is the next offset to be minted.
func (p *Partition) MintFrontier() uint64 {
	if !p.live {
		return 0
	}
	return p.appended + 1
}

// NewestMicros is the append time of the newest batch, 0 when there is none; a floor for the prepare clock.
func (p *Partition) NewestMicros() uint64 {
	if p.hasActive && p.active.Size > 0 {
		return p.active.MaxMicros
	}
	if n := len(p.sealed); n > 0 {
		return p.sealed[n-1].MaxMicros
	}
	return 0
}

// Idle reports that nothing is minted, staged, held or asked for.
func (p *Partition) Idle() bool {
	return p.minted.len() == 0 && p.staged.len() == 0 && len(p.jobs) == 0 && !p.held.active
}

// TakeJobs returns the jobs asked for since the last call. The slice is reused.
func (p *Partition) TakeJobs() []Job {
	j := p.jobs
	p.jobs = p.jobs[len(p.jobs):]
	return j
}

var _ vsr.StateMachine = (*Partition)(nil)

func isSend(op protocol.Operation) bool { return op == protocol.OpSendMessages }
