package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Environment variables that change how the suites run.
const (
	// BinaryVariable names a program to test instead of building one.
	BinaryVariable = "GALGO_TEST_BINARY"
	// RaceVariable, when it is 1, builds the program with the race detector.
	RaceVariable = "GALGO_TEST_RACE"
)

var program struct {
	sync.Mutex
	dir  string
	path string
}

// Main runs the tests of a package and leaves nothing behind: no process, no program. It does not return.
func Main(m *testing.M) {
	code := m.Run()
	if left := running.leftovers(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "servers outlived their tests: processes %v\n", left)
		code = max(code, 1)
	}
	program.Lock()
	if program.dir != "" {
		_ = os.RemoveAll(program.dir)
	}
	program.Unlock()
	os.Exit(code)
}

// Binary returns the path of the program, which the first caller builds.
func Binary(t testing.TB) string {
	t.Helper()
	program.Lock()
	defer program.Unlock()
	if program.path != "" {
		return program.path
	}
	if given := os.Getenv(BinaryVariable); given != "" {
		abs, err := filepath.Abs(given)
		if err != nil {
			t.Fatal(err)
		}
		program.path = abs
		return abs
	}
	dir, err := os.MkdirTemp("", "galgo-binary-")
	if err != nil {
		t.Fatal(err)
	}
	program.dir = dir
	path := filepath.Join(dir, "galgo")
	args := []string{"build", "-o", path}
	if os.Getenv(RaceVariable) == "1" {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "github.com/galgolog/galgo/cmd/galgo")...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(build.Args, " "), err, out)
	}
	program.path = path
	return path
}
