package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run logs with a started logging and gives what reached the console and the file.
func run(t *testing.T, filter string, color bool, log func(*slog.Logger)) (console, file string) {
	t.Helper()
	var out bytes.Buffer
	l := NewLogging(&out, color)
	f, err := ParseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "iggy-server.log")
	if err := l.Start(f, &FileOptions{Path: path}); err != nil {
		t.Fatal(err)
	}
	log(l.Logger())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), string(text)
}

func TestLine_HasTheFormThatToolsRead(t *testing.T) {
	console, file := run(t, "trace", false, func(log *slog.Logger) {
		log.Info("replica mesh complete: all peer connections established", "expected", 3)
		Thread(log, "shard-0").Warn("restored group view from its superblock", "group", 7, "view", uint64(2), "log_view", 1)
		Target(log, "server::bootstrap").Error("fields", "text", "two words", "empty", "", "d", time.Second,
			"err", errors.New("no \"luck\""), slog.Group("g", "a", true), "raw", []byte{1, 255})
		log.WithGroup("outer").With("x", 1).Log(context.Background(), LevelTrace, "grouped", "y", 2)
	})
	if console != file {
		t.Errorf("console and file differ:\n%s\n%s", console, file)
	}
	stamp := `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z `
	for i, want := range []string{
		stamp + `` + ` INFO main galgo::telemetry: replica mesh complete: all peer connections established expected=3$`,
		stamp + ` WARN shard-0 galgo::telemetry: restored group view from its superblock group=7 view=2 log_view=1$`,
		stamp + `ERROR main server::bootstrap: fields text="two words" empty="" d=1s err="no \\"luck\\"" g\.a=true raw=01ff$`,
		stamp + `TRACE main galgo::telemetry: grouped outer\.x=1 outer\.y=2$`,
	} {
		if got := strings.Split(file, "\n")[i]; !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("line %d: %q\ndoes not match %s", i, got, want)
		}
	}
}

func TestLine_CannotBeForged(t *testing.T) {
	_, file := run(t, "info", false, func(log *slog.Logger) {
		log.Info("user\n2026 ERROR fake", "name", "a\nb\x1b[31m", "k\ney", "v")
	})
	if strings.Count(file, "\n") != 1 || strings.ContainsRune(file, '\x1b') {
		t.Errorf("raw control characters: %q", file)
	}
}

func TestConsole_HasColoursThatLeaveTheText(t *testing.T) {
	console, file := run(t, "info", true, func(log *slog.Logger) { log.Info("hello", "k", 1) })
	if strings.Contains(file, "\x1b") || !strings.Contains(console, "\x1b[32m INFO") {
		t.Errorf("console %q, file %q", console, file)
	}
	if plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(console, ""); plain != file {
		t.Errorf("without colours the console has %q, the file %q", plain, file)
	}
}

func TestConsoleOnly_NeverReachesTheFile(t *testing.T) {
	console, file := run(t, "info", false, func(log *slog.Logger) {
		log.With("first", ConsoleOnly("s3cret")).Warn("password", "second", ConsoleOnly("s3cret"))
	})
	if strings.Count(console, "s3cret") != 2 {
		t.Errorf("console: %q", console)
	}
	if strings.Contains(file, "s3cret") || strings.Count(file, "******") != 2 {
		t.Errorf("file: %q", file)
	}
}

type hostile struct{}

func (*hostile) String() string { panic("no") }

func TestLine_SurvivesHostileValues(t *testing.T) {
	_, file := run(t, "info", false, func(log *slog.Logger) { log.Info("x", "v", &hostile{}, "nil", nil) })
	if !strings.Contains(file, "v=unprintable nil=<nil>") {
		t.Errorf("%q", file)
	}
}

func TestStart_ReplaysWhatTheFilterAllows(t *testing.T) {
	var out bytes.Buffer
	l := NewLogging(&out, false)
	l.Logger().Debug("early debug")
	l.Logger().Info("early info")
	if out.Len() > 0 {
		t.Fatalf("written before Start: %q", out.String())
	}
	f, err := ParseFilter("info")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(f, nil); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("late")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if strings.Contains(got, "debug") || strings.Index(got, "early info") > strings.Index(got, "late") || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}

