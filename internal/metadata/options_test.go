package metadata

import (
	"bytes"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func TestOptions_ValuesInEveryForm(t *testing.T) {
	const (
		day      = 86400 * 1_000_000
		dropped  = ^uint64(0) - 1 // stands for: the key sets nothing
		badValue = ^uint64(0) - 2 // stands for: 4042
	)
	text := func(key, value string) []byte { return opt(key, 2, []byte(value)) }
	for _, c := range []struct {
		pair []byte
		want uint64
	}{
		{text("compression_algorithm", "None"), 1},
		{text("compression_algorithm", "gzip"), 2},
		{opt("compression_algorithm", 9, []byte{2}), 2},
		{opt("compression_algorithm", 9, []byte{0}), badValue},
		{opt("compression_algorithm", 12, u64(1)), badValue},
		{text("message_expiry", "1h 30m"), 5400 * 1_000_000},
		{text("message_expiry", "7 days"), 7 * day},
		{text("message_expiry", "none"), Unlimited},
		{text("message_expiry", "never_expire"), Unlimited},
		{text("message_expiry", "server_default"), dropped},
		{text("message_expiry", "soon"), badValue},
		{opt("message_expiry", 12, u64(0)), dropped},
		{opt("message_expiry", 12, u64(5)), 5},
		{opt("message_expiry", 11, u32(5)), badValue},
		{text("max_topic_size", "unlimited"), Unlimited},
		{text("max_topic_size", "server_default"), dropped},
		{text("max_topic_size", "0"), dropped},
		{text("max_topic_size", "1.5 GiB"), 3 << 29},
		{text("max_topic_size", "10 GB"), 10_000_000_000},
		{text("max_topic_size", "-1"), badValue},
		{text("segment_size", "none"), dropped},
		{text("segment_size", "512"), 512},
		{opt("segment_size", 3, []byte{1}), badValue},
		{opt("enforce_fsync", 3, []byte{1}), 1},
		{opt("enforce_fsync", 3, []byte{2}), badValue},
		{opt("enforce_fsync", 3, []byte{1, 0}), badValue},
		{opt("enforce_fsync", 9, []byte{1}), badValue},
		{text("enforce_fsync", "false"), 0},
		{text("enforce_fsync", "True"), badValue},
		{text("messages_required_to_save", "1024"), 1024},
		{text("messages_required_to_save", "x"), badValue},
		{opt("messages_required_to_save", 11, u32(16_777_216)), 16_777_216},
		{opt("messages_required_to_save", 11, u32(16_777_217)), badValue},
		{opt("size_of_messages_required_to_save", 12, u64(1<<30)), 1 << 30},
		{text("size_of_messages_required_to_save", "2GiB"), badValue},
		{opt("preallocate_segments", 1, []byte{1}), badValue},
	} {
		change, code := parseOptions(c.pair, false)
		p := command.Options(c.pair)[0]
		i, ok := optionNamed(string(p.Key))
		if !ok {
			t.Fatalf("no option %s", p.Key)
		}
		switch c.want {
		case badValue:
			if code != protocol.CodeInvalidOptionValue {
				t.Errorf("%s = %q: code %d", p.Key, p.Value, code)
			}
		case dropped:
			if code != 0 || change.set != 0 {
				t.Errorf("%s = %q: %d, set %b", p.Key, p.Value, code, change.set)
			}
		default:
			if code != 0 || change.set != 1<<i || change.values[i] != c.want {
				t.Errorf("%s = %q: %d, %d", p.Key, p.Value, code, change.values[i])
			}
		}
	}
}

func TestOptionsCatalogue(t *testing.T) {
	reply, code := AppendOptionsCatalogue(nil, command.ScopeTopic)
	all, err := command.DecodeOptionDescriptions(reply)
	if code != 0 || err != nil || len(all) != 8 {
		t.Fatalf("%d options, %d, %v", len(all), code, err)
	}
	want := []struct {
		key      string
		kind     uint8
		standard []byte
	}{
		{"compression_algorithm", 2, []byte("none")}, {"message_expiry", 12, u64(Unlimited)}, {"max_topic_size", 12, u64(Unlimited)},
		{"segment_size", 12, u64(1 << 30)}, {"enforce_fsync", 3, []byte{0}}, {"messages_required_to_save", 11, u32(1024)},
		{"size_of_messages_required_to_save", 12, u64(1 << 20)}, {"preallocate_segments", 3, []byte{0}},
	}
	for i, w := range want {
		if got := all[i]; got.Key != w.key || got.Kind != w.kind || !bytes.Equal(got.Default, w.standard) || got.Description == "" {
			t.Errorf("option %d: %+v, want %+v", i, got, w)
		}
	}
	for _, scope := range []uint8{command.ScopeStream, command.ScopeUser} {
		if reply, code := AppendOptionsCatalogue(nil, scope); code != 0 || !bytes.Equal(reply, u32(0)) {
			t.Errorf("scope %d: % x, %d", scope, reply, code)
		}
	}
	if _, code := AppendOptionsCatalogue(nil, 4); code != protocol.CodeInvalidCommand {
		t.Errorf("scope 4: %d", code)
	}
}
