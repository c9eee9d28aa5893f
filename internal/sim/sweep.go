package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/galgolog/galgo/internal/vfs"
)

// Sweep crashes a node at every file operation of every path.
type Sweep struct {
	Paths []*Path
	// Seeds is how many lives of every path are swept; they differ in the order of tasks and in what a crash keeps.
	Seeds int
	// Stride takes every so many operations only; 0 and 1 mean all.
	Stride int
	// Disk puts something between every node and its file system.
	Disk func(vfs.FS) vfs.FS
}

// SweepReport is what a sweep did.
type SweepReport struct {
	Paths  []PathReport
	Fences Fences
}

// PathReport counts what was done on one path.
type PathReport struct {
	Name string
	// Points is the number of distinct (file operation, crash mode); Crashes of all crashes, with the moments, seeds
	// and second crashes.
	Points, Crashes int
}

// Points is the number of distinct crash points of all paths.
func (r *SweepReport) Points() (n int) {
	for _, p := range r.Paths {
		n += p.Points
	}
	return n
}

// PointError is a broken promise at a crash point.
type PointError struct {
	Point Point
	// Trace lists the file operations around the crash.
	Trace []string
	Err   error
}

func (e *PointError) Error() string {
	return fmt.Sprintf("crash point %s: %v\nfile operations around it:\n  %s", e.Point, e.Err, strings.Join(e.Trace, "\n  "))
}

// Unwrap returns what was broken.
func (e *PointError) Unwrap() error { return e.Err }

// Run sweeps all paths. It ends with the first failure of a path, a *PointError unless the path fails without a crash.
func (s *Sweep) Run() (SweepReport, error) {
	r := SweepReport{Fences: Fences{}}
	for _, p := range s.Paths {
		pr, err := s.sweepPath(p, r.Fences)
		if err != nil {
			return r, err
		}
		r.Paths = append(r.Paths, pr)
	}
	return r, nil
}

func (s *Sweep) sweepPath(p *Path, fences Fences) (PathReport, error) {
	q := *p
	q.Disk = s.Disk
	r := PathReport{Name: p.Name}
	distinct := map[Point]bool{}
	for seed := uint64(1); seed <= uint64(max(s.Seeds, 1)); seed++ {
		base, ops, err := q.rehearse(seed)
		if err != nil {
			return r, err
		}
		points := q.points(seed, ops, max(s.Stride, 1))
		for _, at := range points {
			distinct[Point{Path: at.Path, Op: at.Op, Mode: at.Mode}] = true
		}
		if err := s.crashAll(&q, base, points, fences); err != nil {
			return r, err
		}
		r.Crashes += 2 * len(points)
	}
	r.Points = len(distinct)
	return r, nil
}

// rehearsal is one play of a path without a crash.
type rehearsal struct {
	ops   []vfs.Op
	trace []string
}

// rehearse makes the base of a path and plays it once without a crash.
func (p *Path) rehearse(seed uint64) (*World, rehearsal, error) {
	base, err := p.base(seed)
	if err != nil {
		return nil, rehearsal{}, fmt.Errorf("path %s, seed %d: setup: %w", p.Name, seed, err)
	}
	w := base.clone()
	w.planCrash(Point{Path: p.Name, Seed: seed})
	w.crash.traced = true
	err = p.play(w)
	r := rehearsal{w.crash.ops, w.crash.trace}
	if err == nil {
		w.fences = Fences{}
		w.idle(120)
		err = w.inspect()
	}
	if err != nil {
		return nil, rehearsal{}, fmt.Errorf("path %s, seed %d, without a crash: %w", p.Name, seed, err)
	}
	return base, r, nil
}

// points lists the crash points of one play.
func (p *Path) points(seed uint64, r rehearsal, stride int) []Point {
	var all []Point
	for i := 0; i < len(r.ops); i += stride {
		moments := []Moment{Before, After}
		if r.ops[i].Kind == vfs.OpWrite && r.ops[i].SizeBytes > 1 {
			moments = append(moments, During)
		}
		for _, moment := range moments {
			for _, mode := range vfs.CrashModes {
				all = append(all, Point{p.Name, uint64(i + 1), moment, mode, seed})
			}
		}
	}
	return all
}

// crashAll runs the points on all processors, and returns the failure of the first one that fails.
func (s *Sweep) crashAll(p *Path, base *World, points []Point, fences Fences) error {
	var (
		mu     sync.Mutex
		next   int
		failed *PointError
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				if failed != nil || next == len(points) {
					mu.Unlock()
					return
				}
				at := points[next]
				next++
				mu.Unlock()
				found, err := p.run(base, at)
				mu.Lock()
				for reason, n := range found {
					fences[reason] += n
				}
				if err != nil && failed == nil {
					failed = &PointError{Point: at, Err: err}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed == nil {
		return nil
	}
	failed.Trace = p.around(failed.Point)
	return failed
}

// around lists the file operations near a point.
func (p *Path) around(at Point) []string {
	_, r, err := p.rehearse(at.Seed)
	if err != nil {
		return []string{err.Error()}
	}
	lines := slices.Clone(r.trace)
	if i := int(at.Op) - 1; i < len(lines) {
		lines[i] += "   <- crash " + at.Moment.String()
	}
	return lines[max(int(at.Op)-11, 0):min(int(at.Op)+4, len(lines))]
}

// Replay runs one point.
func (s *Sweep) Replay(at Point) error {
	for _, p := range s.Paths {
		if p.Name != at.Path {
			continue
		}
		q := *p
		q.Disk = s.Disk
		base, _, err := q.rehearse(at.Seed)
		if err != nil {
			return err
		}
		if _, err := q.run(base, at); err != nil {
			return &PointError{at, q.around(at), err}
		}
		return nil
	}
	return fmt.Errorf("there is no path %q", at.Path)
}
