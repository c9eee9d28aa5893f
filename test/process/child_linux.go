package process

import "syscall"

// childAttributes puts a server into a process group of its own and lets it die with the test binary.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
