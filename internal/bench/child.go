package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// standInCommand is the hidden subcommand that runs the stand-in.
const standInCommand = "calibrate-server"

// child is a stand-in in a process of its own.
type child struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// startChild runs argv followed by the hidden subcommand and waits for its address.
func startChild(argv []string, dir string, pollBytes int64) (*child, error) {
	args := append(argv[1:len(argv):len(argv)], standInCommand, "--dir", dir,
		"--poll-bytes", strconv.FormatInt(pollBytes, 10))
	cmd := exec.Command(argv[0], args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("stand-in: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("stand-in: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("stand-in: %w", err)
	}
	ch := &child{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stand-in: no address: %w", err), ch.stop())
	}
	ch.addr = strings.TrimSpace(line)
	return ch, nil
}

// stop lets the child end by itself, and kills it when it does not within five seconds.
func (ch *child) stop() error {
	ch.stdin.Close() // the child leaves when its stdin ends
	timer := time.AfterFunc(5*time.Second, func() { ch.cmd.Process.Kill() })
	defer timer.Stop()
	if err := ch.cmd.Wait(); err != nil {
		return fmt.Errorf("stand-in: %w", err)
	}
	return nil
}

// dial opens a connection and waits for the answer to the hello, which is returned.
func (ch *child) dial(h hello) (net.Conn, []byte, error) {
	nc, err := net.Dial("tcp", ch.addr)
	if err != nil {
		return nil, nil, fmt.Errorf("stand-in: %w", err)
	}
	if _, err := nc.Write(h.encode()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("stand-in: %w", err), nc.Close())
	}
	ack := make([]byte, ackSize)
	if _, err := io.ReadFull(nc, ack); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("stand-in: %w", err), nc.Close())
	}
	return nc, ack, nil
}

// processorTime asks the child for the processor time it has used.
func (ch *child) processorTime() (time.Duration, error) {
	nc, ack, err := ch.dial(hello{role: roleReport, chunk: 1})
	if err != nil {
		return 0, err
	}
	return time.Duration(binary.LittleEndian.Uint64(ack)), nc.Close()
}
