package command

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// ending says what may follow a body.
type ending int

const (
	delimited ending = iota // bytes behind it are ignored
	exact                   // bytes behind it are refused
	open                    // it runs to the end: a list, options or records
)

// decoder is one Decode function with its encoder and bodies that it takes.
type decoder struct {
	decode  func(body []byte) (again []byte, err error)
	ending  ending
	samples [][]byte
}

type appender interface{ Append(dst []byte) []byte }

// one makes a decoder of a Decode function whose result encodes itself, and samples of values.
func one[T appender](e ending, decode func([]byte) (T, error), values ...T) decoder {
	d := decoder{ending: e, decode: func(body []byte) ([]byte, error) {
		v, err := decode(body)
		if err != nil {
			return nil, err
		}
		return v.Append(nil), nil
	}}
	for _, v := range values {
		d.samples = append(d.samples, v.Append(nil))
	}
	return d
}

// list makes a decoder of a Decode function for records in a row.
func list[T any](e ending, decode func([]byte) ([]T, error), encode func(dst []byte, all []T) []byte, lists ...[]T) decoder {
	d := decoder{ending: e, decode: func(body []byte) ([]byte, error) {
		all, err := decode(body)
		if err != nil {
			return nil, err
		}
		return encode(nil, all), nil
	}}
	for _, l := range lists {
		d.samples = append(d.samples, encode(nil, l))
	}
	return d
}

func inARow[T appender](dst []byte, all []T) []byte {
	for _, v := range all {
		dst = v.Append(dst)
	}
	return dst
}

func simple[T any](decode func([]byte) (T, error), encode func(T) []byte, values ...T) decoder {
	d := decoder{decode: func(body []byte) ([]byte, error) {
		v, err := decode(body)
		if err != nil {
			return nil, err
		}
		return encode(v), nil
	}}
	for _, v := range values {
		d.samples = append(d.samples, encode(v))
	}
	return d
}

var (
	byNumber = TopicRef{protocol.NumericID(0), protocol.NumericID(^uint32(0))}
	byName   = TopicRef{protocol.NamedID("orders"), protocol.NamedID(strings.Repeat("t", 255))}
	options  = AppendOptions(nil, U64Option("segment_size", 1<<30), StringOption("compression_algorithm", "gzip"), BoolOption("enforce_fsync", true))
	rights   = &Permissions{
		Global: GlobalPermissions{ReadServers: true, SendMessages: true},
		Streams: []StreamPermissions{
			{Stream: 1, ReadStream: true, Topics: []TopicPermissions{{Topic: 2, ManageTopic: true}, {Topic: 3, SendMessages: true}}},
			{Stream: 4, ManageStream: true},
		},
	}
	topic = TopicHeader{
		ID: 1, CreatedAt: 2, PartitionsCount: 2, MessageExpiry: ^uint64(0), Compression: 2, MaxTopicSize: 5, SizeBytes: 6, MessagesCount: 7,
		Name: []byte("events"), Explicit: options, Derived: options[:0],
	}
	prefix = LoginPrefix{protocol.Version, []byte("sdk"), []byte("1.0")}
	single = OffsetRef{protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(9)}, byNumber, 3, true}
	group  = OffsetRef{protocol.Consumer{Kind: protocol.ConsumerGroup, ID: protocol.NamedID("workers")}, byName, 0, false}
)

