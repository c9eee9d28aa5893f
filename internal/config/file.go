package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

const (
	defaultFile   = "galgo.toml"
	fileBytesMax  = 4 << 20
	searchRemedy  = "name an existing file or leave the option out"
	defaultDotEnv = ".env"
)

// loadFile finds the configuration file and applies it.
func (l *loader) loadFile() {
	path, mayMiss := l.src.File, false
	if path == "" {
		path, mayMiss = l.env.get("CONFIG_PATH"), true
	}
	named := path != ""
	if !named {
		path = defaultFile
	}
	text, err := readBounded(l.src.resolve(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && mayMiss:
		if named {
			l.warn("%s: there is no such file; defaults and variables are used", path)
		}
		return
	case err != nil:
		l.refuse(Refusal{Reason: ErrFile, Source: path, Problem: err.Error(), Remedy: searchRemedy})
		return
	}
	l.out.File = l.src.resolve(path)
	tree := map[string]any{}
	if err := toml.Unmarshal(text, &tree); err != nil {
		l.refuse(Refusal{Reason: ErrFile, Source: path, Problem: tomlProblem(err), Remedy: "correct the file"})
		return
	}
	l.walk("", tree, path)
}

func tomlProblem(err error) string {
	var position *toml.DecodeError
	if errors.As(err, &position) {
		row, column := position.Position()
		return fmt.Sprintf("line %d, column %d: %v", row, column, err)
	}
	return err.Error()
}

// resolve makes a path relative to the directory of the sources.
func (s *Sources) resolve(path string) string {
	if s.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.Dir, path)
}

// readBounded reads a regular file that cannot be larger than any configuration.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && len(text) > fileBytesMax {
		err = fmt.Errorf("read %s: larger than %d bytes", path, fileBytesMax)
	}
	return text, err
}
