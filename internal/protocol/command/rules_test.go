package command

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func manyOptions(n int) []byte {
	var block []byte
	for i := range n {
		block = BoolOption(fmt.Sprintf("option-%04d", i), true).Append(block)
	}
	return block
}

func TestOptions_Limits(t *testing.T) {
	big := func(blockBytes int) []byte {
		var block []byte
		for i := 0; len(block) < blockBytes; i++ {
			p := protocol.Pair{KeyKind: protocol.KindString, Key: fmt.Appendf(nil, "key-%05d", i), ValueKind: protocol.KindRaw}
			p.Value = make([]byte, min(protocol.NameMaxBytes, max(1, blockBytes-len(block)-10-len(p.Key))))
			block = p.Append(block)
		}
		return block
	}
	if n := len(big(protocol.BlockMaxBytes)); n != protocol.BlockMaxBytes {
		t.Fatalf("block of %d bytes", n)
	}
	pair := func(kind uint8, key string) []byte {
		return protocol.Pair{KeyKind: kind, Key: []byte(key), ValueKind: 250, Value: []byte{1}}.Append(nil)
	}
	for _, tt := range []struct {
		name  string
		block []byte
		want  bool
	}{
		{"none", nil, true},
		{"value of unknown kind", pair(protocol.KindString, "key"), true},
		{"key of 255 bytes", pair(protocol.KindString, strings.Repeat("k", 255)), true},
		{"key that is not UTF-8", pair(protocol.KindString, "\xff"), false},
		{"key of another kind", pair(protocol.KindRaw, "key"), false},
		{"1024 entries", manyOptions(1024), true},
		{"1025 entries", manyOptions(1025), false},
		{"100 000 bytes", big(protocol.BlockMaxBytes), true},
		{"100 001 bytes", big(protocol.BlockMaxBytes + 1), false},
		{"key that comes twice", append(manyOptions(3), manyOptions(1)...), false},
		{"last key that comes twice", append(manyOptions(1023), manyOptions(1)...), false},
		{"keys that differ in case", append(pair(2, "a"), pair(2, "A")...), true},
		{"key that begins another", append(pair(2, "a"), pair(2, "aa")...), true},
		{"a length in front", []byte{0, 0, 0, 0}, false},
		{"cut pair", pair(2, "key")[:9], false},
	} {
		body := append(CreateStream{Name: []byte("s")}.Append(nil), tt.block...)
		c, err := DecodeCreateStream(body)
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil && !bytes.Equal(AppendOptions(nil, Options(c.Options)...), tt.block) {
			t.Errorf("%s: options do not come back", tt.name)
		}
	}
}

