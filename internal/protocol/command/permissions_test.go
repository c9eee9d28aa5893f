package command_test

import (
	"errors"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Rights are true for any byte but 0. What announces a list or its next entry is 1 and nothing else: behind
// another value the record is at its end, so that the bytes of the list are surplus.
func TestPermissions_FlagsAndPresence(t *testing.T) {
	record := command.Permissions{
		Global: command.GlobalPermissions{ReadServers: true},
		Streams: []command.StreamPermissions{
			{Stream: 1, ReadStream: true, Topics: []command.TopicPermissions{{Topic: 2, SendMessages: true}, {Topic: 3}}},
			{Stream: 4},
		},
	}.Append(nil)
	const readServers, hasStreams, hasTopics, topicFollows, streamFollows = 1, 10, 21, 30, 40
	for _, at := range []int{readServers, hasStreams, hasTopics, topicFollows, streamFollows} {
		if record[at] != 1 {
			t.Fatalf("byte %d of the record is %d", at, record[at])
		}
		changed := append([]byte(nil), record...)
		changed[at] = 2
		p, err := command.DecodePermissions(changed)
		if at == readServers {
			if err != nil || !p.Global.ReadServers {
				t.Errorf("a right of 2: %+v, %v", p.Global, err)
			}
			continue
		}
		if !errors.Is(err, protocol.CodeInvalidCommand) {
			t.Errorf("2 at byte %d: %v", at, err)
		}
	}
	for n := range record {
		if _, err := command.DecodePermissions(record[:n]); !errors.Is(err, protocol.CodeInvalidCommand) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}
