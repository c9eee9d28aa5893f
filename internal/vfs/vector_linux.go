package vfs

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vectorsMax is the most buffers one system call takes (IOV_MAX of Linux).
const vectorsMax = 1024

// scratchIdleMax bounds how many vector arrays (16 KiB each) wait for reuse in the process.
const scratchIdleMax = 16

type vectorScratch [vectorsMax]unix.Iovec

// A channel and not a sync.Pool: what waits here survives a collection, so steady writers never allocate.
var scratchIdle = make(chan *vectorScratch, scratchIdleMax)

func takeScratch() *vectorScratch {
	select {
	case s := <-scratchIdle:
		return s
	default:
		return new(vectorScratch)
	}
}

func giveScratch(s *vectorScratch) {
	select {
	case scratchIdle <- s:
	default:
	}
}

// vectorWriter is one pwritev call: it may write less than asked and may be interrupted.
type vectorWriter interface {
	pwritev(vectors []unix.Iovec, off int64) (int, error)
}

func (o *osFile) pwritev(vectors []unix.Iovec, off int64) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_PWRITEV, uintptr(o.fd), uintptr(unsafe.Pointer(&vectors[0])),
		uintptr(len(vectors)), uintptr(off), uintptr(uint64(off)>>32), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// writeVectors writes the concatenation of bufs at off, at most vectorsMax buffers a call, and goes on at
// the right byte after a short write.
func writeVectors(w vectorWriter, scratch *vectorScratch, bufs [][]byte, off int64) (int, error) {
	total := 0
	for len(bufs) > 0 {
		var filled, used int
		for filled < vectorsMax && used < len(bufs) {
			if b := bufs[used]; len(b) > 0 {
				scratch[filled].Base = unsafe.SliceData(b)
				scratch[filled].SetLen(len(b))
				filled++
			}
			used++
		}
		n, err := writeAll(w, scratch[:filled], off+int64(total))
		clear(scratch[:filled]) // keeps no buffer of the caller alive
		total += n
		if err != nil {
			return total, err
		}
		bufs = bufs[used:]
	}
	return total, nil
}

// writeAll repeats the call until every vector is written, advancing the vectors in place.
func writeAll(w vectorWriter, vectors []unix.Iovec, off int64) (int, error) {
	total := 0
	for len(vectors) > 0 {
		n, err := w.pwritev(vectors, off+int64(total))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return total, err
		}
		if n <= 0 {
			return total, fmt.Errorf("call wrote %d bytes: %w", n, io.ErrShortWrite)
		}
		total += n
		for n > 0 && len(vectors) > 0 {
			v := &vectors[0]
			if length := int(v.Len); n >= length {
				n -= length
				vectors = vectors[1:]
				continue
			}
			v.SetLen(int(v.Len) - n)
			v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
			n = 0
		}
		if n > 0 {
			return total, fmt.Errorf("call wrote %d bytes too many: %w", n, io.ErrShortWrite)
		}
	}
	return total, nil
}