// Bodies of one command that another would take.
func TestBodies_Refused(t *testing.T) {
	for _, tt := range []struct {
		name, decoder, body string
	}{
		{"user of status 0", "DecodeCreateUser", "03626f62 06736563726574 00 00"},
		{"user of status 3", "DecodeCreateUser", "03626f62 06736563726574 03 00"},
		{"update to status 0", "DecodeUpdateUser", "010400000000 00 01 00"},
		{"update to status 9", "DecodeUpdateUser", "010400000000 00 01 09"},
		{"update to an empty name", "DecodeUpdateUser", "010400000000 01 00 00"},
		{"update without the second flag", "DecodeUpdateUser", "010400000000 00"},
		{"permissions a byte longer than said", "DecodeCreateUser", "03626f62 06736563726574 01 01 0a000000 00000000000000000000 00"},
		{"permissions a byte shorter than said", "DecodeUpdatePermissions", "010400000000 01 0c000000 00000000000000000000 00 00"},
		{"no permissions in one byte", "DecodeUserDetails", "01000000 0000000000000000 01 03626f62 00000000 00"},
		{"empty name of a user", "DecodeCreateUser", "00 06736563726574 01 00"},
		{"password that is not UTF-8", "DecodeCreateUser", "03626f62 01ff 01 00"},
		{"compression 0", "DecodeSnapshot", "00 00"},
		{"compression 7", "DecodeSnapshot", "07 00"},
		{"section 0", "DecodeSnapshot", "01 01 00"},
		{"section 7", "DecodeSnapshot", "01 01 07"},
		{"all and one", "DecodeSnapshot", "01 02 64 01"},
		{"all twice", "DecodeSnapshot", "01 02 64 64"},
		{"scope 0", "DecodeU8", "00"},
		{"scope 4", "DecodeU8", "04"},
		{"strategy 0", "DecodePollMessages", "01 010409000000 010400000000 010400000000 0000000000 00 0000000000000000 0a000000 00"},
		{"strategy 6", "DecodePollMessages", "01 010409000000 010400000000 010400000000 0000000000 06 0000000000000000 0a000000 00"},
		{"ack level 2", "DecodeStoreOffset", "01 010409000000 010400000000 010400000000 0000000000 0000000000000000 02"},
		{"ack level 2 of a delete", "DecodeDeleteOffset", "01 010409000000 010400000000 010400000000 0000000000 02"},
		{"metadata longer than its parts", "DecodeSendMessages", "13000000 010400000000 010400000000 0100 01000000 00"},
		{"metadata shorter than its parts", "DecodeSendMessages", "11000000 010400000000 010400000000 0100 01000000"},
		{"metadata beyond the body", "DecodeSendMessages", "ffffffff 010400000000 010400000000 0100 01000000"},
		{"a batch without metadata", "DecodeSendMessages", "00000000 0000000000000000"},
		{"sdk without a name", "DecodeLogin", "002c0000 00 0131 0469676779 0469676779 00000000"},
		{"user without a name", "DecodeLogin", "002c0000 0161 0131 00 0469676779 00000000"},
		{"context beyond the body", "DecodeLogin", "002c0000 0161 0131 0469676779 0469676779 01000000"},
		{"token with a byte behind", "DecodeLoginToken", "002c0000 0161 0131 0469676779 00000000 00"},
		{"hash of 63 characters", "DecodeCreateTokenReplicated", "01000000 026369 0000000000000000" + strings.Repeat("66", 63)},
		{"confirmation with a byte behind", "DecodeConfirmations", "00000000 00"},
		{"topic without its partitions", "DecodeCreateTopic", "010400000000 030000 0161"},
	} {
		var fault *protocol.DecodeError
		again, err := decoders[tt.decoder].decode(fromHex(t, tt.body))
		if !errors.As(err, &fault) {
			t.Errorf("%s: %x, %v", tt.name, again, err)
		}
	}
}

// A sign-in with a name and an empty password does not fill the form of one with a token, whose last byte it
// would leave over.
func TestLogin_EmptyPasswordIsNoToken(t *testing.T) {
	body := Login{LoginPrefix: prefix, Username: []byte("iggy")}.Append(nil)
	if l, err := DecodeLogin(body); err != nil || len(l.Password) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := DecodeLoginToken(body); err == nil {
		t.Error("decodes as a token")
	}
	if p, err := DecodeLoginPrefix(body); err != nil || p.Version != protocol.Version {
		t.Errorf("prefix %+v, %v", p, err)
	}
}

// Flags of permissions hold when they are not zero; a record is present when its flag is 1.
func TestPermissions_Flags(t *testing.T) {
	record := bytes.Repeat([]byte{0}, 11)
	record[3] = 0x80
	p, err := DecodePermissions(record)
	if err != nil || !p.Global.ReadUsers || p.Global.ManageUsers {
		t.Errorf("%+v, %v", p, err)
	}
	if out := p.Append(nil); out[3] != 1 {
		t.Errorf("flag goes out as %d", out[3])
	}
	for flag := range 256 {
		u, err := DecodeUpdatePermissions(append([]byte{1, 4, 0, 0, 0, 0, byte(flag), 11, 0, 0, 0}, record...))
		if err != nil || (u.Permissions != nil) != (flag == 1) {
			t.Errorf("flag %d: %+v, %v", flag, u.Permissions, err)
		}
	}
}

