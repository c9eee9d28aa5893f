package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// fileSizes remembers how long the files of a partition were, to take away what was written later: the loss
// that a power cut makes.
type fileSizes map[string]int64

func cutMark(t *testing.T, s *process.Server, topic drive.Topic) fileSizes {
	t.Helper()
	sizes := fileSizes{}
	for _, suffix := range []string{".log", ".index"} {
		for _, path := range segmentFiles(t, s, topic, suffix) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			sizes[path] = info.Size()
		}
	}
	return sizes
}

// restore cuts the files back; files that came later lose all they have.
func (f fileSizes) restore(t *testing.T) {
	t.Helper()
	for path := range f {
		siblings, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+filepath.Ext(path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, sibling := range siblings {
			if err := os.Truncate(sibling, f[sibling]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// segmentFiles lists the files of partition 0 with a suffix, oldest segment first.
func segmentFiles(t *testing.T, s *process.Server, topic drive.Topic, suffix string) []string {
	t.Helper()
	entries, err := os.ReadDir(s.PartitionDir(topic.StreamID, topic.ID, 0))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			all = append(all, filepath.Join(s.PartitionDir(topic.StreamID, topic.ID, 0), e.Name()))
		}
	}
	return all
}
