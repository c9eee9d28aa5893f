package rawclient

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
)

// firstBuffer is the initial receive buffer in bytes: some 230 small replies in one read.
const firstBuffer = 64 << 10

// frameReader cuts a byte stream into frames. A frame is handed out where it was received, without a
// copy, and stays valid until the next call of next.
type frameReader struct {
	src     net.Conn
	buf     []byte
	r, w    int
	limit   uint32 // largest frame accepted
	timeout time.Duration
	armed   time.Time // read deadline now set on src
}

func newFrameReader(src net.Conn, limit uint32, timeout time.Duration) frameReader {
	return frameReader{src: src, buf: make([]byte, firstBuffer), limit: limit, timeout: timeout}
}

// next returns the next frame. io.EOF means that the peer closed between two frames.
func (fr *frameReader) next() ([]byte, error) {
	if err := fr.need(protocol.HeaderSize); err != nil {
		return nil, err
	}
	size, err := fr.frameSize()
	if err != nil {
		return nil, err
	}
	if err := fr.need(size); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	frame := fr.buf[fr.r : fr.r+size : fr.r+size]
	fr.r += size
	return frame, nil
}

// ready reports whether next would return a frame without reading from the connection.
func (fr *frameReader) ready() bool {
	if fr.w-fr.r < protocol.HeaderSize {
		return false
	}
	size, err := fr.frameSize()
	return err != nil || fr.w-fr.r >= size
}

// frameSize reads the size of the frame whose header is buffered.
func (fr *frameReader) frameSize() (int, error) {
	size := (*protocol.Header)(fr.buf[fr.r:]).Size()
	if size < protocol.HeaderSize || size > fr.limit {
		return 0, breach("frame of %d bytes, allowed are %d to %d", size, protocol.HeaderSize, fr.limit)
	}
	return int(size), nil
}

// need reads until n bytes are buffered, making room first.
func (fr *frameReader) need(n int) error {
	if fr.r == fr.w {
		fr.r, fr.w = 0, 0
	}
	if len(fr.buf)-fr.r < n {
		fr.makeRoom(n)
	}
	for fr.w-fr.r < n {
		if err := fr.arm(); err != nil {
			return err
		}
		k, err := fr.src.Read(fr.buf[fr.w:])
		fr.w += k
		if err == nil || fr.w-fr.r >= n {
			continue
		}
		if err == io.EOF {
			if fr.w > fr.r {
				return io.ErrUnexpectedEOF
			}
			return io.EOF
		}
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

// makeRoom moves what is buffered to the front of a buffer of at least n bytes.
func (fr *frameReader) makeRoom(n int) {
	dst := fr.buf
	if len(dst) < n {
		size := len(dst)
		for size < n {
			size *= 2
		}
		dst = make([]byte, size)
	}
	fr.w = copy(dst, fr.buf[fr.r:fr.w])
	fr.r, fr.buf = 0, dst
}

// arm renews the read deadline once less than timeout is left of it, so that a read waits between one
// and two timeouts and the timer is touched rarely.
func (fr *frameReader) arm() error {
	if fr.timeout <= 0 {
		return nil
	}
	now := time.Now()
	if fr.armed.Sub(now) >= fr.timeout {
		return nil
	}
	fr.armed = now.Add(2 * fr.timeout)
	if err := fr.src.SetReadDeadline(fr.armed); err != nil {
		return fmt.Errorf("receive: set deadline: %w", err)
	}
	return nil
}