// Presence flags of an update count when they are 1 alone.
func TestUpdateUser_Flags(t *testing.T) {
	u, err := DecodeUpdateUser([]byte{1, 4, 0, 0, 0, 0, 2, 0xff})
	if err != nil || u.Username != nil || u.Status != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// The bodies that only servers write, byte by byte.
func TestReplicatedForms_Layout(t *testing.T) {
	const stream, topic, group = "010407000000", "020174", "010409000000"
	const client = "efcdab8967452301 ff66554433221100"
	id := protocol.Uint128{Lo: 0x0123456789abcdef, Hi: 0x00112233445566ff}
	ref := TopicRef{protocol.NumericID(7), protocol.NamedID("t")}
	groupRef := GroupRef{ref, protocol.NumericID(9)}
	create := CreateTopic{Stream: ref.Stream, PartitionsCount: 2, Name: []byte("t")}
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"create topic", CreateTopicReplicated{create, []byte("derived!"), []Assignment{{0, 1 << 40}, {1, 3}}}.Append(nil),
			"0c000000" + stream + "02000000" + "0174" + "08000000" + "6465726976656421" + "02000000" +
				"00000000 0000000000010000" + "01000000 0300000000000000"},
		{"create partitions", CreatePartitionsReplicated{PartitionsChange{ref, 1}, []Assignment{{0, 5}}}.Append(nil),
			"0d000000" + stream + topic + "01000000" + "01000000" + "00000000 0500000000000000"},
		{"truncate partition", TruncatePartition{ref, 3, 1 << 32}.Append(nil), stream + topic + "03000000" + "0000000001000000"},
		{"join", JoinGroup{groupRef, id, []uint32{4, 5}}.Append(nil), stream + topic + group + client + "02000000" + "04000000" + "05000000"},
		{"leave", LeaveGroup{groupRef, id}.Append(nil), stream + topic + group + client},
		{"create token", CreateTokenReplicated{6, CreateToken{[]byte("ci"), 1}, bytes.Repeat([]byte("a"), 64)}.Append(nil),
			"06000000" + "026369" + "0100000000000000" + strings.Repeat("61", 64)},
		{"delete token", DeleteTokenReplicated{6, []byte("ci"), true}.Append(nil), "06000000" + "026369" + "01"},
		{"create user", CreateUser{[]byte("bob"), []byte("$hash"), UserActive, nil, nil}.Append(nil), "03626f62" + "052468617368" + "01" + "00"},
		{"change password", ChangePassword{protocol.NumericID(7), nil, []byte("$hash")}.Append(nil), stream + "00" + "052468617368"},
	} {
		if want := fromHex(t, tt.want); !bytes.Equal(tt.got, want) {
			t.Errorf("%s:\n%x\nwant\n%x", tt.name, tt.got, want)
		}
	}
}

// The numeric part of the statistics ends where the host name begins.
func TestStats_Layout(t *testing.T) {
	body := sampleStats.Append(nil)
	le := binary.LittleEndian
	for at, want := range map[int]uint64{12: 4, 20: 5, 28: 6, 36: 7, 44: 8, 52: 9, 60: 10, 68: 11, 92: 16} {
		if got := le.Uint64(body[at:]); got != want {
			t.Errorf("at %d: %d, want %d", at, got, want)
		}
	}
	for at, want := range map[int]uint32{0: 1, 4: 0x40200000, 8: 0x40600000, 76: 12, 80: 13, 84: 14, 88: 15, 100: 17, 104: 18, 108: 1} {
		if got := le.Uint32(body[at:]); got != want {
			t.Errorf("at %d: %d, want %d", at, got, want)
		}
	}
	tail := fromHex(t, "0100000073 13000000 00000000 14000000 1500000000000000 1600000000000000")
	if !bytes.HasSuffix(body, tail) {
		t.Errorf("ends in %x", body[len(body)-len(tail):])
	}
}

// A server that sends cache metrics is understood.
func TestStats_CacheMetricsAreSkipped(t *testing.T) {
	body := sampleStats.Append(nil)
	at := len(body) - 24
	if got := binary.LittleEndian.Uint32(body[at:]); got != 0 {
		t.Fatalf("count of metrics is %d", got)
	}
	with := append(bytes.Clone(body[:at]), 2, 0, 0, 0)
	with = append(append(with, make([]byte, 64)...), body[at+4:]...)
	s, err := DecodeStats(with)
	if err != nil || s != sampleStats {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := DecodeStats(append(bytes.Clone(body[:at]), 0xff, 0xff, 0xff, 0xff)); err == nil {
		t.Error("metrics that are not there decode")
	}
}

// Get clients lists records without their groups, although the number of groups is filled in.
func TestClients_HaveNoGroups(t *testing.T) {
	c := ClientRecord{ID: 9, User: 1, Transport: TransportTCP, Address: "127.0.0.1:50000", Groups: []ClientGroup{{1, 2, 3}}, GroupsCount: 1}
	all, err := DecodeClients(c.AppendHeader(c.AppendHeader(nil)))
	if err != nil || len(all) != 2 || all[1].GroupsCount != 1 || all[1].Groups != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if n := len(c.AppendHeader(nil)); n != 17+len(c.Address) {
		t.Errorf("header of %d bytes", n)
	}
	if n := len(c.Append(nil)); n != 17+len(c.Address)+12 {
		t.Errorf("record of %d bytes", n)
	}
}
