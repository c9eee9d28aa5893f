package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write golden files and docs/configuration.md instead of comparing")

// golden compares with a file, or writes it with -rewrite.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date; run: go test ./internal/config -rewrite", path)
	}
}

func TestDefaultTOML_Golden(t *testing.T) { golden(t, "testdata/default.toml", DefaultTOML()) }

func TestReference_Golden(t *testing.T) { golden(t, "../../docs/configuration.md", Reference()) }
