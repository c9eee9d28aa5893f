package vfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// CrashMode says what CrashClone keeps of what no sync has covered.
type CrashMode uint8

// Crash modes. Synced data and names survive in all of them.
const (
	// KillOnly keeps everything: the process died, the page cache did not.
	KillOnly CrashMode = iota
	// LoseUnsynced keeps nothing else.
	LoseUnsynced
	// KeepPrefix keeps, for each file and each directory on its own, its oldest unsynced operations up
	// to a seeded point; the write at that point is cut at a byte.
	KeepPrefix
	// TearSectors keeps or loses every 512-byte sector of every unsynced write on its own, every
	// unsynced change of length and every unsynced change of names likewise. A file may have grown by
	// bytes that never arrived: they read as zeros.
	TearSectors
	// TearBytes keeps of every unsynced write nothing, all, or a range cut at arbitrary bytes.
	TearBytes
)

// CrashModes lists all modes, for tests that run through them.
var CrashModes = []CrashMode{KillOnly, LoseUnsynced, KeepPrefix, TearSectors, TearBytes}

// String names the mode.
func (c CrashMode) String() string {
	names := [...]string{"kill only", "lose unsynced", "keep prefix", "tear sectors", "tear bytes"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("crash mode %d", uint8(c))
}

const sectorBytes = 512

// CrashClone returns a file system, with everything in it durable, as the next boot could find it if
// power were lost now. The receiver is unchanged and may have crashed. The same rng state gives the same
// result.
func (m *Mem) CrashClone(rng *rand.Rand, mode CrashMode) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := cloner{rng: rng, mode: mode, nodes: map[*memNode]*memNode{}, kept: map[*memChange]bool{}}
	return &Mem{
		rng:      rand.New(rand.NewPCG(rng.Uint64(), 0)),
		root:     c.node(m.root),
		capacity: m.capacity,
	}
}

type cloner struct {
	rng   *rand.Rand
	mode  CrashMode
	nodes map[*memNode]*memNode // a node found under two names is one node in the clone, too
	kept  map[*memChange]bool   // a rename between directories is decided once
}

func (c *cloner) node(n *memNode) *memNode {
	if done := c.nodes[n]; done != nil {
		return done
	}
	if !n.isDir {
		image := c.image(n)
		done := &memNode{live: image.share(), durable: image.share()}
		c.nodes[n] = done
		return done
	}
	done := newMemDir()
	c.nodes[n] = done
	entries := c.names(n)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		done.entries[name] = c.node(entries[name])
	}
	done.durableEntries = maps.Clone(done.entries)
	return done
}

// names returns the entries of a directory that survive.
func (c *cloner) names(n *memNode) map[string]*memNode {
	entries := maps.Clone(n.durableEntries)
	prefix := 0
	if c.mode == KeepPrefix {
		prefix = c.rng.IntN(len(n.changes) + 1)
	}
	for i, ch := range n.changes {
		keep, decided := c.kept[ch]
		if !decided {
			switch c.mode {
			case KillOnly:
				keep = true
			case KeepPrefix:
				keep = i < prefix
			case TearSectors, TearBytes:
				keep = c.rng.IntN(2) == 0
			}
			c.kept[ch] = keep
		}
		if !keep {
			continue
		}
		for _, e := range ch.edits {
			if e.dir == n {
				setEntry(entries, e.name, e.node)
			}
		}
	}
	return entries
}

// image returns the content of a file that survives.
func (c *cloner) image(n *memNode) memContent {
	if c.mode == KillOnly {
		return n.live.share()
	}
	if len(n.writes) == 0 || c.mode == LoseUnsynced {
		return n.durable.share()
	}
	return memContent{bytes: c.survivors(n)}
}

// survivors applies what survives of the unsynced writes of a file to what is durable.
func (c *cloner) survivors(n *memNode) []byte {
	image := slices.Clone(n.durable.bytes)
	if c.mode == KeepPrefix {
		count := c.rng.IntN(len(n.writes) + 1)
		for _, w := range n.writes[:count] {
			image = w.apply(image)
		}
		if count < len(n.writes) && !n.writes[count].truncate {
			w := n.writes[count]
			image = part(w, 0, c.rng.IntN(len(w.data)+1)).apply(image)
		}
		return image
	}
	for _, w := range n.writes {
		switch {
		case w.truncate:
			if c.rng.IntN(2) == 0 {
				image = w.apply(image)
			}
		case c.mode == TearSectors:
			image = c.tearSectors(image, w)
		default:
			image = c.tearBytes(image, w)
		}
	}
	return image
}

// part is the range [from, to) of a write's bytes. An empty range changes nothing, the length included.
func part(w memWrite, from, to int) memWrite {
	if from == to {
		return memWrite{}
	}
	return memWrite{off: w.off + int64(from), data: w.data[from:to]}
}

func (c *cloner) tearSectors(image []byte, w memWrite) []byte {
	// Without this a write of few sectors would seldom survive or vanish whole.
	fate := c.rng.IntN(4)
	for from := 0; from < len(w.data); {
		to := min(from+sectorBytes-int((w.off+int64(from))%sectorBytes), len(w.data))
		if fate == 0 || fate > 1 && c.rng.IntN(2) == 0 {
			image = part(w, from, to).apply(image)
		}
		from = to
	}
	if end := w.off + int64(len(w.data)); end > int64(len(image)) && c.rng.IntN(2) == 0 {
		image = resize(image, end)
	}
	return image
}

func (c *cloner) tearBytes(image []byte, w memWrite) []byte {
	switch c.rng.IntN(4) {
	case 0:
		return image
	case 1:
		return w.apply(image)
	case 2: // the beginning did not arrive: a hole
		return part(w, c.rng.IntN(len(w.data)), len(w.data)).apply(image)
	default:
		from := c.rng.IntN(len(w.data))
		return part(w, from, from+c.rng.IntN(len(w.data)-from+1)).apply(image)
	}
}
