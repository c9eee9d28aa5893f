package shardlog

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/wal"
)

// incarnationKey names one incarnation of a group.
type incarnationKey struct {
	group    protocol.GroupID
	revision uint64
}

// registry knows for every incarnation which files hold its records and which record covers them. It is shared by
// the logs of a node, because after a change of the number of shards a group has records in two of them.
type registry struct {
	mu           sync.Mutex // a leaf: nothing is locked and no file is touched under it
	incarnations map[incarnationKey]*incarnation
}

// need says that a file holds records of an incarnation. Its ops are raised by the owner of the log without a lock.
type need struct {
	inc  *incarnation
	file *logFile
	// maxOp is the highest op of its prepares there, 0 for none; since is the same without those that a
	// Truncate or Reset voids which is not synced yet.
	maxOp, since atomic.Uint64
}

// mark finds one record that says something about the records before it.
type mark struct {
	file  *logFile
	pos   int64
	batch uint64
	kind  wal.Kind
	op    uint64 // checkpoints: up to which they cover prepares; Truncate: from which they are void
}

// incarnation is what Reclaim must know of one incarnation. Guarded by registry.mu.
type incarnation struct {
	key   incarnationKey
	needs []*need // oldest file first

	cover   *mark // newest Checkpoint or Installed that was seen synced
	pending *mark // newest of all, when that is another one
	voiding *mark // newest Truncate or Reset whose effect on needs waits for its sync
	dropped *mark
	lost    *mark // a Lost record that stands
	regain  *mark // newest record that ends it, while that is not synced
	reset   *mark // a Reset that stands

	scan *groupScan // until Replayed
}

func newRegistry() *registry {
	return &registry{incarnations: map[incarnationKey]*incarnation{}}
}

func (r *registry) incarnation(k incarnationKey) *incarnation {
	inc := r.incarnations[k]
	if inc == nil {
		inc = &incarnation{key: k}
		r.incarnations[k] = inc
	}
	return inc
}

// need returns that of an incarnation in a file.
func (r *registry) need(k incarnationKey, file *logFile) *need {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.needLocked(k, file)
}

func (r *registry) needLocked(k incarnationKey, file *logFile) *need {
	inc := r.incarnation(k)
	for _, n := range slices.Backward(inc.needs) {
		if n.file == file {
			return n
		}
	}
	n := &need{inc: inc, file: file}
	inc.needs = append(inc.needs, n)
	file.needs = append(file.needs, n)
	return n
}

// raise counts a prepare. Only the owner of the log calls it, which also appends what lowers the counts.
func (n *need) raise(op uint64) {
	if op > n.maxOp.Load() {
		n.maxOp.Store(op)
	}
	if op > n.since.Load() {
		n.since.Store(op)
	}
}

// observe notes a record other than a prepare.
func (r *registry) observe(inc *incarnation, m mark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inc.settle()
	switch m.kind {
	case wal.KindCheckpoint:
		inc.pending = &m
	case wal.KindInstalled:
		inc.pending, inc.reset, inc.regain = &m, nil, &m
	case wal.KindTruncate:
		inc.void(m.op)
		inc.voiding = &m
	case wal.KindReset:
		inc.void(1)
		inc.cover, inc.pending, inc.reset, inc.voiding = nil, nil, &m, &m
	case wal.KindLost:
		inc.lost, inc.regain = &m, nil
	case wal.KindAdopted, wal.KindAccepted:
		inc.regain = &m
	case wal.KindDropped:
		inc.dropped = &m
	}
	inc.settle()
}

// void forgets prepares from an op on, in what counts once the record that voids them is synced.
func (i *incarnation) void(fromOp uint64) {
	for _, n := range i.needs {
		n.since.Store(min(n.since.Load(), max(fromOp, 1)-1))
	}
}

// settle gives effect to what has been synced.
func (i *incarnation) settle() {
	if i.pending != nil && i.pending.synced() {
		i.cover, i.pending = i.pending, nil
	}
	if i.voiding != nil && i.voiding.synced() {
		for _, n := range i.needs {
			n.maxOp.Store(n.since.Load())
		}
		i.voiding = nil
	}
	if i.regain != nil && i.regain.synced() {
		i.lost, i.regain = nil, nil
	}
}

