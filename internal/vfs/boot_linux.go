package vfs

import (
	"encoding/hex"
	"os"
	"strings"
)

// BootID names the boot of the machine, zero when the system does not tell. What no sync has covered is whole as
// long as it is the same.
func BootID() (id [16]byte) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err == nil && len(raw) == len(id) {
		copy(id[:], raw)
	}
	return id
}
