package protocol_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// codec decodes a body into the fields that vectors list and encodes what it decoded.
type codec func(body []byte) (fields, []byte, error)

// requestBodies has the codec of every command's request.
var requestBodies = map[protocol.CommandCode]codec{
	protocol.CmdPing: empty, protocol.CmdStats: empty, protocol.CmdClusterMetadata: empty, protocol.CmdClientList: empty,
	protocol.CmdMe: empty, protocol.CmdUserList: empty, protocol.CmdPersonalAccessTokenList: empty, protocol.CmdStreamList: empty,
	protocol.CmdOptionsDescribe: scope, protocol.CmdClientGet: clientID, protocol.CmdSnapshot: snapshot,
	protocol.CmdUserGet: identifier("user_id"), protocol.CmdUserDelete: identifier("user_id"), protocol.CmdUserCreate: createUser,
	protocol.CmdUserUpdate: updateUser, protocol.CmdUserPermissions: updatePermissions, protocol.CmdUserPassword: changePassword,
	protocol.CmdPersonalAccessTokenCreate: createToken, protocol.CmdPersonalAccessTokenDelete: name("name"),
	protocol.CmdStreamGet: identifier("stream_id"), protocol.CmdStreamDelete: identifier("stream_id"),
	protocol.CmdStreamPurge: identifier("stream_id"), protocol.CmdTopicList: identifier("stream_id"),
	protocol.CmdStreamCreate: createStream, protocol.CmdStreamUpdate: updateStream,
	protocol.CmdTopicGet: topicRef, protocol.CmdTopicDelete: topicRef, protocol.CmdTopicPurge: topicRef,
	protocol.CmdConsumerGroupList: topicRef, protocol.CmdTopicCreate: createTopic, protocol.CmdTopicUpdate: updateTopic,
	protocol.CmdPartitionCreate: partitionsChange, protocol.CmdPartitionDelete: partitionsChange,
	protocol.CmdSegmentDelete: deleteSegments, protocol.CmdConsumerGroupCreate: createGroup,
	protocol.CmdConsumerGroupGet: groupRef, protocol.CmdConsumerGroupJoin: groupRef, protocol.CmdConsumerGroupLeave: groupRef,
	protocol.CmdConsumerGroupSync: groupRef, protocol.CmdConsumerGroupDelete: groupRef,
	protocol.CmdConsumerOffsetStore: storeOffset, protocol.CmdConsumerOffsetGet: offsetRef,
	protocol.CmdConsumerOffsetDelete: deleteOffset, protocol.CmdMessageFlushUnsavedBuffer: flush,
}

func TestVectors_CommandBodies(t *testing.T) { proveAll(t, "commands.json", proveBody) }

func proveBody(t *testing.T, v vector) {
	decode, ok := replyBodies[v.Name]
	if v.Direction == "request" {
		decode, ok = requestBodies[protocol.CommandCode(v.Code)]
	}
	if !ok {
		t.Fatal("no codec for this body")
	}
	if info, known := protocol.CommandCode(v.Code).Info(); v.Direction != "primitive" && (!known || uint8(info.Operation) != v.Operation) {
		t.Errorf("command %d is operation %d, want %d", v.Code, info.Operation, v.Operation)
	}
	got, again, err := decode(v.bytes)
	if err != nil {
		t.Fatal(err)
	}
	v.expect(t, got)
	v.expectBytes(t, again)
}

func idValue(i protocol.Identifier) any {
	if i.IsNumeric() {
		return i.ID()
	}
	return string(i.Name())
}

func topicFields(r command.TopicRef) fields {
	return fields{"stream_id": idValue(r.Stream), "topic_id": idValue(r.Topic)}
}

func consumerFields(c protocol.Consumer, partition uint32, present bool) fields {
	f := fields{
		"consumer": fields{"id": idValue(c.ID), "kind": c.Kind}, "consumer_id": idValue(c.ID), "consumer_kind": c.Kind,
		"partition_flag": number(present), "partition_id": nil,
	}
	if present {
		f["partition_id"] = partition
	}
	return f
}

// largest is how the vectors write 2^64-1.
func largest(v uint64) any {
	if v == ^uint64(0) {
		return "2^64-1"
	}
	return v
}

func optionFields(block []byte) fields {
	f := fields{}
	for _, p := range command.Options(block) {
		r := protocol.NewReader(p.Value)
		switch p.ValueKind {
		case protocol.KindString:
			f[string(p.Key)] = string(r.Rest())
		case protocol.KindBool:
			f[string(p.Key)] = r.U8("switch") == 1
		case protocol.KindU32:
			f[string(p.Key)] = r.U32("number")
		case protocol.KindU64:
			f[string(p.Key)] = largest(r.U64("number"))
		}
		if r.End(); r.Err() != nil {
			f[string(p.Key)] = r.Err().Error()
		}
	}
	return f
}

