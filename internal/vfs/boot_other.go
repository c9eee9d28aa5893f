//go:build !linux

package vfs

// BootID names the boot of the machine; zero where no system call tells it.
func BootID() (id [16]byte) { return id }
