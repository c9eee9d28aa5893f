package protocol_test

import (
	"bytes"
	"fmt"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// replyBodies has the codec of every reply and primitive of commands.json by the name of its vector.
var replyBodies = map[string]codec{
	"primitive_options_block": optionsBlock, "primitive_permissions": permissions,
	"resp_get_consumer_offset": offsetReply, "resp_create_stream": streamDetails, "resp_create_topic": topicDetails,
	"resp_get_topic": topicDetails, "resp_get_topics": topics, "resp_get_topics_empty": topics,
	"resp_get_stream_one_topic": streamDetails, "resp_get_streams": streams, "resp_get_user_no_permissions": userDetails,
	"resp_create_user_with_permissions": userDetails, "resp_get_users": users,
	"resp_create_personal_access_token": name("token"), "resp_get_personal_access_tokens": tokens,
	"resp_get_client": client, "resp_get_clients": clients, "resp_create_consumer_group": groupDetails,
	"resp_get_consumer_group": groupDetails, "resp_sync_consumer_group": syncReply,
	"resp_describe_options_two": optionDescriptions, "resp_get_cluster_metadata": clusterMetadata, "resp_get_stats": stats,
	"result_rejection_stream_exists": resultSection, "result_ok_empty": resultSection,
}

func resultSection(body []byte) (fields, []byte, error) {
	code, payload, ok := protocol.CutResult(body)
	if !ok || len(payload) != 0 {
		return nil, nil, fmt.Errorf("no result section alone")
	}
	f := fields{"count": number(code != protocol.Success), "index": 0, "result": code}
	return f, protocol.AppendResult(nil, code), nil
}

func optionsBlock(block []byte) (fields, []byte, error) {
	if !protocol.CheckPairs(block) {
		return nil, nil, fmt.Errorf("block does not check")
	}
	made := command.AppendOptions(nil, command.BoolOption("enforce_fsync", true), command.U64Option("segment_size", 1<<30))
	if !bytes.Equal(made, block) {
		return nil, nil, fmt.Errorf("made %x", made)
	}
	return optionFields(block), command.AppendOptions(nil, command.Options(block)...), nil
}

func permissions(record []byte) (fields, []byte, error) {
	p, err := command.DecodePermissions(record)
	f, _ := permissionFields(&p).(fields)
	return f, p.Append(nil), err
}

func loginReply(payload []byte) (fields, []byte, error) {
	l, err := command.DecodeLoginReply(payload)
	return fields{
		"user_id": l.UserID, "session": l.Session, "server_protocol_version": l.Version, "server_version": string(l.ServerVersion),
	}, l.Append(nil), err
}

func offsetReply(payload []byte) (fields, []byte, error) {
	o, stored, err := command.DecodeOffsetReply(payload)
	if !stored {
		return nil, nil, fmt.Errorf("nothing stored: %w", err)
	}
	return fields{"partition_id": o.Partition, "current_offset": o.CurrentOffset, "stored_offset": o.Stored}, o.Append(nil), err
}

func streamDetails(payload []byte) (fields, []byte, error) {
	d, err := command.DecodeStreamDetails(payload)
	f := fields{
		"id": d.ID, "stream_id": d.ID, "created_at": d.CreatedAt, "topics_count": d.TopicsCount, "size_bytes": d.SizeBytes,
		"messages_count": d.MessagesCount, "name": string(d.Name),
	}
	if len(d.Topics) == 1 {
		f["topic"] = string(d.Topics[0].Name)
	}
	return f, d.Append(nil), err
}

func streams(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeStreams(payload)
	var names []string
	var again []byte
	for _, s := range all {
		names, again = append(names, string(s.Name)), s.Append(again)
	}
	return fields{"streams": names}, again, err
}

// catalogue is what a server fills in for a topic that was created without options, sorted by key.
var catalogue = command.AppendOptions(nil,
	command.StringOption("compression_algorithm", "none"), command.BoolOption("enforce_fsync", false),
	command.U64Option("max_topic_size", ^uint64(0)), command.U64Option("message_expiry", ^uint64(0)),
	command.U32Option("messages_required_to_save", 1024), command.BoolOption("preallocate_segments", false),
	command.U64Option("segment_size", 1<<30), command.U64Option("size_of_messages_required_to_save", 1<<20))

func topicDetails(payload []byte) (fields, []byte, error) {
	d, err := command.DecodeTopicDetails(payload)
	f := fields{
		"id": d.ID, "created_at": d.CreatedAt, "compression": d.Compression, "max_topic_size": largest(d.MaxTopicSize),
		"message_expiry": largest(d.MessageExpiry), "name": string(d.Name), "options": optionFields(d.Explicit),
	}
	if bytes.Equal(d.Derived, catalogue) {
		f["derived_options"] = "all eight catalogue defaults, sorted by key"
	}
	var partitions []any
	for _, p := range d.Partitions {
		partitions = append(partitions, fields{"id": p.ID, "segments_count": p.SegmentsCount})
	}
	f["partitions"] = partitions
	if len(d.Partitions) == 1 {
		p := d.Partitions[0]
		f["partition"] = fields{
			"id": p.ID, "segments_count": p.SegmentsCount, "current_offset": p.CurrentOffset, "size_bytes": p.SizeBytes,
			"messages_count": p.MessagesCount,
		}
	}
	return f, d.Append(nil), err
}

func topics(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeTopics(payload)
	names := []string{}
	for _, h := range all {
		names = append(names, string(h.Name))
	}
	return fields{"topics_count": len(all), "names": names}, command.AppendTopics(nil, all...), err
}

func userDetails(payload []byte) (fields, []byte, error) {
	u, err := command.DecodeUserDetails(payload)
	return fields{
		"id": u.ID, "status": u.Status, "username": string(u.Username), "permissions": permissionFields(u.Permissions),
	}, u.Append(nil), err
}

func users(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeUsers(payload)
	var names []string
	var again []byte
	for _, u := range all {
		names, again = append(names, string(u.Username)), u.Append(again)
	}
	return fields{"users": names}, again, err
}

func tokens(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeTokens(payload)
	var list []any
	var again []byte
	for _, k := range all {
		list, again = append(list, fields{"name": string(k.Name), "expiry_at": k.ExpiresAt}), k.Append(again)
	}
	return fields{"tokens": list}, again, err
}

func client(payload []byte) (fields, []byte, error) {
	c, err := command.DecodeClient(payload)
	var groups []any
	for _, g := range c.Groups {
		groups = append(groups, fields{"stream_id": g.Stream, "topic_id": g.Topic, "group_id": g.Group})
	}
	return fields{
		"client_id": c.ID, "user_id": c.User, "transport": c.Transport, "address": c.Address, "groups": groups,
	}, c.Append(nil), err
}

func clients(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeClients(payload)
	var again []byte
	for _, c := range all {
		again = c.AppendHeader(again)
	}
	if len(all) == 2 && (all[1].User != command.NoUser || all[1].Transport != command.TransportWebSocket || all[0].GroupsCount != 1) {
		err = fmt.Errorf("records %+v", all)
	}
	return fields{"clients": len(all)}, again, err
}

func groupDetails(payload []byte) (fields, []byte, error) {
	d, err := command.DecodeGroupDetails(payload)
	var members []any
	for _, m := range d.Members {
		members = append(members, fields{"id": m.ID, "partitions": m.Partitions})
	}
	return fields{
		"id": d.ID, "members_count": d.MembersCount, "partitions_count": d.PartitionsCount, "name": string(d.Name), "members": members,
	}, d.Append(nil), err
}

func syncReply(payload []byte) (fields, []byte, error) {
	s, err := command.DecodeSyncReply(payload)
	return fields{
		"generation": s.Generation, "partitions": s.Partitions,
		"assignment": fields{"Generation": s.Generation, "Partitions": s.Partitions},
	}, s.Append(nil), err
}

func optionDescriptions(payload []byte) (fields, []byte, error) {
	all, err := command.DecodeOptionDescriptions(payload)
	var keys []string
	for _, o := range all {
		keys = append(keys, o.Key)
	}
	return fields{"entries": keys}, command.AppendOptionDescriptions(nil, all), err
}

func clusterMetadata(payload []byte) (fields, []byte, error) {
	c, err := command.DecodeClusterMetadata(payload)
	var nodes []any
	for _, n := range c.Nodes {
		nodes = append(nodes, fields{
			"name": n.Name, "ip": n.Host, "tcp": n.TCP, "quic": n.QUIC, "http": n.HTTP, "websocket": n.WebSocket,
			"role": n.Role, "status": n.Status,
		})
	}
	return fields{"name": c.Name, "nodes": nodes}, c.Append(nil), err
}

func stats(payload []byte) (fields, []byte, error) {
	s, err := command.DecodeStats(payload)
	return fields{
		"process_id": s.ProcessID, "hostname": s.Hostname, "server_version": s.ServerVersion, "semver": s.ServerVersionNumber,
		"threads": s.Threads,
	}, s.Append(nil), err
}
