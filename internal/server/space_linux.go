package server

import (
	"golang.org/x/sys/unix"

	"github.com/galgolog/galgo/internal/config"
	"github.com/galgolog/galgo/internal/units"
)

// freeSpaceMin is the watermark for the volume that holds path, in bytes.
func freeSpaceMin(cfg *config.Config, path string) uint64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0
	}
	return uint64(cfg.System.FreeSpaceMin.On(units.Size(st.Blocks * uint64(st.Bsize))))
}