// gate is a reader of standard output that reads only when it is let.
type gate struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out.Write(p)
}

func TestPut_DropsWhenTheOutputStalls(t *testing.T) {
	g := &gate{}
	l := NewLogging(g, false)
	f, err := ParseFilter("info")
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	if err := l.Start(f, nil); err != nil {
		t.Fatal(err)
	}
	log := l.Logger()
	for i := range 3 * linesWaitingMax {
		log.Info("line", "i", i)
	}
	g.mu.Unlock()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := g.out.String()
	if !strings.Contains(got, "log lines were dropped because the output is slow count=") {
		t.Errorf("nothing says that lines were dropped; %d lines", strings.Count(got, "\n"))
	}
	if lines := strings.Count(got, "\n"); lines > 2*linesWaitingMax+3 {
		t.Errorf("%d lines were kept", lines)
	}
}

func TestClose_GivesUpOnAStalledOutput(t *testing.T) {
	g := &gate{}
	l := NewLogging(g, false)
	f, err := ParseFilter("info")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(f, nil); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	l.Logger().Info("stuck")
	if err := l.Close(); !errors.Is(err, ErrStalled) {
		t.Errorf("close: %v", err)
	}
	g.mu.Unlock()
	<-l.done
}

func TestTargetOfFunction(t *testing.T) {
	for function, want := range map[string]string{
		"github.com/galgolog/galgo/internal/node.(*Node).Run":        "galgo::node",
		"github.com/galgolog/galgo/internal/protocol/command.Decode": "galgo::protocol::command",
		"github.com/galgolog/galgo/cmd/galgo.init":                   "galgo::galgo",
		"github.com/galgolog/galgo/embedded.Start":                   "galgo::embedded",
		"main.main":                "galgo",
		"net/http.(*Server).Serve": "net::http",
	} {
		if got := targetOfFunction(function); got != want {
			t.Errorf("%s gives %s; want %s", function, got, want)
		}
	}
}

func TestParseFilter(t *testing.T) {
	for _, c := range []struct {
		text, target string
		level        slog.Level
		want         bool
	}{
		{"info", "galgo::node", slog.LevelInfo, true},
		{"info", "galgo::node", slog.LevelDebug, false},
		{"TRACE", "x", LevelTrace, true},
		{"off", "x", slog.LevelError, false},
		{"none", "x", slog.LevelError, false},
		{"warn,server=debug,iggy=trace", "other", slog.LevelInfo, false},
		{"warn,server=debug", "galgo::node", slog.LevelDebug, true},
		{"warn,server=debug", "galgos::node", slog.LevelDebug, false},
		{"galgo=info,galgo::node=error", "galgo::node::x", slog.LevelInfo, false},
		{"galgo=info,galgo::node=error", "galgo::session", slog.LevelInfo, true},
		{"galgo=info", "other", slog.LevelWarn, false},
		{" info , server::bootstrap = off", "galgo::bootstrap", slog.LevelError, false},
	} {
		f, err := ParseFilter(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := f.Allows(c.target, c.level); got != c.want {
			t.Errorf("%q allows %s at %v: %v", c.text, c.target, c.level, got)
		}
		if c.want && !f.Enabled(c.level) {
			t.Errorf("%q is not enabled at %v", c.text, c.level)
		}
	}
	for _, text := range []string{"", "inof", "info,node", "=debug", "a=b", "[span]=debug", "a=debug,b=loud"} {
		var typed *FilterError
		if _, err := ParseFilter(text); !errors.As(err, &typed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLogging_ConcurrentUse(t *testing.T) {
	l := NewLogging(io.Discard, true)
	f, err := ParseFilter("trace")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "iggy-server.log")
	if err := l.Start(f, &FileOptions{Path: path, MaxFileBytes: 4096, MaxTotalBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			log := Thread(l.Logger(), fmt.Sprintf("shard-%d", i))
			for n := range 200 {
				log.Info("line", "n", n)
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || len(text) > 4096 {
			t.Errorf("%s: %d bytes, %v", file, len(text), err)
		}
		lines += strings.Count(string(text), "\n")
	}
	if lines != 1600 {
		t.Errorf("%d lines in %d files", lines, len(files))
	}
}
