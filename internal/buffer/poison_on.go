//go:build race

package buffer

// Under the race detector a released block is overwritten, so that a use after release shows up as
// garbage and, when it runs beside the release, as a data race.
const poison = true

func poisonBlock(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
