package vsr

import (
	"errors"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
)

// Limits of a group.
const (
	ReplicasMax            = 32
	prepareDepthDefault    = 32
	prepareDepthMax        = 127 // a view change describes the uncommitted suffix with one bit per op
	superblockFailuresLast = 120
)

type status uint8

const (
	statusNormal status = iota
	statusViewChange
	statusRecovering // does not know the view of the group, and is silent
	statusStopped
)

// Replica is one member of one group. It is called by one owner at a time. The zero value is not usable.
type Replica struct {
	group       protocol.GroupID
	cluster     protocol.Uint128
	revision    uint64
	incarnation protocol.Uint128
	self        uint8
	replicas    uint8
	quorum      uint8 // replication quorum
	depth       uint64
	machine     StateMachine
	sessions    Sessions

	status            status
	view, logView     uint32
	observedNewerView uint32
	durable           durableView

	// The log as memory sees it: commitMin <= commitMax; what lies above commitMin up to op is in the ring,
	// with empty places only in a group of several; everything up to opDurable is in the log; everything up
	// to acked was acknowledged in this view; everything up to anchor is of the log of this view.
	op, opDurable, acked uint64
	commitMax, commitMin uint64
	anchor               uint64
	recoveryHead         uint64 // head that Recovered has to reach
	recoveryChain        uint64 // lowest op from which the recovered log hash-chains to its head
	recoveryBarrier      uint64 // commit point to re-reach before new requests
	lastChecksum         protocol.Uint128
	commitChecksum       protocol.Uint128        // identity of op commitMin
	commitHeader         *protocol.PrepareHeader // of op commitMin, blank when unknown; nil in a group of one
	ackedHead            uint64                  // highest op that an earlier life may have acknowledged in logView
	truncating           int                     // Truncates that are not durable
	amnesiac             bool
	lastTimestamp        uint64
	held                 bool

	vc     viewChange
	repair repairSession
	unsaid unsaid

	ring  ring
	queue requestQueue
	out   outbox
	now   Time

	timers      timers
	heartbeatTS uint64
	announced   uint64 // commit point that peers have been told
	silences    uint64
	probes      uint32 // without an answer, in a row
	// needsTransfer says that a peer has given up operations which are missing here.
	needsTransfer bool
	drops         [dropReasons]uint64
}

// New returns a member of a group in status Normal. When the log holds operations above
// Start.CommitMin, Recovered must bring them before any other input. The error names the first field that
// makes no sense.
func New(cfg Config) (*Replica, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("vsr group %s: %w", cfg.Group, err)
	}
	depth := cfg.PrepareDepth
	if depth == 0 {
		depth = prepareDepthDefault
	}
	failuresMax := cfg.SuperblockFailuresMax
	if failuresMax == 0 {
		failuresMax = superblockFailuresLast
	}
	r := &Replica{
		group: cfg.Group, cluster: cfg.Cluster, revision: cfg.Revision, incarnation: cfg.Incarnation,
		self: cfg.Replica, replicas: cfg.Replicas, quorum: replicationQuorum(cfg.Replicas),
		depth: uint64(depth), machine: cfg.Machine, sessions: cfg.Sessions,
		view: cfg.Start.View, logView: cfg.Start.LogView,
		durable: durableView{
			written: cfg.Start.ViewDurable, view: cfg.Start.View, logView: cfg.Start.LogView,
			failuresMax: failuresMax,
		},
		ring:   newRing(2 * prepareDepthMax),
		queue:  requestQueue{limit: 2 * depth},
		out:    outbox{pass: 1},
		timers: newTimers(cfg.Timeouts, uint64(cfg.Replica)^uint64(cfg.Group)),
	}
	if cfg.Replicas == 1 {
		r.ring = newRing(depth)
	} else {
		blank := Blank(cfg.Start.CommitMin)
		r.commitHeader = &blank
	}
	r.start(&cfg.Start)
	return r, nil
}