// decoders has every Decode function of this package.
var decoders = map[string]decoder{
	"DecodeCreateTopicReplicated": one(exact, DecodeCreateTopicReplicated,
		CreateTopicReplicated{CreateTopic{byName.Stream, 2, []byte("t"), options}, options, []Assignment{{0, 1}, {1, 1 << 40}}},
		CreateTopicReplicated{CreateTopic: CreateTopic{Stream: byNumber.Stream, Name: []byte("t")}}),
	"DecodeCreatePartitionsReplicated": one(exact, DecodeCreatePartitionsReplicated,
		CreatePartitionsReplicated{PartitionsChange{byName, 1}, []Assignment{{0, ^uint64(0)}}}),
	"DecodeTopicRef":   one(delimited, DecodeTopicRef, byNumber, byName),
	"DecodeIdentifier": one(delimited, DecodeIdentifier, byName.Stream, byNumber.Topic),
	"DecodeGroupRef":   one(delimited, DecodeGroupRef, GroupRef{byName, protocol.NumericID(1)}, GroupRef{byNumber, protocol.NamedID("g")}),
	"DecodeCreateGroup": one(delimited, DecodeCreateGroup,
		CreateGroup{byName, []byte("workers")}),
	"DecodeJoinGroup":  one(exact, DecodeJoinGroup, JoinGroup{GroupRef{byName, byName.Stream}, protocol.MaxUint128, []uint32{1, 2}}, JoinGroup{}),
	"DecodeLeaveGroup": one(exact, DecodeLeaveGroup, LeaveGroup{GroupRef{byName, byName.Stream}, protocol.Uint128From64(1)}),
	"DecodeGroupDetails": one(delimited, DecodeGroupDetails, GroupDetails{GroupHeader{1, 2, 2, []byte("g")}, []GroupMember{{0, []uint32{4, 5}}, {ID: 1}}},
		GroupDetails{GroupHeader: GroupHeader{Name: []byte("g")}}),
	"DecodeGroups":       list(open, DecodeGroups, inARow, []GroupHeader{{1, 2, 3, []byte("a")}, {4, 5, 6, []byte("b")}}, nil),
	"DecodeSyncReply":    one(delimited, DecodeSyncReply, SyncReply{7, []uint32{1, 2}}, SyncReply{}),
	"DecodeSendMessages": one(delimited, DecodeSendMessages, sends...),
	"DecodeConfirmations": list(exact, DecodeConfirmations,
		func(dst []byte, all []Confirmation) []byte { return AppendConfirmations(dst, all...) }, []Confirmation{{1, 2, 3, 4}}, nil),
	"DecodePollMessages": one(delimited, DecodePollMessages,
		PollMessages{single.Consumer, byNumber, 3, true, FromOffset, 9, 10, true},
		PollMessages{group.Consumer, byName, 0, false, FromNext, ^uint64(0), ^uint32(0), false}),
	"DecodePollReply":   pollReply(PollReply{1, 2, 3}),
	"DecodeFlush":       one(delimited, DecodeFlush, Flush{byName, 1, true}, Flush{byNumber, 1, false}),
	"DecodeOffsetRef":   one(delimited, DecodeOffsetRef, single, group),
	"DecodeStoreOffset": one(delimited, DecodeStoreOffset, StoreOffset{single, ^uint64(0), protocol.AckQuorum}, StoreOffset{group, 0, protocol.AckNone}),
	"DecodeDeleteOffset": one(delimited, DecodeDeleteOffset,
		DeleteOffset{single, protocol.AckNone}, DeleteOffset{group, protocol.AckQuorum}),
	"DecodeOffsetReply": offsetReply(OffsetReply{1, 2, 3}),
	"DecodePermissions": one(exact, DecodePermissions, *rights, Permissions{}),
	"DecodeLoginPrefix": simple(DecodeLoginPrefix, func(p LoginPrefix) []byte { return p.append(nil) }, prefix),
	"DecodeLogin":       one(delimited, DecodeLogin, Login{prefix, []byte("iggy"), nil, []byte("{}")}, Login{prefix, []byte("iggy"), []byte("secret"), nil}),
	"DecodeLoginToken":  one(exact, DecodeLoginToken, LoginToken{prefix, []byte("token"), nil}, LoginToken{prefix, nil, []byte("{}")}),
	"DecodeLoginReply":  one(delimited, DecodeLoginReply, LoginReply{1, 42, protocol.Version, []byte(protocol.ServerVersion)}),
	"DecodeCreateStream": one(open, DecodeCreateStream,
		CreateStream{[]byte("orders"), options}, CreateStream{Name: []byte("orders")}),
	"DecodeUpdateStream": one(open, DecodeUpdateStream, UpdateStream{byName.Stream, []byte("n"), options}),
	"DecodeStreamDetails": one(delimited, DecodeStreamDetails, StreamDetails{StreamHeader{1, 2, 2, 3, 4, []byte("s"), options}, []TopicHeader{topic, topic}},
		StreamDetails{StreamHeader: StreamHeader{Name: []byte("s")}}),
	"DecodeStreams":         list(open, DecodeStreams, inARow, []StreamHeader{{1, 2, 3, 4, 5, []byte("s"), nil}, {Name: []byte("t")}}, nil),
	"DecodeStats":           stats(sampleStats),
	"DecodeSnapshot":        one(delimited, DecodeSnapshot, Snapshot{SnapshotXZ, []byte{1, 6, 4, 4}}, Snapshot{SnapshotStored, nil}, Snapshot{2, []byte{SectionAll}}),
	"DecodeClusterMetadata": one(delimited, DecodeClusterMetadata, ClusterMetadata{"c", []ClusterNode{{"n", "::1", 1, 2, 3, 4, 1, 4}, {}}}),
	"DecodeClient":          one(delimited, DecodeClient, ClientRecord{1, NoUser, TransportQUIC, "[::1]:9", []ClientGroup{{1, 2, 3}, {4, 5, 6}}, 2}),
	"DecodeClients":         list(open, DecodeClients, clientsInARow, []ClientRecord{{ID: 1, Address: "a:1", GroupsCount: 7}, {User: NoUser}}, nil),
	"DecodeOptionDescriptions": list(delimited, DecodeOptionDescriptions, AppendOptionDescriptions,
		[]OptionDescription{{"segment_size", protocol.KindU64, make([]byte, 8), "bytes"}, {"x", 1, nil, ""}}, nil),
	"DecodeU32":         simple(DecodeU32, func(v uint32) []byte { return AppendU32(nil, v) }, 0, 9, ^uint32(0)),
	"DecodeU8":          simple(DecodeU8, func(v uint8) []byte { return []byte{v} }, ScopeTopic, ScopeStream, ScopeUser),
	"DecodeCreateToken": one(delimited, DecodeCreateToken, CreateToken{[]byte("ci"), 1 << 40}),
	"DecodeCreateTokenReplicated": one(exact, DecodeCreateTokenReplicated,
		CreateTokenReplicated{7, CreateToken{[]byte("ci"), 0}, bytes.Repeat([]byte{'f'}, TokenHashSize)}),
	"DecodeName": simple(DecodeName, func(n []byte) []byte { return protocol.AppendName(nil, n) }, []byte("ci"), bytes.Repeat([]byte{'n'}, 255)),
	"DecodeDeleteTokenReplicated": one(exact, DecodeDeleteTokenReplicated,
		DeleteTokenReplicated{1, []byte("ci"), true}, DeleteTokenReplicated{1, []byte("ci"), false}),
	"DecodeTokens":      list(open, DecodeTokens, inARow, []TokenRecord{{[]byte("a"), 1}, {[]byte("b"), 0}}, nil),
	"DecodeCreateTopic": one(open, DecodeCreateTopic, CreateTopic{byName.Stream, 1000, []byte("t"), options}),
	"DecodeUpdateTopic": one(open, DecodeUpdateTopic, UpdateTopic{byName, []byte("t"), options}),
	"DecodeTopicDetails": one(delimited, DecodeTopicDetails,
		TopicDetails{topic, []PartitionRecord{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}}),
	"DecodeTopics": list(delimited, DecodeTopics,
		func(dst []byte, all []TopicHeader) []byte { return AppendTopics(dst, all...) }, []TopicHeader{topic, topic}, nil),
	"DecodePartitionsChange":  one(delimited, DecodePartitionsChange, PartitionsChange{byName, 1000}),
	"DecodeDeleteSegments":    one(delimited, DecodeDeleteSegments, DeleteSegments{byName, 1, 2}),
	"DecodeTruncatePartition": one(exact, DecodeTruncatePartition, TruncatePartition{byNumber, 1, 1 << 50}),
	"DecodeCreateUser": one(open, DecodeCreateUser, CreateUser{[]byte("bob"), []byte("secret"), UserActive, rights, nil},
		CreateUser{[]byte("bob"), nil, UserInactive, nil, options}),
	"DecodeUpdateUser": one(open, DecodeUpdateUser, UpdateUser{byName.Stream, []byte("bob"), UserInactive, options},
		UpdateUser{User: byNumber.Stream}),
	"DecodeUpdatePermissions": one(delimited, DecodeUpdatePermissions, UpdatePermissions{byName.Stream, rights}, UpdatePermissions{User: byNumber.Topic}),
	"DecodeChangePassword":    one(delimited, DecodeChangePassword, ChangePassword{byName.Stream, []byte("old"), nil}),
	"DecodeUserDetails": one(delimited, DecodeUserDetails, UserDetails{UserHeader{1, 2, UserActive, []byte("bob"), options}, rights},
		UserDetails{UserHeader{1, 2, UserInactive, []byte("bob"), nil}, nil}),
	"DecodeUsers": list(open, DecodeUsers, inARow, []UserHeader{{1, 2, UserActive, []byte("bob"), options}, {Username: []byte("al")}}, nil),
}