// synced reports whether the record is known to be durable.
func (m *mark) synced() bool {
	if m.file.isOld {
		return m.file.isDurable
	}
	return m.batch <= m.file.log.synced.Load()
}

// after reports whether f is a later file than g as the records of one group see it: within a life a group has
// one owner, so files of two logs compare by life alone.
func (f *logFile) after(g *logFile) bool {
	if f.log == g.log {
		return f.header.number > g.header.number
	}
	return f.header.life > g.header.life
}

// blocker says why a file cannot be given up for one group.
type blocker uint8

const (
	blockNone   blocker = iota // nothing of the group is needed there
	blockSync                  // a later record covers it once that is synced
	blockCopy                  // the record that covers it lies in the file itself: a copy of it would do
	blockPinned                // the group must checkpoint first
)

// blocks says how the group keeps the file. copies are the marks to copy forward, in this order. Called with
// registry.mu held.
func (n *need) blocks() (b blocker, copies []*mark) {
	inc := n.inc
	inc.settle()
	if inc.dropped != nil {
		return n.blocksDropped()
	}
	if inc.reset == nil && inc.pending != nil && inc.cover != nil && n.coveredBy(inc.cover) {
		b, _ = n.blocksMark(inc.lost, blockNone, nil)
		if b == blockNone {
			return b, nil
		}
	}
	anchor := cmp.Or(inc.reset, inc.pending, inc.cover)
	if anchor == nil || n.maxOp.Load() > anchor.covered() || anchor.file != n.file && !anchor.file.after(n.file) {
		return blockPinned, nil
	}
	b, copies = n.blocksMark(anchor, blockNone, nil)
	return n.blocksMark(inc.lost, b, copies)
}

// covered is the op up to which a checkpoint covers prepares; a Reset voids what was before and covers nothing.
func (m *mark) covered() uint64 {
	if m.kind == wal.KindReset {
		return 0
	}
	return m.op
}

func (n *need) coveredBy(m *mark) bool {
	return m.synced() && m.file.after(n.file) && n.maxOp.Load() <= m.op
}

// blocksMark adds what one mark asks for.
func (n *need) blocksMark(m *mark, b blocker, copies []*mark) (blocker, []*mark) {
	switch {
	case m == nil:
	case m == n.inc.lost && n.inc.regain != nil:
		b = max(b, blockSync) // a copy would come behind the record that ends it
	case m.file == n.file:
		return blockCopy, append(copies, m)
	case m.file.after(n.file) && !m.synced():
		b = max(b, blockSync)
	}
	return b, copies
}

// blocksDropped is blocks for an incarnation that has ended: the Dropped record leaves last.
func (n *need) blocksDropped() (blocker, []*mark) {
	d := n.inc.dropped
	switch {
	case !d.synced():
		return blockSync, nil
	case d.file == n.file && len(n.inc.needs) > 1:
		return blockCopy, []*mark{d}
	}
	return blockNone, nil
}

// forget removes a file from the registry.
func (r *registry) forget(f *logFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range f.needs {
		inc := n.inc
		inc.needs = slices.DeleteFunc(inc.needs, func(m *need) bool { return m == n })
		if len(inc.needs) == 0 && inc.scan == nil {
			delete(r.incarnations, inc.key)
		}
	}
	f.needs = nil
}

// disown forgets what the registry knows of the files of a log that no longer is one.
func (r *registry) disown(l *Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, inc := range r.incarnations {
		inc.needs = slices.DeleteFunc(inc.needs, func(n *need) bool { return n.file.log == l })
		for _, m := range []**mark{&inc.cover, &inc.pending, &inc.voiding, &inc.dropped, &inc.lost, &inc.regain, &inc.reset} {
			if *m != nil && (*m).file.log == l {
				*m = nil
			}
		}
	}
}
