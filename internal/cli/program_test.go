package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/datadir"
)

// modeVariable makes the test binary be the program, with a server that behaves as the mode says.
const modeVariable = "CLI_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		os.Exit(Main(os.Args, os.Stdout, os.Stderr, WithServe(serverOf(mode), config.Build{})))
	}
	os.Exit(m.Run())
}

type fatal int

func (f fatal) Error() string   { return "log frontier cannot be reconciled" }
func (f fatal) ExitStatus() int { return int(f) }

func serverOf(mode string) ServeFunc {
	return func(ctx context.Context, cfg *config.Config, log *slog.Logger, dir *datadir.Dir) error {
		switch mode {
		case "fail":
			return errors.New("port in use")
		case "fatal2":
			return errors.Join(errors.New("context"), fatal(2))
		case "fatal3":
			return fatal(3)
		case "panic":
			panic("broken invariant")
		case "end":
			return nil
		}
		if err := dir.WriteRuntime(cfg.WithBound(cfg.Listen()).TOML()); err != nil {
			return err
		}
		log.Info("server client listeners started")
		<-ctx.Done()
		if mode == "hang" {
			select {}
		}
		return nil
	}
}

// process is a running program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	stderr bytes.Buffer
	lines  *bufio.Scanner
	stdout strings.Builder
}

