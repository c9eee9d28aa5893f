package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"
)

var (
	crashSeeds     = flag.Int("crash-seeds", 1, "lives of every path that are swept")
	crashStride    = flag.Int("crash-stride", 40, "sweep every so many file operations")
	crashBreakages = flag.Bool("crash-breakages", false, "sweep over broken file systems, to see that the sweep notices")
	crashPath      = flag.String("crash-path", "", "sweep this path alone")
	crashPoint     = flag.String("crash-point", "", "replay this crash point alone: path/operation/moment/mode/seed")
)

func allPaths() []*Path {
	return slices.Concat(logPaths(), bootPaths(), metadataPaths(), sessionPaths(), partitionPaths())
}

// TestCrashPoints dies before, during and after file operations of every path, with every policy for what was not
// synced, and looks at what the next lives serve.
func TestCrashPoints(t *testing.T) {
	s := Sweep{Paths: allPaths(), Seeds: *crashSeeds, Stride: *crashStride}
	if *crashPath != "" {
		s.Paths = slices.DeleteFunc(s.Paths, func(p *Path) bool { return p.Name != *crashPath })
	}
	if *crashPoint != "" {
		at, err := ParsePoint(*crashPoint)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Paths {
			p.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
		}
		if err := s.Replay(at); err != nil {
			t.Fatal(err)
		}
		return
	}
	begin := time.Now()
	report, err := s.Run()
	if err != nil {
		t.Fatalf("%v\nreplay: %s", err, replay(err))
	}
	crashes := 0
	for _, p := range report.Paths {
		t.Logf("%-22s %6d crash points %8d crashes", p.Name, p.Points, p.Crashes)
		crashes += p.Crashes
	}
	for _, reason := range slices.Sorted(maps.Keys(report.Fences)) {
		t.Logf("left to an operator: %d partitions: %s", report.Fences[reason], reason)
	}
	t.Logf("total %d crash points (%d crashes, %s)", report.Points(), crashes, time.Since(begin).Round(time.Second))
}

func replay(err error) string {
	var p *PointError
	if e, ok := err.(*PointError); ok {
		p = e
	} else {
		return "none"
	}
	return fmt.Sprintf("go test ./internal/sim -run '^TestCrashPoints$' -v -crash-point %s", p.Point)
}
