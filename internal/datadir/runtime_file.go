package datadir

import (
	"errors"
	"fmt"
	"os"
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
const runtimeReserve = 32 << 10

// reserveRuntime takes the room of the runtime file, as far as there is any, before recovery uses it up.
func (d *Dir) reserveRuntime() {
	// A failure is met again where the file is written.
	_ = os.WriteFile(d.runtimeTemporary(), make([]byte, runtimeReserve), fileMode)
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
