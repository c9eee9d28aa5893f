package segment

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/galgolog/galgo/internal/vfs"
)

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
func tooLarge(err error) bool { return errors.Is(err, vfs.ErrTooLarge) }

// writeSynced writes a file whole and syncs it. The name is durable after a sync of its directory.
func writeSynced(fsys vfs.FS, name string, data []byte) error {
	return writeWhole(fsys, name, data, true)
}

func writeWhole(fsys vfs.FS, name string, data []byte, sync bool) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// removeIfThere unlinks name; a missing one is what was wanted.
func removeIfThere(fsys vfs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !notExist(err) {
		return err
	}
	return nil
}