var sends = []SendMessages{
	{TopicRef: byNumber, Partitioning: protocol.Partitioning{Kind: protocol.PartitionByID, ID: 3}, MessagesCount: 1},
	{TopicRef: byName, Partitioning: protocol.Partitioning{Kind: protocol.PartitionByKey, Key: bytes.Repeat([]byte{0xff}, 255)}, MessagesCount: 2},
	{TopicRef: byName, Partitioning: protocol.Partitioning{Kind: protocol.PartitionBalanced}},
}

var sampleStats = Stats{
	ProcessID: 1, CPUUsage: 2.5, TotalCPUUsage: 3.5, MemoryUsage: 4, TotalMemory: 5, Available: 6, RunTime: 7, StartTime: 8, ReadBytes: 9,
	WrittenBytes: 10, MessagesBytes: 11, Streams: 12, Topics: 13, Partitions: 14, Segments: 15, Messages: 16, Clients: 17, Groups: 18,
	Hostname: "h", OSName: "o", OSVersion: "v", Kernel: "k", ServerVersion: "s", ServerVersionNumber: 19, Threads: 20, FreeDisk: 21, TotalDisk: 22,
}

func pollReply(p PollReply) decoder {
	sample := make([]byte, PollReplySize)
	p.Put(sample)
	return decoder{ending: open, samples: [][]byte{sample, append(sample, "records"...)}, decode: func(body []byte) ([]byte, error) {
		p, records, err := DecodePollReply(body)
		if err != nil {
			return nil, err
		}
		again := make([]byte, PollReplySize)
		p.Put(again)
		return append(again, records...), nil
	}}
}

