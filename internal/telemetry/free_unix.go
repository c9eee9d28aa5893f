//go:build linux || darwin

package telemetry

import "golang.org/x/sys/unix"

// freeBytes is the space that this user may still write on the volume of a path.
func freeBytes(path string) (uint64, bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, false
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), true
}
