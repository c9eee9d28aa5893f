package metadata

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// vault is Secrets with hashes that show what was hashed backwards, so that plain text is never part of one.
type vault struct {
	hashed, drawn int
	broken        bool
}

func backwards(b []byte) string {
	out := make([]byte, len(b))
	for i := range b {
		out[len(b)-1-i] = b[i]
	}
	return "$" + string(out)
}

func (v *vault) HashPassword(password []byte) (string, error) {
	v.hashed++
	if v.broken {
		return "", errors.New("no entropy")
	}
	return backwards(password), nil
}

func (v *vault) VerifyPassword(hash string, password []byte) bool { return hash == backwards(password) }

func (v *vault) NewToken() (text, hash string, err error) {
	v.drawn++
	if v.broken {
		return "", "", errors.New("no entropy")
	}
	return "secret-text", strings.Repeat("ab", 32), nil
}

// shelf is Partitions: what is polled, and where sealed segments end.
type shelf struct {
	inFlight []uint32
	sealed   uint64
	code     protocol.Code
}

func (s *shelf) InFlight(GroupRef) []uint32 { return s.inFlight }

func (s *shelf) SealedUpTo(_, _, _, count uint32) (uint64, protocol.Code) {
	return s.sealed * uint64(count), s.code
}

func (g *group) entry(client uint64) *Entry {
	return &Entry{
		View: g.s.View(), Client: id(client), User: g.users[id(client)], TokensMax: 2,
		Secrets: &vault{}, Partitions: &shelf{sealed: 10, inFlight: []uint32{2}},
	}
}

// send takes a request of a client through admission and apply.
func (g *group) send(client uint64, op protocol.Operation, body []byte) ([]byte, protocol.Code) {
	a, code := g.entry(client).Admit(op, body)
	if code != protocol.Success {
		return nil, code
	}
	return g.replicated(id(client), a.Operation, a.Body)
}

func (g *group) mustSend(client uint64, op protocol.Operation, body []byte) []byte {
	g.t.Helper()
	reply, code := g.send(client, op, body)
	if code != protocol.Success {
		g.t.Fatalf("%v: %d", op, code)
	}
	return reply
}

// TestAdmit_GoldenRequests: what SDKs send is admitted, and what is admitted applies without a decode
// failure.
func TestAdmit_GoldenRequests(t *testing.T) {
	var golden map[string]struct {
		Operation protocol.Operation
		Hex       string
	}
	raw, err := os.ReadFile("testdata/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) < 20 {
		t.Fatalf("%d requests", len(golden))
	}
	for name, req := range golden {
		body, err := hex.DecodeString(req.Hex)
		if err != nil {
			t.Fatal(err)
		}
		g := populated(t)
		a, code := g.entry(root).Admit(req.Operation, body)
		if code != protocol.Success {
			t.Errorf("%s: refused with %d", name, code)
			continue
		}
		if _, code := g.replicated(id(root), a.Operation, a.Body); code == protocol.CodeInvalidCommand {
			t.Errorf("%s: does not apply", name)
		}
		for cut := range body {
			if a, code := g.entry(root).Admit(req.Operation, body[:cut]); code == protocol.Success {
				g.replicated(id(root), a.Operation, a.Body)
			}
		}
	}
}

