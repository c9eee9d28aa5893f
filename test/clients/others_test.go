package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Clients of other languages that were not to be had from their registry when these tests were written. Each test
// asks again and is skipped, never passed: where a registry has one by now, the message says that a walk through it
// is still to be written.

func TestGo_PublishedClient(t *testing.T) {
	const module = "github.com/apache/iggy/foreign/go"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module probe\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, time.Minute, "go", "-C", dir, "list", "-m", "-versions", module)
	if err != nil {
		t.Skipf("COULD NOT RUN: the module proxy does not serve %s: %v\n%s", module, err, out)
	}
	t.Skipf("COULD NOT RUN: %s is served now and has no walk yet\n%s", module, out)
}

func TestNode_PublishedClient(t *testing.T) {
	const name = "apache-iggy"
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("COULD NOT RUN: no npm on this machine: %v", err)
	}
	out, err := run(t, time.Minute, npm, "view", name, "version")
	if err != nil {
		t.Skipf("COULD NOT RUN: the npm registry does not serve %s: %v", name, err)
	}
	t.Skipf("COULD NOT RUN: %s is served now and has no walk yet\n%s", name, out)
}
