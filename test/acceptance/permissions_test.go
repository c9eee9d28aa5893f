package acceptance

import (
	"fmt"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/test/drive"
)

// world is what the permission tests ask for: stream 0 with topics 0 and 1, stream 1 with topic 0, a group in
// each topic, a message in each partition.
type world struct {
	streams [2]protocol.Identifier
	topics  [3]command.TopicRef // two of stream 0, one of stream 1
}

func newWorld(root *drive.Client) *world {
	w := &world{}
	a, b := root.NewTopic("first", "a", 1), root.NewTopic("first", "b", 1)
	c := root.NewTopic("second", "c", 1)
	w.streams = [2]protocol.Identifier{a.Stream, c.Stream}
	w.topics = [3]command.TopicRef{a.TopicRef, b.TopicRef, c.TopicRef}
	for _, t := range w.topics {
		_, err := root.CreateGroup(t, "group")
		root.Must(err)
		root.Send(t, 0, "message")
	}
	return w
}

// Requests that a permission rule decides, by the name of the rule. None of them changes what another one asks for.
var asked = []struct {
	rule string
	run  func(c *drive.Client, w *world, topic int) error
}{
	{"server-info", func(c *drive.Client, _ *world, _ int) error { return c.TryRead(protocol.CmdStats, nil) }},
	{"server-info", func(c *drive.Client, _ *world, _ int) error { return c.TryRead(protocol.CmdClientList, nil) }},
	{"read-users", func(c *drive.Client, _ *world, _ int) error { return c.TryRead(protocol.CmdUserList, nil) }},
	{"read-users", func(c *drive.Client, _ *world, _ int) error {
		return c.TryRead(protocol.CmdUserGet, numbered(0).Append(nil))
	}},
	{"manage-users", func(c *drive.Client, _ *world, _ int) error {
		return c.Try(protocol.OpUpdateUser, command.UpdateUser{User: named("bystander"), Status: command.UserActive}.Append(nil))
	}},
	{"create-stream", func(c *drive.Client, _ *world, _ int) error {
		return c.Try(protocol.OpCreateStream, command.CreateStream{Name: fmt.Appendf(nil, "made by %d", c.UserID())}.Append(nil))
	}},
	{"read-streams", func(c *drive.Client, _ *world, _ int) error { return c.TryRead(protocol.CmdStreamList, nil) }},
	{"read-stream", func(c *drive.Client, w *world, topic int) error {
		return c.TryRead(protocol.CmdStreamGet, w.topics[topic].Stream.Append(nil))
	}},
	{"manage-stream", func(c *drive.Client, w *world, topic int) error {
		name := []string{"first", "first", "second"}[topic]
		return c.Try(protocol.OpUpdateStream, command.UpdateStream{Stream: w.topics[topic].Stream, Name: []byte(name)}.Append(nil))
	}},
	{"create-topic", func(c *drive.Client, w *world, topic int) error {
		return c.Try(protocol.OpCreateTopic, command.CreateTopic{Stream: w.topics[topic].Stream, Name: fmt.Appendf(nil, "by %d", c.UserID())}.Append(nil))
	}},
	{"read-topics", func(c *drive.Client, w *world, topic int) error {
		return c.TryRead(protocol.CmdTopicList, w.topics[topic].Stream.Append(nil))
	}},
	{"read-topic", func(c *drive.Client, w *world, topic int) error {
		return c.TryRead(protocol.CmdTopicGet, w.topics[topic].Append(nil))
	}},
	{"read-topic", func(c *drive.Client, w *world, topic int) error {
		return c.TryRead(protocol.CmdConsumerGroupGet, command.GroupRef{TopicRef: w.topics[topic], Group: named("group")}.Append(nil))
	}},
	{"read-topic", func(c *drive.Client, w *world, topic int) error {
		return c.TryRead(protocol.CmdConsumerGroupList, w.topics[topic].Append(nil))
	}},
	{"read-topic", func(c *drive.Client, w *world, topic int) error {
		_, err := c.CreateGroup(w.topics[topic], fmt.Sprintf("by %d", c.UserID()))
		return err
	}},
	{"read-topic", func(c *drive.Client, w *world, topic int) error {
		return c.JoinGroup(command.GroupRef{TopicRef: w.topics[topic], Group: named("group")})
	}},
	{"manage-topic", func(c *drive.Client, w *world, topic int) error {
		return c.Try(protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: w.topics[topic], Count: 1}.Append(nil))
	}},
	{"manage-topic", func(c *drive.Client, w *world, topic int) error {
		return c.Try(protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: w.topics[topic], Count: 1}.Append(nil))
	}},
	{"poll", func(c *drive.Client, w *world, topic int) error {
		_, err := c.Conn.Poll(drive.Poll(w.topics[topic], 0, command.FromFirst, 0, 1))
		return err
	}},
	{"poll", func(c *drive.Client, w *world, topic int) error {
		return c.StoreOffset(drive.OffsetOf(drive.Consumer(9), w.topics[topic], 0), 0, protocol.AckQuorum)
	}},
	{"poll", func(c *drive.Client, w *world, topic int) error {
		_, _, err := c.GetOffset(drive.OffsetOf(drive.Consumer(9), w.topics[topic], 0))
		return err
	}},
	{"poll", func(c *drive.Client, w *world, topic int) error {
		// Without the right it is 41; with it the offset of a consumer that never stored one is missing.
		err := c.DeleteOffset(drive.OffsetOf(drive.Consumer(12345), w.topics[topic], 0), protocol.AckQuorum)
		if got, _ := drive.AnswerOf(err); got == drive.Denied(protocol.CodeConsumerOffsetNotFound) || got == drive.Rejected(protocol.CodeConsumerOffsetNotFound) {
			return nil
		}
		return err
	}},
	{"send", func(c *drive.Client, w *world, topic int) error {
		_, err := c.SendMessages(w.topics[topic], drive.To(0), drive.Record("by a user"))
		return err
	}},
	{"send", func(c *drive.Client, w *world, topic int) error { return c.Flush(w.topics[topic], 0, false) }},
}

