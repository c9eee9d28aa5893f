package shardlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/galgolog/galgo/internal/vfs"
)

const (
	headName     = "head"
	shardPrefix  = "shard-"
	walSuffix    = ".wal"
	spareSuffix  = ".wal.spare"
	goneSuffix   = ".gone"   // a closing log on its way out
	brokenSuffix = ".broken" // a log whose files form no chain, kept for an operator
	nameDigits   = 20
)

// logFile is one use of a file.
type logFile struct {
	log    *Log
	path   string
	header fileHeader

	// isOld: of an earlier life, never written; isDurable tells whether its sync at this start succeeded.
	isOld, isDurable bool

	f         vfs.File // nil while nobody reads or writes it
	filled    int64    // bytes that are there; appends stay below. Guarded by Log.mu in the active file
	end       int64    // where its records end; of the active file Log.tail counts
	syncedEnd int64    // where the last good sync ended. Guarded by Log.mu

	needs []*need // guarded by registry.mu
}

// spareFile is a file ready for another use.
type spareFile struct {
	path   string
	number uint64 // in its name
	filled int64
}

func fileName(number uint64, suffix string) string {
	return fmt.Sprintf("%0*d%s", nameDigits, number, suffix)
}

// parseName reads the number out of a name with the suffix.
func parseName(name, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != nameDigits {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && n > 0 && n <= counterMax
}

// parseShard reads the shard out of the name of a log directory.
func parseShard(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, shardPrefix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && n < shardsMax && strconv.Itoa(n) == digits
}

func shardName(n int) string { return shardPrefix + strconv.Itoa(n) }

// list is readDir for a directory that may not exist.
func list(fsys vfs.FS, dir string) ([]string, error) {
	names, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// removeIfThere removes a file or does nothing.
func removeIfThere(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l *Log) headPath() string { return path.Join(l.dir, headName) }
