package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Requests of the tables below.
func streamBody(name string) []byte { return command.CreateStream{Name: []byte(name)}.Append(nil) }

func topicBody(stream, name string, partitions uint32, options ...protocol.Pair) []byte {
	return command.CreateTopic{
		Stream: protocol.NamedID(stream), PartitionsCount: partitions, Name: []byte(name), Options: command.AppendOptions(nil, options...),
	}.Append(nil)
}

func at(stream, topic string) command.TopicRef {
	return command.TopicRef{Stream: protocol.NamedID(stream), Topic: protocol.NamedID(topic)}
}

func userBody(name, password string) []byte {
	return command.CreateUser{Username: []byte(name), Password: []byte(password), Status: command.UserActive}.Append(nil)
}

func named(name string) []byte { return protocol.NamedID(name).Append(nil) }

// step is one replicated request and what it comes to.
type step struct {
	name string
	op   protocol.Operation
	body []byte
	want outcome
}

func (c *client) walk(steps []step) {
	c.t.Helper()
	for _, s := range steps {
		c.does(s.name, s.op, s.body, s.want)
	}
}

func TestMetadata_EveryOperationAndItsRefusals(t *testing.T) {
	r := openRig(t, setup{})
	option := []protocol.Pair{command.StringOption("no_such_option", "x")}
	here, none := at("s", "t"), at("s", "none")
	r.root.walk([]step{
		{"create stream", protocol.OpCreateStream, streamBody("s"), outcome{}},
		{"create stream, taken", protocol.OpCreateStream, streamBody("s"), rejected(protocol.CodeStreamNameAlreadyExists)},
		{"create stream, option", protocol.OpCreateStream, command.CreateStream{Name: []byte("x"), Options: command.AppendOptions(nil, option...)}.Append(nil),
			denied(protocol.CodeUnsupportedOptionKey)},
		{"update stream", protocol.OpUpdateStream, command.UpdateStream{Stream: protocol.NamedID("s"), Name: []byte("s")}.Append(nil), outcome{}},
		{"update stream, missing", protocol.OpUpdateStream, command.UpdateStream{Stream: protocol.NamedID("none"), Name: []byte("y")}.Append(nil),
			rejected(protocol.CodeStreamIdNotFound)},
		{"create topic", protocol.OpCreateTopic, topicBody("s", "t", 2), outcome{}},
		{"create topic, taken", protocol.OpCreateTopic, topicBody("s", "t", 2), rejected(protocol.CodeTopicNameAlreadyExists)},
		{"create topic, no stream", protocol.OpCreateTopic, topicBody("none", "t", 2), rejected(protocol.CodeStreamIdNotFound)},
		{"create topic, 1001 partitions", protocol.OpCreateTopic, topicBody("s", "u", 1001), denied(protocol.CodeTooManyPartitions)},
		{"create topic, unknown option", protocol.OpCreateTopic, topicBody("s", "u", 1, option...), denied(protocol.CodeUnsupportedOptionKey)},
		{"create topic, bad option", protocol.OpCreateTopic, topicBody("s", "u", 1, command.U64Option("segment_size", 7)), denied(protocol.CodeInvalidOptionValue)},
		{"create topic, small cap", protocol.OpCreateTopic, topicBody("s", "u", 1, command.U64Option("max_topic_size", 1<<20)), denied(protocol.CodeInvalidTopicSize)},
		{"update topic", protocol.OpUpdateTopic, command.UpdateTopic{TopicRef: here, Name: []byte("t")}.Append(nil), outcome{}},
		{"update topic, missing", protocol.OpUpdateTopic, command.UpdateTopic{TopicRef: none, Name: []byte("t")}.Append(nil), rejected(protocol.CodeTopicIdNotFound)},
		{"create partitions", protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: here, Count: 1}.Append(nil), outcome{}},
		{"create partitions, none", protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: here}.Append(nil), denied(protocol.CodeTooManyPartitions)},
		{"create partitions, no topic", protocol.OpCreatePartitions, command.PartitionsChange{TopicRef: none, Count: 1}.Append(nil), rejected(protocol.CodeTopicIdNotFound)},
		{"delete partitions", protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: here, Count: 1}.Append(nil), outcome{}},
		{"delete partitions, too many", protocol.OpDeletePartitions, command.PartitionsChange{TopicRef: here, Count: 3}.Append(nil), rejected(protocol.CodeInvalidPartitionsCount)},
		{"delete segments", protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: here, Count: 1}.Append(nil), outcome{}},
		{"delete segments, no topic", protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: none, Count: 1}.Append(nil), rejected(protocol.CodeTopicIdNotFound)},
		{"delete segments, no partition", protocol.OpDeleteSegments, command.DeleteSegments{TopicRef: here, Partition: 9, Count: 1}.Append(nil), rejected(protocol.CodePartitionNotFound)},
		{"create group", protocol.OpCreateConsumerGroup, command.CreateGroup{TopicRef: here, Name: []byte("g")}.Append(nil), outcome{}},
		{"create group, taken", protocol.OpCreateConsumerGroup, command.CreateGroup{TopicRef: here, Name: []byte("g")}.Append(nil), rejected(protocol.CodeConsumerGroupNameAlreadyExists)},
		{"join", protocol.OpJoinConsumerGroup, groupBody(here, "g"), outcome{}},
		{"join again", protocol.OpJoinConsumerGroup, groupBody(here, "g"), outcome{}},
		{"join, no group", protocol.OpJoinConsumerGroup, groupBody(here, "none"), rejected(protocol.CodeConsumerGroupIdNotFound)},
		{"leave", protocol.OpLeaveConsumerGroup, groupBody(here, "g"), outcome{}},
		{"leave, no member", protocol.OpLeaveConsumerGroup, groupBody(here, "g"), rejected(protocol.CodeConsumerGroupMemberNotFound)},
		{"delete group", protocol.OpDeleteConsumerGroup, groupBody(here, "g"), outcome{}},
		{"delete group, missing", protocol.OpDeleteConsumerGroup, groupBody(here, "g"), rejected(protocol.CodeConsumerGroupIdNotFound)},
		{"purge topic", protocol.OpPurgeTopic, here.Append(nil), outcome{}},
		{"purge topic, missing", protocol.OpPurgeTopic, none.Append(nil), rejected(protocol.CodeTopicIdNotFound)},
		{"purge stream", protocol.OpPurgeStream, named("s"), outcome{}},
		{"purge stream, missing", protocol.OpPurgeStream, named("none"), rejected(protocol.CodeStreamIdNotFound)},
		{"delete topic", protocol.OpDeleteTopic, here.Append(nil), outcome{}},
		{"delete topic, missing", protocol.OpDeleteTopic, here.Append(nil), rejected(protocol.CodeTopicIdNotFound)},
		{"delete stream", protocol.OpDeleteStream, named("s"), outcome{}},
		{"delete stream, missing", protocol.OpDeleteStream, named("s"), rejected(protocol.CodeStreamIdNotFound)},
	})
}

