package sim

import (
	"flag"
	"log/slog"
	"testing"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed alone")
	seedsFlag = flag.Int("seeds", 40, "number of seeds to run")
)

func TestSim_LivesOfManySeeds(t *testing.T) {
	if *seedFlag != 0 {
		report, err := Run(*seedFlag, Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", report)
		return
	}
	var total Report
	for seed := uint64(1); seed <= uint64(*seedsFlag); seed++ {
		r, err := Run(seed, Options{})
		if err != nil {
			t.Fatalf("%v\nreplay: go test ./internal/sim -seed %d", err, seed)
		}
		total.Confirmed += r.Confirmed
		total.Kills += r.Kills
		total.PowerLosses += r.PowerLosses
		total.Polls += r.Polls
		total.Checkpoints += r.Checkpoints
	}
	if total.Confirmed == 0 || total.Kills == 0 || total.PowerLosses == 0 || total.Checkpoints == 0 {
		t.Fatalf("the lives prove nothing: %+v", total)
	}
	t.Logf("%+v", total)
}
