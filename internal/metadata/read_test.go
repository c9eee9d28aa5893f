package metadata

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/galgolog/galgo/internal/metadata/balance"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// counters answers with what a test put in.
type counters map[[3]uint32]Stats

func (c counters) PartitionStats(stream, topic, partition uint32) Stats {
	return c[[3]uint32{stream, topic, partition}]
}

func topicOf(name string, partitions uint32) *Topic {
	t := &Topic{CreatedAt: startOfTime, Name: name, Options: standardOptions()}
	t.partitions = t.partitions.grow(partitions, Partition{CreatedAt: startOfTime})
	return t
}

func userOf(id uint32, name string, status UserStatus, g *Grants) *User {
	u := &User{ID: id, CreatedAt: startOfTime, Name: name, Status: status, grants: g}
	if id == RootUser {
		u.CreatedAt = rootCreatedAt
	}
	return u
}

// TestReplies_GoldenVectors builds each reply from entities and compares it with what the SDKs decode.
func TestReplies_GoldenVectors(t *testing.T) {
	var golden map[string]string
	raw, err := os.ReadFile("testdata/replies.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	busy := counters{{0, 0, 0}: {SegmentsCount: 1, CurrentOffset: 9, SizeBytes: 4096, MessagesCount: 10}}
	orders := &Stream{CreatedAt: startOfTime, Name: "orders"}
	logs := &Stream{ID: 1, CreatedAt: startOfTime + 1, Name: "logs"}
	events := topicOf("events", 1)
	full := *orders
	full.topics = full.topics.Set(0, events)
	v := &View{}
	v.streams = v.streams.Set(0, &full).Set(1, logs)

	grants := grantsVector()
	v.users = v.users.Set(0, userOf(0, "iggy", UserActive, nil)).Set(1, userOf(1, "bob", UserActive, nil))
	owner := userOf(1, "bob", UserActive, nil)
	owner.tokens = owner.tokens.Set("forever", &Token{Name: "forever"}).Set("ci", &Token{Name: "ci", ExpiresAt: startOfTime})

	three := topicOf("events", 3)
	workers := newGroup(0, "workers", balance.Group{Generation: 5, Members: []balance.Member{
		{ID: 0, Client: id(1), Owned: []uint32{0, 2}}, {ID: 1, Client: id(2), Owned: []uint32{1}},
	}}, 3)
	v.memberships = v.memberships.Set(id(9), []GroupRef{{0, 0, 3}})
	first := &ConnectedClient{ID: 9, Transport: 1, Address: "127.0.0.1:50000", Client: id(9)}
	second := &ConnectedClient{ID: 10, User: AnonymousUser, Transport: 4, Address: "[::1]:9"}

	for name, got := range map[string][]byte{
		"resp_create_stream":                appendStreamHeader(nil, orders, Stats{}),
		"resp_create_topic":                 appendTopicDetails(nil, 0, topicOf("events", 2), nil),
		"resp_get_topic":                    AppendTopic(nil, &full, events, busy),
		"resp_get_topics":                   AppendTopics(nil, &full, busy),
		"resp_get_topics_empty":             AppendTopics(nil, nil, busy),
		"resp_get_stream_one_topic":         AppendStream(nil, &full, busy),
		"resp_get_streams":                  v.AppendStreams(nil, busy),
		"resp_get_user_no_permissions":      AppendUser(nil, userOf(1, "bob", UserActive, nil)),
		"resp_create_user_with_permissions": AppendUser(nil, userOf(1, "bob", UserInactive, grants)),
		"primitive_permissions":             grants.append(nil),
		"resp_get_users":                    v.AppendUsers(nil),
		"resp_get_personal_access_tokens":   AppendTokens(nil, owner),
		"resp_get_client":                   v.AppendClient(nil, first, true),
		"resp_get_clients":                  v.AppendClient(v.AppendClient(nil, first, false), second, false),
		"resp_create_consumer_group":        appendGroupHeader(nil, three, newGroup(0, "workers", balance.Group{}, 3)),
		"resp_get_consumer_group":           AppendGroup(nil, three, workers),
		"resp_sync_consumer_group":          AppendSync(nil, workers, id(1)),
	} {
		if hex.EncodeToString(got) != golden[name] {
			t.Errorf("%s:\n got %x\nwant %s", name, got, golden[name])
		}
	}
}

// grantsVector is the record of the golden vectors: read servers, read streams, poll; in stream 7 read and
// send; in its topic 3 manage and send.
func grantsVector() *Grants {
	return grantsOf(&command.Permissions{
		Global: command.GlobalPermissions{ReadServers: true, ReadStreams: true, PollMessages: true},
		Streams: []command.StreamPermissions{{
			Stream: 7, ReadStream: true, SendMessages: true,
			Topics: []command.TopicPermissions{{Topic: 3, ManageTopic: true, SendMessages: true}},
		}},
	})
}

func TestReads_NobodyAndNothing(t *testing.T) {
	v := &View{}
	g := newGroup(0, "g", balance.Group{}, 4)
	for name, got := range map[string][]byte{
		"streams":            v.AppendStreams(nil, counters{}),
		"users":              v.AppendUsers(nil),
		"groups":             AppendGroups(nil, topicOf("t", 1)),
		"sync of no group":   AppendSync(nil, nil, id(1)),
		"sync of a stranger": AppendSync(nil, g, id(1)),
		"tokens":             AppendTokens(nil, userOf(1, "bob", UserActive, nil)),
	} {
		if len(got) != 0 {
			t.Errorf("%s: % x", name, got)
		}
	}
}

func TestSync_LeavesOutWhatIsBeingHandedOver(t *testing.T) {
	deal := balance.Group{}.Join(id(1), 1, 4, nil, 0).Join(id(2), 1, 4, []uint32{3}, 7)
	g := newGroup(0, "g", deal, 4)
	if got := hex.EncodeToString(AppendSync(nil, g, id(1))); got != "0200000000000000"+"02000000"+"00000000"+"01000000" {
		t.Fatalf("sync %s", got)
	}
	if got := hex.EncodeToString(AppendGroup(nil, topicOf("t", 4), g)[14:]); got !=
		"00000000"+"03000000"+"00000000"+"01000000"+"03000000"+"01000000"+"01000000"+"02000000" {
		t.Fatalf("group %s", got)
	}
	for _, c := range []struct {
		client    uint64
		partition uint32
		want      Ownership
	}{{1, 0, Owner}, {1, 3, HandingOver}, {2, 3, NotOwner}, {2, 2, Owner}, {3, 0, NotMember}, {1, 9, NotOwner}} {
		if got := g.Owns(id(c.client), c.partition); got != c.want {
			t.Errorf("client %d, partition %d: %d, want %d", c.client, c.partition, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { g.Owns(id(1), 3); g.Owns(id(3), 3) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestTotals_CountASegmentForEveryPartition(t *testing.T) {
	v := &View{}
	s := &Stream{Name: "s"}
	s.topics = s.topics.Set(0, topicOf("a", 2)).Set(1, &Topic{ID: 1, Name: "b"})
	v.streams = v.streams.Set(0, s)
	sum := v.Totals(counters{{0, 0, 1}: {SegmentsCount: 4, SizeBytes: 10, MessagesCount: 3}})
	if sum != (Stats{SegmentsCount: 5, SizeBytes: 10, MessagesCount: 3}) {
		t.Fatalf("%+v", sum)
	}
}
