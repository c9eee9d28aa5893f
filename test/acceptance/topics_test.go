package acceptance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

const mib = 1 << 20

func streamBody(name string) []byte { return command.CreateStream{Name: []byte(name)}.Append(nil) }

func topicBody(stream protocol.Identifier, name string, partitions uint32, options ...protocol.Pair) []byte {
	return command.CreateTopic{
		Stream: stream, Name: []byte(name), PartitionsCount: partitions, Options: command.AppendOptions(nil, options...),
	}.Append(nil)
}

func updateTopicBody(r command.TopicRef, name string, options ...protocol.Pair) []byte {
	return command.UpdateTopic{TopicRef: r, Name: []byte(name), Options: command.AppendOptions(nil, options...)}.Append(nil)
}

func streams(c *drive.Client) []command.StreamHeader {
	all, err := command.DecodeStreams(c.Ask(protocol.CmdStreamList, nil))
	c.Must(err)
	return all
}

func topics(c *drive.Client, stream protocol.Identifier) []command.TopicHeader {
	all, err := command.DecodeTopics(c.Ask(protocol.CmdTopicList, stream.Append(nil)))
	c.Must(err)
	return all
}

// options shows a block as "key=value" in the order of the block.
func options(block []byte) string {
	var all []string
	for _, p := range command.Options(block) {
		value := fmt.Sprintf("%q", p.Value)
		if p.ValueKind == protocol.KindU64 || p.ValueKind == protocol.KindU32 || p.ValueKind == protocol.KindBool {
			var n uint64
			for i, b := range p.Value {
				n |= uint64(b) << (8 * i)
			}
			value = fmt.Sprint(n)
		}
		all = append(all, fmt.Sprintf("%s=%s", p.Key, value))
	}
	return strings.Join(all, " ")
}

func TestStreams_IDsAreTheLowestFreeAndNamesAreExact(t *testing.T) {
	_, c := drive.Fresh(t)
	for i, name := range []string{"a", "b", "c"} {
		drive.Check(t, "id of "+name, c.NewStream(name).ID(), uint32(i))
	}
	drive.Want(t, "same name", c.Try(protocol.OpCreateStream, streamBody("b")), drive.Rejected(protocol.CodeStreamNameAlreadyExists))
	c.Must(c.DeleteStream(named("b")))
	drive.Check(t, "id of the next stream", c.NewStream("B").ID(), 1)
	c.NewStream("0")
	d, _, err := c.GetStream(named("0"))
	c.Must(err)
	drive.Check(t, "id of the stream that is called 0", d.ID, 3)
	if _, found, _ := c.GetStream(named("b")); found {
		t.Error("names differ by case")
	}
	c.Apply(protocol.OpUpdateStream, command.UpdateStream{Stream: numbered(3), Name: []byte("zero")}.Append(nil))
	drive.Want(t, "rename to a taken name", c.Try(protocol.OpUpdateStream, command.UpdateStream{Stream: numbered(3), Name: []byte("a")}.Append(nil)),
		drive.Rejected(protocol.CodeStreamNameAlreadyExists))
	drive.Want(t, "rename to the own name", c.Try(protocol.OpUpdateStream, command.UpdateStream{Stream: numbered(3), Name: []byte("zero")}.Append(nil)), drive.OK)
	var got []string
	for _, s := range streams(c) {
		got = append(got, fmt.Sprintf("%d:%s", s.ID, s.Name))
	}
	drive.Check(t, "list", strings.Join(got, " "), "0:a 1:B 2:c 3:zero")
	drive.Want(t, "a missing stream", c.DeleteStream(numbered(9)), drive.Rejected(protocol.CodeStreamIdNotFound))
	if _, found, _ := c.GetStream(numbered(9)); found {
		t.Error("a missing stream is found")
	}
	drive.Check(t, "topics of a missing stream", len(topics(c, numbered(9))), 0)
}

