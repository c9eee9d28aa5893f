package cases

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// lived is a server that has kept some of everything and was stopped.
func lived(t *testing.T) (*process.Server, drive.Topic, []drive.Message) {
	t.Helper()
	s, c := drive.Fresh(t)
	topic := smallSegments(c)
	for i := range 7 {
		c.Send(topic.TopicRef, 0, third(i))
	}
	c.Must(c.StoreOffset(drive.OffsetOf(drive.Consumer(1), topic.TopicRef, 0), 5, protocol.AckQuorum))
	member, g := join(t, s, topic, "workers")
	member.Must(member.StoreOffset(drive.OffsetOf(drive.Group(g.Group), topic.TopicRef, 0), 4, protocol.AckQuorum))
	all := c.All(topic.TopicRef, 0)
	s.Stop()
	return s, topic, all
}

// IGGY-3135: strange files in the data directory are left alone and stop nothing.
func TestStrayFiles_DoNotStopTheBootAndStay(t *testing.T) {
	s, topic, want := lived(t)
	folders := map[string]bool{}
	for _, path := range s.Files() {
		folders[filepath.Dir(path)] = true
	}
	delete(folders, filepath.Join(s.Data(), "runtime"))
	for _, more := range []string{"streams", "streams/0", "streams/0/topics", "streams/0/topics/0", "streams/0/topics/0/partitions"} {
		folders[filepath.Join(s.Data(), more)] = true
	}
	var stray []string
	for folder := range folders {
		for _, name := range []string{".DS_Store", "foo.tmp", "12abc", "00x", "notes.log", "-1", "99999999999999999999999", "lost+found"} {
			path := filepath.Join(folder, name)
			stray = append(stray, path)
			var err error
			if name == "lost+found" {
				err = os.Mkdir(path, 0o750)
			} else {
				err = os.WriteFile(path, []byte("stray"), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, folder := range []string{"consumers", "groups"} {
		empty := filepath.Join(s.PartitionDir(topic.StreamID, topic.ID, 0), "offsets", folder, "77")
		if err := os.WriteFile(empty, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s.Launch()
		c := drive.Root(t, s)
		if got := c.All(topic.TopicRef, 0); !slices.Equal(got, want) {
			t.Fatalf("%d messages; want %d", len(got), len(want))
		}
		if stored, found := c.Stored(drive.Consumer(1), topic.TopicRef, 0); !found || stored != 5 {
			t.Errorf("the stored offset is %d, %v; want 5", stored, found)
		}
		if stored, found := c.Stored(drive.Consumer(77), topic.TopicRef, 0); found {
			t.Errorf("an empty file is the offset %d", stored)
		}
		want = append(want, c.All(topic.TopicRef, 0)[len(want):]...)
		s.Stop()
	}
	for _, path := range stray {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("a stray item was taken away: %v", err)
		}
	}
}
