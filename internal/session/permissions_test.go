package session

import (
	"fmt"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// deed is one request that needs a right.
type deed struct {
	name string
	do   func(c *client) error
}

// allowed reports whether a deed was permitted: whatever else it came to, it was not 41.
func (c *client) allowed(d deed) bool {
	c.t.Helper()
	o := outcomeOf(c.t, d.do(c))
	return o.Code != protocol.CodeUnauthorized
}

func asking(code protocol.CommandCode, body []byte) func(*client) error {
	return func(c *client) error { _, err := c.Read(code, body); return err }
}

func doing(op protocol.Operation, body []byte) func(*client) error {
	return func(c *client) error { _, err := c.Do(op, 0, body); return err }
}

// deeds are requests on topic t of stream s that change nothing that another of them needs. Creations fail on
// names that are taken, deletions on counts too large, users on passwords too short: behind the permission.
func deeds(stream, topic string) []deed {
	ref := at(stream, topic)
	place := command.OffsetRef{Consumer: consumer(1), TopicRef: ref, HasPartition: true}
	poll := command.PollMessages{Consumer: consumer(1), TopicRef: ref, HasPartition: true, Strategy: command.FromFirst, Count: 1}
	return []deed{
		{"stats", asking(protocol.CmdStats, nil)},
		{"client list", asking(protocol.CmdClientList, nil)},
		{"client get", asking(protocol.CmdClientGet, command.AppendU32(nil, 1))},
		{"snapshot", asking(protocol.CmdSnapshot, []byte{1, 0})},
		{"user list", asking(protocol.CmdUserList, nil)},
		{"user get", asking(protocol.CmdUserGet, named(rootName))},
		{"user create", doing(protocol.OpCreateUser, userBody(rootName, rootName))},
		{"user update", doing(protocol.OpUpdateUser, command.UpdateUser{User: protocol.NamedID(rootName)}.Append(nil))},
		{"user permissions", doing(protocol.OpUpdatePermissions, command.UpdatePermissions{User: protocol.NamedID(rootName)}.Append(nil))},
		{"user delete", doing(protocol.OpDeleteUser, named(rootName))},
		{"user password", doing(protocol.OpChangePassword, command.ChangePassword{User: protocol.NamedID(rootName), New: []byte("wrong")}.Append(nil))},
		{"stream create", doing(protocol.OpCreateStream, streamBody(stream))},
		{"stream list", asking(protocol.CmdStreamList, nil)},
		{"stream get", asking(protocol.CmdStreamGet, named(stream))},
		{"stream update", doing(protocol.OpUpdateStream, command.UpdateStream{Stream: protocol.NamedID(stream), Name: []byte(stream)}.Append(nil))},
		{"topic create", doing(protocol.OpCreateTopic, topicBody(stream, topic, 1))},
		{"topic list", asking(protocol.CmdTopicList, named(stream))},
		{"topic get", asking(protocol.CmdTopicGet, ref.Append(nil))},
		{"topic update", doing(protocol.OpUpdateTopic, command.UpdateTopic{TopicRef: ref, Name: []byte(topic)}.Append(nil))},
		{"partitions delete", doing(protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: ref, Count: 900}.Append(nil))},
		{"segments delete", doing(protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: ref}.Append(nil))},
		{"group create", doing(protocol.OpCreateConsumerGroup, command.CreateGroup{TopicRef: ref, Name: []byte("g")}.Append(nil))},
		{"group list", asking(protocol.CmdConsumerGroupList, ref.Append(nil))},
		{"group get", asking(protocol.CmdConsumerGroupGet, groupBody(ref, "g"))},
		{"group join", doing(protocol.OpJoinConsumerGroup, groupBody(ref, "g"))},
		{"group leave", doing(protocol.OpLeaveConsumerGroup, groupBody(ref, "g"))},
		{"poll", asking(protocol.CmdMessagePoll, poll.Append(nil))},
		{"offset get", asking(protocol.CmdConsumerOffsetGet, place.Append(nil))},
		{"offset store", doing(protocol.OpStoreConsumerOffset, storeBody(place, 0, protocol.AckQuorum))},
		{"offset delete", doing(protocol.OpDeleteConsumerOffset, deleteBody(place, protocol.AckQuorum))},
		{"send", doing(protocol.OpSendMessages, sendBody(ref, to(0), 1, record("x")))},
		{"flush", asking(protocol.CmdMessageFlushUnsavedBuffer, command.Flush{TopicRef: ref}.Append(nil))},
	}
}

