package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/vfs"
)

// Whoever makes a topic, or changes one, finds in the log what its acknowledgements mean.
func TestNode_TheLogTellsThePromiseOfATopic(t *testing.T) {
	var log bytes.Buffer
	s := openStepRigWith(t, vfs.NewMem(1), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s.commit(protocol.OpCreateStream, command.CreateStream{Name: []byte("orders")}.Append(nil))
	last := func() string {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		return lines[len(lines)-1]
	}
	for i, c := range []struct {
		fsync bool
		want  metadata.Promise
	}{{false, metadata.PromiseWritten}, {true, metadata.PromiseSynced}} {
		s.commit(protocol.OpCreateTopicWithAssignments, command.CreateTopicReplicated{
			CreateTopic: command.CreateTopic{
				Stream: protocol.NumericID(0), PartitionsCount: 1, Name: []byte{byte('a' + i)},
				Options: command.AppendOptions(nil, command.BoolOption("enforce_fsync", c.fsync)),
			},
			Assignments: []command.Assignment{{}},
		}.Append(nil))
		want := "topic=orders/" + string(rune('a'+i))
		if line := last(); !strings.Contains(line, want) || !strings.Contains(line, c.want.Words()) {
			t.Errorf("enforce_fsync %v: the log ends with %s", c.fsync, line)
		}
	}
	for _, m := range s.n.Metrics() {
		if strings.HasPrefix(m.Name, "galgo_topics_") && m.Value != 1 {
			t.Errorf("%s is %v, want 1", m.Name, m.Value)
		}
	}
	s.close()
}