func groupBody(ref command.TopicRef, name string) []byte {
	return command.GroupRef{TopicRef: ref, Group: protocol.NamedID(name)}.Append(nil)
}

func TestUsers_EveryOperationAndItsRefusals(t *testing.T) {
	r := openRig(t, setup{})
	long := strings.Repeat("x", 101)
	password := func(user, current, next string) []byte {
		return command.ChangePassword{User: protocol.NamedID(user), Current: []byte(current), New: []byte(next)}.Append(nil)
	}
	update := func(user, name string, status command.UserStatus) []byte {
		u := command.UpdateUser{User: protocol.NamedID(user), Status: status}
		if name != "" {
			u.Username = []byte(name)
		}
		return u.Append(nil)
	}
	permissions := func(user string) []byte {
		return command.UpdatePermissions{User: protocol.NamedID(user), Permissions: &command.Permissions{}}.Append(nil)
	}
	r.root.walk([]step{
		{"create", protocol.OpCreateUser, userBody("bob", "secret"), outcome{}},
		{"create, taken", protocol.OpCreateUser, userBody("bob", "secret"), rejected(protocol.CodeUserAlreadyExists)},
		{"create, short name", protocol.OpCreateUser, userBody("bo", "secret"), rejected(protocol.CodeInvalidUsername)},
		{"create, short password", protocol.OpCreateUser, userBody("eve", "se"), rejected(protocol.CodeInvalidPassword)},
		{"create, long password", protocol.OpCreateUser, userBody("eve", long), rejected(protocol.CodeInvalidPassword)},
		{"create, unknown status", protocol.OpCreateUser, bytes.Replace(userBody("eve", "secret"), []byte("secret\x01"), []byte("secret\x03"), 1), denied(protocol.CodeInvalidCommand)},
		{"rename", protocol.OpUpdateUser, update("bob", "robert", 0), outcome{}},
		{"rename to a taken name", protocol.OpUpdateUser, update("robert", rootName, 0), rejected(protocol.CodeUserAlreadyExists)},
		{"rename, missing", protocol.OpUpdateUser, update("bob", "x-man", 0), rejected(protocol.CodeResourceNotFound)},
		{"password", protocol.OpChangePassword, password("robert", "secret", "new-secret"), outcome{}},
		{"password, wrong one", protocol.OpChangePassword, password("robert", "secret", "newer-secret"), rejected(protocol.CodeInvalidCredentials)},
		{"password, short", protocol.OpChangePassword, password("robert", "new-secret", "x"), rejected(protocol.CodeInvalidPassword)},
		{"password, missing user", protocol.OpChangePassword, password("bob", "secret", "new-secret"), rejected(protocol.CodeResourceNotFound)},
		{"permissions", protocol.OpUpdatePermissions, permissions("robert"), outcome{}},
		{"permissions of root", protocol.OpUpdatePermissions, permissions(rootName), rejected(protocol.CodeCannotChangePermissions)},
		{"permissions, missing", protocol.OpUpdatePermissions, permissions("bob"), rejected(protocol.CodeResourceNotFound)},
		{"delete root", protocol.OpDeleteUser, named(rootName), rejected(protocol.CodeCannotDeleteUser)},
		{"delete", protocol.OpDeleteUser, named("robert"), outcome{}},
		{"delete, missing", protocol.OpDeleteUser, named("robert"), rejected(protocol.CodeResourceNotFound)},
	})
}