func TestAdmit_RefusesWithoutTheLog(t *testing.T) {
	anyOption := opt("colour", 2, []byte("red"))
	kib := func(key, size string) []byte { return opt(key, 2, []byte(size)) }
	topic := func(partitions uint32, options ...[]byte) []byte {
		return cat(num(0), u32(partitions), name("t"), cat(options...))
	}
	update := func(options ...[]byte) []byte { return cat(num(0), num(0), name("events"), cat(options...)) }
	const (
		malformed = protocol.CodeInvalidCommand
		badKey    = protocol.CodeUnsupportedOptionKey
		badValue  = protocol.CodeInvalidOptionValue
		tooMany   = protocol.CodeTooManyPartitions
		badSize   = protocol.CodeInvalidTopicSize
	)
	for _, c := range []struct {
		name string
		op   protocol.Operation
		body []byte
		want protocol.Code
	}{
		{"stream option", protocol.OpCreateStream, cat(name("s"), anyOption), badKey},
		{"stream option on update", protocol.OpUpdateStream, cat(num(0), name("s"), anyOption), badKey},
		{"stream, cut option", protocol.OpCreateStream, cat(name("s"), anyOption[:9]), malformed},
		{"user option", protocol.OpCreateUser, cat(userBody("bob", "secret", 1, nil), anyOption), badKey},
		{"user option on update", protocol.OpUpdateUser, cat(num(1), []byte{0, 0}, anyOption), badKey},
		{"user, unknown status", protocol.OpCreateUser, userBody("bob", "secret", 9, nil), malformed},
		{"topic, unknown key", protocol.OpCreateTopic, topic(1, anyOption), badKey},
		{"topic, unknown key after a bad value", protocol.OpCreateTopic, topic(1, opt("enforce_fsync", 3, []byte{2}), anyOption), badValue},
		{"topic, unknown key before a bad segment size", protocol.OpCreateTopic, topic(1, opt("segment_size", 12, u64(5)), anyOption), badKey},
		{"topic, key twice", protocol.OpCreateTopic, topic(1, opt("enforce_fsync", 3, []byte{1}), opt("enforce_fsync", 3, []byte{1})), malformed},
		{"topic, segment size odd", protocol.OpCreateTopic, topic(1, opt("segment_size", 12, u64(1<<20+1))), badValue},
		{"topic, segment size small", protocol.OpCreateTopic, topic(1, kib("segment_size", "512 KiB")), badValue},
		{"topic, segment size large", protocol.OpCreateTopic, topic(1, kib("segment_size", "2 GiB")), badValue},
		{"topic, preallocation", protocol.OpCreateTopic, topic(65, opt("preallocate_segments", 3, []byte{1})), badValue},
		{"topic, preallocation comes before the count", protocol.OpCreateTopic, topic(1001, opt("preallocate_segments", 3, []byte{1})), badValue},
		{"topic, 1001 partitions", protocol.OpCreateTopic, topic(1001), tooMany},
		{"topic, 1001 partitions and a small cap", protocol.OpCreateTopic, topic(1001, opt("max_topic_size", 12, u64(1))), tooMany},
		{"topic, cap below a segment", protocol.OpCreateTopic, topic(1, opt("max_topic_size", 12, u64(1<<29))), badSize},
		{"topic, no messages to save", protocol.OpCreateTopic, topic(1, opt("messages_required_to_save", 11, u32(0))), badValue},
		{"topic, messages to save of another kind", protocol.OpCreateTopic, topic(1, opt("messages_required_to_save", 12, u64(5))), badValue},
		{"topic, size to save", protocol.OpCreateTopic, topic(1, opt("size_of_messages_required_to_save", 12, u64(1<<30+1))), badValue},
		{"topic, compression", protocol.OpCreateTopic, topic(1, opt("compression_algorithm", 9, []byte{3})), badValue},
		{"topic, expiry without a unit", protocol.OpCreateTopic, topic(1, kib("message_expiry", "5")), badValue},
		{"topic, fixed value of another length", protocol.OpCreateTopic, topic(1, opt("message_expiry", 12, u32(5))), badValue},
		{"update, key fixed at creation", protocol.OpUpdateTopic, update(opt("segment_size", 12, u64(1<<20))), badKey},
		{"update, cap below a segment", protocol.OpUpdateTopic, update(opt("max_topic_size", 12, u64(1<<29))), badSize},
		{"update, bad value", protocol.OpUpdateTopic, update(opt("compression_algorithm", 2, []byte("zip"))), badValue},
		{"create no partitions", protocol.OpCreatePartitions, cat(num(0), num(0), u32(0)), tooMany},
		{"create 1001 partitions", protocol.OpCreatePartitions, cat(num(0), num(0), u32(1001)), tooMany},
		{"delete no partitions", protocol.OpDeletePartitions, cat(num(0), num(0), u32(0)), tooMany},
		{"delete 1001 partitions", protocol.OpDeletePartitions, cat(num(0), num(0), u32(1001)), tooMany},
		{"internal operation", protocol.OpTruncatePartition, cat(num(0), num(0), u32(0), u64(1)), malformed},
		{"operation of partitions", protocol.OpSendMessages, nil, malformed},
	} {
		if _, code := populated(t).entry(root).Admit(c.op, c.body); code != c.want {
			t.Errorf("%s: %d, want %d", c.name, code, c.want)
		}
	}
	g := populated(t)
	if g.mustSend(root, protocol.OpCreateTopic, topic(1000)); g.s.View().StreamByID(0).TopicByName("t").PartitionsCount() != 1000 {
		t.Error("exactly 1000 partitions are not made")
	}
	full := g.entry(root)
	full.TokensMax = 1
	if _, code := full.Admit(protocol.OpCreatePersonalAccessToken, cat(name("ci"), u64(0))); code != protocol.CodePersonalAccessTokensLimitReached {
		t.Errorf("the limit of tokens comes before the name: %d", code)
	}
}

