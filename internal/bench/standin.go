package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// The stand-in speaks a private protocol. A connection opens with a hello of 16 bytes: role, sync mode,
// two zero bytes, chunk size (u32), eight zero bytes. The stand-in answers every hello and every batch
// with ackSize bytes. A produce connection then sends batches (u32 length, bytes); a poll connection
// sends u32 lengths and gets as many bytes back; a report connection gets the processor time used so far.
const (
	helloSize = 16
	ackSize   = 64
	pollChunk = 2 << 20
	wrapBytes = 1 << 30 // a file of a row that runs by time starts over here
)

type role uint8

const (
	roleReport role = iota + 1
	roleProduce
	rolePollFile
	rolePollMemory
)

type syncMode uint8

const (
	syncNone  syncMode = iota // page cache
	syncOwn                   // one fdatasync per batch, own file
	syncGroup                 // shared file, one fdatasync covers every batch that waits
)

type hello struct {
	role  role
	sync  syncMode
	chunk int
}

func (h hello) encode() []byte {
	b := make([]byte, helloSize)
	b[0], b[1] = byte(h.role), byte(h.sync)
	binary.LittleEndian.PutUint32(b[4:], uint32(h.chunk))
	return b
}

func decodeHello(b []byte) (hello, error) {
	h := hello{role: role(b[0]), sync: syncMode(b[1]), chunk: int(binary.LittleEndian.Uint32(b[4:]))}
	if h.role < roleReport || h.role > rolePollMemory || h.sync > syncGroup || h.chunk < 1 || h.chunk > pollChunk {
		return hello{}, fmt.Errorf("hello: role %d, sync %d, chunk %d", h.role, h.sync, h.chunk)
	}
	return h, nil
}

// standIn is the broker stand-in: the whole server of a calibration row.
type standIn struct {
	dir      string
	pollFile *os.File
	pollSize int64
	group    *groupLog
	files    atomic.Int64
}

// runStandIn serves until stdin ends. Its address is the first line on stdout. pollBytes is the size of
// the file that polls read; 0 makes none.
func runStandIn(dir string, pollBytes int64, stdin io.Reader, stdout io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("stand-in: %w", err)
	}
	defer ln.Close()
	s := &standIn{dir: dir, pollSize: pollBytes}
	if s.group, err = newGroupLog(dir); err != nil {
		return err
	}
	defer s.group.close()
	if pollBytes > 0 {
		if s.pollFile, err = filledFile(dir, pollBytes); err != nil {
			return err
		}
		defer s.pollFile.Close()
	}
	if _, err := fmt.Fprintln(stdout, ln.Addr()); err != nil {
		return fmt.Errorf("stand-in: %w", err)
	}
	go func() {
		io.Copy(io.Discard, stdin) // ends when the parent closes its end or dies
		ln.Close()
	}()
	for {
		nc, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("stand-in: accept: %w", err)
		}
		go func() {
			defer nc.Close()
			if err := s.serve(nc); err != nil {
				fmt.Fprintln(os.Stderr, "stand-in:", err)
			}
		}()
	}
}

// anonymousFile creates a file and removes its name, so that nothing is left behind.
func anonymousFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data file: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return nil, errors.Join(fmt.Errorf("data file: %w", err), f.Close())
	}
	return f, nil
}

func filledFile(dir string, size int64) (*os.File, error) {
	f, err := anonymousFile(filepath.Join(dir, fmt.Sprintf("poll-%d", os.Getpid())))
	if err != nil {
		return nil, err
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*7 + i>>8)
	}
	for off := int64(0); off < size; off += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(int64(len(block)), size-off)], off); err != nil {
			return nil, errors.Join(fmt.Errorf("data file: %w", err), f.Close())
		}
	}
	return f, nil
}

func (s *standIn) serve(nc net.Conn) error {
	raw := make([]byte, helloSize)
	if _, err := io.ReadFull(nc, raw); err != nil {
		return nil // a connection that says nothing is the parent giving up
	}
	h, err := decodeHello(raw)
	if err != nil {
		return err
	}
	switch h.role {
	case roleProduce:
		return s.produce(nc, h)
	case rolePollFile, rolePollMemory:
		return s.poll(nc, h)
	}
	ack := make([]byte, ackSize)
	binary.LittleEndian.PutUint64(ack, uint64(processorTime().Nanoseconds()))
	_, err = nc.Write(ack)
	return err
}

// produce receives batches chunk by chunk: each chunk is hashed and written while it is in cache.
func (s *standIn) produce(nc net.Conn, h hello) error {
	file := s.group.file
	if h.sync != syncGroup {
		f, err := anonymousFile(filepath.Join(s.dir, fmt.Sprintf("log-%d-%d", os.Getpid(), s.files.Add(1))))
		if err != nil {
			return err
		}
		defer f.Close()
		file = f
	}
	buf, ack := make([]byte, h.chunk), make([]byte, ackSize)
	if _, err := nc.Write(ack); err != nil {
		return err
	}
	hasher, durable := xxh3.New(), make(chan error, 1)
	for off := int64(0); ; {
		if _, err := io.ReadFull(nc, ack[:4]); err != nil {
			return nil // the client is done
		}
		size := int64(binary.LittleEndian.Uint32(ack))
		if h.sync == syncGroup {
			off = s.group.reserve(size)
		} else if off+size > wrapBytes+pollChunk {
			off = 0
			if err := file.Truncate(0); err != nil {
				return err
			}
		}
		hasher.Reset()
		for left := size; left > 0; {
			part := buf[:min(int64(len(buf)), left)]
			if _, err := io.ReadFull(nc, part); err != nil {
				return err
			}
			hasher.Write(part)
			if _, err := file.WriteAt(part, off); err != nil {
				return err
			}
			off += int64(len(part))
			left -= int64(len(part))
		}
		if err := s.settle(h.sync, file, durable); err != nil {
			return err
		}
		if _, err := nc.Write(ack); err != nil {
			return err
		}
	}
}

// settle makes the batch just written as durable as the mode asks.
func (s *standIn) settle(mode syncMode, file *os.File, durable chan error) error {
	switch mode {
	case syncOwn:
		return unix.Fdatasync(int(file.Fd()))
	case syncGroup:
		return s.group.wait(durable)
	}
	return nil
}

func (s *standIn) poll(nc net.Conn, h hello) error {
	if h.role == rolePollFile && s.pollFile == nil {
		return errors.New("poll: started without a file")
	}
	buf, ack := make([]byte, pollChunk), make([]byte, ackSize)
	if _, err := nc.Write(ack); err != nil {
		return err
	}
	for off := int64(0); ; {
		if _, err := io.ReadFull(nc, ack[:4]); err != nil {
			return nil // the client is done
		}
		size := int64(binary.LittleEndian.Uint32(ack))
		if size > pollChunk {
			return fmt.Errorf("poll: %d bytes asked", size)
		}
		if h.role == rolePollFile {
			if off+size > s.pollSize {
				off = 0
			}
			if _, err := s.pollFile.ReadAt(buf[:size], off); err != nil {
				return err
			}
			off += size
		}
		if _, err := nc.Write(buf[:size]); err != nil {
			return err
		}
	}
}
