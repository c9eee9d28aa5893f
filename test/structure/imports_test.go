// Package structure holds the project to its own map: which package may import which, how long files and
// functions may be, and what a package may be called.
package structure

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/galgolog/galgo/"

// layers gives every package its height. An import must go to a lower number, or to the same one where the
// packages of a layer build on each other (ground and edge).
var layers = map[string]int{
	"internal/buffer": 0, "internal/units": 0, "internal/vfs": 0, "internal/telemetry": 0, "internal/protocol": 0,
	"internal/protocol/command": 0, "internal/batch": 0, "internal/segment": 0, "internal/superblock": 0,
	"internal/wal": 0, "internal/snapshot": 0, "internal/config": 0, "internal/datadir": 0,
	"internal/vsr":      1,
	"internal/metadata": 2, "internal/partition": 2,
	"internal/node":      3,
	"internal/transport": 4, "internal/session": 4, "internal/peer": 4, "internal/httpapi": 4,
	"internal/rawclient": 5, "internal/bench": 5, "internal/inspect": 5, "internal/sim": 5, "internal/gatecheck": 5, "internal/server": 5,
	"internal/cli": 6, "cmd/galgo": 7,
}

// within lists the layers whose packages may import each other.
var within = map[int]bool{0: true, 4: true, 5: true}

// coreBans are imports that would let the outside into the sans-IO core.
var coreBans = []string{"os", "net", "time", "math/rand", "math/rand/v2", "log", "log/slog", "crypto/rand", "io/fs"}

type source struct {
	pkg, file string
	imports   []string
	test      bool
}

func root(t *testing.T) string {
	t.Helper()
	abs, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func sources(t *testing.T) []source {
	t.Helper()
	base := root(t)
	var all []source
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		rel, _ := filepath.Rel(base, path)
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{pkg: filepath.ToSlash(filepath.Dir(rel)), file: filepath.ToSlash(rel), test: strings.HasSuffix(path, "_test.go")}
		for _, i := range f.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			s.imports = append(s.imports, name)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].file < all[j].file })
	return all
}

// height finds the layer of a package; sub-packages belong to the layer of their parent.
func height(pkg string) (int, bool) {
	for p := pkg; p != "." && p != "/"; p = filepath.ToSlash(filepath.Dir(p)) {
		if h, ok := layers[p]; ok {
			return h, true
		}
	}
	return 0, false
}

func TestImports_RunDownwardsOnly(t *testing.T) {
	for _, s := range sources(t) {
		from, known := height(s.pkg)
		if !known {
			if strings.HasPrefix(s.pkg, "internal/") {
				t.Errorf("%s: package %s has no layer", s.file, s.pkg)
			}
			continue
		}
		for _, name := range s.imports {
			target, ours := strings.CutPrefix(name, module)
			if !ours || s.test {
				continue
			}
			to, ok := height(target)
			if !ok {
				t.Errorf("%s imports %s, which has no layer", s.file, name)
				continue
			}
			sameParent := strings.HasPrefix(target, s.pkg+"/") || strings.HasPrefix(s.pkg, target+"/")
			if to > from || to == from && !within[from] && !sameParent {
				t.Errorf("%s imports upwards or sideways: %s", s.file, name)
			}
		}
	}
}

func TestImports_CoreIsFreeOfTheOutside(t *testing.T) {
	for _, s := range sources(t) {
		if h, ok := height(s.pkg); !ok || h != 1 && h != 2 || s.test {
			continue
		}
		for _, name := range s.imports {
			for _, banned := range coreBans {
				if name == banned {
					t.Errorf("%s imports %s", s.file, name)
				}
			}
		}
	}
}

func TestImports_ProductDoesNotUseItsTestTools(t *testing.T) {
	banned := []string{"pgregory.net/rapid", "go.uber.org/goleak", "testing"}
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "test") || strings.HasSuffix(s.pkg, "test") {
			continue
		}
		for _, name := range s.imports {
			for _, b := range banned {
				if name == b {
					t.Errorf("%s imports %s", s.file, name)
				}
			}
		}
	}
}
