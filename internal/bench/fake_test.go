package bench

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/galgolog/galgo/internal/batch"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// fakeServer keeps streams in memory and speaks as much of the protocol as the workloads need. Every
// stream has one topic with one partition.
type fakeServer struct {
	addr string

	mu      sync.Mutex
	streams map[string]*fakePartition
	users   []string
	deny    protocol.Code // answer to the next sends, while denials is positive
	denials int
	delay   time.Duration // before every answer to a send
}

type fakePartition struct {
	options []protocol.Pair
	records [][]byte
	end     uint64
	sends   int
}

func startFake(t *testing.T) *fakeServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fs := &fakeServer{addr: ln.Addr().String(), streams: map[string]*fakePartition{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer nc.Close()
				fs.serve(nc)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return fs
}

func (fs *fakeServer) serve(nc net.Conn) {
	for {
		var h protocol.RequestHeader
		if _, err := io.ReadFull(nc, h[:]); err != nil {
			return
		}
		body := make([]byte, h.Common().Size()-protocol.HeaderSize)
		if _, err := io.ReadFull(nc, body); err != nil {
			return
		}
		status, answer := fs.answer(&h, body)
		var r protocol.ReplyHeader
		r.Common().SetCommand(protocol.CommandReply)
		r.Common().SetSize(uint32(protocol.HeaderSize + len(answer)))
		r.SetRequest(h.Request())
		r.SetOperation(h.Operation())
		r.SetStatus(status)
		if _, err := nc.Write(append(r[:], answer...)); err != nil {
			return
		}
	}
}

func (fs *fakeServer) answer(h *protocol.RequestHeader, body []byte) (protocol.Code, []byte) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	framed := make([]byte, 4)
	switch h.Operation() {
	case protocol.OpRegister:
		l, err := command.DecodeLogin(body)
		if err != nil {
			return protocol.CodeInvalidFormat, nil
		}
		fs.users = append(fs.users, string(l.Username)+":"+string(l.Password))
		return 0, command.LoginReply{UserID: 1, Session: 7, Version: protocol.Version, ServerVersion: []byte("0")}.Append(framed)
	case protocol.OpCreateStream:
		c, err := command.DecodeCreateStream(body)
		if err != nil {
			return protocol.CodeInvalidCommand, nil
		}
		fs.streams[string(c.Name)] = &fakePartition{}
		return 0, streamDetails(string(c.Name)).Append(framed)
	case protocol.OpDeleteStream:
		id, err := command.DecodeIdentifier(body)
		if err != nil {
			return protocol.CodeInvalidCommand, nil
		}
		delete(fs.streams, id.String())
		return 0, framed
	case protocol.OpCreateTopic:
		c, err := command.DecodeCreateTopic(body)
		if err != nil || fs.streams[c.Stream.String()] == nil {
			return protocol.CodeInvalidCommand, nil
		}
		fs.streams[c.Stream.String()].options = command.Options(c.Options)
		return 0, command.TopicDetails{TopicHeader: command.TopicHeader{Name: c.Name}}.Append(framed)
	case protocol.OpSendMessages:
		return fs.send(body)
	case protocol.OpNonReplicated:
		return fs.read(protocol.CommandCode(h.CommandCode()), body)
	}
	return protocol.CodeInvalidCommand, nil
}

func (fs *fakeServer) send(body []byte) (protocol.Code, []byte) {
	if fs.denials > 0 {
		fs.denials--
		return fs.deny, nil
	}
	if fs.delay > 0 {
		time.Sleep(fs.delay)
	}
	m, err := command.DecodeSendMessages(body)
	if err != nil {
		return protocol.CodeInvalidCommand, nil
	}
	p := fs.streams[m.Stream.String()]
	if p == nil {
		return protocol.CodeStreamIdNotFound, nil
	}
	record, count := body[m.BatchAt:], m.MessagesCount
	if code := batch.Verify(record, count); code != 0 {
		return code, nil
	}
	base := p.end
	batch.Stamp(record, 0, base, uint64(time.Now().UnixMicro()))
	p.records = append(p.records, record)
	p.end += uint64(count)
	p.sends++
	return 0, command.AppendConfirmations(nil, command.Confirmation{BaseOffset: base})
}

func (fs *fakeServer) read(code protocol.CommandCode, body []byte) (protocol.Code, []byte) {
	switch code {
	case protocol.CmdStreamGet:
		id, err := command.DecodeIdentifier(body)
		if err != nil || fs.streams[id.String()] == nil {
			return 0, nil
		}
		return 0, streamDetails(id.String()).Append(nil)
	case protocol.CmdMessagePoll:
		q, err := command.DecodePollMessages(body)
		if err != nil {
			return protocol.CodeInvalidCommand, nil
		}
		p := fs.streams[q.Stream.String()]
		if p == nil {
			return protocol.CodeStreamIdNotFound, nil
		}
		return 0, p.poll(q.Value)
	}
	return protocol.CodeInvalidCommand, nil
}

// poll answers with the record that begins at start, or with nothing.
func (p *fakePartition) poll(start uint64) []byte {
	head := command.PollReply{CurrentOffset: max(p.end, 1) - 1}
	var record []byte
	for _, r := range p.records {
		if batch.BaseOffset(r) == start {
			record, head.Count = r, batch.MessageCount(r)
		}
	}
	out := make([]byte, command.PollReplySize)
	head.Put(out)
	return append(out, record...)
}

func streamDetails(name string) command.StreamDetails {
	return command.StreamDetails{StreamHeader: command.StreamHeader{Name: []byte(name)}}
}

func (fs *fakeServer) partition(name string) (sends int, end uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	p := fs.streams[name]
	if p == nil {
		return 0, 0
	}
	return p.sends, p.end
}

// loggedIn reports whether somebody has signed in with these credentials.
func (fs *fakeServer) loggedIn(user, password string) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Contains(fs.users, user+":"+password)
}
