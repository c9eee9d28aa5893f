package command_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Decoding a body may allocate so much for each of its bytes, the growth of slices included, and so much
// whatever its length is. The second leaves room for what the test runner allocates at the same time.
const (
	allocPerByteMax = 64
	allocBaseMax    = 64 << 10
)

// goldenBodies returns every body of the golden vectors: those of commands as they are, those of frames behind
// header and result section too, since a seed that does not fit a decoder is as good as one that does.
func goldenBodies(tb testing.TB) [][]byte {
	tb.Helper()
	var bodies [][]byte
	for _, file := range []string{"commands.json", "session.json", "metadata.json", "partition.json"} {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", file))
		if err != nil {
			tb.Fatal(err)
		}
		var doc struct{ Vectors []struct{ Name, Hex string } }
		if err := json.Unmarshal(raw, &doc); err != nil {
			tb.Fatal(err)
		}
		for _, v := range doc.Vectors {
			b, err := hex.DecodeString(v.Hex)
			if err != nil {
				tb.Fatalf("%s: %v", v.Name, err)
			}
			if file == "commands.json" {
				bodies = append(bodies, b)
			} else if len(b) > protocol.HeaderSize {
				bodies = append(bodies, b[protocol.HeaderSize:])
				if _, payload, ok := protocol.CutResult(b[protocol.HeaderSize:]); ok {
					bodies = append(bodies, payload)
				}
			}
		}
	}
	return bodies
}

// fuzzBody proves for any input: decode does not panic, allocates in proportion to the input and fails with a
// decode error only; and what it accepts is encoded to no more bytes than it came in, which decode to a value
// that is encoded to the same bytes.
func fuzzBody[T any](f *testing.F, decode func([]byte) (T, error), encode func(T) []byte) {
	f.Helper()
	for _, b := range goldenBodies(f) {
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := totalAlloc()
		v, err := decode(body)
		if spent, limit := totalAlloc()-before, uint64(allocPerByteMax*len(body)+allocBaseMax); spent > limit {
			t.Fatalf("%d bytes allocated for a body of %d, limit %d", spent, len(body), limit)
		}
		if err != nil {
			wantDecodeError(t, err, len(body))
			return
		}
		once := encode(v)
		if len(once) > len(body) {
			t.Fatalf("encoded to %d bytes from %d:\n%x\n%x", len(once), len(body), once, body)
		}
		again, err := decode(once)
		if err != nil {
			t.Fatalf("own encoding does not decode: %v\n%x\n%x", err, once, body)
		}
		if twice := encode(again); !bytes.Equal(once, twice) {
			t.Fatalf("encoded differently the second time:\n%x\n%x", once, twice)
		}
	})
}

func totalAlloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func wantDecodeError(t *testing.T, err error, size int) {
	t.Helper()
	var d *protocol.DecodeError
	if !errors.As(err, &d) || !errors.Is(err, protocol.CodeInvalidCommand) {
		t.Fatalf("not a decode error: %v", err)
	}
	if d.At < 0 || d.At > size || d.What == "" {
		t.Fatalf("decode error %q at %d of %d bytes", d.What, d.At, size)
	}
}

type appender interface{ Append([]byte) []byte }

// encodeOne encodes a value that stands for a whole body.
func encodeOne[T appender](v T) []byte { return v.Append(nil) }

// encodeList encodes a list without a count.
func encodeList[T appender](all []T) []byte {
	var b []byte
	for _, v := range all {
		b = v.Append(b)
	}
	return b
}

func FuzzIdentifier(f *testing.F) {
	fuzzBody(f, command.DecodeIdentifier, encodeOne[protocol.Identifier])
}
func FuzzTopicRef(f *testing.F) { fuzzBody(f, command.DecodeTopicRef, encodeOne[command.TopicRef]) }
func FuzzName(f *testing.F) {
	fuzzBody(f, command.DecodeName, func(n []byte) []byte { return protocol.AppendName(nil, n) })
}
func FuzzU8(f *testing.F) {
	fuzzBody(f, command.DecodeU8, func(v uint8) []byte { return []byte{v} })
}
func FuzzU32(f *testing.F) {
	fuzzBody(f, command.DecodeU32, func(v uint32) []byte {
		return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
	})
}

func FuzzSendMessages(f *testing.F) {
	fuzzBody(f, command.DecodeSendMessages, encodeOne[command.SendMessages])
}
func FuzzConfirmations(f *testing.F) {
	fuzzBody(f, command.DecodeConfirmations, func(all []command.Confirmation) []byte {
		return command.AppendConfirmations(nil, all...)
	})
}
func FuzzPollMessages(f *testing.F) {
	fuzzBody(f, command.DecodePollMessages, encodeOne[command.PollMessages])
}

type pollReply struct {
	command.PollReply
	records []byte
}

