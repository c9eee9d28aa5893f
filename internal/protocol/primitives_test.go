package protocol_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/galgolog/galgo/internal/protocol"
)

func TestReader_RefusedPrimitives(t *testing.T) {
	long := append([]byte{2, 255}, bytes.Repeat([]byte{'a'}, 254)...)
	read := func(f func(r *protocol.Reader)) func(r *protocol.Reader) { return f }
	identifier := read(func(r *protocol.Reader) { r.Identifier("id") })
	consumer := read(func(r *protocol.Reader) { r.Consumer() })
	partitioning := read(func(r *protocol.Reader) { r.Partitioning() })
	name := read(func(r *protocol.Reader) { r.Name("name") })
	pair := read(func(r *protocol.Reader) { r.Pair() })
	for _, tt := range []struct {
		name string
		body []byte
		read func(r *protocol.Reader)
	}{
		{"name of no bytes", []byte{0}, name},
		{"name without a length", nil, name},
		{"name cut short", []byte{3, 'a', 'b'}, name},
		{"name that is not UTF-8", []byte{2, 0xc3, 0x28}, name},
		{"identifier of kind 0", []byte{0, 4, 0, 0, 0, 0}, identifier},
		{"identifier of kind 3", []byte{3, 4, 0, 0, 0, 0}, identifier},
		{"number of 3 bytes", []byte{1, 3, 0, 0, 0}, identifier},
		{"number of 5 bytes", []byte{1, 5, 0, 0, 0, 0, 0}, identifier},
		{"number cut short", []byte{1, 4, 0, 0, 0}, identifier},
		{"empty named identifier", []byte{2, 0}, identifier},
		{"named identifier cut short", long, identifier},
		{"named identifier that is not UTF-8", []byte{2, 1, 0xff}, identifier},
		{"consumer of kind 0", []byte{0, 1, 4, 0, 0, 0, 0}, consumer},
		{"consumer of kind 3", []byte{3, 1, 4, 0, 0, 0, 0}, consumer},
		{"partition without an id", []byte{1, 0, 0, 0}, func(r *protocol.Reader) { r.OptionalPartition() }},
		{"no partition, but no room for it", []byte{0}, func(r *protocol.Reader) { r.OptionalPartition() }},
		{"balanced with a value", []byte{1, 1, 0}, partitioning},
		{"partition of 3 bytes", []byte{2, 3, 0, 0, 0}, partitioning},
		{"empty key", []byte{3, 0}, partitioning},
		{"key cut short", []byte{3, 2, 0}, partitioning},
		{"partitioning of kind 0", []byte{0, 0}, partitioning},
		{"partitioning of kind 4", []byte{4, 0}, partitioning},
		{"ack level 2", []byte{2}, func(r *protocol.Reader) { r.AckLevel() }},
		{"pair with a key of kind 0", []byte{0, 1, 0, 0, 0, 'k', 1, 1, 0, 0, 0, 'v'}, pair},
		{"pair with an empty key", []byte{2, 0, 0, 0, 0, 1, 1, 0, 0, 0, 'v'}, pair},
		{"pair without a value", []byte{2, 1, 0, 0, 0, 'k'}, pair},
		{"pair with a value of kind 0", []byte{2, 1, 0, 0, 0, 'k', 0, 1, 0, 0, 0, 'v'}, pair},
		{"pair with an empty value", []byte{2, 1, 0, 0, 0, 'k', 1, 0, 0, 0, 0}, pair},
		{"pair with a key of 256 bytes", append([]byte{2, 0, 1, 0, 0}, make([]byte, 300)...), pair},
		{"text longer than the body", []byte{0xff, 0xff, 0xff, 0xff, 'a'}, func(r *protocol.Reader) { r.Text32("text") }},
		{"text that is not UTF-8", []byte{1, 0, 0, 0, 0xff}, func(r *protocol.Reader) { r.Text32("text") }},
		{"block longer than the body", []byte{2, 0, 0, 0, 'a'}, func(r *protocol.Reader) { r.Text32Raw("block") }},
		{"bytes behind the end", []byte{1}, func(r *protocol.Reader) { r.End() }},
		{"negative length", []byte{1}, func(r *protocol.Reader) { r.Bytes(-1, "bytes") }},
	} {
		r := protocol.NewReader(tt.body)
		tt.read(&r)
		var fault *protocol.DecodeError
		if err := r.Err(); !errors.As(err, &fault) || fault.What == "" || fault.At > len(tt.body) || !strings.Contains(err.Error(), fault.What) {
			t.Errorf("%s: %v", tt.name, r.Err())
		}
		if r.U8("more") != 0 || r.U64("more") != 0 || r.Rest() != nil || r.Name("more") != nil {
			t.Errorf("%s: reads on after the fault", tt.name)
		}
	}
}