func TestNames_AtAndBeyondTheirLimits(t *testing.T) {
	_, c := drive.Fresh(t)
	stream := c.NewStream("home")
	topic := c.NewTopic("home", "topic", 1)
	raw := func(name string) []byte { return append([]byte{uint8(len(name))}, name...) }
	for _, n := range []struct {
		name string
		text string
		want drive.Answer
	}{
		{"one byte", "x", drive.OK},
		{"255 bytes", strings.Repeat("n", 255), drive.OK},
		{"slashes and spaces", "../a b/\t", drive.OK},
		{"two scripts", "поток-流", drive.OK},
		{"empty", "", drive.Denied(protocol.CodeInvalidCommand)},
		{"not UTF-8", "\xff\xfe", drive.Denied(protocol.CodeInvalidCommand)},
	} {
		t.Run(n.name, func(t *testing.T) {
			drive.Want(t, "stream", c.Try(protocol.OpCreateStream, raw(n.text)), n.want)
			body := append(stream.Append(nil), 1, 0, 0, 0)
			drive.Want(t, "topic", c.Try(protocol.OpCreateTopic, append(body, raw(n.text)...)), n.want)
			drive.Want(t, "group", c.Try(protocol.OpCreateConsumerGroup, append(topic.Append(nil), raw(n.text)...)), n.want)
			if n.want != drive.OK {
				return
			}
			d, found, err := c.GetStream(named(n.text))
			if err != nil || !found || string(d.Name) != n.text {
				t.Errorf("stream by name: %v, %v, %q", err, found, d.Name)
			}
		})
	}
}

func TestTopics_LimitsOfCountsAndSizes(t *testing.T) {
	_, c := drive.Fresh(t)
	stream := c.NewStream("home")
	topic := c.NewTopic("home", "topic", 2)
	partitions := func(count uint32) []byte {
		return command.PartitionsChange{TopicRef: topic.TopicRef, Count: count}.Append(nil)
	}
	missing := command.PartitionsChange{TopicRef: ref(stream, numbered(99)), Count: 1}.Append(nil)
	for _, x := range []struct {
		name string
		op   protocol.Operation
		body []byte
		want drive.Answer
	}{
		{"1001 partitions", protocol.OpCreateTopic, topicBody(stream, "t", 1001), drive.Denied(protocol.CodeTooManyPartitions)},
		{"1000 partitions", protocol.OpCreateTopic, topicBody(stream, "thousand", 1000), drive.OK},
		{"no partitions", protocol.OpCreateTopic, topicBody(stream, "none", 0), drive.OK},
		{"same name", protocol.OpCreateTopic, topicBody(stream, "none", 0), drive.Rejected(protocol.CodeTopicNameAlreadyExists)},
		{"missing stream", protocol.OpCreateTopic, topicBody(numbered(7), "t", 1), drive.Rejected(protocol.CodeStreamIdNotFound)},
		{"cap below the default segment", protocol.OpCreateTopic, topicBody(stream, "t", 1, command.U64Option("max_topic_size", 5*mib)), drive.Denied(protocol.CodeInvalidTopicSize)},
		{"cap of one segment", protocol.OpCreateTopic, topicBody(stream, "one segment", 1, command.U64Option("max_topic_size", mib), command.U64Option("segment_size", mib)), drive.OK},
		{"cap of less", protocol.OpCreateTopic, topicBody(stream, "t", 1, command.U64Option("max_topic_size", mib-1), command.U64Option("segment_size", mib)), drive.Denied(protocol.CodeInvalidTopicSize)},
		{"add 0 partitions", protocol.OpCreatePartitions, partitions(0), drive.Denied(protocol.CodeTooManyPartitions)},
		{"add 1001 partitions", protocol.OpCreatePartitions, partitions(1001), drive.Denied(protocol.CodeTooManyPartitions)},
		{"add 1000 partitions", protocol.OpCreatePartitions, partitions(1000), drive.OK},
		{"add to a missing topic", protocol.OpCreatePartitions, missing, drive.Rejected(protocol.CodeTopicIdNotFound)},
		{"remove 0 partitions", protocol.OpDeletePartitions, partitions(0), drive.Denied(protocol.CodeTooManyPartitions)},
		{"remove 1001 partitions", protocol.OpDeletePartitions, partitions(1001), drive.Denied(protocol.CodeTooManyPartitions)},
		{"remove 1000 partitions", protocol.OpDeletePartitions, partitions(1000), drive.OK},
		{"remove more than there are", protocol.OpDeletePartitions, partitions(3), drive.Rejected(protocol.CodeInvalidPartitionsCount)},
		{"remove all", protocol.OpDeletePartitions, partitions(2), drive.OK},
	} {
		t.Run(x.name, func(t *testing.T) { drive.Want(t, x.name, c.Try(x.op, x.body), x.want) })
	}
	drive.Check(t, "partitions left", c.Details(topic.TopicRef).PartitionsCount, 0)
	_, err := c.SendMessages(topic.TopicRef, protocol.Partitioning{}, drive.Record("x"))
	drive.Want(t, "balanced send without partitions", err, drive.Denied(protocol.CodePartitionNotFound))
}