func TestUsers_TheNewPasswordIsTheOneThatCounts(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("bob", nil)
	bob := r.as("bob")
	bob.apply(protocol.OpChangePassword, command.ChangePassword{User: protocol.NamedID("bob"), Current: []byte("bob"), New: []byte("bobby")}.Append(nil))
	bob.ask(protocol.CmdMe, nil) // one's own change keeps the session
	c := r.dial()
	c.wants("old password", c.SignIn("bob", "bob"), evicted(protocol.EvictInvalidCredentials))
	c.must(c.SignIn("bob", "bobby"))
}

func TestMetadata_UndecodableBodiesAreDenied(t *testing.T) {
	r := openRig(t, setup{})
	for op := protocol.OpCreateStream; op <= protocol.OpDeleteConsumerOffset; op++ {
		if !op.IsKnown() {
			continue
		}
		r.root.does(op.String(), op, []byte{9}, denied(protocol.CodeInvalidCommand))
	}
	for _, code := range []protocol.CommandCode{
		protocol.CmdOptionsDescribe, protocol.CmdClientGet, protocol.CmdUserGet, protocol.CmdStreamGet, protocol.CmdTopicGet,
		protocol.CmdTopicList, protocol.CmdConsumerGroupGet, protocol.CmdConsumerGroupList, protocol.CmdConsumerGroupSync,
		protocol.CmdConsumerOffsetGet, protocol.CmdMessagePoll, protocol.CmdMessageFlushUnsavedBuffer, protocol.CmdSnapshot,
	} {
		r.root.reads(code.String(), code, []byte{9}, denied(protocol.CodeInvalidCommand))
	}
	r.root.apply(protocol.OpCreateStream, streamBody("s"))
}

