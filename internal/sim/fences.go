package sim

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/segment"
	"github.com/galgolog/galgo/internal/vfs"
)

// Fences counts the partitions that a loss of power left with damage that recovery must not repair, by reason.
type Fences map[string]uint64

// judgeFences looks at the partitions that are not served. A loss of power that wrote back in another order may leave
// a hole in bytes that no sync had covered, and whole batches behind it; recovery cannot tell that from rot and leaves
// the files to an operator. That is no failure, but counted; everything that was promised must lie in front of the
// hole, untouched. Every other fence is a failure, and so is one of a topic with synced messages: its log tells what
// was written.
func (w *World) judgeFences(mode vfs.CrashMode) error {
	for _, m := range w.parts() {
		f := w.node.Fenced(m.id)
		if f == nil {
			continue
		}
		var refusal *segment.Refusal
		if !errors.As(f, &refusal) || m.fsync || mode == vfs.KillOnly || mode == vfs.LoseUnsynced {
			return f
		}
		intact, err := w.intact(m)
		if err != nil {
			return err
		}
		if err := m.compare(intact); err != nil {
			return fmt.Errorf("%w; what lies in front of the damage: %w", f, err)
		}
		w.fences[fmt.Sprintf("%s, %s", refusal.Kind, mode)]++
		m.fenced = true
	}
	return nil
}

// intact reads the messages of a partition from its files, up to the first byte that is no record.
func (w *World) intact(m *partitionModel) (map[uint64]uint64, error) {
	dir := w.partitionDir(m)
	names, err := w.disk.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[uint64]uint64{}
	for _, name := range names { // the names of segments ascend as their offsets do
		if !strings.HasSuffix(name, path.Ext(segment.LogName(0))) {
			continue
		}
		b, err := vfs.ReadFile(w.disk, path.Join(dir, name), 1<<30)
		if err != nil {
			return nil, err
		}
		for len(b) > 0 {
			h := batch.HeaderOf(b)
			if len(b) < batch.HeaderSize || h.Check() != protocol.Success || h.Length() > uint64(len(b)) ||
				batch.VerifyStored(b[:h.Length()]) != protocol.Success {
				return found, nil
			}
			walk := batch.Walk(b[:h.Length()])
			for f, ok := walk.Next(); ok; f, ok = walk.Next() {
				found[batch.BaseOffset(b)+uint64(f.OffsetDelta())] = f.ID().Lo
			}
			b = b[h.Length():]
		}
	}
	return found, nil
}