func FuzzPollReply(f *testing.F) {
	fuzzBody(f, func(b []byte) (pollReply, error) {
		p, records, err := command.DecodePollReply(b)
		return pollReply{p, records}, err
	}, func(p pollReply) []byte {
		b := make([]byte, command.PollReplySize)
		p.Put(b)
		return append(b, p.records...)
	})
}
func FuzzFlush(f *testing.F)     { fuzzBody(f, command.DecodeFlush, encodeOne[command.Flush]) }
func FuzzOffsetRef(f *testing.F) { fuzzBody(f, command.DecodeOffsetRef, encodeOne[command.OffsetRef]) }
func FuzzStoreOffset(f *testing.F) {
	fuzzBody(f, command.DecodeStoreOffset, encodeOne[command.StoreOffset])
}
func FuzzDeleteOffset(f *testing.F) {
	fuzzBody(f, command.DecodeDeleteOffset, encodeOne[command.DeleteOffset])
}

type offsetReply struct {
	command.OffsetReply
	stored bool
}

func FuzzOffsetReply(f *testing.F) {
	fuzzBody(f, func(b []byte) (offsetReply, error) {
		o, stored, err := command.DecodeOffsetReply(b)
		return offsetReply{o, stored}, err
	}, func(o offsetReply) []byte {
		if !o.stored {
			return nil
		}
		return o.Append(nil)
	})
}

// A sign-in prefix has no encoder of its own: the name and password form without either stands for it.
func FuzzLoginPrefix(f *testing.F) {
	fuzzBody(f, command.DecodeLoginPrefix, func(p command.LoginPrefix) []byte {
		whole := command.LoginToken{LoginPrefix: p}.Append(nil)
		return whole[:len(whole)-len("\x00")-len("\x00\x00\x00\x00")]
	})
}
func FuzzLogin(f *testing.F) { fuzzBody(f, command.DecodeLogin, encodeOne[command.Login]) }
func FuzzLoginToken(f *testing.F) {
	fuzzBody(f, command.DecodeLoginToken, encodeOne[command.LoginToken])
}
func FuzzLoginReply(f *testing.F) {
	fuzzBody(f, command.DecodeLoginReply, encodeOne[command.LoginReply])
}

func FuzzCreateStream(f *testing.F) {
	fuzzBody(f, command.DecodeCreateStream, encodeOne[command.CreateStream])
}
func FuzzUpdateStream(f *testing.F) {
	fuzzBody(f, command.DecodeUpdateStream, encodeOne[command.UpdateStream])
}
func FuzzStreamDetails(f *testing.F) {
	fuzzBody(f, command.DecodeStreamDetails, encodeOne[command.StreamDetails])
}
func FuzzStreams(f *testing.F) {
	fuzzBody(f, command.DecodeStreams, encodeList[command.StreamHeader])
}

func FuzzCreateTopic(f *testing.F) {
	fuzzBody(f, command.DecodeCreateTopic, encodeOne[command.CreateTopic])
}
func FuzzUpdateTopic(f *testing.F) {
	fuzzBody(f, command.DecodeUpdateTopic, encodeOne[command.UpdateTopic])
}
func FuzzTopicDetails(f *testing.F) {
	fuzzBody(f, command.DecodeTopicDetails, encodeOne[command.TopicDetails])
}
func FuzzTopics(f *testing.F) {
	fuzzBody(f, command.DecodeTopics, func(all []command.TopicHeader) []byte {
		n := uint32(len(all))
		return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, encodeList(all)...)
	})
}
func FuzzPartitionsChange(f *testing.F) {
	fuzzBody(f, command.DecodePartitionsChange, encodeOne[command.PartitionsChange])
}
func FuzzDeleteSegments(f *testing.F) {
	fuzzBody(f, command.DecodeDeleteSegments, encodeOne[command.DeleteSegments])
}

func FuzzCreateTopicReplicated(f *testing.F) {
	f.Add(command.CreateTopicReplicated{
		CreateTopic: command.CreateTopic{Stream: protocol.NumericID(3), PartitionsCount: 2, Name: []byte("events")},
		Derived:     command.AppendOptions(nil, command.U64Option("message_expiry", 1)),
		Assignments: []command.Assignment{{Partition: 0, Group: 7}, {Partition: 1, Group: 8}},
	}.Append(nil))
	fuzzBody(f, command.DecodeCreateTopicReplicated, encodeOne[command.CreateTopicReplicated])
}
func FuzzCreatePartitionsReplicated(f *testing.F) {
	f.Add(command.CreatePartitionsReplicated{
		PartitionsChange: command.PartitionsChange{TopicRef: anyTopic, Count: 1},
		Assignments:      []command.Assignment{{Partition: 0, Group: 9}},
	}.Append(nil))
	fuzzBody(f, command.DecodeCreatePartitionsReplicated, encodeOne[command.CreatePartitionsReplicated])
}
func FuzzTruncatePartition(f *testing.F) {
	f.Add(command.TruncatePartition{TopicRef: anyTopic, Partition: 2, UpTo: 100}.Append(nil))
	fuzzBody(f, command.DecodeTruncatePartition, encodeOne[command.TruncatePartition])
}