func TestTopics_OptionsAtAndBeyondTheirLimits(t *testing.T) {
	_, c := drive.Fresh(t)
	stream := c.NewStream("home")
	pair := func(key string, kind uint8, value ...byte) protocol.Pair {
		return protocol.Pair{KeyKind: protocol.KindString, Key: []byte(key), ValueKind: kind, Value: value}
	}
	invalid, unsupported := drive.Denied(protocol.CodeInvalidOptionValue), drive.Denied(protocol.CodeUnsupportedOptionKey)
	for i, x := range []struct {
		name   string
		option protocol.Pair
		want   drive.Answer
	}{
		{"unknown key", command.StringOption("retention", "1 day"), unsupported},
		{"key in another case", command.U64Option("Segment_Size", mib), unsupported},
		{"smallest segment", command.U64Option("segment_size", mib), drive.OK},
		{"segment below", command.U64Option("segment_size", mib-512), invalid},
		{"largest segment", command.U64Option("segment_size", 1<<30), drive.OK},
		{"segment above", command.U64Option("segment_size", 1<<30+512), invalid},
		{"crooked segment", command.U64Option("segment_size", mib+511), invalid},
		{"segment as text", command.StringOption("segment_size", "2 MiB"), drive.OK},
		{"segment as nonsense", command.StringOption("segment_size", "two"), invalid},
		{"segment of four bytes", pair("segment_size", protocol.KindU32, 0, 0, 16, 0), invalid},
		{"segment of the wrong length", pair("segment_size", protocol.KindU64, 1, 2), invalid},
		{"compression gzip", command.StringOption("compression_algorithm", "GZIP"), drive.OK},
		{"compression by code", pair("compression_algorithm", protocol.KindU8, 2), drive.OK},
		{"compression unknown", command.StringOption("compression_algorithm", "zstd"), invalid},
		{"expiry in words", command.StringOption("message_expiry", "7 days"), drive.OK},
		{"expiry never", command.StringOption("message_expiry", "never_expire"), drive.OK},
		{"expiry nonsense", command.StringOption("message_expiry", "soon"), invalid},
		{"fsync", command.BoolOption("enforce_fsync", true), drive.OK},
		{"fsync as text", command.StringOption("enforce_fsync", "true"), drive.OK},
		{"fsync as other text", command.StringOption("enforce_fsync", "yes"), invalid},
		{"fsync of 2", pair("enforce_fsync", protocol.KindBool, 2), invalid},
		{"one message to save", command.U32Option("messages_required_to_save", 1), drive.OK},
		{"no message to save", command.U32Option("messages_required_to_save", 0), invalid},
		{"most messages to save", command.U32Option("messages_required_to_save", 16_777_216), drive.OK},
		{"too many messages to save", command.U32Option("messages_required_to_save", 16_777_217), invalid},
		{"bytes to save", command.U64Option("size_of_messages_required_to_save", 1<<30), drive.OK},
		{"too many bytes to save", command.U64Option("size_of_messages_required_to_save", 1<<30+1), invalid},
		{"preallocation", command.BoolOption("preallocate_segments", false), drive.OK},
		{"unlimited size", command.StringOption("max_topic_size", "unlimited"), drive.OK},
	} {
		t.Run(x.name, func(t *testing.T) {
			drive.Want(t, "create", c.Try(protocol.OpCreateTopic, topicBody(stream, fmt.Sprint("topic ", i), 1, x.option)), x.want)
		})
	}
	big := topicBody(stream, "preallocated", 65, command.BoolOption("preallocate_segments", true))
	drive.Want(t, "preallocation of 65 GiB", c.Try(protocol.OpCreateTopic, big), invalid)
	twice := topicBody(stream, "twice", 1, command.U64Option("segment_size", mib), command.U64Option("segment_size", mib))
	drive.Want(t, "the same key twice", c.Try(protocol.OpCreateTopic, twice), drive.Denied(protocol.CodeInvalidCommand))
	drive.Want(t, "an option of a stream", c.Try(protocol.OpCreateStream, append(streamBody("s"), command.AppendOptions(nil, command.U64Option("segment_size", mib))...)), unsupported)
	topic := ref(stream, named("topic 2"))
	drive.Want(t, "update of what only a create may set", c.Try(protocol.OpUpdateTopic, updateTopicBody(topic, "topic 2", command.U64Option("segment_size", 2*mib))), unsupported)
}

