package session

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what the operating system says about the process and the machine.
type usage struct {
	cpu, totalCPU                                float32
	resident, totalMemory, availableMemory       uint64
	readBytes, writtenBytes, freeDisk, totalDisk uint64
	threads                                      uint32
	osVersion, kernel                            string
}

// usageProbe remembers the last sample, because percentages are differences.
type usageProbe struct {
	mu          sync.Mutex
	at          time.Time
	process     time.Duration
	busy, total uint64
}

// read takes a sample. What cannot be read is zero.
func (p *usageProbe) read(dataPath string) usage {
	u := usage{osVersion: "unknown_os_version", kernel: "unknown_kernel_version"}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.percentages(&u)
	for _, f := range strings.Split(readText("/proc/self/status"), "\n") {
		name, value, _ := strings.Cut(f, ":")
		switch name {
		case "VmRSS":
			u.resident = kilobytes(value)
		case "Threads":
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
			u.threads = uint32(n)
		}
	}
	for _, f := range strings.Split(readText("/proc/meminfo"), "\n") {
		name, value, _ := strings.Cut(f, ":")
		switch name {
		case "MemTotal":
			u.totalMemory = kilobytes(value)
		case "MemAvailable":
			u.availableMemory = kilobytes(value)
		}
	}
	for _, f := range strings.Split(readText("/proc/self/io"), "\n") {
		name, value, _ := strings.Cut(f, ":")
		n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		switch name {
		case "read_bytes":
			u.readBytes = n
		case "write_bytes":
			u.writtenBytes = n
		}
	}
	var fs unix.Statfs_t
	if unix.Statfs(dataPath, &fs) == nil {
		u.freeDisk, u.totalDisk = fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		u.kernel = string(name.Release[:bytes.IndexByte(name.Release[:], 0)])
		u.osVersion = string(name.Version[:bytes.IndexByte(name.Version[:], 0)])
	}
	return u
}

// percentages fills the shares of processor time since the last sample; the first one has none.
func (p *usageProbe) percentages(u *usage) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return
	}
	now := time.Now()
	process := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	var busy, total uint64
	if fields := strings.Fields(strings.SplitN(readText("/proc/stat"), "\n", 2)[0]); len(fields) > 5 {
		for i, f := range fields[1:] {
			n, _ := strconv.ParseUint(f, 10, 64)
			total += n
			if i != 3 && i != 4 { // idle and waiting for the device
				busy += n
			}
		}
	}
	if !p.at.IsZero() && now.After(p.at) {
		u.cpu = float32(100 * float64(process-p.process) / float64(now.Sub(p.at)))
		if total > p.total {
			u.totalCPU = float32(100 * float64(busy-p.busy) / float64(total-p.total))
		}
	}
	p.at, p.process, p.busy, p.total = now, process, busy, total
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func kilobytes(text string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
	return n << 10
}
