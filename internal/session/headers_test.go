package session

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// exchange sends a request and returns the whole frame that answers it, whatever it is.
func (r *rig) exchange(c *client, op protocol.Operation, body []byte) []byte {
	r.t.Helper()
	return r.raw(c, c.AppendFrame(nil, op, 0, body))
}

// raw writes a frame past the client and returns the frame that answers it. The client must be quiet.
func (r *rig) raw(c *client, frame []byte) []byte {
	r.t.Helper()
	nc := c.NetConn()
	if err := nc.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := nc.Write(frame); err != nil {
		r.t.Fatal(err)
	}
	head := make([]byte, protocol.HeaderSize)
	if _, err := io.ReadFull(nc, head); err != nil {
		r.t.Fatal(err)
	}
	body := make([]byte, (*protocol.Header)(head).Size()-protocol.HeaderSize)
	if _, err := io.ReadFull(nc, body); err != nil {
		r.t.Fatal(err)
	}
	return append(head, body...)
}

func TestMalformedFrames(t *testing.T) {
	var file struct {
		Vectors []struct{ Name, Hex string }
	}
	raw := sure(os.ReadFile("testdata/malformed.json"))
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]protocol.Code{
		"unexpected_command": protocol.CodeInvalidCommand, "bad_command_byte": protocol.CodeInvalidCommand,
		"zero_client": protocol.CodeInvalidCommand, "reserved_operation": protocol.CodeInvalidCommand,
		"unknown_operation": protocol.CodeInvalidCommand, "zero_session_replicated": protocol.CodeInvalidCommand,
		"zero_request_replicated": protocol.CodeInvalidCommand, "register_with_session": protocol.CodeInvalidCommand,
		"wrong_request_checksum": protocol.CodeInvalidFormat,
		"bad_size_below_header":  protocol.Success, "bad_size_above_limit": protocol.Success, // closed without an answer
	}
	r := openRig(t, setup{})
	for _, v := range file.Vectors {
		code, known := want[v.Name]
		if !known {
			t.Errorf("vector %s is not in the table", v.Name)
			continue
		}
		frame := sure(hex.DecodeString(v.Hex))
		t.Run(v.Name, func(t *testing.T) {
			for _, signedIn := range []bool{false, true} {
				c := r.dial()
				if signedIn {
					c.must(c.SignIn(rootName, rootName))
				}
				if code == protocol.Success {
					wantClosed(t, c, frame)
					continue
				}
				reply := (*protocol.ReplyHeader)(r.raw(c, frame))
				wantDenialEcho(t, reply, frame, code)
				if commit := reply.Commit(); !signedIn && commit != 0 {
					t.Errorf("commit %d is told to a connection that is not signed in", commit)
				}
				c.must(c.Ping())
				if signedIn {
					c.ask(protocol.CmdMe, nil)
				}
			}
		})
	}
	if len(file.Vectors) != len(want) {
		t.Errorf("%d vectors, %d in the table", len(file.Vectors), len(want))
	}
}

func wantClosed(t *testing.T, c *client, frame []byte) {
	t.Helper()
	if _, err := c.NetConn().Write(frame); err != nil {
		t.Fatal(err)
	}
	if n, err := c.NetConn().Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v; want the end of the connection", n, err)
	}
}

// wantDenialEcho checks a denial that was decided from the header alone: what came back of the request.
func wantDenialEcho(t *testing.T, h *protocol.ReplyHeader, frame []byte, code protocol.Code) {
	t.Helper()
	req := (*protocol.RequestHeader)(frame)
	if h.Status() != code || h.Common().Command() != protocol.CommandReply || h.Common().Size() != protocol.HeaderSize {
		t.Errorf("command %d, status %d, size %d; want a denial %d", h.Common().Command(), h.Status(), h.Common().Size(), code)
	}
	if h.RequestChecksum() != req.RequestChecksum() || h.Timestamp() != req.Timestamp() || h.Request() != req.Request() ||
		h.Operation() != req.Operation() {
		t.Errorf("the echo differs from the request: %x", h[128:216])
	}
}

