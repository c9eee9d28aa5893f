package gatecheck

import (
	"encoding/binary"
	"fmt"
	"path"
	"sync"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/superblock"
	"github.com/galgolog/galgo/internal/vfs"
	"github.com/galgolog/galgo/internal/wal"
)

// Gate is the file system of one node and its witness. Methods are safe for concurrent use.
type Gate struct {
	vfs.FS
	fail func(error)

	mu      sync.Mutex
	groups  map[string]superblock.State // by folder: the durable record
	journal map[uint64]protocol.Uint128 // identities of the metadata operations that were synced, by op
	open    map[string]*journalFile     // the newest handle of a journal, by name
	checks  Checks
}

// New puts a gate in front of a file system. fail is called with every broken rule.
func New(fsys vfs.FS, fail func(error)) *Gate {
	return &Gate{
		FS: fsys, fail: fail, groups: map[string]superblock.State{}, journal: map[uint64]protocol.Uint128{},
		open: map[string]*journalFile{},
	}
}

// Checks counts what a gate was shown.
type Checks struct{ Answers, Views, Refused int }

// Checks returns the counts so far.
func (g *Gate) Checks() Checks {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.checks
}

// EarlyError says that something left before what it depends on was durable.
type EarlyError struct {
	Dir  string
	What string // what left
	Why  string // what is not durable
}

func (e *EarlyError) Error() string {
	return fmt.Sprintf("%s: %s left early: %s", e.Dir, e.What, e.Why)
}

// refuse reports a broken rule. Called with mu held.
func (g *Gate) refuse(dir, why string, what string, args ...any) {
	g.checks.Refused++
	g.fail(&EarlyError{Dir: dir, What: fmt.Sprintf(what, args...), Why: why})
}

// Answered implements the witness of a node.
func (g *Gate) Answered(dir string, h *protocol.PrepareHeader, body []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checks.Answers++
	state, written := g.groups[dir]
	view := h.Common().View()
	switch {
	case !written:
		g.refuse(dir, "no superblock", "answer to op %d (%s)", h.Op(), h.Operation())
	case state.View != view || state.LogView > state.View:
		g.refuse(dir, fmt.Sprintf("the superblock holds view %d", state.View), "answer to op %d (%s) of view %d", h.Op(), h.Operation(), view)
	}
	if protocol.GroupID(h.Group()) == protocol.MetadataGroup {
		if g.journal[h.Op()] != h.Common().Checksum() {
			g.refuse(dir, "the journal does not hold it", "answer to op %d (%s)", h.Op(), h.Operation())
		}
		return
	}
	if h.Operation() == protocol.OpSendMessages && len(body) >= 24 {
		if base := binary.LittleEndian.Uint64(body[16:]); base >= state.OffsetReserved {
			g.refuse(dir, fmt.Sprintf("offsets are reserved up to %d", state.OffsetReserved), "offset %d", base)
		}
	}
}

// Visible implements the witness of a node.
func (g *Gate) Visible(dir string, highest uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checks.Views++
	if state := g.groups[dir]; highest >= state.OffsetReserved {
		g.refuse(dir, fmt.Sprintf("offsets are reserved up to %d", state.OffsetReserved), "the view up to %d", highest)
	}
}

// SyncDir makes the superblocks that were renamed in a directory durable, and with them what they say.
func (g *Gate) SyncDir(name string) error {
	if err := g.FS.SyncDir(name); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noteSuperblock(name)
	return nil
}

// noteSuperblock takes over the newest record in a folder. A rename that another goroutine makes between the sync
// and this look is taken for durable too early; that one is missed, and no other is accused.
func (g *Gate) noteSuperblock(dir string) {
	var newest superblock.Slot
	for _, name := range superblock.Names() {
		slot, written, err := superblock.ReadSlot(g.FS, path.Join(dir, name))
		if err == nil && written && slot.Sequence > newest.Sequence {
			newest = slot
		}
	}
	if newest.Sequence == 0 {
		delete(g.groups, dir)
		return
	}
	g.groups[dir] = newest.State
}

// Rename follows journals, whose handles go on under the new name, and folders of groups that are set aside.
func (g *Gate) Rename(oldName, newName string) error {
	err := g.FS.Rename(oldName, newName)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, oldName)
	if f := g.open[oldName]; f != nil {
		delete(g.open, oldName)
		g.open[newName] = f
	}
	return nil
}

// OpenFile watches journals.
func (g *Gate) OpenFile(name string, flags vfs.Flags) (vfs.File, error) {
	f, err := g.FS.OpenFile(name, flags)
	return g.watch(name, f, err)
}

// Create watches journals.
func (g *Gate) Create(name string) (vfs.File, error) {
	f, err := g.FS.Create(name)
	return g.watch(name, f, err)
}

func (g *Gate) watch(name string, f vfs.File, err error) (vfs.File, error) {
	if base := path.Base(name); err != nil || base != wal.JournalName && base != wal.JournalName+".tmp" {
		return f, err
	}
	j := &journalFile{File: f, gate: g}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[name] = j
	return j, nil
}

// journalFile is an open journal, or one that is to become it.
type journalFile struct {
	vfs.File
	gate *Gate
}

// Sync implements vfs.File.
func (j *journalFile) Sync() error {
	err := j.File.Sync()
	if err == nil {
		j.gate.noteJournal(j)
	}
	return err
}

// Datasync implements vfs.File.
func (j *journalFile) Datasync() error {
	err := j.File.Datasync()
	if err == nil {
		j.gate.noteJournal(j)
	}
	return err
}

// noteJournal takes over the operations of a journal that was synced.
func (g *Gate) noteJournal(j *journalFile) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, f := range g.open {
		if f != j || path.Base(name) != wal.JournalName {
			continue
		}
		_, _, err := wal.Walk(g.FS, name, func(r *wal.Record) bool {
			g.journal[r.Prepare.Op()] = r.Prepare.Common().Checksum()
			return true
		})
		if err != nil {
			g.fail(fmt.Errorf("gate check cannot read %s: %w", name, err))
		}
	}
}
