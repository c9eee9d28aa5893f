package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var binary string

func TestMain(m *testing.M) { os.Exit(build(m)) }

// build makes the program once for all tests.
func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "galgo-main-*")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "galgo")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

func TestBinary_ExitCodes(t *testing.T) {
	alias := filepath.Join(filepath.Dir(binary), "iggy-server")
	if err := os.Symlink(binary, alias); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		program string
		args    []string
		environ []string
		code    int
		output  string
	}{
		{binary, []string{"--version"}, nil, 0, "galgo "},
		{alias, []string{"--version"}, nil, 0, "galgo "},
		{alias, []string{"--help"}, nil, 0, "--replica-id"},
		{binary, []string{"--nonsense"}, nil, 64, "unknown flag"},
		{alias, []string{"--follower"}, nil, 64, "unknown flag"},
		{binary, []string{"nonsense"}, nil, 64, "unknown command"},
		{binary, nil, []string{"IGGY_TCP_ADDRESS=nowhere"}, 1, "tcp.address"},
		{alias, nil, []string{"IGGY_SYSTEM_ENCRYPTION_ENABLED=true"}, 1, "encryption at rest"},
		{alias, []string{"--replica-id", "7"}, nil, 1, "--replica-id"},
	} {
		cmd := exec.Command(c.program, c.args...)
		cmd.Dir = t.TempDir()
		cmd.Env = c.environ
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(out.String(), c.output) {
			t.Errorf("%s %v %v: code %d; want %d\n%s", filepath.Base(c.program), c.args, c.environ, code, c.code, out.String())
		}
	}
}
