package metadata

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

func (g *group) wantOutcome(req *vsr.Request, want vsr.Outcome) {
	g.t.Helper()
	got := g.s.Check(req)
	if got.Verdict != want.Verdict || got.Code != want.Code || got.Evict != want.Evict {
		g.t.Fatalf("request %d of session %d: %+v, want %+v", req.Request, req.Session, got, want)
	}
}

var (
	accepted  = vsr.Outcome{}
	noSession = vsr.Outcome{Verdict: vsr.Evicted, Evict: protocol.EvictNoSession}
	reused    = vsr.Outcome{Verdict: vsr.Denied, Code: protocol.CodeInvalidCommand}
	applied   = vsr.Outcome{Verdict: vsr.Framed, Code: protocol.CodeRequestAlreadyApplied}
	replayed  = vsr.Outcome{Verdict: vsr.Replayed}
)

func TestRegister_ReplyAndSession(t *testing.T) {
	g := newGroupOfOne(t, 8)
	reply := g.commit(id(7), RootUser, 0, protocol.OpRegister, nil)
	want := append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x2c, 0, 0}, name(protocol.ServerVersion)...)
	if !bytes.Equal(reply, want) {
		t.Fatalf("reply % x, want % x", reply, want)
	}
	req := g.request(id(7), 2, 1, 1)
	g.wantOutcome(req, accepted)
	if req.UserID != RootUser {
		t.Fatalf("the acting user was taken from the request: %d", req.UserID)
	}
}

func TestRegister_Refusals(t *testing.T) {
	g := newGroupOfOne(t, 8)
	for _, c := range []struct {
		name string
		user uint32
		body []byte
		want protocol.Code
	}{
		{"user that does not exist", 5, nil, protocol.CodeTransientNotAccepted},
		{"credentials verified before they changed", RootUser, AppendRegister(nil, 0), protocol.CodeTransientNotAccepted},
		{"body of another length", RootUser, []byte{1, 2, 3}, protocol.CodeInvalidCommand},
	} {
		if code := result(g.commit(id(1), c.user, 0, protocol.OpRegister, c.body)); code != c.want {
			t.Errorf("%s: %d, want %d", c.name, code, c.want)
		}
	}
	if g.s.SessionsCount() != 0 {
		t.Fatalf("%d sessions", g.s.SessionsCount())
	}
	if code := result(g.commit(id(1), RootUser, 0, protocol.OpRegister, AppendRegister(nil, 1))); code != 0 {
		t.Fatalf("verified at the newest change: %d", code)
	}
}

func TestCheck_OrderOfConditions(t *testing.T) {
	g := newGroupOfOne(t, 8)
	g.wantOutcome(g.request(id(1), 2, 1, 0), noSession)
	old := g.login(id(1), RootUser)
	g.replicated(id(1), protocol.OpCreateStream, name("abc")) // request 1, checksum 5
	epoch := g.login(id(1), RootUser)
	if epoch <= old {
		t.Fatalf("epoch %d after %d", epoch, old)
	}
	for n := uint64(2); n <= 8; n++ {
		g.requests[id(1)] = n - 1
		g.replicated(id(1), protocol.OpCreateStream, name("abc"))
	}
	for _, c := range []struct {
		name                      string
		session, number, checksum uint64
		want                      vsr.Outcome
	}{
		{"old holder with a number that looks like a duplicate", old, 8, 5, noSession},
		{"session ahead of the fence", epoch + 1, 9, 5, noSession},
		{"next number", epoch, 9, 5, accepted},
		{"a jump", epoch, 900, 5, accepted},
		{"newest number with another body", epoch, 8, 6, reused},
		{"kept number with another body", epoch, 5, 6, reused},
		{"newest number again", epoch, 8, 5, replayed},
		{"kept number again", epoch, 5, 5, replayed},
		{"unstamped, nothing proves a difference", epoch, 8, 0, replayed},
		{"number whose reply is gone", epoch, 2, 5, applied},
		{"number whose reply is gone, another body", epoch, 2, 6, applied},
		{"client that numbers from 1 again", epoch, 1, 5, applied},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.t = t
			g.wantOutcome(g.request(id(1), c.session, c.number, c.checksum), c.want)
		})
	}
}

