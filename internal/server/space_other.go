//go:build !linux

package server

import "github.com/galgolog/galgo/internal/config"

// freeSpaceMin is the watermark in bytes; where the size of the volume is not known, a fixed one counts.
func freeSpaceMin(cfg *config.Config, _ string) uint64 {
	return uint64(cfg.System.FreeSpaceMin.On(1 << 62))
}
