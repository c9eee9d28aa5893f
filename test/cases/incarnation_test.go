package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// NATS-5382 in small: what cannot be told from a leftover of a deleted partition is not deleted by guess. One bit
// of the file that says which incarnation a partition is must not cost its messages: they are served,
// or the partition is fenced, or its files are set aside.
func TestIncarnation_ARottedRecordDoesNotCostTheMessages(t *testing.T) {
	for _, at := range []int{0, 3, 7, 8, 11, 15} {
		t.Run(fmt.Sprint("byte ", at), func(t *testing.T) {
			s, topic, want := lived(t)
			path := filepath.Join(s.PartitionDir(topic.StreamID, topic.ID, 0), "purge.gen")
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			raw[at] ^= 1
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			s.Launch()
			c := drive.Root(t, s)
			reply, err := c.Conn.Poll(drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 100))
			if answer, answered := drive.AnswerOf(err); answered && answer != drive.OK {
				return // fenced: the files are there
			}
			c.Must(err)
			got, err := drive.Decode(reply)
			c.Must(err)
			if !slices.Equal(got, want) && logs(s) < 3 {
				t.Errorf("%d of %d messages are served, and their files are gone: %v", len(got), len(want), s.Files())
			}
		})
	}
}

// logs counts the segment logs that are left anywhere in the data directory, set aside or not.
func logs(s *process.Server) int {
	n := 0
	for _, path := range s.Files() {
		if strings.HasSuffix(path, ".log") && !strings.Contains(path, "/logs/") {
			n++
		}
	}
	return n
}
