package segment

import (
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// ReadIncarnation returns which incarnation of a partition a directory belongs to, as WritePurgeGeneration
// recorded it at first use. It is not known when the directory or the record is missing or short.
func ReadIncarnation(fs vfs.FS, dir string) (revision uint64, known bool, err error) {
	b, err := readUpTo(fs, path.Join(dir, purgeName), purgeSize)
	if notExist(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("incarnation of %s: %w", dir, err)
	}
	if len(b) < purgeSize {
		return 0, false, nil
	}
	return le.Uint64(b[8:]), true, nil
}