// start sets the log positions that recovery found.
func (r *Replica) start(s *Start) {
	r.op, r.opDurable, r.acked = s.CommitMin, s.CommitMin, s.CommitMin
	r.commitMax, r.commitMin, r.anchor, r.announced = s.CommitMin, s.CommitMin, s.CommitMin, s.CommitMin
	r.lastTimestamp = s.Timestamp
	r.recoveryHead = s.CommitMin
	r.lastChecksum, r.commitChecksum = s.CommitChecksum, s.CommitChecksum
	r.commitMax = max(r.commitMax, s.CommitMax)
	r.ackedHead, r.amnesiac = s.AckedHead, s.Join == JoinAmnesiac
	if s.Join != JoinInit {
		r.status = statusRecovering
	}
	if s.Head == nil {
		return
	}
	r.recoveryHead = max(s.Head.Op(), s.CommitMin)
	if s.Head.Op() == s.CommitMin {
		r.lastChecksum = s.Head.Common().Checksum()
		r.commitChecksum = r.lastChecksum
		if r.commitHeader != nil {
			*r.commitHeader = *s.Head
		}
	}
	r.lastTimestamp = max(r.lastTimestamp, s.Head.Timestamp())
}

func (cfg *Config) validate() error {
	switch {
	case cfg.Replicas < 1 || cfg.Replicas > ReplicasMax:
		return fmt.Errorf("%d replicas, want 1 to %d", cfg.Replicas, ReplicasMax)
	case cfg.Replica >= cfg.Replicas:
		return fmt.Errorf("replica %d of %d", cfg.Replica, cfg.Replicas)
	case cfg.PrepareDepth < 0 || cfg.PrepareDepth > prepareDepthMax:
		return fmt.Errorf("prepare depth %d, want 1 to %d", cfg.PrepareDepth, prepareDepthMax)
	case cfg.Machine == nil:
		return errors.New("no state machine")
	case cfg.Replicas == 1 && cfg.Start.Join != JoinInit:
		return errors.New("a group of one has nobody to ask for its view")
	case cfg.Start.LogView > cfg.Start.View:
		return fmt.Errorf("log view %d above view %d", cfg.Start.LogView, cfg.Start.View)
	case cfg.Start.Head == nil && cfg.Start.CommitMin > 0 && cfg.Replicas > 1:
		return fmt.Errorf("op %d applied and no head to chain to", cfg.Start.CommitMin)
	case cfg.Start.Head != nil && cfg.Start.Head.Op() < cfg.Start.CommitMin:
		return fmt.Errorf("head %d below the applied op %d", cfg.Start.Head.Op(), cfg.Start.CommitMin)
	}
	return nil
}

// replicationQuorum is the number of replicas that must hold an operation before it is committed.
func replicationQuorum(replicas uint8) uint8 {
	if replicas == 2 {
		return 2
	}
	return min((replicas+1)/2, 3)
}

// View is the current view.
func (r *Replica) View() uint32 { return r.view }

// LogView is the newest view whose log is the log of this replica.
func (r *Replica) LogView() uint32 { return r.logView }

// ObservedNewerView is the highest view above View that dropped frames have shown, or 0.
func (r *Replica) ObservedNewerView() uint32 { return r.observedNewerView }

// Op is the head of the log: the newest operation taken up, whose append may still run.
func (r *Replica) Op() uint64 { return r.op }

// CommitMin is the newest operation that the state machine has applied.
func (r *Replica) CommitMin() uint64 { return r.commitMin }

// CommitMax is the newest operation known to be committed.
func (r *Replica) CommitMax() uint64 { return r.commitMax }

// Held reports whether the commit walk waits for Resume.
func (r *Replica) Held() bool { return r.held }

// Primary is the replica that leads the current view.
func (r *Replica) Primary() uint8 { return r.primary(r.view) }

// IsPrimary reports whether this replica leads the group.
func (r *Replica) IsPrimary() bool { return r.status == statusNormal && r.Primary() == r.self }

func (r *Replica) primary(view uint32) uint8 { return uint8(view % uint32(r.replicas)) }

func (r *Replica) solo() bool { return r.replicas == 1 }

// loading reports whether Recovered has to bring more.
func (r *Replica) loading() bool { return r.op < r.recoveryHead }