func TestAdmit_TopicOptionsAreCanonicalAndApart(t *testing.T) {
	g := populated(t)
	g.mustSend(root, protocol.OpCreateTopic, cat(num(0), u32(1), name("t"),
		opt("segment_size", 2, []byte("128MiB")), opt("max_topic_size", 12, u64(0)), opt("message_expiry", 2, []byte("7 days")),
		opt("enforce_fsync", 2, []byte("true")), opt("compression_algorithm", 2, []byte("GZIP")), opt("messages_required_to_save", 2, []byte("64"))))
	topic := func() *Topic { return g.s.View().StreamByID(0).TopicByName("t") }
	o := topic().Options
	if o.SegmentSize() != 128<<20 || o.MessageExpiry() != 7*86400*1e6 || !o.EnforceFsync() || o.Compression() != CompressionGzip ||
		o.MessagesToSave() != 64 || o.MaxTopicSize() != Unlimited || o.SizeToSave() != 1<<20 || o.PreallocateSegments() {
		t.Fatalf("effective: %+v", o)
	}
	explicit := cat(opt("compression_algorithm", 2, []byte("gzip")), opt("enforce_fsync", 3, []byte{1}),
		opt("message_expiry", 12, u64(7*86400*1e6)), opt("messages_required_to_save", 11, u32(64)), opt("segment_size", 12, u64(128<<20)))
	derived := cat(opt("max_topic_size", 12, u64(Unlimited)), opt("preallocate_segments", 3, []byte{0}),
		opt("size_of_messages_required_to_save", 12, u64(1<<20)))
	if got := o.appendBlock(nil, true); !bytes.Equal(got, explicit) {
		t.Fatalf("explicit %x, want %x", got, explicit)
	}
	if got := o.appendBlock(nil, false); !bytes.Equal(got, derived) {
		t.Fatalf("derived %x, want %x", got, derived)
	}
	g.s.Drain()
	g.mustSend(root, protocol.OpUpdateTopic, cat(num(0), str("t"), name("t"), opt("message_expiry", 12, u64(0)), opt("max_topic_size", 2, []byte("server_default"))))
	if topic().Options != o || len(g.s.Drain().Partitions) != 0 {
		t.Fatalf("sentinels changed something: %+v", topic().Options)
	}
	g.mustSend(root, protocol.OpUpdateTopic, cat(num(0), str("t"), name("t"), opt("max_topic_size", 2, []byte("1 GiB"))))
	if got := topic().Options; got.MaxTopicSize() != 1<<30 || !got.isExplicit(optionMaxTopicSize) || got.MessageExpiry() != o.MessageExpiry() {
		t.Fatalf("after the update: %+v", got)
	}
	if c := g.s.Drain().Partitions; len(c) != 1 || c[0].Kind != PartitionsReconfigured {
		t.Fatalf("changes %+v", c)
	}
}

func TestAdmit_PlainSecretsStayOutOfTheLog(t *testing.T) {
	g := populated(t)
	for _, c := range []struct {
		op     protocol.Operation
		body   []byte
		secret string
	}{
		{protocol.OpCreateUser, userBody("bob", "hunter-two", 1, nil), "hunter-two"},
		{protocol.OpCreateUser, userBody("bob", "h2", 1, nil), "h2"},
		{protocol.OpChangePassword, cat(num(0), name("toor"), name("hunter-two")), "hunter-two"},
		{protocol.OpChangePassword, cat(num(0), name("toor"), name("hunter-two")), "toor"},
		{protocol.OpChangePassword, cat(num(0), name("wrong-one"), name("hunter-two")), "wrong-one"},
		{protocol.OpChangePassword, cat(num(7), name("wrong-one"), name("hunter-two")), "hunter-two"},
		{protocol.OpCreatePersonalAccessToken, cat(name("c2"), u64(0)), "secret-text"},
	} {
		a, code := g.entry(root).Admit(c.op, c.body)
		if code != protocol.Success || bytes.Contains(a.Body, []byte(c.secret)) {
			t.Errorf("%v: code %d, body %q", c.op, code, a.Body)
		}
	}
	broken := g.entry(root)
	broken.Secrets = &vault{broken: true}
	for _, c := range []struct {
		op   protocol.Operation
		body []byte
	}{
		{protocol.OpCreateUser, userBody("bob", "hunter-two", 1, nil)},
		{protocol.OpChangePassword, cat(num(0), name("toor"), name("hunter-two"))},
		{protocol.OpCreatePersonalAccessToken, cat(name("c2"), u64(0))},
	} {
		if _, code := broken.Admit(c.op, c.body); code != protocol.CodeTransientNotAccepted {
			t.Errorf("%v without entropy: %d", c.op, code)
		}
	}
}

