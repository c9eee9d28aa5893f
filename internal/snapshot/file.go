package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// MaxBytes bounds a snapshot. A million partitions and a full client table stay far below it.
const MaxBytes = 4 << 30

// FileName is the name of the file in the folder of its group.
const FileName = "snapshot.bin"

const temporarySuffix = ".tmp"

// Write replaces the file name by data, which must be a whole snapshot. The error is a *WriteError that
// tells how far it came. It blocks for two syncs.
func Write(fsys vfs.FS, name string, data []byte) error {
	if int64(len(data)) > MaxBytes {
		return &WriteError{name, StageWrite, fmt.Errorf("%d bytes are above the limit of %d", len(data), int64(MaxBytes))}
	}
	tmp := name + temporarySuffix
	stage, err := writeTemporary(fsys, tmp, data)
	if err == nil {
		stage, err = StageRename, fsys.Rename(tmp, name)
	}
	if err != nil {
		if rerr := fsys.Remove(tmp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return &WriteError{name, stage, err}
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return &WriteError{name, StageDirSync, err}
	}
	return nil
}

func writeTemporary(fsys vfs.FS, name string, data []byte) (Stage, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return StageWrite, err
	}
	stage := StageWrite
	if _, err = f.WriteAt(data, 0); err == nil {
		stage = StageSync
		err = f.Sync()
	}
	return stage, errors.Join(err, f.Close())
}

// Read returns the snapshot in file name with its trailer verified, or nil without an error when there is
// none. Refusals are those of Open; a file above MaxBytes is a *TruncatedError, because its trailer was not
// looked for. An empty file is truncated, not absent: a crash cannot leave one. Any other error is of reading.
func Read(fsys vfs.FS, name string) (*Frame, error) {
	b, err := vfs.ReadFile(fsys, name, MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, vfs.ErrTooLarge):
		return nil, &TruncatedError{File: name, SizeBytes: MaxBytes + 1}
	case err != nil:
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	return Open(name, b)
}
