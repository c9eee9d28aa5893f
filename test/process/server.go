package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Credentials of the root user of every server started here.
const (
	RootName     = "iggy"
	RootPassword = "iggy-root-password"
)

// Times that bound what a healthy server does. They are wide: a machine that is busy with other tests must not
// fail one.
const (
	startLimit = 60 * time.Second
	stopLimit  = 45 * time.Second
)

// Options say how to start a server. The zero value is a fresh server with the default configuration.
type Options struct {
	// Data is the data directory; empty makes a fresh one that is deleted with the test.
	Data string
	// Env are further variables, "NAME=value"; they win over those that the harness sets.
	Env []string
	// Args follow the program name; nil means "serve".
	Args []string
	// Name is argv[0]; empty means the path of the program.
	Name string
}

// Server is one server across its lives. Its methods belong to the goroutine of the test.
type Server struct {
	t       testing.TB
	opts    Options
	work    string // working directory; logs of all lives are here
	data    string
	address string
	cmd     *exec.Cmd
	exited  chan struct{}
	lives   int
}

// Start starts a server and waits until it serves.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	s := New(t, opts)
	s.Launch()
	return s
}

// New prepares a server without starting it.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	s := &Server{t: t, opts: opts, work: t.TempDir(), data: opts.Data}
	if s.data == "" {
		s.data = filepath.Join(s.work, "data")
	}
	t.Cleanup(s.finish)
	return s
}

// Launch starts the next life and waits until it serves.
func (s *Server) Launch() {
	s.t.Helper()
	if !s.Try() {
		s.t.Fatalf("the server ended instead of serving: %s", s.cmd.ProcessState)
	}
}

// Try starts the next life and waits until it serves, true, or has ended, false.
func (s *Server) Try() bool {
	s.t.Helper()
	s.spawn()
	deadline := time.Now().Add(startLimit)
	for time.Now().Before(deadline) {
		if address, ok := s.bound(); ok {
			s.address = address
			return true
		}
		select {
		case <-s.exited:
			return false
		case <-time.After(2 * time.Millisecond):
		}
	}
	s.t.Fatalf("the server neither serves nor ends after %v", startLimit)
	return false
}

// Refused starts a life that must end by itself, without serving, and returns its exit code and its log.
func (s *Server) Refused() (exitCode int, log string) {
	s.t.Helper()
	s.spawn()
	select {
	case <-s.exited:
	case <-time.After(startLimit):
		s.t.Fatal("the server neither refused the start nor ended")
	}
	return s.cmd.ProcessState.ExitCode(), s.LifeLog()
}

func (s *Server) spawn() {
	s.t.Helper()
	if s.Alive() {
		s.t.Fatal("the server already runs")
	}
	// Its appearance tells that the new life is ready, so that of the life before must not be there.
	if err := os.RemoveAll(filepath.Dir(s.runtimeFile())); err != nil {
		s.t.Fatal(err)
	}
	s.lives++
	out, err := os.Create(s.logPath())
	if err != nil {
		s.t.Fatal(err)
	}
	args := s.opts.Args
	if args == nil {
		args = []string{"serve"}
	}
	s.cmd = exec.Command(Binary(s.t), args...)
	if s.opts.Name != "" {
		s.cmd.Args[0] = s.opts.Name
	}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.work, out, out
	s.cmd.SysProcAttr = childAttributes()
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.work, "NO_COLOR=1", "GORACE=halt_on_error=1",
		"IGGY_ROOT_USERNAME=" + RootName, "IGGY_ROOT_PASSWORD=" + RootPassword, "IGGY_SYSTEM_PATH=" + s.data,
		"IGGY_TCP_ADDRESS=127.0.0.1:0", "IGGY_QUIC_ADDRESS=127.0.0.1:0", "IGGY_WEBSOCKET_ADDRESS=127.0.0.1:0",
		"IGGY_HTTP_ADDRESS=127.0.0.1:0",
	}, s.opts.Env...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(errors.Join(err, out.Close()))
	}
	running.add(s.cmd.Process.Pid)
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		_ = out.Close()
		running.remove(cmd.Process.Pid)
		close(exited)
	}(s.cmd, s.exited)
}

