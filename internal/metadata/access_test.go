package metadata

import (
	"slices"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// accessTable is written out flag by flag, one line a command: G, S and T are the flags of the three levels
// of which any one is enough. It is the contract that the masks must come to.
const accessTable = `
1   ping                    open
10  get-stats               G:manage_servers,read_servers
11  get-snapshot            G:manage_servers,read_servers
12  get-cluster-metadata    open
13  describe-options        open
20  get-me                  open
21  get-client              G:manage_servers,read_servers
22  get-clients             G:manage_servers,read_servers
31  get-user                G:manage_users,read_users self
32  get-users               G:manage_users,read_users
33  create-user             G:manage_users
34  delete-user             G:manage_users
35  update-user             G:manage_users
36  update-permissions      G:manage_users
37  change-password         G:manage_users self
41  get-tokens              open
42  create-token            open
43  delete-token            open
100 poll                    G:manage_streams,read_streams,manage_topics,read_topics,poll_messages S:manage_stream,read_stream,manage_topics,read_topics,poll_messages T:manage_topic,read_topic,poll_messages
101 send                    G:manage_streams,manage_topics,send_messages S:manage_stream,manage_topics,send_messages T:manage_topic,send_messages
102 flush                   G:manage_streams,manage_topics,send_messages S:manage_stream,manage_topics,send_messages T:manage_topic,send_messages
120 get-offset              G:manage_streams,read_streams,manage_topics,read_topics,poll_messages S:manage_stream,read_stream,manage_topics,read_topics,poll_messages T:manage_topic,read_topic,poll_messages
121 store-offset            G:manage_streams,read_streams,manage_topics,read_topics,poll_messages S:manage_stream,read_stream,manage_topics,read_topics,poll_messages T:manage_topic,read_topic,poll_messages
122 delete-offset           G:manage_streams,read_streams,manage_topics,read_topics,poll_messages S:manage_stream,read_stream,manage_topics,read_topics,poll_messages T:manage_topic,read_topic,poll_messages
200 get-stream              G:manage_streams,read_streams S:manage_stream,read_stream
201 get-streams             G:manage_streams,read_streams
202 create-stream           G:manage_streams
203 delete-stream           G:manage_streams S:manage_stream
204 update-stream           G:manage_streams S:manage_stream
205 purge-stream            G:manage_streams S:manage_stream
300 get-topic               G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
301 get-topics              G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics
302 create-topic            G:manage_streams,manage_topics S:manage_stream,manage_topics
303 delete-topic            G:manage_streams,manage_topics S:manage_stream,manage_topics T:manage_topic
304 update-topic            G:manage_streams,manage_topics S:manage_stream,manage_topics T:manage_topic
305 purge-topic             G:manage_streams,manage_topics S:manage_stream,manage_topics T:manage_topic
402 create-partitions       G:manage_streams,manage_topics S:manage_stream,manage_topics T:manage_topic
403 delete-partitions       G:manage_streams,manage_topics S:manage_stream,manage_topics T:manage_topic
503 delete-segments         G:manage_streams,manage_topics S:manage_stream,manage_topics T:manage_topic
600 get-group               G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
601 get-groups              G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
602 create-group            G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
603 delete-group            G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
604 join-group              G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
605 leave-group             G:manage_streams,read_streams,manage_topics,read_topics S:manage_stream,read_stream,manage_topics,read_topics T:manage_topic,read_topic
606 sync-group              open
`

var flagNames = map[string][]string{
	"G": {"manage_servers", "read_servers", "manage_users", "read_users", "manage_streams", "read_streams",
		"manage_topics", "read_topics", "poll_messages", "send_messages"},
	"S": {"manage_stream", "read_stream", "manage_topics", "read_topics", "poll_messages", "send_messages"},
	"T": {"manage_topic", "read_topic", "poll_messages", "send_messages"},
}

type accessRow struct {
	code       protocol.CommandCode
	name       string
	open, self bool
	flags      map[string][]string
}

func accessRows(t *testing.T) []accessRow {
	var rows []accessRow
	for _, line := range strings.Split(strings.TrimSpace(accessTable), "\n") {
		f := strings.Fields(line)
		row := accessRow{name: f[1], flags: map[string][]string{}}
		for _, digit := range f[0] {
			row.code = row.code*10 + protocol.CommandCode(digit-'0')
		}
		for _, word := range f[2:] {
			level, list, found := strings.Cut(word, ":")
			switch {
			case word == "open":
				row.open = true
			case word == "self":
				row.self = true
			case found:
				row.flags[level] = strings.Split(list, ",")
			default:
				t.Fatalf("line %q", line)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// viewWith is a picture with root, user 1 with that record, user 2 without one and user 3, inactive, with
// everything.
func viewWith(g *Grants) *View {
	v := &View{}
	for _, u := range []*User{
		{ID: 0, Name: "root", Status: UserActive},
		{ID: 1, Name: "some", Status: UserActive, grants: g},
		{ID: 2, Name: "none", Status: UserActive},
		{ID: 3, Name: "idle", Status: UserInactive, grants: &Grants{global: globalAll}},
	} {
		v.users = v.users.Set(u.ID, u)
	}
	return v
}

// TestAllowed_EveryFlagOfEveryCommand gives one flag at a time, on the addressed stream and topic and on
// their neighbours, to a user that has nothing else.
func TestAllowed_EveryFlagOfEveryCommand(t *testing.T) {
	const stream, topic = 7, 3
	here := Target{Stream: stream, Topic: topic}
	for _, row := range accessRows(t) {
		for level, names := range flagNames {
			for bit, name := range names {
				mask := uint16(1) << bit
				on := func(s, p uint32) *Grants {
					g := &Grants{}
					switch level {
					case "G":
						g.global = mask
					case "S":
						g.setStream(s, mask)
					case "T":
						g.setStream(s, 0).setTopic(p, mask)
					}
					return g
				}
				want := row.open || slices.Contains(row.flags[level], name)
				if got := viewWith(on(stream, topic)).Allowed(1, row.code, here); got != want {
					t.Errorf("%s with %s.%s: %v, want %v", row.name, level, name, got, want)
				}
				if level == "G" {
					continue
				}
				for _, g := range []*Grants{on(stream+1, topic), on(stream, topic+1)} {
					if level == "S" && g.streams[0].id == stream {
						continue
					}
					if got := viewWith(g).Allowed(1, row.code, here); got != row.open {
						t.Errorf("%s with %s.%s elsewhere: %v", row.name, level, name, got)
					}
				}
			}
		}
	}
}

func TestAllowed_WhoIsExempt(t *testing.T) {
	for _, row := range accessRows(t) {
		v := viewWith(nil)
		if !v.Allowed(RootUser, row.code, Target{}) {
			t.Errorf("root may not %s", row.name)
		}
		if got := v.Allowed(2, row.code, Target{}); got != row.open {
			t.Errorf("%s without a record: %v", row.name, got)
		}
		if v.Allowed(3, row.code, Target{}) || v.Allowed(9, row.code, Target{}) {
			t.Errorf("%s by an inactive user or by nobody", row.name)
		}
		if got := v.Allowed(2, row.code, Target{User: v.UserByID(2)}); got != (row.open || row.self) {
			t.Errorf("%s on oneself: %v", row.name, got)
		}
		if got := v.Allowed(2, row.code, Target{User: v.UserByID(1)}); got != row.open {
			t.Errorf("%s on another: %v", row.name, got)
		}
	}
}

func TestAllowed_WhatHasNoRuleIsDenied(t *testing.T) {
	v := viewWith(&Grants{global: globalAll})
	var listed []protocol.CommandCode
	for _, row := range accessRows(t) {
		listed = append(listed, row.code)
	}
	for code := range protocol.CommandCode(2000) {
		if slices.Contains(listed, code) {
			continue
		}
		if v.Allowed(1, code, Target{}) || v.Allowed(RootUser, code, Target{}) {
			t.Errorf("command %d has no rule and passes", code)
		}
	}
	if v.Allowed(RootUser, ^protocol.CommandCode(0), Target{}) {
		t.Error("the highest code passes")
	}
}

func TestAccess_EveryReplicatedOperationHasACommandOrIsTheServers(t *testing.T) {
	servers := []protocol.Operation{
		protocol.OpRemoveConsumerGroupMember, protocol.OpCompleteConsumerGroupRevocation, protocol.OpBootstrap,
	}
	s := New()
	for op := range 256 {
		op := protocol.Operation(op)
		if !op.IsMetadata() || s.handler(op) == nil {
			continue
		}
		code := commandOf(op)
		if (code == 0) != slices.Contains(servers, op) {
			t.Errorf("%v is guarded by command %d", op, code)
		}
		if code != 0 && accessRules[code] == (rule{}) {
			t.Errorf("%v: command %d has no rule", op, code)
		}
	}
}

func TestAllowed_DoesNotAllocate(t *testing.T) {
	g := &Grants{}
	g.setStream(7, 0).setTopic(3, topicReadTopic)
	v := viewWith(g)
	if n := testing.AllocsPerRun(100, func() { v.Allowed(1, 100, Target{Stream: 7, Topic: 3}) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestGrants_DroppingLeavesTheOldRecordAlone(t *testing.T) {
	g := &Grants{global: 3}
	s := g.setStream(5, streamReadStream)
	s.setTopic(2, topicReadTopic)
	s.setTopic(1, topicManageTopic)
	g.setStream(1, streamManageStream)
	before := string(g.append(nil))
	if d := g.withoutTopic(5, 2); len(d.streams[1].topics) != 1 || d.streams[1].topics[0].id != 1 {
		t.Fatalf("without topic: %+v", d)
	}
	if d := g.withoutStream(1); len(d.streams) != 1 || d.streams[0].id != 5 {
		t.Fatalf("without stream: %+v", d)
	}
	if g.withoutTopic(5, 9) != g || g.withoutTopic(9, 1) != g || g.withoutStream(9) != g {
		t.Fatal("dropping nothing made a new record")
	}
	if string(g.append(nil)) != before {
		t.Fatal("the record was changed")
	}
}