func TestTopics_ExplicitAndDerivedOptionsComeBackApart(t *testing.T) {
	s, c := drive.Fresh(t)
	topic := c.NewTopic("home", "topic", 1, command.StringOption("segment_size", "128MiB"),
		command.U64Option("message_expiry", 0), command.BoolOption("enforce_fsync", true))
	want := func(d command.TopicHeader, explicit, derived string) {
		t.Helper()
		drive.Check(t, "explicit options", options(d.Explicit), explicit)
		drive.Check(t, "derived options", options(d.Derived), derived)
	}
	never := fmt.Sprint(uint64(math.MaxUint64))
	explicit := "enforce_fsync=1 segment_size=134217728"
	derived := `compression_algorithm="none" max_topic_size=` + never + ` message_expiry=` + never +
		` messages_required_to_save=1024 preallocate_segments=0 size_of_messages_required_to_save=1048576`
	d := c.Details(topic.TopicRef)
	want(d.TopicHeader, explicit, derived)
	drive.Check(t, "expiry of a server default", d.MessageExpiry, math.MaxUint64)

	c.Apply(protocol.OpUpdateTopic, updateTopicBody(topic.TopicRef, "topic", command.U64Option("message_expiry", 0), command.U64Option("max_topic_size", 0)))
	want(c.Details(topic.TopicRef).TopicHeader, explicit, derived)
	c.Apply(protocol.OpUpdateTopic, updateTopicBody(topic.TopicRef, "renamed", command.StringOption("message_expiry", "1 h"),
		command.U64Option("max_topic_size", 1<<30), command.StringOption("compression_algorithm", "gzip")))
	s.Restart()
	c = drive.Root(t, s)
	d = c.Details(topic.TopicRef)
	drive.Check(t, "name", string(d.Name), "renamed")
	drive.Check(t, "expiry", d.MessageExpiry, 3600*1000*1000)
	drive.Check(t, "size", d.MaxTopicSize, 1<<30)
	drive.Check(t, "compression", d.Compression, 2)
	want(d.TopicHeader, `compression_algorithm="gzip" enforce_fsync=1 max_topic_size=1073741824 message_expiry=3600000000 segment_size=134217728`,
		`messages_required_to_save=1024 preallocate_segments=0 size_of_messages_required_to_save=1048576`)
	drive.Want(t, "cap below the own segment size", c.Try(protocol.OpUpdateTopic, updateTopicBody(topic.TopicRef, "renamed", command.U64Option("max_topic_size", mib))),
		drive.Denied(protocol.CodeInvalidTopicSize))
}

func TestTopics_DescribeOptions(t *testing.T) {
	_, c := drive.Fresh(t)
	all, err := command.DecodeOptionDescriptions(c.Ask(protocol.CmdOptionsDescribe, []byte{command.ScopeTopic}))
	c.Must(err)
	var keys []string
	for _, o := range all {
		keys = append(keys, o.Key)
		if o.Description == "" || len(o.Default) == 0 {
			t.Errorf("%s: description %q, default %q", o.Key, o.Description, o.Default)
		}
	}
	want := []string{
		"compression_algorithm", "message_expiry", "max_topic_size", "segment_size", "enforce_fsync", "messages_required_to_save",
		"size_of_messages_required_to_save", "preallocate_segments",
	}
	if !slices.Equal(keys, want) {
		t.Errorf("keys %v; want %v", keys, want)
	}
	for _, scope := range []uint8{command.ScopeStream, command.ScopeUser} {
		all, err := command.DecodeOptionDescriptions(c.Ask(protocol.CmdOptionsDescribe, []byte{scope}))
		c.Must(err)
		drive.Check(t, "options of scope", len(all), 0)
	}
	for _, body := range [][]byte{nil, {0}, {4}} {
		drive.Want(t, fmt.Sprint("scope ", body), c.TryRead(protocol.CmdOptionsDescribe, body), drive.Denied(protocol.CodeInvalidCommand))
	}
}