func (s *Server) runtimeFile() string {
	return filepath.Join(s.data, "runtime", "current_config.toml")
}

var (
	tcpSection = regexp.MustCompile(`(?ms)^\[tcp\]\n(.*?)(^\[|\z)`)
	addressKey = regexp.MustCompile(`(?m)^address = "([^"]+)"`)
)

// bound reads where the server listens; false until it says so.
func (s *Server) bound() (string, bool) {
	raw, err := os.ReadFile(s.runtimeFile())
	if err != nil {
		return "", false
	}
	section := tcpSection.FindSubmatch(raw)
	if section == nil {
		return "", false
	}
	address := addressKey.FindSubmatch(section[1])
	if address == nil || bytes.HasSuffix(address[1], []byte(":0")) {
		return "", false
	}
	return string(address[1]), true
}

// Addr is "host:port" of the TCP door of this life.
func (s *Server) Addr() string { return s.address }

// Data is the data directory.
func (s *Server) Data() string { return s.data }

// PID is the process of this life.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Alive reports whether this life has not ended.
func (s *Server) Alive() bool {
	if s.exited == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Stop asks the server to stop, as an operator would, and demands a clean end.
func (s *Server) Stop() {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	if code := s.Wait(); code != 0 {
		s.t.Fatalf("exit code %d after SIGTERM; want 0", code)
	}
}

// Kill ends the server without a chance to do anything.
func (s *Server) Kill() {
	s.t.Helper()
	s.Signal(syscall.SIGKILL)
	s.Wait()
}

// Signal sends a signal to the process.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal %v: %v", sig, err)
	}
}

// Wait waits for the end of this life and returns its exit code, -1 for a death by signal.
func (s *Server) Wait() int {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		s.t.Fatalf("the server has not ended after %v", stopLimit)
	}
	return s.cmd.ProcessState.ExitCode()
}

// Restart stops the server cleanly and starts it again on the same data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Launch()
}

// Crash kills the server and starts it again on the same data.
func (s *Server) Crash() {
	s.t.Helper()
	s.Kill()
	s.Launch()
}

// Setenv adds variables for the lives to come.
func (s *Server) Setenv(env ...string) { s.opts.Env = append(s.opts.Env, env...) }

func (s *Server) logPath() string { return filepath.Join(s.work, fmt.Sprintf("life-%d.log", s.lives)) }

// LifeLog is what this life wrote to standard output and standard error.
func (s *Server) LifeLog() string {
	raw, _ := os.ReadFile(s.logPath())
	return string(raw)
}

// finish ends what still runs and reports on a failed test.
func (s *Server) finish() {
	if s.Alive() {
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	for _, mark := range []string{"panicked at", "DATA RACE", "fatal error:", "goroutine stack exceeds"} {
		if log := s.LifeLog(); s.lives > 0 && strings.Contains(log, mark) {
			s.t.Errorf("the log has %q", mark)
		}
	}
	if s.t.Failed() && s.lives > 0 {
		s.t.Logf("end of the log of life %d:\n%s", s.lives, tail(s.LifeLog(), 40))
		s.t.Logf("run it again: %s", rerun(s.t))
	}
}

// rerun is the command that runs this test alone.
func rerun(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return fmt.Sprintf("go test ./test/%s -count=1 -run '%s'", filepath.Base(dir), strings.Join(parts, "/"))
}

func tail(text string, lines int) string {
	all := slices.DeleteFunc(strings.Split(strings.TrimRight(text, "\n"), "\n"), func(line string) bool {
		return strings.Contains(line, "configuration override") || strings.Contains(line, "effective configuration")
	})
	for i, line := range all {
		all[i] = line[:min(len(line), 300)]
	}
	return strings.Join(all[max(len(all)-lines, 0):], "\n")
}
