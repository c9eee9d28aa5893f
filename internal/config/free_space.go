package config

import (
	"strings"

	"github.com/galgolog/galgo/internal/units"
)

// FreeSpace is the free space of the data volume below which sends are refused. The zero value is automatic.
type FreeSpace struct {
	Fixed bool
	Bytes units.Size // with Fixed; 0 never refuses
}

const freeSpaceAutoMax = 64 * units.MiB

// On gives the watermark in bytes for a volume of the given size: automatic is the smaller of 64 MiB and 2 %
// of the volume.
func (f FreeSpace) On(volume units.Size) units.Size {
	if f.Fixed {
		return f.Bytes
	}
	return min(freeSpaceAutoMax, volume/50)
}

// String writes the watermark as the configuration spells it.
func (f FreeSpace) String() string {
	if f.Fixed {
		return f.Bytes.String()
	}
	return "auto"
}

func parseFreeSpace(text string) (FreeSpace, error) {
	if strings.EqualFold(strings.TrimSpace(text), "auto") {
		return FreeSpace{}, nil
	}
	bytes, err := units.ParseSize(text)
	return FreeSpace{Fixed: true, Bytes: bytes}, err
}
