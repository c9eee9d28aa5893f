package metadata

import (
	"encoding/hex"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"

	"pgregory.net/rapid"
)

const (
	root  = uint64(100) // client signed in as root
	plain = uint64(101) // client signed in as user 1, who has no permissions
)

// populated is a group with two streams, topics, a group, a token and a user without permissions.
func populated(t rapid.TB) *group {
	g := newGroupOfOne(t, 64)
	g.login(id(root), RootUser)
	for _, step := range []struct {
		op   protocol.Operation
		body []byte
	}{
		{protocol.OpCreateStream, name("orders")},
		{protocol.OpCreateStream, name("logs")},
		{protocol.OpCreateTopicWithAssignments, topicBody(num(0), "events", 3)},
		{protocol.OpCreateTopicWithAssignments, topicBody(num(0), "audit", 1)},
		{protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("workers"))},
		{protocol.OpCreateUser, userBody("plain", "$plain", 1, nil)},
		{protocol.OpCreatePersonalAccessToken, tokenBody(0, "ci", 0)},
	} {
		if _, code := g.replicated(id(root), step.op, step.body); code != 0 {
			t.Fatalf("%v: %d", step.op, code)
		}
	}
	g.login(id(plain), 1)
	g.s.Drain()
	return g
}

type applyCase struct {
	name   string
	client uint64
	op     protocol.Operation
	body   []byte
	want   protocol.Code
	reply  string // hexadecimal payload of a success; timestamps are written as TTTTTTTTTTTTTTTT
}

func (c applyCase) run(t *testing.T) *group {
	g := populated(t)
	got, code := g.replicated(id(c.client), c.op, c.body)
	if code != c.want {
		t.Fatalf("code %d, want %d", code, c.want)
	}
	if c.want == protocol.Success {
		stamp := hex.EncodeToString(u64(g.now))
		want := ""
		for i := 0; i < len(c.reply); i++ {
			if c.reply[i] == 'T' {
				want += stamp
				i += 15
				continue
			}
			want += string(c.reply[i])
		}
		if hex.EncodeToString(got) != want {
			t.Fatalf("payload %x, want %s", got, want)
		}
	}
	return g
}

