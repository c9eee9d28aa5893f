package bench

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestCalibrate_EveryRowRunsSmall(t *testing.T) {
	cal := Calibration{
		Dir: t.TempDir(), Rows: []string{"all"}, VolumeBytes: 16 << 20, Duration: 20 * time.Millisecond,
		PollBytes: 4 << 20, Pause: -1, Command: os.Args[:1],
	}
	var got []RowResult
	if err := cal.Run(context.Background(), func(r RowResult) { got = append(got, r) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(calibrationRows) {
		t.Fatalf("%d results for %d rows", len(got), len(calibrationRows))
	}
	for i, r := range got {
		want := calibrationRows[i]
		if r.Row != want.Name || r.Batches < want.conns || r.MBPerSec <= 0 || r.P50Millis <= 0 ||
			r.P99Millis < r.P50Millis || r.P999Millis < r.P99Millis {
			t.Errorf("row %s: %+v", want.Name, r)
		}
		if want.volume && r.Batches != want.conns*(16<<20/want.conns/want.batch) {
			t.Errorf("row %s moved %d batches", r.Row, r.Batches)
		}
	}
	left, err := os.ReadDir(cal.Dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCalibrate_UnknownRow(t *testing.T) {
	err := Calibration{Rows: []string{"produce-9"}}.Run(context.Background(), nil)
	if err == nil {
		t.Fatal("accepted")
	}
}

func TestStartChild_SaysWhyTheStandInDied(t *testing.T) {
	if _, err := startChild(os.Args[:1], "/nonexistent-folder", 0); err == nil {
		t.Fatal("a stand-in without a folder started")
	}
}

func TestHello_RoundTripAndRefusal(t *testing.T) {
	want := hello{role: rolePollFile, sync: syncOwn, chunk: bigChunk}
	if got, err := decodeHello(want.encode()); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []hello{{}, {role: 9, chunk: 1}, {role: roleProduce, sync: 3, chunk: 1},
		{role: roleProduce}, {role: roleProduce, chunk: pollChunk + 1}} {
		if _, err := decodeHello(bad.encode()); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}
