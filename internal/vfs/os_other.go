//go:build !linux

package vfs

import "math"

// freeBytes reports no limit where the system is not asked.
func freeBytes(string) (uint64, error) { return math.MaxUint64, nil }

// Datasync is a full sync where the system has nothing lighter.
func (o *osFile) Datasync() error { return o.f.Sync() }

// Preallocate does nothing: blocks come with the writes.
func (o *osFile) Preallocate(int64, int64) error { return nil }

func (o *osFile) WritevAt(bufs [][]byte, off int64) (int, error) {
	if err := o.enter("write"); err != nil {
		return 0, err
	}
	defer o.mu.RUnlock()
	total := 0
	for _, b := range bufs {
		n, err := o.f.WriteAt(b, off+int64(total))
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
