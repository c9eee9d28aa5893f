package session

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func TestReads_OfWhatIsMissing(t *testing.T) {
	r := openRig(t, setup{})
	r.topic("s", "t", 1)
	for _, c := range []struct {
		name string
		code protocol.CommandCode
		body []byte
		want outcome
	}{
		{"user", protocol.CmdUserGet, named("nobody"), outcome{}},
		{"stream", protocol.CmdStreamGet, named("none"), outcome{}},
		{"topic", protocol.CmdTopicGet, at("s", "none").Append(nil), outcome{}},
		{"topic of no stream", protocol.CmdTopicGet, at("none", "t").Append(nil), outcome{}},
		{"client", protocol.CmdClientGet, command.AppendU32(nil, 12345), outcome{}},
		{"group", protocol.CmdConsumerGroupGet, groupBody(at("s", "t"), "none"), outcome{}},
		{"sync of no group", protocol.CmdConsumerGroupSync, groupBody(at("s", "t"), "none"), outcome{}},
		{"sync of no stream", protocol.CmdConsumerGroupSync, groupBody(at("none", "t"), "none"), outcome{}},
		{"group of no topic", protocol.CmdConsumerGroupGet, groupBody(at("s", "none"), "g"), denied(protocol.CodeTopicIdNotFound)},
		{"group of no stream", protocol.CmdConsumerGroupGet, groupBody(at("none", "t"), "g"), denied(protocol.CodeStreamIdNotFound)},
		{"groups of no topic", protocol.CmdConsumerGroupList, at("s", "none").Append(nil), denied(protocol.CodeTopicIdNotFound)},
		{"groups of no stream", protocol.CmdConsumerGroupList, at("none", "t").Append(nil), denied(protocol.CodeStreamIdNotFound)},
	} {
		reply, err := r.root.Read(c.code, c.body)
		r.root.wants(c.name, err, c.want)
		if err == nil && len(reply.Body) != 0 {
			t.Errorf("%s: %d bytes", c.name, len(reply.Body))
		}
	}
	if got := r.root.ask(protocol.CmdTopicList, named("none")); !bytes.Equal(got, []byte{0, 0, 0, 0}) {
		t.Errorf("topics of no stream: %x", got)
	}
}

func TestReads_OfWhatIsThere(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 2)
	r.topic("s", "u", 0)
	r.group(ref, "g")
	r.group(ref, "h")
	r.newUser("bob", nil)
	r.root.send(ref, to(1), "abc")
	const size = 256 + 48 + 3
	topic := sure2(r.root.GetTopic(ref))
	if topic.MessagesCount != 1 || topic.SizeBytes != size || topic.Partitions[0].SegmentsCount != 1 || topic.Partitions[1].MessagesCount != 1 {
		t.Errorf("topic %+v", topic)
	}
	stream := sure2(r.root.GetStream(protocol.NumericID(0)))
	if stream.TopicsCount != 2 || stream.MessagesCount != 1 || stream.SizeBytes != size || len(stream.Topics) != 2 {
		t.Errorf("stream %+v", stream)
	}
	if all := sure(command.DecodeStreams(r.root.ask(protocol.CmdStreamList, nil))); len(all) != 1 || string(all[0].Name) != "s" {
		t.Errorf("streams %+v", all)
	}
	if all := sure(command.DecodeTopics(r.root.ask(protocol.CmdTopicList, named("s")))); len(all) != 2 {
		t.Errorf("topics %+v", all)
	}
	if all := sure(command.DecodeGroups(r.root.ask(protocol.CmdConsumerGroupList, ref.Append(nil)))); len(all) != 2 || string(all[1].Name) != "h" {
		t.Errorf("groups %+v", all)
	}
	if all := sure(command.DecodeUsers(r.root.ask(protocol.CmdUserList, nil))); len(all) != 2 || string(all[0].Username) != rootName {
		t.Errorf("users %+v", all)
	}
	u := sure(command.DecodeUserDetails(r.root.ask(protocol.CmdUserGet, named(rootName))))
	if u.ID != 0 || u.CreatedAt != 1 || u.Permissions == nil || !u.Permissions.Global.ManageServers {
		t.Errorf("root %+v", u)
	}
	if got := len(sure(command.DecodeOptionDescriptions(r.root.ask(protocol.CmdOptionsDescribe, []byte{command.ScopeTopic})))); got != 8 {
		t.Errorf("%d topic options", got)
	}
	for _, scope := range []byte{command.ScopeStream, command.ScopeUser} {
		if got := r.root.ask(protocol.CmdOptionsDescribe, []byte{scope}); !bytes.Equal(got, []byte{0, 0, 0, 0}) {
			t.Errorf("scope %d: %x", scope, got)
		}
	}
	r.root.reads("scope 4", protocol.CmdOptionsDescribe, []byte{4}, denied(protocol.CodeInvalidCommand))
	stats := sure(command.DecodeStats(r.root.ask(protocol.CmdStats, nil)))
	if stats.Streams != 1 || stats.Topics != 2 || stats.Partitions != 2 || stats.Segments != 2 || stats.Messages != 1 || stats.MessagesBytes != size ||
		stats.Groups != 2 || stats.Clients != 1 || stats.ProcessID == 0 || stats.RunTime == 0 || stats.StartTime == 0 || stats.Hostname == "" ||
		stats.ServerVersion != protocol.ServerVersion {
		t.Errorf("stats %+v", stats)
	}
}

