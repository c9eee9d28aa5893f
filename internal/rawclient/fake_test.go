package rawclient

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
)

// seen is one request as the fake server received it.
type seen struct {
	header protocol.RequestHeader
	body   []byte
}

// fakeServer accepts one connection and answers every request with what script returns for it; nil means
// no answer yet. It records every request.
type fakeServer struct {
	addr string
	mu   sync.Mutex
	got  []seen
}

func startFake(t *testing.T, script func(i int, r seen) []byte) *fakeServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fs := &fakeServer{addr: ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		fs.serve(nc, script)
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return fs
}

func (fs *fakeServer) serve(nc net.Conn, script func(int, seen) []byte) {
	for i := 0; ; i++ {
		var r seen
		if _, err := io.ReadFull(nc, r.header[:]); err != nil {
			return
		}
		r.body = make([]byte, r.header.Common().Size()-protocol.HeaderSize)
		if _, err := io.ReadFull(nc, r.body); err != nil {
			return
		}
		fs.mu.Lock()
		fs.got = append(fs.got, r)
		fs.mu.Unlock()
		answer := script(i, r)
		if answer == nil {
			continue
		}
		if _, err := nc.Write(answer); err != nil {
			return
		}
	}
}

func (fs *fakeServer) requests() []seen {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return append([]seen(nil), fs.got...)
}

// replyTo builds a reply frame to r with a status and a body as it goes over the wire.
func replyTo(r seen, status protocol.Code, body []byte) []byte {
	var h protocol.ReplyHeader
	h.Common().SetCommand(protocol.CommandReply)
	h.Common().SetSize(uint32(protocol.HeaderSize + len(body)))
	h.SetRequest(r.header.Request())
	h.SetOperation(r.header.Operation())
	h.SetStatus(status)
	return append(h[:], body...)
}

func evictionFrame(reason byte) []byte {
	var h protocol.Header
	h.SetCommand(protocol.CommandEviction)
	h.SetSize(protocol.HeaderSize)
	h[128] = 7
	h[255] = reason
	return h[:]
}

func u32(vs ...uint32) []byte {
	var out []byte
	for _, v := range vs {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

// registerBody is the success body of a sign-in as user 3 with fence 44.
func registerBody() []byte {
	body := u32(0, 3)
	body = binary.LittleEndian.AppendUint64(body, 44)
	body = append(body, u32(11264)...)
	return append(body, "\x050.9.0"...)
}

func dialFake(t *testing.T, fs *fakeServer, opts Options) *Conn {
	t.Helper()
	c, err := DialOptions(fs.addr, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// newPipe returns the two ends of a connection in memory.
func newPipe(t *testing.T) (net.Conn, net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}