// start runs the program in a directory of its own.
func start(t *testing.T, dir, name, mode string, environ []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, dir: dir, cmd: exec.Command(self, args...)}
	p.cmd.Args[0] = name
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{modeVariable + "=" + mode, "NO_COLOR=1", "HOME=/nonexistent"}, environ...)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	p.lines.Buffer(nil, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// await reads standard output up to a line with the text.
func (p *process) await(text string) {
	p.t.Helper()
	for p.lines.Scan() {
		p.stdout.WriteString(p.lines.Text() + "\n")
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	p.t.Fatalf("no line has %q:\n%s%s", text, p.stdout.String(), p.stderr.String())
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the process and gives its exit code.
func (p *process) end() int {
	p.t.Helper()
	deadline := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer deadline.Stop()
	for p.lines.Scan() {
		p.stdout.WriteString(p.lines.Text() + "\n")
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name    string
		program string
		mode    string
		args    []string
		environ []string
		code    int
		stdout  string
		stderr  string
	}{
		{name: "clean end", mode: "end", code: 0, stdout: "server shutdown complete"},
		{name: "serve", mode: "end", args: []string{"serve"}, code: 0, stdout: "server shutdown complete"},
		{name: "other name", program: "iggy-server", mode: "end", code: 0, stdout: "server shutdown complete"},
		{name: "other name with path and flags", program: "/x/iggy-server", mode: "end",
			args: []string{"--replica-id", "0", "--with-default-root-credentials"}, code: 0, stdout: "server shutdown complete"},
		{name: "server fails", mode: "fail", code: 1, stdout: "port in use", stderr: "galgo: port in use"},
		{name: "fatal log", mode: "fatal2", code: 2, stdout: "exit_status=2", stderr: "cannot be reconciled"},
		{name: "fatal superblock", mode: "fatal3", code: 3, stdout: "exit_status=3"},
		{name: "panic", mode: "panic", code: 101, stderr: "panicked at: broken invariant"},
		{name: "refused value", mode: "end", environ: []string{"IGGY_TCP_ADDRESS=x"}, code: 1, stderr: "galgo: tcp.address (IGGY_TCP_ADDRESS): "},
		{name: "refused encryption", mode: "end", environ: []string{"IGGY_SYSTEM_ENCRYPTION_ENABLED=true"}, code: 1, stderr: "not offered"},
		{name: "refused TLS", mode: "end", environ: []string{"IGGY_TCP_TLS_ENABLED=true"}, code: 1, stderr: "tcp.tls.enabled"},
		{name: "refused level", mode: "end", environ: []string{"IGGY_SYSTEM_LOGGING_LEVEL=inof"}, code: 1, stderr: "system.logging.level"},
		{name: "bad RUST_LOG only warns", mode: "end", environ: []string{"RUST_LOG=[span]=x"}, code: 0, stdout: "RUST_LOG is ignored"},
		{name: "missing file", mode: "end", args: []string{"--config", "no.toml"}, code: 1, stderr: "no.toml"},
		{name: "replica id outside a cluster", mode: "end", args: []string{"--replica-id", "1"}, code: 1, stderr: "--replica-id"},
		{name: "cluster without id", mode: "end", environ: []string{"IGGY_CLUSTER_ENABLED=true"}, code: 1, stderr: "--replica-id"},
		{name: "cluster without root", mode: "end", args: []string{"--replica-id=0"}, environ: []string{"IGGY_CLUSTER_ENABLED=true"}, code: 1, stderr: "IGGY_ROOT_USERNAME"},
		{name: "cluster with root", mode: "end", args: []string{"--replica-id=0", "--with-default-root-credentials"},
			environ: []string{"IGGY_CLUSTER_ENABLED=true"}, code: 0, stdout: "well-known credentials"},
		{name: "unknown flag", mode: "end", args: []string{"--follower"}, code: 64, stderr: "unknown flag"},
		{name: "unknown flag of serve", program: "iggy-server", mode: "end", args: []string{"--follower"}, code: 64, stderr: "unknown flag"},
		{name: "unknown command", mode: "end", args: []string{"serv"}, code: 64, stderr: "did you mean serve?"},
		{name: "argument", program: "iggy-server", mode: "end", args: []string{"x"}, code: 64, stderr: "x"},
		{name: "replica id too large", mode: "end", args: []string{"--replica-id", "256"}, code: 64, stderr: "replica-id"},
		{name: "flag without value", mode: "end", args: []string{"--config"}, code: 64, stderr: "config"},
		{name: "version", mode: "end", args: []string{"--version"}, code: 0, stdout: "galgo 0."},
		{name: "version of the other name", program: "iggy-server", mode: "end", args: []string{"-V"}, code: 0, stdout: "galgo 0."},
		{name: "help", mode: "end", args: []string{"-h"}, code: 0, stdout: "--with-default-root-credentials"},
		{name: "help of serve", mode: "end", args: []string{"serve", "--help"}, code: 0, stdout: "--fresh"},
		{name: "config check", mode: "end", args: []string{"config", "check"}, code: 0, stdout: "[message_bus]", stderr: "warning: quic.enabled"},
		{name: "config check refuses", mode: "end", args: []string{"config", "check"}, environ: []string{"GALGO_HEARTBEAT_INTERVAL=0"}, code: 1, stderr: "heartbeat.interval"},
		{name: "config default", mode: "end", args: []string{"config", "default"}, code: 0, stdout: "# The defaults of galgo"},
		{name: "config keys", mode: "end", args: []string{"config", "keys"}, code: 0, stdout: "GALGO_TCP_ADDRESS"},
		{name: "config reference", mode: "end", args: []string{"config", "reference"}, code: 0, stdout: "# Configuration"},
		{name: "inspect help", mode: "end", args: []string{"inspect", "--help"}, code: 0, stdout: "verify"},
		{name: "inspect unknown", mode: "end", args: []string{"inspect", "verfy"}, code: 64, stderr: "did you mean verify?"},
		{name: "inspect verify of two", mode: "end", args: []string{"inspect", "verify", "a", "b"}, code: 64, stderr: "unexpected argument"},
		{name: "inspect verify of nothing", mode: "end", args: []string{"inspect", "verify", "none"}, code: 1, stderr: "no such file"},
		{name: "config unknown", mode: "end", args: []string{"config", "chek"}, code: 64, stderr: "did you mean check?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.program == "" {
				c.program = "galgo"
			}
			p := start(t, t.TempDir(), c.program, c.mode, c.environ, c.args...)
			if code := p.end(); code != c.code {
				t.Errorf("exit code %d; want %d", code, c.code)
			}
			if !strings.Contains(p.stdout.String(), c.stdout) || !strings.Contains(p.stderr.String(), c.stderr) {
				t.Errorf("want %q and %q in\nstdout: %s\nstderr: %s", c.stdout, c.stderr, p.stdout.String(), p.stderr.String())
			}
			if c.code == 0 && c.stderr == "" && p.stderr.Len() > 0 {
				t.Errorf("standard error is not empty: %s", p.stderr.String())
			}
		})
	}
}

func TestServe_RefusalsAreOnStandardErrorOnly(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "galgo", "end", []string{"IGGY_TCP_ADDRESS=x", "IGGY_HEARTBEAT_INTERVAL=0"})
	if code := p.end(); code != 1 || p.stdout.Len() > 0 || strings.Count(p.stderr.String(), "\n") != 2 {
		t.Errorf("code %d, stdout %q, stderr %q", code, p.stdout.String(), p.stderr.String())
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a refused start left %v, %v", entries, err)
	}
}

