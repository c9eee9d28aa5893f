package superblock

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/galgolog/galgo/internal/vfs"
)

// Outcome tells what Open found.
type Outcome uint8

// Outcomes of Open. They are three and stay three: what cannot be read was not absent.
const (
	Empty      Outcome = iota // never written
	Present                   // State is the newest record
	Unreadable                // something was written and cannot be trusted; writes are refused
)

// String names the outcome.
func (o Outcome) String() string {
	switch o {
	case Empty:
		return "empty"
	case Present:
		return "present"
	}
	return "unreadable"
}

var slotNames = [2]string{"superblock.a", "superblock.b"}

// Store is the superblock of one group. Its methods may be called concurrently; writes run one after the
// other.
type Store struct {
	fs  vfs.FS
	dir string

	mu         sync.Mutex
	newest     *record // nil: never written
	newestSlot int     // slot of newest; 1 when there is none, so that the first write goes to a
	unreadable error
}

// Open reads both slots of the group in dir. A missing directory is Empty. The error is not nil exactly
// when the outcome is Unreadable, and is an *UnreadableError naming the file; the Store then serves no state
// and refuses writes. What is Present is durable. A temporary file that a crash left is ignored; the next write to its slot
// replaces it.
func Open(fsys vfs.FS, dir string) (*Store, Outcome, error) {
	s := &Store{fs: fsys, dir: dir, newestSlot: 1}
	var slots [2]*record
	var failures [2]error
	for i := range slotNames {
		slots[i], failures[i] = s.readSlot(i)
	}
	s.unreadable = preferVersion(failures)
	a, b := slots[0], slots[1]
	switch {
	case s.unreadable != nil:
	case a == nil && b == nil:
		return s, Empty, nil
	case b == nil:
		s.takeLone(a, 0)
	case a == nil:
		s.takeLone(b, 1)
	case b.follows(a):
		s.newest, s.newestSlot = b, 1
	case a.follows(b) || *a == *b:
		s.newest, s.newestSlot = a, 0
	default:
		s.unreadable = s.unreadableSlot(0, &ChainError{SequenceA: a.sequence, SequenceB: b.sequence})
	}
	// A process may have died between a rename and the sync of its directory. What is reported as the newest
	// record must not fall back after that.
	if s.unreadable == nil {
		if err := fsys.SyncDir(dir); err != nil {
			s.unreadable, s.newest = s.unreadableSlot(s.newestSlot, err), nil
		}
	}
	if s.unreadable != nil {
		return s, Unreadable, s.unreadable
	}
	return s, Present, nil
}

// takeLone takes over the only record there is. Only the first record of a store stands alone: a later one was
// written beside the one before it, which may have been replaced by a newer one since.
func (s *Store) takeLone(r *record, slot int) {
	_, err := s.fs.Stat(s.slotPath(1 - slot))
	if r.sequence == 1 && errors.Is(err, fs.ErrNotExist) {
		s.newest, s.newestSlot = r, slot
		return
	}
	s.unreadable = s.unreadableSlot(1-slot, &LostSlotError{Beside: r.sequence})
}

// preferVersion picks the failure that tells the operator most: another version before damage.
func preferVersion(failures [2]error) error {
	var version *VersionError
	if failures[0] != nil && !errors.As(failures[1], &version) {
		return failures[0]
	}
	return failures[1]
}

func (s *Store) slotPath(slot int) string { return path.Join(s.dir, slotNames[slot]) }

func (s *Store) unreadableSlot(slot int, cause error) error {
	return &UnreadableError{Dir: s.dir, File: s.slotPath(slot), Cause: cause}
}

// readSlot returns nil without an error for a slot that was never written.
func (s *Store) readSlot(slot int) (*record, error) {
	return readSlotFile(s.fs, s.dir, s.slotPath(slot))
}

func readSlotFile(fsys vfs.FS, dir, name string) (*record, error) {
	unreadable := func(cause error) (*record, error) {
		return nil, &UnreadableError{Dir: dir, File: name, Cause: cause}
	}
	b, err := vfs.ReadFile(fsys, name, recordMaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, vfs.ErrTooLarge):
		return unreadable(&CorruptError{Reason: fmt.Sprintf("more than %d bytes", recordMaxBytes)})
	case err != nil:
		return unreadable(err)
	case len(b) == 0:
		return nil, nil
	}
	r, err := decodeRecord(b)
	if err != nil {
		return unreadable(err)
	}
	return &r, nil
}

// State returns the newest durable record, and false when there is none to trust.
func (s *Store) State() (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return State{}, false
	}
	return s.newest.state, true
}

// Sequence is the number of the newest durable record, 0 when there is none.
func (s *Store) Sequence() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return 0
	}
	return s.newest.sequence
}

// Write makes state the durable record. The directory must exist. It blocks for two syncs.
//
// After an error nothing has advanced: State is as before and the next Write takes the same slot. The
// record of a failed Write can still be found by the next Open when the failing step was the last one, the
// sync of the directory; nobody was told that it is durable, and it is not below the one before.
//
// Refused without touching the disk: a Store whose outcome was Unreadable (that error), a log view above
// the view (*LogViewError), a view or log view below the durable one (*RegressionError). That offsets never
// fall is the caller's rule: a purge may lower them.
func (s *Store) Write(state State) error {
	if err := state.validate(); err != nil {
		return fmt.Errorf("superblock write %s: %w", s.dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreadable != nil {
		return fmt.Errorf("superblock write refused: %w", s.unreadable)
	}
	next := record{sequence: 1, state: state}
	if s.newest != nil {
		if d := &s.newest.state; state.View < d.View || state.LogView < d.LogView {
			return &RegressionError{state.View, state.LogView, d.View, d.LogView}
		}
		next.sequence, next.parent = s.newest.sequence+1, s.newest.trailer
	}
	slot := 1 - s.newestSlot
	if err := vfs.WriteFile(s.fs, s.slotPath(slot), next.encode()); err != nil {
		return fmt.Errorf("superblock write %s: %w", s.slotPath(slot), err)
	}
	s.newest, s.newestSlot = &next, slot
	return nil
}
