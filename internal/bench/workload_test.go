package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/rawclient"
)

// benchLine runs the command line against the fake and returns what it printed.
func benchLine(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func decodeReport(t *testing.T, text string) Report {
	t.Helper()
	var r Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func TestPinnedProducerThenConsumer(t *testing.T) {
	fs := startFake(t)
	out, err := benchLine(t, "-m", "100", "-P", "10", "-b", "7", "-u", "ann", "-p", "secret", "--output", "json",
		"pinned-producer", "--streams", "2", "-p", "2", "tcp", "--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	r := decodeReport(t, out)
	if len(r.Groups) != 1 || r.Groups[0].Role != "producers" || r.Groups[0].Actors != 2 ||
		r.Groups[0].Batches != 14 || r.Groups[0].Messages != 140 || r.Groups[0].Bytes != 14000 {
		t.Errorf("groups %+v", r.Groups)
	}
	w, ref := r.Groups[0].WallClock, r.Groups[0].Reference
	if w.Samples != 14 || w.MBPerSec <= 0 || w.Latency.P50 <= 0 || ref.MBPerSec <= 0 || ref.Latency.P99 <= 0 {
		t.Errorf("figures %+v %+v", w, ref)
	}
	if r.Server == nil || r.Server.PID != os.Getpid() {
		t.Errorf("server %+v, want this process", r.Server)
	}
	for _, name := range []string{"bench-stream-1", "bench-stream-2"} {
		if sends, end := fs.partition(name); sends != 7 || end != 70 {
			t.Errorf("%s: %d sends, end %d", name, sends, end)
		}
	}
	if !fs.loggedIn("ann", "secret") {
		t.Error("nobody signed in as told")
	}
	out, err = benchLine(t, "-P", "10", "-b", "7", "--output", "json", "--decode", "--server-address", fs.addr,
		"pc", "-c", "2")
	if err != nil {
		t.Fatal(err)
	}
	r = decodeReport(t, out)
	if g := r.Groups[0]; g.Role != "consumers" || g.Batches != 14 || g.Messages != 140 || g.Bytes != 14000 {
		t.Errorf("groups %+v", r.Groups)
	}
}

func TestPinnedConsumer_NeedsStreams(t *testing.T) {
	fs := startFake(t)
	if _, err := benchLine(t, "--server-address", fs.addr, "pinned-consumer"); err == nil {
		t.Fatal("ran without streams")
	}
}

func TestProducer_TotalDataAndRanges(t *testing.T) {
	fs := startFake(t)
	out, err := benchLine(t, "-m", "10..50", "-P", "1..5", "-T", "4 KB", "--output", "json", "pp", "-p", "2",
		"--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	g := decodeReport(t, out).Groups[0]
	if g.Bytes < 4000 || g.Bytes > 4000+2*250 {
		t.Errorf("%d bytes, want 4000 and at most one batch more for each", g.Bytes)
	}
	if g.Messages <= g.Batches || g.Messages > 5*g.Batches {
		t.Errorf("%d messages in %d batches of 1 to 5", g.Messages, g.Batches)
	}
}

func TestProducer_WarmUpIsWrittenAndNotRecorded(t *testing.T) {
	fs := startFake(t)
	out, err := benchLine(t, "-m", "10", "-P", "1", "-b", "3", "-w", "20ms", "--output", "json", "pp", "-p", "1",
		"--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	sends, _ := fs.partition("bench-stream-1")
	if g := decodeReport(t, out).Groups[0]; g.Batches != 3 || sends <= 3 {
		t.Errorf("%d recorded, %d sent", g.Batches, sends)
	}
}

func TestProducer_SendsAgainWhatWasNotAccepted(t *testing.T) {
	fs := startFake(t)
	fs.deny, fs.denials = protocol.CodeTransientNotAccepted, 3
	out, err := benchLine(t, "-m", "10", "-P", "1", "-b", "5", "--output", "json", "pp", "-p", "1", "--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	sends, _ := fs.partition("bench-stream-1")
	if g := decodeReport(t, out).Groups[0]; sends != 5 || g.Batches != 5 || g.Repeats != 3 {
		t.Errorf("%d stored, %d recorded, %d sent again; want 5, 5 and 3", sends, g.Batches, g.Repeats)
	}
	fs.deny, fs.denials = protocol.CodeUnauthorized, 1
	_, err = benchLine(t, "-m", "10", "-P", "1", "-b", "5", "pp", "-p", "1", "--server-address", fs.addr)
	if code, ok := rawclient.CodeOf(err); !ok || code != protocol.CodeUnauthorized {
		t.Errorf("got %v, want the denial", err)
	}
}

func TestEndToEnd_CountsBothWays(t *testing.T) {
	fs := startFake(t)
	out, err := benchLine(t, "-m", "100", "-P", "2", "-b", "4", "--output", "json", "e2e", "-s", "1", "-p", "1",
		"--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	g := decodeReport(t, out).Groups[0]
	if g.Role != "producing_consumers" || g.Batches != 4 || g.Messages != 16 || g.Bytes != 1600 {
		t.Errorf("%+v", g)
	}
}

func TestOpenLoop_ChargesAStallToEveryMessageItDelayed(t *testing.T) {
	fs := startFake(t)
	fs.delay = 5 * time.Millisecond
	out, err := benchLine(t, "-m", "100", "-P", "1", "-b", "20", "--message-rate", "1000", "--open-loop",
		"--output", "json", "pp", "-p", "1", "--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	w := decodeReport(t, out).Groups[0].WallClock
	// One message a millisecond is due and each takes five: the last, due at 19 ms, ends after 100 ms.
	if w.MaxMillis < 80 || w.MinMillis < 5 {
		t.Errorf("min %v max %v ms: the backlog is not in the latencies", w.MinMillis, w.MaxMillis)
	}
}

func TestProducer_RateLimit(t *testing.T) {
	fs := startFake(t)
	out, err := benchLine(t, "-m", "100", "-P", "1", "-b", "20", "--message-rate", "200", "--output", "json",
		"pp", "-p", "1", "--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	// The bucket starts empty and is charged after each batch: the 20th ends at least 19 intervals in.
	if w := decodeReport(t, out).Groups[0].WallClock; w.Seconds < 0.095 {
		t.Errorf("20 messages at 200 a second took %v s", w.Seconds)
	}
}

func TestPipelined_EveryFrameIsConfirmed(t *testing.T) {
	fs := startFake(t)
	for _, window := range []string{"1", "7", "1000"} {
		out, err := benchLine(t, "-m", "64", "-b", "3000", "--output", "json", "pipelined", "--window", window,
			"--server-address", fs.addr)
		if err != nil {
			t.Fatal(err)
		}
		g := decodeReport(t, out).Groups[0]
		sends, _ := fs.partition("bench-stream-1")
		if g.Batches < 3000 || int64(sends) < g.Batches || int64(sends) > g.Batches+1000 {
			t.Errorf("window %s: %d recorded, %d stored", window, g.Batches, sends)
		}
	}
}

func TestPipelined_SendsAgainWhatWasNotAccepted(t *testing.T) {
	fs := startFake(t)
	fs.deny, fs.denials = protocol.CodeTransientNotAccepted, 5
	out, err := benchLine(t, "-m", "64", "-b", "300", "--output", "json", "pipelined", "--window", "3", "--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	sends, _ := fs.partition("bench-stream-1")
	if g := decodeReport(t, out).Groups[0]; g.Repeats != 5 || g.Batches < 300 || int64(sends) < g.Batches {
		t.Errorf("%d stored, %d recorded, %d sent again", sends, g.Batches, g.Repeats)
	}
	if out, err = benchLine(t, "-m", "64", "-b", "3", "pipelined", "--server-address", fs.addr); err != nil || strings.Contains(out, "sent again") {
		t.Errorf("%v; nothing was refused:\n%s", err, out)
	}
}

func TestCommand_SaysWhereAFlagBelongs(t *testing.T) {
	for line, want := range map[string]string{
		"pinned-producer --message-batches 3": "before the kind: galgo bench --message-batches VALUE pinned-producer",
		"pp -b 3":                             "before the kind: galgo bench --message-batches VALUE pinned-producer",
		"pp -xb 3":                            "see galgo bench pinned-producer --help",
		"pp --nosuch":                         "see galgo bench pinned-producer --help",
		"pp --streams x":                      "see galgo bench pinned-producer --help",
		"calibrate -b 3":                      "see galgo bench calibrate --help",
		"--nosuch":                            "see galgo bench --help",
		"nosuch":                              "see galgo bench --help",
	} {
		_, err := benchLine(t, strings.Fields(line)...)
		var wrong *usageError
		if !errors.As(err, &wrong) || wrong.ExitStatus() != 64 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", line, err, want)
		}
	}
}

func TestPipelined_StopsAtTheFirstRefusal(t *testing.T) {
	fs := startFake(t)
	fs.deny, fs.denials = protocol.CodeUnauthorized, 1
	_, err := benchLine(t, "-b", "3000", "pipelined", "--server-address", fs.addr)
	if code, ok := rawclient.CodeOf(err); !ok || code != protocol.CodeUnauthorized {
		t.Errorf("got %v, want the denial", err)
	}
}

func TestPipelined_EndsWithItsContext(t *testing.T) {
	fs := startFake(t)
	fs.delay = time.Millisecond
	cmd := Command()
	cmd.SilenceErrors = true
	cmd.SetArgs([]string{"--duration", "1h", "pipelined", "--window", "3", "--server-address", fs.addr})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := cmd.ExecuteContext(ctx); err == nil {
		t.Fatal("an hour passed")
	}
}

func TestInterleave_ReportsRatiosAndTheirMedian(t *testing.T) {
	fs := startFake(t)
	load := load{messageBytes: span{1000, 1000}, batchMessages: span{10, 10}, batches: 5,
		sampling: 10 * time.Millisecond, smoothing: 20}
	w := workload{kind: kindProducer, target: target{address: fs.addr, user: "iggy", password: "iggy"}, load: load,
		topic: topic{partitions: 1}, streams: 1, actors: 1}
	cal := Calibration{Dir: t.TempDir(), VolumeBytes: 4 << 20, Pause: -1, Command: os.Args[:1]}
	var out bytes.Buffer
	res, err := w.interleave(context.Background(), cal, 3, &printer{w: &out})
	if err != nil {
		t.Fatal(err)
	}
	if res.Row != "produce-1" || len(res.Rounds) != 3 || !strings.Contains(out.String(), "median of 3 rounds") {
		t.Fatalf("%+v\n%s", res, out.String())
	}
	var ratios []float64
	for i, r := range res.Rounds {
		want := r.Workload.Groups[0].WallClock.MBPerSec / r.Calibration.MBPerSec
		if !near(r.Ratio, want) || r.Ratio <= 0 {
			t.Errorf("round %d: ratio %v, want %v", i, r.Ratio, want)
		}
		ratios = append(ratios, r.Ratio)
	}
	if res.MedianRatio != median(ratios) {
		t.Errorf("median %v of %v", res.MedianRatio, ratios)
	}
}

func TestNewRound_SingleMessagesCompareByNumber(t *testing.T) {
	rep := Report{Groups: []Group{{Batches: 3000, WallClock: WallClock{Seconds: 2, MBPerSec: 9}}},
		Server: &ServerUse{PerGB: 30}}
	r := row{batch: smallBatch}
	got := newRound(r, RowResult{PerSec: 2000, MBPerSec: 1, ServerPerGB: 20}, rep)
	if !near(got.Ratio, 0.75) || !near(got.ServerRatio, 1.5) {
		t.Errorf("%+v", got)
	}
}

func TestMatchingRow(t *testing.T) {
	many := span{1000, 1000}
	tests := []struct {
		w    workload
		want string
	}{
		{workload{kind: kindProducer, actors: 8, load: load{batchMessages: many}}, "produce-8"},
		{workload{kind: kindProducer, actors: 1, load: load{batchMessages: many}}, "produce-1"},
		{workload{kind: kindProducer, actors: 1, load: load{batchMessages: span{1, 1}}}, "single-1"},
		{workload{kind: kindPipelined, actors: 1, load: load{batchMessages: span{1, 1}}}, "single-1"},
		{workload{kind: kindConsumer, actors: 8, load: load{batchMessages: many}}, "poll-file-8"},
		{workload{kind: kindConsumer, actors: 1, load: load{batchMessages: many}}, "poll-file-1"},
		{workload{kind: kindProducer, actors: 8, topic: topic{enforceFsync: true}, load: load{batchMessages: many}}, "durable-8"},
		{workload{kind: kindProducer, actors: 1, topic: topic{enforceFsync: true}, load: load{batchMessages: many}}, "durable-1"},
		{workload{kind: kindProducer, actors: 8, topic: topic{enforceFsync: true}, load: load{batchMessages: span{1, 1}}}, "durable-single-8"},
		{workload{kind: kindProducer, actors: 64, topic: topic{enforceFsync: true}, load: load{batchMessages: span{1, 1}}}, "durable-single-64"},
	}
	for _, tt := range tests {
		if got := tt.w.matchingRow(); got != tt.want {
			t.Errorf("%s with %d actors: got %s, want %s", tt.w.kind, tt.w.actors, got, tt.want)
		}
		if _, err := selectRows([]string{tt.want}); err != nil {
			t.Error(err)
		}
	}
}

func TestCommandLine_Refusals(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown kind":             {"nonsense"},
		"unknown transport":        {"pp", "quic"},
		"batches and volume":       {"-b", "5", "-T", "1 MB", "pp"},
		"streams unlike producers": {"pp", "-s", "2", "-p", "3"},
		"more streams than actors": {"pc", "-s", "9", "-c", "8"},
		"open loop without rate":   {"--open-loop", "pp"},
		"bad size":                 {"-m", "0", "pp"},
		"bad range":                {"-m", "5..2", "pp"},
		"bad rate":                 {"-r", "fast", "pp"},
		"bad output":               {"--output", "xml", "pp"},
		"no window":                {"pipelined", "--window", "0"},
		"unknown row":              {"calibrate", "--rows", "x"},
	} {
		if _, err := benchLine(t, args...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]span{"1000": {1000, 1000}, "1..5": {1, 5}, "7..7": {7, 7}} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "x", "0", "-1", "1..", "..5", "5..1", "0..5", "1...5"} {
		if _, err := parseSpan(bad); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestRunMembers_FirstErrorEndsAll(t *testing.T) {
	boom := errors.New("boom")
	fail := &scripted{err: boom}
	slow := &scripted{}
	members := []*member{
		{actor: slow, rec: newRecorder(producerRole, time.Second, 0)},
		{actor: fail, rec: newRecorder(producerRole, time.Second, 0)},
	}
	if err := runMembers(context.Background(), members, 0, func() {}); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

// scripted is an actor that fails with err, or does one message a millisecond for ever.
type scripted struct{ err error }

func (s *scripted) step(time.Time) (outcome, error) {
	if s.err != nil {
		return outcome{}, s.err
	}
	time.Sleep(time.Millisecond)
	return outcome{end: time.Now(), latency: 1, bytes: 1, messages: 1}, nil
}

func (s *scripted) close() error { return nil }

func TestProducer_TopicOptionsReachTheServer(t *testing.T) {
	fs := startFake(t)
	_, err := benchLine(t, "-P", "1", "-b", "1", "--enforce-fsync", "pp", "-p", "1", "-T", "1 GiB", "-e", "5s",
		"--server-address", fs.addr)
	if err != nil {
		t.Fatal(err)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	got := map[string][]byte{}
	for _, p := range fs.streams["bench-stream-1"].options {
		got[string(p.Key)] = p.Value
	}
	want := map[string][]byte{
		"enforce_fsync":  {1},
		"max_topic_size": {0, 0, 0, 0x40, 0, 0, 0, 0},
		"message_expiry": {0x40, 0x4b, 0x4c, 0, 0, 0, 0, 0},
	}
	for key, value := range want {
		if !bytes.Equal(got[key], value) {
			t.Errorf("%s: got %v, want %v", key, got[key], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("options %v", got)
	}
}