// rules that a grant gives.
type rules map[string]bool

func set(names ...string) rules {
	r := rules{}
	for _, n := range names {
		r[n] = true
	}
	return r
}

func (r rules) with(more rules) rules {
	all := rules{}
	for n := range r {
		all[n] = true
	}
	for n := range more {
		all[n] = true
	}
	return all
}

var (
	pollRules       = set("poll")
	sendRules       = set("send")
	readTopicRules  = set("read-topic").with(pollRules)
	readTopicsRules = readTopicRules.with(set("read-topics"))
	manageTopic     = readTopicRules.with(sendRules).with(set("manage-topic"))
	manageTopics    = manageTopic.with(readTopicsRules).with(set("create-topic"))
	readStreamRules = readTopicsRules.with(set("read-stream"))
	manageStream    = manageTopics.with(readStreamRules).with(set("manage-stream"))
)

func TestPermissions_EachFlagGrantsExactlyItsOperations(t *testing.T) {
	s, root := drive.Fresh(t)
	w := newWorld(root)
	newUser(root, "bystander", "password", nil)
	global := func(g command.GlobalPermissions) *command.Permissions { return &command.Permissions{Global: g} }
	inStream := func(p command.StreamPermissions) *command.Permissions {
		p.Stream = w.streams[0].ID()
		return &command.Permissions{Streams: []command.StreamPermissions{p}}
	}
	inTopic := func(p command.TopicPermissions) *command.Permissions {
		p.Topic = w.topics[0].Topic.ID()
		return inStream(command.StreamPermissions{Topics: []command.TopicPermissions{p}})
	}
	for i, c := range []struct {
		name  string
		grant *command.Permissions
		// Rules granted in topic 0, in the other topic of its stream, and in the other stream.
		here, beside, elsewhere rules
	}{
		{"nothing", nil, nil, nil, nil},
		{"manage servers", global(command.GlobalPermissions{ManageServers: true}), set("server-info"), set("server-info"), set("server-info")},
		{"read servers", global(command.GlobalPermissions{ReadServers: true}), set("server-info"), set("server-info"), set("server-info")},
		{"manage users", global(command.GlobalPermissions{ManageUsers: true}), set("read-users", "manage-users"), set("read-users", "manage-users"), set("read-users", "manage-users")},
		{"read users", global(command.GlobalPermissions{ReadUsers: true}), set("read-users"), set("read-users"), set("read-users")},
		everywhere("manage streams", global(command.GlobalPermissions{ManageStreams: true}), manageStream.with(set("create-stream", "read-streams"))),
		everywhere("read streams", global(command.GlobalPermissions{ReadStreams: true}), readStreamRules.with(set("read-streams"))),
		everywhere("manage topics", global(command.GlobalPermissions{ManageTopics: true}), manageTopics),
		everywhere("read topics", global(command.GlobalPermissions{ReadTopics: true}), readTopicsRules),
		everywhere("poll messages", global(command.GlobalPermissions{PollMessages: true}), pollRules),
		everywhere("send messages", global(command.GlobalPermissions{SendMessages: true}), sendRules),
		{"manage stream 0", inStream(command.StreamPermissions{ManageStream: true}), manageStream, manageStream, nil},
		{"read stream 0", inStream(command.StreamPermissions{ReadStream: true}), readStreamRules, readStreamRules, nil},
		{"manage topics of stream 0", inStream(command.StreamPermissions{ManageTopics: true}), manageTopics, manageTopics, nil},
		{"read topics of stream 0", inStream(command.StreamPermissions{ReadTopics: true}), readTopicsRules, readTopicsRules, nil},
		{"poll in stream 0", inStream(command.StreamPermissions{PollMessages: true}), pollRules, pollRules, nil},
		{"send in stream 0", inStream(command.StreamPermissions{SendMessages: true}), sendRules, sendRules, nil},
		{"manage topic 0", inTopic(command.TopicPermissions{ManageTopic: true}), manageTopic, nil, nil},
		{"read topic 0", inTopic(command.TopicPermissions{ReadTopic: true}), readTopicRules, nil, nil},
		{"poll in topic 0", inTopic(command.TopicPermissions{PollMessages: true}), pollRules, nil, nil},
		{"send in topic 0", inTopic(command.TopicPermissions{SendMessages: true}), sendRules, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := fmt.Sprintf("user-%d", i)
			newUser(root, name, "password", c.grant)
			conn := drive.As(t, s, name, "password")
			for topic, granted := range []rules{c.here, c.beside, c.elsewhere} {
				for n, a := range asked {
					got, answered := drive.AnswerOf(a.run(conn, w, topic))
					denied := got == drive.Denied(protocol.CodeUnauthorized) || got == drive.Rejected(protocol.CodeUnauthorized)
					taken := got == drive.Rejected(protocol.CodeStreamNameAlreadyExists) || got == drive.Rejected(protocol.CodeTopicNameAlreadyExists)
					if !answered || granted[a.rule] == denied || !denied && got != drive.OK && !taken {
						t.Errorf("request %d (%s) in topic %d: %s, answered %v; granted is %v", n, a.rule, topic, got, answered, granted[a.rule])
					}
				}
			}
			if _, found := user(conn, named(name)); !found {
				t.Error("a user may not read the own record")
			}
		})
	}
}