// isCandidate reports whether this replica would lead the current view.
func (r *Replica) isCandidate() bool { return r.Primary() == r.self }

// dead reports whether inputs are ignored because the replica has stopped or is broken.
func (r *Replica) dead() bool { return r.status == statusStopped || r.out.effects.Broken != nil }

// input opens the outbox and takes the time of the pass.
func (r *Replica) input(now Time) {
	r.out.open()
	r.now = now
}

// fail makes the replica broken.
func (r *Replica) fail(err error) {
	if r.out.effects.Broken == nil {
		r.out.effects.Broken = fmt.Errorf("vsr group %s: %w", r.group, err)
	}
}

// Step takes a frame from a peer. Frames of another group or incarnation, of commands that this replica
// does not act upon and those that its state does not want are dropped and counted.
func (r *Replica) Step(now Time, m Message) {
	r.input(now)
	if r.dead() {
		r.drop(DropBroken)
		return
	}
	if reason := r.admit(&m); reason != DropNone {
		r.drop(reason)
		return
	}
	switch m.Header.Command() {
	case protocol.CommandPrepare:
		r.onPrepare(&m)
	case protocol.CommandPrepareOk:
		r.onPrepareOk(&m)
	case protocol.CommandCommit:
		r.onCommit(&m)
	case protocol.CommandStartViewChange:
		r.onStartViewChange(&m)
	case protocol.CommandDoViewChange:
		r.onDoViewChange(&m)
	case protocol.CommandStartView:
		r.onStartView(&m)
	case protocol.CommandRequestStartView:
		r.onRequestStartView(&m)
	case protocol.CommandRequestPrepares:
		r.onRequestPrepares(&m)
	case protocol.CommandRepairPrepare:
		r.onRepairPrepare(&m)
	case protocol.CommandRepairDone:
		r.onRepairDone(&m)
	case protocol.CommandRangeEvicted:
		r.onRangeEvicted(&m)
	default:
		r.observeView(m.Header)
		r.drop(DropUnsupported)
	}
}

// admit checks what binds a frame to this group. What a link can check alone, CheckFrame has checked.
func (r *Replica) admit(m *Message) DropReason {
	group, ok := FrameGroup(m.Header)
	switch {
	case m.From >= r.replicas || m.From == r.self:
		return DropSender
	case int64(m.Header.Size()) != int64(protocol.HeaderSize+len(m.Body.Bytes)):
		return DropSize
	case !ok:
		return DropUnsupported
	case group != r.group:
		return DropGroup
	case m.Header.Revision() != r.revision:
		return DropRevision
	}
	return DropNone
}

// observeView notes the view of a frame that is not acted upon.
func (r *Replica) observeView(h *protocol.Header) {
	if v := h.View(); v > r.view && v > r.observedNewerView {
		r.observedNewerView = v
	}
}

// inView reports whether a frame is of the current view. Any other is dropped, and a newer view noted.
func (r *Replica) inView(m *Message) bool {
	switch view := m.Header.View(); {
	case view > r.view:
		r.observeView(m.Header)
		r.drop(DropNewerView)
		return false
	case view < r.view:
		r.drop(DropOldView)
		return false
	}
	return true
}

// Done takes the end of work that an effect asked for.
func (r *Replica) Done(now Time, c Completion) {
	r.input(now)
	if r.dead() {
		r.drop(DropBroken)
		return
	}
	switch c := c.(type) {
	case Appended:
		r.onAppended(c)
	case Truncated:
		r.onTruncated(c)
	case Loaded:
		r.onLoaded(&c)
	case SuperblockDone:
		r.onSuperblockDone(c)
	}
}

// Stop ends the replica: the group is deleted, fenced or shut down. Requests with a log position are
// answered 57, those without 58, and every body is released; later inputs are ignored.
func (r *Replica) Stop(now Time) {
	r.input(now)
	if r.status == statusStopped {
		return
	}
	r.status = statusStopped
	r.out.discard()
	r.timers = timers{rng: r.timers.rng}
	r.dropBeyondHead()
	r.cancelPrepares(r.commitMin + 1)
	r.cancelQueue()
}