func TestCheck_ReplaysTheExactReply(t *testing.T) {
	g := newGroupOfOne(t, 8)
	epoch := g.login(id(1), RootUser)
	want, _ := g.replicated(id(1), protocol.OpCreateStream, name("abc"))
	_, code := g.replicated(id(1), protocol.OpCreateStream, name("abc"))
	if code != protocol.CodeStreamNameAlreadyExists {
		t.Fatalf("code %d", code)
	}
	first := g.s.Check(g.request(id(1), epoch, 1, 5)).Frame
	if !bytes.Equal(payload(first[protocol.HeaderSize:]), want) || replyHeader(first).Request() != 1 {
		t.Fatalf("replayed % x, want % x", first[protocol.HeaderSize:], want)
	}
	second := g.s.Check(g.request(id(1), epoch, 2, 5)).Frame
	if result(second[protocol.HeaderSize:]) != protocol.CodeStreamNameAlreadyExists {
		t.Fatalf("a rejection is replayed as % x", second[protocol.HeaderSize:])
	}
}

func TestCheck_ClientIDOfAnotherUser(t *testing.T) {
	g := newGroupOfOne(t, 8)
	epoch := g.login(id(1), RootUser)
	req := &vsr.Request{Client: id(1), Operation: protocol.OpRegister, UserID: 4}
	g.wantOutcome(req, vsr.Outcome{Verdict: vsr.Evicted, Evict: protocol.EvictSessionError})
	req.UserID = RootUser
	g.wantOutcome(req, accepted)
	g.wantOutcome(g.request(id(1), epoch, 1, 0), accepted)
}

func TestRegister_KeepsTheWatermarkAndFencesTheHolder(t *testing.T) {
	g := newGroupOfOne(t, 8)
	old := g.login(id(1), RootUser)
	g.replicated(id(1), protocol.OpCreateStream, name("abc"))
	g.s.Drain()
	epoch := g.login(id(1), RootUser)
	g.wantOutcome(g.request(id(1), old, 2, 0), noSession)
	g.wantOutcome(g.request(id(1), epoch, 1, 5), replayed)
	ended := g.s.Drain().Ended
	if len(ended) != 1 || ended[0] != (EndedSession{id(1), old, RootUser, protocol.EvictNoSession, true}) {
		t.Fatalf("ended: %+v", ended)
	}
}

