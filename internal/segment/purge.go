package segment

import (
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

const (
	purgeName = "purge.gen"
	purgeSize = 16
)

// ReadPurgeGeneration returns the purge generation that the incarnation revision of the partition has
// applied: 0 when the file is missing, short or left behind by another incarnation, which makes a purge
// run again. Failing to find out is an error: taking it for 0 would purge intact data.
func ReadPurgeGeneration(fs vfs.FS, dir string, revision uint64) (uint64, error) {
	b, err := readUpTo(fs, path.Join(dir, purgeName), purgeSize)
	if notExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("purge generation of %s: %w", dir, err)
	}
	if len(b) < purgeSize || le.Uint64(b[8:]) != revision {
		return 0, nil
	}
	return le.Uint64(b), nil
}

// WritePurgeGeneration records, atomically and durably, that the incarnation revision has applied a purge.
func WritePurgeGeneration(fs vfs.FS, dir string, generation, revision uint64) error {
	var b [purgeSize]byte
	le.PutUint64(b[:], generation)
	le.PutUint64(b[8:], revision)
	if err := vfs.WriteFile(fs, path.Join(dir, purgeName), b[:]); err != nil {
		return fmt.Errorf("purge generation of %s: %w", dir, err)
	}
	return nil
}
