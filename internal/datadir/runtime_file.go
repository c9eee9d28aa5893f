package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteRuntime puts the effective configuration where others look for it. Readers see all of it or nothing:
// it is written beside, synced and renamed. Its appearance tells that the listeners are bound, so it is
// written last.
func (d *Dir) WriteRuntime(toml []byte) error {
	temporary := d.runtimeTemporary()
	if err := writeSynced(temporary, toml); err != nil {
		return fmt.Errorf("runtime file write: %w", err)
	}
	if err := os.Rename(temporary, d.RuntimeFile()); err != nil {
		return fmt.Errorf("runtime file rename: %w", err)
	}
	if err := syncDir(d.Runtime()); err != nil {
		return fmt.Errorf("runtime file sync: %w", err)
	}
	return nil
}

func (d *Dir) runtimeTemporary() string { return d.RuntimeFile() + ".tmp" }

// runtimeReserve is the room that a start on a full volume keeps for the runtime file, which is written last: the
// configuration as text has some ten thousand bytes.
const (
	runtimeReserve     = 32 << 10
	runtimeReserveStep = 1 << 10
)

// emptyRuntime removes what earlier runs left in the runtime folder. The runtime file only loses its name, so that its
// room stays taken.
func (d *Dir) emptyRuntime() error {
	if err := os.Rename(d.RuntimeFile(), d.runtimeTemporary()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(d.Runtime())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(d.Runtime(), e.Name())
		if path == d.runtimeTemporary() && e.Type().IsRegular() {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// reserveRuntime takes the room of the runtime file, as far as there is any, before recovery uses it up.
func (d *Dir) reserveRuntime() {
	f, err := os.OpenFile(d.runtimeTemporary(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return // met again where the file is written
	}
	info, err := f.Stat()
	// As much as there is, in small steps: a write that does not fit takes nothing of what is left.
	for step := make([]byte, runtimeReserveStep); err == nil && info.Size() < runtimeReserve; info, err = f.Stat() {
		if _, err := f.Write(step); err != nil {
			break
		}
	}
	_ = f.Close()
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Truncate(int64(len(content))) // what is left of the reserve
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