func TestDenials_HaveTheFieldsOfTheirKind(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	transport := protocol.Uint128From64(uint64(sure(command.DecodeClient(c.ask(protocol.CmdMe, nil))).ID))
	commit := r.node.MetadataCommit()
	stranger := protocol.Uint128{Lo: 5, Hi: 6} // identity is the binding; what a read carries only comes back
	frame := func(op protocol.Operation, code protocol.CommandCode, body []byte) []byte {
		f := c.AppendFrame(nil, op, code, body)
		h := (*protocol.RequestHeader)(f)
		h.SetClient(stranger)
		h.SetTimestamp(77)
		h.Common().SetView(3)
		h.Common().SetReplica(4)
		h.Common().SetCluster(protocol.Uint128From64(9))
		return f
	}
	for _, k := range []struct {
		name   string
		frame  []byte
		code   protocol.Code
		client protocol.Uint128
		op     uint64
	}{
		{"read", frame(protocol.OpNonReplicated, protocol.CmdUserGet, nil), protocol.CodeInvalidCommand, stranger, c.Session()},
		{"metadata", frame(protocol.OpCreateStream, 0, nil), protocol.CodeInvalidCommand, transport, 0},
		{"partition", frame(protocol.OpSendMessages, 0, nil), protocol.CodeInvalidCommand, transport, 0},
	} {
		h := (*protocol.ReplyHeader)(r.raw(c, k.frame))
		wantDenialEcho(t, h, k.frame, k.code)
		if h.Client() != k.client || h.Op() != k.op || h.Commit() != commit {
			t.Errorf("%s: client %v, op %d, commit %d; want %v, %d, %d", k.name, h.Client(), h.Op(), h.Commit(), k.client, k.op, commit)
		}
		if p := h.Common(); p.View() != 3 || p.Replica() != 4 || p.Cluster() != protocol.Uint128From64(9) {
			t.Errorf("%s: cluster, view and replica do not come back", k.name)
		}
	}
	anonymous := r.dial()
	f := anonymous.AppendFrame(nil, protocol.OpNonReplicated, protocol.CmdStats, nil)
	h := (*protocol.ReplyHeader)(r.raw(anonymous, f))
	wantDenialEcho(t, h, f, protocol.CodeUnauthenticated)
	if h.Client() == anonymous.Client() || h.Op() != 0 || h.Commit() != 0 {
		t.Errorf("before sign-in: client %v, op %d, commit %d", h.Client(), h.Op(), h.Commit())
	}
}

func TestRequests_ThatOnlyServersMake(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	for op := protocol.Operation(64); op < 128; op++ {
		f := c.AppendFrame(nil, protocol.OpSendMessages, 0, nil)
		(*protocol.RequestHeader)(f).SetOperation(op)
		wantDenialEcho(t, (*protocol.ReplyHeader)(r.raw(c, f)), f, protocol.CodeInvalidCommand)
	}
	c.ask(protocol.CmdMe, nil)
}

func TestRequestChecksum_IsComparedWithTheBody(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	body := command.CreateStream{Name: []byte("s")}.Append(nil)
	f := c.AppendFrame(nil, protocol.OpCreateStream, 0, body)
	sum := protocol.Uint128From64(protocol.Hash64(body))
	(*protocol.RequestHeader)(f).SetRequestChecksum(sum)
	h := (*protocol.ReplyHeader)(r.raw(c, f))
	if h.Status() != protocol.Success || h.RequestChecksum() != sum {
		t.Errorf("status %d, checksum %v", h.Status(), h.RequestChecksum())
	}
}

func TestBeforeSignIn_OnlyPingIsServed(t *testing.T) {
	r := openRig(t, setup{})
	c := r.dial()
	c.must(c.Ping())
	for code := protocol.CommandCode(2); code < 700; code++ {
		info, known := code.Info()
		if !known {
			continue
		}
		want := denied(protocol.CodeUnauthenticated)
		if code == protocol.CmdUserLogin || code == protocol.CmdPersonalAccessTokenLogin {
			want = evicted(protocol.EvictMalformedLogin)
		}
		c.reads(info.Name, code, nil, want)
		if op := info.Operation; op.IsMetadata() || op.IsPartition() || op == protocol.OpDeleteSegments {
			f := c.AppendFrame(nil, op, 0, nil)
			(*protocol.RequestHeader)(f).SetSession(42) // somebody's fence is not a credential
			(*protocol.RequestHeader)(f).SetClient(r.root.Client())
			e := (*protocol.EvictionHeader)(r.raw(c, f))
			if !e.Check() || e.Reason() != protocol.EvictNoSession {
				t.Errorf("%s: reason %d, valid %v", info.Name, e.Reason(), e.Check())
			}
		}
	}
	c.must(c.SignIn(rootName, rootName))
	c.ask(protocol.CmdStats, nil)
}

func TestNonReplicated_OfCodesThatAreNone(t *testing.T) {
	r := openRig(t, setup{})
	c := r.as(rootName)
	for code := protocol.CommandCode(0); code < 700; code++ {
		info, known := code.Info()
		switch {
		case known && info.Operation == protocol.OpNonReplicated:
			continue
		case code == protocol.CmdUserLogin, code == protocol.CmdPersonalAccessTokenLogin:
			c.reads("legacy sign-in", code, nil, evicted(protocol.EvictMalformedLogin))
			c.ask(protocol.CmdMe, nil)
		case !known, code == protocol.CmdUserLogout, code == protocol.CmdUserLoginRegister, code == protocol.CmdUserLoginRegisterWithPat:
			c.reads(code.String(), code, nil, denied(protocol.CodeInvalidCommand))
		default:
			c.reads(code.String(), code, nil, denied(protocol.CodeFeatureUnavailable))
		}
	}
	c.reads("a large code", 1<<31, nil, denied(protocol.CodeInvalidCommand))
}
