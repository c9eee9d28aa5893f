package acceptance

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

func named(name string) protocol.Identifier  { return protocol.NamedID(name) }
func numbered(id uint32) protocol.Identifier { return protocol.NumericID(id) }

func ref(stream, topic protocol.Identifier) command.TopicRef {
	return command.TopicRef{Stream: stream, Topic: topic}
}