func offsetReply(o OffsetReply) decoder {
	return decoder{ending: open, samples: [][]byte{nil, o.Append(nil)}, decode: func(body []byte) ([]byte, error) {
		o, stored, err := DecodeOffsetReply(body)
		if err != nil || !stored {
			return nil, err
		}
		return o.Append(nil), nil
	}}
}

func stats(s Stats) decoder {
	return decoder{samples: [][]byte{s.Append(nil)}, decode: func(body []byte) ([]byte, error) {
		s, err := DecodeStats(body)
		if err != nil {
			return nil, err
		}
		return s.Append(nil), nil
	}}
}

func clientsInARow(dst []byte, all []ClientRecord) []byte {
	for _, c := range all {
		dst = c.AppendHeader(dst)
	}
	return dst
}

// functions returns what the Go files of the package declare that begins with prefix.
func functions(t *testing.T, prefix string, tests bool) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") != tests {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, prefix) {
				found[strings.TrimPrefix(fn.Name.Name, prefix)] = true
			}
		}
	}
	return found
}

// Every Decode function of the package is in the table and has a fuzz target of its name.
func TestDecoders_AreAllProven(t *testing.T) {
	found, fuzzed := functions(t, "Decode", false), functions(t, "Fuzz", true)
	for name := range found {
		if _, ok := decoders["Decode"+name]; !ok {
			t.Errorf("Decode%s is not in the table", name)
		}
		if !fuzzed[name] {
			t.Errorf("Decode%s has no fuzz target", name)
		}
	}
	if len(found) != len(decoders) {
		t.Errorf("%d functions, %d in the table", len(found), len(decoders))
	}
}