func TestServe_LogsTheBootInOrderToBothPlaces(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "galgo", "wait", []string{"IGGY_SYSTEM_PATH=data", "IGGY_HTTP_JWT_ENCODING_SECRET=hush", "GALGO_UNKNOWN_THING=1"})
	p.await("server client listeners started")
	runtime, err := os.ReadFile(filepath.Join(dir, "data", "runtime", "current_config.toml"))
	if err != nil || !strings.Contains(string(runtime), "address = \"127.0.0.1:8090\"") || strings.Contains(string(runtime), "hush") {
		t.Errorf("runtime file: %v\n%s", err, runtime)
	}
	p.signal(syscall.SIGTERM)
	if code := p.end(); code != 0 || p.stderr.Len() > 0 {
		t.Errorf("code %d, stderr %q", code, p.stderr.String())
	}
	file, err := os.ReadFile(filepath.Join(dir, "data", "logs", "iggy-server.log"))
	if err != nil || string(file) != p.stdout.String() {
		t.Errorf("%v; file and standard output differ:\n%s\n%s", err, file, p.stdout.String())
	}
	want := []string{"galgo is starting version=", "configuration loaded file=none data=",
		"configuration override variable=IGGY_HTTP_JWT_ENCODING_SECRET key=http.jwt.encoding_secret value=******",
		"GALGO_UNKNOWN_THING", "effective configuration", "server client listeners started",
		"Ctrl-C received; signalling server shutdown", "server shutdown complete"}
	if !regexp.MustCompile("(?s)" + strings.Join(quoteAll(want), ".*")).Match(file) {
		t.Errorf("lines are missing or out of order:\n%s", file)
	}
	if strings.Contains(string(file), "hush") {
		t.Error("a secret is in the log")
	}
}

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = regexp.QuoteMeta(text)
	}
	return quoted
}

func TestServe_Signals(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    string
		environ []string
		signals []os.Signal
		code    int
		stderr  string
	}{
		{"SIGINT", "wait", nil, []os.Signal{os.Interrupt}, 0, ""},
		{"SIGTERM", "wait", nil, []os.Signal{syscall.SIGTERM}, 0, ""},
		{"SIGHUP", "wait", nil, []os.Signal{syscall.SIGHUP}, 0, ""},
		{"second signal forces", "hang", nil, []os.Signal{syscall.SIGTERM, syscall.SIGINT}, 1, "second signal"},
		{"join timeout", "hang", []string{"IGGY_SYSTEM_SHARDING_SHUTDOWN_DRAIN_TIMEOUT=100ms",
			"IGGY_SYSTEM_SHARDING_SHUTDOWN_JOIN_TIMEOUT=200ms"}, []os.Signal{syscall.SIGTERM, syscall.SIGHUP}, 1, "shutdown_join_timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, t.TempDir(), "galgo", c.mode, c.environ)
			p.await("server client listeners started")
			p.signal(c.signals[0])
			p.await("Ctrl-C received; signalling server shutdown")
			for _, s := range c.signals[1:] {
				p.signal(s)
			}
			if code := p.end(); code != c.code || !strings.Contains(p.stderr.String(), c.stderr) {
				t.Errorf("code %d, stderr %q", code, p.stderr.String())
			}
			if complete := strings.HasSuffix(p.stdout.String(), "server shutdown complete\n"); complete != (c.code == 0) {
				t.Errorf("last line: %s", p.stdout.String())
			}
		})
	}
}

func TestServe_SecondServerIsRefusedAndFreshWipes(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "galgo", "wait", nil)
	p.await("server client listeners started")
	marker := filepath.Join(dir, "local_data", "streams", "marker")
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, "galgo", "wait", nil, "--fresh")
	if code := second.end(); code != 1 || !strings.Contains(second.stderr.String(), "is in use by process ") {
		t.Errorf("code %d, stderr %q", code, second.stderr.String())
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the second server wiped the first one's data: %v", err)
	}
	p.signal(syscall.SIGKILL)
	p.end()
	third := start(t, dir, "galgo", "end", nil, "-f")
	if code := third.end(); code != 0 {
		t.Errorf("after a kill: code %d, stderr %q", code, third.stderr.String())
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("--fresh kept the data: %v", err)
	}
}

func TestServe_ColoursUnlessUnwanted(t *testing.T) {
	p := start(t, t.TempDir(), "galgo", "end", []string{"NO_COLOR="})
	p.end()
	if !strings.Contains(p.stdout.String(), "\x1b[") {
		t.Error("no colours")
	}
}

func TestMain_NeedsAServer(t *testing.T) {
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	if code := Main([]string{"galgo"}, io.Discard, &stderr); code != ExitFailure || !strings.Contains(stderr.String(), "without the server") {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
}