const unknownName = "020178"

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func TestApply_EveryCommandAndItsRejections(t *testing.T) {
	missing := unhex(unknownName)
	long := string(make([]byte, 51))
	const (
		ok         = protocol.Success
		denied     = protocol.CodeUnauthorized
		noStream   = protocol.CodeStreamIdNotFound
		noTopic    = protocol.CodeTopicIdNotFound
		noUser     = protocol.CodeResourceNotFound
		noGroup    = protocol.CodeConsumerGroupIdNotFound
		malformed  = protocol.CodeInvalidCommand
		badOption  = protocol.CodeInvalidOptionValue
		badCount   = protocol.CodeInvalidPartitionsCount
		nameTaken  = protocol.CodeUserAlreadyExists
		topicTaken = protocol.CodeTopicNameAlreadyExists
	)
	expiry := opt("message_expiry", 12, u64(5))
	cases := []applyCase{
		{"create stream", root, protocol.OpCreateStream, name("s"), ok, "02000000TTTTTTTTTTTTTTTT0000000000000000000000000000000000000000017300000000"},
		{"create stream, name taken", root, protocol.OpCreateStream, name("logs"), protocol.CodeStreamNameAlreadyExists, ""},
		{"create stream, denied", plain, protocol.OpCreateStream, name("logs"), denied, ""},
		{"create stream, malformed", root, protocol.OpCreateStream, []byte{0}, malformed, ""},
		{"update stream", root, protocol.OpUpdateStream, cat(str("logs"), name("l2")), ok, ""},
		{"update stream, own name", root, protocol.OpUpdateStream, cat(num(1), name("logs")), ok, ""},
		{"update stream, name taken", root, protocol.OpUpdateStream, cat(num(1), name("orders")), protocol.CodeStreamNameAlreadyExists, ""},
		{"update stream, missing", plain, protocol.OpUpdateStream, cat(missing, name("orders")), noStream, ""},
		{"update stream, denied", plain, protocol.OpUpdateStream, cat(num(1), name("orders")), denied, ""},
		{"delete stream", root, protocol.OpDeleteStream, str("orders"), ok, ""},
		{"delete stream, missing", plain, protocol.OpDeleteStream, num(9), noStream, ""},
		{"delete stream, denied", plain, protocol.OpDeleteStream, num(0), denied, ""},
		{"delete stream, malformed", root, protocol.OpDeleteStream, []byte{3, 1, 0}, malformed, ""},
		{"purge stream", root, protocol.OpPurgeStream, str("orders"), ok, ""},
		{"purge stream, missing", plain, protocol.OpPurgeStream, str("x"), noStream, ""},
		{"purge stream, denied", plain, protocol.OpPurgeStream, num(0), denied, ""},

		{"create topic, no stream", plain, protocol.OpCreateTopicWithAssignments, topicBody(missing, "t", 1), noStream, ""},
		{"create topic, denied", plain, protocol.OpCreateTopicWithAssignments, topicBody(num(0), "t", 1), denied, ""},
		{"create topic, name taken", root, protocol.OpCreateTopicWithAssignments, topicBody(num(0), "audit", 1), topicTaken, ""},
		{"create topic, same name elsewhere", root, protocol.OpCreateTopicWithAssignments, topicBody(num(1), "audit", 0), ok,
			"00000000TTTTTTTTTTTTTTTT00000000ffffffffffffffff01ffffffffffffffff00000000000000000000000000000000056175646974" +
				"00000000" + hex.EncodeToString(sized(defaultsBlock()))},
		{"create topic, ids not dense", root, protocol.OpCreateTopicWithAssignments,
			cat(sized(cat(num(0), u32(2), name("t"))), sized(nil), u32(2), u32(1), u64(0), u32(0), u64(0)), badCount, ""},
		{"create topic, ids missing", root, protocol.OpCreateTopicWithAssignments,
			cat(sized(cat(num(0), u32(2), name("t"))), sized(nil), assigned(1)), badCount, ""},
		{"create topic, bad option", root, protocol.OpCreateTopicWithAssignments,
			topicBody(num(0), "t", 1, opt("segment_size", 12, u64(1000))), badOption, ""},
		{"create topic, malformed", root, protocol.OpCreateTopicWithAssignments, cat(num(0), u32(1), name("t")), malformed, ""},
		{"update topic", root, protocol.OpUpdateTopic, cat(num(0), str("events"), name("e2"), expiry), ok, ""},
		{"update topic, own name", root, protocol.OpUpdateTopic, cat(num(0), num(0), name("events")), ok, ""},
		{"update topic, name taken", root, protocol.OpUpdateTopic, cat(num(0), num(0), name("audit")), topicTaken, ""},
		{"update topic, no stream", plain, protocol.OpUpdateTopic, cat(missing, num(0), name("a")), noStream, ""},
		{"update topic, missing", plain, protocol.OpUpdateTopic, cat(num(0), missing, name("a")), noTopic, ""},
		{"update topic, denied", plain, protocol.OpUpdateTopic, cat(num(0), num(0), name("a")), denied, ""},
		{"update topic, cap below a segment", root, protocol.OpUpdateTopic,
			cat(num(0), num(0), name("a"), opt("max_topic_size", 12, u64(4096))), badOption, ""},
		{"delete topic", root, protocol.OpDeleteTopic, cat(num(0), num(0)), ok, ""},
		{"delete topic, no stream", plain, protocol.OpDeleteTopic, cat(num(7), num(0)), noStream, ""},
		{"delete topic, missing", plain, protocol.OpDeleteTopic, cat(num(0), num(7)), noTopic, ""},
		{"delete topic, denied", plain, protocol.OpDeleteTopic, cat(num(0), num(0)), denied, ""},
		{"purge topic", root, protocol.OpPurgeTopic, cat(num(0), num(0)), ok, ""},
		{"purge topic, missing", plain, protocol.OpPurgeTopic, cat(num(0), num(7)), noTopic, ""},
		{"purge topic, denied", plain, protocol.OpPurgeTopic, cat(num(0), num(0)), denied, ""},

		{"create partitions", root, protocol.OpCreatePartitionsWithAssignments, partitionsBody(num(0), num(0), 2), ok, ""},
		{"create partitions, no stream", plain, protocol.OpCreatePartitionsWithAssignments, partitionsBody(missing, num(0), 2), noStream, ""},
		{"create partitions, no topic", plain, protocol.OpCreatePartitionsWithAssignments, partitionsBody(num(0), missing, 2), noTopic, ""},
		{"create partitions, denied", plain, protocol.OpCreatePartitionsWithAssignments, partitionsBody(num(0), num(0), 2), denied, ""},
		{"create partitions, ids missing", root, protocol.OpCreatePartitionsWithAssignments,
			cat(sized(cat(num(0), num(0), u32(2))), assigned(3)), badCount, ""},
		{"delete partitions, all", root, protocol.OpDeletePartitions, cat(num(0), num(0), u32(3)), ok, ""},
		{"delete partitions, too many", root, protocol.OpDeletePartitions, cat(num(0), num(0), u32(4)), badCount, ""},
		{"delete partitions, no topic", plain, protocol.OpDeletePartitions, cat(num(0), num(5), u32(4)), noTopic, ""},
		{"delete partitions, denied", plain, protocol.OpDeletePartitions, cat(num(0), num(0), u32(1)), denied, ""},
		{"truncate", root, protocol.OpTruncatePartition, cat(num(0), num(0), u32(2), u64(10)), ok, ""},
		{"truncate, no stream", plain, protocol.OpTruncatePartition, cat(missing, num(0), u32(2), u64(10)), noStream, ""},
		{"truncate, no topic", plain, protocol.OpTruncatePartition, cat(num(0), missing, u32(2), u64(10)), noTopic, ""},
		{"truncate, denied", plain, protocol.OpTruncatePartition, cat(num(0), num(0), u32(9), u64(10)), denied, ""},
		{"truncate, no partition", root, protocol.OpTruncatePartition, cat(num(0), num(0), u32(3), u64(10)), protocol.CodePartitionNotFound, ""},

		{"create user", root, protocol.OpCreateUser, userBody("bob", "$b", 2, nil), ok, "02000000TTTTTTTTTTTTTTTT0203626f620000000000000000"},
		{"create user, with permissions", root, protocol.OpCreateUser, userBody("bob", "$b", 1, grantsBody(2, -1, 0, 0, 0)), ok,
			"02000000TTTTTTTTTTTTTTTT0103626f6200000000010b0000000001000000000000000000"},
		{"create user, denied", plain, protocol.OpCreateUser, userBody("x", "", 1, nil), denied, ""},
		{"create user, name short", root, protocol.OpCreateUser, userBody("bo", "$b", 1, nil), protocol.CodeInvalidUsername, ""},
		{"create user, name long", root, protocol.OpCreateUser, userBody(long, "$b", 1, nil), protocol.CodeInvalidUsername, ""},
		{"create user, password refused", root, protocol.OpCreateUser, userBody("iggy", "", 1, nil), protocol.CodeInvalidPassword, ""},
		{"create user, name taken", root, protocol.OpCreateUser, userBody("iggy", "$b", 1, nil), nameTaken, ""},
		{"create user, unknown status", root, protocol.OpCreateUser, userBody("bob", "$b", 3, nil), malformed, ""},
		{"update user", root, protocol.OpUpdateUser, cat(str("plain"), []byte{1}, name("simple"), []byte{1, 2}), ok, ""},
		{"update user, nothing", root, protocol.OpUpdateUser, cat(num(1), []byte{0, 0}), ok, ""},
		{"update user, own name", root, protocol.OpUpdateUser, cat(num(1), []byte{1}, name("plain"), []byte{0}), ok, ""},
		{"update user, name taken", root, protocol.OpUpdateUser, cat(num(1), []byte{1}, name("iggy"), []byte{0}), nameTaken, ""},
		{"update user, name short", root, protocol.OpUpdateUser, cat(num(1), []byte{1}, name("ig"), []byte{0}), protocol.CodeInvalidUsername, ""},
		{"update user, missing", root, protocol.OpUpdateUser, cat(num(9), []byte{0, 0}), noUser, ""},
		{"update user, oneself without rights", plain, protocol.OpUpdateUser, cat(num(1), []byte{0, 0}), denied, ""},
		{"update user, missing and denied", plain, protocol.OpUpdateUser, cat(num(9), []byte{0, 0}), denied, ""},
		{"update user, unknown status", root, protocol.OpUpdateUser, cat(num(1), []byte{0, 1, 7}), malformed, ""},
		{"delete user", root, protocol.OpDeleteUser, str("plain"), ok, ""},
		{"delete user, root", root, protocol.OpDeleteUser, num(0), protocol.CodeCannotDeleteUser, ""},
		{"delete user, missing", root, protocol.OpDeleteUser, num(5), noUser, ""},
		{"delete user, denied", plain, protocol.OpDeleteUser, num(0), denied, ""},
		{"update permissions", root, protocol.OpUpdatePermissions, cat(num(1), []byte{1}, sized(grantsBody(1, 0, 0, 1, 0))), ok, ""},
		{"update permissions, none", root, protocol.OpUpdatePermissions, cat(num(1), []byte{0}), ok, ""},
		{"update permissions, root", root, protocol.OpUpdatePermissions, cat(num(0), []byte{0}), protocol.CodeCannotChangePermissions, ""},
		{"update permissions, missing", root, protocol.OpUpdatePermissions, cat(num(8), []byte{0}), noUser, ""},
		{"update permissions, denied", plain, protocol.OpUpdatePermissions, cat(num(0), []byte{0}), denied, ""},

		{"create token", plain, protocol.OpCreatePersonalAccessToken, tokenBody(1, "ci", 5), ok, ""},
		{"create token, name taken", root, protocol.OpCreatePersonalAccessToken, tokenBody(0, "ci", 5), protocol.CodePersonalAccessTokenAlreadyExists, ""},
		{"create token, expiry wraps around", root, protocol.OpCreatePersonalAccessToken, tokenBody(0, "c2", ^uint64(1)),
			protocol.CodeInvalidPersonalAccessTokenExpiry, ""},
		{"create token, malformed", root, protocol.OpCreatePersonalAccessToken, []byte{1}, malformed, ""},
		{"delete token", root, protocol.OpDeletePersonalAccessToken, cat(u32(0), name("ci"), []byte{0}), ok, ""},
		{"delete token, of another user", plain, protocol.OpDeletePersonalAccessToken, cat(u32(0), name("ci"), []byte{0}), noUser, ""},
		{"delete token, missing", root, protocol.OpDeletePersonalAccessToken, cat(u32(0), name("c3"), []byte{0}), noUser, ""},

		{"create group", root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("g2")), ok, "010000000300000000000000026732"},
		{"create group, name taken", root, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("workers")), protocol.CodeConsumerGroupNameAlreadyExists, ""},
		{"create group, no stream", plain, protocol.OpCreateConsumerGroup, cat(num(5), num(0), name("g2")), noStream, ""},
		{"create group, no topic", plain, protocol.OpCreateConsumerGroup, cat(num(0), num(5), name("g2")), noTopic, ""},
		{"create group, denied", plain, protocol.OpCreateConsumerGroup, cat(num(0), num(0), name("g2")), denied, ""},
		{"delete group", root, protocol.OpDeleteConsumerGroup, cat(num(0), num(0), str("workers")), ok, ""},
		{"delete group, missing", root, protocol.OpDeleteConsumerGroup, cat(num(0), num(0), num(4)), noGroup, ""},
		{"delete group, missing and denied", plain, protocol.OpDeleteConsumerGroup, cat(num(0), num(0), num(4)), denied, ""},
		{"join", root, protocol.OpJoinConsumerGroup, joinBody(num(0), num(0), num(0), id(root)), ok, ""},
		{"join, no stream", plain, protocol.OpJoinConsumerGroup, joinBody(num(8), num(0), num(0), id(root)), noStream, ""},
		{"join, no topic", plain, protocol.OpJoinConsumerGroup, joinBody(num(0), num(8), num(0), id(root)), noTopic, ""},
		{"join, no group", root, protocol.OpJoinConsumerGroup, joinBody(num(0), num(0), num(8), id(root)), noGroup, ""},
		{"join, denied", plain, protocol.OpJoinConsumerGroup, joinBody(num(0), num(0), num(0), id(plain)), denied, ""},
		{"leave, no member", root, protocol.OpLeaveConsumerGroup, cat(num(0), num(0), num(0), appendUint128(nil, id(root))),
			protocol.CodeConsumerGroupMemberNotFound, ""},
		{"leave, no group", root, protocol.OpLeaveConsumerGroup, cat(num(0), num(0), num(8), appendUint128(nil, id(root))), noGroup, ""},
		{"leave, denied", plain, protocol.OpLeaveConsumerGroup, cat(num(0), num(0), num(0), appendUint128(nil, id(root))), denied, ""},

		{"remove member, from a client", root, protocol.OpRemoveConsumerGroupMember, RemoveMember{}.Append(nil), malformed, ""},
		{"complete revocation, from a client", root, protocol.OpCompleteConsumerGroupRevocation, CompleteRevocation{}.Append(nil), malformed, ""},
		{"operation of another group", root, protocol.OpSendMessages, nil, malformed, ""},
		{"client form of create topic", root, protocol.OpCreateTopic, cat(num(0), u32(1), name("t")), malformed, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := c.run(t)
			checkState(t, g.s)
			checkRestores(t, g.s)
		})
	}
}

// defaultsBlock is the block of a topic that asked for nothing, as the reference sends it.
func defaultsBlock() []byte {
	return cat(
		opt("compression_algorithm", 2, []byte("none")), opt("enforce_fsync", 3, []byte{0}),
		opt("max_topic_size", 12, u64(^uint64(0))), opt("message_expiry", 12, u64(^uint64(0))),
		opt("messages_required_to_save", 11, u32(1024)), opt("preallocate_segments", 3, []byte{0}),
		opt("segment_size", 12, u64(1<<30)), opt("size_of_messages_required_to_save", 12, u64(1<<20)),
	)
}