type grantCase = struct {
	name                    string
	grant                   *command.Permissions
	here, beside, elsewhere rules
}

func everywhere(name string, grant *command.Permissions, r rules) grantCase {
	return grantCase{name, grant, r, r, r}
}

func TestPermissions_MissingResourcesAreNamedNotHidden(t *testing.T) {
	s, root := drive.Fresh(t)
	w := newWorld(root)
	newUser(root, "nobody", "password", nil)
	c := drive.As(t, s, "nobody", "password")
	noStream, noTopic := ref(numbered(77), numbered(0)), ref(w.streams[0], numbered(77))
	poll := func(r command.TopicRef, partition uint32) error {
		_, err := c.Conn.Poll(drive.Poll(r, partition, command.FromFirst, 0, 1))
		return err
	}
	send := func(r command.TopicRef, partition uint32) error {
		_, err := c.SendMessages(r, drive.To(partition), drive.Record("x"))
		return err
	}
	for _, x := range []struct {
		name string
		err  func() error
		want drive.Answer
	}{
		{"delete a missing stream", func() error { return c.DeleteStream(numbered(77)) }, drive.Rejected(protocol.CodeStreamIdNotFound)},
		{"delete a missing topic", func() error { return c.DeleteTopic(noTopic) }, drive.Rejected(protocol.CodeTopicIdNotFound)},
		{"delete a forbidden stream", func() error { return c.DeleteStream(w.streams[0]) }, drive.Rejected(protocol.CodeUnauthorized)},
		{"get a missing stream", func() error { return c.TryRead(protocol.CmdStreamGet, numbered(77).Append(nil)) }, drive.OK},
		{"get a forbidden stream", func() error { return c.TryRead(protocol.CmdStreamGet, numbered(0).Append(nil)) }, drive.Denied(protocol.CodeUnauthorized)},
		{"list the topics of a missing stream", func() error { return c.TryRead(protocol.CmdTopicList, numbered(77).Append(nil)) }, drive.OK},
		{"poll a missing stream", func() error { return poll(noStream, 0) }, drive.Denied(protocol.CodeStreamIdNotFound)},
		{"poll a missing topic", func() error { return poll(noTopic, 0) }, drive.Denied(protocol.CodeTopicIdNotFound)},
		{"poll a missing partition", func() error { return poll(w.topics[0], 9) }, drive.Denied(protocol.CodePartitionNotFound)},
		{"poll a forbidden partition", func() error { return poll(w.topics[0], 0) }, drive.Denied(protocol.CodeUnauthorized)},
		{"send to a missing stream", func() error { return send(noStream, 0) }, drive.Denied(protocol.CodeStreamIdNotFound)},
		{"send to a missing topic", func() error { return send(noTopic, 0) }, drive.Denied(protocol.CodeTopicIdNotFound)},
		{"send to a missing partition", func() error { return send(w.topics[0], 9) }, drive.Denied(protocol.CodePartitionNotFound)},
		{"send to a forbidden partition", func() error { return send(w.topics[0], 0) }, drive.Denied(protocol.CodeUnauthorized)},
		{"delete a missing group", func() error {
			return c.Try(protocol.OpDeleteConsumerGroup, command.GroupRef{TopicRef: w.topics[0], Group: named("none")}.Append(nil))
		}, drive.Rejected(protocol.CodeUnauthorized)},
	} {
		t.Run(x.name, func(t *testing.T) { drive.Want(t, x.name, x.err(), x.want) })
	}
}

