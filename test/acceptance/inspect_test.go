package acceptance

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// inspected is what a run of galgo inspect gave.
type inspected struct {
	code           int
	stdout, stderr string
}

// galgoInspect runs the program on the directory of a server.
func galgoInspect(t *testing.T, args ...string) inspected {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(process.Binary(t), append([]string{"inspect"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return inspected{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func fillTopics(t *testing.T, s *process.Server) (plain, synced drive.Topic) {
	t.Helper()
	c := drive.Root(t, s)
	plain = c.NewTopic("inspected", "plain", 2)
	synced = c.NewTopic("inspected2", "synced", 1, command.BoolOption("enforce_fsync", true))
	for range 20 {
		c.Send(plain.TopicRef, 0, drive.Payloads("plain", 50)...)
		c.Send(synced.TopicRef, 0, drive.Payloads("synced", 10)...)
	}
	return plain, synced
}

// An operator verifies a directory: after a stop all is in order, while the server runs he is told to wait, a kill
// is no error, and every flipped bit of a log is found and its file named.
func TestInspect_VerifyTellsTheStateOfADirectory(t *testing.T) {
	s := process.Start(t, process.Options{})
	plain, _ := fillTopics(t, s)
	r := galgoInspect(t, "verify", s.Data())
	if r.code != 1 || !strings.Contains(r.stderr, "stop the server") || r.stdout != "" {
		t.Errorf("while the server runs: %+v", r)
	}
	if r := galgoInspect(t, "verify", "--live", s.Data()); !strings.Contains(r.stderr, "in motion") || !strings.Contains(r.stdout, "verified") {
		t.Errorf("with --live: %+v", r)
	}
	s.Stop()
	if r := galgoInspect(t, "verify", s.Data()); r.code != 0 || !strings.Contains(r.stdout, "0 errors, 0 warnings, 0 notes: in order") ||
		!strings.Contains(r.stdout, "1200 messages") || r.stderr != "" {
		t.Errorf("after a stop: %+v", r)
	}
	s.Launch()
	drive.Root(t, s).Send(plain.TopicRef, 0, drive.Payloads("more", 10)...)
	s.Kill()
	if r := galgoInspect(t, "verify", s.Data()); r.code == 1 || !strings.Contains(r.stdout, "0 errors") {
		t.Errorf("after a kill: %+v", r)
	}
	s.Launch()
	s.Stop()
	log := segmentFiles(t, s, plain, ".log")[0]
	flipByte(t, log, 1000)
	r = galgoInspect(t, "verify", "--json", "--data", s.Data())
	var report struct {
		Errors   int
		Findings []struct {
			Severity, Path, Problem, Remedy string
			Position                        int64
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatal(err, r)
	}
	if r.code != 1 || report.Errors != 1 || filepath.Join(s.Data(), report.Findings[0].Path) != log ||
		report.Findings[0].Position > 1000 || report.Findings[0].Remedy == "" {
		t.Errorf("after a flipped bit in %s: %+v", log, r)
	}
	flipByte(t, log, 1000)
	journal := filepath.Join(s.Data(), "metadata", "journal.wal")
	flipByte(t, journal, 500)
	r = galgoInspect(t, "verify", s.Data())
	if r.code != 1 || !strings.Contains(r.stdout, "metadata/journal.wal, byte") || !strings.Contains(r.stdout, "refuse to start") {
		t.Errorf("after a flipped bit in the journal: %+v", r)
	}
	if code, log := s.Refused(); code != 1 || !strings.Contains(log, "journal") {
		t.Errorf("the server said %d, %s", code, log)
	}
}

func flipByte(t *testing.T, name string, at int64) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		b[at] ^= 4
		err = os.WriteFile(name, b, 0o640)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An operator looks at the files of a stopped server, and at those of one that runs.
func TestInspect_ShowsWhatIsThere(t *testing.T) {
	s := process.Start(t, process.Options{})
	fillTopics(t, s)
	live := galgoInspect(t, "--data", s.Data())
	if live.code != 0 || !strings.Contains(live.stderr, "is using") || !strings.Contains(live.stdout, `stream 0 "inspected"`) {
		t.Errorf("overview of a running server: %+v", live)
	}
	s.Stop()
	partition := s.PartitionDir(0, 0, 0)
	log := filepath.Join(partition, "00000000000000000000.log")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{s.Data()}, "survives a killed process and a loss of power"},
		{[]string{"superblock", "--data", s.Data()}, "record 1"},
		{[]string{filepath.Join(s.Data(), "metadata", "superblock.a")}, "view "},
		{[]string{"journal", "--data", s.Data(), "--limit", "2"}, "Bootstrap"},
		{[]string{"snapshot", "--data", s.Data()}, "snapshot.bin"},
		{[]string{"partition", "0/0/0", "--data", s.Data()}, "1000 messages in 20 batches"},
		{[]string{"offsets", partition}, ""},
		{[]string{partition}, "owner: incarnation"},
		{[]string{"segment", log, "--payload", "6", "--limit", "1"}, `"plain`},
		{[]string{log}, "offsets 950..999"},
		{[]string{strings.TrimSuffix(log, ".log") + ".index"}, "byte 0"},
		{[]string{filepath.Join(partition, "owner")}, "sealed"},
	} {
		if r := galgoInspect(t, c.args...); r.code != 0 || !strings.Contains(r.stdout, c.want) || r.stderr != "" {
			t.Errorf("inspect %v: want %q in %+v", c.args, c.want, r)
		}
	}
	r := galgoInspect(t, "segment", "--json", "--messages", log)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var last struct {
		Row    string
		Offset uint64
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 1020 || last.Row != "message" || last.Offset != 999 {
		t.Errorf("%d lines of JSON, the last %+v, %v", len(lines), last, err)
	}
	if r := galgoInspect(t, filepath.Join(s.Data(), "galgo.lock")); r.code != 1 || !strings.Contains(r.stderr, "by its name") {
		t.Errorf("a file that is nothing: %+v", r)
	}
}
