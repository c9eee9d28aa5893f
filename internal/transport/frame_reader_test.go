package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/galgolog/galgo/internal/buffer"
	"github.com/galgolog/galgo/internal/protocol"
	"pgregory.net/rapid"
)

// collector is a frameSink that keeps copies and has room for a limited number of frames at a time.
type collector struct {
	t      testing.TB
	room   int
	frames [][]byte
	have   int
}

func (c *collector) begin() *Exchange {
	if c.room == 0 {
		return nil
	}
	c.room--
	return new(Exchange)
}

func (c *collector) body(x *Exchange, have int) {
	if have <= c.have || have > len(x.Body.Bytes) || have > x.BodyLen() {
		c.t.Fatalf("body reports %d after %d of %d with room for %d", have, c.have, x.BodyLen(), len(x.Body.Bytes))
	}
	c.have = have
}

func (c *collector) frame(x *Exchange) {
	if x.BodyLen() > smallBodyBytesMax && c.have != x.BodyLen() {
		c.t.Fatalf("frame of %d body bytes after %d were reported", x.BodyLen(), c.have)
	}
	c.have = 0
	c.frames = append(c.frames, append(append([]byte{}, x.Header[:]...), x.Body.Bytes...))
	x.recycle()
}

// deframe is the obvious implementation.
func deframe(stream []byte, limit int) (frames [][]byte, bad bool) {
	for len(stream) >= sizeFieldEnd {
		size := int(binary.LittleEndian.Uint32(stream[48:]))
		if size < protocol.HeaderSize || size > limit {
			return frames, true
		}
		if len(stream) < size {
			break
		}
		frames = append(frames, stream[:size])
		stream = stream[size:]
	}
	return frames, false
}

// run feeds stream in chunks whose lengths come from next and compares with deframe.
func run(t testing.TB, stream []byte, limit int, next func(most int) int) {
	pool := buffer.New(1 << 20)
	sink := &collector{t: t}
	r := frameReader{sink: sink, pool: pool, limit: limit}
	var err error
	for rest := stream; len(rest) > 0 && err == nil; {
		if target := r.target(); target != nil && next(2) == 1 {
			n := copy(target, rest)
			r.landed(n)
			rest = rest[n:]
			continue
		}
		n := next(len(rest))
		p := rest[:n]
		rest = rest[n:]
		var lease *buffer.Lease
		if next(2) == 1 {
			lease = pool.Get(n)
			copy(lease.Bytes, p)
			p = lease.Bytes
		}
		for len(p) > 0 && err == nil {
			p, err = r.feed(p, lease, 0)
			if err == nil && len(p) > 0 && sink.room != 0 {
				t.Fatalf("stopped with %d bytes left and room for %d frames", len(p), sink.room)
			}
			if len(p) > 0 {
				sink.room = next(3)
			}
		}
		if lease != nil {
			lease.Release()
		}
	}
	want, bad := deframe(stream, limit)
	if bad != errors.Is(err, ErrFrameSize) || !bad && err != nil {
		t.Fatalf("error %v, undelimitable: %v", err, bad)
	}
	if len(sink.frames) != len(want) {
		t.Fatalf("%d frames, want %d", len(sink.frames), len(want))
	}
	for i := range want {
		if !bytes.Equal(sink.frames[i], want[i]) {
			t.Fatalf("frame %d differs", i)
		}
	}
	r.drop()
	if pool.LiveBytes() != 0 {
		t.Fatalf("%d bytes leaked", pool.LiveBytes())
	}
}

func TestFrameReader_AnyChunkingGivesTheSameFrames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var stream []byte
		for i := range rapid.IntRange(1, 4).Draw(rt, "frames") {
			n := rapid.SampledFrom([]int{0, 1, 17, 128, 4096, smallBodyBytesMax, smallBodyBytesMax + 1, 300_000, 1_400_000}).Draw(rt, "body")
			stream = append(stream, request(uint64(i), pattern(uint64(i), n))...)
		}
		stream = stream[:len(stream)-rapid.IntRange(0, 300).Draw(rt, "cut")%len(stream)]
		run(t, stream, 4<<20, func(most int) int {
			if rapid.Bool().Draw(rt, "small") {
				return rapid.IntRange(1, min(most, 600)).Draw(rt, "chunk")
			}
			return rapid.IntRange(1, min(most, 1<<20)).Draw(rt, "chunk")
		})
	})
}

func TestFrameReader_ByteByByte(t *testing.T) {
	stream := append(request(1, pattern(1, 40_000)), request(2, nil)...)
	stream = append(stream, request(3, pattern(3, 5))...)
	run(t, stream, 1<<20, func(int) int { return 1 })
}

func TestFrameReader_AClaimedSizeAllocatesLittle(t *testing.T) {
	pool := buffer.New(1 << 20)
	sink := &collector{t: t, room: 1}
	r := frameReader{sink: sink, pool: pool, limit: 64 << 20}
	head := request(1, nil)
	if _, err := r.feed(putSize(head, 64<<20), nil, 0); err != nil {
		t.Fatal(err)
	}
	arrived := 0
	for arrived < 20<<20 {
		if live := pool.LiveBytes(); live > firstLeaseBytes && live > 2*int64(arrived) {
			t.Fatalf("%d bytes leased after %d arrived", live, arrived)
		}
		n := len(r.target())
		r.landed(n)
		arrived += n
	}
	r.drop()
}

func TestFrameReader_SizeTable(t *testing.T) {
	const limit = 100_000
	for _, c := range []struct {
		name string
		size uint32
		ok   bool
	}{
		{"zero", 0, false}, {"one short of a header", 255, false}, {"a header", 256, true},
		{"the limit", limit, true}, {"one beyond the limit", limit + 1, false},
		{"sign bit", 1 << 31, false}, {"all bits", ^uint32(0), false},
	} {
		r := frameReader{sink: &collector{t: t, room: 1}, pool: buffer.New(0), limit: limit}
		frame := putSize(request(1, nil), c.size)
		// The verdict falls with the last byte of the size field.
		if _, err := r.feed(frame[:sizeFieldEnd-1], nil, 0); err != nil {
			t.Errorf("%s: refused before its size was known", c.name)
		}
		_, err := r.feed(frame[sizeFieldEnd-1:sizeFieldEnd], nil, 0)
		if c.ok != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		r.drop()
	}
}

func FuzzFrameReader(f *testing.F) {
	f.Add([]byte{3, 250, 7}, append(request(1, []byte("body")), request(2, nil)...))
	f.Add([]byte{255}, append(request(1, pattern(1, 20_000)), request(2, pattern(2, 100))...))
	f.Add([]byte{0, 1}, putSize(request(1, nil), 255))
	f.Add([]byte{52}, putSize(request(1, nil), 1<<31))
	f.Fuzz(func(t *testing.T, cuts, stream []byte) {
		i := 0
		run(t, stream, 1<<20, func(most int) int {
			if len(cuts) == 0 {
				return most
			}
			i++
			return 1 + int(cuts[i%len(cuts)])*(1+i%97)%most
		})
	})
}
