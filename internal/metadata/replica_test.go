package metadata

import (
	"bytes"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/vsr"
)

// solo is a real Replica of a group of one over a State, with appends that succeed at once.
type solo struct {
	t   *testing.T
	r   *vsr.Replica
	s   *State
	now vsr.Time
}

func newSolo(t *testing.T) *solo {
	s := New()
	r, err := vsr.New(vsr.Config{Group: protocol.MetadataGroup, Cluster: id(9), Replicas: 1, Incarnation: id(1),
		Machine: s, Sessions: s, Start: vsr.Start{ViewDurable: true}})
	if err != nil {
		t.Fatal(err)
	}
	return &solo{t: t, r: r, s: s, now: vsr.Time{Micros: startOfTime}}
}

// run proposes one request and returns the body of its reply, or what was said instead.
func (s *solo) run(req vsr.Request) ([]byte, vsr.Outcome) {
	s.now.Micros++
	req.Waiter = s
	if out := s.r.Propose(s.now, &req); out.Verdict != vsr.Accepted {
		return nil, out
	}
	for range 3 {
		e := s.r.Effects()
		for _, reply := range e.Replies {
			return bytes.Clone(reply.Body), reply.Outcome
		}
		if n := len(e.Appends); n > 0 {
			s.r.Done(s.now, vsr.Appended{Op: e.Appends[n-1].Header.Op()})
		}
	}
	s.t.Fatal("no reply")
	return nil, vsr.Outcome{}
}

func TestState_UnderARealReplica(t *testing.T) {
	s := newSolo(t)
	body := func(b []byte) vsr.Body { return vsr.Body{Bytes: b} }
	reply, _ := s.run(vsr.Request{Client: protocol.MaxUint128, Operation: protocol.OpBootstrap, Body: body(Bootstrap{8, "iggy", "$root"}.Append(nil))})
	if result(reply) != protocol.Success {
		t.Fatalf("bootstrap: % x", reply)
	}
	reply, _ = s.run(vsr.Request{Client: id(1), Operation: protocol.OpRegister, UserID: RootUser, Body: body(AppendRegister(nil, 1))})
	if result(reply) != protocol.Success {
		t.Fatalf("register: % x", reply)
	}
	create := vsr.Request{Client: id(1), Session: 2, Request: 1, Operation: protocol.OpCreateStream, UserID: 77, Body: body(name("s"))}
	first, _ := s.run(create)
	if result(first) != protocol.Success {
		t.Fatalf("create as the user of the session: % x", first)
	}
	if _, out := s.run(create); out.Verdict != vsr.Replayed || !bytes.Equal(out.Frame[protocol.HeaderSize:], first) {
		t.Fatalf("again: %+v", out)
	}
	create.Session = 1
	if _, out := s.run(create); out.Verdict != vsr.Evicted {
		t.Fatalf("under an old session: %+v", out)
	}
	if _, out := s.run(vsr.Request{Client: id(1), Session: 2, Request: 2, Operation: protocol.OpCreateTopic, Body: body(name("s"))}); out.Verdict != vsr.Denied ||
		out.Code != protocol.CodeInvalidCommand {
		t.Fatalf("client form of an operation: %+v", out)
	}
	if s.s.View().Revision != 3 || s.s.View().StreamByName("s") == nil {
		t.Fatalf("revision %d", s.s.View().Revision)
	}
	checkState(t, s.s)
}