// permissionFields gives permissions the shape they have in the vectors.
func permissionFields(p *command.Permissions) any {
	if p == nil {
		return nil
	}
	streams := fields{}
	for _, s := range p.Streams {
		topics := fields{}
		for _, t := range s.Topics {
			topics[fmt.Sprint(t.Topic)] = without(t, "Topic")
		}
		streams[fmt.Sprint(s.Stream)] = without(s, "Stream", "Topics").add(fields{"Topics": topics})
	}
	all := command.GlobalPermissions{
		ManageServers: true, ReadServers: true, ManageUsers: true, ReadUsers: true, ManageStreams: true, ReadStreams: true,
		ManageTopics: true, ReadTopics: true, PollMessages: true, SendMessages: true,
	}
	if p.Global == all && len(streams) == 0 {
		return "all ten global flags set"
	}
	return fields{"Global": without(p.Global), "Streams": streams}
}

// without turns a struct into fields and leaves some out.
func without(v any, names ...string) fields {
	raw, err := json.Marshal(v)
	f := fields{}
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		return fields{"error": err.Error()}
	}
	for _, n := range names {
		delete(f, n)
	}
	return f
}

func login(body []byte) (fields, []byte, error) {
	l, err := command.DecodeLogin(body)
	f := prefixFields(l.LoginPrefix).add(fields{
		"username": string(l.Username), "password": string(l.Password), "context_len": len(l.Context),
	})
	if _, tokenErr := command.DecodeLoginToken(body); tokenErr == nil {
		return nil, nil, fmt.Errorf("a password sign-in passes for one with a token")
	}
	return f, l.Append(nil), err
}

func loginToken(body []byte) (fields, []byte, error) {
	l, err := command.DecodeLoginToken(body)
	f := prefixFields(l.LoginPrefix).add(fields{"token": string(l.Token), "context_len": len(l.Context)})
	if _, passwordErr := command.DecodeLogin(body); passwordErr == nil {
		return nil, nil, fmt.Errorf("a sign-in with a token passes for one with a password")
	}
	return f, l.Append(nil), err
}

func prefixFields(p command.LoginPrefix) fields {
	return fields{"protocol_version": p.Version, "sdk_name": string(p.SDKName), "sdk_version": string(p.SDKVersion)}
}

func scope(body []byte) (fields, []byte, error) {
	v, err := command.DecodeU8(body)
	return fields{"scope": v}, []byte{v}, err
}

func clientID(body []byte) (fields, []byte, error) {
	v, err := command.DecodeU32(body)
	return fields{"client_id": v}, command.AppendU32(nil, v), err
}

func snapshot(body []byte) (fields, []byte, error) {
	s, err := command.DecodeSnapshot(body)
	sections := []int{}
	for _, b := range s.Sections {
		sections = append(sections, int(b))
	}
	return fields{"compression": s.Compression, "types": sections}, s.Append(nil), err
}

func identifier(field string) codec {
	return func(body []byte) (fields, []byte, error) {
		id, err := command.DecodeIdentifier(body)
		return fields{field: idValue(id)}, id.Append(nil), err
	}
}

func name(field string) codec {
	return func(body []byte) (fields, []byte, error) {
		n, err := command.DecodeName(body)
		return fields{field: string(n)}, protocol.AppendName(nil, n), err
	}
}

func createUser(body []byte) (fields, []byte, error) {
	c, err := command.DecodeCreateUser(body)
	return fields{
		"username": string(c.Username), "password": string(c.Password), "status": c.Status,
		"permissions": permissionFields(c.Permissions),
	}, c.Append(nil), err
}

func updateUser(body []byte) (fields, []byte, error) {
	u, err := command.DecodeUpdateUser(body)
	return fields{"user_id": idValue(u.User), "username": string(u.Username), "status": u.Status}, u.Append(nil), err
}

func updatePermissions(body []byte) (fields, []byte, error) {
	u, err := command.DecodeUpdatePermissions(body)
	return fields{"user_id": idValue(u.User), "permissions": permissionFields(u.Permissions)}, u.Append(nil), err
}

func changePassword(body []byte) (fields, []byte, error) {
	c, err := command.DecodeChangePassword(body)
	return fields{"user_id": idValue(c.User), "current": string(c.Current), "new": string(c.New)}, c.Append(nil), err
}

func createToken(body []byte) (fields, []byte, error) {
	c, err := command.DecodeCreateToken(body)
	f := fields{
		"name": string(c.Name), "expiry_micros": c.ExpiryMicros, "wire_expiry_u64": c.ExpiryMicros,
		"go_expiry_argument": c.ExpiryMicros >> 32,
	}
	if c.ExpiryMicros == ^uint64(0) {
		f["expiry"] = "never (2^64-1)"
	}
	return f, c.Append(nil), err
}