func FuzzGroupRef(f *testing.F) { fuzzBody(f, command.DecodeGroupRef, encodeOne[command.GroupRef]) }
func FuzzCreateGroup(f *testing.F) {
	fuzzBody(f, command.DecodeCreateGroup, encodeOne[command.CreateGroup])
}
func FuzzJoinGroup(f *testing.F) {
	f.Add(command.JoinGroup{
		GroupRef: command.GroupRef{TopicRef: anyTopic, Group: protocol.NumericID(1)},
		Client:   protocol.Uint128{Lo: 1, Hi: 2}, InFlight: []uint32{0, 4},
	}.Append(nil))
	fuzzBody(f, command.DecodeJoinGroup, encodeOne[command.JoinGroup])
}
func FuzzLeaveGroup(f *testing.F) {
	f.Add(command.LeaveGroup{
		GroupRef: command.GroupRef{TopicRef: anyTopic, Group: protocol.NumericID(1)}, Client: protocol.Uint128{Lo: 1},
	}.Append(nil))
	fuzzBody(f, command.DecodeLeaveGroup, encodeOne[command.LeaveGroup])
}
func FuzzGroupDetails(f *testing.F) {
	fuzzBody(f, command.DecodeGroupDetails, encodeOne[command.GroupDetails])
}
func FuzzGroups(f *testing.F)    { fuzzBody(f, command.DecodeGroups, encodeList[command.GroupHeader]) }
func FuzzSyncReply(f *testing.F) { fuzzBody(f, command.DecodeSyncReply, encodeOne[command.SyncReply]) }

func FuzzPermissions(f *testing.F) {
	fuzzBody(f, command.DecodePermissions, encodeOne[command.Permissions])
}
func FuzzCreateUser(f *testing.F) {
	fuzzBody(f, command.DecodeCreateUser, encodeOne[command.CreateUser])
}
func FuzzUpdateUser(f *testing.F) {
	fuzzBody(f, command.DecodeUpdateUser, encodeOne[command.UpdateUser])
}
func FuzzUpdatePermissions(f *testing.F) {
	fuzzBody(f, command.DecodeUpdatePermissions, encodeOne[command.UpdatePermissions])
}
func FuzzChangePassword(f *testing.F) {
	fuzzBody(f, command.DecodeChangePassword, encodeOne[command.ChangePassword])
}
func FuzzUserDetails(f *testing.F) {
	fuzzBody(f, command.DecodeUserDetails, encodeOne[command.UserDetails])
}
func FuzzUsers(f *testing.F) { fuzzBody(f, command.DecodeUsers, encodeList[command.UserHeader]) }

func FuzzCreateToken(f *testing.F) {
	fuzzBody(f, command.DecodeCreateToken, encodeOne[command.CreateToken])
}
func FuzzCreateTokenReplicated(f *testing.F) {
	f.Add(command.CreateTokenReplicated{
		User: 1, CreateToken: command.CreateToken{Name: []byte("ci")}, Hash: bytes.Repeat([]byte("a"), command.TokenHashSize),
	}.Append(nil))
	fuzzBody(f, command.DecodeCreateTokenReplicated, encodeOne[command.CreateTokenReplicated])
}
func FuzzDeleteTokenReplicated(f *testing.F) {
	f.Add(command.DeleteTokenReplicated{User: 1, Name: []byte("ci"), OnlyIfExpired: true}.Append(nil))
	fuzzBody(f, command.DecodeDeleteTokenReplicated, encodeOne[command.DeleteTokenReplicated])
}
func FuzzTokens(f *testing.F) { fuzzBody(f, command.DecodeTokens, encodeList[command.TokenRecord]) }

func FuzzStats(f *testing.F) {
	fuzzBody(f, command.DecodeStats, func(s command.Stats) []byte { return s.Append(nil) })
}
func FuzzSnapshot(f *testing.F) { fuzzBody(f, command.DecodeSnapshot, encodeOne[command.Snapshot]) }
func FuzzClusterMetadata(f *testing.F) {
	fuzzBody(f, command.DecodeClusterMetadata, encodeOne[command.ClusterMetadata])
}
func FuzzClient(f *testing.F) { fuzzBody(f, command.DecodeClient, encodeOne[command.ClientRecord]) }
func FuzzClients(f *testing.F) {
	fuzzBody(f, command.DecodeClients, func(all []command.ClientRecord) []byte {
		var b []byte
		for _, c := range all {
			b = c.AppendHeader(b)
		}
		return b
	})
}
func FuzzOptionDescriptions(f *testing.F) {
	fuzzBody(f, command.DecodeOptionDescriptions, func(all []command.OptionDescription) []byte {
		return command.AppendOptionDescriptions(nil, all)
	})
}
