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

// ClaimDirectory records, in a directory that holds nothing yet, which incarnation it belongs to and which
// purges lie before its first use. The content is durable when it returns; the name is with the next sync of
// the directory, which the first superblock of the partition brings.
func ClaimDirectory(fs vfs.FS, dir string, generation, revision uint64) error {
	var b [purgeSize]byte
	le.PutUint64(b[:], generation)
	le.PutUint64(b[8:], revision)
	if err := writeSynced(fs, path.Join(dir, purgeName), b[:]); err != nil {
		return fmt.Errorf("claim %s: %w", dir, err)
	}
	return nil
}
