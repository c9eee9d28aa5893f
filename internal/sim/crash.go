package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/galgolog/galgo/internal/vfs"
)

// Moment is when, relative to a file operation, the machine or the process dies.
type Moment uint8

// Moments. During is for writes alone: a part of the bytes was written. After leaves the operation done and nobody
// told.
const (
	Before Moment = iota
	During
	After
)

var momentNames = [...]string{"before", "during", "after"}

func (m Moment) String() string { return momentNames[m] }

// Point names one crash: at which file operation of a path, counted from 1, it comes, when, what is left of unsynced
// data, and the seed of everything else.
type Point struct {
	Path   string
	Op     uint64
	Moment Moment
	Mode   vfs.CrashMode
	Seed   uint64
}

// modeNames are the crash modes as they stand in a Point's text.
var modeNames = map[vfs.CrashMode]string{
	vfs.KillOnly: "kill", vfs.LoseUnsynced: "lose", vfs.KeepPrefix: "prefix", vfs.TearSectors: "sectors", vfs.TearBytes: "bytes",
}

// String is the form that ParsePoint reads.
func (p Point) String() string {
	return fmt.Sprintf("%s/%d/%s/%s/%d", p.Path, p.Op, p.Moment, modeNames[p.Mode], p.Seed)
}

// ParsePoint reads the text of a Point: path/operation/moment/mode/seed.
func ParsePoint(s string) (Point, error) {
	var p Point
	bad := fmt.Errorf("crash point %q is not path/operation/moment/mode/seed", s)
	parts := strings.Split(s, "/")
	if len(parts) != 5 {
		return p, bad
	}
	p.Path = parts[0]
	var err1, err2 error
	p.Op, err1 = strconv.ParseUint(parts[1], 10, 64)
	p.Seed, err2 = strconv.ParseUint(parts[4], 10, 64)
	known := 0
	for i, name := range momentNames {
		if name == parts[2] {
			p.Moment = Moment(i)
			known++
		}
	}
	for mode, name := range modeNames {
		if name == parts[3] {
			p.Mode = mode
			known++
		}
	}
	if err1 != nil || err2 != nil || known != 2 {
		return p, bad
	}
	return p, nil
}

// crash watches the file operations of a window and ends the life of the node at one of them.
type crash struct {
	Point
	rng    *rand.Rand
	open   bool   // the window has begun
	before uint64 // operations before the window
	hit    *vfs.Op
	image  *vfs.Mem // what is left, once the node died
	ops    []vfs.Op // the operations of the window, when traced
	trace  []string
	traced bool
}

// planCrash has the node die at p. Op 0 never comes: the operations are only counted.
func (w *World) planCrash(p Point) {
	h := uint64(p.Op)<<16 | uint64(p.Moment)<<8 | uint64(p.Mode)
	w.crash = &crash{Point: p, rng: rand.New(rand.NewPCG(p.Seed, h))}
	w.disk.SetHook(w.onOp)
}

// mark begins the window: from here on file operations count.
func (w *World) mark() {
	if w.crash != nil && !w.crash.open {
		w.crash.open, w.crash.before = true, w.disk.Ops()
	}
}

// onOp is the hook of the disk.
func (w *World) onOp(op vfs.Op) error {
	c := w.crash
	if w.died() {
		w.freeze() // what the dead process still tries changes nothing
		return vfs.ErrCrashed
	}
	if !c.open {
		return nil
	}
	if c.traced {
		o := op
		o.Number -= c.before
		c.ops, c.trace = append(c.ops, o), append(c.trace, o.String())
	}
	if op.Number-c.before != c.Op {
		return nil
	}
	c.hit = &op
	w.dead = fmt.Errorf("crash %s %s", c.Moment, op)
	switch c.Moment {
	case Before:
		w.freeze()
		return vfs.ErrCrashed
	case During:
		return vfs.ErrCrashed // the file system keeps a part of a write
	default:
		return nil // done, and the next operation finds the node dead
	}
}

// freeze takes the image of the disk that the next life begins with.
func (w *World) freeze() *vfs.Mem {
	if w.crash.image == nil {
		w.crash.image = w.disk.CrashClone(w.crash.rng, w.crash.Mode)
	}
	return w.crash.image
}
