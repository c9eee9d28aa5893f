package inspect

import (
	"fmt"
	"strconv"
	"time"
)

// size is a number of bytes for people.
func size(bytes int64) string {
	const step = 1024
	if bytes < step {
		return fmt.Sprintf("%d B", bytes)
	}
	v := float64(bytes) / step
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if v < step {
			return fmt.Sprintf("%.1f %s", v, unit)
		}
		v /= step
	}
	return fmt.Sprintf("%.1f TiB", v)
}

// moment is a time in microseconds since the Unix epoch for people.
func moment(micros uint64) string {
	if micros == 0 {
		return "-"
	}
	return time.UnixMicro(int64(micros)).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// many is a count and its noun.
func many[T ~int | ~int64 | ~uint64 | ~uint32](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "batch" {
		noun += "e"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun + "s"
}