// Any flag but 1 means that the partition is not given, and its number is ignored.
func TestReader_OptionalPartition(t *testing.T) {
	for flag := range 256 {
		r := protocol.NewReader([]byte{byte(flag), 7, 0, 0, 0})
		id, present := r.OptionalPartition()
		if present != (flag == 1) || (id == 7) != present || r.Err() != nil || r.Len() != 0 {
			t.Errorf("flag %d: %d %t %v", flag, id, present, r.Err())
		}
	}
}

// Numbers and names never stand for each other, and an empty name is not the number 0.
func TestIdentifier_NumberAndName(t *testing.T) {
	if id := (protocol.Identifier{}); !id.IsNumeric() || id.ID() != 0 || id.String() != "0" {
		t.Errorf("zero value is %v", id)
	}
	if id := protocol.NamedID("12"); id.IsNumeric() || id.ID() != 0 || string(id.Name()) != "12" {
		t.Errorf("digits are %v", id)
	}
	encoded := protocol.NamedID("").Append(nil)
	r := protocol.NewReader(encoded)
	if r.Identifier("id"); r.Err() == nil {
		t.Errorf("empty name encodes to %x, which decodes", encoded)
	}
}

func TestConsumer_Key(t *testing.T) {
	for _, tt := range []struct {
		id   protocol.Identifier
		want uint32
	}{
		{protocol.NumericID(0), 0},
		{protocol.NumericID(^uint32(0)), ^uint32(0)},
		{protocol.NamedID("user-123"), 0x0cc9ec8c},
		{protocol.NamedID("a"), 0x550d7456},
	} {
		if got := (protocol.Consumer{Kind: protocol.ConsumerSingle, ID: tt.id}).Key(); got != tt.want {
			t.Errorf("%s: key %08x, want %08x", tt.id, got, tt.want)
		}
	}
}

func TestCheckPairs(t *testing.T) {
	one := protocol.Pair{KeyKind: protocol.KindU16, Key: []byte{1, 2}, ValueKind: 200, Value: []byte{0}}.Append(nil)
	for name, tt := range map[string]struct {
		block []byte
		want  bool
	}{
		"nothing":             {nil, true},
		"one of unknown kind": {one, true},
		"the same twice":      {append(bytes.Clone(one), one...), true},
		"cut short":           {one[:len(one)-1], false},
		"one and a half":      {append(bytes.Clone(one), one[:7]...), false},
		"a byte behind":       {append(bytes.Clone(one), 1), false},
	} {
		if got := protocol.CheckPairs(tt.block); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestGroupID_PacksAndUnpacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.Uint32Range(0, protocol.MaxStreams-1).Draw(t, "stream")
		topic := rapid.Uint32Range(0, protocol.MaxTopics-1).Draw(t, "topic")
		partition := rapid.Uint32Range(0, protocol.MaxPartitions-1).Draw(t, "partition")
		g, err := protocol.PartitionGroup(stream, topic, partition)
		s, p, q := g.Partition()
		if err != nil || s != stream || p != topic || q != partition || g == protocol.MetadataGroup || g >= protocol.MetadataGroup {
			t.Fatalf("%d/%d/%d packs to %x, %v", stream, topic, partition, uint64(g), err)
		}
	})
	for _, ids := range [][3]uint32{{protocol.MaxStreams, 0, 0}, {0, protocol.MaxTopics, 0}, {0, 0, protocol.MaxPartitions}} {
		if _, err := protocol.PartitionGroup(ids[0], ids[1], ids[2]); err == nil {
			t.Errorf("ids %v pack", ids)
		}
	}
	if g, _ := protocol.PartitionGroup(1, 2, 3); g != 1<<32|2<<20|3 || g.String() != "1/2/3" || protocol.MetadataGroup.String() != "metadata" {
		t.Errorf("group %x %s", uint64(g), g)
	}
}

func TestUint128_Order(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := protocol.Uint128{Lo: rapid.Uint64().Draw(t, "lo"), Hi: rapid.Uint64Range(0, 3).Draw(t, "hi")}
		v := protocol.Uint128{Lo: rapid.Uint64().Draw(t, "lo2"), Hi: rapid.Uint64Range(0, 3).Draw(t, "hi2")}
		var b [16]byte
		u.Put(b[:])
		if protocol.ReadUint128(b[:]) != u {
			t.Fatalf("%s does not come back", u)
		}
		if u.Less(v) != (u.String() < v.String()) {
			t.Fatalf("%s before %s: %t", u, v, u.Less(v))
		}
	})
}
