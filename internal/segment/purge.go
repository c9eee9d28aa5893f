package segment

import (
	"fmt"
	"path"

	"github.com/galgolog/galgo/internal/vfs"
)

// PurgeName is the name of the file that holds the applied purge generation of a partition.
const PurgeName = "purge.gen"

const purgeSize = 16

// purgeRecord is the content of purge.gen: applied generation u64, created revision u64. It carries no
// checksum; the owner record beside it says the same with one.
type purgeRecord struct{ generation, revision uint64 }

func (r purgeRecord) encode() []byte {
	return le.AppendUint64(le.AppendUint64(nil, r.generation), r.revision)
}

// readPurgeRecord reads purge.gen; false when it is missing or short. Failing to find out is an error.
func readPurgeRecord(fs vfs.FS, dir string) (purgeRecord, bool, error) {
	b, err := readUpTo(fs, path.Join(dir, PurgeName), purgeSize)
	if notExist(err) {
		return purgeRecord{}, false, nil
	}
	if err != nil {
		return purgeRecord{}, false, fmt.Errorf("purge generation of %s: %w", dir, err)
	}
	if len(b) < purgeSize {
		return purgeRecord{}, false, nil
	}
	return purgeRecord{le.Uint64(b), le.Uint64(b[8:])}, true, nil
}
