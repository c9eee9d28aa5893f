package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestPrinter_TextNamesEveryFigure(t *testing.T) {
	fs := startFake(t)
	out, err := benchLine(t, "-m", "100", "-P", "10", "-b", "7", "pp", "-p", "2", "--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pinned-producer", "producers: 2 actors, 14 batches, 140 messages", "wall clock", "reference", "p99.99",
		"cpu s/GB: client", "server memory",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	t.Log("\n" + out)
}

func TestCalibrateAndPrint_TextAndJSON(t *testing.T) {
	cal := Calibration{Dir: t.TempDir(), Rows: []string{"single-1"}, Rounds: 2, Duration: 5 * time.Millisecond,
		Pause: -1, Command: os.Args[:1]}
	var text, doc bytes.Buffer
	if err := calibrateAndPrint(context.Background(), cal, &printer{w: &text}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(text.String(), "MB/s"); got != 3 || !strings.Contains(text.String(), "medians") {
		t.Errorf("two runs and their median, got\n%s", text.String())
	}
	if err := calibrateAndPrint(context.Background(), cal, &printer{w: &doc, json: true}); err != nil {
		t.Fatal(err)
	}
	var got struct{ Runs, Medians []RowResult }
	if err := json.Unmarshal(doc.Bytes(), &got); err != nil || len(got.Runs) != 2 || len(got.Medians) != 1 {
		t.Errorf("%v in %s", err, doc.String())
	}
}
