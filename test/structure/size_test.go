package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	fileLinesMax     = 600
	testFileLinesMax = 1500
	functionLinesMax = 70
)

func TestSize_FilesAndFunctionsStaySmall(t *testing.T) {
	base := root(t)
	for _, s := range sources(t) {
		set := token.NewFileSet()
		path := filepath.Join(base, s.file)
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		limit := fileLinesMax
		if s.test {
			limit = testFileLinesMax
		}
		if n := set.Position(f.End()).Line; n > limit {
			t.Errorf("%s has %d lines, more than %d", s.file, n, limit)
		}
		if s.test {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > functionLinesMax {
				t.Errorf("%s: %s has %d lines, more than %d", s.file, fn.Name.Name, n, functionLinesMax)
			}
		}
	}
}

func TestNames_NoDrawersForEverything(t *testing.T) {
	for _, s := range sources(t) {
		switch name := s.pkg[strings.LastIndex(s.pkg, "/")+1:]; name {
		case "util", "utils", "common", "helpers", "misc", "base", "types", "models", "manager":
			t.Errorf("%s: a package is named after what it owns, not %q", s.file, name)
		}
	}
}

func TestPackages_HaveADocComment(t *testing.T) {
	documented := map[string]bool{}
	base := root(t)
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(base, s.file), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		documented[s.pkg] = documented[s.pkg] || f.Doc != nil
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no doc comment", pkg)
		}
	}
}

func TestText_NoUnfinishedBusiness(t *testing.T) {
	base := root(t)
	for _, s := range sources(t) {
		if strings.HasPrefix(s.pkg, "test/structure") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(base, s.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:"} {
			if strings.Contains(string(raw), mark) {
				t.Errorf("%s contains %s", s.file, mark)
			}
		}
	}
}
