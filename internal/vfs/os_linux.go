package vfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

func freeBytes(name string) (uint64, error) {
	var st unix.Statfs_t
	err := retryInterrupted(func() error { return unix.Statfs(name, &st) })
	return st.Bavail * uint64(st.Bsize), err
}

func (o *osFile) Datasync() error {
	if err := o.enter("fdatasync"); err != nil {
		return err
	}
	defer o.mu.RUnlock()
	return pathError("fdatasync", o.name, retryInterrupted(func() error { return unix.Fdatasync(o.fd) }))
}

func (o *osFile) Preallocate(off, length int64) error {
	if err := o.enter("fallocate"); err != nil {
		return err
	}
	defer o.mu.RUnlock()
	err := retryInterrupted(func() error {
		return unix.Fallocate(o.fd, unix.FALLOC_FL_KEEP_SIZE, off, length)
	})
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return pathError("fallocate", o.name, err)
}

func (o *osFile) WritevAt(bufs [][]byte, off int64) (int, error) {
	if err := o.enter("pwritev"); err != nil {
		return 0, err
	}
	defer o.mu.RUnlock()
	scratch := takeScratch()
	n, err := writeVectors(o, scratch, bufs, off)
	giveScratch(scratch)
	return n, pathError("pwritev", o.name, err)
}

func retryInterrupted(call func() error) error {
	for {
		err := call()
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
