// Package clients runs published client packages of other languages against the real server. Each is installed
// from its registry into a directory of the test; where that is not possible the test is skipped and says so.
package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/galgolog/galgo/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// pythonPackage is the newest published client that speaks protocol 0.11.0-edge.4; releases after it encode topics otherwise.
const pythonPackage = "apache-iggy==0.9.0.dev7"

// Bounds of one step, wide for a busy machine.
const (
	installLimit = 3 * time.Minute
	walkLimit    = 90 * time.Second
)

func TestPython_PublishedClient(t *testing.T) {
	python := installPython(t)
	s := process.Start(t, process.Options{})
	walk := func(phase string) {
		t.Helper()
		out, err := run(t, walkLimit, python, "python/walk.py", s.Addr(), process.RootPassword, phase)
		if err != nil {
			t.Fatalf("%s: %v\n%s", phase, err, out)
		}
		t.Logf("%s\n%s", phase, out)
	}
	walk("write")
	s.Crash()
	walk("again")
}

// installPython makes a virtual environment with the client and returns its interpreter.
func installPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("COULD NOT RUN: no python3 on this machine: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := run(t, installLimit, python, "-m", "venv", dir); err != nil {
		t.Skipf("COULD NOT RUN: no virtual environment: %v\n%s", err, out)
	}
	python = filepath.Join(dir, "bin", "python")
	out, err := run(t, installLimit, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pythonPackage)
	if err != nil {
		t.Skipf("COULD NOT RUN: %s cannot be installed here: %v\n%s", pythonPackage, err, out)
	}
	return python
}

func run(t *testing.T, limit time.Duration, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
