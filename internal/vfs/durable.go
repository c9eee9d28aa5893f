package vfs

import (
	"errors"
	"fmt"
	"io"
	"path"
)

// ErrTooLarge reports that ReadFile met a file beyond the limit of its caller.
var ErrTooLarge = errors.New("file is larger than its limit")

// ReadFile returns the whole content of a file of at most limitBytes; a longer one is ErrTooLarge and
// nothing is allocated for it.
func ReadFile(fsys FS, name string, limitBytes int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, ReadOnly)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limitBytes {
		return nil, fmt.Errorf("read %s: %d bytes, limit %d: %w", name, size, limitBytes, ErrTooLarge)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); err != nil && (!errors.Is(err, io.EOF) || int64(n) != size) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

// WriteFile replaces name by data so that a crash leaves the old content or the new, whole: a file beside
// it with the suffix ".tmp" is written and synced, renamed, and the directory is synced. On an error
// before the rename the old content stands and the temporary is removed. After an error of the last step
// either may be found after a crash.
func WriteFile(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	if err := writeAndSync(fsys, tmp, data); err != nil {
		return errors.Join(err, removeLeftover(fsys, tmp))
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return errors.Join(err, removeLeftover(fsys, tmp))
	}
	return fsys.SyncDir(path.Dir(name))
}

func writeAndSync(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// removeLeftover removes a temporary; a leftover that cannot be removed is overwritten by the next writer.
func removeLeftover(fsys FS, name string) error {
	err := fsys.Remove(name)
	if isNotExist(err) {
		return nil
	}
	return err
}
