package inspect

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
)

// comparePaths orders paths by their parts, numbers by value.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, "/")
		y, b, _ = strings.Cut(b, "/")
		if c := compareNames(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

func compareNames(a, b string) int {
	if isNumber(a) && isNumber(b) {
		return cmp.Or(cmp.Compare(len(strings.TrimLeft(a, "0")), len(strings.TrimLeft(b, "0"))), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isBelow reports whether name is dir or lies in it.
func isBelow(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// relative is path as seen from the data directory.
func relative(data, path string) string {
	rel, err := filepath.Rel(data, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	if rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

func itoa(v uint64) string { return strconv.FormatUint(v, 10) }