func TestChangePassword_WhoAndWhatIsWrong(t *testing.T) {
	change := func(user []byte, current, next string) []byte { return cat(user, name(current), name(next)) }
	long := strings.Repeat("x", 101)
	for _, c := range []struct {
		name   string
		client uint64
		body   []byte
		want   protocol.Code
	}{
		{"own", plain, change(str("plain"), "nialp", "new-one"), 0},
		{"own, wrong current", plain, change(num(1), "x", "new-one"), protocol.CodeInvalidCredentials},
		{"own, wrong current and short", plain, change(num(1), "x", "n"), protocol.CodeInvalidCredentials},
		{"own, short", plain, change(num(1), "nialp", "no"), protocol.CodeInvalidPassword},
		{"own, long", plain, change(num(1), "nialp", long), protocol.CodeInvalidPassword},
		{"another's without rights", plain, change(num(0), "toor", "new-one"), protocol.CodeUnauthorized},
		{"nobody's without rights", plain, change(num(9), "toor", "new-one"), protocol.CodeUnauthorized},
		{"nobody's", root, change(num(9), "x", "new-one"), protocol.CodeResourceNotFound},
		{"another's with its current password", root, change(num(1), "nialp", "new-one"), 0},
		{"another's without its current password", root, change(num(1), "toor", "new-one"), protocol.CodeInvalidCredentials},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := populated(t) // the hashes are $root and $plain
			before := g.s.View().UserByID(1).PasswordHash
			_, code := g.send(c.client, protocol.OpChangePassword, c.body)
			if code != c.want {
				t.Fatalf("code %d, want %d", code, c.want)
			}
			if after := g.s.View().UserByID(1).PasswordHash; (after != before) != (c.want == 0) {
				t.Fatalf("hash %q, before %q", after, before)
			}
			_, alive := g.s.clients.index[id(plain)]
			if alive == (c.name == "another's with its current password") {
				t.Fatalf("session alive: %v", alive)
			}
		})
	}
}

func TestCreateToken_TextOnlyInTheLiveReply(t *testing.T) {
	g := populated(t)
	a, code := g.entry(root).Admit(protocol.OpCreatePersonalAccessToken, cat(name("c2"), u64(60)))
	if code != 0 || a.Token != "secret-text" {
		t.Fatalf("admitted %+v, %d", a, code)
	}
	reply, code := g.replicated(id(root), a.Operation, a.Body)
	if code != 0 || len(reply) != 0 {
		t.Fatalf("replicated reply % x, %d", reply, code)
	}
	if got := AppendToken([]byte{0, 0, 0, 0}, a.Token); !bytes.Equal(got, cat(u32(0), name("secret-text"))) {
		t.Fatalf("live reply % x", got)
	}
	found, owner := g.s.View().TokenByHash(strings.Repeat("ab", 32))
	if found == nil || owner.ID != RootUser || found.ExpiresAt != g.now+60 || found.IsExpired(g.now+59) || !found.IsExpired(g.now+60) {
		t.Fatalf("token %+v", found)
	}
}

func TestDeleteSegments_ResolvedByThePartition(t *testing.T) {
	body := func(topic []byte, partition, count uint32) []byte {
		return cat(num(0), topic, u32(partition), u32(count))
	}
	g := populated(t)
	g.mustSend(root, protocol.OpDeleteSegments, body(num(0), 1, 3))
	if p, _ := g.s.View().StreamByID(0).TopicByID(0).Partition(1); p.TruncateUpTo != 30 {
		t.Fatalf("watermark %d", p.TruncateUpTo)
	}
	g.mustSend(root, protocol.OpDeleteSegments, body(num(0), 1, 1))
	if p, _ := g.s.View().StreamByID(0).TopicByID(0).Partition(1); p.TruncateUpTo != 30 {
		t.Fatalf("the watermark fell to %d", p.TruncateUpTo)
	}
	for _, c := range []struct {
		client uint64
		body   []byte
		want   protocol.Code
	}{
		{root, body(num(9), 0, 1), protocol.CodeTopicIdNotFound},
		{root, body(num(0), 3, 1), protocol.CodePartitionNotFound},
		{plain, body(num(0), 0, 1), protocol.CodeUnauthorized},
		{root, body(num(0), 0, 0), 0},
		{root, body(num(0), 0, 1)[:9], protocol.CodeInvalidCommand},
	} {
		if _, code := g.send(c.client, protocol.OpDeleteSegments, c.body); code != c.want {
			t.Errorf("%x: %d, want %d", c.body, code, c.want)
		}
	}
	behind := g.entry(root)
	behind.Partitions = &shelf{code: protocol.CodeTransientNotAccepted}
	if a, code := behind.Admit(protocol.OpDeleteSegments, body(num(0), 0, 1)); code != protocol.CodeTransientNotAccepted || a.Operation != protocol.OpTruncatePartition {
		t.Fatalf("%v, %d", a.Operation, code)
	}
}
