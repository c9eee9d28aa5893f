package cases

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

// kept are the files of a stopped server without what belongs to one run only.
func kept(s *process.Server) []string {
	return slices.DeleteFunc(s.Files(), func(path string) bool {
		return strings.Contains(path, "/logs/") || strings.Contains(path, "/runtime/") || strings.HasSuffix(path, ".lock")
	})
}

// RMQ-RA170, LOGCABIN-221: whatever file is left empty, cut to its header, of zeroes or under its temporary name,
// the server starts with what it can prove, fences the one partition, or refuses and names a file. It never
// panics, never loops, and a next start says the same.
func TestEmptyFiles_AreProvenUnusedOrNamed(t *testing.T) {
	count := len(kept(first3(lived(t))))
	for n := range count {
		for name, damage := range map[string]func(path string, content []byte) error{
			"empty":          func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
			"a header":       func(path string, b []byte) error { return os.WriteFile(path, b[:min(len(b), 64)], 0o600) },
			"zeroes":         func(path string, b []byte) error { return os.WriteFile(path, make([]byte, len(b)), 0o600) },
			"temporary name": func(path string, _ []byte) error { return os.Rename(path, path+".tmp") },
		} {
			t.Run(fmt.Sprintf("file %d %s", n, name), func(t *testing.T) {
				s, topic, want := lived(t)
				path := kept(s)[n]
				content, err := os.ReadFile(path)
				if err == nil {
					err = damage(path, content)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s of %d bytes", strings.TrimPrefix(path, s.Data()), len(content))
				before := outcome(t, s, topic, want)
				t.Log(before)
				if again := outcome(t, s, topic, want); again != before {
					t.Errorf("the first start: %s; the second: %s", before, again)
				}
			})
		}
	}
}

func first3(s *process.Server, _ drive.Topic, _ []drive.Message) *process.Server { return s }

// outcome starts a server on damaged files and says what it made of them. Messages may be missing only from
// one end.
func outcome(t *testing.T, s *process.Server, topic drive.Topic, want []drive.Message) string {
	t.Helper()
	if !s.Try() {
		if log := s.LifeLog(); !namesAFile(s, log) {
			t.Errorf("the refusal names no file:\n%s", log)
		}
		return "refused"
	}
	c := drive.Root(t, s)
	defer s.Stop()
	reply, err := c.Conn.Poll(drive.Poll(topic.TopicRef, 0, command.FromFirst, 0, 1000))
	if answer, answered := drive.AnswerOf(err); err != nil && answered {
		return "serves, the partition answers " + answer.String()
	}
	c.Must(err)
	got, err := drive.Decode(reply)
	c.Must(err)
	// Without the oldest segments a log looks as retention leaves it; without others it must say so.
	gone := max(len(want)-len(got), 0)
	if slices.Equal(got, want[gone:]) && (gone == 0 || gone == 3 || logs(s) >= 3) {
		return fmt.Sprintf("serves the last %d messages", len(got))
	}
	if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
		t.Errorf("%d messages that are not those of before: offsets %v", len(got), drive.Offsets(got))
	}
	if len(got) < len(want) && logs(s) < 3 && !complains(s) {
		t.Errorf("%d of %d messages are left, their files are gone and no line says so", len(got), len(want))
	}
	return fmt.Sprintf("serves %d messages", len(got))
}

// namesAFile reports whether the log names anything in the data directory besides the directory itself.
func namesAFile(s *process.Server, log string) bool {
	found := false
	_ = filepath.WalkDir(s.Data(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != s.Data() && !strings.Contains(path, "/logs") && strings.Contains(log, filepath.Base(path)) {
			found = true
		}
		return nil
	})
	return found
}

// complains reports whether the node warned about anything in this life.
func complains(s *process.Server) bool {
	for line := range strings.Lines(s.LifeLog()) {
		if (strings.Contains(line, " WARN ") || strings.Contains(line, " ERROR ")) && strings.Contains(line, "galgo::node") {
			return true
		}
	}
	return false
}