func TestReads_ClientsOfThisNode(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	g := r.group(ref, "g")
	anonymous := r.dial()
	anonymous.must(anonymous.Ping())
	r.newUser("bob", nil)
	bob := r.as("bob")
	r.root.must(r.root.JoinGroup(g))
	me := sure(command.DecodeClient(bob.ask(protocol.CmdMe, nil)))
	if me.User != bob.UserID() || me.Transport != command.TransportTCP || me.Address != bob.NetConn().LocalAddr().String() || me.GroupsCount != 0 {
		t.Errorf("me: %+v", me)
	}
	all := sure(command.DecodeClients(r.root.ask(protocol.CmdClientList, nil)))
	if len(all) != 3 || !slices.IsSortedFunc(all, func(a, b command.ClientRecord) int { return int(a.ID) - int(b.ID) }) {
		t.Fatalf("clients %+v", all)
	}
	if all[0].User != 0 || all[0].GroupsCount != 1 || all[1].User != command.NoUser || all[2].ID != me.ID {
		t.Errorf("clients %+v", all)
	}
	one := sure(command.DecodeClient(r.root.ask(protocol.CmdClientGet, command.AppendU32(nil, all[0].ID))))
	if one.Address != r.root.NetConn().LocalAddr().String() || len(one.Groups) != 1 || one.Groups[0] != (command.ClientGroup{}) {
		t.Errorf("client %+v", one)
	}
	_ = bob.Close()
	eventually(t, "a closed connection is listed no more", func() bool {
		return len(sure(command.DecodeClients(r.root.ask(protocol.CmdClientList, nil)))) == 2
	})
}

func TestReads_RosterNamesTheBoundPort(t *testing.T) {
	r := openRig(t, setup{session: func(o *Options) {
		o.Roster = func(tcp uint16) command.ClusterMetadata {
			return command.ClusterMetadata{Name: "single-node", Nodes: []command.ClusterNode{{Name: "iggy-node", Host: "127.0.0.1", TCP: tcp}}}
		}
	}})
	port := uint16(r.door.Addr().(*net.TCPAddr).Port)
	r.sessions.Bound(port)
	got := sure(command.DecodeClusterMetadata(r.root.ask(protocol.CmdClusterMetadata, nil)))
	if got.Name != "single-node" || len(got.Nodes) != 1 || got.Nodes[0].TCP != port || got.Nodes[0].Role != 0 || got.Nodes[0].Status != 0 {
		t.Errorf("roster %+v", got)
	}
}

func TestSnapshot_SectionsAndRefusals(t *testing.T) {
	var size atomic.Int64 // bytes of a section
	blocked := make(chan chan struct{}, 1)
	archive := func(section byte) (string, []byte, error) {
		select {
		case hold := <-blocked:
			<-hold
		default:
		}
		if section == 3 {
			return "", nil, errors.New("cannot be collected")
		}
		return string('a' + rune(section)), bytes.Repeat([]byte{section}, int(size.Load())), nil
	}
	r := openRig(t, setup{session: func(o *Options) { o.Archive, o.MaxFrameBytes = archive, 64<<10 }})
	r.newUser("nobody", nil)
	names := func(body []byte) (all []string) {
		z := sure(zip.NewReader(bytes.NewReader(body), int64(len(body))))
		for _, f := range z.File {
			content := sure(io.ReadAll(sure(f.Open())))
			all = append(all, f.Name+string('0'+rune(len(content))))
		}
		return all
	}
	size.Store(3)
	for _, c := range []struct {
		body []byte
		want []string
	}{
		{[]byte{2, 1, 100}, []string{"b3", "c3", "f3", "g3"}}, {[]byte{1, 2, 4, 6}, []string{"e3", "g3"}},
		{[]byte{6, 2, 4, 4}, []string{"e3", "e3"}}, {[]byte{1, 0}, nil},
	} {
		if got := names(r.root.ask(protocol.CmdSnapshot, c.body)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v; want %v", c.body, got, c.want)
		}
	}
	for _, body := range [][]byte{nil, {2}, {0, 1, 1}, {7, 1, 1}, {2, 1, 7}, {2, 2, 100, 1}, {2, 2, 1}} {
		r.root.reads("bad request", protocol.CmdSnapshot, body, denied(protocol.CodeInvalidCommand))
	}
	r.as("nobody").reads("no right", protocol.CmdSnapshot, nil, denied(protocol.CodeUnauthorized))
	size.Store(100 << 10)
	r.root.reads("too large", protocol.CmdSnapshot, []byte{1, 1, 4}, denied(protocol.CodeSnapshotFileCompletionFailed))
	size.Store(3)
	hold := make(chan struct{})
	blocked <- hold
	r.root.must(r.root.Send(protocol.OpNonReplicated, protocol.CmdSnapshot, []byte{1, 1, 4}))
	eventually(t, "the first collection runs", func() bool { return len(blocked) == 0 })
	second := r.as(rootName)
	second.reads("another one runs", protocol.CmdSnapshot, []byte{1, 1, 4}, denied(protocol.CodeSnapshotFileCompletionFailed))
	close(hold)
	if _, err := r.root.Receive(); err != nil {
		t.Error(err)
	}
}

func TestPurge_CountersAreZeroAtOnce(t *testing.T) {
	r := openRig(t, setup{})
	ref := r.topic("s", "t", 1)
	for range 20 {
		r.root.send(ref, to(0), "x", "y")
		r.root.apply(protocol.OpPurgeTopic, ref.Append(nil))
		if topic := sure2(r.root.GetTopic(ref)); topic.MessagesCount != 0 || topic.SizeBytes != 0 {
			t.Fatalf("after a purge: %d messages, %d bytes", topic.MessagesCount, topic.SizeBytes)
		}
	}
}
