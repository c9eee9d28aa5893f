package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of the times in /proc/<pid>/stat; Linux has used 100 Hz there on every
// architecture that Go supports.
const clockTick = 10 * time.Millisecond

// processorTime is the user and system time this process has used.
func processorTime() time.Duration {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// usage is what a process has used so far.
type usage struct {
	CPU     time.Duration // user and system time, in steps of 10 ms
	RSS     int64         // resident bytes now
	PeakRSS int64         // resident bytes at most
}

// processUsage reads the usage of a process from /proc.
func processUsage(pid int) (usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	u := usage{}
	if u.CPU, err = parseStat(stat); err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	u.RSS, u.PeakRSS = parseStatus(status)
	return u, nil
}

// parseStat adds user and system time out of /proc/<pid>/stat. The command name in it may hold anything,
// so fields are counted from the last parenthesis.
func parseStat(stat []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("stat without a command name")
	}
	fields := strings.Fields(string(stat[end+1:]))
	const utime, stime = 11, 12 // fields 14 and 15 of the line
	if len(fields) <= stime {
		return 0, fmt.Errorf("stat with %d fields", len(fields))
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stat: user time: %w", err)
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stat: system time: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}

// parseStatus reads resident and peak resident bytes out of /proc/<pid>/status; 0 where a line lacks.
func parseStatus(status []byte) (rss, peak int64) {
	sc := bufio.NewScanner(bytes.NewReader(status))
	for sc.Scan() {
		key, value, _ := strings.Cut(sc.Text(), ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		kib, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "VmRSS":
			rss = kib << 10
		case "VmHWM":
			peak = kib << 10
		}
	}
	return rss, peak
}

// listenerPID finds the process on this machine that listens on a TCP port: the socket's inode from
// /proc/net, then the process that holds it open. It needs the right to look into that process.
func listenerPID(port int) (int, error) {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for _, inode := range listeningInodes(raw, port) {
			inodes["socket:["+inode+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return 0, fmt.Errorf("no process listens on port %d", port)
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, fmt.Errorf("look up port %d: %w", port, err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !inodes[target] {
			continue
		}
		return strconv.Atoi(strings.Split(link, "/")[2])
	}
	return 0, fmt.Errorf("the process that listens on port %d is not visible", port)
}

// listeningInodes returns the inodes of the listening sockets of a port in the text of /proc/net/tcp.
func listeningInodes(table []byte, port int) []string {
	const local, state, inode, listen = 1, 3, 9, "0A"
	var found []string
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[state] != listen {
			continue
		}
		_, hexPort, _ := strings.Cut(fields[local], ":")
		if got, err := strconv.ParseUint(hexPort, 16, 16); err == nil && int(got) == port {
			found = append(found, fields[inode])
		}
	}
	return found
}