func TestMetadata_OperationOfTheReply(t *testing.T) {
	r := openRig(t, setup{})
	r.root.apply(protocol.OpCreateStream, streamBody("s"))
	for _, c := range []struct {
		op, want protocol.Operation
		body     []byte
	}{
		{protocol.OpCreateTopic, protocol.OpCreateTopicWithAssignments, topicBody("s", "t", 1)},
		{protocol.OpCreatePartitions, protocol.OpCreatePartitionsWithAssignments, command.PartitionsChange{TopicRef: at("s", "t"), Count: 1}.Append(nil)},
		{protocol.OpDeleteSegments, protocol.OpTruncatePartition, command.DeleteSegments{TopicRef: at("s", "t"), Count: 1}.Append(nil)},
		{protocol.OpPurgeTopic, protocol.OpPurgeTopic, at("s", "t").Append(nil)},
	} {
		number := r.root.NextRequest()
		h := sure(r.root.Do(c.op, 0, c.body)).Header
		if h.Operation() != c.want || h.Client() != r.root.Client() || h.Request() != number || h.Op() == 0 || h.Op() != h.Commit() || h.Timestamp() == 0 {
			t.Errorf("%s answered as %s, op %d, commit %d", c.op, h.Operation(), h.Op(), h.Commit())
		}
	}
}

func TestMetadata_IdentityIsThatOfTheConnection(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("nobody", nil)
	c := r.as("nobody")
	f := c.AppendFrame(nil, protocol.OpCreateStream, 0, streamBody("s"))
	h := (*protocol.RequestHeader)(f)
	h.SetClient(r.root.Client())
	h.SetSession(r.root.Session())
	h.SetUserID(0)
	_, err := c.Exchange(f)
	c.wants("in the name of root", err, rejected(protocol.CodeUnauthorized))
}

func TestMetadata_ARetryGetsTheSameFrame(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	numbered := func(number uint64, name string, sum bool) []byte {
		c.SetNextRequest(number)
		body := streamBody(name)
		f := c.AppendFrame(nil, protocol.OpCreateStream, 0, body)
		if sum {
			(*protocol.RequestHeader)(f).SetRequestChecksum(protocol.Uint128From64(protocol.Hash64(body)))
		}
		return f
	}
	first := r.raw(c, numbered(1, "one", true))
	rejection := r.raw(c, numbered(2, "one", true))
	for i := range uint64(2) {
		if again := r.raw(c, numbered(1+i, "one", true)); !bytes.Equal(again, [][]byte{first, rejection}[i]) {
			t.Errorf("number %d: the second answer differs", 1+i)
		}
	}
	if h := (*protocol.ReplyHeader)(r.raw(c, numbered(1, "other", true))); h.Status() != protocol.CodeInvalidCommand {
		t.Errorf("another body under a used number: status %d", h.Status())
	}
	for i := range uint64(6) { // gaps are legal, and push the first answer out of what is kept
		c.SetNextRequest(10 + 2*i)
		c.does("a later one", protocol.OpPurgeStream, named("one"), outcome{})
	}
	_, err := c.Exchange(numbered(1, "one", false))
	c.wants("no longer kept", err, rejected(protocol.CodeRequestAlreadyApplied))
}

