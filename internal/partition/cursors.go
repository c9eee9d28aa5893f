package partition

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Cursors is the table of live consumer offsets: the one part of a partition that polls write. A cell holds
// (epoch, offset): readers raise the offset within an epoch, an explicit store begins the next epoch, so a
// raise that began before a rewind does not undo it. Safe for concurrent use. The zero value is empty.
type Cursors struct {
	cells sync.Map      // ConsumerKey -> *cell
	base  atomic.Uint64 // epoch of a key that has no cell yet; moves with every clear
}

type cell struct {
	state  atomic.Pointer[cursor]
	polled atomic.Pointer[uint64] // highest offset served to a group, nil when none
	queued atomic.Bool            // a store of the live offset is on its way to the owner
}

type cursor struct {
	epoch  uint64
	offset uint64
	set    bool // a cell may exist for its polled mark alone
}

// Get returns the live offset of key.
func (c *Cursors) Get(key ConsumerKey) (uint64, bool) {
	cl := c.find(key)
	if cl == nil {
		return 0, false
	}
	s := cl.state.Load()
	return s.offset, s.set
}

// Raise moves the live offset of key forward, never back, and reports whether key had none before.
func (c *Cursors) Raise(key ConsumerKey, offset uint64) (isNew bool) {
	cl := c.cell(key)
	for {
		s := cl.state.Load()
		if s.set && s.offset >= offset {
			return false
		}
		if cl.state.CompareAndSwap(s, &cursor{s.epoch, offset, true}) {
			return !s.set
		}
	}
}

// Epoch returns the epoch of key, to be given to RaiseIn.
func (c *Cursors) Epoch(key ConsumerKey) uint64 {
	if cl := c.find(key); cl != nil {
		return cl.state.Load().epoch
	}
	return c.base.Load()
}

// RaiseIn is Raise for a poll that read the cell in the given epoch: it does nothing once an explicit store
// or a delete has begun another.
func (c *Cursors) RaiseIn(key ConsumerKey, epoch, offset uint64) {
	cl := c.cell(key)
	for {
		s := cl.state.Load()
		if s.epoch != epoch || s.set && s.offset >= offset {
			return
		}
		if cl.state.CompareAndSwap(s, &cursor{epoch, offset, true}) {
			return
		}
	}
}

// store sets the live offset of key, also backwards, and begins a new epoch.
func (c *Cursors) store(key ConsumerKey, offset uint64) (isNew bool) {
	cl := c.cell(key)
	for {
		s := cl.state.Load()
		if cl.state.CompareAndSwap(s, &cursor{s.epoch + 1, offset, true}) {
			return !s.set
		}
	}
}

// remove forgets the live offset of key and begins a new epoch.
func (c *Cursors) remove(key ConsumerKey) (existed bool) {
	cl := c.find(key)
	if cl == nil {
		return false
	}
	for {
		s := cl.state.Load()
		if cl.state.CompareAndSwap(s, &cursor{epoch: s.epoch + 1}) {
			return s.set
		}
	}
}

// MarkPolled remembers that messages up to offset were served to the group of key.
func (c *Cursors) MarkPolled(key ConsumerKey, offset uint64) {
	cl := c.cell(key)
	for {
		old := cl.polled.Load()
		if old != nil && *old >= offset {
			return
		}
		if cl.polled.CompareAndSwap(old, &offset) {
			return
		}
	}
}

// Polled returns the highest offset served to the group of key.
func (c *Cursors) Polled(key ConsumerKey) (uint64, bool) {
	if cl := c.find(key); cl != nil {
		if p := cl.polled.Load(); p != nil {
			return *p, true
		}
	}
	return 0, false
}

// Claim reports whether the caller is to have the live offset of key stored: true for the first since the last
// Unclaim.
func (c *Cursors) Claim(key ConsumerKey) bool { return c.cell(key).queued.CompareAndSwap(false, true) }

// Unclaim is called before the live offset is read for storing.
func (c *Cursors) Unclaim(key ConsumerKey) { c.cell(key).queued.Store(false) }

// Min returns the lowest live offset over all consumers and groups: what retention must not pass.
func (c *Cursors) Min() (lowest uint64, found bool) {
	c.cells.Range(func(_, v any) bool {
		s := v.(*cell).state.Load()
		if s.set && (!found || s.offset < lowest) {
			lowest, found = s.offset, true
		}
		return true
	})
	return lowest, found
}

func (c *Cursors) find(key ConsumerKey) *cell {
	if v, ok := c.cells.Load(key); ok {
		return v.(*cell)
	}
	return nil
}

func (c *Cursors) cell(key ConsumerKey) *cell {
	if cl := c.find(key); cl != nil {
		return cl
	}
	fresh := &cell{}
	fresh.state.Store(&cursor{epoch: c.base.Load()})
	v, _ := c.cells.LoadOrStore(key, fresh)
	return v.(*cell)
}

// clear forgets everything: cells in use by a poll in flight, and those that it has yet to make, are of an epoch
// that the poll does not know.
func (c *Cursors) clear() {
	c.base.Add(1)
	for _, key := range c.allKeys() {
		c.remove(key)
		c.cell(key).polled.Store(nil)
	}
}

// keys returns the keys with a live offset, ascending.
func (c *Cursors) keys() []ConsumerKey {
	all := c.allKeys()
	live := all[:0]
	for _, k := range all {
		if _, ok := c.Get(k); ok {
			live = append(live, k)
		}
	}
	return live
}

func (c *Cursors) allKeys() []ConsumerKey {
	var keys []ConsumerKey
	c.cells.Range(func(k, _ any) bool {
		keys = append(keys, k.(ConsumerKey))
		return true
	})
	slices.SortFunc(keys, ConsumerKey.Compare)
	return keys
}