func TestPermissions_ChangesReachLiveSessionsAndEndWithTheirObject(t *testing.T) {
	s, root := drive.Fresh(t)
	w := newWorld(root)
	newUser(root, "alice", "password", nil)
	alice := drive.As(t, s, "alice", "password")
	send := func() error {
		_, err := alice.SendMessages(w.topics[0], drive.To(0), drive.Record("x"))
		return err
	}
	grant := func(p *command.Permissions) {
		root.Apply(protocol.OpUpdatePermissions, command.UpdatePermissions{User: named("alice"), Permissions: p}.Append(nil))
	}
	drive.Want(t, "send without a right", send(), drive.Denied(protocol.CodeUnauthorized))
	grant(&command.Permissions{Streams: []command.StreamPermissions{{Stream: w.streams[0].ID(), SendMessages: true}}})
	drive.Want(t, "send with it", send(), drive.OK)
	root.Must(root.DeleteStream(w.streams[0]))
	again := root.NewTopic("third", "a", 1)
	drive.Check(t, "id of the next stream", again.StreamID, w.streams[0].ID())
	_, err := alice.SendMessages(again.TopicRef, drive.To(0), drive.Record("x"))
	drive.Want(t, "send to the successor of the stream", err, drive.Denied(protocol.CodeUnauthorized))
}