// Sets of deeds that go together.
var (
	serverDeeds    = []string{"stats", "client list", "client get", "snapshot"}
	readUserDeeds  = []string{"user list", "user get"}
	userDeeds      = append([]string{"user create", "user update", "user permissions", "user delete", "user password"}, readUserDeeds...)
	pollDeeds      = []string{"poll", "offset get", "offset store", "offset delete"}
	sendDeeds      = []string{"send", "flush"}
	readTopicDeeds = append([]string{"topic get", "group create", "group list", "group get", "group join", "group leave"}, pollDeeds...)
	topicDeeds     = join([]string{"topic update", "partitions delete", "segments delete"}, readTopicDeeds, sendDeeds)
)

func join(all ...[]string) (out []string) {
	for _, s := range all {
		out = append(out, s...)
	}
	return out
}

func TestPermissions_EachFlagGrantsWhatItNames(t *testing.T) {
	r := openRig(t, setup{})
	r.group(r.topic("s", "t", 1), "g")
	r.group(r.topic("s", "other", 1), "g")
	r.group(r.topic("elsewhere", "t", 1), "g")
	global := func(g command.GlobalPermissions) *command.Permissions { return &command.Permissions{Global: g} }
	stream := func(s command.StreamPermissions) *command.Permissions {
		return &command.Permissions{Streams: []command.StreamPermissions{s}}
	}
	topic := func(p command.TopicPermissions) *command.Permissions {
		return stream(command.StreamPermissions{Topics: []command.TopicPermissions{p}})
	}
	everywhere, inStream, inTopic := "everywhere", "stream", "topic"
	for i, c := range []struct {
		name  string
		p     *command.Permissions
		scope string
		want  []string
	}{
		{"none", nil, everywhere, nil},
		{"empty record", &command.Permissions{}, everywhere, nil},
		{"manage servers", global(command.GlobalPermissions{ManageServers: true}), everywhere, serverDeeds},
		{"read servers", global(command.GlobalPermissions{ReadServers: true}), everywhere, serverDeeds},
		{"manage users", global(command.GlobalPermissions{ManageUsers: true}), everywhere, userDeeds},
		{"read users", global(command.GlobalPermissions{ReadUsers: true}), everywhere, readUserDeeds},
		{"manage streams", global(command.GlobalPermissions{ManageStreams: true}), everywhere,
			join([]string{"stream create", "stream list", "stream get", "stream update", "topic create", "topic list"}, topicDeeds)},
		{"read streams", global(command.GlobalPermissions{ReadStreams: true}), everywhere, join([]string{"stream list", "stream get", "topic list"}, readTopicDeeds)},
		{"manage topics", global(command.GlobalPermissions{ManageTopics: true}), everywhere, join([]string{"topic create", "topic list"}, topicDeeds)},
		{"read topics", global(command.GlobalPermissions{ReadTopics: true}), everywhere, join([]string{"topic list"}, readTopicDeeds)},
		{"poll", global(command.GlobalPermissions{PollMessages: true}), everywhere, pollDeeds},
		{"send", global(command.GlobalPermissions{SendMessages: true}), everywhere, sendDeeds},
		{"manage the stream", stream(command.StreamPermissions{ManageStream: true}), inStream,
			join([]string{"stream get", "stream update", "topic create", "topic list"}, topicDeeds)},
		{"read the stream", stream(command.StreamPermissions{ReadStream: true}), inStream, join([]string{"stream get", "topic list"}, readTopicDeeds)},
		{"manage its topics", stream(command.StreamPermissions{ManageTopics: true}), inStream, join([]string{"topic create", "topic list"}, topicDeeds)},
		{"read its topics", stream(command.StreamPermissions{ReadTopics: true}), inStream, join([]string{"topic list"}, readTopicDeeds)},
		{"poll in the stream", stream(command.StreamPermissions{PollMessages: true}), inStream, pollDeeds},
		{"send to the stream", stream(command.StreamPermissions{SendMessages: true}), inStream, sendDeeds},
		{"manage the topic", topic(command.TopicPermissions{ManageTopic: true}), inTopic, topicDeeds},
		{"read the topic", topic(command.TopicPermissions{ReadTopic: true}), inTopic, readTopicDeeds},
		{"poll the topic", topic(command.TopicPermissions{PollMessages: true}), inTopic, pollDeeds},
		{"send to the topic", topic(command.TopicPermissions{SendMessages: true}), inTopic, sendDeeds},
	} {
		name := fmt.Sprintf("user-%d", i)
		r.newUser(name, c.p)
		u := r.as(name)
		want := map[string]bool{}
		for _, d := range c.want {
			want[d] = true
		}
		for _, d := range deeds("s", "t") {
			if got := u.allowed(d); got != want[d.name] {
				t.Errorf("%s: %s is allowed: %v", c.name, d.name, got)
			}
		}
		// The same where the grant does not reach.
		for _, far := range []struct {
			stream, topic string
			reached       bool
		}{{"s", "other", c.scope != inTopic}, {"elsewhere", "t", c.scope == everywhere}} {
			for _, d := range deeds(far.stream, far.topic) {
				expected := want[d.name] && far.reached
				if got := u.allowed(d); got != expected && !ofStream(d.name, far.stream) {
					t.Errorf("%s: %s in %s/%s is allowed: %v", c.name, d.name, far.stream, far.topic, got)
				}
			}
		}
		u.ask(protocol.CmdUserGet, named(name)) // oneself, always
		u.ask(protocol.CmdMe, nil)
		u.ask(protocol.CmdClusterMetadata, nil)
		u.ask(protocol.CmdPersonalAccessTokenList, nil)
	}
}

