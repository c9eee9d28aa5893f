package vsr

import (
	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
)

// Time is what one pass of a host knows about time. It is sampled once per pass.
type Time struct {
	Micros uint64 // wall clock, microseconds since the Unix epoch; stamps prepares
	Ticks  uint64 // monotonic, 10 ms each; drives timeouts
}

// Body is the body of one operation. Lease is the memory behind Bytes, or nil when Bytes belongs to the
// collector. Whoever receives a Body in an effect borrows it: a reference is added with Retain only when
// the bytes are kept beyond the next call into the Replica.
type Body struct {
	Lease *buffer.Lease
	Bytes []byte
}

// Retain adds a reference to the memory behind the body.
func (b Body) Retain() {
	if b.Lease != nil {
		b.Lease.Retain()
	}
}

// Release gives a reference back.
func (b Body) Release() {
	if b.Lease != nil {
		b.Lease.Release()
	}
}

// Request is an operation to be proposed. The Replica takes over one reference of Body, whatever the
// outcome of Propose.
type Request struct {
	Client          protocol.Uint128
	Session         uint64 // fence; checked by Sessions, ignored by groups without
	Request         uint64 // request number; 0 = not numbered
	RequestChecksum protocol.Uint128
	Operation       protocol.Operation
	UserID          uint32
	Body            Body
	// Waiter is given back unchanged in the Reply. Nil for operations nobody waits for.
	Waiter any
}

// Verdict says what became of a request without a log position.
type Verdict uint8

// Verdicts.
const (
	// Accepted: the request has a log position or waits in the request queue; a Reply will come.
	Accepted Verdict = iota
	// Denied: answer with Code in the status field.
	Denied
	// Framed: answer with a result section holding Code (57, 58, 59, 51).
	Framed
	// Evicted: answer with an eviction frame of reason Evict.
	Evicted
	// Replayed: answer with Frame, the cached reply, byte for byte.
	Replayed
	// Full: both queues are full. The request was not taken; the host stops reading that connection
	// and offers the request again, or answers 58 after a second. The Body reference stays with the host.
	Full
)

// Outcome is a Verdict with its facts. The zero value is Accepted.
type Outcome struct {
	Verdict Verdict
	Code    protocol.Code
	Evict   protocol.EvictionReason
	Frame   []byte
}

// Entry is one prepared operation: sealed header and body.
type Entry struct {
	Header protocol.PrepareHeader
	Body   Body
	// Seq is the number of its append: 1, 2, 3 in the order in which a Replica asks for them.
	Seq uint64
}

// Message is a frame from a peer: authenticated, and passed by CheckFrame. Body.Bytes is exactly what
// follows the header. The Replica borrows both for the call and retains the body if it keeps it.
type Message struct {
	From   uint8 // the authenticated peer of the link
	Header *protocol.Header
	Body   Body
}

// Reply answers one Request that was Accepted. For a committed operation Outcome is zero, Prepare is its
// header and Body the encoded reply body; otherwise Outcome says what to answer and Prepare is nil. Prepare,
// Request and Body alias memory of the Replica and hold until its next method call.
type Reply struct {
	Waiter any
	// Request is set when Outcome is: the request as it was proposed, without its Body and, if it was
	// prepared and then unwound or cancelled, without its Session. Nil for committed operations.
	Request *Request
	Prepare *protocol.PrepareHeader
	Body    []byte
	Outcome Outcome
}

// Send is a frame for one peer: header, then body. Gated frames appear here only after their gate opened.
type Send struct {
	To     uint8
	Header protocol.Header
	Body   Body
}

// SuperblockWrite asks for (View, LogView, CommitMax) to be made durable together with what the state
// machine adds. At most one is outstanding per group. Completed with SuperblockDone.
type SuperblockWrite struct {
	View, LogView uint32
	CommitMax     uint64
}

// Truncate asks for every operation from From on to be dropped from the group's log, durably. AckedHead is
// the highest operation acknowledged in the log view that is left for View. The log has to remember it: it is
// Start.AckedHead as long as the log view in the superblock is below View. Completed, in order, with Truncated.
type Truncate struct {
	From, AckedHead uint64
	View            uint32
}

// Load asks for applied operations to be read from the group's log, for a peer. Completed with Loaded.
type Load struct {
	To       uint8
	Nonce    protocol.Uint128
	From, Up uint64 // first and last op
}

// Effects is what the host must do now, in this order: superblock write started, truncates, appends started,
// loads, sends, replies. The slices are reused: they hold until the next method call of the Replica.
type Effects struct {
	Superblock *SuperblockWrite
	// Truncates come before the appends of the same drain, and after those of earlier ones.
	Truncates []Truncate
	Loads     []Load
	// Appends are the prepares that the group's log must hold before they are acknowledged, ascending by
	// op. The host retains what it keeps. Completed, in order, with Appended.
	Appends []*Entry
	Sends   []Send
	Replies []Reply
	// Broken is set when the Replica cannot go on: it wraps ErrUnreconcilable (an append failed that cannot
	// be unwound) or ErrSuperblockWedged. The host fences a partition group and ends the process for the
	// metadata group. It stays set, and the Replica ignores every further input but Stop.
	Broken error
}

// Completion reports that work asked for by an effect has ended.
type Completion interface{ completion() }

// Appended reports that the log holds every prepare up to and including Op as durably as the topic
// promises, or, with Err, that the append which began at Op failed and nothing from Op on is in the log.
//
// In a group of several an operation can be appended again after it was dropped; Seq, the number of the append
// of Op, tells which one is meant. 0 means the one that is held.
type Appended struct {
	Op, Seq uint64
	Err     error
}