func TestSessions_AreListedInTheOrderOfSlots(t *testing.T) {
	g := newGroupOfOne(t, 8)
	one, two := g.login(id(8), RootUser), g.login(id(3), RootUser)
	g.replicated(id(3), protocol.OpCreateStream, name("abc"))
	want := []Session{{id(8), one, RootUser, 0}, {id(3), two, RootUser, 1}}
	if got := slices.Collect(g.s.AllSessions()); !slices.Equal(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if got, ok := g.s.Session(id(3)); !ok || got != want[1] {
		t.Fatalf("%+v", got)
	}
	if _, ok := g.s.Session(id(4)); ok {
		t.Fatal("a client that never signed in has a session")
	}
}

func TestLogout_GuardedByItsEpoch(t *testing.T) {
	g := newGroupOfOne(t, 8)
	old := g.login(id(1), RootUser)
	epoch := g.login(id(1), RootUser)
	if reply := g.commit(id(1), RootUser, ^uint64(0), protocol.OpLogout, AppendLogout(nil, old)); len(reply) != 0 {
		t.Fatalf("reply % x", reply)
	}
	g.wantOutcome(g.request(id(1), epoch, 1, 0), accepted) // neither removed nor its numbers used up
	logout := g.request(id(1), old, 1, 0)
	logout.Operation = protocol.OpLogout
	g.wantOutcome(logout, accepted)
	g.s.Drain()
	g.commit(id(1), RootUser, ^uint64(0), protocol.OpLogout, AppendLogout(nil, epoch))
	g.wantOutcome(g.request(id(1), epoch, 1, 0), noSession)
	g.wantOutcome(logout, accepted)
	if ended := g.s.Drain().Ended; len(ended) != 1 || ended[0].Reason != 0 || ended[0].Session != epoch {
		t.Fatalf("ended: %+v", ended)
	}
	g.login(id(1), RootUser)
	g.commit(id(1), RootUser, 1, protocol.OpLogout, nil)
	if g.s.SessionsCount() != 0 {
		t.Fatal("a logout without a guard left the session")
	}
}

func TestClientTable_FullEvictsTheLeastRecentlyCommitted(t *testing.T) {
	g := newGroupOfOne(t, 3)
	first := g.login(id(1), RootUser)
	second := g.login(id(2), RootUser)
	g.login(id(3), RootUser)
	g.replicated(id(1), protocol.OpCreateStream, name("abc"))
	g.s.Drain()
	g.login(id(4), RootUser)
	g.wantOutcome(g.request(id(2), second, 1, 0), noSession)
	g.wantOutcome(g.request(id(1), first, 2, 0), accepted)
	if c := g.s.clients.index[id(4)]; c.slot != 1 {
		t.Fatalf("the freed slot is 1, the new client has %d", c.slot)
	}
	if ended := g.s.Drain().Ended; len(ended) != 1 || ended[0].Client != id(2) || ended[0].Reason != protocol.EvictNoSession {
		t.Fatalf("ended: %+v", ended)
	}
}

func TestClientTable_RepliesForClientsThatAreGoneOrOlderAreSkipped(t *testing.T) {
	g := newGroupOfOne(t, 8)
	// a client that was never seen: the operation is executed and answered, the table stays
	g.commit(id(9), RootUser, 3, protocol.OpCreateStream, name("abc"))
	if g.s.SessionsCount() != 0 {
		t.Fatal("a reply made an entry")
	}
	// Register X, X:5, [gone], Register X, X:2
	g.login(id(1), RootUser)
	g.requests[id(1)] = 4
	g.replicated(id(1), protocol.OpCreateStream, name("five"))
	epoch := g.login(id(1), RootUser)
	g.commit(id(1), RootUser, 2, protocol.OpCreateStream, name("two"))
	c := g.s.clients.index[id(1)]
	if c.watermark != 5 {
		t.Fatalf("watermark %d", c.watermark)
	}
	g.wantOutcome(g.request(id(1), epoch, 2, 0), applied)
	// the same number again, committed once more, replaces its reply
	before := len(c.ring)
	g.commit(id(1), RootUser, 5, protocol.OpCreateStream, name("six"))
	if len(c.ring) != before || c.watermark != 5 {
		t.Fatalf("%d replies for %d, watermark %d", len(c.ring), before, c.watermark)
	}
}

func TestClientTable_TokenCreationIsNotReplayed(t *testing.T) {
	g := newGroupOfOne(t, 8)
	epoch := g.login(id(1), RootUser)
	frame := make([]byte, protocol.HeaderSize, protocol.HeaderSize+4)
	for n, body := range [][]byte{{0, 0, 0, 0}, protocol.AppendResult(nil, protocol.CodeInvalidPersonalAccessTokenExpiry)} {
		var h protocol.PrepareHeader
		h.SetClient(id(1))
		h.SetOp(g.op + 1 + uint64(n))
		h.SetRequest(uint64(n) + 1)
		h.SetOperation(protocol.OpCreatePersonalAccessToken)
		frame = append(frame[:protocol.HeaderSize], body...)
		replyHeader(frame).SetCommitted(&h, len(body))
		g.s.Committed(&h, frame)
	}
	g.wantOutcome(g.request(id(1), epoch, 1, 0),
		vsr.Outcome{Verdict: vsr.Framed, Code: protocol.CodePersonalAccessTokenAlreadyExists})
	g.wantOutcome(g.request(id(1), epoch, 2, 0), replayed)
}

func TestBootstrap_OnceAndWithItsLimits(t *testing.T) {
	g := newGroupOfOne(t, 77)
	if g.s.ClientsTableMax() != 77 {
		t.Fatalf("capacity %d", g.s.ClientsTableMax())
	}
	g.server(protocol.OpBootstrap, Bootstrap{5, "other", "$other"}.Append(nil), 0)
	root := g.s.View().UserByID(RootUser)
	if g.s.ClientsTableMax() != 77 || root.Name != "iggy" || root.CreatedAt != 1 || root.Grants().global != globalAll {
		t.Fatalf("a second record changed something: %+v", root)
	}
	for _, b := range []Bootstrap{{0, "root", "$"}, {1 << 17, "root", "$"}, {5, "ro", "$"}, {5, "root", ""}} {
		New()
		if _, ok := DecodeBootstrap(b.Append(nil)); ok {
			t.Errorf("%+v decodes", b)
		}
	}
	g.login(id(1), RootUser)
	if _, code := g.replicated(id(1), protocol.OpBootstrap, Bootstrap{5, "other", "$other"}.Append(nil)); code != protocol.CodeInvalidCommand {
		t.Fatalf("a client may bootstrap: %d", code)
	}
}

func TestLowestSlot_AcrossWords(t *testing.T) {
	table := newClientTable(200)
	for n := range uint64(130) {
		if c := table.add(id(n + 1)); c.slot != int(n) {
			t.Fatalf("client %d has slot %d", n, c.slot)
		}
	}
	for _, slot := range []int{128, 64, 3} {
		table.remove(table.slots[slot])
		if c := table.add(id(1000 + uint64(slot))); c.slot != slot {
			t.Fatalf("freed slot %d, taken %d", slot, c.slot)
		}
	}
	if binary.Size(table.used) != 24 {
		t.Fatalf("bitmap of %d bytes", binary.Size(table.used))
	}
}
