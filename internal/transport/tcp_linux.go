package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// ioVectorMax is the number of buffers one writev takes (IOV_MAX).
const ioVectorMax = 1024

// ioVector is the kernel's view of a batch.
type ioVector struct {
	iov  [ioVectorMax]syscall.Iovec
	used int
}

func (v *ioVector) fill(bufs [][]byte) int {
	n := min(len(bufs), ioVectorMax)
	for i, b := range bufs[:n] {
		v.iov[i].Base = &b[0]
		v.iov[i].SetLen(len(b))
	}
	v.used = max(v.used, n)
	return n
}

func (v *ioVector) reset() {
	clear(v.iov[:v.used])
	v.used = 0
}

// newSink returns the fast sink for TCP and the general one for everything else.
func newSink(nc net.Conn, m *Metrics) sink {
	if tc, ok := nc.(*net.TCPConn); ok {
		if raw, err := tc.SyscallConn(); err == nil {
			s := &tcpSink{raw: raw, metrics: m}
			s.once = s.writeOnce
			return s
		}
	}
	return &streamSink{nc: nc, metrics: m}
}

// tcpSink works on the descriptor of a TCP socket.
//
// The whole life of a connection is one RawConn.Read, whose callback reads what is there and then asks to
// be called again when more arrives. The poller reports edges, and one that arrives while the callback
// runs is kept, so that no read is needed to find the socket empty: a request that comes alone costs one
// read. What an edge cannot tell apart is "bytes" from "bytes and end of stream"; the sweep looks for an
// end that hides behind a short read.
type tcpSink struct {
	raw     syscall.RawConn
	metrics *Metrics
	once    func(uintptr) bool // writeOnce, bound once

	batch *writeBatch // argument and results of writeOnce; flush token holder only
	full  bool
	errno error
}

func (s *tcpSink) readLoop(c *Conn) error {
	var cause error
	err := s.raw.Read(func(fd uintptr) bool {
		c.reading.Lock()
		defer c.reading.Unlock()
		var wait bool
		wait, cause = s.readReady(c, int(fd))
		if wait {
			c.releaseChunk()
		}
		return !wait
	})
	switch {
	case cause != nil:
		return cause
	case c.endOfFile.Load():
		return io.EOF
	case c.stopped() || errors.Is(err, os.ErrDeadlineExceeded):
		return errStopped
	}
	return err
}

// readReady reads until the socket is empty; wait asks for the next edge.
func (s *tcpSink) readReady(c *Conn, fd int) (wait bool, err error) {
	for {
		if c.stopped() {
			return false, errStopped
		}
		p, direct := c.in.target(), true
		if p == nil {
			p, direct = c.readRoom(), false
		}
		n, err := syscall.Read(fd, p)
		s.metrics.Reads.Add(1)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			s.metrics.EmptyReads.Add(1)
			c.maybeEOF = false
			return true, nil
		case err != nil:
			return false, os.NewSyscallError("read", err)
		case n == 0:
			return false, io.EOF
		}
		if !direct {
			c.size.observe(n, len(p))
		}
		if err := c.arrived(p[:n], direct); err != nil {
			return false, err
		}
		if direct {
			// The rest of a large body is on its way: another read is cheaper than sleeping for it. What
			// follows is a header and more body, and reading far ahead there would mean a copy.
			c.size = readSize{}
			continue
		}
		if n < len(p) {
			c.maybeEOF = true
			return true, nil
		}
	}
}

// findEOF looks, once after a short read, for an end of stream that no edge will report, and ends the read
// loop if there is one. It takes no bytes. The caller holds reading.
func (c *Conn) findEOF() {
	s, ok := c.sink.(*tcpSink)
	if !ok || !c.maybeEOF {
		return
	}
	c.maybeEOF = false
	_ = s.raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if n == 0 && err == nil {
			c.endOfFile.Store(true)
		}
	})
	if c.endOfFile.Load() {
		_ = c.nc.SetReadDeadline(longAgo)
	}
}

func (s *tcpSink) tryWrite(b *writeBatch) (bool, error) {
	s.batch, s.full, s.errno = b, false, nil
	err := s.raw.Write(s.once)
	s.batch = nil
	if err == nil {
		err = s.errno
	}
	return s.full, err
}

// writeOnce makes one attempt; a large batch that the socket takes whole may need several calls.
func (s *tcpSink) writeOnce(fd uintptr) bool {
	b := s.batch
	for len(b.rest()) > 0 {
		n, asked, err := s.writev(fd, b)
		b.advance(n)
		switch {
		case err == syscall.EAGAIN || err == nil && n < asked:
			s.full = true
			return true
		case err != nil:
			s.errno = os.NewSyscallError("writev", err)
			return true
		}
	}
	return true
}

func (s *tcpSink) writeAll(b *writeBatch) error {
	var errno error
	err := s.raw.Write(func(fd uintptr) bool {
		for len(b.rest()) > 0 {
			n, _, err := s.writev(fd, b)
			b.advance(n)
			switch {
			case err == syscall.EAGAIN:
				return false
			case err != nil:
				errno = os.NewSyscallError("writev", err)
				return true
			}
		}
		return true
	})
	if errno != nil {
		return errno
	}
	return err
}

func (s *tcpSink) writev(fd uintptr, b *writeBatch) (n, asked int, err error) {
	bufs := b.rest()
	count := b.vector.fill(bufs)
	for _, p := range bufs[:count] {
		asked += len(p)
	}
	for {
		s.metrics.Writes.Add(1)
		r, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&b.vector.iov[0])), uintptr(count))
		switch errno {
		case 0:
			return int(r), asked, nil
		case syscall.EINTR:
		default:
			return 0, asked, errno
		}
	}
}