// Truncated reports that a Truncate is durable. With Err the replica is broken.
type Truncated struct{ Err error }

// Loaded brings what a Load has found, ascending from Load.From without a gap, with verified identities and
// bodies. The Replica borrows the bodies. Oldest is the oldest operation that the log still has, 0 for none.
type Loaded struct {
	Load    Load
	Entries []Entry
	Oldest  uint64
}

// SuperblockDone carries the values that were written, not the values now in memory. With Err nothing
// was written and the Replica asks again after its backoff.
type SuperblockDone struct {
	View, LogView uint32
	Err           error
	// NoSpace tells that Err is nothing but a full disk: the Replica asks again every second and does not
	// count it as a failure, because room comes back without anybody mending anything.
	NoSpace bool
}

func (Appended) completion()       {}
func (Truncated) completion()      {}
func (Loaded) completion()         {}
func (SuperblockDone) completion() {}

// ApplyStatus is the answer of StateMachine.Apply.
type ApplyStatus uint8

// Apply statuses. ApplyHeld means that jobs were handed out: the commit walk stops at this op and calls
// Apply for it again when the host calls Resume.
const (
	ApplyDone ApplyStatus = iota
	ApplyHeld
)

// StateMachine is what a group replicates. Calls come from the owner of the Replica, inside its methods.
type StateMachine interface {
	// Mint runs once on the primary for a new operation, after op, parent and timestamp are in h and
	// before h has an identity. It may stamp the body in place (a batch gets offsets and timestamp). It
	// returns the body checksum to seal. An error refuses the request with that code; nothing is logged.
	Mint(h *protocol.PrepareHeader, body Body) (protocol.Uint128, protocol.Code)
	// Unmint undoes every Mint from op on: an append failed, or another view has dropped the operations.
	Unmint(op uint64)
	// Apply executes a committed operation and appends the reply body to reply. It is total and
	// deterministic in its reply and next state. No reply is built for operations without a waiter on
	// backups, but the result must be the same.
	Apply(h *protocol.PrepareHeader, body Body, reply []byte) ([]byte, ApplyStatus)
}

// Sessions is the client table of a group that has one (the metadata group). Requests whose Client is 0 or
// 2^128-1 originate inside the server: they are not checked, and any number of them may be in flight.
type Sessions interface {
	// Check classifies a request of a client against the committed table. Accepted means: execute.
	Check(req *Request) Outcome
	// Committed records the reply to an applied operation. frame is the complete reply frame; the table
	// keeps a copy if it needs one.
	Committed(h *protocol.PrepareHeader, frame []byte)
}

// Config describes one member of one group. All fields but Sessions, depths and the start state are needed.
type Config struct {
	Group       protocol.GroupID
	Cluster     protocol.Uint128
	Replica     uint8
	Replicas    uint8 // 1..32
	Revision    uint64
	Incarnation protocol.Uint128 // random per boot, low bit 1
	Machine     StateMachine
	Sessions    Sessions // nil: no client table
	// PrepareDepth is the number of prepares that may be in flight (default 32, 1..127); the request
	// queue holds twice as many.
	PrepareDepth int
	Timeouts     Timeouts
	// SuperblockFailuresMax is the number of consecutive failed superblock writes after which the Replica
	// is Broken; 0 means 120, below 0 never.
	SuperblockFailuresMax int
	Start                 Start
}

// Timeouts are in ticks of 10 ms; 0 means the default.
type Timeouts struct {
	Prepare   uint32 // retransmission of prepares without a quorum, 25
	Commit    uint32 // commit broadcast of an otherwise silent primary, 50
	Heartbeat uint32 // silence of the primary that a backup takes for its death, 500
	// ViewChange is the pause between repetitions of the messages of a view change, 50.
	ViewChange uint32
	// ViewChangeStatus is how long a view change may take before the next view is tried, 500.
	ViewChangeStatus uint32
	Probe            uint32 // pause between the probes of a replica that does not know the view, 100
	// ProbeAttempts is the number of times that Probe passes without an answer before an election, 5.
	ProbeAttempts uint32
	Repair        uint32 // silence after which a request for missing operations is repeated, 100
}

// Join is how a replica comes to its group.
type Join uint8

// Ways to join. JoinInit is for a group of one and for a group that was never written: view 0, or the view of
// Start, in status Normal.
const (
	JoinInit Join = iota
	// JoinProbe is for a restart with a log that is proven to be complete: the replica asks for the current
	// view, and takes part in an election when nobody answers.
	JoinProbe
	// JoinAmnesiac is for a log that may lack what was acknowledged: the replica asks for the current view
	// and neither votes nor acknowledges before it has adopted one.
	JoinAmnesiac
)

// Start is the state a Replica begins with, as recovery found it. The zero value is a group that was
// never written.
type Start struct {
	View, LogView uint32
	// ViewDurable tells that a superblock with View and LogView exists.
	ViewDurable bool
	// Head is the header of the newest operation in the log; nil when the log is empty.
	Head *protocol.PrepareHeader
	// CommitMin is the newest operation that the state machine already reflects. Operations above it up
	// to Head are given to Recovered before the first other call.
	CommitMin uint64
	// CommitChecksum is the identity of operation CommitMin, which the next one must name as its parent; zero
	// when it is not known.
	CommitChecksum protocol.Uint128
	// CommitMax is a commit point that is known otherwise, as from the superblock; 0 for none.
	CommitMax uint64
	// Timestamp is a floor for the prepare clock, microseconds.
	Timestamp uint64
	Join      Join
	// AckedHead is the highest operation that may have been acknowledged in LogView; what is missing at or
	// below it is never denied.
	AckedHead uint64
}