func TestTokens_LifeAndLimits(t *testing.T) {
	r := openRig(t, setup{})
	r.newUser("owner", nil)
	c := r.as("owner")
	create := tokenBody
	number := c.NextRequest()
	text := string(sure(command.DecodeName(c.apply(protocol.OpCreatePersonalAccessToken, create("one", 0)))))
	if len(text) != 68 {
		t.Errorf("token of %d characters", len(text))
	}
	c.SetNextRequest(number)
	c.does("retry of a create", protocol.OpCreatePersonalAccessToken, create("one", 0), rejected(protocol.CodePersonalAccessTokenAlreadyExists))
	c.walk([]step{
		{"taken", protocol.OpCreatePersonalAccessToken, create("one", 0), rejected(protocol.CodePersonalAccessTokenAlreadyExists)},
		{"wrapping expiry", protocol.OpCreatePersonalAccessToken, create("two", ^uint64(0)-5), rejected(protocol.CodeInvalidPersonalAccessTokenExpiry)},
		{"second", protocol.OpCreatePersonalAccessToken, create("two", 0), outcome{}},
		{"third", protocol.OpCreatePersonalAccessToken, create("three", 3_600_000_000), outcome{}},
		{"fourth", protocol.OpCreatePersonalAccessToken, create("four", 0), denied(protocol.CodePersonalAccessTokensLimitReached)},
		{"limit before the name", protocol.OpCreatePersonalAccessToken, create("one", 0), denied(protocol.CodePersonalAccessTokensLimitReached)},
		{"delete", protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "two"), outcome{}},
		{"delete, missing", protocol.OpDeletePersonalAccessToken, protocol.AppendName(nil, "two"), rejected(protocol.CodeResourceNotFound)},
	})
	listed := sure(command.DecodeTokens(c.ask(protocol.CmdPersonalAccessTokenList, nil)))
	if len(listed) != 2 || string(listed[0].Name) != "one" || string(listed[1].Name) != "three" || listed[0].ExpiresAt != 0 || listed[1].ExpiresAt == 0 {
		t.Errorf("listed %+v", listed)
	}
	if own := r.root.ask(protocol.CmdPersonalAccessTokenList, nil); len(own) != 0 {
		t.Errorf("root sees %d bytes of tokens of others", len(own))
	}
	if r.holds(text) {
		t.Error("the token is in the data directory")
	}
	if r.holds("owner-password") {
		t.Error("the probe finds what was never written")
	}
	if !r.holds("three") {
		t.Error("the probe does not find what was written")
	}
}

func tokenBody(name string, expiry uint64) []byte {
	return command.CreateToken{Name: []byte(name), ExpiryMicros: expiry}.Append(nil)
}

// holds reports whether a file of the node holds text.
func (r *rig) holds(text string) bool {
	r.t.Helper()
	var look func(dir string) bool
	look = func(dir string) bool {
		for _, name := range sure(r.fs.ReadDir(dir)) {
			path := dir + "/" + name
			info := sure(r.fs.Stat(path))
			if info.IsDir {
				if look(path) {
					return true
				}
				continue
			}
			f := sure(r.fs.OpenFile(path, 0))
			b := make([]byte, info.SizeBytes)
			_, _ = f.ReadAt(b, 0)
			_ = f.Close()
			if bytes.Contains(b, []byte(text)) {
				return true
			}
		}
		return false
	}
	return look("data")
}

func TestSessions_EndedByAnAdministrator(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*rig)
		want protocol.EvictionReason
	}{
		{"deleted", func(r *rig) { r.root.apply(protocol.OpDeleteUser, named("bob")) }, protocol.EvictNoSession},
		{"deactivated", func(r *rig) {
			r.root.apply(protocol.OpUpdateUser, command.UpdateUser{User: protocol.NamedID("bob"), Status: command.UserInactive}.Append(nil))
		}, protocol.EvictUserInactive},
		{"password changed", func(r *rig) {
			r.root.apply(protocol.OpChangePassword, command.ChangePassword{User: protocol.NamedID("bob"), Current: []byte("bob"), New: []byte("bobby")}.Append(nil))
		}, protocol.EvictNoSession},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := openRig(t, setup{})
			r.newUser("bob", nil)
			first, second, third := r.as("bob"), r.as("bob"), r.as("bob")
			c.end(r)
			first.wants("ping", first.Ping(), evicted(c.want))
			first.must(first.Ping()) // said once; the connection goes on
			first.reads("read", protocol.CmdMe, nil, denied(protocol.CodeUnauthenticated))
			second.does("write", protocol.OpCreateStream, streamBody("s"), evicted(c.want))
			second.does("write", protocol.OpCreateStream, streamBody("s"), evicted(protocol.EvictNoSession))
			third.wants("sign-in", third.SignIn(rootName, rootName), evicted(c.want)) // takes the place of any answer
			third.must(third.SignIn(rootName, rootName))
		})
	}
}