// ofStream tells deeds on stream s that do not depend on the topic.
func ofStream(deed, stream string) bool {
	return stream == "s" && (deed == "stream get" || deed == "stream update" || deed == "topic create" || deed == "topic list")
}

func TestPermissions_ChangesCountAtOnce(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	r.newUser("bob", nil)
	bob := r.as("bob")
	send := sendBody(ref, to(0), 1, record("x"))
	set := func(p *command.Permissions) {
		r.root.apply(protocol.OpUpdatePermissions, command.UpdatePermissions{User: protocol.NamedID("bob"), Permissions: p}.Append(nil))
	}
	bob.does("before", protocol.OpSendMessages, send, denied(protocol.CodeUnauthorized))
	set(&command.Permissions{Global: command.GlobalPermissions{SendMessages: true}})
	bob.does("granted", protocol.OpSendMessages, send, outcome{})
	set(nil)
	bob.does("revoked", protocol.OpSendMessages, send, denied(protocol.CodeUnauthorized))
}

func TestPermissions_OfADeletedStreamDoNotReachItsSuccessor(t *testing.T) {
	r := openRig(t, setup{})
	r.topic("s", "t", 1)
	r.newUser("bob", &command.Permissions{Streams: []command.StreamPermissions{{ManageStream: true}}})
	bob := r.as("bob")
	bob.ask(protocol.CmdStreamGet, named("s"))
	r.root.must(r.root.DeleteStream(protocol.NamedID("s")))
	r.topic("s", "t", 1)
	bob.reads("the successor", protocol.CmdStreamGet, named("s"), denied(protocol.CodeUnauthorized))
}
