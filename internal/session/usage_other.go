//go:build !linux

package session

// usage is what the operating system says about the process and the machine; nothing here.
type usage struct {
	cpu, totalCPU                                float32
	resident, totalMemory, availableMemory       uint64
	readBytes, writtenBytes, freeDisk, totalDisk uint64
	threads                                      uint32
	osVersion, kernel                            string
}

type usageProbe struct{}

func (p *usageProbe) read(string) usage {
	return usage{osVersion: "unknown_os_version", kernel: "unknown_kernel_version"}
}
