package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// census knows the processes that were started and have not ended.
type census struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

var running = census{pids: map[int]struct{}{}}

func (c *census) add(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pids[pid] = struct{}{}
}

func (c *census) remove(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, pid)
}

func (c *census) leftovers() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []int
	for pid := range c.pids {
		left = append(left, pid)
	}
	return left
}

// ResidentBytes is the memory that the process has in use, 0 where the system does not tell.
func (s *Server) ResidentBytes() uint64 { return 1024 * s.status("VmRSS:") }

// PeakResidentBytes is the most memory that the process had in use at any time.
func (s *Server) PeakResidentBytes() uint64 { return 1024 * s.status("VmHWM:") }

func (s *Server) status(key string) uint64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var value uint64
		if rest, ok := strings.CutPrefix(line, key); ok {
			if _, err := fmt.Sscan(rest, &value); err == nil {
				return value
			}
		}
	}
	return 0
}

// OpenFiles is the number of descriptors of the process, 0 where the system does not tell.
func (s *Server) OpenFiles() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err != nil {
		return 0
	}
	return len(entries)
}

// PartitionDir is where the files of a partition are.
func (s *Server) PartitionDir(stream, topic, partition uint32) string {
	return filepath.Join(s.data, "streams", fmt.Sprint(stream), "topics", fmt.Sprint(topic), "partitions", fmt.Sprint(partition))
}

// Files lists the data directory, sorted, for reports.
func (s *Server) Files() []string {
	var all []string
	_ = filepath.WalkDir(s.data, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	return all
}

// Eventually waits until a condition holds, looking every few milliseconds.
func (s *Server) Eventually(limit time.Duration, what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("after %v still not: %s", limit, what)
		}
	}
}
